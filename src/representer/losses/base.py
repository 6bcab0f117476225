"""What a loss is: l(y, f), convex in f, with what solvers and certificates need of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq

from representer.kernels.parameters import Parameters


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

    def conjugate(self, y: np.ndarray, v: np.ndarray) -> np.ndarray:
        """l*(y, v) = max over f of v f - l(y, f), for v in the domain."""
        raise NotImplementedError

    def domain(self, y: np.ndarray) -> tuple[Any, Any]:
        """The ends of the interval of v on which the conjugate is finite."""
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
        """A v nearby in the domain with sum_i w_i v_i = 0, as a free intercept asks: all shifted alike, and clipped."""
        parts = self.parts()
        if len(parts) > 1:
            return np.concatenate([part.balance(y, v[:, [j]], weights) for j, part in enumerate(parts)], axis=1)
        v = self.project(y, v)
        for _ in range(3):  # where nothing is clipped one shift does it, and rounding is left for the second
            total = float(np.sum(weights * v))
            if abs(total) <= 1e-15 * float(np.sum(weights * np.abs(v))):
                return v
            shifted = self.project(y, v - total / weights.sum())
            if np.array_equal(shifted, v - total / weights.sum()):
                v = shifted
                continue
            v = self._shifted(y, v, weights, total)
        return v

    def _shifted(self, y: np.ndarray, v: np.ndarray, weights: np.ndarray, total: float) -> np.ndarray:
        """The shift by bisection: the sum rises with it."""

        def excess(shift: float) -> float:
            return float(np.sum(weights * self.project(y, v + shift)))

        near = 0.0
        far = -total / weights.sum()
        for _ in range(60):
            if excess(far) * total <= 0:
                break
            near, far = far, 2.0 * far
        else:
            return v
        shift = brentq(excess, near, far, xtol=1e-300, rtol=1e-15, maxiter=200) if excess(far) else far
        return self.project(y, v + shift)
