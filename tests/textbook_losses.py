"""Losses and regularisers written from their formulas, without a line of the library, to judge it by.

A loss is l(y, F) with slope, curvature and conjugate l*(y, v) = max over F of v F - l(y, F); a penalty is R(t) with its
slope and conjugate. Values keep the precision of F, so that objectives can be summed in long double.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

UNIT = 2.0**-53
"""The relative rounding error of one operation in float64."""


def no_box(y):
    """Losses whose dual is no box."""
    return None


@dataclass(frozen=True)
class Loss:
    """l(y, F) elementwise: value, (slope, curvature), conjugate, and for piecewise linear l (lower, upper, epsilon)."""

    name: str
    value: Callable
    derivatives: Callable
    conjugate: Callable
    box: Callable = no_box
    rounding: float = 0.0
    """What float64 loses of a value, or of a conjugate, that is a small difference of numbers about one."""

    def spread(self, y, F, error):
        """The most by which l changes where each F is wrong by at most its error: l is convex, so at an end."""
        here = self.value(y, F)
        with np.errstate(over="ignore", invalid="ignore"):
            up, down = self.value(y, F + error) - here, self.value(y, F - error) - here
            return np.maximum(np.abs(up), np.abs(down)) + self.rounding


def entropy(p):
    """p log p, 0 at 0."""
    return np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0)), 0.0)


def sigmoid(x):
    return np.where(x >= 0, 1.0, np.exp(np.minimum(x, 0.0))) / (1.0 + np.exp(-np.abs(x)))


def squared():
    return Loss(
        "Squared",
        lambda y, F: (F - y) ** 2 / 2,
        lambda y, F: (F - y, np.ones_like(F)),
        lambda y, v: v * y + v**2 / 2,
    )


def huber(delta):
    def value(y, F):
        r = np.abs(F - y)
        return np.where(r <= delta, r**2 / 2, delta * (r - delta / 2))

    return Loss(
        f"Huber({delta})",
        value,
        lambda y, F: (np.clip(F - y, -delta, delta), 1.0 * (np.abs(F - y) < delta)),
        lambda y, v: np.where(np.abs(v) <= delta, v * y + v**2 / 2, np.inf),
    )


def expectile(level):
    def factor(negative):
        return np.where(negative, level, 1.0 - level)

    return Loss(
        f"Expectile({level})",
        lambda y, F: factor(y > F) * (F - y) ** 2,
        lambda y, F: (2 * factor(y > F) * (F - y), 2 * factor(y > F)),
        lambda y, v: v * y + v**2 / (4 * factor(v < 0)),
    )


def log_cosh():
    return Loss(
        "log cosh",
        lambda y, F: np.logaddexp(F - y, y - F) - np.log(2.0),
        lambda y, F: (np.tanh(F - y), 1.0 - np.tanh(F - y) ** 2),
        lambda y, v: np.where(np.abs(v) <= 1, v * y + (entropy(1 + v) + entropy(1 - v)) / 2, np.inf),
        rounding=4.0 * UNIT,
    )


def poisson():
    def rates(F):
        with np.errstate(over="ignore"):
            return np.exp(F)

    return Loss(
        "Poisson",
        lambda y, F: rates(F) - y * F,
        lambda y, F: (rates(F) - y, rates(F)),
        lambda y, v: np.where(v >= -y, entropy(v + y) - (v + y), np.inf),
    )


def exponential():
    def value(y, F):
        with np.errstate(over="ignore"):
            return np.exp(-y * F)

    return Loss(
        "Exponential",
        value,
        lambda y, F: (-y * value(y, F), value(y, F)),
        lambda y, v: np.where(y * v <= 0, entropy(np.abs(v)) - np.abs(v), np.inf),
    )


def logistic():
    def conjugate(y, v):
        p = -y * v
        return np.where((p >= 0) & (p <= 1), entropy(p) + entropy(1.0 - p), np.inf)

    return Loss(
        "Logistic",
        lambda y, F: np.logaddexp(np.zeros_like(F), -y * F),
        lambda y, F: (-y * sigmoid(-y * F), sigmoid(F) * sigmoid(-F)),
        conjugate,
        rounding=4.0 * UNIT,
    )


def squared_hinge():
    return Loss(
        "SquaredHinge",
        lambda y, F: np.maximum(1 - y * F, 0) ** 2 / 2,
        lambda y, F: (-y * np.maximum(1 - y * F, 0), 1.0 * (y * F < 1)),
        lambda y, v: np.where(y * v <= 0, v * y + v**2 / 2, np.inf),
    )


def piecewise_linear(name, box):
    """l(y, F) = max over lower <= v <= upper of v (F - y) - epsilon |v|."""

    def value(y, F):
        lower, upper, epsilon = box(y)
        return np.maximum(np.maximum(upper * (F - y - epsilon), lower * (F - y + epsilon)), 0)

    def conjugate(y, v):
        lower, upper, epsilon = box(y)
        return np.where((lower <= v) & (v <= upper), v * y + epsilon * np.abs(v), np.inf)

    def derivatives(y, F):
        lower, upper, epsilon = box(y)
        return upper * (F - y > epsilon) + lower * (F - y < -epsilon), np.zeros_like(F)

    return Loss(name, value, derivatives, conjugate, box)


def pinball(quantile):
    return piecewise_linear(f"Pinball({quantile})", lambda y: (0 * y - quantile, 0 * y + 1 - quantile, 0.0))


def epsilon_insensitive(epsilon):
    return piecewise_linear(f"EpsilonInsensitive({epsilon})", lambda y: (0 * y - 1, 0 * y + 1, epsilon))


def absolute():
    return piecewise_linear("Absolute", lambda y: (0 * y - 1, 0 * y + 1, 0.0))


def hinge():
    return piecewise_linear("Hinge", lambda y: (np.minimum(-y, 0.0), np.maximum(-y, 0.0), 0.0))


@dataclass(frozen=True)
class Multinomial:
    """l(y, F) = log sum_c exp(F_c) - F_y for classes y = 0, 1, ...; F has a column for each class."""

    name: str = "Multinomial"

    def indicator(self, y, F):
        return 1.0 * (y[:, None] == np.arange(F.shape[1]))

    def value(self, y, F):
        top = F.max(axis=1)
        return top + np.log(np.exp(F - top[:, None]).sum(axis=1)) - F[np.arange(len(F)), y.astype(int)]

    def probabilities(self, F):
        p = np.exp(F - F.max(axis=1, keepdims=True))
        return p / p.sum(axis=1, keepdims=True)

    def slope(self, y, F):
        return self.probabilities(F) - self.indicator(y, F)

    def conjugate(self, y, v):
        return entropy(np.maximum(v + self.indicator(y, v), 0.0)).sum(axis=1)

    def spread(self, y, F, error):
        """The true class lowered and all others raised, or the other way round."""
        side, here = 1.0 - 2.0 * self.indicator(y, F), self.value(y, F)
        up, down = self.value(y, F + side * error) - here, here - self.value(y, F - side * error)
        # log sum_c exp(F_c) - F_y is a small difference
        return np.maximum(up, down) + 8.0 * UNIT * (1.0 + np.abs(F).max(axis=1))


@dataclass(frozen=True)
class Penalty:
    """R(t): value, slope, conjugate R*(s), the largest slope of finite conjugate, and the largest t of finite R."""

    name: str
    value: Callable
    slope: Callable
    conjugate: Callable
    largest_slope: float = np.inf
    largest: float = np.inf
    strength: float | None = None
    convex: bool = True


def squared_norm(strength):
    return Penalty(
        f"SquaredNorm({strength:.3g})",
        lambda t: strength * t**2 / 2,
        lambda t: strength * t,
        lambda s: s**2 / (2 * strength),
        strength=strength,
    )


def norm(strength):
    return Penalty(
        f"Norm({strength:.3g})", lambda t: strength * t, lambda t: strength, lambda s: 0.0 * s, largest_slope=strength
    )


def power(strength, p):
    q = p / (p - 1)
    return Penalty(
        f"Power({strength:.3g}, {p})",
        lambda t: strength * t**p / p,
        lambda t: strength * t ** (p - 1),
        lambda s: strength * (s / strength) ** q / q,
    )


def ball(radius):
    return Penalty(f"Ball({radius:.3g})", lambda t: 0 * t, lambda t: 0.0, lambda s: radius * s, largest=radius)


def elastic(kink, strength):
    """kink t + strength t^2 / 2."""
    return Penalty(
        f"elastic({kink:.3g}, {strength:.3g})",
        lambda t: kink * t + strength * t**2 / 2,
        lambda t: kink + strength * t,
        lambda s: max(s - kink, 0.0) ** 2 / (2 * strength),
    )


def logarithm(strength):
    """strength log(1 + t), which is not convex."""
    return Penalty(
        f"logarithm({strength:.3g})",
        lambda t: strength * np.log1p(t),
        lambda t: strength / (1 + t),
        lambda s: np.inf,
        convex=False,
    )
