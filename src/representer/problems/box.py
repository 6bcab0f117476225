"""Duals of piecewise linear losses: quadratic programs in a box."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from representer._loops import box_dual
from representer.kernels.read_only import readable
from representer.problems.judgement import ROUNDINGS, TINY, Judgement

FEASIBLE = 1e-11
"""Tolerance on the sum of c over a group, relative to sum_i |c_i|: the rounding of some thousand additions."""
BOUNDARY = 64.0 * float(np.finfo(np.float64).eps)
"""Rounding of values on an inclusive boundary, relative to sum_i |c_i|."""


@dataclass(frozen=True)
class BoxProblem:
    """minimise over c:  1/2 c'Kc - t'c + epsilon |c|_1,  lower <= c <= upper,  the sum of c over each group fixed.

    It is the dual of: minimise over f in H and b_s for each group s

        1/2 ||f||^2 + sum_i support_i(t_i - f(x_i) - b_s(i)) + sum_s b_s total_s,

    where support_i(r) = max over c in its box of (c r - epsilon |c|), and f = sum_i c_i k(x_i, .). Hinge, absolute,
    epsilon-insensitive and pinball losses are such support functions.

    Parameters
    ----------
    gram : Gram or Stored
        With a row for each coefficient.
    targets, lower, upper : arrays of shape (n,)
        Boxes contain 0.
    epsilon : float
    groups : array of ints of shape (n,), optional
        All in one group when not given.
    totals : array of shape (n_groups,), optional
        The sum of c over each group; zero when not given.
    inclusive : bool
        Whether intercepts are raised by the KKT violation, so that f + b is not negative on the boundary.
    """

    gram: Any
    targets: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    epsilon: float = 0.0
    groups: np.ndarray | None = None
    totals: np.ndarray | None = None
    inclusive: bool = False

    @property
    def n(self) -> int:
        return len(self.targets)

    @cached_property
    def diagonal(self) -> np.ndarray:
        """k(x_i, x_i) of each coefficient."""
        return self.gram.diag()

    @cached_property
    def group_of(self) -> np.ndarray:
        """The group of each coefficient."""
        return np.zeros(self.n, int) if self.groups is None else self.groups

    @cached_property
    def n_groups(self) -> int:
        return 1 if self.groups is None else 1 + int(self.groups.max())

    @cached_property
    def sums(self) -> np.ndarray:
        """The sum of c over each group."""
        return np.zeros(self.n_groups) if self.totals is None else self.totals

    def _beyond(self, c: np.ndarray) -> tuple[float, float, np.ndarray]:
        """The largest distance from a box, sum_i |c_i|, and what is missing of the sum of each group."""
        missing = self.sums.copy()
        outside, total = box_dual.beyond(c, self.lower, self.upper, self.group_of, missing)
        return outside, total, missing

    def infeasibility(self, c: np.ndarray) -> float:
        """How far c is from its boxes and sums, relative to sum_i |c_i|."""
        outside, total, missing = self._beyond(c)
        return max(outside, float(np.abs(missing).max())) / max(total, TINY)

    def raised(self, intercepts: np.ndarray, violation: float, c: np.ndarray) -> np.ndarray:
        """The intercepts of a solution with this KKT violation, raised where the boundary is inclusive."""
        return intercepts + (violation + BOUNDARY * np.abs(c).sum() if self.inclusive else 0.0)

    def values(
        self, c: np.ndarray, g: np.ndarray, intercepts: np.ndarray, error: Any = 0.0
    ) -> tuple[float, float, float]:
        """Primal and dual value of coefficients c with g = K c - t, and the gap between them, which is never negative.

        The gap is sum_i support_i(r_i) + epsilon |c_i| - c_i r_i with r = t - f - b, in which no term is negative, plus
        sum_s b_s (total_s - the sum of c over the group), which is zero up to rounding: where it is negative, it is
        subtracted from the dual value. This has digits that primal - dual may have lost. The effect of rounding errors
        in g, and of its ``error``, widens the gap.
        """
        b, roots = np.asarray(intercepts), np.sqrt(np.abs(self.diagonal))
        added = roots * c if self.gram.stored is None else np.bincount(self.gram.places, roots * c)  # of one input
        error = np.hypot(error, (ROUNDINGS * np.sqrt(added @ added)) * roots)
        box = self.lower, self.upper, self.epsilon, self.group_of
        dual, gap, rounding = box_dual.values(c, g, error, readable(self.targets), *box, b)
        off = float(b @ self._beyond(c)[2])
        return dual + (gap + off), dual + 2.0 * min(off, 0.0) - rounding, gap + abs(off) + rounding

    def judge(
        self, coef: np.ndarray, intercept: np.ndarray, gradient: np.ndarray | None = None, error: Any = 0.0
    ) -> Judgement:
        """The greatest KKT violation, primal and dual value, and ||f - f*|| <= sqrt(2 gap).

        ``gradient`` is K c - t where the solver has just computed it: in float64 for all points that decide the
        violation, and elsewhere with an ``error`` by which each entry may be off, beyond its rounding. Coefficients
        outside their boxes or off their sums are infeasible and have no dual value: they have not converged.
        """
        if gradient is None:
            gradient = self.gram.astype(np.float64) @ coef - self.targets
        violation = self.violation(coef, gradient)
        primal, dual, gap = self.values(coef, gradient, intercept, error)
        if self.infeasibility(coef) > FEASIBLE:
            violation, dual, gap = np.inf, -np.inf, np.inf
        return Judgement(np.array([violation]), "KKT violation", np.array([np.sqrt(2.0 * gap)]), primal, dual)

    def violation(self, c: np.ndarray, g: np.ndarray) -> float:
        """The KKT violation: by how much the largest left derivative exceeds the smallest right one, in any group."""
        box = self.lower, self.upper, self.epsilon, self.group_of
        return float(box_dual.violation(g, c, *box, self.n_groups))
