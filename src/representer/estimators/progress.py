"""How far a long fit is: a line of text, and scikit-learn's callbacks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from time import perf_counter
from types import TracebackType
from typing import Any

import numpy as np

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import with_callbacks
except ImportError:  # scikit-learn had no callbacks before 1.9
    with_callbacks = None

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""


Step = Callable[[], bool]
"""Tells callbacks that a step is done; whether one of them wants to stop."""


def observed(fit: Any) -> Any:
    """A method ``fit(self, X, y, ...)`` with a task tree that callbacks can follow, as `set_callbacks` promises."""
    if with_callbacks is None:
        return fit

    @with_callbacks
    @wraps(fit)
    def fit_with_callbacks(self: Any, X: Any, y: Any, *args: Any, **options: Any) -> Any:
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        fit(self, X, y, *args, **options)
        context.call_on_fit_task_end(estimator=self, X=X, y=y, reconstruction_attributes={})
        return self

    return fit_with_callbacks


@contextmanager
def task(estimator: Any, name: str, at_most: int | None = None) -> Iterator[Step]:
    """One part of an observed fit, with a function to call after each of at most so many steps."""
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


class Progress:
    """Steps, the residual on its way to the tolerance, and the time, on one line of the standard error stream.

    Parameters
    ----------
    verbose : int
        0 for silence.
    tol : float
        The residual at which the work is done.
    step : function without arguments
        Also called after each step; whether it wants to stop.
    """

    def __init__(self, verbose: int, tol: float, step: Step = lambda: False):
        self.verbose, self.tol, self.step = verbose, tol, step
        self.steps, self.start = 0, perf_counter()

    def __enter__(self) -> Progress:
        return self

    def __call__(self, what: str, residual: float) -> bool:
        """One more step, after which the residual is this; whether to stop."""
        self.steps += 1
        if self.verbose:
            self._print(what, residual)
        return self.step()

    def count(self, what: str, done: int, of: int) -> None:
        """So many of the parts that are worked on at the same time are done."""
        self.steps = done
        if self.verbose:
            seconds = perf_counter() - self.start
            line = f"\r{what}: [{'#' * (30 * done // of):<30}] {done} of {of}, {seconds:.0f} s"
            print(line, end="", file=sys.stderr, flush=True)

    def _print(self, what: str, residual: float) -> None:
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
