"""Fits to rows that are not in memory: Dask collections become rows, checkpoints are kept, and passes are shown."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import numpy as np

from representer.kernels.base import Kernel
from representer.rows.arrays import ArrayRows, is_elsewhere
from representer.rows.base import Rows
from representer.rows.distributed.dask_rows import DaskRows, is_dask

LEAST_PASSES = 2
"""Passes over the rows that any fit takes."""


@contextmanager
def with_rows(model: Any, args: tuple, options: dict[str, Any]) -> Iterator[tuple[tuple, dict[str, Any]]]:
    """The arguments of a fit, with `Rows` in place of X, y and weights that are on a cluster or in a file."""
    X = args[0] if args else options.get("X")
    if is_dask(X) or (_is_file(X) and _is_approximated(model)):
        args, options = _joined(*args, **options)
        X = args[0]
    if not isinstance(X, Rows):
        yield args, options
        return
    if not getattr(model, "takes_rows", False):
        raise TypeError(
            f"{type(model).__name__} needs all inputs at once, not rows that are read in blocks or lie on a cluster; "
            "pass arrays or memory maps, or use an estimator that works by sums, such as KernelRidge, "
            "KernelLogisticRegression, SVC or KernelPCA, with a kernel such as Nystroem(RBF(), 1000)."
        )
    if not getattr(model, "takes_streams", False):
        X.require(LEAST_PASSES, "for sums, and for the residual that a certificate is made of; more for landmarks")
    shown = Passes(getattr(model, "verbose", 0))
    with X.fitting(), shown:
        yield (X.watched(shown), *args[1:]), {name: value for name, value in options.items() if name != "X"}


def _joined(X: Any, y: Any = None, sample_weight: Any = None, **options: Any) -> tuple[tuple, dict[str, Any]]:
    rows = DaskRows(X, y, sample_weight) if is_dask(X) else ArrayRows(X, y, sample_weight)
    return (rows,), options


def _is_file(X: Any) -> bool:
    """Whether X is an h5py or zarr array; memory maps are arrays, which estimators keep as they are."""
    return is_elsewhere(X) and not isinstance(X, np.memmap)


def _is_approximated(model: Any) -> bool:
    kernel = getattr(model, "kernel", None)
    return isinstance(kernel, Kernel) and kernel.original is not kernel


class Passes:
    """The current pass over the rows, its progress and the seconds that remain of the fit, on one line of stderr."""

    def __init__(self, verbose: int):
        self.verbose, self.passes, self.start = verbose, 0, perf_counter()
        self.expected = 0

    def expect(self, passes: int) -> None:
        """Passes that the fit will take, about, with those before."""
        self.expected = passes

    def __enter__(self) -> Passes:
        return self

    def __call__(self, done: int, of: int | None) -> None:
        """Report that ``done`` rows of a pass are done; zero starts a new pass."""
        if not done:
            self.passes, self.start = self.passes + 1, perf_counter()
        if not self.verbose:
            return
        seconds, later = perf_counter() - self.start, max(self.expected - self.passes, 0)
        which = f"pass {self.passes}" + (f" of about {self.expected}" if later else "")
        line = f"\r{which}: {done:,}{'' if of is None else f' of {of:,}'} rows, {seconds:.0f} s"
        if of is not None and done:
            line += f", about {seconds / done * (of - done + later * of):.0f} s left"
        print(f"{line:<78}", end="", file=sys.stderr, flush=True)

    def __exit__(self, *error: object) -> None:
        if self.verbose and self.passes:
            print(file=sys.stderr)
