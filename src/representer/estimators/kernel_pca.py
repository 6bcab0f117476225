"""Kernel principal component analysis."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from representer import _parallel
from representer.estimators.base import KernelEstimator, atomic, own, warn_user
from representer.estimators.in_span import basis_for, is_approximation, kernel_for_rows, may_span
from representer.estimators.inputs import check_weights, in_precision_of, in_units
from representer.estimators.pca_in_span import components_in_span
from representer.estimators.row_targets import untargeted
from representer.functions import Function
from representer.kernels import checks
from representer.kernels.base import require_definite
from representer.preimage.find import preimage
from representer.problems.eigen import EigenProblem
from representer.result import Plan, Result
from representer.rows.base import Rows
from representer.rows.recoded import RecodedRows, Zeros
from representer.rows.validation import check_inputs
from representer.solvers import choose


class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    r"""maximise over orthonormal v_1, ..., v_q in H:  sum_j sum_i w_i <v_j, k(x_i, .) - m>^2, with the mean m in H.

    The solution is v_j = sum_i a_ij k(x_i, .), where the columns of a are eigenvectors of the centred Gram matrix,
    divided by the square roots of its eigenvalues. Small problems use a full eigendecomposition; large ones need a few
    block products with the Gram matrix, which is not stored. A certificate holds the residuals reached.

    Parameters
    ----------
    n_components : int, optional
        When not given, all with an eigenvalue above rounding.
    kernel : Kernel or str
        A kernel object on inputs of any type, or one of "rbf", "linear", "poly", "laplacian", "matern", "cosine",
        "chi2", "precomputed". A length scale that is not given is the typical distance of an input from the mean.
    center : bool
        Whether m is the mean of the k(x_i, .), or 0.
    solver : {"auto", "dense", "davidson"}
        "dense" holds n x n matrices. "davidson" finds a few components of many rows from block products.
    tol : float
        Residual |A u - lambda u| / lambda_1 at which an eigenvector u of the centred Gram matrix A has converged;
        errors of eigenvalues are of the order of its square. Below 1e-5 the last products are in float64.
    max_iter : int
        Largest number of block products.
    memory : int, optional
        Bytes that a fit may use; more is refused before work starts. The machine's memory when not given.
    threads : int, optional
    random_state : int or Generator
        Seed of the initial block of "davidson".
    verbose : int
        1 shows each step, -1 nothing; 0 shows fits that take more than three seconds, on a terminal.

    Attributes
    ----------
    eigenvalues_ : array of shape (n_components,)
        Of the centred Gram matrix, in decreasing order; divided by the number of rows they are variances.
    eigenfunctions_ : Function
        One output v_j(x) - <v_j, m> for each component, of norm one in H; ``eigenfunctions_[0]`` is the first.
    eigenvectors_ : array of shape (n, n_components)
        Of the centred Gram matrix, orthonormal; with weights w, of the matrix with entries times sqrt(w_i w_j).
    explained_variance_ratio_ : array of shape (n_components,)
        Eigenvalues divided by the sum of all eigenvalues, which is a trace and does not require computing them.
    residuals_ : array of shape (n_components,)
        |A u - lambda u| / lambda_1, computed in float64. Within this (times lambda_1) of each eigenvalue there is an
        exact one.
    mean_ : Function
        m, which is 0 without centring.
    kernel_ : Kernel
        The kernel used, with all length scales.
    certificate_ : Certificate

    Examples
    --------
    >>> import numpy as np
    >>> from representer import KernelPCA
    >>> from representer.kernels import RBF
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> pca = KernelPCA(n_components=3, kernel=RBF(0.5)).fit(X)
    >>> pca.transform(X[:5]).shape
    (5, 3)
    >>> pca.eigenfunctions_.norm().round(6)
    array([1., 1., 1.])
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: Any = "rbf",
        center: bool = True,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 100,
        memory: int | None = None,
        threads: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.center = center
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.threads = threads
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        """For `get_feature_names_out`."""
        return len(self.eigenvalues_)

    # ---- fit ----

    takes_rows = True

    @atomic
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelPCA:
        """Find the components of inputs X; y is ignored. A weight of two is the same as an input given twice."""
        self._fit(X, sample_weight)
        return self

    @atomic
    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Fit, and return the scores of X, which the fit provides."""
        data, (X, result) = X, self._fit(X, sample_weight)
        if isinstance(X, Rows):
            return self.transform(data)
        if result is None:
            return in_precision_of(X, self.eigenfunctions_(X))
        scores = result.applied / np.sqrt(np.asarray(result.eigenvalues)) + self.eigenfunctions_.constant
        return in_precision_of(X, scores)

    def plan(self, X: Any, y: Any = None) -> Plan:
        """The solver that `fit` would use for these inputs, why, and the memory and time that it takes."""
        self._check_parameters()
        if isinstance(X, Rows):
            rows = RecodedRows(X, Zeros())
            return components_in_span(self, kernel_for_rows(self._given_kernel(), X), rows, None).plan(self._budget())
        if self._in_span(X):
            return components_in_span(self, self._kernel_for(X), X, None).plan(self._budget())
        problem = EigenProblem(self._gram(self._kernel_for(X), X), None, self.center, self.n_components)
        return choose.plan(problem, self._budget(), self.solver)

    def _check_parameters(self) -> None:
        if self.n_components is not None:
            checks.integer(self.n_components, "n_components")
        choose.check_name(self.solver, EigenProblem)

    def _fit(self, X: Any, sample_weight: Any) -> tuple[Any, Result | None]:
        """Set all fitted attributes; returns the checked inputs and the solver's result, if there is one."""
        self._check_parameters()
        kernel = self._given_kernel()
        require_definite(kernel, "a principal component")
        if isinstance(X, Rows):
            X = untargeted(self, X, None, sample_weight)
            found = components_in_span(self, kernel_for_rows(kernel, X), X, None).fit(self._budget(), 1.0)
            self._check(found, found.trace, len(X))
            return X, None
        X = own(check_inputs(self, X, kernel, reset=True))
        weights, unit = check_weights(sample_weight, X), 1.0
        if weights is not None:
            weights, unit = in_units(weights)
        if self._in_span(X):
            found = components_in_span(self, self._kernel_for(X, weights), X, weights).fit(self._budget(), unit)
            self._check(found, found.trace, checks.number_of(X))
            if not is_approximation(kernel):
                self._keep_eigenvectors(found.eigenvalues, X, weights)
            return X, None
        gram, budget = self._gram(self._kernel_for(X, weights), X), self._budget()
        problem = EigenProblem(gram, weights, self.center, self.n_components)
        solver, plan = choose.solver_of(problem, budget, self.solver)
        plan.require()
        with budget.progress.expect(plan.solver, plan.seconds), _parallel.blas_threads_for(problem.n):
            result = solver.solve(problem, budget, plan.reason)
        trace, D = result.trace, problem.sqrt_weights
        self._check(result, trace, problem.n)
        self.kernel_, self.X_fit_ = gram.kernel, X
        self.eigenvalues_, self.eigenvectors_ = unit * np.asarray(result.eigenvalues), result.coef
        self.explained_variance_ratio_ = result.eigenvalues / trace
        self.certificate_, self.residuals_ = result.certificate, result.certificate.residuals
        share = D.ravel() ** 2 / (D**2).sum() * self.center
        roots = np.sqrt(result.eigenvalues)
        self.mean_ = Function(gram.kernel, X, share, prepared=gram.inputs, threads=self.threads)
        coef = D * result.coef
        coef /= roots  # in place: there may be as many components as rows
        self.eigenfunctions_ = self.mean_.with_coef(coef, -(share @ result.applied) / roots)
        return X, result

    def _in_span(self, X: Any) -> bool:
        """Whether components are found in the span of a basis: of an approximation, or of few features of many rows."""
        kernel = self._given_kernel()
        if is_approximation(kernel) or self.solver != "auto" or not may_span(kernel, X):
            return is_approximation(kernel)
        return basis_for(self._kernel_for(X), X) is not None

    def _keep_eigenvectors(self, values: np.ndarray, X: Any, weights: np.ndarray | None) -> None:
        """The eigenvectors of an exact kernel's matrix, with the signs that they have from other solvers."""
        f = self.eigenfunctions_
        scores = f(X) if weights is None else np.where(weights[:, None] > 0.0, f(X), 0.0)
        signs = np.sign(scores[np.abs(scores).argmax(axis=0), np.arange(len(values))])
        self.eigenfunctions_ = f.with_coef(signs * f.coef, signs * f.constant)
        roots = 1.0 if weights is None else np.sqrt(weights)[:, None]
        self.eigenvectors_, self.X_fit_ = roots * scores * (signs / np.sqrt(values)), X

    def _check(self, result: Any, trace: float, n: int) -> None:
        values = np.asarray(result.eigenvalues)
        if not len(values):
            raise ValueError(
                f"There are no components, because nothing varies: n_samples = {n}, and all inputs have the same "
                "k(x, .), or it is 0. Use more inputs, another kernel, or center=False."
            )
        if values.sum() > trace + 1e-4 * abs(trace):  # more than float32 rounds
            warn_user(
                "The Gram matrix has negative eigenvalues, so it is not positive semidefinite, and explained variance "
                "ratios are meaningless; representer.psd.report says how far off it is, psd.repair repairs it.",
                UserWarning,
            )
        if self.n_components is not None and len(values) < self.n_components:
            warn_user(
                f"Only {len(values)} of the {self.n_components} components have an eigenvalue distinguishable from "
                f"zero, and only they are kept; {n} inputs have no more, or a smaller tol finds them.",
                UserWarning,
            )
        advice = "use a larger tol or max_iter, or solver='dense' if n x n fits the memory"
        self._warn_unless_converged(result.certificate, advice)

    # ---- use ----

    def transform(self, X: Any) -> np.ndarray:
        """The scores <v_j, k(x, .) - m>, one row per x in X."""
        check_is_fitted(self)
        X = check_inputs(self, X, self.kernel_, reset=False)
        return in_precision_of(X, self.eigenfunctions_(X))

    def project(self, X: Any) -> Function:
        """m + sum_j <v_j, k(x, .) - m> v_j, the projection of k(x, .) onto the components; one output per x.

        Its pre-image is a denoised version of x.
        """
        return self._with_scores(np.asarray(self.transform(X)))

    def inverse_transform(self, scores: Any, method: str = "auto") -> Any:
        """An input for each row of scores: the pre-image of m + sum_j score_j v_j, by a method of `preimage`."""
        check_is_fitted(self)
        scores = check_array(scores, dtype=[np.float64, np.float32])
        if scores.shape[1] != len(self.eigenvalues_):
            raise ValueError(
                f"scores have {scores.shape[1]} columns, but there are {len(self.eigenvalues_)} components; "
                "pass what `transform` returns."
            )
        return preimage(self._with_scores(scores), method).x

    def _with_scores(self, scores: np.ndarray) -> Function:
        coef = self.mean_.coef[:, None] + self.eigenfunctions_.coef @ scores.astype(np.float64).T
        return self.mean_.with_coef(coef)
