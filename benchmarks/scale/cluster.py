"""Cost of a cluster: time against threads in one process, graph sizes, and the cost model against measured runs.

    python benchmarks/scale/cluster.py [--quick] [--only PART ...]

ratio    two workers of one thread against two threads in one process, 2,000,000 rows, and the largest graph of a pass
model    rates measured on this machine (cluster_rates.py), and `ClusterCost` with them against fits with one and two
         workers, three sizes, and 10^9 rows on 10 to 4,000 workers by these rates, with 10 Gbit/s

The ratio takes about two minutes on two idle cores, and so does the model.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import cloudpickle
import dask
import numpy as np
from distributed import Client

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
import generated
from cluster_rates import measured_rates, model_of
from common import Table, print_versions, seconds_of

from representer import rows
from representer.rows.distributed.cost import ClusterCost, Rates

CENTRES = 500
SIZES = ((300_000, 300), (500_000, 500), (1_000_000, 300))
"""Rows and centres of the fits that the model is compared with: large enough that sums are computed in float32."""
SAMPLES = 3
"""Passes of a fit with an intercept that only sample rows."""
PARTITION = 25_000


def graph_bytes(fit: Any) -> tuple[int, float]:
    """Bytes of the largest graph that a fit hands to a scheduler, and its tasks for each partition."""
    sizes, compute = [(0, 0.0)], dask.compute

    def measured(*calls: Any, **options: Any) -> Any:
        graph = {key: task for call in calls for key, task in dict(call.__dask_graph__()).items()}
        leaves = sum(str(key).startswith("summed-") for key in graph)
        sizes.append((len(cloudpickle.dumps(graph)), len(graph) / leaves if leaves else 0.0))
        return compute(*calls, **options)

    dask.compute = measured
    try:
        fit()
    finally:
        dask.compute = compute
    return max(size for size, _ in sizes), max(each for _, each in sizes)


def ratio(table: Table, tenth: int) -> None:
    """The same rows in memory, with two threads, and persisted by two workers."""
    partitions, each = 20, 100_000 // tenth
    X, y = generated.in_memory(partitions, each)
    model_of(50).fit(X[:20_000], y[:20_000])  # compiles
    alone = min(seconds_of(lambda: model_of(CENTRES, threads=2).fit(X, y)) for _ in range(2))
    with generated.cluster() as cluster, Client(cluster):
        data = rows(generated.lazy(partitions, each)[0], target=generated.lazy(partitions, each)[1])
        data = data.persisted()  # type: ignore[attr-defined]
        model_of(50).fit(data)  # workers import and compile
        together = min(seconds_of(lambda: model_of(CENTRES).fit(data)) for _ in range(2))
        size, count = graph_bytes(lambda: model_of(1000 // tenth).fit(data))
    note = f"{together:.1f} s against {alone:.1f} s"
    table.row(f"two workers over two threads, {partitions * each:,} rows", together / alone, "<=", 1.3, "x", note)
    table.row(f"largest graph of a fit with {1000 // tenth:,} centres", size / 1e6, "<=", 1.0, "MB")
    table.row("tasks for each partition in it", count, "<=", 3.0, "")


def model(table: Table, quick: bool) -> Rates:
    """Predicted and measured times. The rates are those of as many workers as the fit has."""
    for workers in (1, 2):
        with generated.cluster(workers) as cluster, Client(cluster) as client:
            rates = measured_rates(client, PARTITION)
            print(f"       {rates}", flush=True)
            for k, (n, m) in enumerate(SIZES[:1] if quick else SIZES):
                X, y = generated.lazy(n // PARTITION, PARTITION)
                data = rows(X, target=y).persisted()  # type: ignore[attr-defined]
                fitted = model_of(m)
                if not k:
                    model_of(50).fit(data)  # workers import and compile
                seconds = float(np.median([seconds_of(lambda f=fitted, d=data: f.fit(d)) for _ in range(3)]))
                passes = fitted.certificate_.passes - SAMPLES
                cost = ClusterCost(n, 10, m, passes, workers, PARTITION, SAMPLES, rates)
                what = f"{workers} workers, {n:,} rows, m = {m}: predicted time off by"
                off = 100 * abs(cost.seconds / seconds - 1.0)
                note = f"{cost.seconds:.2f} s predicted, {seconds:.2f} s measured, {passes} passes"
                table.row(what, off, "<=", 25.0, "%", note)
    return rates


def table_of(rates: Rates) -> None:
    """10^9 rows."""
    for workers in (10, 100, 1000, 4000):
        cost = ClusterCost(10**9, 10, 2000, 3, workers, 250_000, rates=replace(rates, network=1.25e9))
        print(
            f"       {workers:>5} workers: {cost.seconds / 60:6.1f} min, work {cost.work_seconds:.0f} s, driver "
            f"{cost.driver_seconds:.0f} s, network {cost.network_seconds:.1f} s, {cost.moved_bytes / 1e9:.0f} GB, "
            f"{cost.worker_bytes / 1e9:.1f} GB a worker, limit {cost.limit}"
        )


def main() -> None:
    """All parts, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, one size for the model")
    parser.add_argument("--only", nargs="+", choices=["ratio", "model"], default=["ratio", "model"])
    options = parser.parse_args()
    print_versions()
    table, tenth = Table(), 10 if options.quick else 1
    if "ratio" in options.only:
        ratio(table, tenth)
    if "model" in options.only:
        table_of(model(table, options.quick))
    table.end()


if __name__ == "__main__":
    main()
