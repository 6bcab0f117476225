"""Laws of losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from representer.losses.base import Loss
from representer.testing.closeness import close


def check_loss(loss: Loss, y: Any, f: Any) -> None:
    """Convex, with correct derivatives, and with a conjugate that satisfies the Fenchel-Young inequality.

    Parameters
    ----------
    loss : Loss
    y : array of shape (n,)
        Targets that the loss is for.
    f : array of shape (n,) or (n, n_outputs)
        Values at which a smooth loss has a second derivative.
    """
    loss.check()
    y, f = np.asarray(y, np.float64).reshape(-1, 1), np.asarray(f, np.float64)
    f = f.reshape(len(y), -1)
    rng = np.random.default_rng(0)
    other = f + rng.normal(size=f.shape)
    value, slope = loss.value(y, f), loss.gradient(y, f)
    size = 1.0 + np.abs(value).max() + np.abs(loss.value(y, other)).max()
    assert slope.shape == f.shape, f"the gradient has shape {slope.shape} for values of shape {f.shape}"
    if loss.convex:
        middle = loss.value(y, 0.3 * f + 0.7 * other) - 0.3 * value - 0.7 * loss.value(y, other)
        assert middle.max() <= 1e-12 * size, "the loss is not convex"
        below = np.sum(value) + np.vdot(slope, other - f) - np.sum(loss.value(y, other))
        assert below <= 1e-12 * size * f.size, "the gradient is not a subgradient"
    if loss.smooth:
        _check_slope(lambda f: loss.value(y, f), slope, f, "gradient() is not the derivative of value()")
    else:
        _check_envelope(loss, y, f, value)
    if loss.complete:
        _check_dual(loss, y, f, other, size)
        if loss.smooth:
            curvature = loss.curvature(y, f)
            curvature = curvature if curvature.ndim == 3 else curvature[:, :, None] * np.eye(f.shape[1])
            assert np.linalg.eigvalsh(curvature).min() >= -1e-12 * size, "a curvature is negative"
            direction = rng.normal(size=f.shape)
            expected = _along(lambda f: loss.gradient(y, f), f, direction)
            actual = np.einsum("nij,nj->ni", curvature, direction)
            close(actual, expected, 1e-7 * size, "curvature() is not the derivative of gradient()")


def _along(function: Callable[[np.ndarray], np.ndarray], f: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """The directional derivative."""
    weights = {1: 45.0, 2: -9.0, 3: 1.0}
    step = 1e-4
    parts = [w * (function(f + m * step * direction) - function(f - m * step * direction)) for m, w in weights.items()]
    return np.sum(parts, axis=0) / (60.0 * step)


def _check_slope(value: Callable, slope: np.ndarray, f: np.ndarray, law: str) -> None:
    direction = np.random.default_rng(1).normal(size=f.shape)
    expected = float(np.sum(_along(value, f, direction)))
    close(np.vdot(slope, direction), expected, 1e-7 * (1.0 + np.abs(slope).sum()), law)


def _check_dual(loss: Loss, y: np.ndarray, f: np.ndarray, other: np.ndarray, size: float) -> None:
    """l(f) + l*(v) >= v f, with equality at v = l'(f); `project` and `balance` make points feasible."""
    slope = loss.gradient(y, f)
    close(loss.project(y, slope), slope, 1e-12 * size, "the gradient is outside the domain of the conjugate")

    def young(f: np.ndarray, v: np.ndarray) -> np.ndarray:
        return loss.value(y, f).sum(axis=1) + loss.conjugate(y, v).sum(axis=1) - np.sum(v * f, axis=1)

    close(young(f, slope), 0.0, 1e-11 * size, "l(f) + l*(v) is not v f at the gradient v")
    v = loss.project(y, slope + np.random.default_rng(2).normal(size=f.shape))
    assert min(young(f, v).min(), young(other, v).min()) >= -1e-12 * size, "l(f) + l*(v) is below v f"
    close(loss.project(y, v), v, 1e-14 * size, "a point of the domain is moved by project()")
    weights = np.random.default_rng(3).uniform(0.5, 2.0, (len(y), 1))
    if len(np.unique(y)) > 1:
        v = loss.balance(y, v, weights)
        close(loss.project(y, v), v, 1e-12 * size, "balance() leaves the domain")
        close(np.sum(weights * v, axis=0), 0.0, 1e-11 * size * len(y), "balance() does not make the sum zero")


def _check_envelope(loss: Loss, y: np.ndarray, f: np.ndarray, value: np.ndarray) -> None:
    """A loss with kinks has a smooth envelope below it, at most mu v^2 / 2 away."""
    for mu in (1e-3, 0.3):
        below, v, _ = loss.envelope(y, f, mu)
        assert np.all(below <= value + 1e-12), "the envelope is above the loss"
        lost = value - below - 0.5 * mu * loss.gradient(y, f) ** 2
        assert np.all(lost <= 1e-12), "the envelope is too far below the loss"
        _check_slope(lambda f, mu=mu: loss.envelope(y, f, mu)[0], v, f, "envelope()[1] is not the derivative of [0]")
