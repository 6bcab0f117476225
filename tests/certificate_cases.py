"""Random fits with hostile weights, scales and duplicates, each with the same problem from a textbook."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import textbook_losses as textbook
from textbook_box import Box
from textbook_machine import Machine

from representer import (
    SVC,
    SVR,
    KernelLogisticRegression,
    KernelMachine,
    KernelQuantileRegression,
    NuSVC,
    NuSVR,
    OneClassSVM,
    losses,
    regularizers,
)
from representer.kernels import RBF, ArcCosine, Laplacian, Linear, Matern, Polynomial, RationalQuadratic

TOLERANCES = (1e-3, 1e-4, 1e-6, 1e-8)


@dataclass(frozen=True)
class Fit:
    """An estimator with what it is to be fitted to, and the same problem on K.

    For support vector machines `problem` is a list of box duals, and `solution` reads (c, b) of each from the model,
    without b where the offsets of the boundary are not returned as they were certified.
    """

    kind: str
    model: Any
    data: tuple
    weights: np.ndarray | None
    problem: Any
    solution: Callable | None = None

    def run(self):
        return self.model.fit(*self.data, sample_weight=self.weights)


def draw_kernel(rng, X):
    """A kernel of a scale between 1e-6 and 1e6, its inputs, and K; sometimes K itself."""
    length = 10.0 ** rng.uniform(-0.7, 0.7)
    kernel = [
        RBF(length),
        Laplacian(length),
        Matern(length, nu=2.5),
        RationalQuadratic(length),
        Linear(),
        Polynomial(2),
        ArcCosine(),
    ][rng.integers(7)]
    if rng.random() < 0.6:
        kernel = 10.0 ** rng.uniform(-6, 6) * kernel
    K = kernel(X)
    return ("precomputed", K, K) if rng.random() < 0.15 else (kernel, X, K)


def draw_inputs(rng, largest):
    """n inputs, n from 2 on and mostly small; a third of the time with copies."""
    n = round(2.0 * (largest / 2.0) ** rng.random())
    X = rng.normal(size=(n, rng.integers(1, 4)))
    if rng.random() < 0.33:
        X = X[rng.integers(max(1, n // 2), size=n)]
    return X


def draw_weights(rng, n):
    """None, about one, with zeros, over ten decades, or both."""
    how = rng.integers(5)
    if how == 0:
        return None
    w = 10.0 ** rng.uniform(-4, 6, n) if how > 2 else rng.uniform(0.2, 2.0, n)
    if how in (2, 4):
        w[rng.random(n) < 0.3] = 0.0
        w[:2] = np.maximum(w[:2], 1e-4)  # some are left, of two classes
    return w


# ---- kernel machines ----


def draw_loss(rng):
    """(loss of the library, losses of the textbook, kind of targets, factor of the targets)."""
    level, width = float(rng.uniform(0.05, 0.95)), float(10.0 ** rng.uniform(-2, 0.5))
    levels = sorted(rng.uniform(0.05, 0.95, 2).tolist())
    cosh = losses.CustomLoss(lambda y, f: np.logaddexp(f - y, y - f) - np.log(2), lambda y, f: np.tanh(f - y))
    table = [
        (losses.Squared(), (textbook.squared(),), "real"),
        (losses.Absolute(), (textbook.absolute(),), "real"),
        (losses.Huber(width), (textbook.huber(width),), "real"),
        (losses.EpsilonInsensitive(0.3 * width), (textbook.epsilon_insensitive(0.3 * width),), "real"),
        (losses.Pinball(level), (textbook.pinball(level),), "real"),
        (losses.Pinball(levels), tuple(textbook.pinball(q) for q in levels), "real"),
        (losses.Expectile(level), (textbook.expectile(level),), "real"),
        (cosh, (textbook.log_cosh(),), "real"),
        (losses.Poisson(), (textbook.poisson(),), "counts"),
        (losses.Hinge(), (textbook.hinge(),), "signs"),
        (losses.SquaredHinge(), (textbook.squared_hinge(),), "signs"),
        (losses.Logistic(), (textbook.logistic(),), "signs"),
        (losses.Exponential(), (textbook.exponential(),), "signs"),
        (losses.Multinomial(), textbook.Multinomial(), "classes"),
    ]
    return table[rng.integers(len(table))]


def draw_targets(rng, X, kind):
    f = np.sin(2 * X[:, 0]) + rng.choice([0.1, 0.5]) * rng.normal(size=len(X))
    if kind == "real":
        return (f + rng.choice([0.0, 10.0])) * (10.0 ** rng.uniform(-3, 3) if rng.random() < 0.3 else 1.0)
    if kind == "counts":
        y = rng.poisson(np.exp(f)).astype(float)
        y[0] = max(y[0], 1.0)
        return y
    y = np.digitize(f, [0.0] if kind == "signs" else [-0.5, 0.5])
    y[:2] = 0, 1
    y = np.unique(y, return_inverse=True)[1].astype(float)  # all classes up to the last one
    return 2.0 * y - 1.0 if kind == "signs" else y


def draw_penalty(rng, total, K, spread):
    """A regulariser, which may hardly matter or leave next to nothing, and the same one from the textbook."""
    size, factor = max(np.sqrt(float(np.mean(K.diagonal()))), 1e-150), 10.0 ** rng.uniform(-7, 1)
    strength = float(total * size**2 * factor)  # about where the norm begins to matter, if targets are about one
    slope, radius = float(total * size * factor), float(spread / size * 10.0 ** rng.uniform(-2, 1.5))
    p = float(rng.choice([1.5, 3.0]))
    pick = rng.integers(20)
    if pick < 10:
        return regularizers.SquaredNorm(strength), textbook.squared_norm(strength)
    if pick < 12:
        return regularizers.Norm(slope), textbook.norm(slope)
    if pick < 14:
        power = float(slope * size ** (p - 1))
        return regularizers.Power(power, p), textbook.power(power, p)
    if pick < 17:
        return regularizers.Ball(radius), textbook.ball(radius)
    own = textbook.elastic(slope, strength) if pick < 19 else textbook.logarithm(slope)
    return regularizers.CustomRegularizer(own.value, own.slope, convex=own.convex), own


def machine(seed, largest=300):
    """A kernel machine with a random loss, regulariser, kernel, weights and tolerance."""
    rng = np.random.default_rng([seed, 1])
    loss, own, kind = draw_loss(rng)
    largest = min(largest, 80) if kind == "classes" else largest
    X = draw_inputs(rng, max(largest, 3))
    y, weights, (kernel, inputs, K) = draw_targets(rng, X, kind), draw_weights(rng, len(X)), draw_kernel(rng, X)
    if kind == "classes" and weights is not None:
        weights = np.maximum(weights, 1e-4)
    w = np.ones(len(y)) if weights is None else weights
    spread = max(float(np.std(y)), 1e-3) if kind == "real" else 1.0
    regularizer, penalty = draw_penalty(rng, float(w.mean()), K, spread)
    intercept, tol = bool(rng.random() < 0.6), float(rng.choice(TOLERANCES))
    steps = 1000 if isinstance(loss, losses.CustomLoss) else 100  # of L-BFGS, or of Newton's method
    common = {"kernel": kernel, "fit_intercept": intercept, "tol": tol, "max_iter": steps}
    model = KernelMachine(loss=loss, regularizer=regularizer, **common)
    if penalty.strength is not None and rng.random() < 0.5:
        if isinstance(loss, losses.Pinball):
            model = KernelQuantileRegression(loss.quantile, alpha=penalty.strength, **common)
        elif isinstance(loss, losses.Logistic | losses.Multinomial):
            model = KernelLogisticRegression(C=1.0 / penalty.strength, **common)
            if isinstance(loss, losses.Multinomial) and y.max() < 2:
                own, y = (textbook.logistic(),), 2.0 * y - 1.0
    kind = f"{type(loss).__name__} + {type(regularizer).__name__}"
    return Fit(kind, model, (inputs, y), weights, Machine(K, y, w, own, penalty, intercept))


# ---- support vector machines ----


def dual(seed, largest=300):
    """A support vector machine of a random kind, one in six of them with a cubic kernel on inputs far from zero."""
    rng = np.random.default_rng([seed, 2])
    make = [svc, svr, one_class, nu_svc, nu_svr, classes][rng.integers(6)]
    if rng.random() < 1 / 6:
        X = rng.normal(size=(rng.integers(6, 13), 2)) + rng.choice([100, 200, 400])
        kernel, inputs, K = Polynomial(), X, Polynomial()(X)
    else:
        X = draw_inputs(rng, largest if make is not classes else min(largest, 100))
        X = X if len(X) > 5 else rng.normal(size=(6, 2))
        kernel, inputs, K = draw_kernel(rng, X)
    weights = draw_weights(rng, len(X))
    common = {"kernel": kernel, "tol": float(rng.choice([1e-3, 1e-5, 1e-8])), "max_iter": 10**6}
    return make(rng, X, inputs, K, weights, common)


def draw_cost(rng, K, w):
    """C from where the norm rules to where the losses do, or any."""
    typical = 1.0 if rng.random() < 0.3 else max(float(w.mean() * np.mean(K.diagonal())), 1e-300)
    return float(10.0 ** rng.uniform(-3, 3) / typical)


def ones_like(weights, X):
    return np.ones(len(X)) if weights is None else weights


def supported(model, n, row=0):
    """Coefficients of all samples from those of the support vectors."""
    c = np.zeros(n)
    c[model.support_] = model.dual_coef_[row]
    return c


def svc(rng, X, inputs, K, weights, common):
    y, w = draw_targets(rng, X, "signs"), ones_like(weights, X)
    most = (C := draw_cost(rng, K, w)) * w
    box = Box(K, y, np.where(y > 0, 0.0, -most), np.where(y > 0, most, 0.0))
    return Fit("SVC", SVC(C, **common), (inputs, y), weights, [box], lambda m: [(supported(m, len(y)), m.intercept_)])


def svr(rng, X, inputs, K, weights, common):
    y, w = draw_targets(rng, X, "real"), ones_like(weights, X)
    epsilon = float(rng.choice([0.0, 0.1]) * np.std(y))
    C = float(draw_cost(rng, K, w) * max(np.std(y), 1e-3))
    box = Box(K, y, -C * w, C * w, epsilon)
    model = SVR(C, epsilon=epsilon, **common)
    return Fit("SVR", model, (inputs, y), weights, [box], lambda m: [(supported(m, len(y)), m.intercept_)])


def one_class(rng, X, inputs, K, weights, common):
    nu, w = float(rng.uniform(0.05, 1.0)), ones_like(weights, X)
    box = Box(K, np.zeros(len(w)), np.zeros(len(w)), w, sums=[nu * w.sum()])
    model = OneClassSVM(nu, **common)
    return Fit("OneClassSVM", model, (inputs,), weights, [box], lambda m: [(supported(m, len(w)), m.intercept_)])


def nu_svc(rng, X, inputs, K, weights, common):
    y, w = draw_targets(rng, X, "signs"), ones_like(weights, X)
    largest = 2.0 * min(w[y > 0].sum(), w[y < 0].sum()) / w.sum()
    nu = float(rng.uniform(0.05, 0.999) * largest)
    total = nu * w.sum()
    lower, upper = np.where(y > 0, 0.0, -w), np.where(y > 0, w, 0.0)
    box = Box(K, 0.0 * y, lower, upper, sums=[total / 2, -total / 2], group=(y < 0).astype(int))

    def read(model):
        """Coefficients not divided by the margin, so that their absolute values have the right sum."""
        c = supported(model, len(y))
        return [(c * (total / max(float(np.abs(c).sum()), 1e-300)), None)]

    return Fit("NuSVC", NuSVC(nu, **common), (inputs, y), weights, [box], read)


def nu_svr(rng, X, inputs, K, weights, common):
    y, w = draw_targets(rng, X, "real"), ones_like(weights, X)
    nu, C = float(rng.uniform(0.05, 1.0)), float(draw_cost(rng, K, w) * max(np.std(y), 1e-3))
    n, most, half = len(y), C * w, 0.5 * nu * C * float(w.sum())
    twice, none = np.tile(np.arange(n), 2), np.zeros(n)
    lower, upper = np.concatenate([none, -most]), np.concatenate([most, none])
    box = Box(K, y[twice], lower, upper, sums=[half, -half], group=np.repeat([0, 1], n), rows=twice)

    def read(model):
        """Each coefficient as its positive and its negative part, both with as much more as the sums ask for.

        How much both have in common is not returned; without a tube it may be a lot.
        """
        c = supported(model, n)
        up, down = np.maximum(c, 0.0), np.maximum(-c, 0.0)
        room, more = np.minimum(most - up, most - down), half - float(up.sum() + down.sum()) / 2.0
        extra = room * min(more / max(float(room.sum()), 1e-300), 1.0) if more > 1e-9 * half else 0.0
        return [(np.concatenate([up + extra, -down - extra]), None)]

    return Fit("NuSVR", NuSVR(nu, C, **common), (inputs, y), weights, [box], read)


def classes(rng, X, inputs, K, weights, common):
    """SVC with three classes: a machine for each pair."""
    y = np.digitize(np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=len(X)), [-0.5, 0.5])
    y[:3] = 0, 1, 2
    weights = None if weights is None else np.maximum(weights, 1e-4)
    w = ones_like(weights, X)
    C, pairs = draw_cost(rng, K, w), [(0, 1), (0, 2), (1, 2)]
    rows = [np.flatnonzero((y == a) | (y == b)) for a, b in pairs]
    boxes = []
    for (a, _), own in zip(pairs, rows, strict=True):
        sign, most = np.where(y[own] == a, 1.0, -1.0), C * w[own]
        boxes.append(Box(K[np.ix_(own, own)], sign, np.minimum(sign * most, 0.0), np.maximum(sign * most, 0.0)))

    def read(model):
        """Coefficients of class a against b stand in row b - 1 for a < b, and those of b in row a."""
        table = np.stack([supported(model, len(y), row) for row in range(2)])
        found = []
        for s, ((a, b), own) in enumerate(zip(pairs, rows, strict=True)):
            found.append((np.where(y[own] == a, table[b - 1, own], table[a, own]), model.intercept_[s : s + 1]))
        return found

    return Fit("SVC of 3", SVC(C, **common), (inputs, y), weights, boxes, read)


# ---- Gaussian processes ----


def process(seed, largest=1500):
    """Kernel, noise, inputs and targets of a Gaussian process, from smooth and certain to rough and noisy."""
    rng = np.random.default_rng([seed, 3])
    n, columns = int(rng.integers(200, largest + 1)), int(rng.integers(1, 5))
    X = rng.normal(size=(n, columns))
    length = float(10.0 ** rng.uniform(-1, 0.5))
    family = [RBF(length), Laplacian(length), Matern(length, nu=1.5), Matern(length, nu=2.5), RationalQuadratic(length)]
    kernel = float(10.0 ** rng.uniform(-1, 1)) * family[rng.integers(5)]
    y = np.sin(3 * X).sum(axis=1) + 0.1 * rng.normal(size=n)
    return kernel, float(10.0 ** rng.uniform(-4, 0)), X, y
