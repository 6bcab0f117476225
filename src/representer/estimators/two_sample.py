"""The maximum mean discrepancy, and two-sample tests based on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.base import clone

from representer import _parallel
from representer.estimators.inputs import evenly_spaced, is_precomputed, to_kernel
from representer.estimators.resampling import (
    DRAWN,
    SIGN_BYTES,
    Outcome,
    combine,
    dot,
    forms,
    forms_of_features,
    permuted,
)
from representer.functions import Function, mean_embedding
from representer.gram.through_features import fewer_features
from representer.gram.tiled import Gram
from representer.kernels import checks
from representer.kernels.algebra import Pair
from representer.kernels.base import Kernel, require_definite, same_precision
from representer.kernels.differences import Differences

MOST_BANDWIDTHS = 1000
"""Largest number of bandwidths: each is a test of its own, with its own kernel matrix."""


@dataclass(frozen=True, eq=False)
class MMD:
    r"""MMD(P, Q) = ||mean of k(x, .) over P - mean of k(y, .) over Q||, and the test of P = Q based on it.

    The statistic is MMD^2, estimated by
    mean_{i != j} k(x_i, x_j) + mean_{i != j} k(y_i, y_j) - 2 mean_{ij} k(x_i, y_j). All resampled statistics come from
    one pass over tiles of the kernel matrix of both samples, which is never stored: with signs s_i = +1 for the first
    sample and -1 for the second, each is a quadratic form s' K s up to terms linear in s. For a kernel with fewer
    features than inputs, such as `Nystroem`, it is |Phi' s|^2, in time n m instead of n^2. Nothing is fitted, so this
    is a frozen record of parameters; ``dataclasses.replace`` makes a modified one.

    Parameters
    ----------
    kernel : Kernel, str or list of them
        On inputs of any type. A length scale that is not given is chosen from both samples together, which keeps the
        p-value exact. The test with a list aggregates over its kernels, see ``bandwidths``.
    statistic : {"unbiased", "biased"}
        "biased" includes the pairs i = j, and is the squared norm of the difference of the two mean embeddings.
    null : {"auto", "permutation", "wild_bootstrap", "normal"}
        "permutation" draws which inputs form the first sample. "wild_bootstrap" draws for each i whether x_i and y_i
        are swapped; it needs samples of equal size, in an order without meaning, takes a quarter of the time, and the
        unbiased statistic then also leaves out k(x_i, y_i). "normal" is the limiting distribution of the mean over
        blocks. "auto" is "permutation", and with blocks "wild_bootstrap".
    n_permutations : int
        Number of resamples B; "normal" needs none. The smallest possible p-value is 1 / (1 + B).
    bandwidths : int or array, optional
        Test with several kernels, whose length scales are these multiples of the given or chosen ones; an integer
        spreads that many from 1/16 to 4. The p-value is that of the smallest p-value over all kernels, by the same
        resamples: the level correction of MMDAgg in the form of an exact p-value.
    block_size : int, optional
        Average the statistic over blocks of this many pairs (x_i, y_i), in time n block_size instead of n^2; 2 gives
        the linear-time statistic.
    threads : int, optional
    random_state : int or numpy Generator

    References
    ----------
    Gretton, Borgwardt, Rasch, Scholkopf and Smola, A kernel two-sample test, JMLR 2012. Zaremba, Gretton and Blaschko,
    B-tests, NeurIPS 2013. Schrab, Kim, Albert, Laurent, Guedj and Gretton, MMD aggregated two-sample test, JMLR 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from representer import MMD
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(100, 2)), rng.normal(size=(80, 2)) + 0.6
    >>> MMD(n_permutations=199, random_state=0).test(X, Y).pvalue
    0.005
    """

    kernel: Any = "rbf"
    _: KW_ONLY
    statistic: str = "unbiased"
    null: str = "auto"
    n_permutations: int = 999
    bandwidths: Any = None
    block_size: int | None = None
    threads: int | None = None
    random_state: Any = 0

    def test(self, X: Any, Y: Any) -> Outcome:
        """Test whether the samples X and Y, of any two sizes, come from the same distribution."""
        null = self._check(X, Y)
        X, Y, pooled = _pool(X, Y, self.kernel)
        kernels = self._kernels(pooled)
        with _parallel.one_blas_thread():
            if null == "permutation":
                m = checks.number_of(X)
                return self._resample([_Permutation(k, pooled, m, self.statistic, self.threads) for k in kernels])
            tests = [_Bootstrap(k, pooled, self.statistic, self.block_size, self.threads) for k in kernels]
            return self._resample(tests) if null == "wild_bootstrap" else self._normal(tests)

    def witness(self, X: Any, Y: Any) -> Function:
        """f = mean of k(x, .) over X - mean of k(y, .) over Y, the function whose means differ most for its norm.

        It is large where X has more mass and small where Y has more. Its norm is the MMD of the biased statistic.
        """
        self._check(X, Y)
        X, Y, pooled = _pool(X, Y, self.kernel)
        kernels = self._kernels(pooled)
        if len(kernels) > 1:
            raise ValueError(f"There is a witness function for each of the {len(kernels)} kernels; choose one of them.")
        return mean_embedding(kernels[0], X) - mean_embedding(kernels[0], Y)

    def _check(self, X: Any, Y: Any) -> str:
        """Raise for parameters and sample sizes that allow no test; returns the null distribution to use."""
        m, n = checks.number_of(X), checks.number_of(Y)
        if min(m, n) < 2:
            raise ValueError(f"The samples have {m} and {n} inputs; a two-sample test needs at least two in each.")
        checks.integer(self.n_permutations, "n_permutations", most=10**7)
        for name, choices in (
            ("statistic", ("unbiased", "biased")),
            ("null", ("auto", "permutation", "wild_bootstrap", "normal")),
        ):
            if getattr(self, name) not in choices:
                known = ", ".join(repr(choice) for choice in choices)
                raise ValueError(f"{name} is {getattr(self, name)!r}; use one of {known}.")
        if self.threads is not None:
            checks.integer(self.threads, "threads")
        block = self.block_size
        null = ("permutation" if block is None else "wild_bootstrap") if self.null == "auto" else self.null
        if null != "permutation" and m != n:
            raise ValueError(
                f"null='{null}' pairs x_i with y_i, but the samples have {m} and {n} inputs; "
                "use null='permutation' without block_size, or samples of equal size."
            )
        if block is not None:
            checks.integer(block, "block_size", 2)
            if self.statistic != "unbiased" or null == "permutation":
                raise ValueError(
                    "With block_size the statistic is 'unbiased' and null is 'wild_bootstrap' or 'normal'."
                )
            if m // block < (2 if null == "normal" else 1):
                raise ValueError(f"block_size is {block}, but there are {m} pairs; use smaller blocks.")
        elif null == "normal":
            raise ValueError("null='normal' needs the mean over blocks; give a block_size, such as 2 or sqrt(n).")
        return null

    def _kernels(self, pooled: Any) -> list[Kernel]:
        """The kernels with all length scales."""
        given = self.kernel if isinstance(self.kernel, list | tuple) else [self.kernel]
        if not given:
            raise ValueError("kernel is an empty list; give at least one.")
        kernels = []
        for kernel in map(to_kernel, given):
            if is_precomputed(kernel):
                raise ValueError(
                    "A precomputed Gram matrix does not say which inputs are X and which are Y; "
                    "test their indices with kernel=Callable(lambda i, j: K[np.ix_(i, j)])."
                )
            require_definite(kernel, "a mean embedding")
            kernels += _scaled(kernel.with_default_scales(pooled), self.bandwidths)
        return kernels

    def _resample(self, tests: list) -> Outcome:
        """Statistics and p-values of all kernels, from the same resamples."""
        nulls, statistics = np.empty((len(tests), self.n_permutations)), np.empty(len(tests))
        done = 0
        for signs in tests[0].signs(self.n_permutations, np.random.default_rng(self.random_state)):
            columns = slice(done, done + signs.shape[1] - 1)
            for t, test in enumerate(tests):
                statistics[t], nulls[t, columns] = test.statistics(signs)
            done = columns.stop
        pvalue, pvalues = combine(nulls, statistics, np.array([test.slack for test in tests]))
        size = f" over blocks of {self.block_size}" if self.block_size is not None else ""
        method = f"{self.statistic} MMD^2{size}, {self.n_permutations} resamples by {tests[0].name}"
        parts = tuple(
            Outcome(float(s), float(p), values, test.kernel, method)
            for s, p, values, test in zip(statistics, pvalues, nulls, tests, strict=True)
        )
        # among tied p-values, which are often the smallest possible, the largest standardised statistic
        scores = statistics / np.maximum(nulls.std(axis=1), np.finfo(np.float64).tiny)
        best = parts[int(np.lexsort((-scores, pvalues))[0])]
        if len(parts) == 1:
            return best
        return Outcome(best.statistic, pvalue, best.null, best.kernel, method, parts)

    def _normal(self, tests: list[_Bootstrap]) -> Outcome:
        if len(tests) > 1:
            raise ValueError("null='normal' tests with a single kernel; use null='wild_bootstrap' for several.")
        values = tests[0].block_statistics()
        error = values.std(ddof=1) / np.sqrt(len(values))
        score = values.mean() / error if error > 0 else 0.0
        method = f"unbiased MMD^2 over {len(values)} blocks of {self.block_size}, normal law"
        return Outcome(float(values.mean()), float(norm.sf(score)), None, tests[0].kernel, method)


class _Permutation:
    """MMD^2 for many splits of the pooled inputs into two samples of the same sizes."""

    name = "permutation"

    def __init__(self, kernel: Kernel, pooled: Any, m: int, statistic: str, threads: int | None):
        self.kernel, self.m, self.unbiased, self.threads = kernel, m, statistic == "unbiased", threads
        self.inputs = kernel.prepare(pooled)
        self.diagonal = kernel.diagonal(self.inputs).astype(np.float64)
        self.gram = Gram.of(kernel, self.inputs, threads=threads)
        self.features = fewer_features(self.gram)
        # the matrix is centred like the signs; otherwise rounding of its large mean would drown the rest
        if self.features is not None:
            self.features = self.features - self.features.mean(axis=0, dtype=np.float64).astype(self.features.dtype)
            self.shift = 0.5 * (self.diagonal - np.einsum("ij,ij->i", self.features, self.features, dtype=np.float64))
            return
        some = self.inputs[evenly_spaced(len(self.inputs), 256)]
        means = Gram.of(kernel, self.inputs, some, threads=threads) @ np.full(len(some), 1.0 / len(some))
        self.shift = (means - 0.5 * means.mean()).astype(self.inputs.dtype).astype(np.float64)

    @property
    def slack(self) -> float:
        """Rounding of the statistic if all inputs are equal."""
        return 8 * float(np.finfo(self.inputs.dtype).eps) * self.diagonal.max() / len(self.inputs)

    def signs(self, n_permutations: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """The observed signs and permutations of them, as columns, as many at a time as the memory allows."""
        observed = np.where(np.arange(len(self.inputs)) < self.m, 1, -1).astype(np.int8)
        for part in _parallel.split(n_permutations, max(1, SIGN_BYTES // len(observed))):
            signs = np.empty((len(observed), 1 + part.stop - part.start), np.int8)
            signs[:, 0], rest = observed, signs[:, 1:]
            for some, rows in permuted(observed, part.stop - part.start, rng):
                rest[:, some] = rows.T
            yield signs

    def statistics(self, signs: np.ndarray) -> tuple[float, np.ndarray]:
        """MMD^2 for the first column of signs, and for each other column."""
        if self.features is None:
            size = float(np.abs(self.diagonal).max())
            result = forms(self.gram, signs, shift=self.shift, size=size)
        else:
            result = forms_of_features(self.features, signs)
        own = self.diagonal - 2.0 * self.shift
        linear, diagonal = dot(np.stack([result.sums, own]), signs)
        total = result.sums.sum(), own.sum()
        exact = self._squared(result.own.sum(), linear[0], diagonal[0], *total)
        values = self._squared(result.values, linear, diagonal, *total)
        return exact, exact + (values[1:] - values[0])

    def _squared(self, form: Any, linear: Any, diagonal: Any, total: float, trace: float) -> Any:
        """MMD^2 from s'Hs, s'H1, s'diag and their sums for s = 1, where H has no diagonal: u = (1 + s) / 2."""
        m, n = self.m, len(self.inputs) - self.m
        first, second, cross = (total + 2 * linear + form) / 4, (total - 2 * linear + form) / 4, (total - form) / 4
        if self.unbiased:
            return first / (m * (m - 1)) + second / (n * (n - 1)) - 2 * cross / (m * n)
        first, second = first + (trace + diagonal) / 2, second + (trace - diagonal) / 2
        return first / m**2 + second / n**2 - 2 * cross / (m * n)


class _Bootstrap:
    """MMD^2 for many random swaps of x_i and y_i, over all pairs of i or those within blocks."""

    name = "wild bootstrap"

    def __init__(self, kernel: Kernel, pooled: Any, statistic: str, block: int | None, threads: int | None):
        self.kernel, self.unbiased, self.threads = kernel, statistic == "unbiased", threads
        self.differences = Differences(kernel)
        inputs = kernel.prepare(pooled)  # together, as some kernels only know the words they have seen
        half = len(inputs) // 2
        self.n = half if block is None else half // block * block
        self.block = self.n if block is None else block
        self.inputs = Pair(inputs[: self.n], inputs[half : half + self.n])
        self.size = float(np.abs(kernel.diagonal(inputs)).max())
        self.gram = Gram.of(self.differences, self.inputs, threads=threads)
        self.features = fewer_features(self.gram)

    @property
    def slack(self) -> float:
        """Rounding of the statistic if all inputs are equal."""
        return 8 * float(np.finfo(self.inputs.dtype).eps) * self.size / np.sqrt(self.n * self.block)

    def signs(self, n_permutations: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """Ones and random signs, as columns, as many at a time as the memory allows."""
        for part in _parallel.split(n_permutations, max(1, SIGN_BYTES // self.n)):
            signs = np.empty((self.n, 1 + part.stop - part.start), np.int8)
            # a multiple of four rows, as four numbers come from one random word
            for rows in _parallel.split(self.n, 4 * max(1, DRAWN // (4 * signs.shape[1]))):
                signs[rows] = rng.integers(0, 2, signs[rows].shape, np.int8) * 2 - 1
            signs[:, 0] = 1
            yield signs

    def statistics(self, signs: np.ndarray) -> tuple[float, np.ndarray]:
        """MMD^2 for the first column of signs, which are ones, and for each other column."""
        result = self._forms(signs)
        pairs = self.n * (self.block - 1 if self.unbiased else self.block)
        trace = 0.0 if self.unbiased else float(self.differences.diagonal(self.inputs).sum(dtype=np.float64))
        exact = (result.own.sum() + trace) / pairs
        return exact, exact + (result.values[1:] - result.values[0]) / pairs

    def block_statistics(self) -> np.ndarray:
        """The unbiased MMD^2 of each block."""
        own = self._forms(np.ones((self.n, 1), np.int8)).own
        return own.reshape(-1, self.block).sum(axis=1) / (self.block * (self.block - 1))

    def _forms(self, signs: np.ndarray) -> Any:
        block, gram = None if self.block == self.n else self.block, self.gram
        if self.features is not None:
            return forms_of_features(self.features, signs, block)
        return forms(gram, signs, size=self.size, block=block)


def _pool(X: Any, Y: Any, kernel: Any) -> tuple[Any, Any, Any]:
    """X and Y in the same precision, and the pooled inputs."""
    X, Y = same_precision(X, Y)
    shapes = getattr(X, "shape", ()), getattr(Y, "shape", ())
    if all(shapes) and shapes[0][1:] != shapes[1][1:]:
        raise ValueError(f"X has shape {shapes[0]} and Y has {shapes[1]}; two samples need the same columns.")
    for Z, name in ((X, "X"), (Y, "Y")):
        if getattr(getattr(Z, "dtype", None), "kind", "") == "f" and not getattr(kernel, "takes_missing", False):
            checks.finite(Z, name)
    return X, Y, checks.concatenate(X, Y)


def _scaled(kernel: Kernel, bandwidths: Any) -> list[Kernel]:
    """The kernel with all its length scales multiplied by each of some factors."""
    if bandwidths is None:
        return [kernel]
    if isinstance(bandwidths, Integral):
        factors = np.geomspace(1 / 16, 4, checks.integer(bandwidths, "bandwidths", 2, MOST_BANDWIDTHS))
    else:
        factors = np.asarray(bandwidths)
        numbers = factors.dtype.kind in "iuf" and factors.ndim == 1 and factors.size
        if not numbers or not np.all((factors > 0) & (factors < np.inf)):
            raise ValueError(
                f"bandwidths is {bandwidths!r}; give a number of them, or a list of positive multiples of the "
                "length scale."
            )
        checks.integer(len(factors), "The number of bandwidths", most=MOST_BANDWIDTHS)
    scales = {n: v for n, v in kernel.get_params().items() if n.endswith("length_scale") and v is not None}
    if not scales:
        raise ValueError(f"{kernel!r} has no length scale; give a list of kernels instead of bandwidths.")
    return [clone(kernel).set_params(**{n: np.multiply(v, f).tolist() for n, v in scales.items()}) for f in factors]
