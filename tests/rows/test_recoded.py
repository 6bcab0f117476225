import dask
import dask.array as da
import numpy as np
import pytest

from representer import rows
from representer.rows.recoded import (
    Labels,
    Pair,
    Places,
    RecodedRows,
    Signs,
    Standardised,
    Zeros,
    classes_of,
)


@pytest.mark.parametrize("lazy", [False, True])
def test_labels_become_their_places(rng, lazy):
    X, y = rng.normal(size=(300, 2)), rng.choice(["red", "blue", "green"], size=300)
    places = np.searchsorted(["blue", "green", "red"], y)
    pair = (da.from_array(X, chunks=(100, 2)), da.from_array(y, chunks=100)) if lazy else (X, y)
    with dask.config.set(scheduler="synchronous"):
        data = rows(pair[0], target=pair[1])
        classes, weights, counts = classes_of(data)
        assert list(classes) == ["blue", "green", "red"]
        np.testing.assert_array_equal(counts, np.bincount(places))
        np.testing.assert_array_equal(weights, counts)
        coded = RecodedRows(data, Places(classes))
        (sums,) = coded.total(Counted())
        np.testing.assert_array_equal(sums, np.bincount(places))
        np.testing.assert_array_equal(np.concatenate(coded.map(second)), places)
        np.testing.assert_array_equal(np.concatenate([block[1] for block in coded.blocks()]), places)
        assert (len(coded), coded.n_columns, coded.fingerprint) == (300, 2, data.fingerprint)
        some, _, _ = data.sample(9)
        np.testing.assert_array_equal(coded.sample(9)[0], some)
        assert set(coded.sample(50)[1]) == {0, 1, 2}


def test_rows_of_a_pair_of_classes(rng):
    X, y = rng.normal(size=(40_000, 1)), rng.integers(3, size=40_000)
    y[:20_000] = 1  # blocks without a row of the pair
    w, factors = rng.uniform(size=40_000), np.array([1.0, 2.0, 3.0])
    n = int(np.count_nonzero(y != 1))
    pair = RecodedRows(rows(X, target=y, weight=w), Pair(np.arange(3), factors, 0, 2), n)
    index = np.flatnonzero(y != 1)
    assert len(pair) == n
    sums = pair.total(weighted)
    signs = np.where(y[index] == 0, 1.0, -1.0)
    weights = w[index] * factors[y[index]]
    np.testing.assert_allclose(sums, [(weights * signs).sum(), weights @ X[index, 0]], rtol=1e-12)
    some, labels, _ = pair.sample(100)
    assert 80 < len(some) <= 100
    assert set(labels) == {-1.0, 1.0}


def test_codes(rng):
    X, y, w = np.zeros((4, 1)), np.array(["a", "b", "c", "a"]), np.ones(4)
    np.testing.assert_array_equal(Signs(np.array(["a", "b", "c"]))(X, y, w)[1].argmax(axis=1), [0, 1, 2, 0])
    np.testing.assert_array_equal(Signs(np.array(["a", "b"]))(X[:2], y[:2], None)[1], [-1.0, 1.0])
    np.testing.assert_array_equal(Zeros()(X, None, w)[1], np.zeros(4))
    np.testing.assert_array_equal(Standardised(np.ones(1), np.full(1, 2.0))(X[:2], [3.0, 1.0], w)[1], [[1.0], [0.0]])
    with pytest.raises(ValueError, match="needs classes, not numbers"):
        Labels()(None, rng.normal(size=10_001), None)


class Counted:
    def __call__(self, X, y, w):
        return (np.bincount(y, minlength=3),)


def second(X, y, w):
    return y


def weighted(X, y, w):
    return (w * y).sum(), w @ X[:, 0]
