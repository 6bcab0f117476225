"""Laws of kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from representer.gram.tiled import Gram
from representer.kernels import checks
from representer.kernels.base import Kernel
from representer.testing.closeness import close


def check_kernel(kernel: Kernel, X: Any, *, gradients: bool = True) -> None:
    """Symmetric, positive semidefinite, the same by blocks and in any order, with correct derivatives.

    Parameters
    ----------
    kernel : Kernel
    X : inputs of the kernel, at least four
        Rows of numbers, a data frame, or a list of objects. For gradients, no two rows of numbers may be equal, and
        hyper-parameters must be inside their ranges.
    gradients : bool
        Whether to compare `contract` and, on vectors, `input_gradient` with finite differences.
    """
    n = len(kernel.prepare(X))
    K = kernel(X)
    size = max(np.abs(K).max(), np.finfo(K.dtype).tiny)
    eps = np.finfo(K.dtype).eps
    assert K.shape == (n, n), f"k(X) has shape {K.shape} for {n} inputs"
    assert np.array_equal(K, K.T), "k(X) is not exactly symmetric"
    close(kernel.diag(X), K.diagonal(), 20 * eps * size, "diag(X) is not the diagonal of k(X)")
    close(kernel(X, X), K, 200 * eps * size, "k(X, X) differs from k(X)")
    if kernel.definite:
        smallest = np.linalg.eigvalsh(K.astype(np.float64))[0]
        assert smallest >= -50 * n * eps * size, f"a positive semidefinite kernel has the eigenvalue {smallest:.3g}"
    gram = Gram(kernel, X)
    order = np.random.default_rng(0).permutation(n)
    reordered = gram.take(order).dense()
    close(reordered, K[np.ix_(order, order)], 200 * eps * size, "the order of the inputs matters")
    half = gram.block(slice(0, n // 2), slice(n // 2, n))
    close(half, K[: n // 2, n // 2 :], 200 * eps * size, "a block differs from the whole")
    if not kernel.precomputed:
        _check_halves(kernel, X, K, size)
    assert clone(kernel) == kernel, "clone(kernel) is not equal to the kernel"
    if kernel.radial is not None:
        _check_radial(kernel, kernel.prepare(X), K, size)
    if gradients:
        _check_contract(kernel, X, size)
        # rows of a precomputed Gram matrix are not vectors, and mean nothing without the other rows
        rows = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype == np.float64 and kernel.rowwise
        if rows and (kernel.on_vectors or _has_input_gradient(kernel, X)):
            _check_input_gradient(kernel, X, size)


def _check_halves(kernel: Kernel, X: Any, K: np.ndarray, size: float) -> None:
    """Inputs prepared separately, such as strings with words that the others lack, give the same values."""
    n, eps = len(K), np.finfo(K.dtype).eps
    first, second = (checks.take(X, rows) for rows in (np.arange(n // 2), np.arange(n // 2, n)))
    close(kernel(first, second), K[: n // 2, n // 2 :], 200 * eps * size, "k(X, Y) differs from a block of k(X)")
    close(kernel.diag(first), K.diagonal()[: n // 2], 20 * eps * size, "k(x, x) depends on the other inputs")
    A = kernel.prepare(first, like=kernel.prepare(second))
    close(kernel.diagonal(A), K.diagonal()[: n // 2], 20 * eps * size, "k(x, x) depends on what x is paired with")


def _has_input_gradient(kernel: Kernel, X: np.ndarray) -> bool:
    try:
        kernel.input_gradient(X[:1], X[1:2], np.ones((1, 1)))
    except TypeError:
        return False
    return True


def _check_radial(kernel: Kernel, A: Any, K: np.ndarray, size: float) -> None:
    """The distance in H increases with that of inputs, from which it and the logarithm of k are computed."""
    radial: Any = kernel.radial
    apart, eps = np.empty(K.shape, A.dtype), np.finfo(K.dtype).eps
    radial.fill(A, A, apart)
    own = kernel.diagonal(A)
    squares = own[:, None] + own - 2.0 * K
    close(radial.squared(apart), squares, 200 * eps * size, "radial.squared() is not the squared distance in H")
    rising = radial.squared(np.sort(apart, axis=None))
    assert np.diff(rising).min() >= -50 * eps * size, "the distance in H does not rise with that of inputs"
    if radial.log is not None:
        close(np.exp(radial.log(apart)), K, 200 * eps * size, "radial.log() is not the logarithm of k(X)")


def _check_contract(kernel: Kernel, X: Any, size: float) -> None:
    n = len(kernel.prepare(X))
    W = np.random.default_rng(1).normal(size=(n, n))
    gradients = kernel.contract(X, W)
    if kernel.prepare(X).dtype != np.float64:
        return
    for name, gradient in gradients.items():
        value = kernel.get_params()[name]
        start = np.asarray(1.0 if value is None else value, np.float64)
        assert np.shape(gradient) == start.shape, (
            f"the gradient of {name} has shape {np.shape(gradient)}, its value {start.shape}"
        )
        for index in np.ndindex(start.shape):

            def moved(change: float, name: str = name, start: np.ndarray = start, index: tuple = index) -> float:
                theta = start.copy()
                theta[index] += change
                return float(np.vdot(W, clone(kernel).set_params(**{name: theta[()]})(X)))

            expected = derivative(moved, 3e-3 * max(abs(float(start[index])), 0.1))
            scale = n * size + abs(expected)
            close(np.asarray(gradient)[index], expected, 1e-7 * scale, f"contract() is not the derivative of {name}")


def _check_input_gradient(kernel: Kernel, X: np.ndarray, size: float) -> None:
    half = len(X) // 2
    A, B = X[:half], X[half:]
    W = np.random.default_rng(2).normal(size=(len(A), len(B)))
    gradient = kernel.input_gradient(A, B, W)
    assert gradient.shape == A.shape, f"input_gradient has shape {gradient.shape} for inputs of shape {A.shape}"
    direction = np.random.default_rng(3).normal(size=A.shape)
    expected = derivative(lambda change: float(np.vdot(W, kernel(A + change * direction, B))), 1e-3)
    scale = np.abs(W).sum() * size + abs(expected)
    close(np.vdot(gradient, direction), expected, 1e-7 * scale, "input_gradient() is not the derivative")


def derivative(function: Callable[[float], float], step: float) -> float:
    """Central differences of sixth order, with an error of about step^6 + eps / step."""
    weights = {1: 45.0, 2: -9.0, 3: 1.0}
    return sum(w * (function(m * step) - function(-m * step)) for m, w in weights.items()) / (60.0 * step)
