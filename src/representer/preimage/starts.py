"""Starting points of iterations for pre-images of vectors."""

from __future__ import annotations

import numpy as np

from representer import _parallel
from representer.preimage.target import Target, dense_rows

NEIGHBOURS = 10


def starts(target: Target, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Starting points, ``count`` for each function, and the indices of their functions.

    The first is the nearest training input, so a descent method is never worse than it. The second is the mean of the
    ten nearest, weighted by their closeness. Further ones are the second nearest, the third, ...
    """
    index = target.nearest(max(NEIGHBOURS, count))
    first = [dense_rows(target.X, index[:, 0])]
    means = [_means(target, index[:, :NEIGHBOURS])] if count > 1 else []
    others = [dense_rows(target.X, index[:, i]) for i in range(1, min(count - 1, index.shape[1]))]
    points = [*first, *means, *others]
    return np.concatenate(points).astype(np.float64), np.tile(np.arange(len(target)), len(points))


def _means(target: Target, index: np.ndarray) -> np.ndarray:
    """For each function the mean of some inputs, with weights that decrease linearly to one half at the farthest."""
    means = []
    for rows in _parallel.split(len(target), 256):
        near = np.sqrt(np.take_along_axis(target.to_training(rows), index[rows], axis=1))
        weights = 1.0 - 0.5 * np.divide(near, near[:, -1:], out=np.zeros_like(near), where=near[:, -1:] > 0)
        weights /= weights.sum(axis=1, keepdims=True)
        neighbours = dense_rows(target.X, index[rows].ravel()).reshape(*weights.shape, -1)
        means.append(np.einsum("ij,ijf->if", weights, neighbours))
    return np.concatenate(means)


def best(values: np.ndarray, points: np.ndarray, n_functions: int) -> np.ndarray:
    """For each function, the point with the smallest value among several (in the order of `starts`)."""
    winner = values.reshape(-1, n_functions).argmin(axis=0)
    return points[winner * n_functions + np.arange(n_functions)]
