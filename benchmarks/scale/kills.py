"""Is a fit on a cluster bit-identical when workers are killed, and when the scheduler is?

    python benchmarks/scale/kills.py [--rounds 20]

Each round starts a ridge fit on two worker processes and kills one with SIGKILL once a random number of the tasks of
its sums are done: during normal-equation sums, during conjugate gradient steps, with partitions persisted in the
workers' memory, and one worker followed shortly by the other. Coefficients are compared with those of an undisturbed
fit bit by bit. Then a fit with allowed-failures: 0 must end with an error that says so, and one whose scheduler is
killed must resume from its checkpoint, with a new scheduler, to a bit-identical result.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import dask
import numpy as np
from distributed import Client, LocalCluster

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
import generated
from common import Table, print_versions

from representer import KernelRidge, Nystroem, rows
from representer.kernels import RBF
from representer.rows import checkpoint

PARTITIONS, ROWS, CENTRES = 20, 10_000, 50
MOST_SECONDS = 120.0
"""For a fit that was disturbed."""


def fitted(X: Any, y: Any, solver: str, persisted: bool = False, path: Any = None) -> np.ndarray:
    """Coefficients and intercept of a ridge fit."""
    data = rows(X, target=y, checkpoint=path)
    data = data.persisted() if persisted else data  # type: ignore[attr-defined]
    kernel = Nystroem(RBF(generated.SCALE), CENTRES)
    model = KernelRidge(1e-2, kernel=kernel, solver=solver, fit_intercept=True).fit(data)
    return np.append(model.dual_coef_, model.intercept_)


class Counter:
    """How many tasks of sums the scheduler of a local cluster has seen end."""

    def __init__(self, cluster: LocalCluster):
        self.cluster, self.start = cluster, 0
        self.start = self.seen

    @property
    def seen(self) -> int:
        """Since the counter was made."""
        prefix = self.cluster.scheduler.task_prefixes.get("summed")
        return (0 if prefix is None else prefix.state_counts["memory"]) - self.start


def killed(cluster: LocalCluster, fit: Any, at: list[int], left: list[int]) -> Any:
    """The result, or error, of a fit during which workers are killed, each when so many tasks of sums are done."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(fit())
        except Exception as error:
            found.append(error)

    counter, thread = Counter(cluster), threading.Thread(target=run, daemon=True)
    thread.start()
    for count, which in zip(at, left, strict=True):
        while thread.is_alive() and counter.seen < count:
            time.sleep(0.001)
        if not thread.is_alive():
            return RuntimeError(f"the fit ended after {counter.seen} tasks, before a worker was killed")
        pids = [nanny.pid for nanny in cluster.workers.values() if nanny.pid]
        os.kill(pids[which % len(pids)], signal.SIGKILL)
    thread.join(MOST_SECONDS)
    return found[0] if found else RuntimeError(f"no answer within {MOST_SECONDS:.0f} s")


CASES = (
    ("sums", "normal_equations", False, 1),
    ("conjugate gradients", "conjugate_gradient", False, 1),
    ("persisted partitions", "conjugate_gradient", True, 1),
    ("one worker, then the other", "conjugate_gradient", False, 2),
)


def rounds(table: Table, first: int, count: int) -> None:
    """Fits with workers killed, in turns of the cases."""
    rng, same, spent = np.random.default_rng(first), 0, []
    X, y = generated.lazy(PARTITIONS, ROWS)
    with generated.cluster() as cluster, Client(cluster):
        expected = {solver: fitted(X, y, solver) for solver in ("normal_equations", "conjugate_gradient")}
    for k in range(first, first + count):
        name, solver, persisted, kills = CASES[k % len(CASES)]
        last = PARTITIONS - 5 if solver == "normal_equations" else 5 * PARTITIONS
        at, which = sorted(rng.integers(1, last, kills).tolist()), rng.integers(2, size=kills).tolist()
        with generated.cluster() as cluster, Client(cluster):
            begin = time.perf_counter()
            found = killed(cluster, lambda s=solver, p=persisted: fitted(X, y, s, p), at, which)
            spent.append(time.perf_counter() - begin)
        good = isinstance(found, np.ndarray) and np.array_equal(found, expected[solver])
        same += good
        print(
            f"       {name}, killed after {at} tasks: {'same bits' if good else repr(found)}, {spent[-1]:.1f} s",
            flush=True,
        )
    table.row(
        "fits with killed workers that end with the same bits", same, ">=", count, "", f"{np.median(spent):.1f} s"
    )


def given_up(table: Table) -> None:
    """An error of ours where a partition is given up at the first death."""
    X, y = generated.lazy(PARTITIONS, ROWS)
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        generated.cluster() as cluster,
        Client(cluster),
    ):
        found = killed(cluster, lambda: fitted(X, y, "conjugate_gradient"), [10], [0])
    good = isinstance(found, RuntimeError) and "allowed-failures" in str(found)
    table.row("allowed-failures: 0 gives an error that says what to do", float(good), ">=", 1, "", str(found)[:60])


SERVER = """
import asyncio, sys
from distributed import {kind}
async def main():
    async with {kind}({arguments}) as server:
        await server.finished()
if __name__ == "__main__":
    asyncio.run(main())
"""


def started(kind: str, arguments: str) -> subprocess.Popen:
    """A scheduler, or a worker, in a process of its own."""
    code, paths = SERVER.format(kind=kind, arguments=arguments), os.pathsep.join(sys.path)
    return subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": paths})


def with_scheduler(port: int, work: Any) -> Any:
    """work(scheduler's process) with a scheduler and two workers, all of them killed at the end."""
    address = f"tcp://127.0.0.1:{port}"
    servers = [started("Scheduler", f"port={port}, dashboard=False")]
    servers += [started("Worker", f"{address!r}, nthreads=1") for _ in range(2)]
    try:
        with Client(address, timeout="60s") as client:
            client.wait_for_workers(2, timeout=60)
            return work(servers[0])
    finally:
        for server in servers:
            server.kill()
            server.wait()


def scheduler_dies(table: Table) -> None:
    """A scheduler is killed in conjugate gradients; the same call with a new one goes on from the checkpoint."""
    X, y = generated.lazy(PARTITIONS, ROWS)
    checkpoint.CHECKPOINT_SECONDS = 0.2
    with tempfile.TemporaryDirectory() as folder, dask.config.set({"distributed.comm.timeouts.connect": "5s"}):
        path = Path(folder) / "fit.npz"

        def interrupted(scheduler: subprocess.Popen) -> str:
            def kill() -> None:
                while not path.exists():
                    time.sleep(0.01)
                time.sleep(0.5)
                scheduler.kill()

            threading.Thread(target=kill, daemon=True).start()
            try:
                fitted(X, y, "conjugate_gradient", path=path)
            except Exception as error:
                return f"{type(error).__name__}: {error}"
            return "the fit was faster than the killer"

        said = with_scheduler(28786, interrupted)
        kept = path.exists()
        again = with_scheduler(28787, lambda _: fitted(X, y, "conjugate_gradient", path=path))
        whole = with_scheduler(28788, lambda _: fitted(X, y, "conjugate_gradient"))
    good = kept and np.array_equal(again, whole)
    table.row("a killed scheduler, and on from the checkpoint to the same bits", float(good), ">=", 1, "", said[:70])


def main() -> None:
    """All of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the first round, to run them in several calls")
    options = parser.parse_args()
    print_versions()
    table = Table()
    rounds(table, options.first, options.rounds)
    if not options.first:
        given_up(table)
        scheduler_dies(table)
    table.end()


if __name__ == "__main__":
    main()
