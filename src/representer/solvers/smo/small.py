"""Duals with few coefficients, whose float64 matrix is stored from the start."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer import _parallel
from representer._loops import box_dual, symmetric
from representer._loops import smo as loops
from representer.gram.stored import lower_triangle
from representer.gram.tiled import Gram
from representer.problems.box import BoxProblem
from representer.result import Budget
from representer.solvers.smo.interior_point import is_simple, jump
from representer.solvers.smo.state import KKT, SMO_STEPS, State, require_finite, take_steps

SMALL_BELOW = 700
"""Coefficients below which all kernel values are float64: checking a float32 matrix would take longer."""
SMALL_BYTES = 12
"""Bytes per kernel value: in float64 and in float32."""
SHARED_UP_TO = 3000
"""Inputs of several classes up to which small pairs of them share a float64 matrix."""
SMALL_CHECKS = 8
"""Maximum number of restarts from a float64 gradient."""
FLOAT32_STEPS = 1e-5
"""The KKT violation that float32 steps resolve, relative to the largest derivative."""
FLOAT32_LIMIT = 1e30
"""Kernel values from which sums may overflow float32."""
STEPS_EACH = 100
"""Float32 steps per coefficient, after which steps are float64."""
STEPS_TO_JUMP = 400
"""Steps per coefficient, after which the dual is solved by an interior point method, which takes about as long."""

many_steps = f"and an interior point method follows after {STEPS_TO_JUMP} steps per coefficient"


class Values:
    """Float64 kernel values of a dual's inputs, all of them in ``matrix``.

    ``columns`` are the row and column of each coefficient, in order when not given; coefficients may share them.
    """

    def __init__(self, matrix: np.ndarray, columns: np.ndarray | None = None):
        self.matrix = matrix
        self._set(matrix.diagonal(), columns)

    def _set(self, diagonal: np.ndarray, columns: np.ndarray | None) -> None:
        self.diagonal, self._in_order = diagonal, columns is None
        self.columns = np.arange(len(diagonal)) if columns is None else columns

    def __matmul__(self, c: np.ndarray) -> np.ndarray:
        """K c."""
        if self._in_order:
            return self._product(c)
        return self._product(np.bincount(self.columns, c, minlength=len(self.diagonal)))[self.columns]

    def _product(self, c: np.ndarray) -> np.ndarray:
        with _parallel.one_blas_thread():
            return self.matrix @ c

    @property
    def nbytes(self) -> int:
        """Bytes of the values and of a copy for steps."""
        return SMALL_BYTES * len(self.diagonal) ** 2

    def square(self, dtype: type) -> np.ndarray:
        """The matrix in this precision."""
        return self.matrix.astype(dtype, copy=False)

    def dense(self) -> np.ndarray:
        """The values between all coefficients."""
        K = self.square(np.float64)
        return K if self._in_order else K[np.ix_(self.columns, self.columns)]


class HalfValues(Values):
    """The same of inputs that no other dual has, each pair once, for half of the memory and its traffic."""

    def __init__(self, gram: Gram, columns: np.ndarray | None = None):
        self._below, diagonal = lower_triangle(gram)
        self._set(diagonal, columns)

    def _product(self, c: np.ndarray) -> np.ndarray:
        Kc = np.empty_like(c)
        symmetric.multiply(self._below, self.diagonal, c, Kc)
        return Kc

    def square(self, dtype: type) -> np.ndarray:
        K: np.ndarray = np.empty((len(self.diagonal),) * 2, dtype)
        symmetric.unpack(self._below, self.diagonal, K)
        return K


def pairs_are_small(sizes: np.ndarray) -> bool:
    """Whether pairs of classes of these sizes may share a float64 matrix of all inputs."""
    return len(sizes) > 1 and int(np.sort(sizes)[-2:].sum()) < SMALL_BELOW and int(sizes.sum()) <= SHARED_UP_TO


def pairs_share_doubles(sizes: np.ndarray, room: int, threads: int, matrices: int = 1) -> bool:
    """Whether they do: pairs are small, and there is room for this many matrices."""
    return pairs_are_small(sizes) and 8 * matrices * int(sizes.sum()) ** 2 + pair_bytes(sizes, threads) <= room


def pair_bytes(sizes: np.ndarray, threads: int) -> int:
    """Bytes of the matrices of pairs of classes, one for each thread."""
    return SMALL_BYTES * min(threads, len(sizes) * (len(sizes) - 1) // 2) * int(np.sort(sizes)[-2:].sum()) ** 2


def solve(problem: BoxProblem, state: State, budget: Budget) -> tuple[KKT, Values]:
    """Steps on the full matrix, first in float32, with g recomputed in float64; returns KKT conditions and K.

    Where they are many, an interior point method takes over; if it cannot, they continue.
    """
    tol, progress, limit = budget.tol, budget.progress, budget.max_iter
    order: Any = slice(None) if problem.groups is None else np.argsort(problem.groups, kind="stable")
    K, groups = _values(problem, order), problem.group_of[order]
    box = problem.lower[order], problem.upper[order], problem.epsilon
    columns = K.columns[order]
    diagonal = K.diagonal[columns]
    largest = float(np.abs(diagonal).max())
    if not largest < np.inf:
        require_finite(diagonal)
    kkt, moved = _kkt(problem, state, K), True
    many = min(STEPS_TO_JUMP * problem.n, limit) if is_simple(problem) else limit
    single = max(largest, float(np.abs(state.g).max())) < FLOAT32_LIMIT
    for _ in range(SMALL_CHECKS):
        state.stopped |= progress is not None and bool(progress(SMO_STEPS, kkt.violation))
        if kkt.violation <= tol or state.steps >= limit or state.stopped or not moved:
            break
        if state.steps >= many:
            kkt, many = jump(problem, state, kkt, K.dense(), tol), limit
            continue
        before, c, g = state.steps, state.c[order], state.g[order] - kkt.middle[groups]
        aim, most = 0.5 * tol, many - before
        if single:  # as far as float32 resolves the derivatives
            aim, most = max(aim, FLOAT32_STEPS * float(np.abs(g).max())), min(most, STEPS_EACH * problem.n)
            held = diagonal.astype(np.float32), *box, box_dual.spans(groups, columns, loops.SPAN)
            take_steps(K.square(np.float32), g.astype(np.float32), c, held, aim, most, state, progress)
        else:
            held = diagonal, *box, box_dual.spans(groups, columns, loops.SPAN)
            take_steps(K.square(np.float64), g, c, held, aim, most, state, progress)
        state.c[order] = c
        moved, single = state.steps > before or single, False
        kkt = _kkt(problem, state, K)
    return kkt, K


def _values(problem: BoxProblem, order: Any) -> Values:
    """Float64 values, computed with groups contiguous, or from a matrix that several duals share."""
    if (stored := problem.gram.stored) is not None:
        whole = problem.gram.index is None and len(stored) == problem.n
        return Values(stored, None if whole else problem.gram.places)
    gram = problem.gram
    if problem.groups is None or np.all(np.diff(order) == 1):
        return HalfValues(gram)
    return HalfValues(gram.take(order), np.argsort(order))


def _kkt(problem: BoxProblem, state: State, K: Values) -> KKT:
    """The KKT conditions at g = K c - t, which is recomputed."""
    if state.c.any():
        np.subtract(K @ state.c, problem.targets, out=state.g)
        require_finite(state.g)  # steps read no kernel values between unchanged coefficients
    return KKT.of(problem, state.c, state.g)
