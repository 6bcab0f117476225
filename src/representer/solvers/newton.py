"""Newton's method for convex losses, with a duality gap as the stopping rule.

With F the current values, g and h the first and second derivatives of the losses there, a step solves

    strength coef + w (g + h (K coef + b - F)) = 0,   sum_i coef_i = 0 where b is free.

The coefficients change by r + R z, where r = -w g / strength - coef is the residual of stationarity, R = sqrt(w h), b
changes by s, and

    (R K R + strength I) z = -R (K r + s).

Near the solution r is small, and so are all rounding errors. Inputs without curvature drop out. The remaining system is
solved by Cholesky where it is small, and otherwise by conjugate gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import ceil, isqrt
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import brentq

from representer import _parallel
from representer.gram.low_rank import LowRank
from representer.losses.smoothed import Smoothed
from representer.problems.loss import LossProblem
from representer.problems.points import DualPoint, Point, Solution
from representer.result import Budget, Plan, Stopping
from representer.solvers.conjugate_gradient import Preconditioner
from representer.solvers.memory import bytes_of_tiles
from representer.solvers.workspace import Workspace, preconditioner_rank, stored_bytes

CHOLESKY_STEPS_UP_TO = 2500
"""Inputs with curvature, times outputs, up to which a step is solved by Cholesky where the memory allows it."""
SUBSAMPLE_FROM = 20_000
"""Inputs from which a solution on some of them is the warm start."""
SUBSAMPLE = 8
"""One in this many inputs is used for it; products with their matrix take a sixty-fourth of the time."""
ROUGHLY = 1e-2
"""The relative gap of solutions that are warm starts only."""
STRONG_ENOUGH = 0.1
"""The strength, relative to the mean of w k(x, x), from which no stronger regularisation is solved first."""


name, smoothed = "newton", "smoothed newton"


def cost(problem: LossProblem, budget: Budget) -> Plan:
    """K in float64 up to an eighth of the memory, half of it in float32 up to a quarter, beyond that its products."""
    n, loss, half = problem.n, problem.loss, problem.n * (problem.n + 1) // 2
    held = stored_bytes(n, budget.memory)
    forms = {8 * n * n: "with a float64 matrix in memory", 0: "without an n x n matrix"}
    why = "the loss has a curvature" if loss.smooth else "the loss has kinks"
    form = forms.get(held, "with a float32 matrix in memory")
    products = 1 if held else 40 if loss.smooth else 200
    seconds = 2e-9 * products * half + 1e-8 * n * n
    exact = held == 8 * n * n
    tiles = 0 if exact else bytes_of_tiles(n, budget.threads)  # beside a step
    bytes_ = held + problem.gram.nbytes + tiles + _step_bytes(problem, budget, exact)
    return Plan(name if loss.smooth else smoothed, why, bytes_, products * half, seconds, form=form)


def _cholesky_rows(memory: int) -> int:
    """Rows up to which a step is solved by Cholesky: their matrix takes at most half of the memory."""
    return min(CHOLESKY_STEPS_UP_TO, isqrt(memory // 16))


def _step_bytes(problem: LossProblem, budget: Budget, exact: bool) -> int:
    """Bytes of a step: for Cholesky a matrix of all inputs with curvature, for conjugate gradients low-rank factors.

    Where there are too many inputs for Cholesky, a loss with linear pieces may leave few enough with curvature.
    """
    n, outputs, most = problem.n, problem.loss.outputs(problem.y), _cholesky_rows(budget.memory)
    joint, vectors = outputs // len(problem.loss.parts()), 8 * 12 * n * outputs
    if n * joint <= most:
        return 8 * (n * joint) ** 2 + 8 * n * n * (joint > 1) + vectors
    factors = (8 if exact else 4) * preconditioner_rank(n) * n * (1 + joint)
    return max(factors, 8 * most**2 * (joint == 1)) + vectors


def solve(problem: LossProblem, matrix: Workspace, budget: Budget, start: Point | None = None) -> Solution:
    """Minimise to a duality gap of ``tol`` times the objective, or as far as rounding allows.

    Smooth losses with many inputs start from the solution on a subsample; with fewer, and weak regularisation, from
    solutions with ever weaker ones: these leave few inputs with curvature where a loss has flat pieces.
    """
    smooth, used = problem.loss.smooth, np.count_nonzero(problem.weights)
    engine = _Newton(matrix, budget)
    if start is None and smooth and used >= SUBSAMPLE_FROM:
        start = _on_subsample(problem, matrix, budget)
    point = problem.zero() if start is None else problem.centred(start)
    if start is None and smooth and used > engine.cholesky_rows:
        for stronger in _stronger(problem):
            point = engine.smooth(stronger, point, partial(_rough_goal, stronger)).point
    run = engine.smooth if smooth else engine.smoothing
    return run(problem, point, lambda p: budget.tol * problem.scale(p))


def _on_subsample(problem: LossProblem, matrix: Workspace, budget: Budget) -> Point:
    """The solution on one in SUBSAMPLE of the inputs, or f = 0 where that is better.

    The subsample is stratified by the targets, and the strength is scaled down with the weights.
    """
    order = np.random.default_rng(0).permutation(np.flatnonzero(problem.weights[:, 0]))
    rows = np.sort(order[np.argsort(problem.y[order, 0], kind="stable")[SUBSAMPLE // 2 :: SUBSAMPLE]])
    small, weights = matrix.take(rows, budget.memory), problem.weights[rows]
    part = replace(problem, gram=small.gram, y=problem.y[rows], weights=weights)
    part = part.with_strength(problem.strength * float(weights.sum() / problem.weights.sum()))
    found = solve(part, small, replace(budget, tol=ROUGHLY, progress=None)).point
    coef = np.zeros((problem.n, found.coef.shape[1]))
    coef[rows] = found.coef
    point = problem.centred(Point(coef, found.intercept, matrix @ coef))
    return min(problem.zero(), point, key=problem.objective)


def _stronger(problem: LossProblem) -> list[LossProblem]:
    """The problem with stronger regularisation, by ever smaller powers of ten: none where it is strong by itself."""
    enough = STRONG_ENOUGH * float(np.mean(problem.weights[:, 0] * problem.diagonal))
    n_powers = ceil(np.log10(max(enough / problem.strength, 1.0)))
    return [problem.with_strength(problem.strength * 10.0**power) for power in range(n_powers, 0, -1)]


def _rough_goal(problem: LossProblem, point: Point) -> float:
    return ROUGHLY * problem.scale(point)


@dataclass(frozen=True)
class _Model:
    """The quadratic model of the objective at a point."""

    problem: LossProblem
    point: Point
    residual: np.ndarray
    """-w g / strength minus the coefficients."""
    product: np.ndarray
    """K times the residual."""
    R: np.ndarray
    """The square roots of the weighted curvatures."""

    @property
    def outputs(self) -> int:
        return self.R.shape[1]

    def moved(self, change: np.ndarray, shift: Any, product: np.ndarray) -> Point:
        """The point after a change of coefficients, of which K times the change is given, and an intercept shift."""
        point = self.point
        return Point(point.coef + change, point.intercept + shift, point.applied + product)

    def decrease(self, other: Point) -> float:
        """By how much the model decreases from its point to another one."""
        strength, change = self.problem.strength, other.values - self.point.values
        slope = -strength * float(np.vdot(self.point.coef + self.residual, change))
        curvature = float(np.linalg.norm(_half(self.R, change))) ** 2
        return -slope - 0.5 * curvature - 0.5 * strength * (other.squared_norm - self.point.squared_norm)


class _Newton:
    """The iterations of one solve: the matrix, its limits, and the steps taken."""

    def __init__(self, matrix: Workspace, budget: Budget):
        self.matrix, self.max_iter, self.progress = matrix, budget.max_iter, Stopping(budget.progress)
        self.cholesky_rows, self.steps = _cholesky_rows(budget.memory), 0

    def smooth(self, problem: LossProblem, point: Point, goal: Callable[[Point], float], most: int = 10**9) -> Solution:
        """Newton steps until the gap is below the goal, no step helps, or ``most`` steps were taken."""
        dual, last, stop = DualPoint.near(problem, point), np.inf, self.steps + most
        while True:
            primal, small = problem.objective(point), goal(point)
            if primal - dual.value <= small:
                break
            stationary = problem.stationary_coef(point)
            residual = stationary - point.coef
            product = self.matrix @ residual
            dual |= DualPoint.of_slopes(problem, point, stationary, point.applied + product)
            gap, scale = primal - dual.value, max(problem.scale(point), 1e-300)
            stopped = self.progress("Newton steps", gap / scale)
            stalled = primal > last - 1e-15 * abs(primal) and gap < 1e-9 * scale
            if gap <= small or stalled or stopped or self.steps >= min(self.max_iter, stop):
                break
            last = primal
            self.steps += 1
            # enough for superlinear convergence, and no more than the goal needs
            precise = np.clip(0.3 * np.sqrt(max(gap / scale, small / gap)), 1e-6, 0.1)
            R = _roots(problem.weights, problem.loss.curvature(problem.y, point.values))
            target = self._step(_Model(problem, point, residual, product, R), precise)
            moved = _line_search(problem, point, target)
            point, before = problem.centred(target if moved is None else moved), point
            dual |= DualPoint.near(problem, point)
            # where K is rank deficient, a step may change the coefficients and the bound, but not the objective
            if moved is None and problem.objective(point) - dual.value > 0.5 * gap:
                point = before
                break
        return Solution(point, primal, dual, self.steps)

    def smoothing(self, problem: LossProblem, point: Point, goal: Callable[[Point], float]) -> Solution:
        """Solve a sequence of smooth losses around ever better dual points, with ever less smoothing."""
        primal, dual = problem.objective(point), DualPoint.near(problem, point)
        best, gap, idle = point, primal - dual.value, 0
        mu = 0.5 * max(problem.losses(problem.zero().values) / problem.weights.sum(), 1e-300)
        center = problem.dual_variable(point.coef, problem.strength)
        while gap > goal(best) and self.steps < self.max_iter and idle < 8 and not self.progress.stopped:
            smooth = replace(problem, loss=Smoothed(problem.loss, mu, center))
            close, before = 1e-3 * 0.1**idle * gap, self.steps
            point = self.smooth(smooth, smooth.centred(point), _constant(close), most=50).point
            hard = self.steps - before >= 50
            center = problem.feasible(smooth.loss.gradient(problem.y, point.values))
            dual |= DualPoint.at(problem, center, self.matrix.__matmul__)
            dual |= DualPoint.near(problem, point)
            here = problem.centred(point)
            value = problem.objective(here)
            if value < primal:
                best, primal = here, value
            idle = idle + 1 if primal - dual.value > 0.8 * gap else 0
            # a better center alone shrinks the gap by a factor; where that is slow, less smoothing helps
            mu *= 4.0 if hard else 0.2 if primal - dual.value > 0.1 * gap else 1.0
            gap = primal - dual.value
        return Solution(best, primal, dual, self.steps)

    # ---- one step ----

    def _step(self, model: _Model, precise: float) -> Point:
        """The minimiser of the quadratic model at a point."""
        R = model.R
        rows = np.flatnonzero(np.any(R.reshape(len(R), -1) != 0.0, axis=1))
        return (
            self._direct(model, rows)
            if R.shape[1] * len(rows) <= self.cholesky_rows
            else self._iterative(model, precise)
        )

    def _direct(self, model: _Model, rows: np.ndarray) -> Point:
        """By the Cholesky factor of R K R + strength I, which has a row for each input and output."""
        problem, shift = model.problem, np.zeros(model.outputs)
        change = model.residual.copy()
        if len(rows):
            R = model.R[rows]
            Q = R.reshape(len(rows) * model.outputs, -1)
            factor = _factor(self.matrix, rows, R, problem.strength)
            right = -_half(R, model.product[rows]).ravel()
            solved = cho_solve(factor, np.column_stack([right, Q]), check_finite=False)
            z, U = solved[:, 0], solved[:, 1:]
            if problem.intercept:
                total = (model.point.coef + model.residual).sum(axis=0) + Q.T @ z
                shift = np.linalg.pinv(Q.T @ U, rcond=1e-12, hermitian=True) @ total
            change[rows] += _half(R, (z - U @ shift).reshape(len(rows), model.outputs))
        return model.moved(change, shift, self.matrix @ change)

    def _iterative(self, model: _Model, precise: float) -> Point:
        """Preconditioned conjugate gradients on the z with sum_i (R z)_i = 0, the constraint of a free intercept."""
        problem, R = model.problem, model.R
        precondition = self._preconditioner(R, problem.strength)
        Q = _columns(R) if problem.intercept else np.zeros((*R.shape[:2], 0))
        MQ = np.stack([precondition(Q[:, :, j]) for j in range(Q.shape[2])], axis=2) if Q.size else Q
        inner = np.linalg.pinv(np.einsum("nij,nik->jk", Q, MQ), rcond=1e-10, hermitian=True)

        def multiplier(r: np.ndarray) -> np.ndarray:
            return inner @ np.einsum("nij,ni->j", MQ, r)

        z, r, Kz = self._first(model, Q)
        mu = multiplier(r)
        s = precondition(r) - MQ @ mu
        p, rho = s, float(np.vdot(r, s))

        def here() -> Point:
            return model.moved(model.residual + _half(R, z), mu if problem.intercept else 0.0, model.product + Kz)

        for _ in range(200):
            # half of |r|^2 bounds the excess of the quadratic model over its minimum
            above = 0.5 * float(np.linalg.norm(r - Q @ mu)) ** 2
            if above <= precise**2 * model.decrease(here()) or rho <= 0.0:
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

    def _first(self, model: _Model, Q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Initial z, its residual and K R z, such that R z cancels the change of coefficients where R is not too small.

        From there the step is short, and a few iterations find it; from z = 0 it would be a small difference of large
        numbers. Where there is hardly any curvature, z = 0 is nearly the answer.
        """
        R, strength = model.R, model.problem.strength
        if R.ndim == 2:
            enough = R**2 * model.problem.diagonal[:, None] > 1e-3 * strength
            z = np.divide(-model.residual, R, out=np.zeros_like(R), where=enough)
            if enough.all():
                return z, -strength * z, -model.product
        else:
            z = np.einsum("nij,nj->ni", np.linalg.pinv(R, rcond=1e-3, hermitian=True), -model.residual)
        if Q.size:
            inner = np.linalg.pinv(np.einsum("nij,nik->jk", Q, Q), rcond=1e-10, hermitian=True)
            z = z - Q @ (inner @ np.einsum("nij,ni->j", Q, z))
        Kz = self.matrix @ _half(R, z)
        return z, -_half(R, model.product + Kz) - strength * z, Kz

    def _preconditioner(self, R: np.ndarray, strength: float) -> Callable[[np.ndarray], np.ndarray]:
        """(D F'F D + strength I)^(-1) for each output, F'F of low rank near K, D the square roots of the curvature."""
        low_rank = self.matrix.low_rank(strength)
        roots = R if R.ndim == 2 else np.sqrt(np.einsum("nij,nij->ni", R, R))
        ridges = np.array([strength])
        with _parallel.one_blas_thread():
            parts = [
                Preconditioner(
                    LowRank(low_rank.factor * d.astype(low_rank.factor.dtype), low_rank.pivots, low_rank.remainder),
                    ridges,
                    self.matrix.gram.threads,
                )
                for d in roots.T
            ]
        return lambda r: np.concatenate([m(r[:, [j]], ridges) for j, m in enumerate(parts)], axis=1)


def _constant(goal: float) -> Callable[[Point], float]:
    return lambda point: goal


def _roots(weights: np.ndarray, curvature: np.ndarray) -> np.ndarray:
    """The square roots R of the weighted curvatures: a number, or a symmetric matrix, for each input."""
    if curvature.ndim == 2:
        return np.sqrt(weights * curvature)
    values, vectors = np.linalg.eigh(weights[:, :, None] * curvature)
    return (vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]) @ vectors.transpose(0, 2, 1)


def _half(R: np.ndarray, V: np.ndarray) -> np.ndarray:
    """R V for square roots R of curvatures: one number, or one matrix, for each input."""
    return R * V if R.ndim == 2 else np.einsum("nij,nj->ni", R, V)


def _columns(R: np.ndarray) -> np.ndarray:
    """R times the constant of each output: shape (n, n_outputs, n_outputs)."""
    return R[:, :, None] if R.ndim == 2 else R


def _factor(matrix: Workspace, rows: np.ndarray, R: np.ndarray, strength: float) -> Any:
    """The Cholesky factor of R K R + strength I, in place, with as little jitter as rounding requires."""
    for jitter in (0.0, *10.0 ** np.arange(-15.0, -3.0)):
        A = _scaled(matrix.block(rows), R)
        diagonal = A.diagonal()
        A.ravel()[:: len(A) + 1] += strength + jitter * diagonal.max()
        try:
            return cho_factor(A.T, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            continue
    raise np.linalg.LinAlgError(
        "The kernel matrix is far from positive semidefinite; check it with representer.psd.report."
    )


def _scaled(K: np.ndarray, R: np.ndarray) -> np.ndarray:
    """R K R: in place for one output, otherwise with a row for each input and output."""
    n, outputs = R.shape[:2]
    if outputs == 1:
        for i in range(0, n, 256):
            K[i : i + 256] *= R[i : i + 256] @ R.T
        return K
    Q = R.reshape(n * outputs, outputs)
    A = Q @ Q.T
    A.reshape(n, outputs, n, outputs)[:] *= K[:, None, :, None]
    return A


def _line_search(problem: LossProblem, point: Point, target: Point) -> Point | None:
    """The target, or the minimum on the line to it: the root of the slope, which is nondecreasing along the line.

    None if the target is not in a descent direction.
    """
    loss, y, w = problem.loss, problem.y, problem.weights
    values, toward = point.values, target.values - point.values
    change = target.coef - point.coef, target.applied - point.applied
    linear = float(np.vdot(change[0], point.applied))
    curvature = float(np.vdot(*change))

    def slope(step: float) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            lost = float(np.sum(w * loss.gradient(y, values + step * toward) * toward))
        total = lost + problem.strength * (linear + step * curvature)
        return min(total, 1e300) if np.isfinite(total) else 1e300

    first = slope(0.0)
    if not first < 0.0:
        return None
    if slope(1.0) <= 0.1 * abs(first):
        return target
    return point.towards(target, brentq(slope, 0.0, 1.0, xtol=1e-12, rtol=1e-2, maxiter=60, disp=False))
