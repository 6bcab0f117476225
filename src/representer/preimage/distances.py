"""Pre-images from distances: where a point must be that is so far from its neighbours."""

from __future__ import annotations

import numpy as np

from representer import _tiles
from representer.kernels.base import OfOneNumber
from representer.kernels.dot_product import DotProduct
from representer.preimage.target import Target


def distances(target: Target, *, n_neighbours: int = 10) -> np.ndarray:
    """z with |z - x_i| = d_i for the nearest x_i, in the least-squares sense, where d_i follows from ||f - k(x_i, .)||.

    A kernel phi(|x - y|^2) with a falling phi, or phi(<x, y>) with a rising one, can be inverted: distances in H become
    distances of inputs. Then z is the circumcentre in the plane of the neighbours: no iteration, no local minima.

    Parameters
    ----------
    target : Target
    n_neighbours : int
        How many of the nearest training inputs are asked.

    References
    ----------
    Kwok and Tsang, The pre-image problem in kernel methods, IEEE Transactions on Neural Networks 2004.
    """
    kernel, factor = target.plain
    if not (target.radial or isinstance(kernel, DotProduct)):
        raise ValueError(
            f"{target.kernel!r} is not a function of one distance or one inner product, so distances in its space do "
            "not tell distances of inputs; use method='gradient'."
        )
    index = target.nearest(n_neighbours)
    parts = []
    for rows in _tiles.split(len(target), 256):
        near = index[rows]
        P = target.inputs[near.ravel()].dense().values.astype(np.float64).reshape(*near.shape, -1)
        values = np.take_along_axis(target.values.T[rows], near, axis=1) / factor
        if target.radial:
            # 2 - 2 phi(d^2) = ||f||^2 - 2 f(x_i) + 1, because k(z, z) = 1
            similarities = values + 0.5 * (1.0 - target.squares[rows, None] / factor)
            squares = inverse(kernel, similarities, 0.0, _reach(kernel))
        else:
            sizes = np.einsum("ijf,ijf->ij", P, P)
            bound = 4.0 * float(sizes.max()) + 1.0
            squares = sizes - 2.0 * inverse(kernel, values, -bound, bound)  # |z|^2 is the same for all and drops out
        parts.append(locate(P, squares))
    return target.from_scaled(np.concatenate(parts))


def locate(P: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Points z in the planes of the points P (one stack per z) with |z - p_i|^2 = squares_i up to a constant.

    From |z - m|^2 - 2 <z - m, p_i - m> + |p_i - m|^2 = squares_i, m the mean, less the mean of these equations.
    """
    mean = P.mean(axis=1)
    centred = P - mean[:, None]
    sides = 0.5 * (np.einsum("ijf,ijf->ij", centred, centred) - squares)
    sides -= sides.mean(axis=1, keepdims=True)
    return mean + np.einsum("ifj,ij->if", np.linalg.pinv(centred, rtol=1e-7), sides)


def _reach(kernel: OfOneNumber) -> float:
    """A squared distance at which phi is a millionth or less, or the largest that was tried."""
    s = np.ones((1, 1))
    while s[0, 0] < 2.0**40:
        value = s.copy()
        kernel.phi(value)
        if value[0, 0] < 1e-6:
            break
        s *= 2.0
    return float(s[0, 0])


def inverse(kernel: OfOneNumber, values: np.ndarray, lowest: float, highest: float) -> np.ndarray:
    """s in [lowest, highest] with phi(s) = value, by bisection; values that phi does not take are moved to the nearest.

    Where phi both falls and rises, s is taken right of its minimum: for an even power of <x, y> + offset that is where
    the base is positive.
    """
    grid = np.linspace(lowest, highest, 1025)[None]
    heights = grid.copy()
    kernel.phi(heights)
    rising = bool(heights[0, -1] > heights[0, 0]) or not np.all(np.diff(heights[0]) <= 0)
    low = np.full(values.shape, grid[0, heights.argmin()] if rising else lowest)
    high = np.full(values.shape, highest)
    for _ in range(80):
        middle = 0.5 * (low + high)
        found = middle.copy()
        kernel.phi(found)
        left = (found < values) == rising  # the solution lies to the right
        low, high = np.where(left, middle, low), np.where(left, high, middle)
    return 0.5 * (low + high)
