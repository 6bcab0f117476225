"""Problems in the span of a basis, f = <w, phi(.)>, which see the data only as sums over rows.

Rows may be stored anywhere. A problem reads them through parts, pure functions of a block (X, y, weights) whose results
``rows.total`` adds up. ``design`` and ``coef`` of a part are columns psi and their coefficients (`Design.at`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from representer.gram.design import Design
from representer.losses.base import Loss
from representer.problems.judgement import ROUNDINGS, Judgement
from representer.rows import tables
from representer.rows.base import Rows

UNBALANCED = 1e-2
"""Fraction of sum_i w_i |v_i| up to which sum_i w_i v_i counts as nearly zero, and the dual point is corrected for
it."""


def columns_of(y: Any) -> np.ndarray:
    """Targets as float64 columns."""
    y = np.asarray(y, np.float64)
    return y.reshape(len(y), -1)


def weights_of(w: Any, n: int) -> np.ndarray:
    """Weights in float64; ones when not given."""
    return np.ones(n) if w is None else np.asarray(w, np.float64)


# ---- parts: what a block of rows contributes ----


@dataclass(frozen=True)
class Moments:
    """Sums of psi psi', psi y' and psi, weights, y, y^2, and the number of rows with nonzero weight; y is shifted."""

    design: Design
    shift: np.ndarray

    def __call__(self, X: Any, y: Any, w: Any) -> tuple:
        Y = columns_of(y) - self.shift
        weights = weights_of(w, len(Y))
        G, sums = self.design.moments(X, np.column_stack([Y, np.ones(len(Y))]), None if w is None else weights)
        return (
            G,
            sums[:, :-1],
            sums[:, -1],
            weights.sum(),
            weights @ Y,
            weights @ Y**2,
            np.count_nonzero(weights),
        )


@dataclass(frozen=True)
class Residuals:
    """With r = y - f - b: sums of w psi r', w r and w r^2; of w psi if ``mean``, of w psi (y - b)' if ``sides``."""

    design: Design
    coef: np.ndarray
    intercept: np.ndarray
    mean: bool = False
    sides: bool = False

    def __call__(self, X: Any, y: Any, w: Any) -> tuple:
        R = columns_of(y) - self.intercept
        weights, t = weights_of(w, len(R)), R.shape[1]
        # the residuals of a zero function from any target are the target times the weights
        R = np.column_stack([R, *([R] if self.sides else []), *([np.ones(len(R))] if self.mean else [])])
        coef = np.column_stack([self.coef, np.zeros((len(self.coef), R.shape[1] - t))])
        sums = self.design.residuals(X, coef, R, weights)
        R = R[:, :t]
        left = R if w is None else np.divide(R, weights[:, None], out=np.zeros_like(R), where=weights[:, None] > 0)
        mean, sides = sums[:, -1] if self.mean else None, sums[:, t : 2 * t] if self.sides else None
        return sums[:, :t], R.sum(axis=0), (R * left).sum(axis=0), mean, sides


@dataclass(frozen=True)
class Applied:
    """sum_i w_i psi(x_i) <u, phi(x_i)> and sum_i w_i <u, phi(x_i)>: a product with the second-moment matrix."""

    design: Design
    coef: np.ndarray

    def __call__(self, X: Any, y: Any, w: Any) -> tuple:
        n = tables.number_of_rows(X)
        R = np.zeros((n, self.coef.shape[1]))
        sums = self.design.residuals(X, self.coef, R, weights_of(w, n))
        return -sums, -R.sum(axis=0)


@dataclass(frozen=True)
class Slopes:
    """At f + b: sums of w psi l', w l' and w l and, with ``curvature``, of w l'' (psi, 1) (psi, 1)'."""

    design: Design
    coef: np.ndarray
    loss: Loss
    intercept: np.ndarray
    curvature: bool = False

    def __call__(self, X: Any, y: Any, w: Any) -> tuple:
        Y = np.asarray(y, np.float64).reshape(-1, 1)
        weights = weights_of(w, len(Y))[:, None]
        curvatures = np.empty(len(Y)) if self.curvature else np.empty(0)

        def slopes(rows: slice, F: np.ndarray) -> tuple:
            F = F + self.intercept
            v = weights[rows] * self.loss.gradient(Y[rows], F)
            if self.curvature:
                curvatures[rows] = (weights[rows] * self.loss.curvature(Y[rows], F))[:, 0]
            return v, v.sum(axis=0), (weights[rows] * self.loss.value(Y[rows], F)).sum()

        found = self.design.backwards(X, self.coef, slopes)
        if not self.curvature:
            return found
        near = np.flatnonzero(curvatures > 0.0)  # rows on linear pieces of a loss add nothing
        some, d = (X, curvatures) if len(near) > 0.9 * len(curvatures) else (rows_at(X, near), curvatures[near])
        if not len(d):
            return (*found, np.zeros((self.design.size,) * 2), np.zeros(self.design.size), 0.0)
        H, sums = self.design.moments(some, np.ones((len(d), 1)), d)
        return (*found, H, sums[:, 0], d.sum())


@dataclass(frozen=True)
class HessianProduct:
    """sum_i w_i psi(x_i) (l''_i (<u, phi(x_i)> + a))': a product with the Hessian of several outputs."""

    design: Design
    coef: np.ndarray
    loss: Loss
    intercept: np.ndarray
    direction: np.ndarray
    by: np.ndarray

    def __call__(self, X: Any, y: Any, w: Any) -> tuple:
        Y, t = np.asarray(y, np.float64).reshape(-1, 1), len(self.intercept)
        weights = weights_of(w, len(Y))[:, None]
        both = np.column_stack([self.coef, self.direction])

        def slopes(rows: slice, F: np.ndarray) -> tuple:
            H = self.loss.curvature(Y[rows], F[:, :t] + self.intercept)
            d = F[:, t:] + self.by
            v = weights[rows] * (np.einsum("ijk,ik->ij", H, d) if H.ndim == 3 else H * d)
            return v, v.sum(axis=0)

        return self.design.backwards(X, both, slopes)


@dataclass(frozen=True)
class Line:
    """sum_i w_i l(y_i, f_i + b + step (df_i + db)) for some steps."""

    design: Design
    coef: np.ndarray
    loss: Loss
    intercept: np.ndarray
    direction: np.ndarray
    by: np.ndarray
    steps: np.ndarray

    def __call__(self, X: Any, y: Any, w: Any) -> tuple:
        Y, t = np.asarray(y, np.float64).reshape(-1, 1), len(self.intercept)
        weights = weights_of(w, len(Y))[:, None]
        F = self.design.values(X, np.column_stack([self.coef, self.direction]))
        at, along = F[:, :t] + self.intercept, F[:, t:] + self.by
        return (np.array([(weights * self.loss.value(Y, at + s * along)).sum() for s in self.steps]),)


@dataclass(frozen=True)
class Duals:
    """At f + b, for slopes v of a loss or of a smooth lower bound: sums of w psi v and w v, for each sign of v.

    Then sums of w l*(v) and w l*(0) for either sign, of w l(f + b), of w (f + b)^2 and of w v (f + b). For losses
    without a conjugate, l*(v) = v F - l(F), where v are their own slopes, and l*(0) is not known.
    """

    design: Design
    coef: np.ndarray
    loss: Loss
    below: Loss
    intercept: np.ndarray
    lower: float = 0.0
    """By how much f is lowered before slopes are taken, so that more of them are negative."""

    def __call__(self, X: Any, y: Any, w: Any) -> tuple:
        Y = np.asarray(y, np.float64).reshape(-1, 1)
        weights, complete, loss = weights_of(w, len(Y))[:, None], self.loss.complete, self.loss

        def slopes(rows: slice, F: np.ndarray) -> tuple:
            here, F, W = Y[rows], F + self.intercept, weights[rows]
            v = self.below.gradient(here, F - self.lower)
            v = loss.project(here, v) if complete else v
            values = loss.value(here, F)
            conjugates = loss.conjugate(here, v) if complete else (v * F).sum(axis=1, keepdims=True) - values
            sides = np.column_stack([np.maximum(v, 0.0), np.minimum(v, 0.0)]) * W
            up = (v[:, :1] > 0.0) * W
            sums = [(part * c).sum() for c in (conjugates, self._at_zero(here, v)) for part in (up, W - up)]
            return sides, sides.sum(axis=0), np.array(sums), (W * values).sum(), (W * F * F).sum(), (W * v * F).sum()

        return self.design.backwards(X, self.coef, slopes)

    def _at_zero(self, y: np.ndarray, v: np.ndarray) -> Any:
        return self.loss.conjugate(y, np.zeros_like(v)) if self.loss.complete and v.shape[1] == 1 else np.zeros((1, 1))


def rows_at(X: Any, index: np.ndarray) -> Any:
    """Some rows of a block of any type."""
    if hasattr(X, "iloc"):
        return X.iloc[index]
    return X[index] if hasattr(X, "shape") else [X[i] for i in index]


# ---- problems ----


@dataclass(frozen=True)
class FiniteRidge:
    """minimise over f in the span and b:  sum_i w_i |y_i - f(x_i) - b|^2 + sum_t alpha_t ||f_t||^2, over targets t."""

    design: Design
    rows: Rows
    alpha: np.ndarray
    intercept: bool = False

    @property
    def n(self) -> int:
        return self.rows.n_rows

    @property
    def size(self) -> int:
        return self.design.basis.size

    def judge(self, w: np.ndarray, intercept: np.ndarray, known: tuple) -> Judgement:
        """Relative norm of the gradient, and ||f - f*|| <= |gradient| / alpha, from sums in float64.

        ``known`` are the gradient at the best intercept, sum_i w_i r_i^2, and the size that norms are relative to.
        """
        g, squares, size = known
        lengths, alpha = np.linalg.norm(g, axis=0), self.alpha
        bound = np.divide(lengths, alpha, out=np.full_like(lengths, np.inf), where=alpha > 0)
        primal = float(np.sum(squares + alpha * np.sum(w * w, axis=0)))
        gap = float(np.sum(np.minimum(lengths * bound, np.inf)))
        residuals = np.divide(lengths, size, out=lengths.copy(), where=size > 0)
        return Judgement(residuals, "relative residual", bound, primal, primal - gap if gap < np.inf else None)


@dataclass(frozen=True)
class FiniteEigen:
    """A u = lambda u with A = sum_i w_i (phi_i - mean) (phi_i - mean)', which has no mean when it is not centred."""

    design: Design
    rows: Rows
    mean: np.ndarray

    def judge(self, vectors: np.ndarray, values: np.ndarray) -> Judgement:
        """|A u - lambda u| / lambda_1 for unit eigenvectors u, from one pass with values in float64."""
        measure = "residual |A u - lambda u| / lambda_1"
        if not len(values):
            return Judgement(np.zeros(0), measure)
        design = replace(self.design, basis=self.design.basis.astype(np.float64))
        sums, total = self.rows.total(Applied(*design.at(vectors)))
        images = design.from_sums(sums) - np.multiply.outer(self.mean, np.atleast_1d(total))
        return Judgement(np.linalg.norm(images - vectors * values, axis=0) / values[0], measure)


@dataclass(frozen=True)
class FiniteSystem:
    """(K + alpha I) b = k(x) for several x, with K = Phi Phi' and b = Phi z, so that (S + alpha I) z = phi(x)."""

    S: np.ndarray
    """sum_i phi(x_i) phi(x_i)'."""
    alpha: float

    def judge(self, Z: np.ndarray, phi: np.ndarray) -> Judgement:
        """|(K + alpha I) b - k(x)| / |k(x)| for columns z and phi(x): Phi times the residual of the small system."""
        R = self.S @ Z + self.alpha * Z - phi
        left, size = (np.sqrt(np.maximum(np.einsum("ij,ij->j", V, self.S @ V), 0.0)) for V in (R, phi))
        return Judgement(np.divide(left, size, out=left.copy(), where=size > 0), "relative residual")


@dataclass(frozen=True)
class FiniteProblem:
    """minimise over f in the span and b:  sum_i w_i l(y_i, f(x_i) + b) + tilt b + (strength / 2) ||f||^2.

    The dual problem is to maximise D(v) = -sum_i w_i l*(y_i, v_i) - |sum_i w_i v_i phi(x_i)|^2 / (2 strength), subject
    to sum_i w_i v_i + tilt = 0 if the intercept is free.
    """

    design: Design
    rows: Rows
    loss: Loss
    strength: float
    intercept: bool = True
    outputs: int = 1
    tilt: float = 0.0

    @property
    def n(self) -> int:
        return self.rows.n_rows

    @property
    def size(self) -> int:
        return self.design.basis.size

    def with_loss(self, loss: Loss) -> FiniteProblem:
        """The same rows with another loss."""
        return replace(self, loss=loss)

    def judge(self, w: np.ndarray, intercept: np.ndarray, below: Loss | None = None) -> Judgement:
        """The duality gap relative to the objective, from one pass with values in float64.

        The dual point consists of slopes of the loss, or of a smooth lower bound of it, at the values of f. A sum of
        slopes that is not quite zero widens the gap in proportion to the size of f. So do rounding errors of f, which
        show in sum_i w_i v_i f(x_i) - <f, sum_i w_i v_i phi(x_i)>: it would be zero.
        """
        design = replace(self.design, basis=self.design.basis.astype(np.float64))
        part = Duals(*design.at(w), self.loss, self.loss if below is None else below, intercept)
        sums, sides, conjugates, losses, squares, products = self.rows.total(part)
        for doubling in range(8 if self.tilt else 0):  # slopes are shrunk to a sum of -tilt, so it must be below
            if float(np.sum(sides)) + self.tilt <= 0.0:
                break
            lower = 2.0**doubling * 1e-4 * float(np.sqrt(squares / self.n))
            sums, sides, conjugates, losses, squares, products = self.rows.total(replace(part, lower=lower))
        t, penalty = self.outputs, 0.5 * self.strength * float(np.vdot(w, w))
        sides, u = sides.reshape(2, t), design.from_sums(sums)
        primal = float(losses) + self.tilt * float(intercept.sum()) + penalty
        dual = self._dual(u, sides, conjugates, float(squares))
        terms = abs(float(losses)) + penalty + float(np.abs(conjugates[:2]).sum())
        off = float(products) - float(np.vdot(w, u[:, :t] + u[:, t:])) - float(sides.sum(axis=0) @ intercept)
        lower = dual - abs(off) - ROUNDINGS * float(np.sqrt(self.n)) * terms
        if not lower <= primal:  # contradicts weak duality: a conjugate is wrong, or values are not finite
            lower = -np.inf
        gap = primal - lower
        scale = max(abs(float(losses)) + penalty, float(np.finfo(np.float64).tiny))
        return Judgement(
            np.array([gap / scale]), "relative gap", np.array([np.sqrt(2.0 * gap / self.strength)]), primal, lower
        )

    def _dual(self, u: np.ndarray, sides: np.ndarray, conjugates: np.ndarray, squares: float) -> float:
        """A lower bound on D at a feasible point, from sums over positive and over negative slopes.

        With an intercept, slopes of the prevailing sign are all shrunk by the same factor; they stay in the domain,
        which contains 0, and as l* is convex, its value is at most the same mixture of l*(v) and l*(0). Where l*(0) is
        not known, or there are several outputs, each unit of the sum is charged four times the typical size of f + b.
        """
        t, totals = self.outputs, sides.sum(axis=0) + self.tilt
        up, down = u[:, :t], u[:, t:]
        lost, shares = 0.0, np.ones(2)
        if self.intercept and np.any(totals != 0.0):
            larger = int(abs(sides[1, 0]) > sides[0, 0])
            if t == 1 and self.loss.complete and (larger == 0 or totals[0] < 0.0):
                shares[larger] = 1.0 - abs(totals[0]) / max(abs(sides[larger, 0]), np.finfo(np.float64).tiny)
            elif self.tilt or np.abs(totals).max() > UNBALANCED * np.abs(sides).sum():
                return -np.inf
            else:
                lost = 4.0 * float(np.sqrt(squares / self.n)) * float(np.abs(totals).sum())
        mixed = shares @ conjugates[:2] + (1.0 - shares) @ conjugates[2:]
        v = shares[0] * up + shares[1] * down
        return -float(mixed) - lost - float(np.vdot(v, v)) / (2.0 * self.strength)
