"""Polishing of small box-constrained duals to full precision, by Newton steps on the free coefficients."""

from __future__ import annotations

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from representer import _parallel
from representer._loops import box_dual
from representer._loops import smo as loops
from representer.problems.box import FEASIBLE, BoxProblem
from representer.problems.judgement import TINY
from representer.solvers.smo.state import KKT, State, take_steps

POLISH_UP_TO = 200
"""Coefficients up to which a dual is polished."""
TOLERANCES = (np.inf, 1e-5, 1e-7, 1e-9)
"""KKT violations to step to, one after the other, until the set of free coefficients is identified."""
POLISH_STEPS = 100
"""SMO steps per coefficient and tolerance."""
REGULAR = 1e-12
"""The reciprocal condition number above which a system of free coefficients counts as regular."""


@_parallel.one_blas_thread()
def polish(problem: BoxProblem, state: State, kkt: KKT, K: np.ndarray, limit: int) -> KKT:
    """Polish c and g to full precision, after some more steps if the free coefficients are not yet identified.

    K is the float64 matrix. Coefficients that are infeasible, or do not lower the KKT violation, are rejected.
    """
    for tol in TOLERANCES:
        if kkt.violation > tol:
            before = state.steps
            stepped = _settle(problem, state, kkt, K, tol, limit)
            if state.steps == before:
                break
            kkt = better(problem, state, kkt, K, stepped)
        c, g, last = state.c.copy(), state.g.copy(), kkt.violation
        for _ in range(problem.n):
            if _newton_step(problem, c, g, K):
                break
        kkt = better(problem, state, kkt, K, c)
        if kkt.violation < last:
            break
    return kkt


def better(problem: BoxProblem, state: State, kkt: KKT, K: np.ndarray, c: np.ndarray) -> KKT:
    """Accept c if it is feasible and lowers the KKT violation; return the current KKT conditions."""
    g = K @ c - problem.targets
    found = KKT.of(problem, c, g)
    if found.violation < kkt.violation and problem.infeasibility(c) <= FEASIBLE:
        state.c, state.g = c, g
        return found
    return kkt


def _settle(problem: BoxProblem, state: State, kkt: KKT, K: np.ndarray, tol: float, limit: int) -> np.ndarray:
    """The coefficients after SMO steps to a tolerance."""
    order = np.argsort(problem.group_of, kind="stable")
    groups, most = problem.group_of[order], min(POLISH_STEPS * problem.n, max(limit - state.steps, 0))
    moved, g, matrix = state.c[order], state.g[order] - kkt.middle[groups], K[np.ix_(order, order)]
    box = (
        problem.lower[order],
        problem.upper[order],
        problem.epsilon,
        box_dual.spans(groups, np.arange(problem.n), loops.SPAN),
    )
    take_steps(matrix, g, moved, (matrix.diagonal().copy(), *box), 0.5 * tol, most, state, None)
    c = np.empty_like(moved)
    c[order] = moved
    return c


def _newton_step(problem: BoxProblem, c: np.ndarray, g: np.ndarray, K: np.ndarray) -> bool:
    """A Newton step on the free coefficients F, cut at the next bound or kink; whether it was a full step.

    Their changes d solve K_FF d - b = -g_F with sum d = 0 over each group, where g includes the epsilon term. Rows and
    columns are scaled by 1 / sqrt(k(x, x)), and the sums to unit length, so that neither is lost in the other's
    rounding.
    """
    kkt = KKT.of(problem, c, g)
    free = np.flatnonzero(kkt.free)
    if not len(free):
        return True
    n, block = len(free), K[free[:, None], free]
    scale = 1.0 / np.sqrt(np.maximum(block.diagonal(), TINY))
    sums = scale[:, None] * (problem.group_of[free][:, None] == _present(problem, free))
    sums /= np.sqrt((sums * sums).sum(axis=0))
    system, right_hand_side = np.zeros((n + sums.shape[1],) * 2), np.zeros(n + sums.shape[1])
    np.multiply(block * scale, scale[:, None], out=system[:n, :n])
    system[:n, n:], system[n:, :n], right_hand_side[:n] = sums, sums.T, -kkt.g_up[free] * scale
    change = scale * _solution(system, right_hand_side)[:n]
    bound = np.where(change > 0.0, problem.upper[free], problem.lower[free])
    if problem.epsilon > 0.0:
        bound = np.where(c[free] * bound < 0.0, 0.0, bound)
    room = np.divide(bound - c[free], change, out=np.full(len(free), np.inf), where=change != 0.0)
    step, first = min(1.0, room.min()), room.argmin()
    moved = c[free] + step * change
    if step < 1.0:
        moved[first] = bound[first]
    g += K[:, free] @ (moved - c[free])
    c[free] = moved
    return step == 1.0


def _present(problem: BoxProblem, free: np.ndarray) -> np.ndarray:
    """The groups of these coefficients."""
    return np.zeros(1, int) if problem.groups is None else np.unique(problem.groups[free])


def _solution(system: np.ndarray, right_hand_side: np.ndarray) -> np.ndarray:
    """Solve a symmetric system by L D L' where it is regular, and by minimum-norm least squares otherwise."""
    factor, pivots, singular = lapack.dsytrf(system, lower=1)
    largest = float(np.abs(system).sum(axis=0).max())
    if not singular and lapack.dsycon(factor, pivots, largest, lower=1)[0] > REGULAR:
        return lapack.dsytrs(factor, pivots, right_hand_side, lower=1)[0]
    return linalg.lstsq(system, right_hand_side)[0]
