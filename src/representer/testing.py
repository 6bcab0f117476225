"""Laws that every kernel, Gram operator, function and loss must keep, for this library's own tests and for yours.

Each check raises AssertionError with the law that was broken. They are quick for a few dozen inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from representer.functions import Function, project
from representer.gram import Gram
from representer.kernels.base import Kernel
from representer.losses.base import Loss

__all__ = ["check_function", "check_gram", "check_kernel", "check_loss", "check_representer_theorem"]


def check_kernel(kernel: Kernel, X: Any, *, gradients: bool = True) -> None:
    """Symmetric, positive semidefinite, the same by blocks and in any order, with true derivatives.

    Parameters
    ----------
    kernel : Kernel
    X : inputs of the kernel, at least four
        For gradients a float64 array on which the kernel is differentiable (no two rows alike), and hyper-parameters
        inside their ranges.
    gradients : bool
        Whether to compare `contract` and, on vectors, `input_gradient` with differences.
    """
    n = len(kernel.prepare(X))
    K = kernel(X)
    size = max(np.abs(K).max(), np.finfo(K.dtype).tiny)
    eps = np.finfo(K.dtype).eps
    assert K.shape == (n, n), f"k(X) has shape {K.shape} for {n} inputs"
    assert np.array_equal(K, K.T), "k(X) is not exactly symmetric"
    _close(kernel.diag(X), K.diagonal(), 20 * eps * size, "diag(X) is not the diagonal of k(X)")
    _close(kernel(X, X), K, 200 * eps * size, "k(X, X) differs from k(X)")
    if kernel.definite:
        smallest = np.linalg.eigvalsh(K.astype(np.float64))[0]
        assert smallest >= -50 * n * eps * size, f"a positive semidefinite kernel has the eigenvalue {smallest:.3g}"
    A = kernel.prepare(X)
    order = np.random.default_rng(0).permutation(n)
    _close(kernel.block(A[order]), K[np.ix_(order, order)], 200 * eps * size, "the order of the inputs matters")
    _close(
        kernel.block(A[: n // 2], A[n // 2 :]),
        K[: n // 2, n // 2 :],
        200 * eps * size,
        "a block differs from the whole",
    )
    below, diagonal = kernel.half_block(A)
    _close(below, K[np.tril_indices(n, -1)], 200 * eps * size, "half_block(X) is not the half of k(X)")
    _close(diagonal, K.diagonal(), 20 * eps * size, "half_block(X) does not give the diagonal of k(X)")
    assert clone(kernel) == kernel, "clone(kernel) is not equal to the kernel"
    if kernel.of_distance:
        apart = np.empty((n, n), A.dtype)
        kernel.fill_distances(A, A, apart)
        squares = kernel.diag(X)[:, None] + kernel.diag(X) - 2.0 * K
        _close(kernel.squares_from(apart), squares, 200 * eps * size, "squares_from() is not the squared distance in H")
        rising = kernel.squares_from(np.sort(apart, axis=None))
        assert np.diff(rising).min() >= -50 * eps * size, "the distance in H does not rise with that of inputs"
        if (logs := kernel.logs_from(apart)) is not None:
            _close(np.exp(logs), K, 200 * eps * size, "logs_from() is not the logarithm of k(X)")
    if gradients:
        _check_contract(kernel, X, size)
        # rows of a precomputed Gram matrix are not vectors, and mean nothing without the other rows
        if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype == np.float64 and kernel.sliced:
            _check_input_gradient(kernel, X, size)


def _close(actual: Any, expected: Any, tolerance: float, law: str) -> None:
    error = np.abs(np.asarray(actual, np.float64) - np.asarray(expected, np.float64)).max()
    assert error <= tolerance, f"{law}: off by {error:.3g}, allowed {tolerance:.3g}"


def _derivative(function: Callable[[float], float], step: float) -> float:
    """Central differences of sixth order, with an error of about step^6 + eps / step."""
    weights = {1: 45.0, 2: -9.0, 3: 1.0}
    return sum(w * (function(m * step) - function(-m * step)) for m, w in weights.items()) / (60.0 * step)


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

            expected = _derivative(moved, 3e-3 * max(abs(float(start[index])), 0.1))
            scale = n * size + abs(expected)
            _close(np.asarray(gradient)[index], expected, 1e-7 * scale, f"contract() is not the derivative of {name}")


def _check_input_gradient(kernel: Kernel, X: np.ndarray, size: float) -> None:
    half = len(X) // 2
    A, B = X[:half], X[half:]
    W = np.random.default_rng(2).normal(size=(len(A), len(B)))
    gradient = kernel.input_gradient(A, B, W)
    assert gradient.shape == A.shape, f"input_gradient has shape {gradient.shape} for inputs of shape {A.shape}"
    direction = np.random.default_rng(3).normal(size=A.shape)
    expected = _derivative(lambda change: float(np.vdot(W, kernel(A + change * direction, B))), 1e-3)
    scale = np.abs(W).sum() * size + abs(expected)
    _close(np.vdot(gradient, direction), expected, 1e-7 * scale, "input_gradient() is not the derivative")


def check_gram(kernel: Kernel, X: Any, Y: Any = None) -> None:
    """Products, rows, sums and contractions of the operator equal those of the dense matrix, on one thread and on two.

    Parameters
    ----------
    kernel : Kernel
    X, Y : inputs of the kernel
    """
    dense = kernel(X) if Y is None else kernel(X, Y)
    exact = dense.astype(np.float64)
    size = np.abs(exact).max() * max(exact.shape)
    tolerance = 20 * np.finfo(dense.dtype).eps * max(size, np.finfo(dense.dtype).tiny)
    rng = np.random.default_rng(0)
    V, w = rng.normal(size=(exact.shape[1], 3)), rng.normal(size=exact.shape[0])
    for threads in (1, 2):
        K = Gram(kernel, X, Y, threads=threads)
        assert K.shape == exact.shape, f"shape is {K.shape}, not {exact.shape}"
        assert K.T.shape == exact.T.shape, "the transposed operator has the wrong shape"
        _close(K.dense(), dense, tolerance, "dense() differs from k(X, Y)")
        _close(K @ V, exact @ V, tolerance, "K @ V differs from the dense product")
        _close(K @ V[:, 0], exact @ V[:, 0], tolerance, "K @ v differs from the dense product")
        _close(K.T @ w, exact.T @ w, tolerance, "K.T @ v differs from the dense product")
        _close(w @ K, w @ exact, tolerance, "v @ K differs from the dense product")
        assert np.array_equal(K @ V, K @ V), "two products differ in their bits"
        index = rng.integers(0, exact.shape[0], 3)
        _close(K.rows(index), dense[index], tolerance, "rows() differs from the dense rows")
        _close(
            K.T.rows(slice(0, 2)),
            dense.T[:2],
            tolerance,
            "rows() of the transposed operator differ from the dense columns",
        )
        _close(K.sum(axis=1), exact.sum(axis=1), tolerance, "sums of rows differ")
        _close(K.sum(axis=0), exact.sum(axis=0), tolerance, "sums of columns differ")
        if Y is None:
            _close(K.diag(), dense.diagonal(), tolerance, "diag() differs from the diagonal")
        U = rng.normal(size=(exact.shape[0], 2))
        by_factors, by_array = K.contract((U, V[:, :2])), K.contract(U @ V[:, :2].T)
        whole = kernel.contract(X, U @ V[:, :2].T, Y)
        assert by_factors.keys() == by_array.keys() == whole.keys(), "contractions name different hyper-parameters"
        for name, value in whole.items():
            scale = 1e3 * tolerance * max(np.abs(value).max(), 1.0)
            _close(by_factors[name], value, scale, f"contract(U, V) differs for {name}")
            _close(by_array[name], value, scale, f"contract(W) differs for {name}")


def check_function(f: Function, g: Function, X: Any) -> None:
    """The laws of a Hilbert space of functions, for f and g of one space and points X.

    Reproducing property f(x) = <f, k(x, .)>, bilinear inner product, Cauchy-Schwarz, and |f(x) - f(x')| <= ||f|| d(x,
    x').

    Parameters
    ----------
    f, g : Function
        Of the same kernel, with equally many outputs.
    X : inputs of the kernel
    """
    kernel = f.kernel
    n = len(kernel.prepare(X))
    values = np.asarray(f(X), np.float64).reshape(n, -1)
    constant = np.broadcast_to(f.constant, values.shape[1:])
    size = (
        np.abs(f.coef).sum(axis=0).max() * np.abs(kernel.diag(f.X)).max() ** 0.5 * np.abs(kernel.diag(X)).max() ** 0.5
    )
    tolerance = 1e3 * np.finfo(kernel.prepare(X).dtype).eps * max(size, 1.0)
    outputs = values.shape[1]
    coef = np.zeros((n, outputs)) if f.coef.ndim == 2 else np.zeros(n)
    for i in range(min(n, 5)):
        unit = coef.copy()
        unit[i] = 1.0
        reproduced = np.atleast_1d(f.inner(Function(kernel, X, unit)))
        _close(reproduced + constant, values[i], tolerance, "f(x) is not <f, k(x, .)>")
    scale = np.maximum(np.atleast_1d(f.norm() * g.norm()), 1e-12).max()
    roundoff = 1e5 * np.finfo(kernel.prepare(X).dtype).eps * max(scale, size)
    _close(f.inner(g), g.inner(f), roundoff, "the inner product is not symmetric")
    _close((2.0 * f - g).inner(f), 2.0 * f.inner(f) - g.inner(f), 10 * roundoff, "the inner product is not linear")
    assert np.all(np.abs(f.inner(g)) <= f.norm() * g.norm() + roundoff), "Cauchy-Schwarz does not hold"
    _close((f + g)(X), f(X) + g(X), tolerance + roundoff, "(f + g)(x) is not f(x) + g(x)")
    distances = kernel.distance(X).astype(np.float64)
    slopes = np.abs(values[:, None] - values[None]).max(axis=2)
    assert np.all(slopes <= np.max(f.norm()) * distances + np.sqrt(roundoff)), "|f(x) - f(x')| exceeds ||f|| d(x, x')"


def check_representer_theorem(
    f: Function, X: Any, loss: Callable[[np.ndarray], float], regularizer: Callable[[float], float]
) -> tuple[float, float]:
    """J(Pf) <= J(f) for J(f) = loss(f(x_1), ..., f(x_n)) + regularizer(||f||).

    P is the projection onto the span of the k(x_i, .). The law holds for every loss and every nondecreasing
    regulariser, because Pf has the values of f on X and a norm that is not larger. So a minimiser can be sought in the
    span.

    Parameters
    ----------
    f : Function
        Any function of the space, with one output.
    X : inputs of the kernel
    loss : callable
        Takes the n values of a function on X.
    regularizer : callable
        Takes a norm.

    Returns
    -------
    (float, float)
        J(f) and J(Pf).
    """
    P = project(f, X)
    tolerance = 1e-6 * max(np.abs(f(X)).max(), 1.0)
    _close(P(X), f(X), tolerance, "Pf and f differ on X")
    assert P.norm() <= f.norm() * (1 + 1e-9) + tolerance, "the projection is longer than the function"
    before, after = loss(f(X)) + regularizer(f.norm()), loss(P(X)) + regularizer(P.norm())
    assert after <= before + 1e-6 * max(abs(before), 1.0), f"J(Pf) = {after} is above J(f) = {before}"
    return before, after


def check_loss(loss: Loss, y: Any, f: Any) -> None:
    """Convex, with true derivatives, and with the conjugate that Fenchel and Young ask for.

    Parameters
    ----------
    loss : Loss
    y : array of shape (n,)
        Targets that the loss is for.
    f : array of shape (n,) or (n, n_outputs)
        Values, at which a smooth loss has a second derivative.
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
            _close(actual, expected, 1e-7 * size, "curvature() is not the derivative of gradient()")


def _along(function: Callable[[np.ndarray], np.ndarray], f: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """The derivative along a direction."""
    weights = {1: 45.0, 2: -9.0, 3: 1.0}
    step = 1e-4
    parts = [w * (function(f + m * step * direction) - function(f - m * step * direction)) for m, w in weights.items()]
    return np.sum(parts, axis=0) / (60.0 * step)


def _check_slope(value: Callable, slope: np.ndarray, f: np.ndarray, law: str) -> None:
    direction = np.random.default_rng(1).normal(size=f.shape)
    expected = float(np.sum(_along(value, f, direction)))
    _close(np.vdot(slope, direction), expected, 1e-7 * (1.0 + np.abs(slope).sum()), law)


def _check_dual(loss: Loss, y: np.ndarray, f: np.ndarray, other: np.ndarray, size: float) -> None:
    """l(f) + l*(v) >= v f, with equality at v = l'(f); points are made feasible."""
    slope = loss.gradient(y, f)
    _close(loss.project(y, slope), slope, 1e-12 * size, "the gradient is outside the domain of the conjugate")

    def young(f: np.ndarray, v: np.ndarray) -> np.ndarray:
        return loss.value(y, f).sum(axis=1) + loss.conjugate(y, v).sum(axis=1) - np.sum(v * f, axis=1)

    _close(young(f, slope), 0.0, 1e-11 * size, "l(f) + l*(v) is not v f at the gradient v")
    v = loss.project(y, slope + np.random.default_rng(2).normal(size=f.shape))
    assert min(young(f, v).min(), young(other, v).min()) >= -1e-12 * size, "l(f) + l*(v) is below v f"
    _close(loss.project(y, v), v, 1e-14 * size, "a point of the domain is moved by project()")
    weights = np.random.default_rng(3).uniform(0.5, 2.0, (len(y), 1))
    if len(np.unique(y)) > 1:
        v = loss.balance(y, v, weights)
        _close(loss.project(y, v), v, 1e-12 * size, "balance() leaves the domain")
        _close(np.sum(weights * v, axis=0), 0.0, 1e-11 * size * len(y), "balance() does not make the sum zero")


def _check_envelope(loss: Loss, y: np.ndarray, f: np.ndarray, value: np.ndarray) -> None:
    """A loss with kinks has a smooth one below it, at most mu v^2 / 2 away."""
    for mu in (1e-3, 0.3):
        below, v, _ = loss.envelope(y, f, mu)
        assert np.all(below <= value + 1e-12), "the envelope is above the loss"
        lost = value - below - 0.5 * mu * loss.gradient(y, f) ** 2
        assert np.all(lost <= 1e-12), "the envelope is too far below the loss"
        _check_slope(lambda f, mu=mu: loss.envelope(y, f, mu)[0], v, f, "envelope()[1] is not the derivative of [0]")
