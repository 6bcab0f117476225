"""Duals with few coefficients, whose float64 matrix is at hand from the beginning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from representer._loops.box_dual import spans
from representer._loops.smo import SPAN
from representer.problems.box import BoxProblem
from representer.result import Budget
from representer.solvers.smo.state import KKT, SMO_STEPS, State, require_finite, take_steps

SMALL_BELOW = 700
"""Coefficients below which all have float64 values: the check of a float32 matrix would take longer."""
SMALL_BYTES = 12
"""Bytes of each of their values: in float64 and in float32."""
SHARED_UP_TO = 3000
"""Inputs of several classes up to which small pairs of them share a float64 matrix."""
SMALL_CHECKS = 8
"""How often steps begin anew from a gradient in float64."""
FLOAT32_STEPS = 1e-5
"""The violation that float32 steps resolve, relative to the greatest derivative."""
FLOAT32_LIMIT = 1e30
"""Kernel values from which float32 leaves no room for sums of them."""
FULL_UP_TO = 1.5
"""How many times larger a shared matrix may be for a product with all of it to be faster than one of many blocks."""
STEPS_EACH = 100
"""Float32 steps for each coefficient, after which they are float64."""


class Values:
    """Float64 kernel values of a dual's inputs, maybe among others.

    ``columns`` are the row and column of each coefficient, in order when not given.
    """

    def __init__(self, matrix: np.ndarray, columns: np.ndarray | None = None):
        self.matrix, self._runs = matrix, [(slice(None), slice(None))]
        if columns is None:
            self.columns = self.inputs = self.input_of = np.arange(len(matrix))
            return
        # each input once, although a dual may have two coefficients for it
        self.columns, (self.inputs, self.input_of) = columns, np.unique(columns, return_inverse=True)
        runs = spans(np.zeros_like(self.inputs), self.inputs, len(columns))
        self._runs = [(slice(begin, end), slice(begin + shift, end + shift)) for begin, end, _, shift in runs]

    def _blocks(self) -> Iterator[tuple[slice, slice, np.ndarray]]:
        """Views of the values between runs of consecutive rows and columns."""
        yield from ((i, j, self.matrix[rows, columns]) for i, rows in self._runs for j, columns in self._runs)

    def __matmul__(self, c: np.ndarray) -> np.ndarray:
        """K c."""
        if self.columns is self.inputs:
            return self.matrix @ c
        v = np.bincount(self.input_of, c, minlength=len(self.inputs))
        if len(self._runs) > 1 and len(self.matrix) <= FULL_UP_TO * len(self.inputs):
            full = np.zeros(len(self.matrix))
            full[self.inputs] = v
            return (self.matrix @ full)[self.columns]
        out = np.zeros(len(v))
        for rows, columns, block in self._blocks():
            out[rows] += block @ v[columns]
        return out[self.input_of]

    def float32(self) -> np.ndarray:
        """The values between these inputs, in float32."""
        if self.columns is self.inputs:
            return self.matrix.astype(np.float32)
        out = np.empty((len(self.inputs),) * 2, np.float32)
        for rows, columns, block in self._blocks():
            out[rows, columns] = block
        return out

    @property
    def nbytes(self) -> int:
        """Bytes of the values that are its own: all, or those in float32 if the others are shared."""
        return (4 if len(self.matrix) > len(self.inputs) else SMALL_BYTES) * len(self.inputs) ** 2

    def dense(self) -> np.ndarray:
        """The values between all coefficients."""
        return self.matrix[np.ix_(self.columns, self.columns)]


def pairs_are_small(sizes: np.ndarray) -> bool:
    """Whether pairs of classes of these sizes may share a float64 matrix of all inputs."""
    return len(sizes) > 1 and int(np.sort(sizes)[-2:].sum()) < SMALL_BELOW and int(sizes.sum()) <= SHARED_UP_TO


def pairs_share_doubles(sizes: np.ndarray, room: int, threads: int, matrices: int = 1) -> bool:
    """Whether they do, as there is room for so many of these matrices."""
    return pairs_are_small(sizes) and 8 * matrices * int(sizes.sum()) ** 2 + pair_bytes(sizes, threads) <= room


def pair_bytes(sizes: np.ndarray, threads: int) -> int:
    """Bytes of the float32 matrices of pairs of classes, one for each thread."""
    return 4 * min(threads, len(sizes) * (len(sizes) - 1) // 2) * int(np.sort(sizes)[-2:].sum()) ** 2


def solve(problem: BoxProblem, state: State, budget: Budget) -> tuple[KKT, Values]:
    """Steps on the matrix of all coefficients, float32 first, and g anew from float64 values; KKT conditions and K."""
    tol, progress, limit = budget.tol, budget.progress, budget.max_iter
    order: Any = slice(None) if problem.groups is None else np.argsort(problem.groups, kind="stable")
    K, groups = _values(problem, order), problem.group_of[order]
    box = problem.lower[order], problem.upper[order], problem.epsilon
    diagonal = K.matrix.diagonal()[K.columns[order]]
    largest = float(np.abs(diagonal).max())
    if not largest < np.inf:
        require_finite(diagonal)
    kkt, moved = _kkt(problem, state, K), True
    single = max(largest, float(np.abs(state.g).max())) < FLOAT32_LIMIT
    for _ in range(SMALL_CHECKS):
        state.stopped |= progress is not None and bool(progress(SMO_STEPS, kkt.violation))
        if kkt.violation <= tol or state.steps >= limit or state.stopped or not moved:
            break
        before, c, g = state.steps, state.c[order], state.g[order] - kkt.middle[groups]
        aim, most = 0.5 * tol, limit - before
        if single:  # as far as float32 resolves the derivatives
            aim, most = max(aim, FLOAT32_STEPS * float(np.abs(g).max())), min(most, STEPS_EACH * problem.n)
            held = diagonal.astype(np.float32), *box, spans(groups, K.input_of[order], SPAN)
            take_steps(K.float32(), g.astype(np.float32), c, held, aim, most, state, progress)
        else:
            held = diagonal, *box, spans(groups, K.columns[order], SPAN)
            take_steps(K.matrix, g, c, held, aim, most, state, progress)
        state.c[order] = c
        moved, single = state.steps > before or single, False
        kkt = _kkt(problem, state, K)
    return kkt, K


def _values(problem: BoxProblem, order: Any) -> Values:
    """Float64 values, computed in an order in which groups stand together, or in a matrix that several duals share."""
    if (stored := problem.gram.stored) is not None:
        whole = problem.gram.index is None and len(stored) == problem.n
        return Values(stored, None if whole else problem.gram.places)
    gram = problem.gram.astype(np.float64)
    if problem.groups is None or np.all(np.diff(order) == 1):
        return Values(gram.dense().astype(np.float64, copy=False))
    return Values(gram.take(order).dense().astype(np.float64, copy=False), np.argsort(order))


def _kkt(problem: BoxProblem, state: State, K: Values) -> KKT:
    """The KKT conditions at g = K c - t, computed anew."""
    if state.c.any():
        np.subtract(K @ state.c, problem.targets, out=state.g)
        require_finite(state.g)  # steps read no kernel values between coefficients that did not change
    return KKT.of(problem, state.c, state.g)
