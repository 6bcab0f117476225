"""What every benchmark shares: versions, timing, and a table of ratios with their targets."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

DATA_SETS = ("power", "bike_hourly", "naval")


def print_versions() -> None:
    """Machine, threads and versions, so that a table can be compared with another one."""
    modules = {"scikit-learn": "sklearn", "scikit-learn-intelex": "sklearnex", "libsvm-official": "libsvm"}
    names = ["representer", "numpy", "scipy", *modules, "numba", "torch", "pykeops", "gpytorch"]
    found = [name for name in names if importlib.util.find_spec(modules.get(name, name)) is not None]
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in found)
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}; {versions}\n")


def median_seconds(function: Callable[[], object], repeats: int = 5) -> float:
    """Median time of several calls after one call to warm up."""
    function()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def data_file(name: str, kind: str = "npz") -> Path | None:
    """The file of a data set in the folder that REPRESENTER_DATA names, or ../shared/data; None if absent."""
    folder = Path(os.environ.get("REPRESENTER_DATA", Path(__file__).parents[2] / "shared" / "data"))
    file = folder / f"{name}.{kind}"
    return file if file.exists() else None


def load(name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Standardised X and y of a data set, or None if it is absent."""
    file = data_file(name)
    if file is None:
        return None
    with np.load(file) as data:
        return standardised(data["X"].astype(np.float64), data["y"].astype(np.float64).ravel())


def standardised(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns and targets with mean 0 and variance 1, in random order."""
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], y[order]
    return (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12), (y - y.mean()) / y.std()


def friedman(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Friedman's first function of ten uniform columns, with noise of variance one."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 10))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return standardised(X, y + rng.normal(size=n))


def held_out(name: str, test: int = 1500) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows to learn from and rows to judge by, of a data set by name or of Friedman's function where it is absent."""
    X, y = load(name) or friedman(10_000)
    return X[test:], y[test:], X[:test], y[:test]


def relative_error(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Root mean squared error in units of the targets' standard deviation."""
    return float(np.sqrt(np.mean((model.predict(X) - y) ** 2)) / y.std())


def seconds_of(function: Callable[[], object]) -> float:
    """Time of one call."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def in_new_process(code: str, **environment: str) -> float:
    """The number that a fresh interpreter prints last."""
    output = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent), **environment},
    )
    return float(output.stdout.split()[-1])


def peak_memory() -> float:
    """Peak memory of this process in MB. (The resource module would also count that of the process that started it.)"""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1000


class WatchedMemory:
    """The peak of this process's own memory in MB within a `with` block, beyond that at its start, seen every 10 ms.

    Pages of mapped files are left out: the system takes them back when it needs them.
    """

    def __enter__(self) -> WatchedMemory:
        self._done, self._first, self.peak = threading.Event(), self._now(), 0.0
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.01):
            self.peak = max(self.peak, self._now() - self._first)

    @staticmethod
    def _now() -> float:
        line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("RssAnon"))
        return int(line.split()[1]) / 1000


class Table:
    """Rows of measurements, each with the target it is held against; prints as it goes."""

    def __init__(self) -> None:
        self.missed = 0

    def row(self, what: str, value: float, sign: str, target: float, unit: str = "x", note: str = "") -> None:
        """One line: what was measured, its value, and whether ``value sign target`` holds."""
        good = value >= target if sign == ">=" else value <= target
        self.missed += not good
        verdict = "ok    " if good else "MISSED"
        print(f"{verdict} {what:<62} {value:10.3g} {unit:<4} {sign} {target:g} {unit}  {note}", flush=True)

    def end(self) -> None:
        """The number of targets missed."""
        print(f"\n{self.missed} targets missed" if self.missed else "\nall targets met")
