"""The multinomial loss of several classes."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp, softmax, xlogy

from representer.losses.base import Loss


class Multinomial(Loss):
    """l(y, f) = log sum_c exp(f_c) - f_y for classes y = 0, 1, ...: minus the log probability, P(c) ~ exp(f_c).

    The last axis of f holds the classes, that of y has length one.
    """

    targets = "classes"
    complete = True

    def outputs(self, y: np.ndarray) -> int:
        return int(y.max()) + 1

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        chosen = np.take_along_axis(f, y.astype(int), axis=-1)
        return logsumexp(f, axis=-1, keepdims=True) - chosen

    def gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return softmax(f, axis=-1) - _indicator(y, f)

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """diag(p) - p p' for each input."""
        p = softmax(f, axis=-1)
        return p[..., None] * (np.eye(p.shape[-1]) - p[..., None, :])

    def conjugate(self, y: np.ndarray, v: np.ndarray) -> np.ndarray:
        p = np.maximum(v + _indicator(y, v), 0.0)
        return xlogy(p, p).sum(axis=-1, keepdims=True)

    def project(self, y: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Probabilities p = v + indicator of y that are not negative and sum to one."""
        p = np.maximum(v + _indicator(y, v), 0.0)
        total = p.sum(axis=-1, keepdims=True)
        p = np.divide(p, total, out=np.full_like(p, 1.0 / p.shape[-1]), where=total > 0)
        return p - _indicator(y, v)

    def balance(self, y: np.ndarray, v: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Probabilities whose weighted sums are those of the classes.

        All are shifted alike, and then mixed with the frequencies of the classes until none is negative.
        """
        indicator = _indicator(y, v)
        p = self.project(y, v) + indicator
        often = (weights * indicator).sum(axis=0) / weights.sum()
        for _ in range(3):
            p = p + often - (weights * p).sum(axis=0) / weights.sum()
        short = np.maximum(-p, 0.0)
        mix = np.max(np.divide(short, often + short, out=np.zeros_like(p), where=short > 0))
        return (1.0 - mix) * p + mix * often - indicator


def _indicator(y: np.ndarray, f: np.ndarray) -> np.ndarray:
    return (y == np.arange(f.shape[-1])).astype(np.float64)
