"""Threads: the tiles of a matrix, a map over them on several threads, and limits on BLAS threads.

A tile fits the L2 cache. Tiles are cut into runs; a run is visited by one thread from its first to its last tile, and
its sums are kept separate until all runs are added in order. So results do not depend on which thread was faster.

Reproducibility: a map gives bit-for-bit the same result on every call, for any number of our threads, and whatever
other threads of the process do, as BLAS has one thread during it. That limit is process-wide, so with several
concurrent maps it holds from the start of the first to the end of the last. Outside of maps, as in factorisations of
more than SMALL rows, BLAS uses as many threads as it is set to; last digits may depend on their number, and so on
whether another thread is within a map.

An exception in the caller's thread, such as KeyboardInterrupt, ends all runs after their current tile.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from typing import Any, TypeVar
from weakref import WeakSet

import numpy as np
import scipy.linalg  # its BLAS, which compiled loops use too, has threads of its own  # noqa: F401
from joblib import cpu_count
from threadpoolctl import ThreadpoolController

TILE_BYTES = 2**19
RUNS = 16
SMALL = 1000
"""Rows of a matrix up to which one BLAS thread is as fast as several."""
INTERRUPT_SECONDS = 0.2
"""Seconds that a thread waits for others before it can be interrupted."""

Tile = tuple[slice, slice]
Part = TypeVar("Part")


_alone = threading.local()
"""depth: how many contexts of `one_thread` the current thread is in."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Maps of the current thread use one thread by default: for tasks of a scheduler that has its own threads."""
    _alone.depth = getattr(_alone, "depth", 0) + 1
    try:
        yield
    finally:
        _alone.depth -= 1


def default_threads() -> int:
    """OMP_NUM_THREADS threads if that is set, else one for each core that this process may use.

    One within `one_thread`.
    """
    if getattr(_alone, "depth", 0):
        return 1
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    return int(wanted) if wanted.isdigit() and int(wanted) > 0 else _cores()


_cores = lru_cache(maxsize=1)(cpu_count)  # asking takes half a millisecond


@lru_cache(maxsize=1)  # asking takes a tenth of a millisecond
def machine_memory() -> int:
    """The machine's memory in bytes, or 16 GB where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 16 * 10**9


def split(n: int, size: int) -> list[slice]:
    """The slices 0:size, size:2 size, ... that cover 0:n."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def tile_shape(dtype: np.dtype) -> tuple[int, int]:
    """Rows and columns of a full tile: 256 x 512 in float32, 256 x 256 in float64."""
    return 256, TILE_BYTES // (256 * np.dtype(dtype).itemsize)


def pairs(n_rows: int, n_columns: int, shape: tuple[int, int], symmetric: bool, first: int = 0) -> list[Tile]:
    """All tiles as (rows, columns), or those from row ``first`` on.

    For a symmetric matrix, those of the lower triangle, square on the diagonal.
    """
    rows = [slice(first + part.start, first + part.stop) for part in split(n_rows - first, shape[0])]
    columns = split(n_columns, shape[1])
    if not symmetric:
        return [(i, j) for i in rows for j in columns]
    tiles = [(i, slice(j.start, min(j.stop, i.start))) for i in rows for j in columns if j.start < i.start]
    return sorted(tiles + [(i, i) for i in rows], key=lambda tile: (tile[0].start, tile[1].start))


class _Stopped(BaseException):
    """Raised in a run whose result is no longer wanted."""


class _Run(list):
    """A run of tiles; iterating over it raises an exception once an enclosing map has been abandoned."""

    def __init__(self, tiles: list, given_up: tuple[threading.Event, ...]):
        super().__init__(tiles)
        self.given_up = given_up

    def __iter__(self) -> Iterator[Any]:
        for tile in super().__iter__():
            if any(event.is_set() for event in self.given_up):
                raise _Stopped
            yield tile


_around = threading.local()
"""given_up: the events of the maps whose visits the current thread is in."""


def interruptible(parts: list) -> list:
    """Parts of a slow tile; iterating over them ends like that over tiles once a map is abandoned."""
    return _Run(parts, getattr(_around, "given_up", ()))


def map_tiles(
    tiles: list[Part], visit: Callable[[list[Part]], Any], *, threads: int | None = None, runs: int = RUNS
) -> Iterator[Any]:
    """Yield visit(run) for each run of tiles, computed on several threads, in the order of the runs.

    ``visit`` iterates over its run, which may raise between two tiles: see `_Run`. The caller's thread takes part: it
    works while others wake up, which takes as long as a few tiles.
    """
    runs = min(runs, len(tiles))
    end = threading.Event()
    given_up = (end, *getattr(_around, "given_up", ()))
    parts = [_Run(tiles[len(tiles) * r // runs : len(tiles) * (r + 1) // runs], given_up) for r in range(runs)]
    threads = min(threads or default_threads(), runs)
    if threads == 1 or len(tiles) < 4:  # dispatching takes as long as a tile or two
        with one_blas_thread():
            yield from map(visit, parts)
        return
    pending: list[Future[Any]] = []
    with one_blas_thread(), workers(threads - 1) as pool:
        try:
            pending.extend(pool.submit(_visit, visit, part) for part in parts)
            for r in range(runs):
                while not pending[r].done():
                    left = next((s for s in range(r, runs) if not pending[s].done() and pending[s].cancel()), None)
                    if left is None:
                        break
                    pending[left] = _visited(visit, parts[left])
                yield _result(pending[r])
        except _Stopped:  # by an error in another run, or in an enclosing map
            end.set()
            raise _first_error(pending) from None
        except BaseException:  # an error, an interrupt, or a caller that stops early
            end.set()
            raise
        finally:  # no thread keeps running after this
            wait([run for run in pending if not run.cancel()])


def _visit(visit: Callable[[list[Part]], Any], part: _Run) -> Any:
    """Visit a run in a thread of the pool; nested maps end with the enclosing one."""
    _around.given_up = part.given_up
    try:
        with one_blas_thread():
            return visit(part)
    except BaseException:
        part.given_up[0].set()  # the other runs of this map can stop
        raise
    finally:
        _around.given_up = ()


def _visited(visit: Callable[[list[Part]], Any], part: _Run) -> Future[Any]:
    """The caller's own visit; its error is raised when it is this run's turn."""
    run: Future[Any] = Future()
    try:
        run.set_result(visit(part))
    except Exception as error:
        run.set_exception(error)
    return run


def _result(run: Future[Any]) -> Any:
    """The result of a run. With timeouts, as signal handlers of some libraries do not interrupt the wait for a lock."""
    while True:
        try:
            return run.result(timeout=INTERRUPT_SECONDS)
        except TimeoutError:
            if run.done():  # it is the run's own error
                return run.result()


def _first_error(runs: list[Future[Any]]) -> BaseException:
    """The error that ended all runs."""
    wait([run for run in runs if not run.cancel()])
    errors = [run.exception() for run in runs if not run.cancelled()]
    return next((error for error in errors if error is not None and not isinstance(error, _Stopped)), _Stopped())


_pool = lru_cache(maxsize=4)(ThreadPoolExecutor)
_taken = threading.Lock()


def _reset_after_fork() -> None:
    """A forked process has none of its parent's threads, which would release their locks."""
    global _taken
    _pool.cache_clear()
    _blas_limits.cache_clear()
    _taken = threading.Lock()


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_reset_after_fork)


@contextmanager
def workers(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Threads that are kept for the next map, as starting them takes a millisecond; temporary ones for a nested map."""
    if not _taken.acquire(blocking=False):
        with ThreadPoolExecutor(threads) as pool:
            yield pool
        return
    try:
        yield _pool(threads)
    finally:
        _taken.release()


class _Entry:
    """A context that has been entered."""


class _OneThread:
    """Libraries that have one thread from the first `enter` to the last `leave`, over all threads of the process.

    The entry of a context that was interrupted on exit is garbage-collected, and thread counts that an interrupt kept
    from being restored are restored by the next context.
    """

    def __init__(self, libraries: list[Any]):
        self._libraries, self._lock = libraries, threading.Lock()
        self._inside: WeakSet[_Entry] = WeakSet()
        self._before: list[int] | None = None

    def enter(self, entry: _Entry) -> None:
        with self._lock:
            if not self._inside:
                self._before = self._before or [library.num_threads for library in self._libraries]
                self._set([1] * len(self._libraries))
            self._inside.add(entry)

    def leave(self, entry: _Entry) -> None:
        with self._lock:
            self._inside.discard(entry)
            if not self._inside and self._before is not None:
                self._set(self._before)
                self._before = None

    def _set(self, numbers: list[int]) -> None:
        for library, number in zip(self._libraries, numbers, strict=True):
            # newer versions of threadpoolctl let only the first thread that set a number change it
            release = getattr(library, "clear_controlling_thread", lambda force: None)
            release(force=True)
            library.set_num_threads(number)
            release(force=True)


class _OneThreadEach(threading.local, _OneThread):
    """The same for libraries whose number of threads is set per calling thread."""


@lru_cache(maxsize=1)
def _blas_limits() -> list[_OneThread]:
    """Limits of the BLAS libraries: with a process-wide thread count, and with one per thread, as in OpenMP."""
    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    openmp = [getattr(library, "threading_layer", "") == "openmp" for library in libraries]
    shared, own = ([lib for lib, each in zip(libraries, openmp, strict=True) if each == kind] for kind in (False, True))
    return [limit(found) for limit, found in ((_OneThread, shared), (_OneThreadEach, own)) if found]


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS uses one thread, in the whole process, until the last such context is left."""
    limits, entry = _blas_limits(), _Entry()
    try:
        for limit in limits:
            limit.enter(entry)
        yield
    finally:
        for limit in limits:
            limit.leave(entry)


def blas_threads_for(n: int) -> AbstractContextManager[None]:
    """One BLAS thread for small matrices, which are done before BLAS has woken up its others."""
    return one_blas_thread() if n <= SMALL else nullcontext()


def buffer(dtype: np.dtype, shape: tuple[int, int] | None = None) -> Callable[[Tile], np.ndarray]:
    """A reused buffer for one tile at a time: a function from (rows, columns) to an uninitialised C-contiguous array.

    Tiles have at most this shape, by default that of a full tile.
    """
    h, w = shape or tile_shape(dtype)
    memory = np.empty(h * w, dtype)

    def tile_of(tile: Tile) -> np.ndarray:
        shape = tile[0].stop - tile[0].start, tile[1].stop - tile[1].start
        return memory[: shape[0] * shape[1]].reshape(shape)

    return tile_of


def parts(inputs: Any) -> Callable[[slice], Any]:
    """inputs[rows] for slices, each computed only once: a slice is used by many tiles, and by all threads."""
    cut = lru_cache(maxsize=None)(lambda start, stop: inputs[start:stop])
    return lambda rows: cut(rows.start, rows.stop)
