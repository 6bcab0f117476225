"""The kernel matrix in the form that a plan says: in memory, or computed anew in each product."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer import _tiles
from representer.features.pivoted_cholesky import LowRank, pivoted_cholesky
from representer.gram import Gram
from representer.problem import Problem
from representer.solvers.packed import PackedGram

RANK = 500
"""The largest rank of a preconditioner: its set-up at each Newton step takes rank^2 n operations."""


class Matrix:
    """K of a problem: ``matrix @ V`` in float64, from values in memory or from an operator.

    Parameters
    ----------
    problem : Problem
    form : {"float64", "float32", "operator"}
        In memory as an array, in memory as float32 tiles of the lower triangle, or float32 values computed anew in each
        product.
    """

    def __init__(self, problem: Problem, form: str):
        self.problem, self.form = problem, form
        self.products = self.exact_products = 0
        self.elsewhere = 0  # kernel values that were computed in another form, or by others for the same solution
        self._low_rank: LowRank | None = None
        self._factor: LowRank | None = None
        self.inputs = problem.exact if form == "float64" else problem.fast
        gram = Gram.of(problem.kernel, self.inputs, threads=problem.threads)
        self.K: Any = gram
        if form == "float64":
            self.K = problem.kernel.block(self.inputs, threads=problem.threads)
        elif form == "float32":
            self.K = PackedGram(problem.kernel, self.inputs, problem.threads)
        self.diagonal = gram.diag().astype(np.float64)

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        self.products += 1
        return (self.K @ V.astype(self.K.dtype)).astype(np.float64, copy=False)

    def exactly(self, V: np.ndarray) -> np.ndarray:
        """K V with values in float64, computed anew."""
        self.exact_products += 1
        return self.problem.gram @ V

    def refine(self) -> None:
        """From now on compute values anew in float64: slow, but for what float32 cannot solve."""
        self.elsewhere = self.evaluations
        self.form, self.products, self.exact_products = "float64 operator", 0, 0
        self.inputs, self.K = self.problem.exact, self.problem.gram
        self.diagonal = self.K.diag()

    def block(self, rows: np.ndarray) -> np.ndarray:
        """The values between some of the inputs, in float64."""
        if self.form == "float64":
            return self.K.copy() if len(rows) == self.problem.n else self.K[np.ix_(rows, rows)]
        return self.problem.kernel.block(self.problem.exact[rows], threads=self.problem.threads)

    def low_rank(self, strength: float) -> LowRank:
        """A factor of low rank near K, for preconditioners; computed once."""
        if self._low_rank is None:
            n = self.problem.n
            rank = int(min(n, RANK, max(100, n // 12)))
            with _tiles.one_blas_thread():
                self._low_rank = pivoted_cholesky(
                    self.problem.kernel, self.inputs, rank, stop=strength, threads=self.problem.threads
                )
        return self._low_rank

    def factor(self) -> LowRank:
        """A factor of K in float64 that leaves out nothing but rounding; computed once."""
        if self._factor is None:
            kernel, inputs = self.problem.kernel, self.problem.exact
            stop = 1e-13 * float(self.diagonal.sum())
            self._factor = pivoted_cholesky(kernel, inputs, len(inputs), stop=stop, threads=self.problem.threads)
        return self._factor

    @property
    def evaluations(self) -> int:
        """Kernel values that were computed for products, and elsewhere."""
        n, anew = self.problem.n, self.form.endswith("operator")
        return self.elsewhere + n * (n + 1) // 2 * (self.exact_products + (self.products if anew else 1))
