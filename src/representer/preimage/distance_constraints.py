"""Pre-images from distances: the point with given distances to its neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer import _parallel
from representer.preimage.target import Target, strips

RIDGES = (0.0, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
"""Strengths of the ridge that are tried, in units of the largest eigenvalue of the neighbours' scatter."""

FEW = 10
"""Nearest neighbours that are also tried alone: far ones may mislead, as where an even power takes a value twice."""

CLOSEST_SQUARE = 1e-6
"""Smallest squared distance, in length scales, at which phi' is evaluated: it may be infinite at 0."""


def distances(target: Target, *, n_neighbours: int = 100) -> np.ndarray:
    """z with |z - x_i|^2 = s_i for the nearest x_i, by least squares, where s_i solves f(x_i) = phi(s_i).

    A kernel phi(|x - y|^2) with decreasing phi, or phi(<x, y>) with increasing phi, can be inverted. If f is a
    representer k(z, .), or its projection onto a space that contains the k(x_i, .), then f(x_i) = k(z, x_i): values of
    f become distances between inputs, and z is the circumcentre in the plane of the neighbours. (Kwok and Tsang start
    from ||f - k(x_i, .)|| instead, which counts the part removed by the projection as distance from x_i.)

    An error in f(x_i) is amplified by 1 / |phi'(s_i)| in s_i, so the equations have weights phi'(s_i)^2. For a function
    that is not a representer the equations are inconsistent, and plain least squares may end up far from the data. So a
    ridge pulls z towards the mean of the neighbours. All neighbours, and the FEW nearest alone, are tried with each of
    the RIDGES, and the z nearest to f in H is returned: one without a ridge where the equations agree. No iteration, no
    local minima.

    Parameters
    ----------
    target : Target
    n_neighbours : int
        How many of the nearest training inputs are used.

    References
    ----------
    Kwok and Tsang, The pre-image problem in kernel methods, IEEE Transactions on Neural Networks 2004.
    """
    if not (target.radial or target.plain[0].of_inner_product):
        raise ValueError(
            f"{target.kernel!r} is not a function of one distance or one inner product, so distances in its space do "
            "not determine distances between inputs; use method='gradient'."
        )
    index = target.nearest(n_neighbours)
    every, chunks = np.arange(len(target)), _parallel.split(len(target), 512)
    return np.concatenate([_nearest(target, every[rows], index[rows]) for rows in chunks])


def _nearest(target: Target, functions: np.ndarray, index: np.ndarray) -> np.ndarray:
    """The points nearest in H among those from few and from all neighbours and from all ridges, for some functions."""
    best, lowest = np.empty(0), np.full(len(functions), np.inf)
    for count in sorted({min(FEW, index.shape[1]), index.shape[1]}):

        def visit(some: slice, count: int = count) -> np.ndarray:
            return _locate_from_values(target, functions[some], index[some, :count])

        parts = strips(len(functions), visit, target.threads)
        for Z in map(target.from_scaled, np.concatenate(parts, axis=1)):
            squares = target.squared_distances(Z, functions)
            best = np.where((squares < lowest)[:, None], Z, best) if best.size else Z
            lowest = np.minimum(squares, lowest)
    return best


def _locate_from_values(target: Target, functions: np.ndarray, near: np.ndarray) -> np.ndarray:
    """The points of `locate` for some functions, from their values at neighbours."""
    kernel, factor = target.plain
    P = target.inputs[near.ravel()].dense().values.astype(np.float64).reshape(*near.shape, -1)
    values = target.values[near, functions[:, None]] / factor
    if target.radial:
        reach = _reach(kernel)
        squares = inverse(kernel, values, 0.0, reach)
        slopes = np.maximum(squares, CLOSEST_SQUARE)
        kernel.dphi(slopes)
        slopes[squares > 0.999 * reach] = 0.0  # a value below the range of phi determines no distance
    else:
        sizes = np.einsum("ijf,ijf->ij", P, P)
        bound = 4.0 * float(sizes.max()) + 1.0
        slopes = inverse(kernel, values, -bound, bound)
        squares = sizes - 2.0 * slopes  # |z|^2 is the same in all equations and cancels
        kernel.dphi(slopes)
    return locate(P, squares, slopes**2)


def locate(P: np.ndarray, squares: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Points z in the planes of the points P (one stack per z) with |z - p_i|^2 = squares_i up to a constant.

    From |z - m|^2 - 2 <z - m, p_i - m> + |p_i - m|^2 = squares_i, m the mean, minus the mean of these equations:
    weighted least squares, with each of the RIDGES. Shape (ridges, stacks, columns).
    """
    total = weights.sum(axis=1, keepdims=True)
    weights = np.divide(weights, total, out=np.full(weights.shape, 1.0 / weights.shape[1]), where=total > 0)
    mean = np.einsum("ij,ijf->if", weights, P)
    centred = P - mean[:, None]
    sides = 0.5 * (np.einsum("ijf,ijf->ij", centred, centred) - squares)
    sides -= np.einsum("ij,ij->i", weights, sides)[:, None]
    roots = np.sqrt(weights)
    U, d, V = np.linalg.svd(roots[:, :, None] * centred, full_matrices=False)
    along = np.einsum("ijk,ij->ik", U, roots * sides)
    largest = d[:, :1]
    found = []
    for ridge in RIDGES:
        size = d**2 + ridge * largest**2
        steps = np.divide(d * along, size, out=np.zeros_like(d), where=d > 1e-7 * largest)
        found.append(mean + np.einsum("ikf,ik->if", V, steps))
    return np.stack(found)


def _reach(kernel: Any) -> float:
    """A squared distance at which phi is below a millionth, or the largest one tried."""
    s = np.ones((1, 1))
    while s[0, 0] < 2.0**40:
        value = s.copy()
        kernel.phi(value)
        if value[0, 0] < 1e-6:
            break
        s *= 2.0
    return float(s[0, 0])


def inverse(kernel: Any, values: np.ndarray, lowest: float, highest: float) -> np.ndarray:
    """s in [lowest, highest] with phi(s) = value, by bisection; values outside the range of phi are moved into it.

    Where phi both decreases and increases, s is taken to the right of its minimum: for an even power of <x, y> + offset
    that is where the base is positive.
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
