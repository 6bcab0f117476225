import threading
import time

import numpy as np
import pytest

from representer._loops import definite


@pytest.mark.parametrize("n", [1, 2, 15, 16, 100])
def test_inverse(rng, n):
    A = rng.normal(size=(n, n + 3))
    A = A @ A.T
    inverse = A.copy()
    assert definite.invert(inverse)
    np.testing.assert_array_equal(inverse, inverse.T)
    np.testing.assert_allclose(inverse @ A, np.eye(n), atol=1e-8)


def test_matrices_that_have_none():
    assert not definite.invert(np.array([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(ValueError, match="C order"):
        definite.invert(np.asfortranarray(np.diag([1.0, 2.0, 3.0])[:, :2]))


def test_other_threads_go_on():
    """While SciPy's wrapper of the same routine would hold them up to its end."""
    A = np.eye(1200) + 1.0
    definite.invert(A[:2, :2].copy())
    worker = threading.Thread(target=definite.invert, args=(A,))
    begin, steps = time.perf_counter(), 0
    worker.start()
    while worker.is_alive():
        steps += 1
        time.sleep(1e-4)
    assert steps > 3, time.perf_counter() - begin
