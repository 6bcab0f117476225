"""Conditionally positive definite kernels: c' K c >= 0 for all c with sum_i c_i p(x_i) = 0, p of degree below an order.

They have no RKHS H of their own; with a polynomial part they interpolate and smooth, see RBFNetwork.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from representer.kernels import checks
from representer.kernels.base import Kernel, raise_to
from representer.kernels.stationary import Stationary


class PowersOfDistance:
    """Mixin of polyharmonic kernels: +-r^power, times log r for even powers."""

    definite = False
    power: int

    @property
    def conditional_order(self) -> int:
        return self.power // 2 + 1

    def check(self) -> None:
        checks.integer(self.power, "power")

    def with_default_scales(self, X: Any, weights: np.ndarray | None = None) -> Kernel:
        return clone(self)

    @property
    def _sign(self) -> float:
        return -1.0 if self.conditional_order % 2 else 1.0

    def phi(self, s: np.ndarray) -> None:
        """s <- +-r^power, times log r = (log s) / 2 for even powers."""
        if self.power % 2:
            np.sqrt(s, out=s)
            raise_to(s, self.power)
            s *= self._sign
        else:
            logarithm = _log(s)
            raise_to(s, self.power // 2)
            logarithm *= 0.5 * self._sign
            s *= logarithm

    def dphi(self, s: np.ndarray) -> None:
        """The derivative of r^power by s is (power / 2) r^(power - 2), and of log r it is 1 / (2 s)."""
        zero = s == 0
        s[zero] = 1.0  # r and r^2 log r have no derivative there
        if self.power % 2:
            factor = 0.5 * self.power * self._sign
            np.sqrt(s, out=s)
            if self.power == 1:
                np.divide(1.0, s, out=s)
            else:
                raise_to(s, self.power - 2)
            s *= factor
        else:
            logarithm = _log(s)
            logarithm *= 0.25 * self.power * self._sign
            logarithm += 0.5 * self._sign
            raise_to(s, self.power // 2 - 1)
            s *= logarithm
        s[zero] = 0.0

    def diagonal(self, A: Any) -> np.ndarray:
        return np.zeros(len(A), A.dtype)


class Polyharmonic(PowersOfDistance, Stationary):
    r"""k(x, y) = +-r^power for odd powers and +-r^power log r for even ones, r = |x - y| / length_scale.

    The sign makes it conditionally positive definite: -r, r^2 log r, r^3, -r^4 log r, -r^5, ... have orders 1, 2, 2, 3,
    3, ... With polynomials of degree m - 1, power = 2 m - n_columns gives the function of least bending energy, the
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

    def __init__(self, power: int = 3, length_scale: Any = None):
        self.power = power
        self.length_scale = length_scale


def _log(s: np.ndarray) -> np.ndarray:
    """log s, and 0 at zero, where all powers of s that it multiplies are zero."""
    return np.log(s, out=np.zeros_like(s), where=s > 0)


class ThinPlate(PowersOfDistance, Stationary):
    r"""k(x, y) = r^2 log r, r = |x - y| / length_scale: a thin metal plate bent through points above the plane.

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

    def dphi(self, s: np.ndarray) -> None:
        s += 1.0
        np.sqrt(s, out=s)
        np.divide(-0.5, s, out=s)

    def diagonal(self, A: Any) -> np.ndarray:
        return np.full(len(A), -1.0, A.dtype)
