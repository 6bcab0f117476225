"""The cost model by hand, and what becomes the limit."""

import numpy as np
import pytest

from representer.rows.distributed.cost import ClusterCost, Rates

RATES = Rates(value=1e-9, exact_value=2e-9, product=1e-11, row=1e-8, task=1e-3, solve=1e-9, network=1e9, start=0.5)


def test_terms_by_hand():
    cost = ClusterCost(16_000_000, 10, 1000, passes=3, workers=4, partition=1_000_000, rates=RATES)
    assert cost.partitions == 16
    work = 16e6 * 1000 * (1000 * 1e-11 + 1e-9 + 2 * 2e-9) + 5 * 16e6 * 1e-8
    np.testing.assert_allclose(cost.work_seconds, work / 4)
    assert cost.tasks == int(16 * (3 * 8 / 7 + 2)) + 3
    np.testing.assert_allclose(cost.driver_seconds, cost.tasks * 1e-3 + 1.0)
    np.testing.assert_allclose(cost.moved_bytes, 16 * 8 * (1e6 + 2 * 1000) * 0.75)
    np.testing.assert_allclose(cost.network_seconds, cost.moved_bytes / 4e9 + 8e6 / 1e9)
    np.testing.assert_allclose(cost.seconds, 0.5 + work / 4 + cost.network_seconds + 1.0)
    assert cost.worker_bytes == 4 * 8 * 1e7 + 72e6
    assert cost.driver_bytes == 48e6 + 8 * 20 * 1000 * 1010


@pytest.mark.parametrize(("workers", "limit"), [(10, "work"), (100_000, "driver")])
def test_the_limit_moves_from_work_to_the_driver(workers, limit):
    cost = ClusterCost(10**9, 10, 500, workers=workers, partition=10_000 if workers > 10 else 1_000_000)
    assert cost.limit == limit


def test_partitions_that_are_left_over_leave_workers_idle():
    even, odd = (ClusterCost(n * 1000, 1, 10, workers=4, partition=1000, rates=RATES) for n in (4, 5))
    np.testing.assert_allclose(odd.work_seconds, 2 * even.work_seconds)
