"""The multinomial logistic loss for several classes."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax, xlog1py, xlogy

from representer.losses.base import Loss


class Multinomial(Loss):
    """l(y, f) = log sum_c exp(f_c) - f_y for classes y = 0, 1, ...: minus the log probability, P(c) ~ exp(f_c).

    The last axis of f holds the classes; that of y has length one. Slopes v are p - 1 for class y and p for the others,
    where p are the class probabilities. Where y is all but certain, p - 1 is computed to full precision, as minus the
    sum of the others.
    """

    targets = "classes"
    complete = True
    relative = True

    def outputs(self, y: np.ndarray) -> int:
        return int(y.max()) + 1

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """m + log(exp(-m) + sum over other classes c of exp(f_c - f_y - m)), where m is the largest difference or zero.

        The small loss of a class that is all but certain has full precision.
        """
        own = _indicator(y, f)
        ahead = np.where(own > 0.0, -np.inf, f - np.take_along_axis(f, y.astype(int), axis=-1))
        m = np.maximum(ahead.max(axis=-1, keepdims=True), 0.0)
        others = np.exp(ahead - m).sum(axis=-1, keepdims=True)
        return m + np.where(m > 0.0, np.log(np.exp(-m) + others), np.log1p(others))

    def gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return _slopes(y, softmax(f, axis=-1))

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """diag(p) - p p' for each input."""
        p = softmax(f, axis=-1)
        return p[..., None] * (np.eye(p.shape[-1]) - p[..., None, :])

    def conjugate(self, y: np.ndarray, v: np.ndarray) -> np.ndarray:
        own, v = _indicator(y, v), np.maximum(v, -_indicator(y, v))
        terms = np.where(own > 0.0, xlog1py(1.0 + v, v), xlogy(v, v))
        return terms.sum(axis=-1, keepdims=True)

    def project(self, y: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Probabilities p = v + indicator of y that are nonnegative and sum to one."""
        p = np.maximum(v + _indicator(y, v), 0.0)
        total = p.sum(axis=-1, keepdims=True)
        return _slopes(y, np.divide(p, total, out=np.full_like(p, 1.0 / p.shape[-1]), where=total > 0))

    def balance(self, y: np.ndarray, v: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Probabilities whose weighted sums match the class frequencies.

        All are shifted equally, and then mixed with the class frequencies until none is negative.
        """
        indicator, share = _indicator(y, v), weights / weights.sum()
        v, often = self.project(y, v), (share * indicator).sum(axis=0)
        for _ in range(3):
            v = v - (share * v).sum(axis=0)
        short = np.maximum(-indicator - v, 0.0)
        mix = np.max(np.divide(short, often + short, out=np.zeros_like(v), where=short > 0))
        return (1.0 - mix) * v + mix * _slopes(y, np.broadcast_to(often, v.shape))


def _slopes(y: np.ndarray, p: np.ndarray) -> np.ndarray:
    """p - indicator of y."""
    own = _indicator(y, p) > 0.0
    others = np.where(own, 0.0, p)
    return np.where(own, -others.sum(axis=-1, keepdims=True), others)


def _indicator(y: np.ndarray, f: np.ndarray) -> np.ndarray:
    return (y == np.arange(f.shape[-1])).astype(np.float64)
