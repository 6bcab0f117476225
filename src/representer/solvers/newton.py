"""Newton's method for convex losses, with a duality gap as the stopping rule.

With F the current values, g and h the first and second derivatives of the losses there, a step solves

    strength coef + w (g + h (K coef + b - F)) = 0,   sum_i coef_i = 0 where b is free,

by coef = image + R z, image = -w g / strength, R = sqrt(w h):  (R K R + strength I) z = R (F - K image - b). Inputs
without curvature drop out. The rest is solved by Cholesky where it is small, and otherwise by conjugate gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import brentq

from representer import _tiles
from representer.features.pivoted_cholesky import LowRank
from representer.losses.smoothed import Smoothed
from representer.problem import BoxProblem, Point, Problem, Progress
from representer.solvers import working_set
from representer.solvers.conjugate_gradient import Preconditioner
from representer.solvers.matrix import Matrix

DIRECT_UP_TO = 2500
"""Inputs with curvature up to which a step is solved by Cholesky."""
PART_FROM = 20_000
"""Inputs from which some of them tell where to start."""
SHARE = 8
"""One in so many does. Products with its matrix take a sixty-fourth of the time."""
PART_TOL = 1e-2
"""The relative gap to which it does so."""


@dataclass(frozen=True)
class Solution:
    """A point, its objective, the best dual point with its value, and the steps taken."""

    point: Point
    primal: float
    dual: Dual
    steps: int
    pair_steps: int = 0
    """Those that found the start, each with two coefficients only."""


@dataclass(frozen=True)
class Dual:
    """A dual point v, sum_i w_i l*(y_i, v_i), and at least ||f_v||^2, f_v with the coefficients -w v / strength."""

    v: np.ndarray
    conjugates: float
    square: float
    strength: float

    @property
    def value(self) -> float:
        """-sum_i w_i l*(y_i, v_i) - (strength / 2) ||f_v||^2."""
        return -self.conjugates - 0.5 * self.strength * self.square

    @classmethod
    def at(cls, problem: Problem, v: np.ndarray, product: Callable[[np.ndarray], np.ndarray]) -> Dual:
        """The dual point v, with a function that multiplies by K."""
        coef = -problem.weights * v / problem.strength
        return cls(v, problem.conjugates(v), max(float(np.vdot(coef, product(coef))), 0.0), problem.strength)

    @classmethod
    def of_slopes(cls, problem: Problem, point: Point, image: np.ndarray, applied: np.ndarray) -> Dual:
        """The slopes of smooth losses at the values F of a point with the best intercept: l*(v) = v F - l(F) for them.

        Its gap is ||gradient||^2 / (2 strength).
        """
        v = problem.loss.gradient(problem.y, point.values)
        conjugates = float(np.sum(problem.weights * v * point.values)) - problem.losses(point.values)
        return cls(v, conjugates, max(float(np.vdot(image, applied)), 0.0), problem.strength)

    @classmethod
    def near(cls, problem: Problem, point: Point, diagonal: np.ndarray) -> Dual:
        """The dual point of the coefficients, without a product with K."""
        v = problem.dual_point(point)
        return cls(v, problem.conjugates(v), problem.square_of(v, point, diagonal), problem.strength)

    def __or__(self, other: Dual) -> Dual:
        """The better one."""
        return other if other.value > self.value else self


def solve(
    problem: Problem,
    matrix: Matrix,
    *,
    tol: float,
    max_iter: int = 200,
    start: Point | None = None,
    progress: Progress | None = None,
) -> Solution:
    """Minimise to a duality gap of ``tol`` times the objective, or as far as rounding lets it.

    Several outputs that do not depend on each other are solved one by one. Losses whose dual is a box start from the
    solution by pair steps, which are much faster but stop at a violation and not at a gap; smooth losses of many inputs
    start from what some of them tell.
    """
    parts = problem.loss.parts()
    if len(parts) > 1:
        return _separately(problem, matrix, parts, tol, max_iter, start, progress)
    engine = _Newton(matrix, max_iter, progress)
    if start is None and problem.loss.smooth and np.count_nonzero(problem.weights) >= PART_FROM:
        start = _by_a_part(problem, matrix, max_iter)
    point, pair_steps = (problem.centred(start), 0) if start is not None else _by_pair_steps(problem, matrix, tol)
    run = engine.smooth if problem.loss.smooth else engine.smoothing
    return replace(run(problem, point, lambda p: tol * problem.scale(p)), pair_steps=pair_steps)


def _by_a_part(problem: Problem, matrix: Matrix, max_iter: int) -> Point:
    """What one in SHARE of the inputs tells of f, or f = 0 where that is better.

    They are spread over the targets, and count for all: the strength is less by as much as the weights are.
    """
    order = np.random.default_rng(0).permutation(np.flatnonzero(problem.weights[:, 0]))
    rows = np.sort(order[np.argsort(problem.y[order, 0], kind="stable")[SHARE // 2 :: SHARE]])
    weights = problem.weights[rows]
    strength = problem.strength * float(weights.sum() / problem.weights.sum())
    part = replace(problem, X=None, y=problem.y[rows], weights=weights, strength=strength)
    part.fast = part.exact = matrix.inputs[rows]
    small = Matrix(part, matrix.form)
    found = solve(part, small, tol=PART_TOL, max_iter=max_iter).point
    matrix.elsewhere += small.evaluations
    coef = np.zeros((problem.n, found.coef.shape[1]))
    coef[rows] = found.coef
    point = problem.centred(Point(coef, found.intercept, matrix @ coef))
    return min(problem.zero(), point, key=problem.objective)


def _by_pair_steps(problem: Problem, matrix: Matrix, tol: float) -> tuple[Point, int]:
    """What pair steps find for a dual that is a box, coef in -[lower, upper] w / strength, and how many they were.

    f = 0 for other losses.
    """
    if not problem.intercept or (box := problem.loss.box(problem.y)) is None:
        return problem.zero(), 0
    size = (problem.weights / problem.strength).ravel()
    lower, upper = (np.broadcast_to(end, problem.y.shape).ravel() for end in box[:2])
    dual = BoxProblem(
        problem.kernel, problem.X, problem.y.ravel(), -upper * size, -lower * size, box[2], threads=problem.threads
    )
    dual.fast, dual.exact = problem.fast, problem.exact
    mean_loss = problem.losses(problem.zero().values) / problem.weights.sum()
    tol, memory = 10.0 * max(tol, 1e-6) * max(mean_loss, 1e-300), 4 * working_set.SET_SIZE**2
    found = working_set.solve(dual, tol=tol, max_steps=50 * problem.n, memory=memory)
    matrix.elsewhere += found.kernel_evaluations
    coef = found.coef[:, None]
    return problem.centred(Point(coef, found.intercepts, matrix @ coef)), found.steps


def _separately(
    problem: Problem, matrix: Matrix, parts: list, tol: float, max_iter: int, start: Point | None, progress: Any
) -> Solution:
    found = []
    for loss, column in zip(parts, [None] * len(parts) if start is None else start.columns(), strict=True):
        part = replace(problem, loss=loss)
        found.append(solve(part, matrix, tol=tol, max_iter=max_iter, start=column, progress=progress))
    coef, intercept, applied = (
        np.concatenate([getattr(s.point, name) for s in found], axis=-1) for name in ("coef", "intercept", "applied")
    )
    point = Point(coef, intercept, applied)
    v = np.concatenate([s.dual.v for s in found], axis=1)
    dual = Dual(v, sum(s.dual.conjugates for s in found), sum(s.dual.square for s in found), problem.strength)
    primal, steps, pair_steps = (sum(getattr(s, name) for s in found) for name in ("primal", "steps", "pair_steps"))
    return Solution(point, primal, dual, steps, pair_steps)


class _Newton:
    """The iterations of one solve: the matrix, a factor of low rank once it is needed, and the steps that are left."""

    def __init__(self, matrix: Matrix, max_iter: int, progress: Progress | None):
        self.matrix, self.max_iter, self.progress = matrix, max_iter, progress
        self.steps = 0

    def smooth(self, problem: Problem, point: Point, goal: Callable[[Point], float], most: int = 10**9) -> Solution:
        """Newton steps until the gap is below the goal, no step helps, or so many were taken."""
        dual, last, stop = Dual.near(problem, point, self.matrix.diagonal), np.inf, self.steps + most
        while True:
            primal, small = problem.objective(point), goal(point)
            if primal - dual.value <= small:
                break
            image = problem.image(point)
            applied = self.matrix @ image
            dual |= Dual.of_slopes(problem, point, image, applied)
            gap, scale = primal - dual.value, max(problem.scale(point), 1e-300)
            self._report(gap / scale)
            stalled = primal > last - 1e-15 * abs(primal) and gap < 1e-9 * scale
            if gap <= small or stalled or self.steps >= min(self.max_iter, stop):
                break
            last = primal
            self.steps += 1
            # enough for Newton's order, and no more than the goal asks for
            precise = np.clip(0.3 * np.sqrt(max(gap / scale, small / gap)), 1e-6, 0.1)
            moved = _line_search(problem, point, self._step(problem, point, image, applied, precise))
            if moved is None:
                break
            point = problem.centred(moved)
            dual |= Dual.near(problem, point, self.matrix.diagonal)
        return Solution(point, primal, dual, self.steps)

    def smoothing(self, problem: Problem, point: Point, goal: Callable[[Point], float]) -> Solution:
        """A sequence of smooth losses around ever better dual points, with ever less smoothing."""
        primal, dual = problem.objective(point), Dual.near(problem, point, self.matrix.diagonal)
        best, gap, idle = point, primal - dual.value, 0
        mu = 0.5 * max(problem.losses(problem.zero().values) / problem.weights.sum(), 1e-300)
        center = problem.dual_point(point)
        while gap > goal(best) and self.steps < self.max_iter and idle < 8:
            smooth = replace(problem, loss=Smoothed(problem.loss, mu, center))
            close, before = 1e-3 * 0.1**idle * gap, self.steps
            point = self.smooth(smooth, smooth.centred(point), _constant(close), most=50).point
            hard = self.steps - before >= 50
            center = problem.feasible(smooth.loss.gradient(problem.y, point.values))
            dual |= Dual.at(problem, center, self.matrix.__matmul__)
            dual |= Dual.near(problem, point, self.matrix.diagonal)
            here = problem.centred(point)
            value = problem.objective(here)
            if value < primal:
                best, primal = here, value
            idle = idle + 1 if primal - dual.value > 0.8 * gap else 0
            # a better center alone closes the gap by a factor; where that is slow, less smoothing helps
            mu *= 4.0 if hard else 0.2 if primal - dual.value > 0.1 * gap else 1.0
            gap = primal - dual.value
        return Solution(best, primal, dual, self.steps)

    def _report(self, gap: float) -> None:
        if self.progress is not None:
            self.progress("Newton steps", gap)

    # ---- one step ----

    def _step(self, problem: Problem, point: Point, image: np.ndarray, applied: np.ndarray, precise: float) -> Point:
        """The minimiser of the quadratic model at a point."""
        R = _roots(problem.weights, problem.loss.curvature(problem.y, point.values))
        rows = np.flatnonzero(np.any(R.reshape(problem.n, -1) != 0.0, axis=1))
        if len(rows) * R.shape[1] <= DIRECT_UP_TO:
            return self._direct(problem, point, image, applied, rows, R[rows])
        return self._iterative(problem, point, image, applied, R, precise)

    def _direct(
        self, problem: Problem, point: Point, image: np.ndarray, applied: np.ndarray, rows: np.ndarray, R: np.ndarray
    ) -> Point:
        """By the Cholesky factor of R K R + strength I, a matrix with a row for each input and output."""
        if not len(rows):
            return Point(image, point.intercept, applied)
        outputs = R.shape[1]
        Q = R.reshape(len(rows) * outputs, -1)
        factor = _factor(self.matrix.block(rows), Q, outputs, problem.strength)
        right = _half(R, (point.applied - applied)[rows]).ravel()
        solved = cho_solve(factor, np.column_stack([right, Q]), check_finite=False)
        z, U = solved[:, 0], solved[:, 1:]
        shift = np.zeros(outputs)
        if problem.intercept:
            shift = np.linalg.pinv(Q.T @ U, rcond=1e-12, hermitian=True) @ (image.sum(axis=0) + Q.T @ z)
        change = np.zeros_like(image)
        change[rows] = _half(R, (z - U @ shift).reshape(len(rows), outputs))
        return Point(image + change, point.intercept + shift, applied + self.matrix @ change)

    def _iterative(
        self, problem: Problem, point: Point, image: np.ndarray, applied: np.ndarray, R: np.ndarray, precise: float
    ) -> Point:
        """Preconditioned conjugate gradients on the z with sum_i (R z)_i = 0, to which a free intercept keeps them."""
        precondition = self._preconditioner(R, problem.strength)
        Q = _columns(R) if problem.intercept else np.zeros((R.shape[0], R.shape[1], 0))
        MQ = np.stack([precondition(Q[:, :, j]) for j in range(Q.shape[2])], axis=2) if Q.size else Q
        inner = np.linalg.pinv(np.einsum("nij,nik->jk", Q, MQ), rcond=1e-10, hermitian=True)

        def multiplier(r: np.ndarray) -> np.ndarray:
            return inner @ np.einsum("nij,ni->j", MQ, r)

        z, r, Kz = self._first(problem, point, image, applied, R, Q)
        mu = multiplier(r)
        s = precondition(r) - MQ @ mu
        p, rho = s, float(np.vdot(r, s))

        def here() -> Point:
            return Point(image + _half(R, z), point.intercept + (mu if problem.intercept else 0.0), applied + Kz)

        for _ in range(200):
            # half of |r|^2 bounds what the quadratic model is above its minimum
            above = 0.5 * float(np.linalg.norm(r - Q @ mu)) ** 2
            if above <= precise**2 * _fall(problem, point, here(), image, R) or rho <= 0.0:
                break
            Kp = self.matrix @ _half(R, p)
            q = _half(R, Kp) + problem.strength * p
            size = rho / float(np.vdot(p, q))
            z, Kz, r = z + size * p, Kz + size * Kp, r - size * q
            mu = multiplier(r)
            s = precondition(r) - MQ @ mu
            rho, old = float(np.vdot(r, s)), rho
            p = s + (rho / old) * p
        return here()

    def _first(
        self, problem: Problem, point: Point, image: np.ndarray, applied: np.ndarray, R: np.ndarray, Q: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """z, its residual and K R z such that image + R z are the coefficients that we have, where R is not too small.

        From there a step is short, and a few iterations find it; from z = 0 it would be a small difference of large
        numbers. Where there is hardly any curvature z = 0 is nearly the answer.
        """
        distance = point.coef - image
        if R.ndim == 2:
            enough = R**2 * self.matrix.diagonal[:, None] > 1e-3 * problem.strength
            z = np.divide(distance, R, out=np.zeros_like(distance), where=enough)
            whole = bool(enough.all())
        else:
            z = np.einsum("nij,nj->ni", np.linalg.pinv(R, rcond=1e-3, hermitian=True), distance)
            whole = False
        if whole:
            return z, -problem.strength * z, point.applied - applied
        if Q.size:
            inner = np.linalg.pinv(np.einsum("nij,nik->jk", Q, Q), rcond=1e-10, hermitian=True)
            z = z - Q @ (inner @ np.einsum("nij,ni->j", Q, z))
        Kz = self.matrix @ _half(R, z)
        return z, _half(R, point.applied - applied - Kz) - problem.strength * z, Kz

    def _preconditioner(self, R: np.ndarray, strength: float) -> Callable[[np.ndarray], np.ndarray]:
        """(D F'F D + strength I)^(-1) for each output, F'F of low rank near K, D the roots of the curvature."""
        low_rank = self.matrix.low_rank(strength)
        roots = R if R.ndim == 2 else np.sqrt(np.einsum("nij,nij->ni", R, R))
        ridges = np.array([strength])
        with _tiles.one_blas_thread():
            parts = [
                Preconditioner(
                    LowRank(low_rank.factor * d.astype(low_rank.factor.dtype), low_rank.pivots, low_rank.remainder),
                    ridges,
                    self.matrix.problem.threads,
                )
                for d in roots.T
            ]
        return lambda r: np.concatenate([m(r[:, [j]], ridges) for j, m in enumerate(parts)], axis=1)


def _fall(problem: Problem, point: Point, other: Point, image: np.ndarray, R: np.ndarray) -> float:
    """How much less than at a point its quadratic model is at another one."""
    change = other.values - point.values
    slope, bend = -problem.strength * float(np.vdot(image, change)), float(np.linalg.norm(_half(R, change))) ** 2
    return -slope - 0.5 * bend - 0.5 * problem.strength * (other.square - point.square)


def _constant(goal: float) -> Callable[[Point], float]:
    return lambda point: goal


def _roots(weights: np.ndarray, curvature: np.ndarray) -> np.ndarray:
    """The roots R of the weighted curvatures: a number for each input, or a symmetric matrix."""
    if curvature.ndim == 2:
        return np.sqrt(weights * curvature)
    values, vectors = np.linalg.eigh(weights[:, :, None] * curvature)
    return (vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]) @ vectors.transpose(0, 2, 1)


def _half(R: np.ndarray, V: np.ndarray) -> np.ndarray:
    """R V for roots of curvatures: one number, or one matrix, for each input."""
    return R * V if R.ndim == 2 else np.einsum("nij,nj->ni", R, V)


def _columns(R: np.ndarray) -> np.ndarray:
    """R applied to each constant: shape (n, n_outputs, n_outputs)."""
    return R[:, :, None] if R.ndim == 2 else R


def _factor(K: np.ndarray, Q: np.ndarray, outputs: int, strength: float) -> Any:
    """The Cholesky factor of R K R + strength I, with as little more on the diagonal as rounding asks for."""
    A = K if outputs == 1 else np.repeat(np.repeat(K, outputs, axis=0), outputs, axis=1)
    A *= Q @ Q.T
    diagonal = A.diagonal().copy()
    for jitter in (0.0, *10.0 ** np.arange(-15.0, -3.0)):
        A.ravel()[:: len(A) + 1] = diagonal + strength + jitter * diagonal.max()
        try:
            return cho_factor(A, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            continue
    raise np.linalg.LinAlgError(
        "The kernel matrix is far from positive semidefinite; look at it with representer.psd.report."
    )


def _line_search(problem: Problem, point: Point, target: Point) -> Point | None:
    """The target, or the lowest point on the line to it: the root of the slope, which rises along the line.

    None if the line goes up from the start.
    """
    loss, y, w = problem.loss, problem.y, problem.weights
    values, toward = point.values, target.values - point.values
    rise = target.coef - point.coef, target.applied - point.applied
    linear = float(np.vdot(rise[0], point.applied))
    bend = float(np.vdot(*rise))

    def slope(step: float) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            lost = float(np.sum(w * loss.gradient(y, values + step * toward) * toward))
        total = lost + problem.strength * (linear + step * bend)
        return min(total, 1e300) if np.isfinite(total) else 1e300

    first = slope(0.0)
    if not first < 0.0:
        return None
    if slope(1.0) <= 0.1 * abs(first):
        return target
    return point.towards(target, brentq(slope, 0.0, 1.0, xtol=1e-12, rtol=1e-2, maxiter=60, disp=False))
