"""Estimators whose kernel and regularisation strength can be tuned by leave-one-out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from representer import _parallel
from representer.estimators.criteria import MachineErrors, Part
from representer.estimators.hyperparameter_search import IMPOSSIBLE
from representer.estimators.progress import Progress, Step, task
from representer.estimators.tuning import Tuned, Tuning, evaluations
from representer.gram.tiled import Gram
from representer.kernels.base import Kernel
from representer.result import Plan
from representer.solvers.leave_one_out import loo_bytes

SEARCH_TASK = "search for hyper-parameters"
"""What a search is called in progress and callbacks."""
SEARCH_STEPS = 100
"""Largest number of iterations of a search."""


class Tunable:
    """The parameters ``tune``, ``bounds``, ``fixed`` and ``priors``, and the search they configure."""

    tune: str | None
    bounds: dict | None
    fixed: Any
    priors: dict | None
    max_iter: int
    _criteria: tuple[str, ...] = ("loo",)
    _strength_name = "alpha"
    _search_factor = 1.0

    def _most_iterations(self) -> int:
        """Those of the solver: with ``tune``, a small max_iter bounds the search, and not the fit after it."""
        most: int = super()._most_iterations()  # type: ignore[misc]
        return most if self.tune is None else max(most, type(self)()._most_iterations())

    def _check_tune(self) -> None:
        """Raise if the criterion is unknown, or if options of a search would be ignored."""
        if self.tune is not None and self.tune not in self._criteria:
            *some, last = [repr(name) for name in (None, *self._criteria)]
            raise ValueError(f"tune is {self.tune!r}; use {', '.join(some)} or {last}.")
        if isinstance(self.fixed, str):
            raise TypeError(f"fixed is {self.fixed!r}; give a list of names, such as [{self.fixed!r}].")
        if self.tune is None and (self.bounds or self.fixed or self.priors):
            raise ValueError("bounds, fixed and priors are options of a search; use tune='loo', or leave them out.")

    def _search(self, criterion: Any, kernel: Kernel, strength: float) -> Tuned | None:
        """The result of the search on all rows; None where nothing can be learned, as from constant targets."""
        if criterion.n < 2:
            raise ValueError("Leave-one-out needs more than n_samples = 1 row; use tune=None.")
        most = SEARCH_STEPS if self.max_iter < 0 else min(self.max_iter, SEARCH_STEPS)
        tuning = Tuning(criterion, bounds=self.bounds, fixed=self.fixed, priors=self.priors, max_iter=most)
        seconds = evaluations(criterion.n)[2] * self._search_factor
        with (
            task(self, SEARCH_TASK) as step,
            Progress(getattr(self, "verbose", 0), 1e-6, step).expect(SEARCH_TASK, seconds) as progress,
            _parallel.one_blas_thread(),
        ):
            found = tuning.in_stages(kernel, strength, _showing(progress))
        if found.objective >= IMPOSSIBLE:
            self.loo_error_ = 0.0
            return None
        found.warn(self.bounds)
        self.loo_error_ = found.error
        return found

    def _search_machine(
        self, gram: Gram, parts: list[Part], weights: np.ndarray, strength: float, intercept: bool = True
    ) -> tuple[Kernel, float]:
        """Kernel and strength that minimise the leave-one-out loss of several machines; the given ones if none do."""
        criterion = MachineErrors(
            gram.X, len(gram), parts, intercept, self._strength_name, gram.kernel.precomputed, gram.threads
        )
        found = self._search(with_weight(criterion, weights), gram.kernel, strength)
        return (gram.kernel, strength) if found is None else (found.kernel, found.strength)

    def _with_search(self, plan: Plan, gram: Any, memory: int, targets: int = 1) -> Plan:
        """The plan of a fit with the memory and time of the search before it, if there is one."""
        self._check_tune()
        if self.tune is None:
            return plan
        rows, values, seconds = evaluations(len(gram))
        bytes_ = loo_bytes(rows, targets, getattr(self, "threads", None)) + gram.nbytes
        whole = replace(
            plan,
            bytes=max(plan.bytes, bytes_),
            kernel_evaluations=plan.kernel_evaluations + values,
            seconds=plan.seconds + seconds * self._search_factor,
        )
        return whole.within(memory, "use tune=None, fewer rows, or a larger memory=")


def with_weight(criterion: Any, weights: np.ndarray | None) -> Any:
    """The criterion on rows with nonzero weight."""
    return criterion if weights is None or np.all(weights) else criterion.on(np.flatnonzero(weights))


def _showing(progress: Progress) -> Step:
    """A step of the search that shows its progress."""

    def shown() -> bool:
        progress.count(SEARCH_TASK, progress.steps + 1, max(SEARCH_STEPS, progress.steps + 1))
        return progress.step()

    return shown
