"""What every benchmark shares: versions, timing, and a table of ratios with their targets."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import time
from collections.abc import Callable

import numpy as np


def print_versions() -> None:
    """Machine, threads and versions, so that a table can be compared with another one."""
    names = ["representer", "numpy", "scipy", "scikit-learn", "numba", "torch", "pykeops"]
    found = [n for n in names if importlib.util.find_spec({"scikit-learn": "sklearn"}.get(n, n)) is not None]
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
