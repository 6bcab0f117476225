"""A line that tells how far a long fit is."""

from __future__ import annotations

import sys
from time import perf_counter
from types import TracebackType

import numpy as np


class Progress:
    """Steps, the residual on its way to the tolerance, and the time, on one line of the standard error stream.

    Parameters
    ----------
    verbose : int
        0 for silence.
    tol : float
        The residual at which the work is done.
    """

    def __init__(self, verbose: int, tol: float):
        self.verbose, self.tol = verbose, tol
        self.steps, self.start = 0, perf_counter()

    def __enter__(self) -> Progress:
        return self

    def __call__(self, what: str, residual: float) -> None:
        """One more step, after which the residual is this."""
        self.steps += 1
        if not self.verbose:
            return
        done = np.clip(np.log(max(residual, self.tol)) / min(np.log(self.tol), -1e-9), 0.0, 1.0)
        bar = "#" * int(30 * done)
        seconds = perf_counter() - self.start
        line = f"\r{what}: [{bar:<30}] step {self.steps}, residual {residual:.1e} (to {self.tol:.0e}), {seconds:.0f} s"
        print(line, end="", file=sys.stderr, flush=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.verbose and self.steps:
            print(file=sys.stderr)
