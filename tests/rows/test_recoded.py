import dask
import dask.array as da
import numpy as np
import pytest

from representer import rows
from representer.rows.recoded import Places, RecodedRows, classes_of


@pytest.mark.parametrize("lazy", [False, True])
def test_labels_become_their_places(rng, lazy):
    X, y = rng.normal(size=(300, 2)), rng.choice(["red", "blue", "green"], size=300)
    places = np.searchsorted(["blue", "green", "red"], y)
    pair = (da.from_array(X, chunks=(100, 2)), da.from_array(y, chunks=100)) if lazy else (X, y)
    with dask.config.set(scheduler="synchronous"):
        data = rows(pair[0], target=pair[1])
        classes = classes_of(data)
        assert list(classes) == ["blue", "green", "red"]
        coded = RecodedRows(data, Places(classes))
        (sums,) = coded.total(Counted())
        np.testing.assert_array_equal(sums, np.bincount(places))
        np.testing.assert_array_equal(np.concatenate(coded.map(second)), places)
        np.testing.assert_array_equal(np.concatenate([block[1] for block in coded.blocks()]), places)
        assert (len(coded), coded.n_columns, coded.fingerprint) == (300, 2, data.fingerprint)
        some, _, _ = data.sample(9)
        np.testing.assert_array_equal(coded.sample(9)[0], some)
        assert set(coded.sample(50)[1]) == {0, 1, 2}


class Counted:
    def __call__(self, X, y, w):
        return (np.bincount(y, minlength=3),)


def second(X, y, w):
    return y
