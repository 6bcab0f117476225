import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from each_case import each
from threadpoolctl import ThreadpoolController, threadpool_info

from representer import _parallel

FEW = [(slice(i, i + 1), slice(0, 1)) for i in range(20)]


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def set_blas_threads(numbers):
    """Set by a thread that ends: threadpoolctl lets the first thread that sets a limit, while it lives, be the only."""
    pools = [pool for pool in ThreadpoolController().lib_controllers if pool.user_api == "blas"]

    def set_all():
        for pool, number in zip(pools, numbers, strict=True):
            pool.set_num_threads(number)

    setter = threading.Thread(target=set_all)
    setter.start()
    setter.join()


@pytest.fixture
def three_blas_threads():
    """A setting that is neither the default of this machine nor what a map sets."""
    before = blas_threads()
    set_blas_threads([3] * len(before))
    yield [3] * len(before)
    set_blas_threads(before)


@pytest.mark.parametrize(("n", "size"), [(1, 1), (1, 5), (5, 1), (10, 5), (11, 5), (4, 5)])
def test_split_covers_each_once(n, size):
    parts = _parallel.split(n, size)
    assert [i for part in parts for i in range(part.start, part.stop)] == list(range(n))
    assert all(part.stop - part.start == size for part in parts[:-1])


def test_split_of_nothing():
    assert _parallel.split(0, 5) == []


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tile_fits_the_cache(dtype):
    rows, columns = _parallel.tile_shape(dtype)
    assert rows * columns * np.dtype(dtype).itemsize == _parallel.TILE_BYTES


def visits(n, m, shape, symmetric, first=0):
    count = np.zeros((n, m), int)
    for rows, columns in _parallel.pairs(n, m, shape, symmetric, first):
        assert 0 < rows.stop - rows.start <= shape[0]
        count[rows, columns] += 1
    return count


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 30), (30, 1), (8, 16), (9, 17), (25, 31)])
def test_pairs_cover_each_entry_once(n, m):
    assert np.array_equal(visits(n, m, (4, 8), False), np.ones((n, m)))


@each("shape", [(4, 4), (4, 8), (8, 4), (4, 6), (5, 3)])
@each("n", [1, 3, 4, 5, 8, 9, 23, 24, 25])
def test_symmetric_pairs_cover_one_of_two(n, shape):
    count = visits(n, n, shape, True)
    inside = np.zeros((n, n), bool)
    for rows in _parallel.split(n, shape[0]):
        inside[rows, rows] = True
    assert np.array_equal(count, np.where(inside, 1, np.tril(np.ones((n, n)))))


@pytest.mark.parametrize("first", [0, 1, 7, 24, 25])
def test_pairs_from_some_row_on(first):
    """Of a symmetric matrix, entries or their mirror images, but none of those between earlier rows."""
    count = visits(25, 25, (4, 8), True, first)
    assert not count[:first].any()
    assert np.all((count + count.T)[first:] > 0)
    assert np.array_equal(visits(25, 31, (4, 8), False, first), np.repeat(np.arange(25) >= first, 31).reshape(25, 31))


def test_symmetric_pairs_are_square_on_the_diagonal_and_in_order():
    tiles = _parallel.pairs(25, 25, (4, 8), True)
    assert [rows for rows, columns in tiles if columns.stop > rows.start] == _parallel.split(25, 4)
    assert [(rows.start, columns.start) for rows, columns in tiles] == sorted((r.start, c.start) for r, c in tiles)


@each("threads", [None, 1, 2, 5])
@each("n_tiles", [0, 1, 3, 4, 16, 20])
def test_results_keep_the_order(n_tiles, threads):
    def visit(run):
        threading.Event().wait(0.002 * (16 - run[0][0].start % 16))  # the first runs take longest
        return run

    results = list(_parallel.map_tiles(FEW[:n_tiles], visit, threads=threads))
    assert [tile for run in results for tile in run] == FEW[:n_tiles]
    assert len(results) == min(n_tiles, _parallel.RUNS)


def test_runs_do_not_depend_on_threads():
    one, four = (list(_parallel.map_tiles(FEW, list, threads=threads, runs=6)) for threads in (1, 4))
    assert one == four
    assert len(one) == 6


def test_a_map_uses_several_threads():
    meet = threading.Barrier(3, timeout=20)
    assert len(list(_parallel.map_tiles(FEW, lambda run: meet.wait(), threads=3, runs=3))) == 3


def test_the_caller_takes_part():
    """Two threads meet, and one of them is the caller's."""
    meet = threading.Barrier(2, timeout=20)

    def visit(run):
        meet.wait()
        return threading.current_thread().name

    assert threading.current_thread().name in list(_parallel.map_tiles(FEW, visit, threads=2, runs=2))


def test_a_map_on_one_thread_stays_in_the_caller():
    names = set(_parallel.map_tiles(FEW, lambda run: threading.current_thread().name, threads=1))
    assert names == {threading.current_thread().name}


@pytest.mark.parametrize("threads", [1, 2])
def test_exceptions_propagate(threads, three_blas_threads):
    def visit(run):
        if run[0][0].start > 9:
            raise ArithmeticError(f"tile {run[0][0].start}")

    with pytest.raises(ArithmeticError, match="tile 1"):
        list(_parallel.map_tiles(FEW, visit, threads=threads))
    assert blas_threads() == three_blas_threads


def test_errors_come_in_the_order_of_runs():
    """The caller's own error waits for results of earlier runs, and for their errors."""
    slow = threading.Event()

    def visit(run):
        if run[0][0].start == 0:
            slow.wait(0.02)
        if run[0][0].start == 5:
            raise ArithmeticError("late")
        return run[0][0].start

    for _ in range(5):
        results = _parallel.map_tiles(FEW[:6], visit, threads=2, runs=6)
        assert [next(results) for _ in range(5)] == [0, 1, 2, 3, 4]
        with pytest.raises(ArithmeticError, match="late"):
            next(results)


def test_blas_has_one_thread_during_a_map_and_its_own_setting_after(three_blas_threads):
    for seen in _parallel.map_tiles(FEW, lambda run: blas_threads(), threads=2):
        assert seen == [1] * len(three_blas_threads)
    assert blas_threads() == three_blas_threads


def test_blas_setting_is_restored_when_a_map_is_left(three_blas_threads):
    results = _parallel.map_tiles(FEW, list, threads=2)
    next(results)
    assert set(blas_threads()) == {1}
    results.close()
    assert blas_threads() == three_blas_threads


@pytest.mark.parametrize("first_to_leave", [0, 1])
def test_blas_has_one_thread_until_the_last_of_overlapping_maps_ends(first_to_leave, three_blas_threads):
    """Both threads live on, so that threadpoolctl has the first one as the only one that may set a number."""
    entered, leave, left, end = ([threading.Event(), threading.Event()] for _ in range(4))

    def one_map(i):
        results = _parallel.map_tiles(FEW, list, threads=2)
        next(results)
        entered[i].set()
        leave[i].wait(20)
        list(results)
        left[i].set()
        end[i].wait(20)

    callers = [threading.Thread(target=one_map, args=(i,)) for i in range(2)]
    for i, caller in enumerate(callers):
        caller.start()
        entered[i].wait(20)
    seen = [blas_threads()]
    for i in (first_to_leave, 1 - first_to_leave):
        leave[i].set()
        left[i].wait(20)
        seen.append(blas_threads())
    for i, caller in enumerate(callers):
        end[i].set()
        caller.join(20)
    one = [1] * len(three_blas_threads)
    assert seen == [one, one, three_blas_threads]


class PerThread(threading.local):
    """A library like OpenBLAS on OpenMP, whose number of threads is one number for each calling thread."""

    user_api, threading_layer, num_threads = "blas", "openmp", 4

    def set_num_threads(self, number):
        self.num_threads = number


def test_every_thread_has_the_limit_where_each_has_its_own(monkeypatch):
    library = PerThread()
    limits = _parallel._OneThread([]), _parallel._OneThreadEach([library])
    monkeypatch.setattr(_parallel, "_blas_limits", lambda: limits)
    meet = threading.Barrier(2, timeout=20)

    def visit(run):
        meet.wait()
        return library.num_threads

    assert list(_parallel.map_tiles(FEW, visit, threads=2, runs=2)) == [1, 1]
    assert library.num_threads == 4


def interrupt():
    """What Ctrl-C does."""
    if os.name == "nt":
        signal.raise_signal(signal.SIGINT)
    else:  # also wakes up a main thread that waits
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)


MANY = [(slice(i, i + 1), slice(0, 1)) for i in range(2000)]


def test_an_interrupt_ends_a_map_on_one_thread():
    seen = []

    def visit(run):
        for rows, _ in run:
            seen.append(rows.start)
            if len(seen) == 3:
                interrupt()

    with pytest.raises(KeyboardInterrupt):
        list(_parallel.map_tiles(MANY, visit, threads=1))
    assert len(seen) <= 4


@pytest.mark.parametrize("inner", [False, True], ids=["", "map inside a map"])
@pytest.mark.parametrize("by", ["caller", "worker"])
def test_an_interrupt_ends_all_runs_after_their_tile(by, inner, three_blas_threads):
    """Whether the caller visits a run or waits for one; both runs would take ten seconds."""
    visited, seen, begun = [], {"caller": 0, "worker": 0}, threading.Event()

    def visit(run):
        name = "caller" if threading.current_thread() is threading.main_thread() else "worker"
        if by != name == "caller":
            begun.wait(20)
            return
        begun.set()
        for tile in run:
            visited.append(tile)
            time.sleep(0.01)
            seen[name] += 1
            if name == by and seen[name] == 3:
                interrupt()

    def outer(run):
        for _ in run:
            list(_parallel.map_tiles(MANY[:1000], visit, threads=1))

    begin = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        list(_parallel.map_tiles(MANY[:4] if inner else MANY, outer if inner else visit, threads=2, runs=2))
    assert time.perf_counter() - begin < 1.0
    count = len(visited)
    time.sleep(0.05)
    assert len(visited) == count
    assert blas_threads() == three_blas_threads
    assert list(_parallel.map_tiles(FEW, len, threads=2, runs=4)) == [5, 5, 5, 5]


def test_errors_end_other_runs():
    visited = []

    def visit(run):
        for rows, _ in run:
            if rows.start == 5:
                raise ArithmeticError("five")
            visited.append(rows.start)
            time.sleep(0.001)

    with pytest.raises(ArithmeticError, match="five"):
        list(_parallel.map_tiles(MANY, visit, threads=2, runs=2))
    assert len(visited) < 500


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_buffer_gives_the_same_memory_in_any_shape(dtype):
    tile_of = _parallel.buffer(dtype)
    h, w = _parallel.tile_shape(dtype)
    large, square, small = (tile_of((slice(7, 7 + r), slice(3, 3 + c))) for r, c in [(h, w), (h, h), (3, 5)])
    assert (large.shape, square.shape, small.shape) == ((h, w), (h, h), (3, 5))
    assert small.dtype == dtype
    assert small.flags.c_contiguous
    assert np.shares_memory(large, small)


def test_buffers_of_two_threads_are_apart():
    tile = slice(0, 2), slice(0, 2)
    assert not np.shares_memory(_parallel.buffer(np.float64)(tile), _parallel.buffer(np.float64)(tile))


def test_parts_are_cut_once():
    inputs = np.arange(10)
    part = _parallel.parts(inputs)
    assert np.array_equal(part(slice(2, 5)), [2, 3, 4])
    assert part(slice(2, 5)) is part(slice(2, 5))
    assert part(slice(2, 6)) is not part(slice(2, 5))


@pytest.mark.parametrize(
    ("value", "threads"), [("3", 3), ("1", 1), ("0", None), ("-2", None), ("4,2", None), ("", None)]
)
def test_default_threads(monkeypatch, value, threads):
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    monkeypatch.setattr(_parallel, "_cores", lambda: 17)
    assert _parallel.default_threads() == (threads or 17)


def test_default_threads_without_the_variable(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(_parallel, "_cores", lambda: 17)
    assert _parallel.default_threads() == 17


@pytest.mark.parametrize(("n", "few"), [(1, True), (_parallel.SMALL, True), (_parallel.SMALL + 1, False)])
def test_small_matrices_have_one_blas_thread(n, few, three_blas_threads):
    with _parallel.blas_threads_for(n):
        assert blas_threads() == ([1] * len(three_blas_threads) if few else three_blas_threads)
    assert blas_threads() == three_blas_threads


def test_one_thread_counts_for_the_thread_that_asked_for_it():
    outside = _parallel.default_threads()
    with _parallel.one_thread(), _parallel.one_thread():
        assert _parallel.default_threads() == 1
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(_parallel.default_threads).result() == outside
    assert _parallel.default_threads() == outside


def test_the_blas_of_compiled_loops_is_limited_from_the_start():
    """It is loaded by scipy.linalg, which a script need not have imported before its first map."""
    script = (
        "from representer import _parallel; from threadpoolctl import threadpool_info\n"
        "with _parallel.one_blas_thread():\n"
        "    from representer._loops.squared_distances import from_products\n"
        "    import scipy.linalg\n"
        "    print({library['num_threads'] for library in threadpool_info() if library['user_api'] == 'blas'})"
    )
    two = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=two)
    assert said.stdout.strip() == "{1}"
