import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from representer import rows
from representer.rows.arrays import ArrayRows

N = 40_000
CUTS = [slice(0, 13_000), slice(13_000, 13_001), slice(13_001, N)]


@pytest.fixture
def X(rng):
    return rng.normal(size=(N, 3)).astype(np.float32)


@pytest.fixture
def y(rng):
    return rng.normal(size=N)


def written(folder, tables):
    """Paths of Parquet files with row groups of 4,000 rows."""
    paths = [folder / f"part-{k}.parquet" for k in range(len(tables))]
    for path, table in zip(paths, tables, strict=True):
        pq.write_table(pa.table(table), path, row_group_size=4000)
    return paths


def columns(X, y, cut=slice(None)):
    return {"a": X[cut, 0], "b": X[cut, 1], "delay": y[cut], "c": X[cut, 2]}


def moments(X, y, w):
    return X.T @ X, X.T @ y, np.exp(X).sum()


def same(ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


def test_parquet_and_npy_files_and_memory_maps_have_the_bits_of_memory(X, y, tmp_path):
    written(tmp_path, [columns(X, y, cut) for cut in CUTS])
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    for k, cut in enumerate(CUTS):
        np.save(tmp_path / f"x{k}.npy", X[cut])
        np.save(tmp_path / f"t{k}.npy", y[cut])
    memory = ArrayRows(X, y)
    places = [
        rows(str(tmp_path / "part-*.parquet"), target="delay"),
        rows(tmp_path / "X.npy", target=tmp_path / "y.npy"),
        rows([tmp_path / f"x{k}.npy" for k in range(3)], target=str(tmp_path / "t*.npy")),
        rows(np.load(tmp_path / "X.npy", mmap_mode="r"), target=np.load(tmp_path / "y.npy", mmap_mode="r")),
    ]
    for place in places:
        assert (len(place), place.n_columns, place.dtype) == (N, 3, np.float32)
        same(place.total(moments), memory.total(moments))
        same(place.sample(200, 1)[:2], memory.sample(200, 1)[:2])
        same(next(place.blocks(first=1))[:2], next(memory.blocks(first=1))[:2])
    assert places[0].names == ["a", "b", "c"]


def test_blocks_may_begin_in_any_row_group(X, y, tmp_path):
    (path,) = written(tmp_path, [columns(X, y)])
    stream = rows(path, target="delay")
    for start in (0, 1, 3999, 4000, 39_999):
        skip, batches = stream.source.batches(start)
        where, batch = next(batches)
        assert f"from row {start - skip} on" in where
        assert (start - skip) % 4000 == 0
        assert skip < 4000
        assert batch.column("delay")[skip].as_py() == y[start]
    skip, batches = stream.source.batches(N)
    assert list(batches) == []


def test_target_and_weight_as_columns_of_npy_files(X, y, tmp_path):
    np.save(tmp_path / "all.npy", np.column_stack([X, y, np.ones(N)]))
    place = rows(tmp_path / "all.npy", target=3, weight=-1)
    same(place.total(lambda X, y, w: (X.T @ (w * y),)), ArrayRows(X.astype(float), y).total(lambda X, y, w: (X.T @ y,)))


@pytest.mark.parametrize("weight", [None, "b"])
def test_several_targets_as_columns(X, y, tmp_path, weight):
    X = np.abs(X)
    written(tmp_path, [columns(X, y, cut) for cut in CUTS])
    place, rest = rows(tmp_path, target=["delay", "c"], weight=weight), X[:, :1] if weight else X[:, :2]
    expected = ArrayRows(rest, np.column_stack([y, X[:, 2]])).total(lambda X, y, w: (X.T @ y,))
    same(place.total(lambda X, y, w: (X.T @ y,)), expected)
    np.save(tmp_path / "all.npy", np.column_stack([X, y]))
    place = rows(tmp_path / "all.npy", target=[3, 2], weight=1 if weight else None)
    np.testing.assert_allclose(place.total(lambda X, y, w: (X.T @ y,))[0], expected[0], rtol=1e-5)


def test_folders_and_frames_with_words(tmp_path):
    frame = pd.DataFrame({"city": ["Rome", "Oslo"] * 3, "x": np.arange(6.0), "delay": np.arange(6)})
    written(tmp_path, [dict(frame[:4]), dict(frame[4:])])
    (tmp_path / "_SUCCESS").write_text("")
    place = rows(tmp_path, target="delay")
    (block,) = place.blocks()
    assert list(block[0]["city"]) == list(frame["city"])
    assert place.dtype is None


def fails(error, message, *args, **options):
    with pytest.raises(error) as caught:
        rows(*args, **options).total(lambda X, y, w: (len(X),))
    assert message in str(caught.value), str(caught.value)


def test_faults_name_the_file(X, y, tmp_path):
    good = columns(X, y)
    lacking = {name: good[name] for name in ("a", "c", "delay")}
    paths = written(tmp_path, [good, good, lacking])
    fails(ValueError, f"{paths[2]} has no column 'b'", paths, target="delay", columns=["a", "b"])
    fails(ValueError, f"{paths[2]} has no column 'b', which {paths[0]} has", paths, target="delay")
    fails(ValueError, f"missing in {paths[2]}", paths[2:] + paths[:1], target="delay")
    fails(ValueError, f"{paths[0]} has no column 'Delay'; its columns are a, b, delay, c", paths, target="Delay")
    changed = written(tmp_path, [good, good | {"b": X[:, 1].astype(np.int32)}])
    fails(ValueError, f"Column 'b' is int32 in {paths[1]}, but float in {paths[0]}", changed, target="delay")
    (holes,) = written(tmp_path, [good | {"b": pa.array([1.0] * (N - 1) + [None], pa.float32())}])
    fails(ValueError, f"{holes}, from row", holes, target="delay")
    fails(FileNotFoundError, "No file matches 'nothing-*.parquet'", "nothing-*.parquet")
    fails(FileNotFoundError, "There is no file nothing.parquet", ["nothing.parquet"])
    fails(ValueError, "Files that end with '.csv'", ["a.csv"])


def test_files_that_end_early_are_named(X, y, tmp_path):
    paths = written(tmp_path, [columns(X, y), columns(X, y)])
    whole = paths[1].read_bytes()
    paths[1].write_bytes(whole[: len(whole) // 2])
    fails(ValueError, f"{paths[1]} is not a whole Parquet file, or ends early", paths, target="delay")
    paths[1].write_bytes(whole[:4] + bytes(100) + whole[104:])
    fails(ValueError, f"{paths[1]} ends early or is damaged after row 0", paths, target="delay")
    np.save(tmp_path / "X.npy", X)
    with (tmp_path / "X.npy").open("r+b") as file:
        file.truncate(5000)
    fails(ValueError, f"{tmp_path / 'X.npy'} is not a whole .npy file, or ends early", tmp_path / "X.npy")


def test_npy_files_must_fit_together(X, y, tmp_path):
    for name, values in {"X": X, "y": y, "wide": X[:, :2], "short": y[1:], "double": X.astype(float)}.items():
        np.save(tmp_path / f"{name}.npy", values)
    path = {name: tmp_path / f"{name}.npy" for name in ("X", "y", "wide", "short", "double")}
    fails(ValueError, "short.npy has 39999 rows, but", path["X"], target=path["short"])
    fails(ValueError, "wide.npy holds float32 of shape (40000, 2), but", [path["X"], path["wide"]])
    fails(ValueError, "double.npy holds float64", [path["X"], path["double"]])
    fails(ValueError, "2 files of inputs and 1 of target", [path["X"]] * 2, target=path["y"])
    fails(ValueError, "both as files", path["X"], target=0, weight=path["y"])


def test_empty_files_are_skipped_with_a_warning(X, y, tmp_path):
    paths = written(tmp_path, [columns(X, y, slice(0, 0)), columns(X, y), columns(X, y, slice(0, 0))])
    with pytest.warns(UserWarning, match=r"part-\d.parquet has no rows and is skipped") as told:
        (n,) = rows(paths, target="delay").total(lambda X, y, w: (len(y),))
    assert n == N
    assert len(told) == 2
    for k, cut in enumerate((slice(0, 0), slice(0, N))):
        np.save(tmp_path / f"x{k}.npy", X[cut])
        np.save(tmp_path / f"t{k}.npy", y[cut])
    arrays = rows(str(tmp_path / "x*.npy"), target=str(tmp_path / "t*.npy"))
    for place in (arrays, rows(paths, target="delay")):
        assert len(place.beginning()[0]) == len(place.beginning()[1]) > 0
    with pytest.warns(UserWarning, match=r"x0.npy has no rows and is skipped"):
        same(arrays.total(moments), ArrayRows(X, y).total(moments))
    fails(ValueError, "part-0.parquet has no rows", paths[0], target="delay")


def test_fingerprints_are_of_names_sizes_and_ends(X, y, tmp_path):
    (path,) = written(tmp_path, [columns(X, y)])
    first = rows(path, target="delay").fingerprint
    assert first == rows(path, target="delay").fingerprint
    assert first != rows(path, target="a").fingerprint
    written(tmp_path, [columns(X + np.float32(1), y)])
    assert first != rows(path, target="delay").fingerprint
