import tracemalloc

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("default", derandomize=True, deadline=None, max_examples=25, print_blob=True)
settings.register_profile("quick", settings.get_profile("default"), max_examples=5)  # for loops that run uncompiled
settings.load_profile("default")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def peak_of():
    """A function that calls another one, and returns the most bytes that were held at a time, and the result."""

    def measure(work):
        tracemalloc.start()
        try:
            result = work()
            return tracemalloc.get_traced_memory()[1], result
        finally:
            tracemalloc.stop()

    return measure
