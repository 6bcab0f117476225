import os
import signal
import threading
import time
from concurrent.futures import CancelledError
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import pairwise
from unittest.mock import Mock

import cloudpickle
import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

from representer import rows
from representer.rows import checkpoint
from representer.rows.arrays import ArrayRows
from representer.rows.distributed import dask_rows

N = 3000
CHUNKS = (500, 700, 1, 799, 1000)


@dataclass(frozen=True)
class Moments:
    """Sums that depend on the order of additions; after each of them a counter in a folder grows."""

    v: np.ndarray
    folder: str = ""

    def __call__(self, X, y, w):
        residual = X @ self.v - y
        if self.folder:
            with open(os.path.join(self.folder, "counter"), "a") as file:
                file.write(".")
        return X.T @ residual, residual @ residual, len(X), None


@pytest.fixture(autouse=True)
def synchronous(request):
    with nullcontext() if "killed" in request.node.name else dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def Xy(rng):
    return rng.normal(size=(N, 3)), rng.normal(size=N)


@pytest.fixture
def arrays(Xy):
    return da.from_array(Xy[0], chunks=(CHUNKS, 2)), da.from_array(Xy[1], chunks=1100)


def part():
    return Moments(np.array([1.0, 2.0, 3.0]))


def by_hand(X, y, v):
    """Sums of partitions, all in one branch of the tree."""
    cuts = np.cumsum([0, *CHUNKS])
    total = 0.0
    for a, b in pairwise(cuts):
        total = total + X[a:b].T @ (X[a:b] @ v - y[a:b])
    return total


def test_sums_are_those_of_the_partitions_in_order(Xy, arrays):
    data = rows(arrays[0], target=arrays[1])
    gradient, _, n, nothing = data.total(part())
    np.testing.assert_array_equal(gradient, by_hand(*Xy, part().v))
    np.testing.assert_allclose(gradient, ArrayRows(*Xy).total(part())[0], rtol=1e-9)
    assert (n, nothing, len(data), data.n_columns, data.dtype) == (N, None, N, 3, np.float64)
    assert data.map(lambda X, y, w: len(X)) == list(CHUNKS)
    assert [len(block[0]) for block in data.blocks()] == list(CHUNKS)


def test_schedulers_agree_bit_for_bit(arrays):
    data = rows(arrays[0], target=arrays[1])
    first = data.total(part())
    with dask.config.set(scheduler="threads", num_workers=2):
        for one, other in zip(first, data.total(part()), strict=True):
            np.testing.assert_array_equal(one, other)


def test_waves_and_trees_add_up(Xy, monkeypatch):
    monkeypatch.setattr(dask_rows, "WAVE", 20)
    X, y = (da.from_array(each, chunks=(50, *each.shape[1:])) for each in Xy)
    data = rows(X, target=y)
    told = []
    gradient, *_ = data.watched(lambda done, of: told.append(done)).total(part())
    np.testing.assert_allclose(gradient, ArrayRows(*Xy).total(part())[0], rtol=1e-9)
    assert told == [0, 1000, 2000, 3000]


@pytest.mark.parametrize("unknown", [False, True])
def test_samples_are_those_of_memory(Xy, arrays, unknown):
    X, y = arrays
    if unknown:
        keep = da.from_array(np.ones(N, bool), chunks=(CHUNKS,))
        X, y = X[keep], y.rechunk((CHUNKS,))[keep]
        assert np.isnan(X.chunks[0][0])
    data = rows(X, target=y)
    for k in (1, 40, N + 1):
        for ours, theirs in zip(data.sample(k, 3)[:2], ArrayRows(*Xy).sample(k, 3)[:2], strict=True):
            np.testing.assert_array_equal(ours, theirs)
    assert data.lengths == list(CHUNKS)


def test_data_frames_with_words_categories_and_empty_partitions(Xy):
    X, y = Xy
    frame = pd.DataFrame({"a": X[:, 0], "city": np.where(X[:, 1] > 0, "Rome", "Oslo"), "delay": y})
    frame["kind"] = frame["city"].astype("category")
    parts = [frame[:1000], frame[:0], frame[1000:]]
    parts[0] = parts[0].assign(kind=parts[0]["kind"].cat.add_categories("none"))  # categories differ
    data = rows(dd.from_map(lambda k: parts[k], range(3), meta=frame[:0]), target="delay", columns=["a", "kind"])
    with pytest.warns(UserWarning, match="Partition 1 has no rows and will be skipped"):
        assert len(data) == N
    (counts,) = data.total(Counts())
    np.testing.assert_array_equal(counts, [np.sum(X[:, 1] > 0), np.sum(X[:, 1] <= 0)])
    some, targets, _ = data.sample(25)
    index = ArrayRows(np.arange(N)[:, None]).sample(25)[0].ravel()
    np.testing.assert_array_equal(targets, y[index])
    assert list(some["kind"]) == list(frame["city"].iloc[index])
    numbers = rows(dd.from_pandas(frame, npartitions=2), target="city", columns=["a"])
    assert set(numbers.sample(9)[1]) == {"Rome", "Oslo"}
    assert (numbers.n_columns, numbers.dtype) == (1, np.float64)


class Counts:
    def __call__(self, X, y, w):
        values = np.asarray(X["kind"])
        return (np.array([np.sum(values == "Rome"), np.sum(values == "Oslo")]),)


def test_the_graph_is_small(Xy):
    X = da.random.default_rng(0).normal(size=(10**8, 3), chunks=(10**6, 3))
    data = rows(X, target=X[:, 0])
    data._tried.add(Moments)
    tree = data._tree(data._leaves(dask_rows.tasks.Parcel(part()), dask_rows.tasks.summed), "key")
    own = {key: task for key, task in dict(tree.__dask_graph__()).items() if not str(key).startswith("('")}
    assert len(own) <= 3 * 100
    assert len(cloudpickle.dumps(own)) < 10**5  # below 1 MB for 1,000 partitions


def test_faults(Xy, arrays):
    X, y = arrays
    with pytest.raises(TypeError, match=r"y is ndarray; make it one, too, .* dask.array.from_array\(y"):
        rows(X, target=Xy[1])
    with pytest.raises(ValueError, match="X has 3000 rows and y 2999"):
        rows(X, target=y[1:])
    with pytest.raises(ValueError, match="X is empty: none of its partitions has rows"):
        len(rows(X[:0]))
    frame = dd.from_pandas(pd.DataFrame(Xy[0], columns=list("abc")), npartitions=2)
    with pytest.raises(ValueError, match="The data frame has no column 'd'; its columns are a, b, c"):
        rows(frame, target="d")
    with pytest.raises(ValueError, match="X has 2 partitions, and those of y are 3"):
        dask_rows.DaskRows(frame, y)
    whole = X.rechunk({1: -1})
    broken = da.concatenate([whole, whole.map_blocks(lambda part: part[:, :2], meta=np.zeros((0, 3)))])
    with pytest.raises(
        ValueError, match=r"Partition \d has different columns from those before it: 2 where they have 3"
    ):
        rows(broken, target=da.concatenate([y, y])).total(part())
    with pytest.raises(
        ValueError, match=r"Partition [5-9] has different columns from those before it: 2 where they have 3"
    ):
        rows(broken, target=da.concatenate([y, y])).sample(6000)


def test_checkpoints_between_waves(arrays, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(dask_rows, "WAVE", 2)
    whole = rows(arrays[0], target=arrays[1]).total(part())

    def stop(done, of):
        if done > 1000:
            raise KeyboardInterrupt

    data = rows(arrays[0], target=arrays[1], checkpoint=tmp_path / "fit.npz")
    with pytest.raises(KeyboardInterrupt), data.watched(stop).fitting():
        data.watched(stop).total(part())
    told = []
    again = rows(arrays[0], target=arrays[1], checkpoint=tmp_path / "fit.npz").watched(lambda *at: told.append(at[0]))
    with again.fitting():
        sums = again.total(part())
    assert told == [1200, 2000, 3000]
    for one, other in zip(sums, whole, strict=True):
        np.testing.assert_array_equal(one, other)


def descent(data, folder="", steps=4):
    v = np.zeros(3)
    for _ in range(steps):
        v = v - 1e-4 * data.total(Moments(v, folder))[0]
    return v


def test_a_killed_worker_changes_no_bit(Xy, tmp_path, monkeypatch):
    """One of two workers is killed in the middle of the steps, with blocks in its memory; the nanny starts another."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # as a nanny does for its workers, and for good in this process, too
    X, y = (da.from_array(each, chunks=(100, *each.shape[1:])) for each in Xy)
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    forked = dask.config.set({"distributed.worker.multiprocessing-method": "fork"})  # starts in no time
    with forked, LocalCluster(**options) as cluster, Client(cluster) as client:
        expected = descent(rows(X, target=y).persisted())
        pid = next(iter(client.run(os.getpid).values()))
        data, found = rows(X, target=y).persisted(), []
        fit = threading.Thread(target=lambda: found.append(descent(data, str(tmp_path))))
        fit.start()
        while fit.is_alive() and counted(tmp_path) < 40:
            time.sleep(0.002)
        assert fit.is_alive()
        os.kill(pid, signal.SIGKILL)
        fit.join(timeout=60)
    np.testing.assert_array_equal(found[0], expected)


def counted(folder):
    path = folder / "counter"
    return path.stat().st_size if path.exists() else 0


def test_a_scheduler_that_dies_is_an_error_with_the_way_out(arrays, monkeypatch, tmp_path):
    class CommClosedError(Exception):
        pass

    path = tmp_path / "fit.npz"
    data, kept = rows(arrays[0], target=arrays[1]), rows(arrays[0], target=arrays[1], checkpoint=path)
    first, second = data.total(part()), kept.total(part())
    for error in (CommClosedError("Stream is closed"), CancelledError("for reason: scheduler-connection-lost.\nmore")):
        monkeypatch.setattr(dask, "compute", Mock(side_effect=error))
        with pytest.raises(ConnectionError, match=r"Start a scheduler, .*checkpoint=path.* says: [^\n]*$"):
            data.total(part())
    with pytest.raises(ConnectionError, match=r"the call with the checkpoint .*fit.npz, from which it goes on"):
        kept.total(part())
    again = rows(arrays[0], target=arrays[1], checkpoint=path).total(part())  # Dask still does not answer
    for one, two, three in zip(first, second, again, strict=True):
        np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(one, three)


def test_partitions_on_which_workers_die_are_given_up_with_a_sentence(arrays, monkeypatch):
    class KilledWorker(Exception):
        pass

    def compute(*calls):
        raise KilledWorker("summed-3")

    data = rows(arrays[0], target=arrays[1])
    monkeypatch.setattr(dask, "compute", compute)
    with pytest.raises(RuntimeError, match=r"smaller partitions, workers with more memory.* Dask says: summed-3"):
        data.total(part())
