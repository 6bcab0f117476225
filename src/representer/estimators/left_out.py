"""A ridge fit to all rows with its leave-one-out predictions for some of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from representer.estimators.inputs import evenly_spaced
from representer.gram.tiled import Gram
from representer.problems.ridge import RidgeProblem
from representer.processes.local import LOCAL_RANK, LocalPosterior
from representer.result import Budget, Result
from representer.solvers import choose, conjugate_gradient
from representer.solvers.leave_one_out import LeaveOneOut, leave_one_out
from representer.solvers.memory import working_memory

LOO_ROWS = 2000
"""Rows up to which all are left out, with variances given all others."""
SOME_ROWS = 1000
"""Rows that are left out where there are more."""


@dataclass(frozen=True)
class LeftOutFit:
    """minimise over f and b:  sum_i w_i (y_i - f(x_i) - b)^2 + alpha ||f||^2, with leave-one-out residuals.

    They are e_i = a_i / M_ii, and 1 / M_ii is the variance of y_i given all others: up to 2,000 rows by M, and for a
    sample of more rows by `LocalPosterior`. A fit to fewer rows would not do: its errors are larger, which would hide
    that a kernel is too smooth for all of them.
    """

    gram: Gram
    targets: np.ndarray
    alpha: float
    weights: np.ndarray | None
    """All nonzero."""

    @cached_property
    def problem(self) -> RidgeProblem:
        """The ridge problem of the targets."""
        return RidgeProblem(self.gram, self.targets, np.full(self.targets.shape[1], self.alpha), self.weights, True)

    @property
    def noise(self) -> np.ndarray:
        """alpha / w_i."""
        return self.alpha / (np.ones(len(self.gram)) if self.weights is None else self.weights)

    @property
    def is_many(self) -> bool:
        """Whether there are too many rows to leave out each."""
        return len(self.gram) > LOO_ROWS

    @cached_property
    def local(self) -> LocalPosterior:
        """The posterior variances given many rows."""
        return LocalPosterior(self.gram, self.noise)

    @cached_property
    def rows(self) -> np.ndarray:
        """Rows to leave out: all if there are few; otherwise evenly spaced ones that are not landmarks."""
        if not self.is_many:
            return np.arange(len(self.gram))
        others = np.setdiff1d(np.arange(len(self.gram)), self.local.pivots)
        return others[evenly_spaced(len(others), SOME_ROWS)]

    def solve(self, budget: Budget) -> Result:
        """The exact solution for the targets.

        Where the low-rank factor of the variances holds nearly all of K, it is the preconditioner: two or three
        products with K are then enough, whatever a plan that knows only n expects.
        """
        factors = 8 * LOCAL_RANK * len(self.gram)
        if not self.is_many or factors > working_memory(budget.memory) // 4:
            return choose.solve(self.problem, budget)
        low_rank = self.local.low_rank if self.weights is None else self.local.low_rank.weighted(self.weights)
        if not conjugate_gradient.is_complete(low_rank, self.problem):
            return choose.solve(self.problem, budget)
        why, D = "landmarks hold nearly all of the kernel matrix", self.problem.sqrt_weights

        def precondition(R: np.ndarray, ridges: np.ndarray) -> np.ndarray:
            return self.local.smoothed(R / D) / D

        return conjugate_gradient.solve(self.problem, budget, why, low_rank=low_rank, precondition=precondition)

    def left_out(self, coef: np.ndarray) -> LeaveOneOut:
        """Leave-one-out predictions and variances of `rows`."""
        if not self.is_many:
            return leave_one_out(self.problem)
        variances = self.local.left_out(self.rows) + self.noise[self.rows]
        return LeaveOneOut(self.targets[self.rows] - coef[self.rows] * variances[:, None], variances)
