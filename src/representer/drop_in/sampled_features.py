"""scikit-learn's kernel approximations: Nystroem landmarks, and random Fourier features."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted, validate_data

from representer.drop_in.constraints import Constraints
from representer.drop_in.named_kernels import NamedKernel, gamma_for
from representer.estimators.base import warn_user


class Sampled(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What both share: sparse rows, preserved float32, and feature names."""

    _n_features_out: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class Nystroem(NamedKernel, Sampled):
    r"""phi(x) = k(Z, Z)^(-1/2) k(Z, x) for landmarks Z drawn from the rows.

    Parameters, attributes and defaults are those of ``sklearn.kernel_approximation.Nystroem``, and so are the
    landmarks of each `random_state`. `n_jobs` has no effect for kernels that this library has.
    `representer.Nystroem` is a kernel as well, and chooses better landmarks.
    """

    _parameter_constraints = Constraints()

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: Any = None,
        coef0: Any = None,
        degree: Any = None,
        kernel_params: dict | None = None,
        n_components: int = 100,
        random_state: Any = None,
        n_jobs: int | None = None,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _named(self, gamma: float) -> Any:
        if callable(self.kernel) or self.kernel_params or self.kernel == "precomputed":
            return None
        asked = Nystroem(self.kernel, coef0=_or(self.coef0, 1), degree=_or(self.degree, 3))
        return NamedKernel._named(asked, 1.0 if self.kernel == "chi2" and self.gamma is None else gamma)

    def fit(self, X: Any, y: Any = None) -> Nystroem:
        """Draw the landmarks, and factorise their Gram matrix."""
        self._validate_params()
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        rng, n = check_random_state(self.random_state), X.shape[0]
        if self.n_components > n:
            warn_user(
                "n_components > n_samples. This is not possible.\nn_components was set to n_samples, which results in "
                "inefficient evaluation of the full kernel.",
                UserWarning,
            )
        self.component_indices_ = rng.permutation(n)[: self.n_components]
        self.components_ = X[self.component_indices_]
        U, S, V = np.linalg.svd(self._block(self.components_))
        self.normalization_ = U / np.sqrt(np.maximum(S, 1e-12)) @ V
        self._n_features_out = len(self.component_indices_)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """phi(x) for each x in X."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        return self._block(X, self.components_) @ self.normalization_.T

    def _block(self, X: Any, Y: Any = None) -> np.ndarray:
        """All k(x_i, y_j)."""
        if self._by_matrix:
            return self._matrix(X, Y)
        return self._kernel_for(X)(X, Y)

    def written_kernel(self) -> Any:
        """The kernel between rows, after a fit; None where it is evaluated by scikit-learn."""
        return None if self._by_matrix else self._kernel_for(self.components_)

    def _matrix(self, X: Any, Y: Any = None) -> np.ndarray:
        given = {name: getattr(self, name) for name in ("gamma", "coef0", "degree") if getattr(self, name) is not None}
        if given and (callable(self.kernel) or self.kernel == "precomputed"):
            raise ValueError("Don't pass gamma, coef0 or degree to Nystroem if using a callable or precomputed kernel")
        options = (self.kernel_params or {}) | given
        from sklearn.metrics.pairwise import pairwise_kernels  # which imports all metrics

        return pairwise_kernels(X, Y, metric=self.kernel, filter_params=True, n_jobs=self.n_jobs, **options)


class RBFSampler(Sampled):
    r"""phi(x) = sqrt(2 / D) cos(W'x + b), columns of W normal with variance 2 gamma, b uniform in [0, 2 pi].

    Parameters, attributes and defaults are those of ``sklearn.kernel_approximation.RBFSampler``, and so are the
    features of each `random_state`. `representer.RandomFeatures` is a kernel as well, for more kernels, and its
    orthogonal waves have a smaller error.
    """

    _parameter_constraints = Constraints()

    def __init__(self, *, gamma: Any = 1.0, n_components: int = 100, random_state: Any = None):
        self.gamma = gamma
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> RBFSampler:
        """Draw the frequencies and phases."""
        self._validate_params()
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        rng, self._gamma = check_random_state(self.random_state), gamma_for(self.gamma, X)
        weights = np.sqrt(2.0 * self._gamma) * rng.normal(size=(X.shape[1], self.n_components))
        self.random_weights_ = weights.astype(X.dtype, copy=False)
        self.random_offset_ = rng.uniform(0, 2 * np.pi, size=self.n_components).astype(X.dtype, copy=False)
        self._n_features_out = self.n_components
        return self

    def transform(self, X: Any) -> np.ndarray:
        """phi(x) for each x in X."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        phases = safe_sparse_dot(X, self.random_weights_)
        phases += self.random_offset_
        np.cos(phases, out=phases)
        phases *= np.sqrt(2.0 / self.n_components)
        return phases


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value
