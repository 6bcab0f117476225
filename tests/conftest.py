import gc
import signal
import tracemalloc

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("default", derandomize=True, deadline=None, max_examples=25, print_blob=True)
settings.register_profile("quick", settings.get_profile("default"), max_examples=5)  # for loops that run uncompiled
settings.load_profile("default")

signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background of a script ignore it

gc.disable()  # thousands of tests are collected, and none of them is garbage


LONGEST = ("tests/test_readme.py", "tests/test_certificates.py", "tests/test_examples.py")
"""Files that take long, as no process should be left alone with one of them at the end."""


def pytest_collection_modifyitems(items):
    """Loops first, which compile what all others need, then the longest files."""
    items.sort(key=lambda item: 0 if "tests/_loops" in item.nodeid else 1 if item.nodeid.startswith(LONGEST) else 2)


def pytest_collection_finish(session):
    gc.freeze()  # later collections need not look at them
    gc.set_threshold(100_000)  # what compiles loops makes many objects: looking at them took a twentieth of all time
    gc.enable()


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def peak_of():
    """A function that calls another one, and returns the most bytes that were held at a time, and the result.

    Threads hold tiles only while they have work, and one of them may do all of it where the machine is busy, so that a
    peak below `least` is measured again, up to five times.
    """

    def measure(work, least=0.0):
        peaks = []
        while not peaks or (max(peaks) <= least and len(peaks) < 5):
            tracemalloc.start()
            try:
                result = work()
                peaks.append(tracemalloc.get_traced_memory()[1])
            finally:
                tracemalloc.stop()
        return max(peaks), result

    return measure
