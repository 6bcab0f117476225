"""Kernels of a finite span in H, k^ = psi' M^+ psi, which are scikit-learn transformers as well."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from representer.gram.design import Design
from representer.kernels import checks
from representer.kernels.base import Gradients, Kernel, require_definite
from representer.kernels.basis import Basis, Centres, Points
from representer.kernels.features import Mapped
from representer.kernels.prepared import Vectors
from representer.rows import tables
from representer.rows.arrays import ArrayRows
from representer.rows.validation import check_inputs


class Transformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """The transformer side of an approximation: `fit` chooses what depends on the data, `transform` returns phi(x).

    Attributes
    ----------
    kernel_ : Kernel
        The same approximation with everything that was chosen from the data.
    basis_ : Basis
    n_features_in_ : int
        Of rows of numbers.
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose length scales and landmarks from X."""
        kernel: Any = self
        X = check_inputs(self, X, kernel, reset=True)
        self.kernel_ = kernel.with_default_scales(X)
        self._row = tables.at(tables.sliceable(X), np.zeros(1, int))
        self.basis_ = self.kernel_.basis(self._row)
        return self

    @cached_property
    def basis_(self) -> Basis:
        return self.kernel_.basis(self._row)

    def transform(self, X: Any) -> np.ndarray:
        """phi(x) for each row; their inner products are k^."""
        check_is_fitted(self, "basis_")
        kernel: Any = self
        return Design(self.basis_).features(check_inputs(self, X, kernel, reset=False))

    @property
    def _n_features_out(self) -> int:
        return self.basis_.rank


class Span(Transformer, Kernel):
    """Base of kernels of a span of combinations of k(z, .). Subclasses choose the centres z."""

    kernel: Any

    @property
    def original(self) -> Kernel:
        return self.kernel.original

    @property
    def on_vectors(self) -> bool:  # type: ignore[override]
        return self.kernel.on_vectors

    projects = True
    rowwise = True  # inputs are prepared like the centres, never like each other

    def sample(self, X: Any, weights: np.ndarray | None, n: int) -> tuple[Any, np.ndarray | None]:
        """At most n rows of X to choose from, and their weights; rows of weight zero are left out.

        They are the rows with the smallest hashes, wherever the rows are stored.
        """
        w = None if weights is None else np.asarray(weights, np.float64)
        if n < checks.number_of(X):
            X, _, w = ArrayRows(X, None, w).sample(n, int(self._seed()))
        if w is None or np.all(w > 0):
            return X, w
        keep = np.flatnonzero(w > 0)
        return tables.at(tables.sliceable(X), keep), w[keep]

    def _seed(self) -> int:
        return seed_of(self.random_state)

    def span(self) -> Centres:
        """The basis, from parameters that a fit has chosen."""
        raise NotImplementedError

    def basis(self, X: Any) -> Basis:
        return self.span()

    def prepare(self, X: Any, like: Any = None) -> Mapped:
        """Features phi(x), and the inputs as the original kernel has prepared them."""
        basis = self.span() if like is None else like.basis
        if isinstance(X, Points):
            return Spanned(Vectors.of(X.coordinates), X.coordinates, basis)
        if getattr(X, "dtype", None) == np.float64:
            basis = basis.astype(np.float64)
        inputs = basis.prepare(X)
        return Spanned(Vectors.of(Design(basis).features(X)), inputs, basis)

    def feature_rows(self, A: Any) -> np.ndarray:
        """phi(x)."""
        return A.features.values

    def fill(self, A: Any, B: Any, tile: np.ndarray) -> None:
        A.features.products(B.features, tile)

    def diagonal(self, A: Any) -> np.ndarray:
        return A.features.squared_norms

    def vjp(self, A: Any, B: Any, W: np.ndarray) -> Gradients:
        return {}

    def input_vjp(self, A: Any, B: Any, W: np.ndarray) -> np.ndarray:
        basis = A.basis
        weights = B.features.combine(W) @ basis.root.T
        if basis.combination is not None:
            weights = weights @ basis.combination.T
        return self.kernel.input_vjp(A.items, basis.like, weights.astype(A.dtype, copy=False))


class Spanned(Mapped):
    """Features, the inputs prepared by the original kernel, and the basis."""

    def __init__(self, features: Any, items: Any, basis: Any):
        super().__init__(features, items)
        self.basis = basis

    def __getitem__(self, index: Any) -> Spanned:
        return Spanned(self.features[index], self.items[index], self.basis)


def fitted_part(kernel: Any, X: Any, weights: np.ndarray | None, purpose: str) -> Kernel:
    """A copy of a part with length scales chosen from X; raise if it is not a definite kernel, which has no RKHS H."""
    fitted = clone(kernel).with_default_scales(X, weights)
    require_definite(fitted, purpose)
    return fitted


def seed_of(random_state: Any) -> int:
    """An integer from any random state, so that a copy of a kernel is the same kernel."""
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(np.random.default_rng(random_state).integers(2**31))
