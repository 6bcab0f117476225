"""Ridge in the span of a basis from sums that accumulate over chunks of rows, none of which is read twice."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from representer.gram.design import Design
from representer.problems.finite import FiniteRidge, Moments, columns_of, weights_of
from representer.result import Budget, Result, Work, certificate_of
from representer.rows.base import Rows, added, finished
from representer.solvers.normal_equations import Sums


@dataclass(frozen=True)
class Accumulated:
    """sum_i w_i phi_i phi_i', w_i phi_i y_i' and related sums over all chunks so far, in float64.

    Rows are orthonormalised in float64: there is no second pass to recover lost digits.
    """

    design: Design
    shift: np.ndarray
    sums: tuple | None = None
    rows: int = 0

    @classmethod
    def empty(cls, design: Design, y: Any, w: Any, intercept: bool) -> Accumulated:
        """No sums yet; targets are shifted by their mean over some rows, to keep the digits of sums of squares."""
        Y = columns_of(y)
        weights = weights_of(w, len(Y))
        shift = np.average(Y, axis=0, weights=weights) if intercept and weights.any() else np.zeros(Y.shape[1])
        return cls.going_on(design, shift, None, 0)

    @classmethod
    def going_on(cls, design: Design, shift: np.ndarray, sums: tuple | None, rows: int) -> Accumulated:
        """Resume from known sums."""
        return cls(replace(design, basis=design.basis.astype(np.float64), orthonormal=True), shift, sums, rows)

    def plus(self, rows: Rows) -> Accumulated:
        """The sums plus those of further rows; an error in these leaves the old sums unchanged."""
        counted = Counted(Moments(self.design.columns, self.shift))
        *more, n = finished(rows.partial(counted))
        sums = added(None if self.sums is None else added(None, self.sums), tuple(more))
        return replace(self, sums=sums, rows=self.rows + int(n))

    def totals(self, intercept: bool) -> Sums:
        """The sums as one pass over all rows would have computed them."""
        assert self.sums is not None
        S, C, s, weight, y, yy, n = finished(self.sums)
        return Sums((S + S.T) / 2.0, C, s, float(weight), y, yy, int(n), self.shift, intercept)

    def solve(self, problem: FiniteRidge, budget: Budget, reason: str, sums: Sums) -> Result:
        """The solution for the alphas of a problem, judged by the gradient from the sums."""
        begin, alpha = perf_counter(), problem.alpha
        w = sums.apply_inverse(sums.sides, alpha)
        centred = sums.S @ w - sums.weight * np.multiply.outer(sums.mean, sums.mean @ w)
        g = sums.sides - centred - alpha * w
        squares = np.maximum(sums.squares - np.sum(w * (2.0 * sums.sides - centred), axis=0), 0.0)
        size = np.linalg.norm(sums.sides, axis=0)
        intercept, r = sums.intercepts(w), len(w)
        judgement = problem.judge(w, intercept, (g, squares, size))
        work = Work("normal equations", reason, 1, 8 * 6 * r * r, perf_counter() - begin, "float64 sums", 1)
        certificate = certificate_of([judgement], work, budget.tol, self.rows * self.design.basis.size)
        return Result(w, intercept, certificate)


@dataclass(frozen=True)
class Counted:
    """The sums of a part, and the number of rows."""

    part: Any

    def __call__(self, X: Any, y: Any, w: Any) -> tuple:
        return *self.part(X, y, w), len(y)
