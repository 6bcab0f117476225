"""Pre-images by a map from H to inputs, learned from the training inputs and their representers."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from representer._parallel import machine_memory
from representer.gram.tiled import Gram
from representer.preimage.target import Target


def learned(target: Target, *, alpha: float = 1e-3, memory: int | None = None) -> np.ndarray:
    """Gamma(f) = mean + sum_i w_i(f) (x_i - mean), w(f) = (L + alpha I)^(-1) l(f): ridge regression from H to inputs.

    The pairs to learn from are (k(x_i, .), x_i), and the kernel on H is l(f, g) = exp(-||f - g||^2 / (2 s^2)), with s
    the typical distance of the representers from their mean. One n x n system is solved for all functions.

    Parameters
    ----------
    target : Target
    alpha : float
        Strength of the ridge; l(f, f) is 1.
    memory : int, optional
        Bytes that the n x n matrix may take; the machine's memory when not given.

    References
    ----------
    Bakir, Weston and Schoelkopf, Learning to find pre-images, NeurIPS 2003.
    """
    n = len(target.inputs)
    budget = machine_memory() if memory is None else memory
    if 8 * n * n > budget:
        raise MemoryError(
            f"method='learned' needs {8 * n * n / 1e9:.3g} GB for {n} x {n} values, above the budget of "
            f"{budget / 1e9:.3g} GB; use another method, fewer training inputs, or a larger memory=."
        )
    L = Gram.of(target.kernel, target.inputs, threads=target.threads).dense().astype(np.float64, copy=False)
    typical = target.diagonal.mean() - L.mean()
    rate = 0.5 / typical if typical > 0 else 0.5
    L *= -2.0
    L += target.diagonal
    L += target.diagonal[:, None]
    L *= -rate
    np.exp(L, out=L)
    L.ravel()[:: n + 1] += alpha
    similar = target.to_training()
    similar *= -rate
    np.exp(similar, out=similar)
    weights = cho_solve(cho_factor(L.T, lower=True, overwrite_a=True, check_finite=False), similar.T).T
    mean = np.asarray(target.X.mean(axis=0), np.float64)
    return weights @ target.X + np.multiply.outer(1.0 - weights.sum(axis=1), mean)
