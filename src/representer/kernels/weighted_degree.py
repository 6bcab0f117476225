"""Kernels of strings of equal length, by equal words at equal positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from representer._loops import matching_runs, words
from representer.kernels import checks
from representer.kernels.counts import Counted, Counts
from representer.kernels.implicit_rows import ImplicitRows
from representer.kernels.letters import Letters
from representer.kernels.prepared import Prepared


@dataclass
class Aligned(Prepared):
    """Strings of equal length as rows of code points."""

    letters: np.ndarray
    per_row: ClassVar[tuple[str, ...]] = ("letters",)


class WeightedDegree(Counts):
    """k(s, t) = sum_d w_d (number of positions at which s and t have the same word of d letters), d = 1, ..., degree.

    With a shift, words up to that many positions apart count as well, those s positions apart 1 / (2 (s + 1)) in each
    direction. The kernel is positive semidefinite for all weights and shifts, as 1/2 + sum_s cos(s x) / (s + 1) is
    never negative, and with a ``compare`` that is.

    Parameters
    ----------
    degree : int
        Length of the longest words.
    shift : int
        How many positions equal words may be apart.
    weights : array of shape (degree,), optional
        w_d for each length, none negative, with a gradient; 2 (degree - d + 1) / (degree (degree + 1)) when not given.
    compare : Kernel, optional
        How counts of words at positions are compared, such as Tanimoto() or RBF(); by the inner product when not given.

    References
    ----------
    Sonnenburg et al., Accurate splice site prediction using support vector machines, BMC Bioinformatics 2007.

    Examples
    --------
    >>> from representer.kernels import WeightedDegree
    >>> WeightedDegree(2, weights=[1.0, 1.0])(["ACGT"], ["ACGA", "TTTT"])
    array([[5., 1.]])
    """

    def __init__(self, degree: int = 3, shift: int = 0, weights: Any = None, compare: Any = None):
        self.degree = degree
        self.shift = shift
        self.weights = weights
        self.compare = compare

    def check(self) -> None:
        checks.integer(self.degree, "degree")
        checks.integer(self.shift, "shift", least=0)

    @property
    def n_levels(self) -> int:
        return self.degree

    def level_weights(self) -> np.ndarray:
        given = super().level_weights()
        if given is not None:
            return given
        return 2.0 * np.arange(self.degree, 0, -1) / (self.degree * (self.degree + 1.0))

    @property
    def _gains(self) -> np.ndarray:
        """The gain of a position that ends a run of equal letters, by the length of the run."""
        return np.concatenate([[0.0], np.cumsum(self.level_weights())])

    @property
    def _factors(self) -> np.ndarray:
        """The factor of each shift, in one direction."""
        return np.concatenate([[1.0], 0.5 / np.arange(2.0, self.shift + 2.0)])

    def _aligned(self, X: Any) -> np.ndarray:
        letters = Letters.of(X, self)
        lengths = letters.lengths
        if np.any(lengths != lengths[0]):
            other = int(np.argmax(lengths != lengths[0]))
            raise ValueError(
                f"WeightedDegree needs equal lengths; strings 0 and {other} have {lengths[0]} and {lengths[other]}."
            )
        if self.shift and self.shift >= lengths[0]:
            raise ValueError(f"shift is {self.shift}, but the strings have {lengths[0]} letters; use a smaller one.")
        return letters.codes.reshape(len(letters), lengths[0])

    def prepare(self, X: Any, like: Any = None) -> Any:
        inputs = super().prepare(X, like)
        implicit = isinstance(inputs.rows, ImplicitRows)
        inputs.shared = (inputs.rows.inputs.letters if implicit else self._aligned(X)).shape[1]
        if like is not None and inputs.shared != like.shared:
            raise ValueError(
                f"WeightedDegree needs equal lengths; these strings have {inputs.shared} letters, the others "
                f"{like.shared}."
            )
        return inputs

    def implicit_rows(self, X: Any, like: Any) -> ImplicitRows:
        A = Aligned(self._aligned(X))
        return ImplicitRows.of(A, self._own_runs(A) @ self._gains, self._multiply, self.compare)

    def _own_runs(self, A: Aligned) -> np.ndarray:
        """For each string with itself, the number of positions that end runs of each length, weighted by shift."""
        runs = np.zeros((len(A), self.degree + 1))
        if not self.shift:
            run = np.minimum(np.arange(1, A.letters.shape[1] + 1), self.degree)
            runs[:] = np.bincount(run, minlength=self.degree + 1)
            return runs
        for i in range(len(A)):
            row = A.letters[i : i + 1]
            matching_runs.run_counts(row, row, np.ones((1, 1)), self._factors, runs[i])
        return runs

    def _multiply(self, A: Aligned, B: Aligned, tile: np.ndarray) -> None:
        matching_runs.run_values(A.letters, B.letters, self._gains, self._factors, tile)

    def _by_level(self, A: Any, B: Any, by_both: np.ndarray, by_a: Any, by_b: Any) -> np.ndarray:
        if not isinstance(A.rows, ImplicitRows):
            return super()._by_level(A, B, by_both, by_a, by_b)
        a, b, runs = A.rows.inputs, B.rows.inputs, np.zeros(self.degree + 1)
        if self._by == "distances":  # |x - y|^2 = <x, x> + <y, y> - 2 <x, y>
            by_both, by_a, by_b = -2.0 * by_both, by_both.sum(axis=1), by_both.sum(axis=0)
        weights = np.ascontiguousarray(by_both, np.float64)
        matching_runs.run_counts(a.letters, b.letters, weights, self._factors, runs)
        for inputs, slopes in ((a, by_a), (b, by_b)):
            runs += 0.0 if slopes is None else slopes @ self._own_runs(inputs)
        return np.cumsum(runs[::-1])[::-1][1:]  # runs of at least d letters end in a word of d

    def count(self, X: Any) -> Counted:
        if self.shift:
            raise TypeError(
                "WeightedDegree with a shift has no counted features, which names and sums of minima need; use shift=0."
            )
        letters, rows = Letters.of(X, self), self._aligned(X)
        if not rows.shape[1]:
            return Counted(np.empty(0, np.int64), np.empty(0, np.uint64))
        parts = [letters.words(length) for length in range(1, self.degree + 1)]
        places = [np.tile(np.arange(rows.shape[1] - d), len(rows)) for d in range(min(self.degree, rows.shape[1]))]
        keys = [
            words.paired(np.stack([key, place.astype(np.uint64)], 1).ravel(), 1)[::2]
            for (_, key), place in zip(parts, places, strict=False)
        ]
        levels = np.repeat(np.arange(len(keys)), [len(key) for key in keys])
        owners = [owner for owner, _ in parts[: len(keys)]]
        return Counted(np.concatenate(owners), np.concatenate(keys), level=levels)

    def names(self, X: Any, places: np.ndarray) -> list[str]:
        letters, width = Letters.of(X, self), self._aligned(X).shape[1]
        lengths = range(1, min(self.degree, width) + 1)
        begins = [letters.begins(length) for length in lengths]
        which = np.repeat(lengths, [len(part) for part in begins])[places]
        starts = np.concatenate(begins)[places]
        return [f"{letters.text(b, b + n)} at {b % width}" for b, n in zip(starts, which, strict=True)]
