"""The Gaussian process latent variable model: a map of the data, with its uncertainty at each point."""

from __future__ import annotations

from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
from scipy.linalg import svd
from scipy.optimize import minimize
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.cluster import kmeans_plusplus
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils import check_random_state
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from representer import _parallel
from representer.estimators import hyperparameter_search
from representer.estimators.base import KernelEstimator, atomic, warn_user
from representer.estimators.budget import Budgeted
from representer.estimators.hyperparameters import LatentParameters, LogParameters
from representer.estimators.in_span import refuse
from representer.estimators.inputs import is_precomputed, to_kernel
from representer.functions import Function
from representer.kernels import checks
from representer.kernels.algebra import Scaled
from representer.kernels.base import Gradients, Kernel, require_definite
from representer.kernels.stationary import RBF
from representer.problems.judgement import Judgement
from representer.problems.latent_points import LatentPoints
from representer.processes.latent import LatentMap, climb
from representer.processes.likelihood import Factor, log_marginal_likelihood
from representer.processes.variational import Landmarks
from representer.result import Plan, Work, certificate_of
from representer.rows.validation import require_numbers
from representer.solvers.memory import bytes_of_gradients

EXACT_UP_TO = 2000
"""Rows up to which the likelihood is exact when the number of landmarks is not given."""
LANDMARKS = 100
"""Landmarks beyond that."""


class GPLVM(Budgeted, ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    r"""Each column of the data is a Gaussian process of latent points: X_f = g_f(z) + noise, g_f ~ GP(mean_f, k).

    The latent points z_i, the hyper-parameters of k and the noise together maximise the marginal likelihood

        -(tr X' A^(-1) X + d log |A| + n d log 2 pi) / 2,     A = K(z, z) + noise I, X centred, of shape (n, d)

    by L-BFGS with exact gradients, from the principal components. Points near in the latent space have similar rows, as
    k is smooth; with a linear kernel the model is probabilistic PCA. Many rows use landmarks, and a lower bound on the
    likelihood (Titsias) in its place. Latent points are determined up to rotations and, for most kernels, shifts and
    scale.

    Parameters
    ----------
    n_components : int
        Columns of the latent space.
    kernel : Kernel, str or None
        On latent points; None is ``1.0 * RBF()``. ``1.0 * RBF([1.0, 1.0])`` has a length scale for each component.
    noise : "estimate" or float
        Variance of the noise, estimated or fixed.
    init : {"pca"} or array of shape (n, n_components)
        Initial latent points: principal components scaled to variance one, or as given.
    n_landmarks : int, optional
        When not given, the model is exact up to 2,000 rows and uses 100 landmarks beyond that.
    max_iter : int
        Largest number of L-BFGS iterations.
    tol : float
        L-BFGS stops when an iteration raises the likelihood by less than this, relatively, and its gradient is small.
    memory : int, optional
        Bytes that a fit may use; more is refused before work starts. The machine's memory when not given.
    threads : int, optional
    random_state : int, RandomState or None
        Seed of the choice of landmarks, and of components beyond the rank of the data.

    Attributes
    ----------
    embedding_ : array of shape (n, n_components)
        The latent points.
    kernel_ : Kernel
        With the hyper-parameters found.
    noise_ : float
    landmarks_ : array of shape (n_landmarks, n_components) or None
    function_ : Function
        The posterior mean, from the latent space to the data.
    log_marginal_likelihood_ : float
        With landmarks, a lower bound on it.
    path_ : array of shape (n_iter_ + 1,)
        The likelihood before the search and after each iteration.
    n_iter_ : int
    converged_ : bool
        Whether the search converged to a point where the certificate holds; `report` says why it stopped.
    certificate_ : Certificate
        Of the latent points and hyper-parameters: the largest entry of the gradient of the likelihood, projected onto
        the bounds, over the number of entries of X. Its tolerance is the square root of ``tol``.

    References
    ----------
    Lawrence, Probabilistic non-linear principal component analysis with Gaussian process latent variable models, JMLR
    2005. Titsias, Variational learning of inducing variables in sparse Gaussian processes, AISTATS 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from representer import GPLVM
    >>> t = np.linspace(0.0, 3.0, 40)[:, None]
    >>> X = np.sin(t + np.arange(5))  # a curve in five columns
    >>> model = GPLVM(n_components=1).fit(X)
    >>> model.embedding_.shape
    (40, 1)
    >>> mean, std = model.inverse_transform(model.embedding_, return_std=True)
    >>> bool(np.abs(mean - X).max() < 0.01)
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: Any = None,
        noise: Any = "estimate",
        init: Any = "pca",
        n_landmarks: int | None = None,
        max_iter: int = 500,
        tol: float = 1e-5,
        memory: int | None = None,
        threads: int | None = None,
        random_state: Any = 0,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.noise = noise
        self.init = init
        self.n_landmarks = n_landmarks
        self.max_iter = max_iter
        self.tol = tol
        self.memory = memory
        self.threads = threads
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.sparse = False
        return tags

    # ---- fit ----

    @atomic
    def fit(self, X: Any, y: Any = None) -> GPLVM:
        """Find the latent points of the rows of X, of which a copy is kept."""
        self._check_options()
        kernel = self._kernel()
        require_numbers(X)
        self._X = X = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2, copy=True)
        self._dtype = X.dtype
        Y = X.astype(np.float64)
        self._mean = Y.mean(axis=0)
        Y -= self._mean
        landmarks = self._count_landmarks(len(Y))
        how = f"A latent variable model of {len(Y)} rows with {landmarks or 'no'} landmarks"
        self._refuse(self._plan(*Y.shape).bytes, how, self._way_out(landmarks))
        rng = check_random_state(self.random_state)
        Z = self._start(Y, rng)
        U = kmeans_plusplus(Z, landmarks, random_state=rng)[0] if landmarks else None
        with _parallel.one_blas_thread():  # small products alternate with loops over tiles
            self._search(kernel.with_default_scales(Z), Y, Z, U)
            points = self.embedding_ if self.landmarks_ is None else self.landmarks_
            self.function_ = Function(self.kernel_, points, self._map.coef, self._mean, threads=self.threads)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """The latent points of the rows of X."""
        return self.fit(X, y).embedding_.astype(self._dtype)

    def _kernel(self) -> Kernel:
        kernel = Scaled(RBF(), 1.0) if self.kernel is None else to_kernel(self.kernel)
        require_definite(kernel, "a Gaussian process")
        if not kernel.on_vectors or is_precomputed(kernel):
            raise ValueError(f"{kernel!r} is not a kernel on vectors, and latent points are vectors; use RBF(), say.")
        refuse(kernel, "GPLVM, which moves its inputs,", "an exact kernel with inducing points")
        return kernel

    def _check_options(self) -> None:
        checks.integer(self.n_components, "n_components")
        self._budget()
        if self.n_landmarks is not None:
            checks.integer(self.n_landmarks, "n_landmarks")
        if isinstance(self.noise, str) and self.noise != "estimate":
            raise ValueError(f"noise is {self.noise!r}; use 'estimate' or a positive variance.")
        if not isinstance(self.noise, str):
            checks.positive(self.noise, "noise")
        if isinstance(self.init, str) and self.init != "pca":
            raise ValueError(f"init is {self.init!r}; use 'pca', or an array with one latent point for each row.")

    def plan(self, X: Any, y: Any = None) -> Plan:
        """How `fit` would find the latent points of these rows, and the memory and kernel values that it takes.

        A fit that would be refused has a plan that says so.
        """
        self._check_options()
        n, shape = checks.number_of(X), np.shape(X)
        return self._judged(self._plan(n, shape[1] if len(shape) > 1 else 1), self._way_out(self._count_landmarks(n)))

    def _plan(self, n: int, columns: int) -> Plan:
        m = self._count_landmarks(n)
        size = 8 * (3 * n * m + 8 * m**2 if m else n * n) + bytes_of_gradients(n, m or n, self.threads)
        size += 8 * 60 * (n + m) * self.n_components + 20 * n * columns  # of L-BFGS, and copies of the data
        why = f"the likelihood goes through {m} landmarks" if m else "the likelihood is exact"
        seconds = self.max_iter * (3e-11 * n * (m or n) ** 2 + 3e-8 * n * (m or n))
        return Plan("lbfgs", why, size, self.max_iter * n * (m or n), seconds)

    def _count_landmarks(self, n: int) -> int:
        """Landmarks to use, 0 for none."""
        return (0 if n <= EXACT_UP_TO else LANDMARKS) if self.n_landmarks is None else min(self.n_landmarks, n)

    def _way_out(self, landmarks: int) -> str:
        fewer = min(LANDMARKS, max(1, landmarks // 2)) if landmarks else LANDMARKS
        return f"n_landmarks={fewer}, fewer rows, or a larger memory="

    def _start(self, Y: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
        """Initial latent points, from centred rows."""
        n, q = len(Y), self.n_components
        if not isinstance(self.init, str):
            Z = check_array(self.init, dtype=np.float64, input_name="init", copy=True)
            if Z.shape != (n, q):
                raise ValueError(f"init has shape {Z.shape}; it needs one row of {q} numbers for each of the {n} rows.")
            return Z
        left, sizes, right = svd(Y, full_matrices=False)
        scores, _ = svd_flip(left, right, u_based_decision=False)
        there = sizes[:q] > max(1e-10 * sizes[0], np.finfo(np.float64).tiny)
        # a component beyond the rank of the data starts as noise: at zero, symmetry would keep it there
        Z = 0.1 * rng.normal(size=(n, q))
        Z[:, : len(there)][:, there] = np.sqrt(n) * scores[:, : len(there)][:, there]
        return Z

    def _search(self, kernel: Kernel, Y: np.ndarray, Z: np.ndarray, U: np.ndarray | None) -> None:
        """L-BFGS over latent points, landmarks, and logarithms of hyper-parameters and noise."""
        given = None if isinstance(self.noise, str) else float(self.noise)
        unknowns = LatentParameters(LogParameters(kernel, kernel.prepare(Z)), len(Z), self.n_components, given)
        variance = float(Y.var(axis=0).mean()) or 1.0
        points = Z if U is None else np.concatenate([Z, U])
        theta = np.append(unknowns.parameters.start, [] if given else [np.log(0.1 * variance)])
        bounds = hyperparameter_search.log_bounds(unknowns.names, theta, variance, None)

        def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
            Z, U, kernel, noise = unknowns.at(x)
            return unknowns.gradient(x, *self._likelihood(kernel, Z, U, noise, Y))

        negative = hyperparameter_search.negative(objective)

        def of_theta(theta: np.ndarray) -> tuple[float, np.ndarray]:
            return negative(np.append(points.ravel(), theta))

        theta = hyperparameter_search.starts(
            of_theta, unknowns.names, theta, bounds, variance, 0, check_random_state(0)
        )[0]
        free = np.tile([-np.inf, np.inf], (points.size, 1))
        bounds, begin = np.concatenate([free, bounds]), perf_counter()
        x, judgement = self._run(negative, np.append(points.ravel(), theta), LatentPoints(bounds, Y.size))
        self._certify(judgement, Y, perf_counter() - begin)
        self.embedding_, landmarks, self.kernel_, self.noise_ = unknowns.at(x)
        self.landmarks_ = None if U is None else landmarks

    def _likelihood(
        self, kernel: Kernel, Z: np.ndarray, U: np.ndarray, noise: float, Y: np.ndarray
    ) -> tuple[float, np.ndarray, Gradients, float]:
        """The likelihood, and its gradients by latent points and landmarks, by hyper-parameters, and by the noise."""
        A = kernel.prepare(Z)
        if len(U):
            bound = Landmarks(kernel, A, kernel.prepare(U, like=A), Y, noise, self.threads).bound()
            return bound.value, np.concatenate([bound.by_inputs, bound.by_landmarks]), bound.gradients, bound.by_noise
        found = log_marginal_likelihood(kernel, A, Y, np.full(len(Y), noise), self.threads, by_inputs=True)
        assert found.by_inputs is not None
        return found.value, found.by_inputs, found.gradients, float(found.by_noise.sum())

    def _run(self, negative: Any, x: np.ndarray, problem: LatentPoints) -> tuple[np.ndarray, Judgement]:
        """The search itself, until the likelihood hardly rises and its gradient is small; records its path."""
        path, gradient_tol, self.n_iter_, self._evaluations = [-negative(x)[0]], np.sqrt(self.tol), 0, 0
        follow = {"callback": lambda intermediate_result: path.append(-intermediate_result.fun)}
        flat = {"ftol": 0.0, "gtol": gradient_tol * problem.size}
        for near, end in ((None, {"ftol": self.tol}), (None, flat), (hyperparameter_search.by_slopes, flat)):
            options = {"maxiter": self.max_iter - self.n_iter_, "maxfun": 20 * self.max_iter, "maxcor": 20, **end}
            objective = negative if near is None else near(negative, x)
            result = minimize(
                objective, x, jac=True, method="L-BFGS-B", bounds=problem.bounds, options=options, **follow
            )
            if result.fun >= hyperparameter_search.IMPOSSIBLE:
                raise np.linalg.LinAlgError("No positive definite covariance was found; use more noise.")
            x, judgement = result.x, problem.judge(result.x, -result.jac, -float(result.fun))
            self.n_iter_, self._evaluations = self.n_iter_ + int(result.nit), self._evaluations + int(result.nfev)
            self.converged_ = bool(result.success and judgement.residuals[0] <= gradient_tol)
            if self.converged_ or self.n_iter_ >= self.max_iter:
                break
        self.log_marginal_likelihood_, self.path_ = -float(result.fun), np.array(path)
        self._message = str(result.message)
        if not self.converged_:
            last = path[-1] - path[max(0, len(path) - 11)]
            warn_user(
                f"The search for latent points stopped early ({self._message}); the last ten iterations raised the "
                f"log likelihood by {last:.3g}, to {path[-1]:.6g}. Use a larger max_iter or tol if that is much.",
            )
        return x, judgement

    def _certify(self, judgement: Judgement, Y: np.ndarray, seconds: float) -> None:
        """Certify the point that was found."""
        plan = self._plan(*Y.shape)
        work = Work(plan.solver, plan.reason, self.n_iter_, plan.bytes, seconds, "float64")
        n, m = len(Y), self._count_landmarks(len(Y))
        values = self._evaluations * (n * m + m * m if m else n * n)
        self.certificate_ = certificate_of([judgement], work, np.sqrt(self.tol), values)

    @cached_property
    def _map(self) -> LatentMap:
        """The posterior of the map, given the latent points; recomputed by a model loaded from a file."""
        with _parallel.one_blas_thread():
            return self._conditioned(self._X.astype(np.float64) - self._mean)

    def _conditioned(self, Y: np.ndarray) -> LatentMap:
        Z, kernel = self.embedding_, self.kernel_
        if self.landmarks_ is None:
            inputs = points = kernel.prepare(Z)
            factor = Factor(kernel, inputs, np.full(len(Y), self.noise_), self.threads)
            coef = factor.solve(Y)
            reduction = factor.inverse()
        else:
            inputs = kernel.prepare(Z)
            points = kernel.prepare(self.landmarks_, like=inputs)
            sparse = Landmarks(kernel, inputs, points, Y, self.noise_, self.threads)
            coef, reduction = sparse.mean, sparse.reduction
        return LatentMap(kernel, points, coef, reduction, self.noise_, self.threads)

    # ---- use ----

    @property
    def _n_features_out(self) -> int:
        return self.n_components

    def transform(self, X: Any) -> np.ndarray:
        """The most likely latent point of each row of X, found from that of the nearest row of the training data.

        A row of the training data keeps its fitted latent point.
        """
        check_is_fitted(self)
        require_numbers(X)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        nearest = pairwise_distances_argmin(X.astype(np.float64), self._X.astype(np.float64))
        new = np.flatnonzero(np.any(self._X[nearest] != X, axis=1))
        Z = self.embedding_[nearest]
        if len(new):
            Y = X[new].astype(np.float64) - self._mean
            with _parallel.one_blas_thread():
                Z[new] = climb(lambda points, rows: self._map.log_density(points, Y[rows]), Z[new])
        return Z.astype(X.dtype)

    def inverse_transform(self, Z: Any, return_std: bool = False) -> Any:
        """The posterior mean at latent points, of shape (n, n_features), in the dtype of the training data.

        With ``return_std`` also the standard deviation of the function, without the noise, in the same shape; it is the
        same for all columns.
        """
        Z = self._check_latent(Z)
        mean = self.function_(Z).astype(self._dtype)
        if not return_std:
            return mean
        std = np.sqrt(self._map.variance(Z)).astype(self._dtype)
        return mean, np.repeat(std[:, None], mean.shape[1], axis=1)

    def precision(self, Z: Any) -> np.ndarray:
        """1 / (variance of the function + noise) at latent points: high where there are data, low in between."""
        return 1.0 / (self._map.variance(self._check_latent(Z)) + self.noise_)

    def _check_latent(self, Z: Any) -> np.ndarray:
        check_is_fitted(self)
        Z = check_array(Z, dtype=np.float64, input_name="Z")
        if Z.shape[1] != self.n_components:
            raise ValueError(f"Z has {Z.shape[1]} columns, but latent points have {self.n_components}.")
        return Z

    def report(self) -> str:
        """What was fitted, how far the search went, and why it stopped."""
        check_is_fitted(self)
        n, q = self.embedding_.shape
        how = "exact" if self.landmarks_ is None else f"a lower bound through {len(self.landmarks_)} landmarks"
        lines = [
            f"{n} rows in {q} latent components",
            f"kernel: {self.kernel_!r}",
            f"noise variance: {self.noise_:.4g}",
            f"log marginal likelihood: {self.log_marginal_likelihood_:.6g} ({how}), from {self.path_[0]:.6g}",
            f"search: {self._message}; {self.n_iter_} iterations",
            f"gradient: {self.certificate_.residual:.2g} for each entry (tolerance {self.certificate_.tolerance:.2g})",
        ]
        if not self.converged_:
            lines.append("try: a larger max_iter, or a larger tol if the likelihood hardly changes any more.")
        return "\n".join(lines)
