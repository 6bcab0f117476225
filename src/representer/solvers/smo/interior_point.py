"""minimise 1/2 c'Kc - t'c,  lower <= c <= upper,  A c = sums,  by Newton steps in the interior of the box.

They solve the KKT conditions  K c - t - A'b - v + w = 0,  (c - lower) v = mu = (upper - c) w,  v > 0,  w > 0,  while mu
goes to 0: Mehrotra's predictor and corrector, from one Cholesky factorisation. Bounds and condition numbers hardly
change how many steps these take, whereas SMO may take millions; but each is n^3 / 3 operations.

Mehrotra (1992), On the implementation of a primal-dual interior point method, https://doi.org/10.1137/0802028
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from representer import _parallel
from representer.problems.box import BoxProblem
from representer.solvers.smo.exact import rebalance
from representer.solvers.smo.polish import better
from representer.solvers.smo.state import KKT, State

INTERIOR_UP_TO = 400
"""Coefficients, or their parts, up to which a dual is solved this way: its two float64 matrices are small then."""
NEWTON_STEPS = 100
"""Newton steps, of which most duals take 10 to 40."""
TO_BOUND = 0.995
"""The fraction of the way to the nearest bound that a step goes at most."""
RAISED_BY = 1e-15
"""The rounding error of a scaled Newton matrix, per coefficient, by which its diagonal is raised."""
LEFT_OVER = 0.1
"""The fraction of the tolerance that remaining errors may take up."""

name = "interior point"


def is_simple(problem: BoxProblem) -> bool:
    """Whether a dual is small and bounded, so that `jump` may solve it."""
    n = problem.n if problem.epsilon == 0.0 else 2 * problem.n
    return is_few(n) and bool(np.isfinite(problem.upper - problem.lower).all())


def is_few(parts: int) -> bool:
    """Whether there are so few coefficients, or parts of them."""
    return parts <= INTERIOR_UP_TO


@_parallel.one_blas_thread()
def jump(problem: BoxProblem, state: State, kkt: KKT, K: np.ndarray, tol: float) -> KKT:
    """Accept the solution from the interior if it lowers the KKT violation; return the current KKT conditions.

    K is the float64 matrix. Where it is not finite or not positive semidefinite, nothing changes.
    """
    if not (problem.upper > problem.lower).any() or not np.isfinite(K).all():
        return kkt
    index, sign, dual = _parts(problem, K)
    try:
        with np.errstate(all="ignore"):  # of an indefinite K
            parts = _solution(dual, tol, state)
    except linalg.LinAlgError:
        return kkt
    found = replace(state, c=np.bincount(index, sign * parts, minlength=problem.n), g=state.g.copy())
    rebalance(problem, found)
    return better(problem, state, kkt, K, found.c)


def _parts(problem: BoxProblem, K: np.ndarray) -> tuple[np.ndarray, np.ndarray, _Dual]:
    """The dual without coefficients whose bounds are both zero, as those of weight zero; their places and signs.

    With a kink, positive and negative parts are coefficients of their own, whose sum is |c|.
    """
    n, lower, upper = problem.n, problem.lower, problem.upper
    sign = np.ones(n)
    if problem.epsilon > 0.0:
        sign, lower, upper = np.r_[sign, -sign], np.zeros(2 * n), np.r_[upper, -lower]
    moving = np.flatnonzero(upper > lower)
    index, sign = moving % n, sign[moving]
    groups, group = np.unique(problem.group_of[index], return_inverse=True)
    A = sign * np.equal.outer(np.arange(len(groups)), group)
    signed, t = K[np.ix_(index, index)], sign * problem.targets[index] - problem.epsilon
    signed *= sign
    signed *= sign[:, None]
    return index, sign, _Dual(signed, t, lower[moving], upper[moving], A, problem.sums[groups])


@dataclass(frozen=True)
class _Dual:
    """The quadratic program; the rows of A are indicators of groups, with the signs of parts."""

    K: np.ndarray
    t: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    A: np.ndarray
    sums: np.ndarray


class _Newton:
    """The Newton matrix K + diag(v / (c - lower) + w / (upper - c)) with unit diagonal, and A, factorised."""

    def __init__(self, dual: _Dual, v: np.ndarray, w: np.ndarray, below: np.ndarray, above: np.ndarray):
        self.v, self.w, self.below, self.above = v, w, below, above
        self.scale = 1.0 / np.sqrt(dual.K.diagonal() + v / below + w / above)
        H = dual.K * self.scale
        H *= self.scale[:, None]
        np.fill_diagonal(H, 1.0 + RAISED_BY * len(v))
        self.factor = linalg.cholesky(H.T, lower=True, overwrite_a=True, check_finite=False)
        self.half = self._solve((dual.A * self.scale).T)
        self.schur = self.half.T @ self.half

    def _solve(self, x: np.ndarray, trans: int = 0) -> np.ndarray:
        return linalg.solve_triangular(self.factor, x, lower=True, trans=trans, check_finite=False)

    def step(self, slope: np.ndarray, off: np.ndarray, to_v: np.ndarray, to_w: np.ndarray) -> tuple[np.ndarray, ...]:
        """Changes of c, b, v and w that add these to the Lagrangian's slope, to A c, and to the products."""
        x = self._solve(self.scale * (slope + to_v / self.below - to_w / self.above))
        b = np.linalg.solve(self.schur, off - self.half.T @ x)
        c = self.scale * self._solve(x + self.half @ b, trans=1)
        return c, b, (to_v - self.v * c) / self.below, (to_w + self.w * c) / self.above

    def longest(self, c: np.ndarray, v: np.ndarray, w: np.ndarray) -> float:
        """The fraction of these changes that stays within the bounds."""
        ratios = -c / self.below, c / self.above, -v / self.v, -w / self.w
        return float(np.minimum(1.0, TO_BOUND / np.max(ratios)))


def _solution(dual: _Dual, tol: float, state: State) -> np.ndarray:
    """The solution, with coefficients at their bounds where the derivative there is not negligible; counts steps."""
    lower, upper, n = dual.lower, dual.upper, len(dual.t)
    c, b, largest = 0.5 * (lower + upper), np.zeros(len(dual.A)), dual.K.diagonal().max()
    v = np.full(n, np.abs(dual.K @ c - dual.t).max() + tol)
    w, limit = v, LEFT_OVER * tol
    below, above = c - lower, upper - c  # updated by themselves, as these differences would round to zero
    for _ in range(NEWTON_STEPS):
        slope, off = dual.t - dual.K @ c + b @ dual.A + v - w, dual.sums - dual.A @ c
        at_lower, at_upper = v > np.maximum(w, limit), w > np.maximum(v, limit)
        if np.abs(slope).max() <= limit and largest * (below @ at_lower + above @ at_upper) <= limit:
            break
        newton = _Newton(dual, v, w, below, above)
        state.interior_steps += 1
        dc, _, dv, dw = newton.step(slope, off, -below * v, -above * w)
        s, mu = newton.longest(dc, dv, dw), (below @ v + above @ w) / (2 * n)
        after = ((below + s * dc) @ (v + s * dv) + (above - s * dc) @ (w + s * dw)) / (2 * n)
        aim = mu * (after / mu) ** 3
        dc, db, dv, dw = newton.step(slope, off, aim - below * v - dc * dv, aim - above * w + dc * dw)
        s = newton.longest(dc, dv, dw)
        if not np.isfinite(s):
            break
        c, b, v, w = c + s * dc, b + s * db, v + s * dv, w + s * dw
        below, above = below + s * dc, above - s * dc
    return np.where(at_lower, lower, np.where(at_upper, upper, c))
