"""The kernel Fisher discriminant: directions of H along which classes are far apart and narrow."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh, null_space
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from representer import _tiles
from representer.estimators.inputs import check_inputs, check_labels, check_weights, forget, is_precomputed, to_kernel
from representer.estimators.ridge import KernelRidge
from representer.functions import Function
from representer.gram import machine_memory
from representer.kernels import checks
from representer.problem import RidgeProblem
from representer.solvers.choose import choose_ridge
from representer.solvers.spectral import Decomposition


class KernelFisherDiscriminant(ClassNamePrefixFeaturesOutMixin, ClassifierMixin, TransformerMixin, BaseEstimator):
    r"""maximise over f in H:  <f, B f> / (<f, S f> + alpha ||f||^2), B and S the scatter between and within classes.

    The maximisers, at most one less than there are classes, span the discriminant space. They come from one ridge
    regression on the indicators of the classes and an eigenproblem as small as the number of classes: no n x n
    eigenvectors are computed. They are scaled such that (S + alpha) / n is the identity; a new input belongs to the
    class with the nearest mean in that space, with the logarithms of the priors added. With the linear kernel and a
    small alpha this is linear discriminant analysis.

    Parameters
    ----------
    alpha : float or array of shape (n_alphas,)
        Strength of the regulariser, above zero. From a list the one with the best exact leave-one-out accuracy is
        taken, the largest of equals; all come from one eigendecomposition.
    kernel : Kernel or str
        A kernel object on inputs of any type, or a name such as "rbf" or "precomputed".
    n_components : int, optional
        Columns of `transform`; as many as there are when not given. Classes are predicted from all.
    priors : array of shape (n_classes,), optional
        Probabilities of the classes; their shares of the (weighted) training inputs when not given.
    solver : {"auto", "cholesky", "conjugate_gradient"}
    tol, max_iter, memory, threads, random_state, verbose
        Those of `KernelRidge`.

    Attributes
    ----------
    function_ : Function
        The discriminants, one output each.
    means_ : array of shape (n_classes, n_discriminants)
        The means of the classes in the discriminant space.
    eigenvalues_ : array of shape (n_discriminants,)
        The ratios that were maximised.
    explained_variance_ratio_ : array of shape (n_discriminants,)
        The eigenvalues as shares of their sum.
    classes_, priors_, alpha_, kernel_, certificate_, n_iter_
    loo_scores_ : array of shape (n_alphas,)
        With several alphas: leave-one-out accuracy for each.

    References
    ----------
    Mika, Raetsch, Weston, Schoelkopf and Mueller, Fisher discriminant analysis with kernels, 1999. Hastie, Buja and
    Tibshirani, Penalized discriminant analysis, Annals of Statistics 1995.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from representer import KernelFisherDiscriminant
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelFisherDiscriminant(alpha=[0.01, 0.1, 1.0]).fit(X, y)
    >>> model.transform(X).shape, bool(model.score(X, y) > 0.95)
    ((150, 2), True)
    """

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        kernel: Any = "rbf",
        n_components: int | None = None,
        priors: Any = None,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 1000,
        memory: int | None = None,
        threads: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ):
        self.alpha = alpha
        self.kernel = kernel
        self.n_components = n_components
        self.priors = priors
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.threads = threads
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelFisherDiscriminant:
        """Fit to inputs X and labels y."""
        forget(self, "loo_scores_")
        X = check_inputs(self, X, to_kernel(self.kernel), reset=True)
        self.classes_, label = check_labels(self, X, y)
        weights = check_weights(sample_weight, X)
        indicators = np.eye(len(self.classes_))[label]
        sizes = indicators.sum(axis=0) if weights is None else weights @ indicators
        alphas = self._checked(sizes)
        kernel = to_kernel(self.kernel).fitted_to(X, weights)
        problem = RidgeProblem(kernel, X, indicators, np.full(len(sizes), alphas[0]), weights, True, self.threads)
        self.alpha_ = float(alphas[0]) if np.ndim(self.alpha) == 0 else self._choose(problem, alphas)
        ridge = KernelRidge(
            self.alpha_,
            kernel=kernel,
            fit_intercept=True,
            solver=self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
            memory=self.memory,
            threads=self.threads,
            random_state=self.random_state,
            verbose=self.verbose,
        ).fit(X, indicators, sample_weight=weights)
        self.kernel_, self.certificate_, self.X_fit_ = ridge.kernel_, ridge.certificate_, X
        self.n_iter_ = ridge.n_iter_
        self._keep(ridge, indicators, sizes, weights)
        return self

    def _checked(self, sizes: np.ndarray) -> np.ndarray:
        """The alphas. Sets priors_."""
        n_classes = len(sizes)
        if n_classes < 2:
            raise ValueError(f"y has only one class, {self.classes_.tolist()[0]!r}; a classifier needs at least two.")
        if np.any(sizes == 0):
            empty = self.classes_[sizes == 0].tolist()
            raise ValueError(f"All weights of the classes {empty} are zero; leave their rows out.")
        try:
            alphas = np.atleast_1d(np.asarray(self.alpha, np.float64))
        except (TypeError, ValueError):
            alphas = np.array([np.nan])
        if alphas.ndim > 1 or not alphas.size or not np.all((alphas > 0) & (alphas < np.inf)):
            raise ValueError(f"alpha is {self.alpha!r}; it must be a positive number, or a list of them.")
        if self.n_components is not None and checks.whole(self.n_components, "n_components") >= n_classes:
            raise ValueError(
                f"n_components is {self.n_components}, but {n_classes} classes have {n_classes - 1} discriminants."
            )
        self.priors_ = sizes / sizes.sum()
        if self.priors is not None:
            try:
                priors = np.asarray(self.priors, np.float64)
            except (TypeError, ValueError):
                priors = np.array(np.nan)
            if priors.shape != sizes.shape or np.any(priors < 0) or abs(priors.sum() - 1.0) > 1e-5:
                raise ValueError(
                    f"priors is {self.priors!r}; give {n_classes} probabilities, one for each class, with sum 1."
                )
            self.priors_ = priors / priors.sum()
        return alphas

    def _choose(self, problem: RidgeProblem, alphas: np.ndarray) -> float:
        """The alpha with the best leave-one-out accuracy. Sets loo_scores_."""
        n_classes = problem.targets.shape[1]
        memory = machine_memory() if self.memory is None else checks.whole(self.memory, "memory")
        choose_ridge(problem.n, alphas[:, None], path=True, memory=memory)
        decomposition = Decomposition(problem)
        path = decomposition.path(np.repeat(alphas[:, None], n_classes, axis=1))
        truth, scores = problem.targets.argmax(axis=1), []
        for alpha, predictions in zip(alphas, path.predictions, strict=True):
            coef, _ = problem.finish(decomposition.solve(np.full(n_classes + 1, alpha)))
            within = alpha * problem.targets.T @ coef
            guess = [
                _leave_out(rows, predictions, alpha * coef, within, problem, self.priors).argmax(axis=1)
                for rows in _tiles.split(problem.n, max(1, 10**6 // n_classes**2))
            ]
            scores.append(np.average(np.concatenate(guess) == truth, weights=problem.weights))
        self.loo_scores_ = np.array(scores)
        return float(alphas[self.loo_scores_ == self.loo_scores_.max()].max())

    def _keep(self, ridge: KernelRidge, indicators: np.ndarray, sizes: np.ndarray, weights: np.ndarray | None) -> None:
        """The discriminants from the ridge fit F = Y - W^(-1) alpha A of the indicators Y.

        With N = diag(sizes) and Q a basis of the vectors orthogonal to sqrt(sizes), the eigenproblem is
        Q' N^(-1/2) Y'W (F - mean) N^(-1/2) Q v = ratio Q' N^(-1/2) (alpha Y'A) N^(-1/2) Q v. Its left side says how
        far classes are apart, its right side how wide they are, and neither is a difference of large numbers.
        """
        total, root = sizes.sum(), np.sqrt(sizes)
        fitted = ridge.function_(ridge.X_fit_).astype(np.float64) - sizes / total
        between = indicators.T @ (fitted if weights is None else weights[:, None] * fitted)
        within = self.alpha_ * indicators.T @ ridge.dual_coef_
        basis = null_space(root[None]) / root[:, None]
        between, within = (basis.T @ (S + S.T) @ basis / 2 for S in (between, within))
        ratios, vectors = eigh(between, within)
        ratios, vectors = ratios[::-1], basis @ vectors[:, ::-1]
        shares = ratios / (1.0 + ratios)
        keep = shares > max(10 * self.tol * shares[0], 1e-12)
        keep[0] = True  # where nothing tells the classes apart, this direction is zero
        ratios, vectors, shares = (part[..., keep] for part in (ratios, vectors, np.maximum(shares, 0.0)))
        vectors = vectors * np.where(vectors[np.abs(vectors).argmax(axis=0), np.arange(len(ratios))] < 0, -1.0, 1.0)
        scale = np.divide(np.sqrt(total), np.sqrt(shares), out=np.zeros_like(shares), where=shares > 1e-12)
        scalings = vectors * scale
        constant = (ridge.intercept_ - sizes / total) @ scalings
        self.function_ = Function(ridge.kernel_, ridge.X_fit_, ridge.dual_coef_ @ scalings, constant)
        self.means_ = vectors * np.sqrt(total * shares)
        self.eigenvalues_ = np.maximum(ratios, 0.0)
        self.explained_variance_ratio_ = self.eigenvalues_ / max(self.eigenvalues_.sum(), np.finfo(float).tiny)
        self._n_features_out = min(len(ratios), self.n_components or len(ratios))

    def _project(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = check_inputs(self, X, self.kernel_, reset=False)
        values = self.function_(X)
        return values.astype(np.float32) if getattr(X, "dtype", None) == np.float32 else values

    def transform(self, X: Any) -> np.ndarray:
        """The values of the discriminants at X, shape (n, n_components)."""
        return self._project(X)[:, : self._n_features_out]

    def _decision(self, X: Any) -> np.ndarray:
        """Log posterior of each class, up to what all classes share."""
        values = self._project(X)
        with np.errstate(divide="ignore"):
            constant = np.log(self.priors_) - 0.5 * (self.means_**2).sum(axis=1)
        return values @ self.means_.T.astype(values.dtype) + constant.astype(values.dtype)

    def decision_function(self, X: Any) -> np.ndarray:
        """Log posterior of each class up to a constant; for two classes that of the second less that of the first."""
        values = self._decision(X)
        return values[:, 1] - values[:, 0] if values.shape[1] == 2 else values

    def predict(self, X: Any) -> np.ndarray:
        """The class with the nearest mean in the discriminant space, priors considered."""
        best = self._decision(X).argmax(axis=1)
        return self.classes_[best]


def _leave_out(
    rows: slice, predictions: np.ndarray, scaled: np.ndarray, within: np.ndarray, problem: RidgeProblem, priors: Any
) -> np.ndarray:
    """Log posteriors of some inputs, each by the fit without it, exactly.

    With L = alpha Y'A and sizes N, the log posterior of class c is n (f(x) - N / n)' R e_c - n / 2 (R_cc - 1 / N_c) +
    log prior_c, R = (N N' / n + L)^(-1). Without input i, f(x_i) becomes its leave-one-out prediction p_i, N becomes
    N - w_i y_i, and L becomes L - alpha a_i (y_i - p_i)'.

    Parameters
    ----------
    rows : slice
        The inputs to leave out, one at a time.
    predictions : array of shape (n, n_classes)
        Leave-one-out predictions of the indicators.
    scaled : array of shape (n, n_classes)
        alpha A.
    within : array of shape (n_classes, n_classes)
        L.
    problem : RidgeProblem
    priors : array of shape (n_classes,) or None
    """
    weights = np.ones(problem.n) if problem.weights is None else problem.weights
    Y, p = problem.targets[rows], predictions[rows]
    sizes = weights @ problem.targets - weights[rows, None] * Y
    gone = sizes <= 1e-12 * weights.sum()  # classes of which i is the only member
    total = sizes.sum(axis=1)
    L = within - scaled[rows, :, None] * (Y - p)[:, None, :]
    L = (L + L.transpose(0, 2, 1)) / 2
    L += sizes[:, :, None] * sizes[:, None, :] / total[:, None, None]
    here = ~(gone[:, :, None] | gone[:, None, :])
    R = np.linalg.inv(np.where(here, L, np.eye(Y.shape[1])))
    linear = np.einsum("ic,icd->id", p - sizes / total[:, None], R)
    own = np.einsum("icc->ic", R) - 1.0 / np.where(gone, 1.0, sizes)
    with np.errstate(divide="ignore"):
        logs = np.log(sizes / total[:, None] if priors is None else np.broadcast_to(priors, sizes.shape))
    return np.where(gone, -np.inf, total[:, None] * (linear - 0.5 * own) + logs)
