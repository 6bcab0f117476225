"""Kernel principal component analysis."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array, check_is_fitted

from representer.estimators.inputs import check_inputs, check_weights, is_precomputed, to_kernel
from representer.estimators.progress import Progress
from representer.functions import Function
from representer.gram import machine_memory
from representer.kernels import checks
from representer.kernels.base import require_definite
from representer.preimage.find import preimage
from representer.problem import EigenProblem
from representer.solvers import eigen
from representer.solvers.choose import Plan, choose_eigen, iterative_memory
from representer.solvers.eigen import EigenCertificate, Eigenpairs


class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""maximise over orthonormal v_1, ..., v_q in H:  sum_j sum_i w_i <v_j, k(x_i, .) - m>^2, with the mean m in H.

    The solution is v_j = sum_i a_ij k(x_i, .), where the columns of a are eigenvectors of the centred Gram matrix,
    divided by the roots of its eigenvalues. Small problems are decomposed as a whole; large ones need a few block
    products with the Gram matrix, which is not stored. A certificate tells the residuals that were reached.

    Parameters
    ----------
    n_components : int, optional
        All with an eigenvalue above rounding when not given.
    kernel : Kernel or str
        A kernel object on inputs of any type, or one of "rbf", "linear", "poly", "laplacian", "matern", "cosine",
        "chi2", "precomputed". A length scale that is not given is the typical distance of an input from the mean.
    center : bool
        Whether m is the mean of the k(x_i, .), or 0.
    solver : {"auto", "dense", "davidson"}
        "dense" holds n x n matrices. "davidson" finds few components of many rows from block products.
    tol : float
        Residual |A u - lambda u| / lambda_1 at which an eigenvector u of the centred Gram matrix A counts as found;
        errors of eigenvalues are of the order of its square. Below 1e-5 the last products are float64.
    max_iter : int
        Block products at most.
    memory : int, optional
        Bytes that a fit may use; more is refused before work starts. The machine's memory when not given.
    threads : int, optional
    random_state : int or Generator
        Seed of the start of "davidson".
    verbose : int
        1 shows progress on long fits.

    Attributes
    ----------
    eigenvalues_ : array of shape (n_components,)
        Of the centred Gram matrix, falling; divided by the number of rows they are variances.
    eigenfunctions_ : Function
        One output v_j(x) - <v_j, m> for each component, of norm one in H; ``eigenfunctions_[0]`` is the first.
    eigenvectors_ : array of shape (n, n_components)
        Of the centred Gram matrix, orthonormal; with weights w of sqrt(w_i w_j) times its entries.
    explained_variance_ratio_ : array of shape (n_components,)
        Eigenvalues divided by the sum of all eigenvalues, which is a trace and needs no further ones.
    residuals_ : array of shape (n_components,)
        |A u - lambda u| / lambda_1, computed in float64. Within this (times lambda_1) of each eigenvalue there is an
        exact one.
    mean_ : Function
        m, which is 0 without centring.
    kernel_ : Kernel
        The kernel used, with all length scales.
    certificate_ : EigenCertificate

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

    certificate_: EigenCertificate

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        """For `get_feature_names_out`."""
        return len(self.eigenvalues_)

    # ---- fit ----

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelPCA:
        """Find the components of inputs X; y is not used. A weight of two is the same as an input given twice."""
        self._fit(X, sample_weight)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Fit, and the scores of X, which are known from the fit."""
        X, pairs = self._fit(X, sample_weight)
        scores = pairs.images / np.sqrt(pairs.values) + self.eigenfunctions_.constant
        return _as_inputs(scores, X)

    def plan(self, X: Any) -> Plan:
        """The solver that `fit` would use for these inputs, why, and the memory and kernel values that it takes."""
        for name in ("n_components", "memory", "threads"):
            if getattr(self, name) is not None:
                checks.whole(getattr(self, name), name)
        if self.solver not in ("auto", "dense", "davidson"):
            raise ValueError(f"solver is {self.solver!r}; use 'auto', 'dense' or 'davidson'.")
        checks.positive(self.tol, "tol")
        if not isinstance(self.center, bool | np.bool_):
            raise ValueError(f"center is {self.center!r}; use True or False.")
        checks.whole(self.max_iter, "max_iter")
        return choose_eigen(checks.number_of(X), self.n_components, memory=self._memory(), solver=self.solver)

    def _memory(self) -> int:
        return machine_memory() if self.memory is None else self.memory

    def _fit(self, X: Any, sample_weight: Any) -> tuple[Any, Eigenpairs]:
        """Everything that is fitted; the inputs as they were checked, and what the solver found."""
        kernel = to_kernel(self.kernel)
        require_definite(kernel, "a principal component")
        X = check_inputs(self, X, kernel, reset=True)
        plan = self.plan(X)
        weights = check_weights(sample_weight, X)
        problem = EigenProblem(kernel.fitted_to(X, weights), X, weights, self.center, self.threads)
        pairs = self._solve(problem, plan)
        self._check(pairs, problem.n)
        self.kernel_, self.X_fit_ = problem.kernel, X
        self.eigenvalues_, self.eigenvectors_ = pairs.values, pairs.vectors
        self.explained_variance_ratio_ = pairs.values / pairs.trace
        self.certificate_, self.residuals_ = pairs.certificate, pairs.certificate.residuals
        share = problem.root.ravel() ** 2 / (problem.root**2).sum() * self.center
        roots = np.sqrt(pairs.values)
        self.mean_ = Function(problem.kernel, X, share, prepared=problem.prepared)
        self.eigenfunctions_ = self.mean_.with_coef(
            problem.root * pairs.vectors / roots, -(share @ pairs.images) / roots
        )
        return X, pairs

    def _solve(self, problem: EigenProblem, plan: Plan) -> Eigenpairs:
        if plan.solver == "dense":
            return eigen.dense(problem, self.n_components, tol=self.tol, reason=plan.reason)
        assert self.n_components is not None  # all components are found by the dense solver only
        with Progress(self.verbose, self.tol) as progress:
            return eigen.davidson(
                problem,
                self.n_components,
                tol=self.tol,
                reason=plan.reason,
                max_iter=self.max_iter,
                memory=iterative_memory(self._memory()),
                random_state=self.random_state,
                progress=progress,
            )

    def _check(self, pairs: Eigenpairs, n: int) -> None:
        found = len(pairs.values)
        if not found:
            raise ValueError(
                f"There are no components, because nothing varies: n_samples = {n}, and all inputs have the same "
                "k(x, .), or it is 0. Use more inputs, another kernel, or center=False."
            )
        if pairs.values.sum() > pairs.trace + 1e-4 * abs(pairs.trace):  # more than float32 rounds
            warnings.warn(
                "The Gram matrix has negative eigenvalues, so it is not one of a kernel, and shares of the variance "
                "mean nothing; representer.psd.report says how far it is from one, psd.repair makes one.",
                UserWarning,
                stacklevel=4,
            )
        if self.n_components is not None and found < self.n_components:
            warnings.warn(
                f"Only {found} of the {self.n_components} components have an eigenvalue that can be told from zero, "
                f"and only they are kept; {n} inputs have no more, or a smaller tol finds them.",
                UserWarning,
                stacklevel=4,
            )
        if not pairs.certificate.converged:
            warnings.warn(
                f"The eigenvectors reached a residual of {pairs.certificate.residuals.max():.2g}, not the tolerance "
                f"{self.tol:.2g}; use a larger tol or max_iter, or solver='dense' if n x n fits the memory.",
                ConvergenceWarning,
                stacklevel=4,
            )

    # ---- use ----

    def transform(self, X: Any) -> np.ndarray:
        """The scores <v_j, k(x, .) - m>, a row for each x in X."""
        check_is_fitted(self)
        X = check_inputs(self, X, self.kernel_, reset=False)
        return _as_inputs(self.eigenfunctions_(X), X)

    def project(self, X: Any) -> Function:
        """m + sum_j <v_j, k(x, .) - m> v_j, the point nearest to k(x, .) in the space of components; an output each.

        Its pre-image is a version of x without noise.
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


def _as_inputs(scores: np.ndarray, X: Any) -> np.ndarray:
    """float32 for inputs that are."""
    return scores.astype(np.float32) if getattr(X, "dtype", None) == np.float32 else scores
