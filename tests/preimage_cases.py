"""Functions whose pre-images are looked for, shared by the tests of the room `preimage`."""

import numpy as np

from representer import Function, project
from representer.kernels import RBF, Linear, Matern, Periodic, Polynomial, RationalQuadratic

RADIAL = {
    "RBF": RBF(3.0),
    "scaled RBF": 2.0 * (0.5 * RBF(3.0)),
    "length scale per column": RBF([2.0, 3.0, 4.0]),
    "Matern": Matern(5.0, nu=2.5),
    "RationalQuadratic": RationalQuadratic(4.0),
}
PRODUCTS = {"Linear": Linear(), "scaled": 3.0 * Linear(2.0), "quadratic": Polynomial(2), "cubic": Polynomial(3)}
NESTED = {
    "sum": 2.0 * RBF(3.0) + RBF(5.0),
    "product": RBF(4.0) * (Linear() + 1.0) + 0.5 * RationalQuadratic(3.0),
    "periodic": Periodic(3.0, period=12.0),
}


def inputs(n=60, dtype=np.float64):
    return np.random.default_rng(0).normal(size=(n, 3)).astype(dtype)


def representers(kernel, points, X):
    """Functions of the span of X that are k(x, .) up to what the span lacks, for new points x."""
    return project(Function(kernel, points, np.eye(len(points))), X)


POINTS = np.array([[0.3, -0.2, 0.4], [-0.5, 0.1, 0.0], [0.6, 0.6, -0.3]])


def random_function(kernel, rng, n=15, outputs=6):
    """Coefficients of both signs, so that nothing is near and denominators vanish."""
    X = rng.normal(size=(n, 3))
    return Function(kernel, X, rng.normal(size=(n, outputs)))
