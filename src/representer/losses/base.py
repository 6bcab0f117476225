"""What a loss is: l(y, f), convex in f, with what solvers and certificates need of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer.kernels.parameters import Parameters

SHIFTS = 3
"""Of a dual point to sum zero: the first does it, and the others take away what its rounding left."""
DIFFERENCE = 1e-5
"""Of differences; losses with another third derivative than zero have values f without a unit."""
SUM_ROUNDING = 1e-15
"""Share of sum_i w_i |v_i| up to which a sum is zero."""


class Loss(Parameters):
    """l(y, f) for a target y and a value f, elementwise on arrays.

    A loss gives `value` and `gradient`. One that also gives `curvature`, `conjugate` and `domain` says so by
    ``complete``; it is solved by Newton's method and certified by a duality gap. One that is not ``smooth`` gives
    `envelope`, too. Nothing else is asked of a loss.
    """

    targets: str = "real"
    """What y holds: "real" numbers, "counts" (not negative), "signs" (-1 and +1) or "classes" (0, 1, ...)."""

    smooth: bool = True
    """Whether l has a gradient everywhere."""

    convex: bool = True
    """Whether l is convex in f; otherwise a fit finds a local minimum."""

    complete: bool = False
    """Whether `curvature`, `conjugate` and `domain` are given."""

    relative: bool = False
    """Whether only differences of outputs count, so that intercepts have a common constant that is free."""

    def check(self) -> None:
        """Raise if a parameter is out of its range."""

    def outputs(self, y: np.ndarray) -> int:
        """How many values f has for each input."""
        return 1

    def parts(self) -> list[Loss]:
        """Losses of one output each, of which this one is the sum; only itself where outputs depend on each other."""
        return [self]

    # ---- what a loss gives ----

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """l(y, f)."""
        raise NotImplementedError

    def gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """dl / df; any subgradient where there are several."""
        raise NotImplementedError

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """d^2 l / df^2; a matrix for each input, in a third dimension, where outputs depend on each other."""
        raise NotImplementedError

    def third(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """d^3 l / df^3, by differences of the curvature unless a loss knows it."""
        return (self.curvature(y, f + DIFFERENCE) - self.curvature(y, f - DIFFERENCE)) / (2.0 * DIFFERENCE)

    def conjugate(self, y: np.ndarray, v: np.ndarray) -> np.ndarray:
        """l*(y, v) = max over f of v f - l(y, f), for v in the domain."""
        raise NotImplementedError

    def domain(self, y: np.ndarray) -> tuple[Any, Any]:
        """The ends of the interval of v on which the conjugate is finite; it holds 0 where l is bounded below."""
        raise NotImplementedError

    def envelope(self, y: np.ndarray, f: np.ndarray, mu: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """max over v of v f - l*(y, v) - mu v^2 / 2, its gradient v and its curvature: a smooth loss from below."""
        raise NotImplementedError

    def box(self, y: np.ndarray) -> tuple[Any, Any, float] | None:
        """Ends of the domain and epsilon if the conjugate is v y + epsilon |v|: then the dual is a box with kinks."""
        return None

    def response(self, f: np.ndarray) -> np.ndarray:
        """What is predicted for a value f, in the units of y."""
        return f

    # ---- dual points ----

    def project(self, y: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The nearest v in the domain."""
        return np.clip(v, *self.domain(y))

    def balance(self, y: np.ndarray, v: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """A v nearby in the domain with sum_i w_i v_i = 0, as a free intercept asks: all shifted alike, and clipped.

        The sum is zero up to its rounding. Where the domain has no such v, it is as near to zero as it can be.
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
    """The level at which sum_i w_i min(level, room_i) is the amount, as water fills vessels of different depths.

    It is the largest room where all of them hold less.
    """
    level = amount / float(weights.sum())
    if level <= room.min():
        return level
    order = np.flatnonzero(weights)
    order = order[np.argsort(room[order])]
    room, weights = room[order], weights[order]
    held = np.append(0.0, np.cumsum((weights * room)[:-1]))  # by the vessels before, all full
    open_ = np.cumsum(weights[::-1])[::-1]  # the weights of the others
    k = min(int(np.searchsorted(held + open_ * room, amount)), len(room) - 1)
    return min((amount - held[k]) / open_[k], room[-1])
