"""Sketches: the span of random combinations of the representers of the data."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from representer.features.nystroem import FEWEST_CENTRES, MOST_CENTRES
from representer.features.span import Span, fitted_part
from representer.kernels import checks
from representer.kernels.base import Kernel
from representer.kernels.basis import Centres
from representer.rows import tables

SKETCHES = ("accumulated", "gaussian", "hadamard")
SKETCHED_ROWS = 40_000
"""Most rows that the representers of an accumulated sketch are drawn from."""
MOST_DENSE = 50_000
"""Most rows that may all be centres of a sketch: beyond, values of n functions on n rows take hours."""


class Sketch(Span):
    r"""k^ of the span of psi = S k(X, .), where S is a random matrix with m rows: sketched kernel methods.

    The default S adds up ``terms`` random representers with random signs for each of the m functions; one term is
    Nystroem's approximation with a uniform sample. Gaussian and Hadamard sketches combine all n representers, which
    takes n^2 kernel values; they are for studies, and refused above 50,000 rows.

    Parameters
    ----------
    kernel : Kernel
        k, on inputs of any type.
    n_components : int, optional
        Number of functions m; 10 sqrt(n), but between 256 and 2,000, when not given.
    method : {"accumulated", "gaussian", "hadamard"}
    terms : int
        Representers that each function of an accumulated sketch adds up.
    random_state : int
    centres : inputs, optional
        Inputs that are combined; those passed to ``fit`` when not given.
    combination : array of shape (n_centres, n_components), optional
        S', which ``fit`` draws when not given.

    References
    ----------
    Yang, Pilanci and Wainwright, Randomized sketches for kernels, Annals of Statistics 2017. Chen and Yang,
    Accumulations of projections, AISTATS 2021.
    """

    def __init__(
        self,
        kernel: Kernel,
        n_components: int | None = None,
        *,
        method: str = "accumulated",
        terms: int = 4,
        random_state: Any = 0,
        centres: Any = None,
        combination: Any = None,
    ):
        self.kernel = kernel
        self.n_components = n_components
        self.method = method
        self.terms = terms
        self.random_state = random_state
        self.centres = centres
        self.combination = combination

    def with_default_scales(self, X: Any, weights: np.ndarray | None = None) -> Kernel:
        """A copy with a sketch of X, and length scales that were not given."""
        if self.centres is not None:
            return clone(self).set_params(kernel=fitted_part(self.kernel, X, weights, "a sketch"))
        X, w = self.sample(X, weights, checks.number_of(X))
        n, rng = checks.number_of(X), np.random.default_rng(self._seed())
        self._check(n)
        m = min(n, MOST_CENTRES, max(FEWEST_CENTRES, int(10.0 * np.sqrt(n))))
        m = m if self.n_components is None else min(n, checks.integer(self.n_components, "n_components"))
        rows, S = self._accumulated(n, m, rng) if self.method == "accumulated" else self._dense(n, m, rng)
        return Sketch(
            fitted_part(self.kernel, X, w, "a sketch"),
            m,
            method=self.method,
            terms=self.terms,
            random_state=self.random_state,
            centres=tables.at(tables.sliceable(X), rows),
            combination=S,
        )

    def sample_rows(self, n: int) -> int:
        """How many of n rows are combined, and length scales chosen from, in a fit: all of them for dense sketches."""
        if self.centres is None:
            self._check(n)
        return min(n, SKETCHED_ROWS) if self.method == "accumulated" else n

    def _check(self, n: int) -> None:
        if self.method not in SKETCHES:
            raise ValueError(f"method is {self.method!r}; use one of {', '.join(map(repr, SKETCHES))}.")
        if self.method != "accumulated" and n > MOST_DENSE:
            raise ValueError(
                f"A {self.method} sketch of {n:,} rows takes {n * n:.2g} kernel values; it is refused above "
                f"{MOST_DENSE:,} rows. Use method='accumulated', or Nystroem."
            )

    def _accumulated(self, n: int, m: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """The sum of ``terms`` samples of m rows with random signs."""
        terms = checks.integer(self.terms, "terms", most=1000)
        drawn = np.stack([rng.choice(n, m, replace=False) for _ in range(terms)])
        rows, where = np.unique(drawn, return_inverse=True)
        S = np.zeros((len(rows), m))
        np.add.at(S, (where.reshape(terms, m), np.arange(m)), rng.choice([-1.0, 1.0], (terms, m)) / np.sqrt(terms))
        return rows, S

    def _dense(self, n: int, m: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        if self.method == "gaussian":
            return np.arange(n), rng.normal(size=(n, m)) / np.sqrt(m)
        wide = 2 ** int(np.ceil(np.log2(n)))
        columns, signs = rng.choice(wide, m, replace=False), rng.choice([-1.0, 1.0], n)
        bits = np.bitwise_count(np.bitwise_and.outer(np.arange(n), columns)) % 2  # entries of the Hadamard matrix
        return np.arange(n), signs[:, None] * (1.0 - 2.0 * bits) / np.sqrt(m)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        if self.centres is None:
            return super().__repr__(N_CHAR_MAX)
        return f"Sketch({self.kernel!r}, {self.n_components}, method={self.method!r}, centres=<as fitted>)"

    def span(self) -> Centres:
        if self.centres is None or self.combination is None:
            raise ValueError(f"{self!r} has no sketch yet; use it in an estimator, or call with_default_scales(X).")
        return Centres.on(self, clone(self.kernel), self.centres, np.asarray(self.combination, np.float64))
