"""Points of a problem with any loss: a function with its intercept, a dual point with its value, and both together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Point:
    """A function f = sum_i coef_i k(x_i, .), an intercept b, and the product K coef."""

    coef: np.ndarray
    intercept: np.ndarray
    applied: np.ndarray
    error: Any = 0.0
    """By how much the product may be off, for each output, in units of sqrt(k(x_i, x_i)) and beyond its own
    rounding."""

    @property
    def values(self) -> np.ndarray:
        """f(x_i) + b."""
        return self.applied + self.intercept

    @property
    def squared_norm(self) -> float:
        """||f||^2."""
        return max(float(np.vdot(self.coef, self.applied)), 0.0)

    def columns(self) -> list[Point]:
        """One point for each output."""
        parts = zip(self.coef.T, self.intercept, self.applied.T, strict=True)
        return [Point(a[:, None], np.array([b]), c[:, None]) for a, b, c in parts]

    def towards(self, other: Point, step: float) -> Point:
        """The point at fraction ``step`` of the way to another one."""
        a, b, c = ((1 - step) * getattr(self, n) + step * getattr(other, n) for n in ("coef", "intercept", "applied"))
        return Point(a, b, c)


@dataclass(frozen=True)
class DualPoint:
    """A dual point v, sum_i w_i l*(y_i, v_i), and a bound on ||f_v||^2, where f_v has coefficients -w v / strength."""

    v: np.ndarray
    conjugates: float
    squared_norm: float
    strength: float

    @property
    def value(self) -> float:
        """-sum_i w_i l*(y_i, v_i) - (strength / 2) ||f_v||^2."""
        return -self.conjugates - 0.5 * self.strength * self.squared_norm

    @classmethod
    def at(cls, problem: Any, v: np.ndarray, product: Callable[[np.ndarray], np.ndarray]) -> DualPoint:
        """The dual point v, with a function that multiplies by K."""
        coef = -problem.weights * v / problem.strength
        return cls(v, problem.conjugates(v), max(float(np.vdot(coef, product(coef))), 0.0), problem.strength)

    @classmethod
    def of_slopes(cls, problem: Any, point: Point, coef: np.ndarray, applied: np.ndarray) -> DualPoint:
        """The slopes of smooth losses at the values F of a point with the best intercept, where l*(v) = v F - l(F).

        ``coef`` are the coefficients -w v / strength, and ``applied`` is K coef. Its gap is
        ||gradient||^2 / (2 strength).
        """
        v = problem.loss.gradient(problem.y, point.values)
        conjugates = problem.conjugates_of_slopes(point.values) + problem.imbalance(v, point)
        return cls(v, conjugates, max(float(np.vdot(coef, applied)), 0.0), problem.strength)

    @classmethod
    def near(cls, problem: Any, point: Point) -> DualPoint:
        """The dual point of the coefficients, without a product with K.

        With d = a - coef for its coefficients a, ||f_v||^2 = <coef, K coef> + 2 <d, K coef> + <d, K d>, and the last
        term is at most the square of sum_i |d_i| sqrt(k(x_i, x_i)).
        """
        v = problem.dual_variable(point.coef, problem.strength)
        d = -problem.weights * v / problem.strength - point.coef
        last = np.sum((np.abs(d) * np.sqrt(np.abs(problem.diagonal))[:, None]).sum(axis=0) ** 2)
        squared_norm = point.squared_norm + 2.0 * float(np.vdot(d, point.applied)) + float(last)
        return cls(v, problem.conjugates(v), squared_norm, problem.strength)

    def __or__(self, other: DualPoint) -> DualPoint:
        """The one with the higher value."""
        return other if other.value > self.value else self


@dataclass(frozen=True)
class Solution:
    """A point, its objective, the best dual point with its value, and the steps taken."""

    point: Point
    primal: float
    dual: DualPoint
    steps: int
    smo_steps: int = 0
    """SMO steps, which ``steps`` does not count."""
    interior_steps: int = 0
    """Steps of an interior point method, which neither counts."""
    precision: str = "float64"

    @classmethod
    def side_by_side(cls, parts: Sequence[Solution]) -> Solution:
        """The solution for several outputs that do not depend on each other."""
        points, duals = [part.point for part in parts], [part.dual for part in parts]
        arrays = ([getattr(point, name) for point in points] for name in ("coef", "intercept", "applied"))
        sums = sum(dual.conjugates for dual in duals), sum(dual.squared_norm for dual in duals)
        return cls(
            Point(*(np.concatenate(columns, axis=-1) for columns in arrays)),
            sum(part.primal for part in parts),
            DualPoint(np.concatenate([dual.v for dual in duals], axis=1), *sums, duals[0].strength),
            sum(part.steps for part in parts),
            sum(part.smo_steps for part in parts),
            sum(part.interior_steps for part in parts),
        )

    def columns(self) -> list[Solution]:
        """The point and the dual point of each output; values and steps are those of all outputs together."""
        points, v = self.point.columns(), self.dual.v
        return [replace(self, point=point, dual=replace(self.dual, v=v[:, [j]])) for j, point in enumerate(points)]
