import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from representer.gram.low_rank import LowRank
from representer.gram.operator import Meter, Operator, require_columns


def test_the_face():
    """What every matrix gives; the rest follows from it."""
    face = {"shape", "dtype", "__matmul__", "diag", "block", "take", "astype", "nbytes"}
    assert Operator.__abstractmethods__ == face


def test_what_follows_from_the_face(rng):
    K = LowRank(rng.normal(size=(2, 5)))
    D, w = K.factor.T @ K.factor, rng.normal(size=(3, 5))
    np.testing.assert_array_equal(K.dense(), D)
    np.testing.assert_allclose(w @ K, w @ D)
    assert (len(K), K.stored, K.evaluations) == (5, None, 0)


def test_a_meter_counts_in_several_threads():
    meter = Meter()
    with ThreadPoolExecutor(4) as pool:
        for _ in pool.map(lambda _: [meter.add(3) for _ in range(500)], range(4)):
            pass
    assert meter.evaluations == 4 * 500 * 3
    copy = pickle.loads(pickle.dumps(meter))
    copy.add(1)
    assert (copy.evaluations, meter.evaluations) == (6001, 6000)


@pytest.mark.parametrize(
    "V", [np.ones(4), np.ones((4, 2)), np.ones((5, 1, 1)), np.float64(1.0), "abcde", np.ones((1, 5))], ids=np.shape
)
def test_wrong_shape_of_v(V):
    with pytest.raises(ValueError, match=r"V has shape .*K has shape \(3, 5\); V needs one row for each column"):
        require_columns(V, (3, 5))


@pytest.mark.parametrize("V", [list("abc"), [1j, 0, 0], [None, 1, 2]], ids=repr)
def test_v_without_numbers(V):
    with pytest.raises(TypeError, match=r"V holds .* real numbers"):
        require_columns(V, (3, 3))
