"""Regularisers R(||f||), nondecreasing functions of the norm t = ||f||.

Each is the squared norm in disguise: a solution with R and norm t > 0 also solves the problem with (strength / 2) t^2
for the effective strength R'(t) / t.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

from representer.kernels import checks
from representer.kernels.parameters import Parameters

LARGEST = 1e8
"""Largest norm at which the derivative of a custom regulariser is evaluated."""


class Regularizer(Parameters):
    """R(t) for t >= 0: value, derivative and, where R is convex, its conjugate."""

    convex: bool = True
    """Whether R is convex; otherwise a fit finds a local minimum and has no duality gap."""

    fixed_strength: float | None = None
    """The effective strength, where it does not depend on the norm."""

    largest: float = np.inf
    """The largest norm at which R is finite."""

    def check(self) -> None:
        """Raise if a parameter is out of range."""

    def value(self, t: float) -> float:
        """R(t)."""
        raise NotImplementedError

    def derivative(self, t: float) -> float:
        """R'(t); at 0 the right derivative."""
        raise NotImplementedError

    def conjugate(self, s: float) -> float:
        """R*(s) = max over t >= 0 of s t - R(t), for s >= 0."""
        raise NotImplementedError

    def within(self, s: float) -> float:
        """The factor, at most one, by which s must shrink for the conjugate to be finite."""
        return 1.0

    def excess(self, strength: float, t: float) -> float:
        """log(strength t / R'(t)): zero at the effective strength, positive above it."""
        slope = self.derivative(t)
        if t <= 0.0 or slope <= 0.0:
            return np.inf if slope <= 0.0 else -np.inf
        return float(np.log(strength * t) - np.log(slope))


class SquaredNorm(Regularizer):
    """R(t) = strength t^2 / 2.

    Parameters
    ----------
    strength : float
    """

    def __init__(self, strength: float = 1.0):
        self.strength = strength

    @property
    def fixed_strength(self) -> float:  # type: ignore[override]
        return self.strength

    def check(self) -> None:
        checks.positive(self.strength, "strength")

    def value(self, t: float) -> float:
        return 0.5 * self.strength * t**2

    def derivative(self, t: float) -> float:
        return self.strength * t

    def conjugate(self, s: float) -> float:
        return 0.5 * s**2 / self.strength


class Norm(Regularizer):
    """R(t) = strength t, which has a kink at zero: if it is strong enough, f = 0.

    Parameters
    ----------
    strength : float
    """

    def __init__(self, strength: float = 1.0):
        self.strength = strength

    def check(self) -> None:
        checks.positive(self.strength, "strength")

    def value(self, t: float) -> float:
        return self.strength * t

    def derivative(self, t: float) -> float:
        return self.strength

    def conjugate(self, s: float) -> float:
        return 0.0 if s <= self.strength * (1 + 1e-14) else np.inf

    def within(self, s: float) -> float:
        return min(1.0, self.strength / s) if s > 0 else 1.0


class Power(Regularizer):
    """R(t) = strength t^exponent / exponent.

    Parameters
    ----------
    strength : float
    exponent : float
        Above 1; `Norm` is exponent 1.
    """

    def __init__(self, strength: float = 1.0, exponent: float = 2.0):
        self.strength = strength
        self.exponent = exponent

    def check(self) -> None:
        checks.positive(self.strength, "strength")
        if checks.real(self.exponent, "exponent") <= 1:
            raise ValueError(
                f"exponent is {self.exponent!r}; it must be above 1. Use Norm for 1, and CustomRegularizer below 1."
            )

    def value(self, t: float) -> float:
        return self.strength * t**self.exponent / self.exponent

    def derivative(self, t: float) -> float:
        return self.strength * t ** (self.exponent - 1)

    def conjugate(self, s: float) -> float:
        q = self.exponent / (self.exponent - 1)
        return self.strength * (s / self.strength) ** q / q


class Ball(Regularizer):
    """R(t) = 0 for t <= radius and infinite beyond: the loss is minimised over a ball of H.

    Parameters
    ----------
    radius : float
    """

    def __init__(self, radius: float = 1.0):
        self.radius = radius

    @property
    def largest(self) -> float:  # type: ignore[override]
        return self.radius

    def check(self) -> None:
        checks.positive(self.radius, "radius")

    def value(self, t: float) -> float:
        return 0.0 if t <= self.radius * (1 + 1e-9) else np.inf

    def derivative(self, t: float) -> float:
        return 0.0 if t < self.radius else np.inf

    def conjugate(self, s: float) -> float:
        return self.radius * s

    def excess(self, strength: float, t: float) -> float:
        """log(radius / t): positive inside the ball, where the strength may decrease."""
        return float(np.log(self.radius / t)) if t > 0 else np.inf


class CustomRegularizer(Regularizer):
    """R(t) from its value and derivative, functions of a number t >= 0.

    Parameters
    ----------
    value, derivative : callable
        R must be nondecreasing, or the representer theorem does not hold.
    convex : bool
        Whether R is convex. Otherwise a fit finds a local minimum, and says so.
    """

    def __init__(self, value: Callable[[float], float], derivative: Callable[[float], float], *, convex: bool = True):
        self.value = value  # type: ignore[method-assign, assignment]
        self.derivative = derivative  # type: ignore[method-assign, assignment]
        self.convex = convex

    def check(self) -> None:
        for name in ("value", "derivative"):
            if not callable(getattr(self, name)):
                raise TypeError(f"{name} is {getattr(self, name)!r}; give a function of a number.")
        grid = np.concatenate([[0.0], np.logspace(-6, 8, 141)])
        values, slopes = (np.array([_number(f, t) for t in grid]) for f in (self.value, self.derivative))
        known = (grid <= 100.0) | (np.isfinite(values) & np.isfinite(slopes))  # large t may overflow
        grid, values, slopes = grid[known], values[known], slopes[known]
        if np.isnan(values).any() or np.isnan(slopes).any() or slopes.min() < 0 or np.any(np.diff(values) < 0):
            where = grid[int(np.argmin(slopes))] if slopes.min() < 0 else grid[int(np.argmin(np.diff(values)))]
            raise ValueError(
                f"The regulariser decreases (or is not a number) near t = {where:.3g}; give a nondecreasing one, "
                "as only then is a minimiser a sum of representers."
            )
        if self.convex and np.any(np.diff(slopes) < -1e-9 * np.maximum(slopes[:-1], 1e-300)):
            raise ValueError("The regulariser's derivative decreases, so it is not convex; pass convex=False.")

    def conjugate(self, s: float) -> float:
        """s t - R(t) at the root t of R'(t) = s."""
        if self._slope(0.0) >= s:
            return -float(self.value(0.0))
        high = 1.0
        while self._slope(high) < s:
            high *= 4.0
            if high > LARGEST:
                return np.inf
        low = 0.0 if self._slope(high / 4.0) >= s else high / 4.0
        t = brentq(lambda t: min(self._slope(t), 1e300) - s, low, high, xtol=1e-300, rtol=1e-14, maxiter=500)
        return float(s * t - self.value(t))

    def within(self, s: float) -> float:
        return min(1.0, self._slope(LARGEST) / s) if s > 0 else 1.0

    def _slope(self, t: float) -> float:
        """R'(t), or infinity on overflow."""
        return _number(self.derivative, t)


def _number(function: Callable[[float], float], t: float) -> float:
    """function(t), or infinity on overflow."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            return float(function(t))
    except OverflowError:
        return np.inf
