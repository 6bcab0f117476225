"""Conditionally positive definite kernels: c' K c >= 0 for all c with sum_i c_i p(x_i) = 0, p of degree below an order.

They have no space H of their own; with a polynomial part they interpolate and smooth, see RBFNetwork.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from representer.kernels import checks
from representer.kernels.base import Kernel
from representer.kernels.stationary import Stationary


class Polyharmonic(Stationary):
    r"""k(x, y) = +-r^power for odd powers and +-r^power log r for even ones, r = |x - y| / length_scale.

    The sign makes it conditionally positive definite: -r, r^2 log r, r^3, -r^4 log r, -r^5, ... of the orders 1, 2, 2,
    3, 3, ... With polynomials of degree m - 1, power = 2 m - n_columns gives the function of least bending energy, the
    integral of all squared m-th derivatives, through some points: r^3 in one column is the natural cubic spline, r^2
    log r in two columns the thin plate.

    Parameters
    ----------
    power : int
    length_scale : float, array of shape (n_columns,) or None
        None stands for 1. One number for all columns changes interpolants by rounding only, as these functions have no
        scale of their own; one per column weighs the columns.

    Examples
    --------
    >>> from representer.kernels import Polyharmonic
    >>> Polyharmonic(3)([[0.0], [2.0]])
    array([[0., 8.],
           [8., 0.]])
    """

    definite = False

    def __init__(self, power: int = 3, length_scale: Any = None):
        self.power = power
        self.length_scale = length_scale

    @property
    def conditional_order(self) -> int:
        return self.power // 2 + 1

    def check(self) -> None:
        checks.whole(self.power, "power")

    def fitted_to(self, X: Any, weights: np.ndarray | None = None) -> Kernel:
        return clone(self)

    @property
    def _sign(self) -> float:
        return -1.0 if self.conditional_order % 2 else 1.0

    def phi(self, s: np.ndarray) -> None:
        """s <- +-s^(power / 2), times log r = (log s) / 2 for even powers."""
        logarithm = None if self.power % 2 else _log(s)
        np.power(s, 0.5 * self.power, out=s)
        s *= self._sign
        if logarithm is not None:
            s *= 0.5 * logarithm

    def slope(self, s: np.ndarray) -> None:
        half = 0.5 * self.power
        factor = half if self.power % 2 else 0.5 * (half * _log(s) + 1.0)
        zero = s == 0
        s[zero] = 1.0  # r and r^2 log r have no derivative by s at zero
        np.power(s, half - 1.0, out=s)
        s *= factor
        s *= self._sign
        s[zero] = 0.0

    def diagonal(self, A: Any) -> np.ndarray:
        return np.zeros(len(A), A.dtype)


def _log(s: np.ndarray) -> np.ndarray:
    """log s, and 0 at zero, where all powers of s that it meets are zero."""
    return np.log(s, out=np.zeros_like(s), where=s > 0)


class ThinPlate(Polyharmonic):
    r"""k(x, y) = r^2 log r, r = |x - y| / length_scale: a thin plate of metal that is bent through points of the plane.

    It is ``Polyharmonic(2)``, conditionally positive definite of order 2.

    Parameters
    ----------
    length_scale : float, array of shape (n_columns,) or None
        None stands for 1.
    """

    power = 2

    def __init__(self, length_scale: Any = None):
        self.length_scale = length_scale


class Multiquadric(Stationary):
    r"""k(x, y) = -sqrt(1 + r^2), r = |x - y| / length_scale, conditionally positive definite of order 1.

    Its inverse 1 / sqrt(1 + r^2) is positive definite: ``RationalQuadratic(mixture=0.5)``.

    Parameters
    ----------
    length_scale : float, array of shape (n_columns,) or None
    """

    definite = False
    conditional_order = 1

    def __init__(self, length_scale: Any = None):
        self.length_scale = length_scale

    def phi(self, s: np.ndarray) -> None:
        s += 1.0
        np.sqrt(s, out=s)
        s *= -1.0

    def slope(self, s: np.ndarray) -> None:
        s += 1.0
        np.sqrt(s, out=s)
        np.divide(-0.5, s, out=s)

    def diagonal(self, A: Any) -> np.ndarray:
        return np.full(len(A), -1.0, A.dtype)
