"""Friedman's function in partitions that workers generate themselves, and clusters of two processes on this machine."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import LocalCluster

SCALE = 1.0
"""The length scale of kernels on these rows, which are between 0 and 1."""


def block(number: int, rows: int, columns: int = 10) -> np.ndarray:
    """Inputs, and the target as a last column, of one partition in float32."""
    rng = np.random.default_rng(number)
    X = rng.random((rows, columns), np.float32)
    y = np.sin(np.pi * X[:, 0] * X[:, 1]) + 2 * (X[:, 2] - 0.5) ** 2 + X[:, 3] + 0.5 * X[:, 4]
    return np.column_stack([X, y + 0.1 * rng.standard_normal(rows, np.float32)])


def lazy(partitions: int, rows: int, columns: int = 10) -> tuple[Any, Any]:
    """X and y as Dask arrays of so many partitions."""
    made = dask.delayed(block, pure=True)
    parts = [da.from_delayed(made(k, rows, columns), (rows, columns + 1), np.float32) for k in range(partitions)]
    both = da.concatenate(parts)
    return both[:, :-1], both[:, -1]


def in_memory(partitions: int, rows: int, columns: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """The same rows as arrays."""
    both = np.concatenate([block(k, rows, columns) for k in range(partitions)])
    return np.ascontiguousarray(both[:, :-1]), both[:, -1].copy()


def cluster(workers: int = 2) -> LocalCluster:
    """Processes of one thread each."""
    options: dict[str, Any] = {"processes": True, "memory_limit": "2GiB", "dashboard_address": ":0"}
    return LocalCluster(n_workers=workers, threads_per_worker=1, **options)
