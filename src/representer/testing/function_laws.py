"""Laws of functions in an RKHS, and the representer theorem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from representer.functions import Function, project
from representer.testing.closeness import close


def check_function(f: Function, g: Function, X: Any) -> None:
    """The laws of a Hilbert space of functions, for f and g of the same space and points X.

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
        close(reproduced + constant, values[i], tolerance, "f(x) is not <f, k(x, .)>")
    scale = np.maximum(np.atleast_1d(f.norm() * g.norm()), 1e-12).max()
    roundoff = 1e5 * np.finfo(kernel.prepare(X).dtype).eps * max(scale, size)
    close(f.inner(g), g.inner(f), roundoff, "the inner product is not symmetric")
    close((2.0 * f - g).inner(f), 2.0 * f.inner(f) - g.inner(f), 10 * roundoff, "the inner product is not linear")
    assert np.all(np.abs(f.inner(g)) <= f.norm() * g.norm() + roundoff), "Cauchy-Schwarz does not hold"
    close((f + g)(X), f(X) + g(X), tolerance + roundoff, "(f + g)(x) is not f(x) + g(x)")
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
    close(P(X), f(X), tolerance, "Pf and f differ on X")
    assert P.norm() <= f.norm() * (1 + 1e-9) + tolerance, "the projection is longer than the function"
    before, after = loss(f(X)) + regularizer(f.norm()), loss(P(X)) + regularizer(P.norm())
    assert after <= before + 1e-6 * max(abs(before), 1.0), f"J(Pf) = {after} is above J(f) = {before}"
    return before, after
