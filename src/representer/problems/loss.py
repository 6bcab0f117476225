"""Problems with any loss and any nondecreasing regulariser of the norm."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from representer.gram.operator import Operator
from representer.losses.base import Loss
from representer.problems.intercepts import best_intercept
from representer.problems.judgement import ROUNDINGS, TINY, Judgement
from representer.problems.points import Point
from representer.regularizers import Norm, Regularizer, SquaredNorm

NEGATIVE = 1e3
"""Multiple of its rounding error by which <coef, K coef> may be negative: values of K are rounded as well."""
MEASURED_ROWS = 128
"""Approximate number of rows on which the error of rough products is measured."""
BALANCED = 1e-6
"""Fraction of sum_i w_i |v_i| up to which sum_i w_i v_i is zero up to rounding."""
FLOOR = 1e-12
"""Gaps are relative to at least this fraction of the objective of f = 0, as nothing is small relative to zero."""
FLOOR_IN_BALL = 1e-6
"""The same in a ball, where the minimum is often zero and attained up to rounding: 1e-14 of that objective at tol
1e-8."""


@dataclass(frozen=True)
class LossProblem:
    """minimise over f in H and b:  P(f, b) = sum_i w_i l(y_i, f(x_i) + b) + R(||f||).

    The dual problem is to maximise D(v) = -sum_i w_i l*(y_i, v_i) - R*(||sum_i w_i v_i k(x_i, .)||), subject to sum_i
    w_i v_i = 0 if the intercept is free. Every D(v) is at most every P(f, b). For R(t) = strength t^2 / 2 the solution
    is f = sum_i coef_i k(x_i, .) with coef = -w v / strength.

    Parameters
    ----------
    gram : Gram, or another `Operator`
    y : array of shape (n, 1)
    loss : Loss
    regularizer : Regularizer
    weights : array of shape (n, 1)
    intercept : bool
        Whether b is free; otherwise it is 0.
    """

    gram: Any
    y: np.ndarray
    loss: Loss
    regularizer: Regularizer
    weights: np.ndarray
    intercept: bool = True

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    def convex(self) -> bool:
        return self.loss.convex and self.regularizer.convex

    @property
    def strength(self) -> float:
        """The regularisation strength of a problem with the squared norm."""
        strength = self.regularizer.fixed_strength
        if strength is None:
            raise TypeError(f"{self.regularizer!r} has no fixed strength.")
        return strength

    def with_strength(self, strength: float) -> LossProblem:
        """The same losses with the squared norm."""
        return replace(self, regularizer=SquaredNorm(strength))

    @cached_property
    def diagonal(self) -> np.ndarray:
        """k(x_i, x_i) in float64."""
        return self.gram.diag().astype(np.float64)

    def zero(self) -> Point:
        """f = 0 with the best intercept."""
        flat = np.zeros((self.n, self.loss.outputs(self.y)))
        return self.centred(Point(flat, np.zeros(flat.shape[1]), flat))

    def losses(self, F: np.ndarray) -> float:
        """sum_i w_i l(y_i, F_i)."""
        return float(np.sum(self.weights * self.loss.value(self.y, F)))

    def objective(self, point: Point) -> float:
        """P(f, b)."""
        return self.losses(point.values) + self.regularizer.value(np.sqrt(point.squared_norm))

    def stationary_coef(self, point: Point) -> np.ndarray:
        """-w l'(y, f + b) / strength: equal to the coefficients at the solution, as then the gradient vanishes."""
        return -self.weights * self.loss.gradient(self.y, point.values) / self.strength

    def centred(self, point: Point) -> Point:
        """The same f with the best intercept."""
        if not self.intercept:
            return point
        return replace(point, intercept=best_intercept(self.loss, self.y, self.weights, point))

    # ---- dual points ----

    def dual_variable(self, coef: np.ndarray, strength: float) -> np.ndarray:
        """v = -strength coef / w, made feasible."""
        v = np.divide(-strength * coef, self.weights, out=np.zeros_like(coef), where=self.weights > 0)
        return self.feasible(v)

    def feasible(self, v: np.ndarray) -> np.ndarray:
        """v moved into the domain of the conjugate and, with an intercept, to sum_i w_i v_i = 0."""
        loss = self.loss
        return loss.balance(self.y, v, self.weights) if self.intercept else loss.project(self.y, v)

    def conjugates(self, v: np.ndarray) -> float:
        """sum_i w_i l*(y_i, v_i)."""
        return float(np.sum(self.weights * self.loss.conjugate(self.y, v)))

    def conjugates_of_slopes(self, F: np.ndarray) -> float:
        """sum_i w_i l*(y_i, v_i) for the slopes v of the losses at F, where l*(v) = v F - l(F)."""
        return float(np.sum(self.weights * self.loss.gradient(self.y, F) * F)) - self.losses(F)

    def imbalance(self, v: np.ndarray, point: Point) -> float:
        """By how much a nonzero sum_i w_i v_i may lift D(v) above the minimum of the objective.

        With an intercept, D is infinite unless the sum is zero. Shifting v there changes D by the sum times the
        difference between the values at which the losses have these slopes and the values of f; near a solution neither
        is far beyond the current values. Infinite where the sum exceeds rounding.
        """
        if not self.intercept:
            return 0.0
        w = self.weights / self.weights.max()
        off = np.abs(np.sum(w * v, axis=0)).sum()
        if off > BALANCED * float(np.sum(w * np.abs(v))):
            return np.inf
        values = float(np.abs(point.applied).max() + np.abs(point.intercept).max())
        return 4.0 * values * off * float(self.weights.max())

    # ---- judging coefficients ----

    def scale(self, point: Point) -> float:
        """The scale of relative gaps: sum_i w_i |l(y_i, f(x_i) + b)| + R(||f||).

        At least a small fraction of its value at f = 0: where the minimum is zero, every other point has a gap as large
        as its objective.
        """
        floor = FLOOR_IN_BALL if np.isfinite(self.regularizer.largest) else FLOOR
        return max(self._size(point), floor * self._size_at_zero, TINY)

    def _size(self, point: Point) -> float:
        values = np.abs(self.loss.value(self.y, point.values))
        t = min(np.sqrt(point.squared_norm), self.regularizer.largest)
        return float(np.sum(self.weights * values)) + self.regularizer.value(t)

    @cached_property
    def _size_at_zero(self) -> float:
        return self._size(self.zero())

    def norm_bound(self, coef: np.ndarray, applied: np.ndarray, error: Any = 0.0) -> float:
        """An upper bound on ||f||, given the rounding of <coef, K coef> and an error of the product as in `Point`.

        Rounding errors are taken as independent: a sum of products with terms a_ij is off by eps times the square root
        of the sum of a_ij^2. Infinite where <coef, K coef> is more negative than that: then K is not a kernel matrix,
        and f has no norm.
        """
        square = float(np.vdot(coef, applied))
        rounding = ROUNDINGS * float(np.sum(np.abs(self.diagonal)[:, None] * coef**2))
        rounding += float(np.sum(np.sqrt(np.abs(self.diagonal))[:, None] * np.abs(coef) * error))
        return np.inf if square < -NEGATIVE * rounding else float(np.sqrt(max(square, 0.0) + rounding))

    def rounding(self, point: Point) -> float:
        """Estimated rounding error of the objective: of its terms, of the norm, and of losses through values of f.

        Values of f are off by about eps sqrt(k(x_i, x_i) sum_j k(x_j, x_j) coef_j^2), independently of each other.
        """
        roots, F = np.sqrt(np.abs(self.diagonal))[:, None], point.values
        error = ROUNDINGS * roots * np.linalg.norm(roots * point.coef, axis=0)
        error += np.where(point.applied != 0.0, 0.25 * ROUNDINGS * np.abs(F), 0.0)  # of the sum f + b
        by_values = float(np.linalg.norm(self._loss_changes(F, error)))
        if np.any(point.error):  # may have the same sign throughout
            by_values += float(np.sum(self._loss_changes(F, roots * point.error)))
        R, largest = self.regularizer.value, self.regularizer.largest
        norms = np.sqrt(point.squared_norm), self.norm_bound(point.coef, point.applied, point.error)
        by_norm = R(min(norms[1], largest)) - R(min(norms[0], largest))
        return ROUNDINGS * self._size(point) + by_values + by_norm

    def _loss_changes(self, F: np.ndarray, error: np.ndarray) -> np.ndarray:
        """By how much each weighted loss may change if values F are off by ``error``."""
        error = np.where(self.loss.gradient(self.y, F) < 0.0, -error, error)  # outputs of one loss add up
        here = self.loss.value(self.y, F)
        with np.errstate(over="ignore", invalid="ignore"):
            up, down = (np.abs(self.loss.value(self.y, F + side * error) - here) for side in (1.0, -1.0))
        return self.weights * np.fmax(up, down)

    @cached_property
    def least(self) -> float:
        """D(0) = sum_i w_i min over F of l(y_i, F) + R(0), with each loss at its own minimum, where that is known."""
        if not self.loss.complete or not self.convex:
            return -np.inf
        flat = np.zeros((self.n, self.loss.outputs(self.y)))
        lower = -self.conjugates(self.loss.project(self.y, flat)) - self.regularizer.conjugate(0.0)
        return lower if np.array_equal(self.loss.project(self.y, flat), flat) else -np.inf

    def upper_bound(self, point: Point) -> float:
        """The objective plus its rounding error."""
        return self.objective(point) + self.rounding(point)

    def lower_bound(
        self,
        v: np.ndarray,
        product: np.ndarray,
        point: Point,
        slopes_at: np.ndarray | None = None,
        error: Any = 0.0,
    ) -> float:
        """D(v) minus its rounding error, with v shrunk to where R* is finite; ``product`` is -K w v, with its error.

        A loss without a conjugate has l* only for its slopes at the values ``slopes_at``. ``point`` may be any nearby
        point.
        """
        s = self.norm_bound(-self.weights * v, product, error)
        if s == np.inf:
            return -np.inf
        shrink = self.regularizer.within(s)
        if self.loss.complete:
            conjugates = self.conjugates(shrink * v)
        elif slopes_at is None or shrink < 1.0:
            return -np.inf
        else:
            conjugates = self.conjugates_of_slopes(slopes_at)
        rounding = ROUNDINGS * (abs(conjugates) + float(np.sum(self.weights * np.abs(v * point.values))))
        return -conjugates - self.regularizer.conjugate(shrink * s) - self.imbalance(v, point) - rounding

    def judge(
        self,
        coef: np.ndarray,
        intercept: np.ndarray,
        dual: np.ndarray | None = None,
        slopes_at: np.ndarray | None = None,
        rough: Operator | None = None,
    ) -> Judgement:
        """The duality gap relative to the objective, with all products with K recomputed in float64.

        With a ``rough`` matrix, products use that instead; its error is measured on some rows and widens the gap.

        The lower bound is the best of several dual points, each made feasible first: ``dual``, if a solver passes it,
        and for the squared norm the one that belongs to the coefficients. A loss without a conjugate uses its slopes at
        the values ``slopes_at``. If neither is given, or none yields a bound, slopes at the point itself are tried,
        too. Without convexity there is no bound, and the residual is that of a local minimum.
        """
        K, outputs = self.gram.astype(np.float64), coef.shape[1]
        duals = self._duals(coef, dual, slopes_at) if self.convex else []
        # a product with several columns takes hardly longer than with one
        coefs = np.concatenate([coef, *(-self.weights * v for v in duals)], axis=1)
        applied, errors = (K @ coefs, np.zeros(coefs.shape[1])) if rough is None else self._measured(rough, coefs)
        point = Point(coef, np.asarray(intercept, np.float64), applied[:, :outputs], errors[:outputs])
        if not self.convex:
            return self._judge_local(point, dual, slopes_at)
        products, off = (np.split(part[..., outputs:], max(len(duals), 1), axis=-1) for part in (applied, errors))
        tried = zip(duals, products[: len(duals)], off[: len(duals)], strict=True)
        lower = max((self.lower_bound(v, Kv, point, slopes_at, e) for v, Kv, e in tried), default=-np.inf)
        if lower == -np.inf or (dual is None and slopes_at is None):
            v = self.loss.gradient(self.y, point.values)
            v = self.feasible(v) if self.loss.complete else v
            lower = max(lower, self.lower_bound(v, K @ (-self.weights * v), point, point.values))
        primal = self.objective(point)
        lower = max(lower, self.least) - self.rounding(point)
        if lower > primal:  # contradicts weak duality: K has negative eigenvalues, or a conjugate is wrong
            lower = -np.inf
        gap, strength = primal - lower, self.regularizer.fixed_strength
        bound = np.sqrt(2.0 * gap / strength) if strength else np.inf
        return Judgement(np.array([gap / self.scale(point)]), "relative gap", np.array([bound]), primal, lower)

    def _measured(self, rough: Operator, coefs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Products with a rough matrix, and four times the root mean square of their errors on sampled rows."""
        applied, roots = rough @ coefs, np.sqrt(np.abs(self.diagonal))[:, None]
        some = np.flatnonzero(roots.ravel() > 0.0)[:: 1 + self.n // MEASURED_ROWS]
        exact = self.gram.astype(np.float64).take(some, slice(None)) @ coefs
        errors = (applied[some] - exact) / roots[some]
        return applied, 4.0 * np.sqrt((errors**2).sum(axis=0) / max(len(some), 1))

    def _duals(self, coef: np.ndarray, dual: np.ndarray | None, slopes_at: np.ndarray | None) -> list[np.ndarray]:
        """Feasible dual points that are known before any product."""
        if not self.loss.complete:
            return [] if slopes_at is None else [self.loss.gradient(self.y, slopes_at)]
        found = [] if dual is None else [self.feasible(dual)]
        if (strength := self.regularizer.fixed_strength) is not None:
            found.append(self.dual_variable(coef, strength))
        return found

    def _judge_local(self, point: Point, dual: np.ndarray | None, slopes_at: np.ndarray | None) -> Judgement:
        """Without convexity there is no bound; the residual says how far the point is from a local minimum.

        If only R is not convex, it is the gap of the problem with the squared norm that has the same slope at ||f||, or
        at f = 0 with the norm, relative to the objective. Otherwise it is half the squared norm of the gradient over
        the strength, relative to the objective, and at f = 0 the logarithm of the ratio by which the gradient exceeds
        R'(0).
        """
        t, scale, primal = np.sqrt(point.squared_norm), self.scale(point), self.objective(point)
        slope = self.regularizer.derivative(t)
        if self.loss.convex and 0.0 < slope < np.inf:
            local = replace(self, regularizer=SquaredNorm(slope / t) if t > 0.0 else Norm(slope))
            found = local.judge(point.coef, point.intercept, dual, slopes_at)
            return Judgement(found.residuals * local.scale(point) / scale, "local gap", primal=primal)
        force, K = -self.weights * self.loss.gradient(self.y, point.values), self.gram.astype(np.float64)
        if t > 0.0 and 0.0 < slope < np.inf:
            d = point.coef - t / slope * force
            residual = 0.5 * slope / t * abs(float(np.vdot(d, K @ d))) / scale
        else:
            size = np.sqrt(max(float(np.vdot(force, K @ force)), 0.0))
            residual = max(float(np.log(size / slope)), 0.0) if size > 0.0 and slope > 0.0 else float(size > 0.0)
        return Judgement(np.array([residual]), "gradient", primal=primal)
