"""The rates of `ClusterCost`: workers measure theirs while all of them compute, the driver its own outside of passes.

Each rate is measured by itself: the tasks of a pass on rows that a worker generates, dispatch and latency by tasks
that do nothing, and the driver's share of a fit as the time that it spends outside of its passes over the rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import dask
import generated
import numpy as np
from common import seconds_of
from distributed import Client

from representer import KernelRidge, Nystroem, _parallel
from representer.gram.design import Design
from representer.kernels import RBF
from representer.problems.finite import Moments, Residuals
from representer.rows.arrays import ArrayRows
from representer.rows.distributed import tasks
from representer.rows.distributed.cost import Rates
from representer.rows.layout import signature
from representer.solvers.finite_passes import design_for_sums

SAMPLED_CENTRES = 400
"""Centres of the tasks that are timed on workers."""
DRIVER_CENTRES, DRIVER_ROWS = (200, 400, 800), 40_000
"""Centres and rows of the fits whose time outside of passes tells the driver's rates."""
TRIVIAL_TASKS = 400
REPEATS = 5


def model_of(centres: int, **options: Any) -> KernelRidge:
    """A ridge fit by normal equations."""
    kernel = Nystroem(RBF(generated.SCALE), centres)
    return KernelRidge(1.0, kernel=kernel, solver="normal_equations", fit_intercept=True, **options)


def median_of(part: Callable[[], object]) -> float:
    """Median time of several calls after one that compiles or imports."""
    part()
    return float(np.median([seconds_of(part) for _ in range(REPEATS)]))


def worker_rates(n: int) -> dict[str, float]:
    """Seconds of one worker for a value, a value in float64, a multiplication of sums, and a row: tasks as in a fit."""
    both = generated.block(0, n)
    X, y, m = np.ascontiguousarray(both[:, :-1]), both[:, -1].copy(), SAMPLED_CENTRES
    design = Design(Nystroem(RBF(generated.SCALE), landmarks=X[:m]).basis(X))
    single, exact = design_for_sums(design, 10**12), replace(design, basis=design.basis.astype(np.float64))
    w, b, kind = np.zeros((design.basis.rank, 1)), np.zeros(1), signature(X)

    def fill() -> None:
        with _parallel.one_thread():
            for _ in single.strips(X, lambda rows, values: None):
                pass

    def summed(part: Any) -> Callable[[], object]:
        parcel = tasks.Parcel(part)
        return lambda: tasks.summed(parcel, X, y, None, 0, kind)

    value, moments = median_of(fill), median_of(summed(Moments(single.columns, b)))
    residual = median_of(summed(Residuals(*exact.at(w), b, True)))
    row = median_of(lambda: tasks.sampled(X, y, None, 0, kind, 0, 0, 2**50))
    return {
        "value": value / (n * m),
        "exact_value": residual / (n * m),
        "product": max(moments - value, 0.0) / (n * m * m),
        "row": row / n,
    }


@contextmanager
def passes_timed() -> Iterator[list[float]]:
    """The seconds of each pass over rows in memory, within a `with` block."""
    spent: list[float] = []
    saved = {name: getattr(ArrayRows, name) for name in ("total", "map", "sample")}

    def timed(method: Any) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            start = time.perf_counter()
            try:
                return method(*args, **options)
            finally:
                spent.append(time.perf_counter() - start)

        return call

    for name, method in saved.items():
        setattr(ArrayRows, name, timed(method))
    try:
        yield spent
    finally:
        for name, method in saved.items():
            setattr(ArrayRows, name, method)


def driver_rates() -> dict[str, float]:
    """Seconds per unit of m^3, and those that do not depend on sizes: the nonnegative least-squares line in m^3."""
    X, y = generated.in_memory(1, DRIVER_ROWS)
    model_of(20).fit(X[:400], y[:400])
    outside = []
    for m in DRIVER_CENTRES:
        each = []
        for _ in range(3):
            with passes_timed() as spent:
                seconds = seconds_of(lambda m=m: model_of(m).fit(X, y))
            each.append(seconds - sum(spent))
        outside.append(float(np.median(each)))
    cubes = np.array(DRIVER_CENTRES, float) ** 3
    # relative errors count alike, so that m^3 does not drown the start
    A = np.column_stack([np.ones(len(cubes)), cubes]) / np.array(outside)[:, None]
    (start, solve), *_ = np.linalg.lstsq(A, np.ones(len(cubes)))
    if start < 0.0:
        start, solve = 0.0, float(np.mean(outside / cubes))
    return {"start": float(start), "solve": float(solve)}


def measured_rates(client: Client, rows: int) -> Rates:
    """All rates: of workers as their mean while all are busy, of the driver, of the scheduler and of the network."""
    workers = list(client.scheduler_info()["workers"])
    calls = [client.submit(worker_rates, rows, workers=[each], pure=False) for each in workers]
    found = client.gather(calls)
    rates = {name: float(np.mean([each[name] for each in found])) for name in found[0]}
    latency = median_of(lambda: dask.compute(dask.delayed(abs, pure=False)(1)))
    many = [dask.delayed(abs, pure=False)(k) for k in range(TRIVIAL_TASKS)]
    task = max(median_of(lambda: dask.compute(*many)) - latency, 0.0) / TRIVIAL_TASKS
    network = moved_a_second(client, workers) if len(workers) > 1 else Rates.network
    return Rates(**rates, **driver_rates(), task=task, latency=latency, network=network)


def moved_a_second(client: Client, workers: list[str]) -> float:
    """Bytes a second from one worker to another."""
    times = []
    for _ in range(REPEATS):
        array = client.submit(np.ones, 2**22, workers=[workers[0]], pure=False)
        client.submit(len, array, workers=[workers[0]], pure=False).result()
        fetch = [workers[1]]
        times.append(seconds_of(lambda a=array, w=fetch: client.submit(len, a, workers=w, pure=False).result()))
    return 2**25 / min(times)
