"""Conditional mean embeddings: the distribution of y given x as an element of H."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from representer.estimators.inputs import check_inputs, is_precomputed, to_kernel
from representer.estimators.ridge import KernelRidge
from representer.functions import Function
from representer.gram import machine_memory
from representer.kernels import checks
from representer.solvers.choose import choose_ridge


class ConditionalMeanEmbedding(BaseEstimator):
    r"""mu(x) = sum_i b_i(x) l(y_i, .) with b(x) = (K + alpha I)^(-1) k(x), the ridge regression of l(y, .) on x.

    <g, mu(x)> = sum_i b_i(x) g(y_i) estimates E[g(y) | x] for every function g of y: it is the kernel ridge regression
    of g(y) on x, for all g at once.

    Parameters
    ----------
    kernel_x, kernel_y : Kernel or str
        Each on inputs of any type. Length scales that are not given are chosen from all x, and from all y.
    alpha : float
        Strength of the regulariser, as in `KernelRidge`; n lambda in papers that divide by n.
    solver : {"auto", "cholesky", "conjugate_gradient"}
        As in `KernelRidge`. A Cholesky factor is computed by `fit` and kept; conjugate gradients solve anew for each
        call and store no n x n matrix.
    tol : float
        Relative residual of conjugate gradients.
    memory : int, optional
        Bytes that a solution may use; more is refused before work starts.
    threads : int, optional

    Attributes
    ----------
    kernel_x_, kernel_y_ : Kernel
        The kernels with all length scales.
    X_fit_, Y_fit_ : inputs

    References
    ----------
    Song, Huang, Smola and Fukumizu, Hilbert space embeddings of conditional distributions, ICML 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from representer import ConditionalMeanEmbedding
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (300, 1))
    >>> Y = np.sin(X) + 0.1 * rng.normal(size=(300, 1))
    >>> model = ConditionalMeanEmbedding(alpha=0.1).fit(X, Y)
    >>> model.expect(lambda y: y[:, 0], np.array([[1.5]])).round(1)
    array([1.])
    """

    def __init__(
        self,
        kernel_x: Any = "rbf",
        kernel_y: Any = "rbf",
        alpha: float = 1.0,
        *,
        solver: str = "auto",
        tol: float = 1e-6,
        memory: int | None = None,
        threads: int | None = None,
    ):
        self.kernel_x = kernel_x
        self.kernel_y = kernel_y
        self.alpha = alpha
        self.solver = solver
        self.tol = tol
        self.memory = memory
        self.threads = threads

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_precomputed(self.kernel_x)
        return tags

    def fit(self, X: Any, Y: Any) -> ConditionalMeanEmbedding:
        """Fit to pairs (x_i, y_i); Y are inputs of ``kernel_y``, so one column of numbers has shape (n, 1)."""
        checks.positive(self.alpha, "alpha")
        checks.positive(self.tol, "tol")
        if self.threads is not None:
            checks.whole(self.threads, "threads")
        if self.solver not in ("auto", "cholesky", "conjugate_gradient"):
            raise ValueError(f"solver is {self.solver!r}; use 'auto', 'cholesky' or 'conjugate_gradient'.")
        kernel_x, kernel_y = to_kernel(self.kernel_x), to_kernel(self.kernel_y)
        X = check_inputs(self, X, kernel_x, reset=True)
        n, m = checks.number_of(X), checks.number_of(Y)
        if n != m:
            raise ValueError(f"X has {n} inputs and Y has {m}; a conditional mean needs pairs (x_i, y_i).")
        memory = machine_memory() if self.memory is None else checks.whole(self.memory, "memory")
        plan = choose_ridge(n, np.array([[self.alpha]]), path=False, memory=memory, solver=self.solver)
        if plan.solver == "cholesky" and 8 * n * n > memory:
            raise MemoryError(
                f"The Cholesky factor takes {8 * n * n / 1e9:.3g} GB, above the budget of {memory / 1e9:.3g} GB; "
                "use solver='conjugate_gradient', fewer inputs, or a larger memory=."
            )
        self.kernel_x_, self.kernel_y_ = kernel_x.fitted_to(X), kernel_y.fitted_to(Y)
        self.X_fit_, self.Y_fit_ = X, Y
        self.kernel_y_.prepare(Y)  # bad values of y are found here and not when they are used
        self._prepared = self.kernel_x_.prepare(X)
        self._factor = self._factorise() if plan.solver == "cholesky" else None
        return self

    def _factorise(self) -> Any:
        K = self.kernel_x_.block(self._prepared, threads=self.threads).astype(np.float64, copy=False)
        K.ravel()[:: len(K) + 1] += self.alpha
        try:
            return cho_factor(K.T, lower=True, overwrite_a=True, check_finite=False)  # column-major, the same matrix
        except LinAlgError:
            raise ValueError(
                f"K + alpha I is not positive definite to rounding with alpha = {self.alpha:.3g}; use a larger alpha, "
                "or a kernel_x that is positive semidefinite."
            ) from None

    def _solve(self, B: np.ndarray) -> np.ndarray:
        """(K + alpha I)^(-1) B."""
        if self._factor is not None:
            return cho_solve(self._factor, B, check_finite=False)
        ridge = KernelRidge(
            self.alpha,
            kernel=self.kernel_x_,
            solver="conjugate_gradient",
            tol=self.tol,
            memory=self.memory,
            threads=self.threads,
        )
        return ridge.fit(self.X_fit_, B).dual_coef_

    def embed(self, X: Any) -> Function:
        """mu(x) as a Function of y, with one output for each x in X."""
        check_is_fitted(self)
        X = check_inputs(self, X, self.kernel_x_, reset=False)
        A = self.kernel_x_.prepare(X, like=self._prepared)
        values = self.kernel_x_.block(A, self._prepared, threads=self.threads).astype(np.float64, copy=False)
        return Function(self.kernel_y_, self.Y_fit_, self._solve(values.T))

    def expect(self, g: Any, X: Any) -> np.ndarray:
        """The estimate of E[g(y) | x] for each x in X.

        g is a function that is called with all y, or its values: one number, or one row of them, for each y.
        """
        check_is_fitted(self)
        X = check_inputs(self, X, self.kernel_x_, reset=False)
        values, n = np.asarray(g(self.Y_fit_) if callable(g) else g), len(self._prepared)
        if values.dtype.kind not in "biuf" or values.ndim not in (1, 2) or len(values) != n:
            raise ValueError(
                f"g gives {values.dtype} of shape {values.shape}; it needs one number, or one row of them, for each of "
                f"the {n} inputs y."
            )
        checks.finite(values, "g")
        return Function(self.kernel_x_, self.X_fit_, self._solve(values.astype(np.float64)))(X)
