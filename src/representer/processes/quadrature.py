"""v' log(M) v from products with M, between two bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh_tridiagonal


@dataclass(frozen=True)
class LogForms:
    """lower <= v' log(M) v / v'v <= upper for each v, an estimate of v' log(M)^2 v / v'v, and the products taken."""

    lower: np.ndarray
    upper: np.ndarray
    squares: np.ndarray
    products: int

    def __add__(self, other: LogForms) -> LogForms:
        """The forms of more vectors."""
        return LogForms(
            np.append(self.lower, other.lower),
            np.append(self.upper, other.upper),
            np.append(self.squares, other.squares),
            self.products + other.products,
        )


def log_forms(
    apply: Callable[[np.ndarray], np.ndarray],
    V: np.ndarray,
    least: float,
    *,
    most: int,
    enough: Callable[[LogForms], bool],
) -> LogForms:
    """v' log(M) v for the columns v of V by Lanczos, where M is symmetric with eigenvalues above ``least`` > 0.

    The upper bound is the Gauss rule, because even derivatives of the logarithm are negative; the lower bound is the
    Gauss-Radau rule with a node at ``least``, because odd derivatives are positive. They are compared after 6 products
    and then each time after 2/5 more, until they are ``enough`` or ``most`` products have been taken. A Gauss node
    below ``least`` shows that M violates the assumption: the lower bound is then minus infinity.

    No basis is kept: loss of orthogonality adds copies of eigenvalues already found, which slows convergence but
    leaves the bounds valid to rounding.

    References
    ----------
    Golub and Meurant, Matrices, Moments and Quadrature, Princeton 2010. Golub and Strakos, Estimates in quadratic
    formulas, Numerical Algorithms 1994.
    """
    Q = V / np.linalg.norm(V, axis=0)
    before, norms, look = np.zeros_like(Q), np.zeros(Q.shape[1]), 6
    diagonal, off = np.zeros((2, most, Q.shape[1]))
    for step in range(most):
        W = apply(Q) - norms * before
        diagonal[step] = np.einsum("ij,ij->j", Q, W)
        W -= diagonal[step] * Q
        norms = np.linalg.norm(W, axis=0)
        norms[norms <= 1e-10 * diagonal[0]] = 0.0  # an invariant subspace, in which the Gauss rule is exact
        off[step] = norms
        before, Q = Q, np.divide(W, norms, out=np.zeros_like(W), where=norms > 0)
        done = step + 1 == most or not norms.any()
        if done or step + 1 >= look:
            look = int(1.4 * look) + 1
            columns = zip(diagonal[: step + 1].T, off[: step + 1].T, strict=True)
            lower, upper, squares = np.array([_rules(d, o, least) for d, o in columns]).T
            forms = LogForms(lower, upper, squares, step + 1)
            if done or enough(forms):
                break
    return forms


def _rules(diagonal: np.ndarray, off: np.ndarray, least: float) -> tuple[float, float, float]:
    """Lower and upper bound of the form of log, and the form of log^2, from the Lanczos coefficients."""
    size = int(np.argmin(off)) + 1 if off.min() == 0.0 else len(off)
    diagonal, off = diagonal[:size], off[:size]
    nodes, weights = _gauss(diagonal, off[:-1])
    logs = np.log(np.maximum(nodes, np.finfo(np.float64).tiny))
    upper, squares = float(weights @ logs), float(weights @ logs**2)
    if nodes[0] <= least:
        return -np.inf, upper, squares
    pivot = np.inf  # of the Cholesky factorisation of T - least I
    for entry, before in zip(diagonal, np.append(0.0, off[:-1]), strict=True):
        pivot = entry - least - before**2 / pivot
    # a last entry of the diagonal that makes ``least`` an eigenvalue
    nodes, weights = _gauss(np.append(diagonal, least + off[-1] ** 2 / pivot), off)
    return float(weights @ np.log(nodes)), upper, squares


def _gauss(diagonal: np.ndarray, off: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the quadrature rule with this Jacobi matrix."""
    nodes, vectors = eigh_tridiagonal(diagonal, off, check_finite=False)
    return nodes, vectors[0] ** 2
