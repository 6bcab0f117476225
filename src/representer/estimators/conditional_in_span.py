"""Conditional means where the kernel of x has a basis: all by (S + alpha I)^(-1), S = sum_i phi(x_i) phi(x_i)'."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from representer import _parallel
from representer.estimators.in_span import design_of, function_of
from representer.functions import Function
from representer.gram.design import SLAB_ROWS
from representer.kernels import checks
from representer.kernels.basis import Basis
from representer.problems.finite import FiniteRidge, FiniteSystem
from representer.problems.judgement import Judgement
from representer.result import Budget, Plan
from representer.rows import tables
from representer.rows.arrays import ArrayRows
from representer.solvers import normal_equations
from representer.solvers.finite_passes import wide


@dataclass(frozen=True)
class ConditionalInSpan:
    """b(x) = (K + alpha I)^(-1) k(x) = Phi (S + alpha I)^(-1) phi(x), without an n x n matrix."""

    basis: Basis
    X: Any
    """The training inputs."""
    alpha: float
    threads: int | None

    @cached_property
    def design(self) -> Any:
        """phi in float64."""
        return wide(design_of(self.basis, self.threads))

    @cached_property
    def S(self) -> np.ndarray:
        """sum_i phi(x_i) phi(x_i)'."""
        rows = _parallel.split(checks.number_of(self.X), 16 * SLAB_ROWS)
        return sum(self.design.second_moments(tables.part(self.X, part.start, part.stop)) for part in rows)

    @cached_property
    def factor(self) -> Any:
        """Cholesky factor of S + alpha I."""
        return cho_factor(self.S + self.alpha * np.eye(len(self.S)), overwrite_a=True, check_finite=False)

    def plan(self, budget: Budget) -> Plan:
        """One pass and an m x m factor."""
        n = checks.number_of(self.X)
        problem = FiniteRidge(self.design, ArrayRows(self.X, np.zeros(n)), np.array([self.alpha]))
        plan = normal_equations.cost(problem, budget)
        plan = replace(plan, solver="cholesky in the span", why="the kernel of x has a basis")
        return plan.within(budget.memory, normal_equations.way_out)

    def solve(self, sides: np.ndarray) -> np.ndarray:
        """(S + alpha I)^(-1) times the columns of right-hand sides."""
        return cho_solve(self.factor, sides, check_finite=False)

    def solutions(self, X: Any) -> np.ndarray:
        """(S + alpha I)^(-1) phi(x), one column per x."""
        return self.solve(self.design.features(X).astype(np.float64).T)

    def weights(self, Z: np.ndarray) -> np.ndarray:
        """b(x), one column per column of solutions Z."""
        return self.design.values(self.X, Z)

    def regression(self, g: np.ndarray) -> Function:
        """The ridge regression of values g, one number or one row per input."""
        columns = g.reshape(len(g), -1).copy()
        sides = self.design.residuals(self.X, np.zeros((self.design.size, columns.shape[1])), columns, np.ones(len(g)))
        w = self.solve(sides)
        return function_of(self.basis, w if g.ndim > 1 else w[:, 0], 0.0, self.threads)

    def across(self, Y: Any, basis: Basis) -> np.ndarray:
        """sum_i phi(y_i) phi(x_i)' with the basis of y."""
        other, total = wide(design_of(basis, self.threads)), np.zeros((basis.rank, self.basis.rank))
        for rows in _parallel.split(checks.number_of(Y), SLAB_ROWS):
            y, x = (tables.part(values, rows.start, rows.stop) for values in (Y, self.X))
            total += other.features(y).T @ self.design.features(x)
        return total

    def judge(self, X: Any) -> Judgement:
        """|(K + alpha I) b(x) - k(x)| / |k(x)| for some inputs."""
        Z, phi = self.solutions(X), self.design.features(X).astype(np.float64).T
        return FiniteSystem(self.S, self.alpha).judge(Z, phi)
