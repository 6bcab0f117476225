"""Support vector machines for regression."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import column_or_1d

from representer.estimators.base import atomic
from representer.estimators.criteria import Part, softened
from representer.estimators.in_span import is_approximation, refuse, rows_of
from representer.estimators.inputs import check_targets, check_weights
from representer.estimators.row_targets import numbers
from representer.estimators.support_vectors import SupportVectorMachine, check_nu, filled, upper_bounds
from representer.estimators.svm_in_span import SvmInSpan
from representer.estimators.tunable import Tunable
from representer.gram.tiled import Gram
from representer.kernels.base import Kernel
from representer.losses.epsilon_insensitive import EpsilonInsensitive
from representer.problems.box import BoxProblem
from representer.rows.base import Rows
from representer.rows.validation import check_inputs, reset_fitted
from representer.solvers import smo


class SVR(RegressorMixin, Tunable, SupportVectorMachine):
    r"""minimise over f in H and b:  1/2 ||f||^2 + sum_i C w_i max(0, |y_i - f(x_i) - b| - epsilon).

    Parameters
    ----------
    C : float
    epsilon : float
        Errors up to this size cost nothing.
    kernel, tune, bounds, fixed, priors, tol, max_iter, memory, threads, verbose
        As for `SVC`.

    Attributes
    ----------
    function_, support_, support_vectors_, kernel_, C_, loo_error_, certificate_
        As for `SVC`.
    dual_coef_ : array of shape (1, n_support)
    intercept_ : array of shape (1,)

    Examples
    --------
    >>> import numpy as np
    >>> from representer import SVR
    >>> X = np.linspace(0.0, 6.0, 50)[:, None]
    >>> bool(SVR(C=10.0, epsilon=0.05).fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.99)
    True
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        epsilon: float = 0.1,
        kernel: Any = "rbf",
        tune: str | None = None,
        bounds: dict | None = None,
        fixed: Any = (),
        priors: dict | None = None,
        tol: float = 1e-3,
        max_iter: int = -1,
        memory: int | None = None,
        threads: int | None = None,
        verbose: int = 0,
    ):
        self.C = C
        self.epsilon = epsilon
        self.kernel = kernel
        self.tune = tune
        self.bounds = bounds
        self.fixed = fixed
        self.priors = priors
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.threads = threads
        self.verbose = verbose

    C_: float

    @atomic
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit to inputs X and targets y, weighted if weights are given (weight 2 is a repeated sample), or to rows."""
        if not isinstance(self.epsilon, Real) or not 0.0 <= float(self.epsilon) < np.inf:
            raise ValueError(f"epsilon is {self.epsilon!r}; it must be zero or positive.")
        if isinstance(X, Rows):
            rows = numbers(self, X, y, sample_weight)
            return self._fit_in_span(rows, self._definite_kernel(rows, None))
        kernel, X, y, weights = _regression(self, X, y, sample_weight)
        if is_approximation(kernel):
            return self._fit_in_span(rows_of(X, y, weights), kernel)
        gram = self._gram(kernel, X)
        gram = self._chosen(gram, y, weights)
        most = upper_bounds(self.C_, weights)
        result = self._fit_one(BoxProblem(gram, y, -most, most, float(self.epsilon)))
        return self._keep_one(gram, result.coef, result.intercept[0], result)

    def _fit_in_span(self, rows: Rows, kernel: Kernel) -> Any:
        reset_fitted(self, "support_", "support_vectors_", "loo_error_")
        self.C_ = self._largest_C()
        self.intercept_ = self._spanned(kernel, rows).fit([rows])
        return self

    def _spanned(self, kernel: Kernel, X: Any) -> SvmInSpan:
        return SvmInSpan(self, kernel, EpsilonInsensitive(float(self.epsilon)), self._largest_C())

    @property
    def _parts(self) -> int:
        return 1 if self.epsilon == 0.0 else 2

    takes_rows = True
    _strength_name = "C"
    _search_factor = 5.0  # Newton steps

    def _chosen(self, gram: Gram, y: np.ndarray, weights: np.ndarray) -> Gram:
        """K with the kernel, and C, that minimise the leave-one-out loss."""
        self.C_, budget = self._largest_C(), self._budget()
        self._with_search(smo.cost_of_pairs(gram, np.array([len(y)]), budget), gram, budget.memory).require()
        reset_fitted(self, "loo_error_")
        if self.tune is None:
            return gram
        loss = softened(EpsilonInsensitive(float(self.epsilon)), y)
        kernel, self.C_ = self._search_machine(gram, [Part(y, loss, weights)], weights, self.C_)
        return self._gram(kernel, gram.X)

    def predict(self, X: Any) -> np.ndarray:
        """f(x) + b for each x in X."""
        return self._values(X)


class NuSVR(RegressorMixin, SupportVectorMachine):
    r"""minimise over f in H, b, e >= 0:  1/2 ||f||^2 + C nu e sum_i w_i + sum_i C w_i max(0, |y_i - f(x_i) - b| - e).

    The half-width e of the insensitive tube is found such that nu is an upper bound on the weight fraction of samples
    outside it and a lower bound on that of the support vectors.

    Parameters
    ----------
    nu : float
        In (0, 1].
    C : float
    kernel, tol, max_iter, memory, threads, verbose
        As for `SVC`.

    Attributes
    ----------
    epsilon_ : float
        The half-width e that was found.
    function_, support_, support_vectors_, dual_coef_, intercept_, kernel_, certificate_
        As for `SVR`.
    """

    def __init__(
        self,
        nu: float = 0.5,
        C: float = 1.0,
        *,
        kernel: Any = "rbf",
        tol: float = 1e-3,
        max_iter: int = -1,
        memory: int | None = None,
        threads: int | None = None,
        verbose: int = 0,
    ):
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.threads = threads
        self.verbose = verbose

    @atomic
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit to inputs X and targets y, weighted if weights are given (weight 2 is a repeated sample)."""
        kernel, X, y, weights = _regression(self, X, y, sample_weight)
        if is_approximation(kernel):
            refuse(kernel, "The dual of NuSVR", "SVR, or an exact kernel")
        gram = self._gram(kernel, X)
        check_nu(self.nu)
        n, none = len(y), np.zeros(len(y))
        most = upper_bounds(self._largest_C(), weights)
        share, budget = 0.5 * self.nu * most.sum(), self._budget()
        plan = smo.cost_of_pairs(gram, np.array([n]), budget, self._parts)
        plan.require()
        K = smo.keep(gram, budget)
        # each sample has two coefficients: a positive one (first group) and a negative one (second group)
        problem = BoxProblem(
            K.take(np.tile(np.arange(n), 2)),
            np.concatenate([y, y]),
            np.concatenate([none, -most]),
            np.concatenate([most, none]),
            groups=np.repeat([0, 1], n),
            totals=np.array([share, -share]),
        )
        start = filled(most, share)
        result = self._fit_one(problem, np.concatenate([start, -start]), plan)
        up, down = result.intercept
        self.epsilon_ = float(max(0.5 * (up - down), 0.0))
        taken = max(result.certificate.bytes, 0 if K.stored is None else K.stored.nbytes)
        return self._keep_one(gram, result.coef[:n] + result.coef[n:], 0.5 * (up + down), result, taken)

    @property
    def _parts(self) -> int:
        return 2

    def predict(self, X: Any) -> np.ndarray:
        """f(x) + b for each x in X."""
        return self._values(X)


def _regression(self: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Kernel, Any, np.ndarray, np.ndarray]:
    """Kernel, inputs, targets and weights of a regression, checked."""
    X = check_inputs(self, X, self._given_kernel(), reset=True)
    y = column_or_1d(check_targets(self, X, y), warn=True)
    given = check_weights(sample_weight, X)
    weights = np.ones(len(y)) if given is None else given
    return self._definite_kernel(X, given), X, y, weights
