"""The interface of a loss l(y, f): what solvers and certificates need of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer.kernels.parameters import Parameters

SHIFTS = 3
"""Shifts of a dual point towards sum zero: the first does it, and the others remove its rounding error."""
DIFFERENCE = 1e-5
"""Step of finite differences; losses with a nonzero third derivative have dimensionless values f."""
SUM_ROUNDING = 1e-15
"""Fraction of sum_i w_i |v_i| up to which a sum counts as zero."""


class Loss(Parameters):
    """l(y, f) for a target y and a value f, elementwise on arrays.

    A loss defines `value` and `gradient`. One that also defines `curvature`, `conjugate` and `domain` sets
    ``complete``; it is solved by Newton's method and certified by a duality gap. One that is not ``smooth`` defines
    `envelope`, too. Nothing else is required of a loss.
    """

    targets: str = "real"
    """What y holds: "real" numbers, "counts" (not negative), "signs" (-1 and +1) or "classes" (0, 1, ...)."""

    smooth: bool = True
    """Whether l has a gradient everywhere."""

    smoothed: bool = False
    """Whether l approximates a loss with kinks, near which its curvature is so large that full Newton steps overshoot.
    """

    convex: bool = True
    """Whether l is convex in f; otherwise a fit finds a local minimum."""

    complete: bool = False
    """Whether `curvature`, `conjugate` and `domain` are defined."""

    relative: bool = False
    """Whether only differences of outputs count, so that intercepts are determined up to a common constant."""

    def check(self) -> None:
        """Raise if a parameter is out of its range."""

    def outputs(self, y: np.ndarray) -> int:
        """How many values f has for each input."""
        return 1

    def parts(self) -> list[Loss]:
        """Losses of one output each that sum to this one; only itself where outputs are coupled."""
        return [self]

    # ---- what a loss defines ----

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """l(y, f)."""
        raise NotImplementedError

    def gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """dl / df; any subgradient where there are several."""
        raise NotImplementedError

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """d^2 l / df^2; a matrix for each input, in a third dimension, where outputs are coupled."""
        raise NotImplementedError

    def third(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """d^3 l / df^3, by finite differences of the curvature unless a loss overrides it."""
        return (self.curvature(y, f + DIFFERENCE) - self.curvature(y, f - DIFFERENCE)) / (2.0 * DIFFERENCE)

    def conjugate(self, y: np.ndarray, v: np.ndarray) -> np.ndarray:
        """l*(y, v) = max over f of v f - l(y, f), for v in the domain."""
        raise NotImplementedError

    def domain(self, y: np.ndarray) -> tuple[Any, Any]:
        """The ends of the interval of v on which the conjugate is finite; it contains 0 where l is bounded below."""
        raise NotImplementedError

    def envelope(self, y: np.ndarray, f: np.ndarray, mu: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """max over v of v f - l*(y, v) - mu v^2 / 2, its gradient v and its curvature: a smooth lower bound."""
        raise NotImplementedError

    def box(self, y: np.ndarray) -> tuple[Any, Any, float] | None:
        """Ends of the domain and epsilon if the conjugate is v y + epsilon |v|: then the dual is box-constrained."""
        return None

    def response(self, f: np.ndarray) -> np.ndarray:
        """The prediction for a value f, on the scale of y."""
        return f

    # ---- dual points ----

    def project(self, y: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The nearest v in the domain."""
        return np.clip(v, *self.domain(y))

    def balance(self, y: np.ndarray, v: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """A nearby v in the domain with sum_i w_i v_i = 0, as a free intercept requires: shifted equally, and clipped.

        The sum is zero up to rounding. Where the domain has no such v, the sum is as near to zero as possible.
        """
        parts = self.parts()
        if len(parts) > 1:
            return np.concatenate([part.balance(y, v[:, [j]], weights) for j, part in enumerate(parts)], axis=1)
        v, w = self.project(y, v), weights / weights.max()  # products with the smallest weights do not underflow
        lower, upper = self.domain(y)
        for _ in range(SHIFTS):
            total = float(np.sum(w * v))
            if abs(total) <= SUM_ROUNDING * float(np.sum(w * np.abs(v))):
                break
            room = v - lower if total > 0.0 else upper - v
            v = self.project(y, v - np.sign(total) * _level(room.ravel(), w.ravel(), abs(total)))
        return v


def _level(room: np.ndarray, weights: np.ndarray, amount: float) -> float:
    """The level at which sum_i w_i min(level, room_i) equals the amount: water-filling.

    The largest room where all vessels together hold less.
    """
    level = amount / float(weights.sum())
    if level <= room.min():
        return level
    order = np.flatnonzero(weights)
    order = order[np.argsort(room[order])]
    room, weights = room[order], weights[order]
    held = np.append(0.0, np.cumsum((weights * room)[:-1]))  # by earlier vessels, all full
    open_ = np.cumsum(weights[::-1])[::-1]  # total weight of the others
    k = min(int(np.searchsorted(held + open_ * room, amount)), len(room) - 1)
    return min((amount - held[k]) / open_[k], room[-1])
