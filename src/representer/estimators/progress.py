"""Progress of a long fit: a line of text, and scikit-learn's callbacks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from types import TracebackType
from typing import Any

import numpy as np

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import with_callbacks as with_callbacks
except ImportError:  # scikit-learn had no callbacks before 1.9
    with_callbacks = None

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""


Step = Callable[[], bool]
"""Tells callbacks that a step is done; returns whether one of them asks to stop."""


def never() -> bool:
    """A step that never asks to stop."""
    return False


@contextmanager
def task(estimator: Any, name: str, at_most: int | None = None) -> Iterator[Step]:
    """One task of an observed fit, with a function to call after each of at most ``at_most`` steps."""
    if not getattr(estimator, "_skl_callbacks", None):
        yield lambda: False
        return
    context = estimator._callback_fit_ctx.subcontext(task_name=name, max_subtasks=at_most)
    context.call_on_fit_task_begin(estimator=estimator)

    def step() -> bool:
        one = context.subcontext(task_name="step").call_on_fit_task_begin(estimator=estimator)
        return bool(one.call_on_fit_task_end(estimator=estimator))

    yield step
    context.call_on_fit_task_end(estimator=estimator)


QUIET_SECONDS = 3.0
"""Seconds after which a fit shows its progress by default."""
BETWEEN_LINES = 0.2
"""Seconds between two lines shown by default."""


class Progress:
    """Steps, residual, elapsed and remaining time, on one line of the standard error stream.

    Parameters
    ----------
    verbose : int
        1 shows every step. 0 shows progress after three seconds, or at once where the plan expects to take longer, and
        only if the standard error stream is a terminal. -1 shows nothing.
    tol : float
        The residual at which the solver has converged.
    step : function without arguments
        Also called after each step; returns whether to stop.
    """

    def __init__(self, verbose: int, tol: float, step: Step = lambda: False):
        self.verbose, self.tol, self.step = verbose, tol, step
        self.steps, self.start, self.expected = 0, perf_counter(), 0.0
        self._last, self._width = -np.inf, 0

    def __enter__(self) -> Progress:
        return self

    def expect(self, what: str, seconds: float) -> Progress:
        """Show what will be done and the expected time, if that is long."""
        self.expected = seconds
        if seconds >= QUIET_SECONDS and self._is_due(at_once=True):
            self._show(f"{what}: about {_time(seconds)}")
        return self

    def __call__(self, what: str, residual: float) -> bool:
        """Report one more step and its residual; returns whether to stop."""
        self.steps += 1
        if self._is_due():
            done = float(np.clip(np.log(max(residual, self.tol)) / min(np.log(self.tol), -1e-9), 0.0, 1.0))
            self._show_bar(what, done, f"step {self.steps}, residual {residual:.1e} (to {self.tol:.0e})")
        return self.step()

    def count(self, what: str, done: int, of: int) -> None:
        """Report that ``done`` of the ``of`` parts of a parallel task are done."""
        self.steps = done
        if self._is_due():
            self._show_bar(what, done / of, f"{done} of {of}")

    def iterate(self, what: str, value: float) -> bool:
        """Report one more iteration of a search and its best objective; returns whether to stop."""
        self.steps += 1
        if self._is_due():
            passed = perf_counter() - self.start
            of = f" of about {_time(self.expected)}" if self.expected > passed else ""
            self._show(f"{what}: iteration {self.steps}, {value:.6g}, {passed:.0f} s{of}")
        return self.step()

    def _is_due(self, at_once: bool = False) -> bool:
        if self.verbose:
            return self.verbose > 0
        now = perf_counter()
        patient = at_once or self._width or now - self.start >= QUIET_SECONDS
        return bool(patient and now - self._last >= BETWEEN_LINES and sys.stderr is not None and sys.stderr.isatty())

    def _show_bar(self, what: str, done: float, text: str) -> None:
        seconds = perf_counter() - self.start
        left = f", about {_time(seconds * (1.0 - done) / done)} left" if 0.05 < done < 1.0 and seconds > 1.0 else ""
        self._show(f"{what}: [{'#' * int(30 * done):<30}] {text}, {seconds:.0f} s{left}")

    def _show(self, line: str) -> None:
        print(f"\r{line:<{self._width}}", end="", file=sys.stderr, flush=True)
        self._last, self._width = perf_counter(), len(line)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._width:
            print(file=sys.stderr)
            self._width = 0


def _time(seconds: float) -> str:
    """A duration in seconds, minutes or hours."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
