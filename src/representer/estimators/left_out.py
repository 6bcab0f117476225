"""A ridge fit of all rows that knows what it would predict without some of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from representer.estimators.inputs import evenly_spaced
from representer.gram.low_rank import LowRank
from representer.gram.tiled import Gram
from representer.problems.ridge import RidgeProblem
from representer.result import Budget, Result
from representer.solvers import choose
from representer.solvers.conjugate_gradient import EASY_RIDGE, approximate
from representer.solvers.leave_one_out import LeaveOneOut, leave_one_out, low_rank_leave_one_out
from representer.solvers.memory import working_memory

LOO_ROWS = 2000
"""Rows up to which all are left out."""
LOW_RANK_ROWS, OWN_TARGET_ROWS = 1000, 100
"""Rows that are left out of more: by a factor of low rank, and by a further target each."""


@dataclass
class LeftOutFit:
    """minimise over f and b:  sum_i w_i (y_i - f(x_i) - b)^2 + alpha ||f||^2, and the residuals of rows left out of it.

    They are e_i = a_i / M_ii. Up to 2,000 rows have all of M. Of more rows, a factor F of low rank gives M_ii where it
    leaves less of K than alpha. Where it does not, columns M e_i of some rows are the solutions for targets e_i, solved
    for together with a. Fewer rows than there are would not do: their errors are larger, and a kernel that
    is too smooth for all of them would hide it.
    """

    gram: Gram
    targets: np.ndarray
    alpha: float
    weights: np.ndarray | None
    _columns: np.ndarray | None = field(default=None, init=False)
    """M e_i of some rows."""

    @cached_property
    def problem(self) -> RidgeProblem:
        """The ridge problem of the targets."""
        return RidgeProblem(self.gram, self.targets, np.full(self.targets.shape[1], self.alpha), self.weights, True)

    @property
    def _weighted(self) -> np.ndarray:
        """Rows with a weight."""
        return np.arange(len(self.gram)) if self.weights is None else np.flatnonzero(self.weights)

    @property
    def is_many(self) -> bool:
        """Whether there are too many rows to leave out all."""
        return len(self._weighted) > LOO_ROWS

    @cached_property
    def rows(self) -> np.ndarray:
        """Rows that are left out: of those with a weight, evenly spaced over all."""
        rows = self._weighted
        if not self.is_many:
            return rows
        return rows[evenly_spaced(len(rows), LOW_RANK_ROWS if self._low_rank is not None else OWN_TARGET_ROWS)]

    @cached_property
    def _low_rank(self) -> LowRank | None:
        """A factor that leaves less of K than alpha, if there is one."""
        problem = self.problem
        if self.alpha < EASY_RIDGE * float(problem.diagonal.mean()):
            return None
        found = approximate(problem, self.gram.astype(np.float32), working_memory(self.gram.memory) // 4, 0)
        return found if float(found.remainder.mean()) <= self.alpha else None

    def solve(self, budget: Budget) -> Result:
        """The exact solution for the targets."""
        n, k = self.targets.shape
        if not self.is_many:
            return choose.solve_ridge(self.problem, budget)
        if self._low_rank is not None:
            return choose.solve_ridge(self.problem, budget, low_rank=self._low_rank)
        units = np.zeros((n, len(self.rows)))
        units[self.rows, np.arange(len(self.rows))] = 1.0
        alphas = np.full(k + len(self.rows), self.alpha)
        wider = replace(self.problem, targets=np.hstack([self.targets, units]), alpha=alphas)
        result = choose.solve_ridge(wider, budget)
        self._columns = result.coef[:, k:]
        return replace(result, coef=result.coef[:, :k].copy(), intercept=result.intercept[:k])

    def left_out(self, coef: np.ndarray) -> LeaveOneOut:
        """What leaving out each of the rows gives."""
        if self._columns is not None:
            diagonal = self._columns[self.rows, np.arange(len(self.rows))]
            return LeaveOneOut(self.targets[self.rows] - coef[self.rows] / diagonal[:, None], 1.0 / diagonal)
        if self._low_rank is not None and self.is_many:
            return low_rank_leave_one_out(self.problem, coef, self.rows, self._low_rank)
        weights = None if self.weights is None else self.weights[self.rows]
        part = replace(self.problem, gram=self.gram.take(self.rows), targets=self.targets[self.rows], weights=weights)
        return leave_one_out(part)
