"""Walks over the tiles of a matrix: which tiles there are, and a pool of threads that visits them.

A tile fits the second-level cache. Tiles are cut into runs, a run is visited by one thread from its first to its last
tile, and whatever a run sums up it keeps to itself until all runs are added in their order. So a result does not depend
on which thread was faster, and is the same bit for bit on every call.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from joblib import cpu_count
from threadpoolctl import ThreadpoolController

TILE_BYTES = 2**19
RUNS = 16
SMALL = 1000
"""Rows of a matrix up to which one thread of BLAS is as fast as several."""

Tile = tuple[slice, slice]
Part = TypeVar("Part")


def default_threads() -> int:
    """As many threads as OMP_NUM_THREADS says, else one for each core that this process may use."""
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    return int(wanted) if wanted.isdigit() and int(wanted) > 0 else _cores()


_cores = lru_cache(maxsize=1)(cpu_count)  # asking takes half a millisecond


def split(n: int, size: int) -> list[slice]:
    """The slices 0:size, size:2 size, ... that cover 0:n."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def tile_shape(dtype: np.dtype) -> tuple[int, int]:
    """Rows and columns of a full tile: 256 x 512 in float32, 256 x 256 in float64."""
    return 256, TILE_BYTES // (256 * np.dtype(dtype).itemsize)


def pairs(n_rows: int, n_columns: int, shape: tuple[int, int], symmetric: bool, first: int = 0) -> list[Tile]:
    """All tiles as (rows, columns), or those from the first wanted row on.

    Of a symmetric matrix they are those of the lower triangle, square on the diagonal.
    """
    rows = [slice(first + part.start, first + part.stop) for part in split(n_rows - first, shape[0])]
    columns = split(n_columns, shape[1])
    if not symmetric:
        return [(i, j) for i in rows for j in columns]
    tiles = [(i, slice(j.start, min(j.stop, i.start))) for i in rows for j in columns if j.start < i.start]
    return sorted(tiles + [(i, i) for i in rows], key=lambda tile: (tile[0].start, tile[1].start))


def walk(
    tiles: list[Part], visit: Callable[[list[Part]], Any], *, threads: int | None = None, runs: int = RUNS
) -> Iterator[Any]:
    """visit(run) for each run of tiles, on several threads; the results come in the order of the runs.

    The caller's thread takes part: it works while others wake up, which takes as long as some tiles.
    """
    runs = min(runs, len(tiles))
    parts = [tiles[len(tiles) * r // runs : len(tiles) * (r + 1) // runs] for r in range(runs)]
    threads = min(threads or default_threads(), runs)
    if threads == 1 or len(tiles) < 4:  # handing work to threads takes as long as a tile or two
        with one_blas_thread():
            yield from map(visit, parts)
        return
    with one_blas_thread(), workers(threads - 1) as pool:
        pending = [pool.submit(visit, part) for part in parts]
        try:
            for r in range(runs):
                while not pending[r].done():
                    left = next((s for s in range(r, runs) if not pending[s].done() and pending[s].cancel()), None)
                    if left is None:
                        break
                    pending[left] = _visited(visit, parts[left])
                yield pending[r].result()
        finally:  # after an error nobody works on behind the caller's back
            wait([run for run in pending if not run.cancel()])


def _visited(visit: Callable[[list[Part]], Any], part: list[Part]) -> Future[Any]:
    """The caller's own visit; its error waits until it is this run's turn."""
    run: Future[Any] = Future()
    try:
        run.set_result(visit(part))
    except Exception as error:
        run.set_exception(error)
    return run


_pool = lru_cache(maxsize=4)(ThreadPoolExecutor)
_taken = threading.Lock()


def _begin_anew() -> None:
    """A forked process has none of its parent's threads, and nobody to release their locks."""
    global _taken, _limited
    _pool.cache_clear()
    _taken, _limited = threading.Lock(), threading.Lock()


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_begin_anew)


@contextmanager
def workers(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Threads that stay for the next walk, as starting them takes a millisecond; own ones for a walk inside a walk."""
    if not _taken.acquire(blocking=False):
        with ThreadPoolExecutor(threads) as pool:
            yield pool
        return
    try:
        yield _pool(threads)
    finally:
        _taken.release()


_controller = lru_cache(maxsize=1)(ThreadpoolController)
_limited = threading.Lock()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS uses one thread during a walk. Of walks at the same time the first one sets this, and restores it."""
    if not _limited.acquire(blocking=False):
        yield
        return
    try:
        with _controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        _limited.release()


def blas_threads_for(n: int) -> AbstractContextManager[None]:
    """One thread for small matrices, which are done before BLAS has woken up its others."""
    return one_blas_thread() if n <= SMALL else nullcontext()


def buffer(dtype: np.dtype, shape: tuple[int, int] | None = None) -> Callable[[Tile], np.ndarray]:
    """Memory for one tile at a time: a function from (rows, columns) to an uninitialised C-contiguous array.

    Tiles are at most of this shape, which is that of a full tile when not given.
    """
    h, w = shape or tile_shape(dtype)
    memory = np.empty(h * w, dtype)

    def tile_of(tile: Tile) -> np.ndarray:
        shape = tile[0].stop - tile[0].start, tile[1].stop - tile[1].start
        return memory[: shape[0] * shape[1]].reshape(shape)

    return tile_of


def parts(inputs: Any) -> Callable[[slice], Any]:
    """inputs[rows] for slices, each cut only once: a slice is used by many tiles, and by all threads."""
    cut = lru_cache(maxsize=None)(lambda start, stop: inputs[start:stop])
    return lambda rows: cut(rows.start, rows.stop)
