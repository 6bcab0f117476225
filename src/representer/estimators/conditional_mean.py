"""Conditional mean embeddings: the distribution of y given x as an element of H."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from sklearn.utils.validation import check_is_fitted

from representer import _parallel
from representer.estimators.base import KernelEstimator, atomic, own
from representer.estimators.conditional_in_span import ConditionalInSpan
from representer.estimators.in_span import basis_for, function_of, with_approximation
from representer.estimators.inputs import in_column, to_kernel
from representer.functions import Function
from representer.gram.tiled import Gram
from representer.kernels import checks
from representer.kernels.base import Kernel
from representer.problems.ridge import RidgeProblem
from representer.result import Budget, Certificate, Plan, Result, Work, certificate_of, certify
from representer.rows import tables
from representer.rows.arrays import ArrayRows
from representer.rows.validation import check_inputs
from representer.solvers import cholesky, choose
from representer.solvers.memory import bytes_of_tiles

CERTIFIED = 8
"""Training inputs whose embeddings a fit computes and certifies."""
ADVICE = "use a larger alpha or tol, or solver='cholesky'"
"""Advice where iterations stopped early."""


class ConditionalMeanEmbedding(KernelEstimator):
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
        As in `KernelRidge`. "auto" solves in the span of the basis where ``kernel_x`` has one, such as `Nystroem`, with
        m x m matrices. A Cholesky factor is computed by `fit` and kept; conjugate gradients solve again at each call
        and store no n x n matrix, and `fit` solves once for its certificate.
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
    certificate_ : Certificate
        Of the embeddings mu(x) of some training inputs x, evenly spaced: their relative residuals.

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

    @property
    def kernel(self) -> Any:
        """The kernel on x, by which cross-validation slices."""
        return self.kernel_x

    @atomic
    def fit(self, X: Any, Y: Any) -> ConditionalMeanEmbedding:
        """Fit to pairs (x_i, y_i); Y are inputs of ``kernel_y``, and numbers y_i are one column of them."""
        kernel_x, kernel_y = self._kernels()
        checks.unmasked(Y, "Y")
        X, Y = own(check_inputs(self, X, kernel_x, reset=True)), own(in_column(Y, kernel_y))
        n, m = checks.number_of(X), checks.number_of(Y)
        if n != m:
            raise ValueError(f"X has {n} inputs and Y has {m}; a conditional mean needs pairs (x_i, y_i).")
        self.kernel_x_, self.kernel_y_ = kernel_x.with_default_scales(X), kernel_y.with_default_scales(Y)
        self.kernel_y_.prepare(Y)  # bad values of y are found here and not when they are used
        self.X_fit_, self.Y_fit_ = X, Y
        self._plan.require()
        with _parallel.blas_threads_for(n):
            begin = perf_counter()
            self.certificate_ = self._certificate(begin)
        self._warn_unless_converged(self.certificate_, ADVICE)
        return self

    @cached_property
    def _problem(self) -> RidgeProblem:
        return self._problem_of(self.kernel_x_, self.X_fit_)

    @cached_property
    def _span(self) -> ConditionalInSpan | None:
        return self._span_of(self.kernel_x_, self.X_fit_)

    @cached_property
    def _across(self) -> tuple[Any, np.ndarray] | None:
        """The basis of an approximated kernel of y, and sum_i phi(y_i) phi(x_i)'."""
        if self._span is None or self.kernel_y_.original is self.kernel_y_ or self.kernel_y_.basis is None:
            return None
        basis = self.kernel_y_.basis(self.Y_fit_)
        return basis, self._span.across(self.Y_fit_, basis)

    @cached_property
    def _plan(self) -> Plan:
        return self._plan_in(self._span, self.kernel_x_, self.X_fit_)

    @cached_property
    def _factor(self) -> Any:
        """Cholesky factor of K + alpha I, recomputed after loading; None where conjugate gradients solve."""
        with _parallel.blas_threads_for(self._problem.n):
            return self._factorise() if self._plan.solver == cholesky.name else None

    def plan(self, X: Any, Y: Any = None) -> Plan:
        """How `fit` and the first use solve for these inputs, why, and the memory and time this takes."""
        kernel_x = self._kernels()[0].with_default_scales(X)
        return self._plan_in(self._span_of(kernel_x, X), kernel_x, X)

    def _span_of(self, kernel: Kernel, X: Any) -> ConditionalInSpan | None:
        """The solver in the span of kernel_x's basis; None without a basis, or where another solver is requested."""
        basis = basis_for(kernel, X) if self.solver == "auto" else None
        return None if basis is None else ConditionalInSpan(basis, X, float(self.alpha), self.threads)

    def _plan_in(self, span: ConditionalInSpan | None, kernel: Kernel, X: Any) -> Plan:
        budget = self._budget()
        return self._plan_of(self._problem_of(kernel, X), budget) if span is None else span.plan(budget)

    def _kernels(self) -> tuple[Kernel, Kernel]:
        """Both kernels, after all parameters are checked."""
        checks.positive(self.alpha, "alpha")
        choose.check_name(self.solver, RidgeProblem)
        return to_kernel(self.kernel_x), to_kernel(self.kernel_y)

    def _problem_of(self, kernel: Kernel, X: Any) -> RidgeProblem:
        gram = self._gram(kernel, X)
        return RidgeProblem(gram, np.zeros((len(gram), 1)), np.array([float(self.alpha)]))

    def _plan_of(self, problem: RidgeProblem, budget: Budget) -> Plan:
        plan = choose.plan(problem, budget, self.solver)
        if plan.solver != cholesky.name:
            return plan
        # the factor is kept for all right-hand sides, and so in float64
        doubles = replace(plan, bytes=8 * problem.n**2 + problem.gram.nbytes + bytes_of_tiles(problem.n, self.threads))
        return doubles.within(budget.memory, "use solver='conjugate_gradient', fewer inputs, or a larger memory=")

    def _factorise(self) -> Any:
        K = self._problem.matrix(float(self.alpha))
        try:
            return cho_factor(K.T, lower=True, overwrite_a=True, check_finite=False)  # column-major, the same matrix
        except LinAlgError:
            raise ValueError(
                f"K + alpha I is not positive definite to rounding with alpha = {self.alpha:.3g}; use a larger alpha, "
                "or a kernel_x that is positive semidefinite."
            ) from None

    def _certificate(self, begin: float) -> Certificate:
        """The certificate of b(x) = (K + alpha I)^(-1) k(x) for some of the training inputs x."""
        n, plan = checks.number_of(self.X_fit_), self._plan
        some = np.linspace(0, n - 1, min(n, CERTIFIED)).astype(int)
        if self._span is not None:
            judgement = self._span.judge(tables.at(tables.sliceable(self.X_fit_), some))
            work = Work(plan.solver, plan.reason, 1, plan.bytes, perf_counter() - begin, "float64", 1)
            certificate = certificate_of([judgement], work, self.tol, n * self._span.basis.size)
            return with_approximation(certificate, self._span.basis, ArrayRows(self.X_fit_), None)
        columns = self._problem.gram.astype(np.float64).block(slice(None), some)
        if self._factor is None:
            return self._iterate(columns).certificate
        problem, coef = self._with_targets(columns), cho_solve(self._factor, columns, check_finite=False)
        work = Work(plan.solver, plan.reason, 1, plan.bytes, perf_counter() - begin, "float64")
        return certify(problem, coef, np.zeros(len(some)), work, self.tol)

    def _with_targets(self, B: np.ndarray) -> RidgeProblem:
        return replace(self._problem, targets=B, alpha=np.full(B.shape[1], float(self.alpha)))

    def _iterate(self, B: np.ndarray) -> Result:
        """(K + alpha I)^(-1) B by the planned solver."""
        problem, budget = self._with_targets(B), self._budget()
        solver, _ = choose.solver_of(problem, budget, self._plan.solver)
        return solver.solve(problem, budget, self._plan.reason)

    def _solve(self, B: np.ndarray) -> np.ndarray:
        """(K + alpha I)^(-1) B."""
        if self._factor is not None:
            return cho_solve(self._factor, B, check_finite=False)
        result = self._iterate(B.reshape(len(B), -1))
        self._warn_unless_converged(result.certificate, ADVICE)
        return result.coef.reshape(B.shape)

    def embed(self, X: Any) -> Function:
        """mu(x) as a Function of y, with one output for each x in X."""
        check_is_fitted(self)
        X = check_inputs(self, X, self.kernel_x_, reset=False)
        if self._span is not None:
            Z = self._span.solutions(X)
            if self._across is not None:
                return function_of(self._across[0], self._across[1] @ Z, 0.0, self.threads)
            return Function(self.kernel_y_, self.Y_fit_, self._span.weights(Z), threads=self.threads)
        known: Any = self._problem.gram
        A = self.kernel_x_.prepare(X, like=known.inputs)
        values = Gram.of(self.kernel_x_, A, known.inputs, threads=self.threads).dense().astype(np.float64, copy=False)
        return Function(self.kernel_y_, self.Y_fit_, self._solve(values.T), threads=self.threads)

    def expect(self, g: Any, X: Any) -> np.ndarray:
        """The estimate of E[g(y) | x] for each x in X.

        g is a function that is called with all y, or its values: one number, or one row of numbers, for each y.
        """
        check_is_fitted(self)
        X = check_inputs(self, X, self.kernel_x_, reset=False)
        values, n = np.asarray(g(self.Y_fit_) if callable(g) else g), checks.number_of(self.X_fit_)
        if values.dtype.kind not in "biuf" or values.ndim not in (1, 2) or len(values) != n:
            raise ValueError(
                f"g gives {values.dtype} of shape {values.shape}; it needs one number, or one row of them, for each of "
                f"the {n} inputs y."
            )
        checks.finite(values, "g")
        if self._span is not None:
            return self._span.regression(values.astype(np.float64))(X)
        known: Any = self._problem.gram
        coef = self._solve(values.astype(np.float64))
        return Function(self.kernel_x_, self.X_fit_, coef, prepared=known.inputs, threads=self.threads)(X)
