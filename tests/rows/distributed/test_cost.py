"""The cost model by hand, and what becomes the limit."""

import re
from pathlib import Path

import numpy as np
import pytest

from representer.rows.distributed.cost import ClusterCost, Rates

RATES = Rates(1e-9, 2e-9, product=1e-11, row=1e-8, task=1e-3, solve=1e-9, network=1e9, start=0.5, latency=0.01)


def test_terms_by_hand():
    cost = ClusterCost(16_000_000, 10, 1000, passes=3, workers=4, partition=1_000_000, rates=RATES)
    assert cost.partitions == 16
    work = 16e6 * 1000 * (1000 * 1e-11 + 1e-9 + 2 * 2e-9) + 5 * 16e6 * 1e-8
    np.testing.assert_allclose(cost.work_seconds, work / 4)
    assert cost.tasks == int(16 * (3 * 8 / 7 + 2)) + 3
    np.testing.assert_allclose(cost.driver_seconds, cost.tasks * 1e-3 + 5 * 0.01 + 1.0)
    np.testing.assert_allclose(cost.moved_bytes, 16 * 8 * (1e6 + 2 * 1000) * 0.75)
    np.testing.assert_allclose(cost.network_seconds, cost.moved_bytes / 4e9 + 8e6 / 1e9)
    np.testing.assert_allclose(cost.seconds, 0.5 + work / 4 + cost.network_seconds + 1.05)
    assert cost.worker_bytes == 4 * 8 * 1e7 + 72e6
    assert cost.driver_bytes == 48e6 + 8 * 20 * 1000 * 1010


@pytest.mark.parametrize(("workers", "limit"), [(10, "work"), (100_000, "driver")])
def test_the_limit_moves_from_work_to_the_driver(workers, limit):
    cost = ClusterCost(10**9, 10, 500, workers=workers, partition=10_000 if workers > 10 else 1_000_000)
    assert cost.limit == limit


def test_the_table_of_the_guide():
    text = (Path(__file__).parents[3] / "docs" / "cluster.md").read_text()
    table = re.findall(r"^\| ([^|]*?) \| (.*) \|$", text[text.index("| 10^9 rows") :], re.MULTILINE)
    table = {name: cells.split(" | ") for name, cells in table}
    head = next(name for name in table if name.startswith("10^9 rows"))
    assert table[head] == ["10 workers", "100", "1,000", "4,000"]
    costs = [ClusterCost(10**9, 10, 2000, 3, workers, 250_000) for workers in (10, 100, 1000, 4000)]
    assert table["minutes"] == [f"{c.seconds / 60:.{0 if c.seconds > 600 else 1}f}" for c in costs]
    assert table["work of a worker, s"] == [f"{c.work_seconds:,.0f}" for c in costs]
    assert table["driver, s"] == [f"{c.driver_seconds:.0f}" for c in costs]
    assert table["network, s"] == [f"{c.network_seconds:.1f}" for c in costs]
    assert table["moved, GB"] == [f"{c.moved_bytes / 1e9:.0f}" for c in costs]
    assert table["memory of a worker, GB"] == [f"{c.worker_bytes / 1e9:.1f}" for c in costs]
    assert table["limit"] == [c.limit for c in costs]


@pytest.mark.parametrize(
    ("workers", "partition", "limit"),
    [(1000, 250_000, "work"), (2000, 250_000, "driver"), (1000, 150_000, "work"), (1000, 130_000, "driver")],
)
def test_what_the_guide_says_of_bottlenecks(workers, partition, limit):
    cost = ClusterCost(10**9, 10, 2000, 3, workers, partition)
    assert cost.limit == limit
    np.testing.assert_allclose(cost.rates.solve * 2000**3, 42, atol=0.5)
    moving, computing = 8 * 2000**2 / cost.rates.network, 340 * 2000**2 * cost.rates.product
    np.testing.assert_allclose(moving, computing, rtol=0.02)  # some hundred rows a partition


def test_partitions_that_are_left_over_leave_workers_idle():
    even, odd = (ClusterCost(n * 1000, 1, 10, workers=4, partition=1000, rates=RATES) for n in (4, 5))
    np.testing.assert_allclose(odd.work_seconds, 2 * even.work_seconds)
