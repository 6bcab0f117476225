"""The Hilbert-Schmidt independence criterion, and the test of independence based on it."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh

from representer import _parallel
from representer._loops import permuted_products
from representer._parallel import machine_memory
from representer.estimators.inputs import in_column, to_kernel
from representer.estimators.resampling import Outcome, combine, permuted
from representer.features.pivoted_cholesky import pivoted_cholesky
from representer.gram.low_rank import LowRank
from representer.gram.through_features import fewer_features
from representer.gram.tiled import Gram
from representer.kernels import checks
from representer.kernels.base import Kernel, require_definite

PERMUTATION_BYTES = 2**28
LITTLE_MORE = 2
"""Inputs per feature up to which matrices take little more memory than features, and may be used where faster."""


@dataclass(frozen=True, eq=False)
class HSIC:
    r"""HSIC = ||mean of k(x, .) l(y, .) - (mean of k(x, .)) (mean of l(y, .))||^2, and the test of independence.

    The biased statistic is sum_ij K_ij L_ij / n^2 with both kernel matrices centred; the unbiased one leaves out i = j
    (Song et al.). The test permutes the y_i: statistics sum_ij K_ij L_{p_i p_j}. Nothing is fitted, so this is a frozen
    record of parameters; ``dataclasses.replace`` makes a modified one.

    ==========  ======================================================================  ====================
    method      computes                                                                takes
    ==========  ======================================================================  ====================
    dense       the sums themselves, both matrices in memory                            n^2 / 2 a permutation
    low_rank    \|F G_p'\|^2 from pivoted Cholesky factors K = F'F, L = G'G              n r_x r_y a permutation
    ==========  ======================================================================  ====================

    For a kernel with fewer features than inputs, such as `Nystroem`, the factors are its features, and exact.

    Both give exact p-values, because low-rank factors define kernels, too; the outcome's ``error_bound`` bounds how far
    the statistic can be below that of the given kernels.

    Parameters
    ----------
    kernel_x, kernel_y : Kernel or str
        Each on inputs of any type. Length scales that are not given are chosen from all x, and from all y.
    statistic : {"biased", "unbiased"}
    n_permutations : int
        The smallest possible p-value is 1 / (1 + n_permutations).
    method : {"auto", "dense", "low_rank"}
        "auto" uses factors where small ones reach the tolerance, and dense matrices otherwise.
    tol : float
        The fraction of the traces of both matrices that factors may leave out.
    rank : int, optional
        The largest rank of a factor for "low_rank", which then may leave out more than ``tol``; n when not given.
    memory : int, optional
        Bytes that both matrices may take. The machine's memory when not given.
    threads : int, optional
    random_state : int or numpy Generator

    References
    ----------
    Gretton, Fukumizu, Teo, Song, Scholkopf and Smola, A kernel statistical test of independence, NeurIPS 2007. Song,
    Smola, Gretton, Bedo and Borgwardt, Feature selection via dependence maximization, JMLR 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from representer import HSIC
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 1))
    >>> Y = X**2 + 0.1 * rng.normal(size=(100, 1))
    >>> HSIC(n_permutations=199, random_state=0).test(X, Y).pvalue
    0.005
    """

    kernel_x: Any = "rbf"
    kernel_y: Any = "rbf"
    _: KW_ONLY
    statistic: str = "biased"
    n_permutations: int = 999
    method: str = "auto"
    tol: float = 1e-6
    rank: int | None = None
    memory: int | None = None
    threads: int | None = None
    random_state: Any = 0

    def test(self, X: Any, Y: Any) -> Outcome:
        """Test whether x and y are independent, from the pairs (x_i, y_i)."""
        X, Y = in_column(X, to_kernel(self.kernel_x)), in_column(Y, to_kernel(self.kernel_y))
        self._check(X, Y)
        rng = np.random.default_rng(self.random_state)
        kernels = tuple(to_kernel(k).with_default_scales(Z) for k, Z in ((self.kernel_x, X), (self.kernel_y, Y)))
        inputs = tuple(k.prepare(Z) for k, Z in zip(kernels, (X, Y), strict=True))
        with _parallel.one_blas_thread():
            pair = self._factors(kernels, inputs, rng) or self._matrices(kernels, inputs)
            null = np.concatenate([self._statistics(pair, p) for p in self._permutations(len(inputs[0]), rng)])
            observed = self._statistics(pair, np.arange(len(inputs[0]), dtype=np.int32)[None])
        scales = [float(np.abs(k.diagonal(A)).max()) for k, A in zip(kernels, inputs, strict=True)]
        eps = max(float(np.finfo(A.dtype).eps) for A in inputs)
        slack = 64 * eps * scales[0] * scales[1] / len(inputs[0])
        pvalue, _ = combine(null[None], observed, np.array([slack]))
        method = f"{self.statistic} HSIC, {pair}, {self.n_permutations} permutations"
        return Outcome(float(observed[0]), pvalue, null, kernels, method, error_bound=self._error_bound(pair))

    def _check(self, X: Any, Y: Any) -> None:
        n, m = checks.number_of(X), checks.number_of(Y)
        if n != m:
            raise ValueError(f"X has {n} inputs and Y has {m}; a test of independence needs pairs (x_i, y_i).")
        if n < 4:
            raise ValueError(f"There are {n} pairs; a test of independence needs at least four.")
        for name, choices in (("statistic", ("biased", "unbiased")), ("method", ("auto", "dense", "low_rank"))):
            if getattr(self, name) not in choices:
                known = ", ".join(repr(choice) for choice in choices)
                raise ValueError(f"{name} is {getattr(self, name)!r}; use one of {known}.")
        if self.rank is not None and self.method != "low_rank":
            raise ValueError("rank limits the factors of method='low_rank'; give that method, or no rank.")
        checks.positive(self.tol, "tol")
        checks.integer(self.n_permutations, "n_permutations", most=10**7)
        for name in ("rank", "memory", "threads"):
            if getattr(self, name) is not None:
                checks.integer(getattr(self, name), name)
        for kernel in (self.kernel_x, self.kernel_y):
            require_definite(to_kernel(kernel), "a covariance")

    # ---- the two kernels on all pairs, as factors or as matrices ----

    def _factors(self, kernels: tuple[Kernel, ...], inputs: tuple, rng: np.random.Generator) -> _Factors | None:
        """Low-rank factors; None where matrices were requested, or are faster at the same tolerance."""
        if self.method == "dense":
            return None
        n, memory = len(inputs[0]), self.memory or machine_memory()
        most = min(n, memory // (32 * n))
        rank = self.rank or min(most, n if self.method == "low_rank" else max(100, n // 8))
        if rank > most or rank < 1:
            raise MemoryError(
                f"Factors of rank {max(rank, 1)} take {32 * n * max(rank, 1) / 1e9:.3g} GB, above the budget of "
                f"{memory / 1e9:.3g} GB; use a smaller rank or a larger memory=."
            )
        grams = [Gram.of(kernel, A, threads=self.threads) for kernel, A in zip(kernels, inputs, strict=True)]
        found = [self._features(gram, most) or self._cholesky(gram, rank, rng) for gram in grams]
        low, enough = [part for part, _ in found], all(good for _, good in found)
        # beyond about this rank, products of factors take longer than sums over permuted matrices
        slow = low[0].rank * low[1].rank > 10 * n and self._bytes(inputs) <= memory
        small = n <= LITTLE_MORE * (low[0].rank + low[1].rank) or not any(len(part.pivots) == 0 for part in low)
        if self.method == "auto" and ((slow and small) or not enough):
            return None
        F, G = (part.factor - part.factor.mean(axis=1, keepdims=True, dtype=np.float64) for part in low)
        return _Factors(F, np.ascontiguousarray(G.T), (float(low[0].remainder.sum()), float(low[1].remainder.sum())))

    def _features(self, gram: Gram, most: int) -> tuple[LowRank, bool] | None:
        """K = Phi Phi' where the kernel has few features, such as Nystroem's; no factor is more exact."""
        features = None if self.rank else fewer_features(gram)
        return None if features is None or features.shape[1] > most else (LowRank(features.T), True)

    def _cholesky(self, gram: Gram, rank: int, rng: np.random.Generator) -> tuple[LowRank, bool]:
        """A factor of at most this rank, and whether its remainder is within the tolerance."""
        stop = self.tol * float(gram.diag().sum(dtype=np.float64))
        low = pivoted_cholesky(gram, rank, stop=stop, random_state=rng)
        return low, bool(low.remainder.sum() <= stop)

    def _bytes(self, inputs: tuple) -> int:
        """Bytes of two dense matrices."""
        return 2 * np.result_type(*(A.dtype for A in inputs)).itemsize * len(inputs[0]) ** 2

    def _matrices(self, kernels: tuple[Kernel, ...], inputs: tuple) -> _Matrices:
        dtype, memory = np.result_type(*(A.dtype for A in inputs)), self.memory or machine_memory()
        if self._bytes(inputs) > memory:
            raise MemoryError(
                f"Two kernel matrices of {len(inputs[0])} inputs need {self._bytes(inputs) / 1e9:.3g} GB, above the "
                f"budget of {memory / 1e9:.3g} GB; use method='low_rank' with a rank, fewer inputs, float32 inputs, or "
                "a larger memory=."
            )
        K, L = (Gram.of(k, A, threads=self.threads).dense() for k, A in zip(kernels, inputs, strict=True))
        return _Matrices(_centred(K).astype(dtype, copy=False), _centred(L).astype(dtype, copy=False))

    # ---- statistics ----

    def _permutations(self, n: int, rng: np.random.Generator) -> Any:
        """Random permutations as rows, as many at a time as the memory allows."""
        for part in _parallel.split(self.n_permutations, max(1, PERMUTATION_BYTES // (4 * n))):
            rows = np.empty((part.stop - part.start, n), np.int32)
            for some, drawn in permuted(np.arange(n, dtype=np.int32), len(rows), rng):
                rows[some] = drawn
            yield rows

    def _statistics(self, pair: _Factors | _Matrices, permutations: np.ndarray) -> np.ndarray:
        """HSIC for each permutation of the y_i."""
        out = np.empty(len(permutations))

        def visit(run: list[_parallel.Tile]) -> None:
            for rows, _ in run:
                out[rows] = pair.products(permutations[rows])

        size = max(8, 2**16 // permutations.shape[1])  # a few inputs are not worth a thread of their own
        parts = [(rows, slice(0, 1)) for rows in _parallel.split(len(permutations), size)]
        for _ in _parallel.map_tiles(parts, visit, threads=self.threads):
            pass
        dx, dy = pair.diagonals
        n, diagonal = len(dx), np.array([dx @ dy[p] for p in permutations])
        if self.statistic == "biased":
            return (out + diagonal) / n**2
        # as rows of centred matrices sum to zero, those without the diagonal sum to minus the diagonal
        traces = dx.sum() * dy.sum() / ((n - 1) * (n - 2))
        return (out + traces - 2 / (n - 2) * diagonal) / (n * (n - 3))

    def _error_bound(self, pair: _Factors | _Matrices) -> float:
        """How much the factors can change the statistic: 0 <= tr(K L) - tr(F'F G'G), and tr(A B) <= tr(A) |B|."""
        if isinstance(pair, _Matrices):
            return 0.0
        (lost_x, lost_y), (dx, dy), (large_x, large_y) = pair.lost, pair.diagonals, pair.norms
        n = len(dx)
        full = lost_x * (large_y + lost_y) + large_x * lost_y
        if self.statistic == "biased":
            return full / n**2
        traces = lost_x * (dy.sum() + lost_y) + dx.sum() * lost_y
        return (full * (2 + 2 / (n - 2)) + traces / ((n - 1) * (n - 2))) / (n * (n - 3))


@dataclass(frozen=True)
class _Factors:
    """Centred kernel matrices F'F and G G', and the traces of their remainders."""

    F: np.ndarray
    G: np.ndarray
    lost: tuple[float, float]

    def __str__(self) -> str:
        return f"factors of rank {len(self.F)} and {self.G.shape[1]}"

    @cached_property
    def diagonals(self) -> tuple[np.ndarray, np.ndarray]:
        return np.einsum("ri,ri->i", self.F, self.F), np.einsum("ir,ir->i", self.G, self.G)

    @property
    def norms(self) -> tuple[float, float]:
        """The largest eigenvalues."""
        return tuple(  # type: ignore[return-value]
            float(max(eigvalsh(M), default=0.0)) for M in (self.F @ self.F.T, self.G.T @ self.G)
        )

    def products(self, permutations: np.ndarray) -> np.ndarray:
        """sum_{i != j} K_ij L_{p_i p_j}."""
        dx, dy = self.diagonals
        return np.array([np.sum((self.F @ self.G[p]) ** 2) - dx @ dy[p] for p in permutations])


@dataclass(frozen=True)
class _Matrices:
    """Centred kernel matrices."""

    K: np.ndarray
    L: np.ndarray

    def __str__(self) -> str:
        return "dense matrices"

    @property
    def diagonals(self) -> tuple[np.ndarray, np.ndarray]:
        return self.K.diagonal().astype(np.float64), self.L.diagonal().astype(np.float64)

    def products(self, permutations: np.ndarray) -> np.ndarray:
        """sum_{i != j} K_ij L_{p_i p_j}."""
        out = np.empty(len(permutations))
        permuted_products.inner_products(self.K, self.L, permutations, out)
        return 2.0 * out


def _centred(K: np.ndarray) -> np.ndarray:
    """H K H with H = I - 1 1' / n, in place."""
    means = K.mean(axis=1, dtype=np.float64)
    K -= means.astype(K.dtype)
    K -= (means - means.mean()).astype(K.dtype)[:, None]
    return K
