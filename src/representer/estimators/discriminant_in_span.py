"""The Fisher discriminant in the span of a basis: ridge regression on class indicators from sums over rows anywhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from representer.estimators.in_span import design_of, with_samples
from representer.gram.design import Design
from representer.kernels.basis import Basis
from representer.problems.finite import FiniteRidge, weights_of
from representer.result import Budget, Plan, Result
from representer.rows.base import Rows
from representer.solvers import normal_equations


@dataclass(frozen=True)
class Scatter:
    """For indicators y and f = <coef, psi> + b: sums of w y (f - share)' and w y (y - f)'."""

    design: Design
    coef: np.ndarray
    intercept: np.ndarray
    shares: np.ndarray
    """Class proportions."""

    def __call__(self, X: Any, y: Any, w: Any) -> tuple:
        F = self.design.values(X, self.coef) + self.intercept
        Y = weights_of(w, len(y))[:, None] * y
        return Y.T @ (F - self.shares), Y.T @ (y - F)


@dataclass(frozen=True)
class Fits:
    """Indicators, weights and f(x) + b of each row."""

    design: Design
    coef: np.ndarray
    intercept: np.ndarray

    def __call__(self, X: Any, y: Any, w: Any) -> tuple:
        return y, weights_of(w, len(y)), self.design.values(X, self.coef) + self.intercept


@dataclass(frozen=True)
class DiscriminantInSpan:
    """The ridge fits of a discriminant whose kernel has a basis; the targets of the rows are class indicators."""

    basis: Basis
    rows: Rows
    sizes: np.ndarray
    """Total weight of each class."""
    alphas: np.ndarray
    threads: int | None

    @property
    def problem(self) -> FiniteRidge:
        """The ridge problem with the first alpha."""
        return FiniteRidge(design_of(self.basis, self.threads), self.rows, self._repeated(self.alphas[0]), True)

    def _repeated(self, alpha: float) -> np.ndarray:
        return np.full(len(self.sizes), alpha)

    @property
    def _every(self) -> np.ndarray:
        return np.repeat(self.alphas[:, None], len(self.sizes), axis=1)

    def plan(self, budget: Budget) -> Plan:
        """The cost of the passes; several alphas are refused where exact leave-one-out would take too long."""
        many = len(self.alphas) > 1
        plan = normal_equations.cost(self.problem, budget, self._every if many else None)
        plan = replace(plan, solver="normal equations in the span", why="the kernel has a basis")
        plan = with_samples(plan, self.basis, self.rows)
        if many and not normal_equations.leaves_out(self.problem, self._every):
            refusal = (
                f"A list of alphas is judged by leaving out each row, which takes too long for {self.problem.n:,} rows "
                f"and {self.basis.size:,} functions; choose alpha from some of the rows, and give that."
            )
            return replace(plan, refusal=refusal, error=ValueError)
        return plan

    def path(self, budget: Budget) -> normal_equations.Path:
        """The sums of one pass."""
        return normal_equations.Path(self.problem, budget)

    def left_out(self, path: normal_equations.Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Indicators, weights, fits and leave-one-out predictions of the rows; the last two for each alpha."""
        sums, every = path.sums, self._every
        coef = [sums.spectrum[1] @ (sums.inside / sums.shifted(alpha)) for alpha in every]
        intercepts = np.concatenate([sums.intercepts(each) for each in coef])
        exact = replace(path.design, basis=path.design.basis.astype(np.float64))
        found = self.rows.map(Fits(*exact.at(np.concatenate(coef, axis=1)), intercepts))
        Y, w, F = (np.concatenate(column) for column in zip(*found, strict=True))
        return Y, w, np.moveaxis(F.reshape(len(F), *every.shape), 1, 0), path.leave_out(every)

    def scatter(self, path: normal_equations.Path, result: Result) -> tuple[np.ndarray, np.ndarray]:
        """Scatter between and within classes, from one pass in float64."""
        exact = replace(path.design, basis=path.design.basis.astype(np.float64))
        part = Scatter(*exact.at(result.coef), result.intercept, self.sizes / self.sizes.sum())
        between, within = self.rows.total(part)
        return between, within
