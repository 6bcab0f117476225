import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("default", derandomize=True, deadline=None, max_examples=40, print_blob=True)
settings.register_profile("quick", settings.get_profile("default"), max_examples=5)  # for loops that run uncompiled
settings.load_profile("default")


@pytest.fixture
def rng():
    return np.random.default_rng(0)
