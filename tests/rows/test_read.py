import numpy as np
import pytest

from representer import rows
from representer.rows.arrays import ArrayRows


class Sliced:
    """An array with slices of rows only, as h5py and zarr have them: places must rise."""

    def __init__(self, values):
        self.values, self.shape, self.dtype = values, values.shape, values.dtype

    def __getitem__(self, index):
        assert isinstance(index, slice) or np.all(np.diff(index) > 0)
        return self.values[index]


def test_arrays_on_disk_have_the_bits_of_memory(rng):
    X, y = rng.normal(size=(20_000, 2)), rng.normal(size=20_000)
    place = rows(Sliced(X), target=Sliced(y))
    G, b = place.total(lambda X, y, w: (X.T @ X, X.T @ y))
    expected = ArrayRows(X, y).total(lambda X, y, w: (X.T @ X, X.T @ y))
    np.testing.assert_array_equal(G, expected[0])
    np.testing.assert_array_equal(b, expected[1])
    np.testing.assert_array_equal(place.sample(30)[0], ArrayRows(X).sample(30)[0])
    fortran = rows(np.asfortranarray(X), target=np.column_stack([y, y])[:, 0])
    np.testing.assert_array_equal(fortran.total(lambda X, y, w: (X.T @ y,))[0], expected[1])
    assert place.fingerprint == ArrayRows(X, y).fingerprint


def test_tables_in_memory_with_their_target():
    A = np.arange(12.0).reshape(4, 3)
    (block,) = rows(A, target=-1).blocks()
    np.testing.assert_array_equal(block[0], A[:, :2])
    np.testing.assert_array_equal(block[1], A[:, 2])


@pytest.mark.parametrize("wrap", ["map", "sliced"])
def test_columns_of_tables_on_disk_are_split_in_blocks(rng, tmp_path, wrap):
    A = rng.normal(size=(40_000, 5)).astype(np.float32)
    np.save(tmp_path / "A.npy", A)
    table = np.load(tmp_path / "A.npy", mmap_mode="r") if wrap == "map" else Sliced(A)
    place, memory = rows(table, target=[3, 1]), ArrayRows(A[:, [0, 2, 4]], A[:, [3, 1]])
    assert place.X is table  # nothing is copied
    assert (place.n_columns, place.dtype, place.n_blocks) == (3, np.float32, memory.n_blocks)
    for ours, theirs in zip(place.sample(50, 1)[:2], memory.sample(50, 1)[:2], strict=True):
        np.testing.assert_array_equal(ours, theirs)
    sums, expected = (each.total(lambda X, y, w: (X.T @ X, X.T @ y)) for each in (place, memory))
    for ours, theirs in zip(sums, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    A[20_001, 1] = np.inf
    with pytest.raises(ValueError, match="from row 16384 on, has missing or infinite values among the target, in row"):
        list(rows(Sliced(A), target=1).blocks())
    with pytest.raises(ValueError, match="5 columns, so 7 is not a column"):
        rows(table, target=7)


def test_rows_of_rows_are_an_error():
    with pytest.raises(TypeError, match="rows already"):
        rows(rows(np.ones((2, 2))))


def test_a_checkpoint_needs_a_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="no folder"):
        rows(np.ones((2, 2)), checkpoint=tmp_path / "nowhere" / "fit.npz")


def test_strings_beside_an_array_are_inputs_and_no_files():
    ((words, targets, _),) = rows(["ab", "ba"], target=np.array([1.0, 2.0])).blocks()
    assert words == ["ab", "ba"]
    np.testing.assert_array_equal(targets, [1.0, 2.0])
    with pytest.raises(ValueError, match="Files that end with '' are not read here"):
        rows(["ab", "ba"])
