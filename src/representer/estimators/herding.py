"""A few inputs whose mean embedding is near that of all: kernel herding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from representer.estimators.inputs import check_weights, take, to_kernel
from representer.functions import Function, mean_embedding
from representer.gram.tiled import Gram
from representer.kernels import checks
from representer.kernels.base import require_definite


@dataclass(frozen=True)
class Herd:
    """Inputs in the order in which they were chosen; some may have been chosen twice."""

    indices: np.ndarray
    errors: np.ndarray
    """||mean of all - mean of the first t|| for t = 1, 2, ..."""
    function: Function
    """The mean embedding of the chosen inputs."""


def herding(kernel: Any, X: Any, n_points: int, *, weights: Any = None, threads: int | None = None) -> Herd:
    """Choose x_t to minimise ||mean of all k(x, .) - (k(x_1, .) + ... + k(x_t, .)) / t||, for t = 1, 2, ...

    Each step is greedy: x_{t + 1} minimises k(x, x) / 2 + sum_s k(x_s, x) - (t + 1) mu(x), mu the mean of all. The
    error decreases about as 1 / t, where that of a random sample decreases as 1 / sqrt(t). It takes one product with
    the kernel matrix of X, which is not stored, and one of its rows per step.

    Parameters
    ----------
    kernel : Kernel or str
        On inputs of any type. Length scales that are not given are chosen from X.
    X : inputs of the kernel
    n_points : int
    weights : array of shape (n,), optional
        Weights of the inputs in the mean of all.
    threads : int, optional

    References
    ----------
    Chen, Welling and Smola, Super-samples from kernel herding, UAI 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from representer import herding
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> herd = herding("rbf", X, 20)
    >>> X[herd.indices].shape, bool(herd.errors[-1] < 0.05)
    ((20, 2), True)
    """
    checks.integer(n_points, "n_points")
    if threads is not None:
        checks.integer(threads, "threads")
    w = check_weights(weights, X)
    kernel = to_kernel(kernel).with_default_scales(X, w)
    require_definite(kernel, "a mean embedding")
    K = Gram(kernel, X, threads=threads)
    share = np.full(len(K), 1.0 / len(K)) if w is None else w / w.sum()
    mu = K @ share
    half, chosen_sum = K.diag().astype(np.float64) / 2, np.zeros(len(K))
    indices, errors = np.empty(n_points, np.int64), np.empty(n_points)
    whole, cross, square = float(share @ mu), 0.0, 0.0
    for t in range(n_points):
        i = int(np.argmin(half + chosen_sum - (t + 1) * mu))
        cross += mu[i]
        square += 2.0 * (chosen_sum[i] + half[i])
        chosen_sum += K.rows([i])[0]
        indices[t], errors[t] = i, np.sqrt(max(whole - 2.0 * cross / (t + 1) + square / (t + 1) ** 2, 0.0))
    return Herd(indices, errors, mean_embedding(kernel, take(X, indices, kernel)))
