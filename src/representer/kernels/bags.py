"""Kernels on bags: multisets of inputs, compared by their mean embeddings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from representer.kernels import checks
from representer.kernels.algebra import Wrapper
from representer.kernels.base import Gradients, Kernel, add_gradients, require_kernel
from representer.kernels.prepared import Prepared
from representer.kernels.ragged import gathered
from representer.kernels.tiles import new_tile

PIECE_INPUTS = 1024
"""Inputs per piece; the kernel values between two pieces of bags are in memory at a time."""


@dataclass
class BagsOfInputs(Prepared):
    """All inputs of all bags, prepared; bag i holds those from ``starts[i]`` to ``starts[i + 1]``."""

    inputs: Any
    starts: np.ndarray

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, index: Any) -> BagsOfInputs:
        starts, places = gathered(self.starts, np.arange(len(self))[index])
        return BagsOfInputs(self.inputs[places], starts)

    @property
    def dtype(self) -> np.dtype:
        return self.inputs.dtype

    @property
    def sizes(self) -> np.ndarray:
        """The number of inputs in each bag."""
        return np.diff(self.starts)

    def pieces(self) -> list[slice]:
        """Runs of bags with at most PIECE_INPUTS inputs in total, but at least one bag."""
        cuts, last = [0], 0
        for i in range(1, len(self)):
            if self.starts[i + 1] - self.starts[last] > PIECE_INPUTS:
                cuts.append(i)
                last = i
        return [slice(a, b) for a, b in zip(cuts, [*cuts[1:], len(self)], strict=True)]


class Bags(Wrapper, Kernel):  # type: ignore[override]
    """k(X, Y) = the mean of k(x, y) over x in X and y in Y: the inner product of the mean embeddings of two bags.

    It is positive semidefinite where the kernel of the inputs is.

    Parameters
    ----------
    kernel : Kernel
        The kernel of the inputs in the bags.

    Notes
    -----
    Inputs are lists of bags: tables of numbers, or lists of whatever the kernel takes, of any length. An empty bag is
    zero in H. `Normalized(Bags(k))` compares directions only.

    Examples
    --------
    >>> from representer.kernels import Bags, Linear, Spectrum
    >>> Bags(Spectrum(2))([["abab", "ba"], ["ab"]])
    array([[2., 1.],
           [1., 1.]])
    """

    on_vectors = False

    def __init__(self, kernel: Kernel):
        self.kernel = require_kernel(kernel)

    candidates = None

    def with_default_scales(self, X: Any, weights: np.ndarray | None = None) -> Kernel:
        inputs, sizes = _opened(X)
        each = None if weights is None else np.repeat(weights, sizes)
        return Bags(self.kernel.with_default_scales(inputs, each))

    def prepare(self, X: Any, like: BagsOfInputs | None = None) -> BagsOfInputs:
        inputs, sizes = _opened(X)
        prepared = self.kernel.prepare(inputs, like=None if like is None else like.inputs)
        return BagsOfInputs(prepared, np.concatenate([[0], np.cumsum(sizes)]))

    def fill(self, A: BagsOfInputs, B: BagsOfInputs, tile: np.ndarray) -> None:
        for rows in A.pieces():
            part = A[rows]
            for columns in B.pieces():
                other = part if A is B and rows == columns else B[columns]
                tile[rows, columns] = _sums(_sums(new_tile(self.kernel, part.inputs, other.inputs), part).T, other).T
        tile /= np.maximum(A.sizes, 1)[:, None]
        tile /= np.maximum(B.sizes, 1)

    def diagonal(self, A: BagsOfInputs) -> np.ndarray:
        each = [new_tile(self, A[i : i + 1], A[i : i + 1])[0, 0] for i in range(len(A))]
        return np.array(each, A.dtype)

    def vjp(self, A: BagsOfInputs, B: BagsOfInputs, W: np.ndarray) -> Gradients:
        W = W / np.maximum(A.sizes, 1)[:, None] / np.maximum(B.sizes, 1)
        total: Gradients = {}
        for rows in A.pieces():
            for columns in B.pieces():
                a, b = A[rows], B[columns]
                each = np.repeat(np.repeat(W[rows, columns], a.sizes, axis=0), b.sizes, axis=1)
                add_gradients(total, self.kernel.vjp(a.inputs, b.inputs, each.astype(A.dtype)), "kernel__")
        return total


def _sums(values: np.ndarray, bags: BagsOfInputs) -> np.ndarray:
    """Sums of the rows of values over each bag; zero for an empty bag."""
    sums = np.zeros((len(bags), values.shape[1]), values.dtype)
    filled = np.flatnonzero(bags.sizes)
    if len(filled):
        sums[filled] = np.add.reduceat(values, bags.starts[:-1][filled], axis=0)
    return sums


def _opened(X: Any) -> tuple[Any, np.ndarray]:
    """The concatenated inputs of all bags, and the size of each bag."""
    bags = checks.objects(X, "Bags")
    for i, bag in enumerate(bags):
        if isinstance(bag, str | bytes) or not hasattr(bag, "__len__"):
            raise TypeError(f"Bag {i} is {bag!r:.80}; Bags needs a list of bags, each a list or a table of inputs.")
    sizes = np.array([len(bag) for bag in bags])
    if not sizes.any():
        raise ValueError("All bags are empty; at least one must have an input.")
    filled = [bag for bag in bags if len(bag)]
    if all(isinstance(bag, np.ndarray) for bag in filled):
        return np.concatenate(filled), sizes
    if hasattr(filled[0], "columns"):
        whole = filled[0]
        for bag in filled[1:]:
            whole = checks.concatenate(whole, bag)
        return whole, sizes
    return [x for bag in filled for x in bag], sizes
