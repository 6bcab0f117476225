"""The cost of a fit by normal equations on a cluster: seconds, memory and bytes moved, from sizes and rates."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rates:
    """Rates of one single-threaded worker, of the driver, and of the network.

    The defaults of values, products, rows and m^3 are CPU seconds of one core of an x86-64 server under other load;
    those of tasks, of their latency and of the network are assumptions. ``benchmarks/scale/cluster.py`` measures all of
    them.
    """

    value: float = 2.3e-9
    """Seconds to fill a value psi_j(x) in float32 and use it in one pass."""
    exact_value: float = 4.0e-9
    """Seconds to fill a value in float64 and use it twice, in a pass of residuals."""
    product: float = 1.9e-11
    """Seconds for one of the n m^2 multiplications in sums of psi psi'."""
    row: float = 6e-9
    """Seconds to read one row in one pass."""
    task: float = 1.5e-3
    """Seconds for driver and scheduler to dispatch one task and collect its result."""
    solve: float = 5.3e-9
    """Seconds per unit of m^3 on the driver: landmarks from 20 m rows, a root of the metric, eigenvectors."""
    network: float = 1.25e9
    """Bytes per second through one network card."""
    start: float = 0.2
    """Seconds that do not depend on sizes."""
    latency: float = 0.02
    """Seconds from handing a graph of a single task to the scheduler until its result is back, once in each pass."""


@dataclass(frozen=True)
class ClusterCost:
    """n rows of d columns in partitions of r rows, m centres, P passes (one for sums, others for residuals), W workers.

    >>> cost = ClusterCost(rows=10**9, columns=10, centres=2000, workers=100)
    >>> cost.partitions, cost.limit
    (1000, 'work')
    """

    rows: int
    columns: int
    centres: int
    passes: int = 2
    workers: int = 1
    partition: int = 1_000_000
    samples: int = 2
    """Passes that only sample rows: for the kernel, for the error of the approximation, and one with an intercept."""
    rates: Rates = Rates()

    @property
    def partitions(self) -> int:
        return -(-self.rows // self.partition)

    @property
    def work_seconds(self) -> float:
        """(n m^2 b + n m (a + (P - 1) a') + (P + S) n c) / W, in whole partitions: the last round leaves some idle."""
        n, m, rates = self.rows, self.centres, self.rates
        values = rates.value + (self.passes - 1) * rates.exact_value
        total = n * m * (m * rates.product + values) + (self.passes + self.samples) * n * rates.row
        rounds = -(-self.partitions // self.workers)
        return total / self.partitions * rounds

    @property
    def tasks(self) -> int:
        """A leaf for each partition and pass, and the nodes of a tree that sums eight at a time."""
        return int(self.partitions * (self.passes * (1 + 1 / 7) + self.samples)) + self.passes

    @property
    def driver_seconds(self) -> float:
        """Tasks dispatched one after the other, the latency of passes, and the m^3 term."""
        latency = (self.passes + self.samples) * self.rates.latency
        return self.tasks * self.rates.task + latency + self.rates.solve * float(self.centres) ** 3

    @property
    def moved_bytes(self) -> float:
        """Sums that are added on another worker than they were computed on: m^2 doubles in one pass, m in others."""
        each = 8.0 * (self.centres**2 + (self.passes - 1) * self.centres)
        return self.partitions * each * (1.0 - 1.0 / self.workers)

    @property
    def network_seconds(self) -> float:
        """Through all network cards at once, and the last sums, one after the other, through the driver's."""
        last = 8.0 * self.centres**2 * -(-self.partitions // 512)
        return self.moved_bytes / (self.workers * self.rates.network) + last / self.rates.network

    @property
    def seconds(self) -> float:
        """Tasks are dispatched while workers compute; a fit waits for the slower of the two."""
        handed = self.tasks * self.rates.task
        alone = self.driver_seconds - handed
        return self.rates.start + max(self.work_seconds, handed) + self.network_seconds + alone

    @property
    def worker_bytes(self) -> float:
        """Four copies of a partition (as read, prepared, and in two precisions), and nine m x m matrices."""
        return 4 * 8.0 * self.partition * self.columns + 72.0 * self.centres**2

    @property
    def driver_bytes(self) -> float:
        """Some m x m matrices, and the sample from which landmarks are chosen."""
        return 48.0 * self.centres**2 + 8.0 * 20 * self.centres * (self.columns + self.centres)

    @property
    def limit(self) -> str:
        """The bottleneck of the fit: "work", "driver" or "network"."""
        parts = {"work": self.work_seconds, "driver": self.driver_seconds, "network": self.network_seconds}
        return max(parts, key=lambda name: parts[name])
