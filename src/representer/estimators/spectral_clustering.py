"""Spectral clustering of the graph whose edges are kernel values."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.base import ClusterMixin
from sklearn.cluster import KMeans

from representer import _parallel
from representer.estimators.base import KernelEstimator, atomic
from representer.estimators.inputs import to_kernel
from representer.estimators.kernel_k_means import check_count
from representer.gram.stored import stored_if_small
from representer.gram.tiled import Gram
from representer.kernels import checks
from representer.problems.laplacian import LaplacianProblem
from representer.result import Plan, Work, certify, plan_of_products
from representer.rows.validation import check_inputs

DENSE_LAPLACIAN_UP_TO = 1000
"""Rows up to which a dense eigendecomposition is faster than iteration for a few eigenvectors."""


class SpectralClustering(ClusterMixin, KernelEstimator):
    r"""k-means on eigenvectors of the normalised Laplacian  I - D^(-1/2) A D^(-1/2),  A_ij = k(x_i, x_j), A_ii = 0.

    D is the diagonal matrix of the degrees sum_j A_ij. The eigenvectors with the smallest eigenvalues, divided by the
    square roots of the degrees, are nearly constant on weakly connected groups of inputs. For many inputs they come
    from products with the kernel matrix, which need not be stored.

    Parameters
    ----------
    n_clusters : int
    kernel : Kernel or str
        A kernel object on inputs of any type, with nonnegative values, or a name such as "rbf" or "precomputed".
    n_components : int, optional
        Eigenvectors to use; n_clusters when not given.
    n_init : int
        Starts of k-means.
    memory : int, optional
        Bytes; the machine's memory when not given. The kernel matrix is stored if it takes at most a quarter of them.
        For a kernel with fewer features than inputs, such as `Nystroem`, it never is: products go through features.
    threads : int, optional
    random_state : int or RandomState

    Attributes
    ----------
    labels_ : array of shape (n,)
    embedding_ : array of shape (n, n_components)
    eigenvalues_ : array of shape (n_components,)
        Of the normalised Laplacian; as many are zero as the graph has connected components.
    kernel_ : Kernel
        The kernel used, with all length scales.
    certificate_ : Certificate
        Of the eigenvectors: the residual of each.

    References
    ----------
    von Luxburg, A tutorial on spectral clustering, Statistics and Computing 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from representer import SpectralClustering
    >>> from representer.kernels import RBF
    >>> angle = np.linspace(0, 2 * np.pi, 40)
    >>> circle = np.c_[np.cos(angle), np.sin(angle)]
    >>> labels = SpectralClustering(2, kernel=RBF(0.3)).fit_predict(np.r_[circle, 3 * circle])
    >>> bool(np.all(labels[:40] == labels[0]) and np.all(labels[40:] != labels[0]))
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Any = "rbf",
        n_components: int | None = None,
        n_init: int = 10,
        memory: int | None = None,
        threads: int | None = None,
        random_state: Any = 0,
    ):
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.n_components = n_components
        self.n_init = n_init
        self.memory = memory
        self.threads = threads
        self.random_state = random_state

    @atomic
    def fit(self, X: Any, y: Any = None) -> SpectralClustering:
        """Find the clusters of X; y is ignored."""
        X = check_inputs(self, X, to_kernel(self.kernel), reset=True)
        n = checks.number_of(X)
        check_count(self.n_clusters, n)
        checks.integer(self.n_init, "n_init", most=100_000)
        budget = self._budget()
        count = self.n_clusters if self.n_components is None else checks.integer(self.n_components, "n_components")
        if count > n:
            raise ValueError(f"n_components is {count}, but there are only {n} inputs.")
        self.kernel_ = to_kernel(self.kernel).with_default_scales(X)
        gram = self._gram(self.kernel_, X)
        begin, plan = perf_counter(), self._plan_of(gram)
        plan.require()
        K = stored_if_small(gram)
        if K.stored is not None:
            np.fill_diagonal(K.stored, 0.0)  # sums of small edges would lose their digits to k(x, x)
        problem = LaplacianProblem(K)
        if problem.degrees.min() < -1e-10 * np.abs(problem.degrees).max():
            raise ValueError(
                "An input has a negative sum of kernel values, so a degree of the graph is negative; "
                "use a kernel without negative values, such as RBF."
            )
        with _parallel.blas_threads_for(n):
            values, vectors, products = self._eigenvectors(problem, count)
            work = Work(plan.solver, plan.reason, products, plan.bytes, perf_counter() - begin, str(gram.dtype))
            self.certificate_ = certify(problem, vectors, values, work, budget.tol)
        self._warn_unless_converged(self.certificate_, "use inputs in float64, or a longer length_scale")
        self.eigenvalues_, self.embedding_ = 1.0 - values, vectors / problem.root[:, None]
        seed = int(np.random.default_rng(self.random_state).integers(2**31))
        means = KMeans(self.n_clusters, n_init=self.n_init, random_state=seed).fit(self.embedding_)
        self.labels_ = means.labels_
        return self

    def plan(self, X: Any, y: Any = None) -> Plan:
        """Whether `fit` would store the kernel matrix, and the memory and time that it takes."""
        return self._plan_of(self._gram(self._kernel_for(X), X))

    def _plan_of(self, gram: Gram) -> Plan:
        n = len(gram)
        dense = 24 * n * n if n <= DENSE_LAPLACIAN_UP_TO else 8 * n * (2 * self.n_clusters + 20)
        return plan_of_products("eigenvectors of the Laplacian", gram, dense, 60)

    def _eigenvectors(self, problem: LaplacianProblem, count: int) -> tuple[np.ndarray, np.ndarray, int]:
        """The largest eigenvalues of N, decreasing, their vectors with largest entry positive, and products taken.

        A dense eigendecomposition counts as one product.
        """
        K, n, products = problem.gram, len(problem.gram), 1
        if count >= n - 1 or (K.stored is not None and n <= DENSE_LAPLACIAN_UP_TO):
            A = K.dense().astype(np.float64)
            np.fill_diagonal(A, problem.isolated)
            values, vectors = eigh(
                A / np.multiply.outer(problem.root, problem.root), subset_by_index=[n - count, n - 1]
            )
        else:

            def apply(v: np.ndarray) -> np.ndarray:
                nonlocal products
                products += 1
                return problem.apply(v.ravel())

            operator = LinearOperator((n, n), matvec=apply, dtype=np.float64)
            values, vectors = eigsh(operator, count, which="LA", v0=problem.root)
        values, vectors = values[::-1], vectors[:, ::-1]
        return values, vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(count)]), products
