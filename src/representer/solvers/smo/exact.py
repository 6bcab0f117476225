"""Gradients of a box-constrained dual from float64 kernel values, where they decide its KKT violation."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer.problems.box import BoxProblem
from representer.solvers.smo.state import KKT, State, require_finite

EXACT_PAIRS = 2 * 10**5
"""Kernel values up to which a check computes all in float64 rather than measure float32 errors."""
VALUE = 3e-7
"""Relative standard error of the objective up to which errors of g need no correction."""
DEVIATIONS = 10.0
"""Number of standard errors by which a gradient may be off."""


def add_products(
    problem: BoxProblem, state: State, dtype: type, index: np.ndarray, change: np.ndarray, rows: np.ndarray
) -> None:
    """g[rows] <- g[rows] + K[rows, index] change, with K in this precision."""
    if len(index) and len(rows):
        K = problem.gram
        if K.stored is not None:
            # changes of inputs that may be repeated are summed first, so that opposite ones cancel exactly
            if rows is not index and K.index is not None:
                _, first, place = np.unique(K.places[index], return_index=True, return_inverse=True)
                index, change = index[first], np.bincount(place, change)
            K = K.gram
        K = K.astype(dtype)
        part = K.take(rows) if rows is index else K.take(rows, index)
        state.g[rows] += part @ change


def exact_kkt(problem: BoxProblem, state: State, index: np.ndarray) -> KKT:
    """Recompute g of these coefficients in float64; return the KKT conditions of all."""
    active, wanted = np.flatnonzero(state.c), np.zeros(problem.n, bool)
    wanted[index] = True
    if 2 * np.count_nonzero(wanted[active]) > len(active):  # K is symmetric, so values are used twice
        parts, wanted[active] = [active], False
    else:
        parts = []
    for rows in (*parts, np.flatnonzero(wanted)):
        state.g[rows] = -problem.targets[rows]
        add_products(problem, state, np.float64, active, state.c[active], rows)
    require_finite(state.g)
    return KKT.of(problem, state.c, state.g)


def rebalance(problem: BoxProblem, state: State) -> None:
    """Correct sums over groups for the rounding of steps, by the coefficient farthest from its bounds and the kink."""
    off = problem.sums - np.bincount(problem.group_of, state.c, minlength=problem.n_groups)
    for s in np.flatnonzero(off):
        room = np.minimum(problem.upper - state.c, state.c - problem.lower)
        if problem.epsilon > 0.0:
            room = np.minimum(room, np.abs(state.c))
        i = int(np.where(problem.group_of == s, room, -np.inf).argmax())
        if room[i] > abs(off[s]):
            state.c[i] += off[s]
            state.g += off[s] * problem.gram.astype(np.float64).block(slice(None), np.array([i]))[:, 0]


def gradient_errors(problem: BoxProblem, state: State) -> np.ndarray:
    """Standard errors of g from float32 kernel values.

    Their rounding errors, whose size is measured on some pairs, give each g_i a standard error of about that size times
    sqrt(k_ii sum_j c_j^2 k_jj); products round the c_j as well, and steps on a float32 g add their own error.
    """
    roots = np.sqrt(np.abs(problem.diagonal))
    rounding = np.hypot(problem.gram.float32_error(), np.finfo(np.float32).eps / np.sqrt(12.0))
    spread = rounding * np.linalg.norm(roots * state.c)
    return np.hypot(spread * roots, state.rounding_error)


def checked_kkt(problem: BoxProblem, state: State, kkt: KKT, tol: float, flat: bool) -> tuple[KKT, Any]:
    """KKT conditions from float64 values where these decide the violation, and the errors of all other gradients.

    Coefficients whose derivatives are ten standard errors away from both extremes cannot decide it. If the violation is
    below the tolerance, more gradients are recomputed: all if the error is not a small fraction of the tolerance, so
    that the duality gap is correct, and those of nonzero coefficients if the error shows in the objective. With
    ``flat`` these are computed at once, as two passes over tiles take longer than the extra values.
    """
    if not problem.gram.has_float32_error and np.count_nonzero(state.c) * problem.n <= EXACT_PAIRS:
        return exact_kkt(problem, state, np.arange(problem.n)), 0.0
    error = gradient_errors(problem, state)
    low, high = kkt.low[kkt.group], kkt.high[kkt.group]
    near = (kkt.g_up <= low + DEVIATIONS * error) | (kkt.g_down >= high - DEVIATIONS * error)
    value = 0.5 * abs(state.c @ (problem.targets - state.g))
    shown = 0.5 * np.linalg.norm(error * state.c) > VALUE * value
    others = np.ones(problem.n, bool) if error.max() > 0.1 * tol else (state.c != 0.0) & shown
    if flat:
        near |= others
    kkt = exact_kkt(problem, state, np.flatnonzero(near))
    others &= ~near
    if kkt.violation <= tol and others.any():
        kkt = exact_kkt(problem, state, np.flatnonzero(others))
        near |= others
    return kkt, np.where(near, 0.0, 0.5 * DEVIATIONS * error)  # half as many are enough for a sum of many
