"""The functions whose pre-images are wanted, and how far inputs are from them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from representer import _parallel
from representer.functions import Function
from representer.gram.tiled import Gram
from representer.kernels import checks
from representer.kernels.base import Kernel, require_definite
from representer.kernels.candidates import Candidates
from representer.kernels.named_features import Features, LinearForm

STRIP_ROWS = 64
"""Inputs per strip of kernel values against all x_i; one thread computes a strip."""
CANCELLED = 1e-6
"""Squared norm, relative to that before an edit, below which cancellation leaves too few digits to divide by it."""


class Target:
    """f_1, ..., f_m, each sum_i coef_i k(x_i, .) over the same x_i, and ||f - k(x, .)||^2 = ||f||^2 - 2 f(x) + k(x, x).

    Constants of the functions are ignored, as in all distances of H. Methods take inputs Z together with the index of
    the function that each of them is for.
    """

    def __init__(self, function: Function):
        require_definite(function.kernel, "a pre-image")
        self.kernel: Kernel = function.kernel
        self.X = _plain(function.X, self.kernel)
        self.inputs = function.inputs
        coef = function.coef.reshape(len(self.inputs), -1).astype(np.float64)
        self.threads = function.threads
        self.values = Gram.of(self.kernel, self.inputs, threads=self.threads) @ coef
        """f(x_i), array of shape (n, m)."""
        self.squares = np.einsum("ij,ij->j", coef, self.values)
        """||f||^2, array of shape (m,)."""
        self.coef = np.ascontiguousarray(coef.T)
        """Array of shape (m, n)."""
        self.diagonal = self.kernel.diagonal(self.inputs).astype(np.float64)

    def __len__(self) -> int:
        """Number of functions."""
        return len(self.coef)

    @property
    def dtype(self) -> np.dtype:
        return self.inputs.dtype

    @cached_property
    def _linear_form(self) -> LinearForm | None:
        """Map from prepared inputs to the values of the functions, where that needs no kernel values with the x_i."""
        return self.kernel.features.linear_form(self.inputs, self.coef)

    @cached_property
    def candidates(self) -> Candidates | None:
        """Candidate inputs besides the x_i, if the kernel can enumerate them."""
        return None if self.kernel.candidates is None else self.kernel.candidates(self.X)

    def to_training(self, functions: Any = slice(None)) -> np.ndarray:
        """Squared distances from some functions to all k(x_i, .): one row per function."""
        squares = -2.0 * self.values.T[functions]
        squares += self.diagonal
        squares += self.squares[functions][:, None]
        return np.maximum(squares, 0.0, out=squares)

    def nearest(self, count: int = 1) -> np.ndarray:
        """For each function the indices of the nearest x_i, nearest first: shape (m, count)."""
        parts = [_smallest(self.to_training(rows), count) for rows in _parallel.split(len(self), 256)]
        return np.concatenate(parts)

    def squared_distances(self, Z: Any, functions: np.ndarray) -> np.ndarray:
        """||f_j - k(z_j, .)||^2, where f_j is the function that the j-th input is for."""
        A = self.kernel.prepare(Z, like=self.inputs)
        if self._linear_form is not None:
            values = self._linear_form(A)[functions, np.arange(len(A))]
            return np.maximum(self.kernel.diagonal(A) - 2.0 * values + self.squares[functions], 0.0)

        def visit(rows: slice) -> np.ndarray:
            part = A[rows]
            K = Gram.of(self.kernel, part, self.inputs, threads=1).dense()
            values = np.einsum("ij,ij->i", K, self.coef[functions[rows]])
            return self.kernel.diagonal(part) - 2.0 * values

        return np.maximum(np.concatenate(strips(len(A), visit, self.threads)) + self.squares[functions], 0.0)

    @property
    def window(self) -> int | None:
        """Length of a string feature in letters, where distances of edited strings follow from the edit alone."""
        window = self._additive.window
        return None if window is None or self._linear_form is None else window

    @property
    def _additive(self) -> Features:
        """Features before normalisation, to which an edit of a string adds and from which it subtracts."""
        return self.kernel.features.undivided or self.kernel.features

    def edited_distances(self, x: str, edited: list[str], function: int) -> np.ndarray:
        """||f - k(y, .)||^2 for strings y that differ from x in a few letters, from the words that differ alone.

        phi(y) = phi(x) + d with d = phi(new) - phi(old), where x has the substring `old` and y the substring `new`.
        Features of a normalised kernel are divided by their norm afterwards.
        """
        assert self.window is not None
        old, new = zip(*(differing(x, y, self.window) for y in edited), strict=True)
        phi = self._additive.named([x, *old, *new]).values
        d = phi[len(old) + 1 :] - phi[1 : len(old) + 1]
        strings = self.kernel.prepare([x, *old, *new], like=self.inputs)
        f = self._linear_form(strings)[function]  # type: ignore[misc]
        own = phi[[0]].toarray().ravel()
        squares = own @ own + 2.0 * (d @ own) + np.asarray(d.multiply(d).sum(axis=1)).ravel()
        divided = self.kernel.features.undivided is not None
        if divided:
            f = f * np.sqrt(np.asarray(phi.multiply(phi).sum(axis=1)).ravel())
        values = f[0] + f[len(old) + 1 :] - f[1 : len(old) + 1]
        if not divided:
            return np.maximum(squares - 2.0 * values + self.squares[function], 0.0)
        lost = squares <= CANCELLED * (own @ own)  # cancellation has lost the digits, or no features are left
        found = 1.0 - 2.0 * values / np.sqrt(np.where(lost, 1.0, squares)) + self.squares[function]
        if np.any(lost):
            rest = [y for y, is_lost in zip(edited, lost, strict=True) if is_lost]
            found[lost] = self.squared_distances(rest, np.full(len(rest), function))
        return np.maximum(found, 0.0)

    def with_gradients(self, Z: Any, functions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The squared distances, and their gradients d k(z, z) / dz - 2 df(z) / dz."""
        A = self.kernel.prepare(Z, like=self.inputs)

        def visit(rows: slice) -> tuple[np.ndarray, np.ndarray]:
            part, coef = A[rows], self.coef[functions[rows]]
            values = np.einsum("ij,ij->i", Gram.of(self.kernel, part, self.inputs, threads=1).dense(), coef)
            gradient = -2.0 * self.kernel.input_vjp(part, self.inputs, coef.astype(self.dtype))
            # d k(z, z) / dz is twice the derivative with respect to the first argument, by symmetry
            own = [
                self.kernel.input_vjp(part[i], part[i], 2.0 * np.eye(len(part[i]), dtype=self.dtype))
                for i in _parallel.split(len(part), 16)
            ]
            return self.kernel.diagonal(part) - 2.0 * values, gradient + np.concatenate(own)

        values, gradients = zip(*strips(len(A), visit, self.threads), strict=True)
        squares = np.maximum(np.concatenate(values) + self.squares[functions], 0.0)
        return squares, np.concatenate(gradients).astype(np.float64)

    # ---- what the kernel allows ----

    @property
    def plain(self) -> tuple[Any, float]:
        """The kernel without constant factors, and the factor.

        The pre-image of sum_i coef_i k(x_i, .) does not depend on the factor.
        """
        return self.kernel.unscaled

    @property
    def on_rows(self) -> bool:
        """Whether the inputs are rows of numbers."""
        return sparse.issparse(self.X) or (isinstance(self.X, np.ndarray) and self.X.dtype.kind in "biuf")

    @property
    def radial(self) -> bool:
        """Whether k(x, y) is a function phi of the distance between x and y, up to a factor."""
        return self.plain[0].of_squared_distance

    @property
    def length_scale(self) -> np.ndarray:
        """Length scale of a kernel of one distance or inner product: one number, or one per column."""
        return checks.length_scale(self.plain[0].length_scale, self.X.shape[1])

    def from_scaled(self, V: np.ndarray) -> np.ndarray:
        """Inputs from rows in the layout of such a kernel: shifted, and divided by the length scale."""
        shift = getattr(self.inputs, "shift", None)
        return V * self.length_scale + (0.0 if shift is None else shift)

    @property
    def has_gradient(self) -> bool:
        """Whether the kernel has a gradient with respect to these inputs."""
        if not self.on_rows:
            return False
        one = self.inputs[:1]
        try:
            self.kernel.input_vjp(one, one, np.ones((1, 1), self.dtype))
        except TypeError:
            return False
        return True

    @property
    def precomputed(self) -> bool:
        """Whether only the Gram matrix of the x_i is known."""
        return self.kernel.precomputed


def differing(x: str, y: str, window: int) -> tuple[str, str]:
    """Substrings of x and y; all words of up to ``window`` letters not inside them are the same in x and y."""
    most = min(len(x), len(y))
    before = bisect_left(range(1, most + 1), True, key=lambda n: x[:n] != y[:n])
    after = bisect_left(range(1, most - before + 1), True, key=lambda n: x[-n:] != y[-n:])
    begin = max(before - window + 1, 0)
    return x[begin : len(x) - after + window - 1], y[begin : len(y) - after + window - 1]


def strips(n: int, visit: Callable[[slice], Any], threads: int | None) -> list:
    """visit(rows) for strips of n rows, on this many threads."""
    tiles = [(rows, slice(0, 0)) for rows in _parallel.split(n, STRIP_ROWS)]
    runs = _parallel.map_tiles(tiles, lambda run: [visit(rows) for rows, _ in run], runs=len(tiles), threads=threads)
    return [part for run in runs for part in run]


def _smallest(values: np.ndarray, count: int) -> np.ndarray:
    """Columns of the smallest entries of each row, smallest first; ties go to the first column."""
    if count == 1:
        return values.argmin(axis=1)[:, None]
    count = min(count, values.shape[1])
    some = np.sort(np.argpartition(values, count - 1, axis=1)[:, :count], axis=1)
    order = np.argsort(np.take_along_axis(values, some, axis=1), axis=1, kind="stable")
    return np.take_along_axis(some, order, axis=1)


def _plain(X: Any, kernel: Kernel) -> Any:
    """Rows of numbers as an array or a CSR matrix, data frames as they are, anything else as a list."""
    if sparse.issparse(X):
        return sparse.csr_array(X)
    if kernel.on_vectors:
        return np.asarray(X)
    return X if hasattr(X, "columns") or getattr(X, "ndim", 1) == 2 else list(X)


def dense_rows(X: Any, index: Any) -> np.ndarray:
    """Some rows of an array or a sparse matrix, as an array of floats."""
    rows = X[index]
    rows = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)
    return rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)
