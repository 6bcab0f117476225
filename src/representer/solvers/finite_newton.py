"""Any convex loss in the span of a basis, by Newton's method on sums over rows.

A step takes one pass: values, slopes and curvatures of the losses, and the sum of w l'' phi phi' over rows with
curvature. Losses with kinks are replaced by smooth lower bounds, with ever less smoothing, until the duality gap is
small.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from scipy.linalg import cho_solve

from representer.gram.design import Design
from representer.losses.base import Loss
from representer.losses.smoothed import Smoothed
from representer.problems.finite import FiniteProblem, HessianProduct, Line, Slopes, columns_of, weights_of
from representer.result import Budget, Plan, Result, Stopping, Work, certificate_of
from representer.rows.arrays import ArrayRows
from representer.rows.base import Block
from representer.solvers.finite_passes import (
    FLOPS,
    PAIR_SECONDS,
    bytes_of_blocks,
    definite_factor,
    design_for_sums,
    is_little,
)
from representer.solvers.memory import working_memory

SMOOTH_STEPS, KINK_STEPS = 8, 40
"""Typical number of Newton steps for a smooth loss, and for one with kinks."""
ROWS_TO_START = 20
"""Rows per function of the basis in the sample for the warm start."""
FIRST_SMOOTHING, CLOSER = 0.3, 0.3
"""Initial smoothing width of kinks, in units of the targets, and the factor by which it is lowered."""
LOOSE = 1.0
"""Tolerance for intermediate smooth losses, relative to the gap that smoothing is expected to leave."""
SHARE = 0.3
"""Fraction of the tolerance at which steps end, for the gap to the dual point of the slopes."""
SHORTER = np.append(np.linspace(1.0, 0.1, 10), 0.5 ** np.arange(4, 16))
"""Step lengths of a line search, all tried in one pass."""
LONGEST_PRODUCTS, ENOUGH, LOOSELY = 60, 1e-6, 1e-2
"""Most Hessian products of several outputs in one Newton step, and the range of their relative tolerance."""
MOST_TOGETHER, ROWS_FOR_HESSIAN = 3000, 16
"""Unknowns up to which a sampled Hessian couples all outputs, and its rows per function of the basis."""

name = "newton"
iterations = "Newton steps"
way_out = "use fewer components, or a larger memory="


def cost(problem: FiniteProblem, budget: Budget) -> Plan:
    """A pass of n m values and, for one output, n m^2 operations per step."""
    n, m, t = problem.n, problem.size, problem.outputs
    steps = SMOOTH_STEPS if problem.loss.smooth else KINK_STEPS
    share = 1.0 if problem.loss.smooth else 0.1  # fraction of rows near a kink
    work = float(n) * m * m * share / FLOPS * (4 if is_little(n, m) else 1)
    passes = steps + 2 if t == 1 else steps * 3
    seconds = passes * n * m * PAIR_SECONDS + (steps * work if t == 1 else 0.0) + steps * t * m**3 / 1e11
    bytes_ = 8 * (4 + t) * m * m + 8 * 4096 * m + bytes_of_blocks(problem, budget)
    why = "the loss is smooth" if problem.loss.smooth else "the loss has kinks, which are smoothed ever less"
    reads = passes + (1 + (n > 2 * ROWS_TO_START * m)) * problem.rows.sample_passes
    plan = Plan(name, why, int(bytes_), passes * n * m, seconds, passes=reads)
    if not problem.loss.convex or not problem.loss.complete:
        refusal = (
            f"{problem.loss!r} is not convex or has no curvature, so that it has no solver in the span of a basis; "
            "use an exact kernel, or another loss."
        )
        return replace(plan, seconds=np.inf, refusal=refusal, error=TypeError)
    return plan.within(working_memory(2 * budget.memory), way_out)


@dataclass(frozen=True)
class State:
    """Coefficients of phi, intercepts, and the steps and passes taken so far."""

    w: np.ndarray
    b: np.ndarray
    steps: int = 0
    passes: int = 0

    def plus(self, dw: np.ndarray, db: np.ndarray, passes: int = 0, steps: int = 0) -> State:
        """A step further."""
        return State(self.w + dw, self.b + db, self.steps + steps, self.passes + passes)


def solve(problem: FiniteProblem, budget: Budget, reason: str, start: State | None = None) -> Result:
    """Minimise, from a warm start or from the solution for a sample of rows."""
    begin, budget = perf_counter(), replace(budget, progress=Stopping(budget.progress))
    scale = _scale(problem)
    # with a tilt all rows start in the curved part of the first smooth loss, where the intercept has a gradient
    first = np.full(problem.outputs, -0.5 * FIRST_SMOOTHING * scale if problem.tilt else 0.0)
    state = start or State(np.zeros((problem.design.basis.rank, problem.outputs)), first)
    basis, design = problem.design.basis, design_for_sums(problem.design, problem.n)
    if problem.outputs > 1 and not design.orthonormal:  # no second moments of all rows
        design = replace(design, basis=basis.astype(np.float32))
    fast = replace(problem, design=design)
    if start is None and problem.n > 2 * ROWS_TO_START * problem.size:
        state = replace(_on_sample(fast, scale, state, budget), steps=0, passes=0)
    state, judgement = _closer(fast, state, scale, budget)
    if judgement.residuals[0] > budget.tol and design.basis.dtype == np.float32 and state.steps < budget.max_iter:
        exact = replace(fast, design=replace(design, basis=basis.astype(np.float64)))
        state, judgement = _closer(exact, state, scale, budget)
    single = design.basis.dtype == np.float32
    work = Work(
        "Newton's method in the span",
        reason,
        max(state.steps, 1),
        cost(problem, budget).bytes,
        perf_counter() - begin,
        "float32 products in float64 sums, float64 gap" if single else "float64",
        state.passes,
    )
    evaluations = state.passes * problem.n * problem.size
    return Result(state.w, state.b, certificate_of([judgement], work, budget.tol, evaluations))


def _scale(problem: FiniteProblem) -> float:
    """The scale of f for the initial smoothing of kinks: that of the targets."""
    _, y, _ = problem.rows.sample(min(problem.n, 1024), 0)
    return float(np.std(columns_of(y))) or max(1.0, problem.tilt)


def _on_sample(problem: FiniteProblem, scale: float, state: State, budget: Budget) -> State:
    """The solution for a sample of rows, reweighted to represent all."""
    k = ROWS_TO_START * problem.size
    X, y, w = problem.rows.sample(k, 2)
    weights = weights_of(w, len(y)) * (problem.n / len(y))
    if not weights.any():
        return state
    some = replace(problem, rows=ArrayRows(X, y, weights))
    loose = replace(budget, tol=max(1e-3, budget.tol), progress=None)
    return _closer(some, state, scale, loose, judged=False)[0]


def _closer(
    problem: FiniteProblem, state: State, scale: float, budget: Budget, judged: bool = True
) -> tuple[State, Any]:
    """Newton steps, for a loss with kinks with ever less smoothing until the gap is within the tolerance.

    Returns the best state and its judgement, or the last state and None where it is not ``judged``.
    """
    mu, best = FIRST_SMOOTHING * scale, None
    gap = 0.1  # of the last smoothing; no point in solving to less
    least = max(1e-12, 1e-3 * budget.tol) * scale
    while True:
        loss: Loss = problem.loss if problem.loss.smooth else Smoothed(problem.loss, mu)
        enough = budget if problem.loss.smooth else replace(budget, tol=max(budget.tol, LOOSE * gap))
        state = _newton(problem.with_loss(loss), state, enough)
        if problem.loss.relative:  # else rounding decides the constant
            state = replace(state, b=state.b - state.b.mean())
        if judged:
            judgement = problem.judge(state.w, state.b, loss)
            gap = min(gap, float(judgement.residuals[0]))
            state = replace(state, passes=state.passes + 1)
            if best is None or judgement.residuals[0] < best[1].residuals[0]:
                best = state, judgement
            if judgement.residuals[0] <= budget.tol:
                break
        if problem.loss.smooth or mu <= (least if judged else 0.01 * scale) or state.steps >= budget.max_iter:
            break
        if budget.progress is not None and budget.progress.stopped:
            break
        mu, gap = CLOSER * mu, CLOSER * gap
    if best is None:
        return state, None
    return replace(best[0], steps=state.steps, passes=state.passes), best[1]


def _newton(problem: FiniteProblem, state: State, budget: Budget) -> State:
    """Newton steps until the gap to the dual point of the slopes is a fraction of the tolerance."""
    strength, last, smooth = problem.strength, None, not problem.loss.smoothed
    some = problem.rows.sample(min(problem.n, ROWS_FOR_HESSIAN * problem.size), 3) if problem.outputs > 1 else None
    while True:
        sums = _at(problem, state)
        state, value = replace(state, passes=state.passes + 1), sums.value
        if last is not None and value > last[1] + 1e-4 * last[2] + 1e-13 * abs(value):  # the full step went too far
            before, dw, db = last[0], last[3], last[4]
            shorter = _shorter(problem, before, dw, db)
            if shorter is None:
                return replace(before, steps=state.steps, passes=state.passes + 1)
            state = replace(before.plus(shorter * dw, shorter * db), steps=state.steps, passes=state.passes + 1)
            last = None
            continue
        dw, db, products = sums.step(problem, state, some)
        state = replace(state, passes=state.passes + products)
        promised = float(np.vdot(sums.g, dw) + np.vdot(sums.g_b, db))
        scale = abs(sums.losses) + 0.5 * strength * float(np.vdot(state.w, state.w))
        gap = float(np.vdot(sums.g, sums.g)) / (2.0 * strength)  # between the smooth loss and its dual point
        done = max(gap, -promised) <= SHARE * budget.tol * max(scale, float(np.finfo(np.float64).tiny))
        if done or state.steps >= budget.max_iter or not np.isfinite(promised) or promised >= 0.0:
            return state.plus(dw, db, steps=1) if smooth and done and promised < 0.0 else state
        if smooth:  # the full step is nearly always best
            last = state, value, promised, dw, db
            state = state.plus(dw, db, steps=1)
        else:
            step = _shorter(problem, state, dw, db)
            if step is None:
                return replace(state, passes=state.passes + 1)
            state = state.plus(step * dw, step * db, passes=1, steps=1)
        if budget.progress is not None and budget.progress("Newton steps", -promised / max(scale, 1e-300)):
            return state


def _shorter(problem: FiniteProblem, state: State, dw: np.ndarray, db: np.ndarray) -> float | None:
    """Line search: the best of some shorter step lengths; None where none decreases the objective."""
    steps = np.append(0.0, SHORTER)
    (values,) = problem.rows.total(
        Line(*problem.design.at(state.w), problem.loss, state.b, problem.design.to_features(dw), db, steps)
    )
    w = state.w
    norms = [0.5 * problem.strength * float(np.vdot(w + s * dw, w + s * dw)) for s in steps]
    totals = values + norms + problem.tilt * (float(state.b.sum()) + steps * float(db.sum()))
    best = int(np.argmin(totals))
    return float(steps[best]) if best else None


@dataclass(frozen=True)
class At:
    """Value, gradient and, for one output, Hessian at a state."""

    value: float
    losses: float
    g: np.ndarray
    g_b: np.ndarray
    hessian: tuple | None

    def step(self, problem: FiniteProblem, state: State, some: Block | None) -> tuple[np.ndarray, np.ndarray, int]:
        """The Newton step and the passes that it took; ``some`` are sampled rows, for several outputs."""
        if some is not None:
            return _by_products(problem, state, self, some)
        assert self.hessian is not None
        H, h, total = self.hessian
        r = len(H)
        H.ravel()[:: r + 1] += problem.strength
        factor = definite_factor(H)
        if not problem.intercept or total <= 0.0:
            return -cho_solve(factor, self.g, check_finite=False), np.zeros(1), 0
        Z = cho_solve(factor, np.column_stack([self.g[:, 0], h]), check_finite=False)
        rest = max(total - float(h @ Z[:, 1]), 1e-12 * total)  # Schur complement of the intercept
        db = -(float(self.g_b[0]) - float(h @ Z[:, 0])) / rest
        return -(Z[:, :1] + db * Z[:, 1:]), np.array([db]), 0


def _at(problem: FiniteProblem, state: State) -> At:
    """Value, gradient and Hessian from one pass."""
    design, one = problem.design, problem.outputs == 1
    sums, total, losses, *moments = problem.rows.total(Slopes(*design.at(state.w), problem.loss, state.b, one))
    g = design.from_sums(sums) + problem.strength * state.w
    g_b = np.atleast_1d(total) + problem.tilt if problem.intercept else np.zeros(problem.outputs)
    value = float(losses) + problem.tilt * float(state.b.sum())
    value += 0.5 * problem.strength * float(np.vdot(state.w, state.w))
    hessian = None
    if one:
        H, h, total = moments
        hessian = design.from_moments(H), design.from_sums(h), float(total)
    return At(value, float(losses), g, g_b, hessian)


def _by_products(problem: FiniteProblem, state: State, at: At, some: Block) -> tuple[np.ndarray, np.ndarray, int]:
    """The Newton step of several outputs by conjugate gradients, preconditioned by the Hessian of sampled rows.

    They stop early where the gradient is still large, as the next step has another Hessian.
    """
    precondition, t, r = _sampled_inverse(problem, state, some), problem.outputs, len(at.g)

    def product(p: np.ndarray) -> np.ndarray:
        design: Design = problem.design
        part = HessianProduct(*design.at(state.w), problem.loss, state.b, design.to_features(p[:r]), p[r])
        sums, total = problem.rows.total(part)
        on_b = np.atleast_1d(total) if problem.intercept else np.zeros(t)
        return np.vstack([design.from_sums(sums) + problem.strength * p[:r], on_b])

    g = np.vstack([at.g, at.g_b])
    x, rest, z = np.zeros_like(g), -g, precondition(-g)
    p, rho = z, float(np.vdot(rest, z))
    start, taken = rho, 0
    enough = np.clip(rho / max(abs(at.value), float(np.finfo(np.float64).tiny)), ENOUGH, LOOSELY)
    while taken < LONGEST_PRODUCTS and rho > enough * start > 0.0:
        q = product(p)
        taken += 1
        curved = float(np.vdot(p, q))
        if curved <= 0.0:
            break
        x, rest = x + rho / curved * p, rest - rho / curved * q
        z = precondition(rest)
        new = float(np.vdot(rest, z))
        p, rho = z + new / rho * p, new
    return x[:r], x[r], taken


def _sampled_inverse(problem: FiniteProblem, state: State, some: Block) -> Callable[[np.ndarray], np.ndarray]:
    """The inverse Hessian of sampled rows: of all outputs together, or of each separately where there are many."""
    X, y, w = some
    Y, t, r = columns_of(y), problem.outputs, problem.design.basis.rank
    design = design_for_sums(problem.design, len(Y))
    weights = weights_of(w, len(Y)) * (problem.n / len(Y))
    H = problem.loss.curvature(Y, design.values(X, design.to_features(state.w)) + state.b)
    H = H if H.ndim == 3 else H[:, :, None] * np.eye(t)

    def block(j: int, k: int) -> np.ndarray:
        sign = -1.0 if j != k else 1.0  # outputs that compete have negative curvatures between them
        d = weights * np.maximum(sign * H[:, j, k], 0.0)
        A = np.zeros((r + 1, r + 1))
        moments, sums = design.moments(X, np.ones((len(d), 1)), d)
        A[:-1, :-1] = sign * design.from_moments(moments)
        if problem.intercept:
            A[-1, :-1] = A[:-1, -1] = sign * design.from_sums(sums[:, 0])
            A[-1, -1] = sign * d.sum()
        if j == k:
            A.ravel()[:: r + 2] += problem.strength * np.append(np.ones(r), 1e-8 if problem.intercept else 1.0)
        return A

    if t * r > MOST_TOGETHER:
        factors = [definite_factor(block(j, j)) for j in range(t)]
        return lambda x: np.column_stack([cho_solve(factors[j], x[:, j], check_finite=False) for j in range(t)])
    lower = {(j, k): block(j, k) for j in range(t) for k in range(j + 1)}
    factor = definite_factor(np.block([[lower[max(j, k), min(j, k)] for k in range(t)] for j in range(t)]))
    return lambda x: cho_solve(factor, x.T.ravel(), check_finite=False).reshape(t, r + 1).T
