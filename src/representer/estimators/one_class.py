"""The support of a distribution, by a support vector machine."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import OutlierMixin

from representer.estimators.base import atomic
from representer.estimators.in_span import is_approximation, rows_of
from representer.estimators.inputs import check_weights
from representer.estimators.row_targets import WeightOf, untargeted
from representer.estimators.support_vectors import SupportVectorMachine, check_nu, filled
from representer.estimators.svm_in_span import SvmInSpan
from representer.kernels import checks
from representer.losses.pinball import Pinball
from representer.problems.box import BoxProblem
from representer.rows.base import Rows
from representer.rows.validation import check_inputs, reset_fitted

BELOW = Pinball(1.0 - 1e-12)
"""max(0, y - f), but for a slope of 1e-12 on the other side."""


class OneClassSVM(OutlierMixin, SupportVectorMachine):
    r"""minimise over f in H and r:  1/2 ||f||^2 - nu r sum_i w_i + sum_i w_i max(0, r - f(x_i)).

    The samples with f(x) < r are outliers; nu is an upper bound on their weight fraction and a lower bound on that of
    the support vectors.

    Parameters
    ----------
    nu : float
        In (0, 1].
    kernel, tol, max_iter, memory, threads, verbose
        As for `SVC`.

    Attributes
    ----------
    function_ : Function
        f - r.
    offset_ : float
        r.
    support_, support_vectors_, dual_coef_, intercept_, kernel_, certificate_
        As for `SVR`.
    """

    takes_rows = True

    def __init__(
        self,
        nu: float = 0.5,
        *,
        kernel: Any = "rbf",
        tol: float = 1e-3,
        max_iter: int = -1,
        memory: int | None = None,
        threads: int | None = None,
        verbose: int = 0,
    ):
        self.nu = nu
        self.kernel = kernel
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.threads = threads
        self.verbose = verbose

    @atomic
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit to inputs X, weighted if weights are given (weight 2 is a repeated sample); y is ignored."""
        check_nu(self.nu)
        if isinstance(X, Rows):
            rows = untargeted(self, X, y, sample_weight)
            (weight,) = rows.total(WeightOf())
            return self._fit_in_span(rows, self._definite_kernel(rows, None), self.nu * float(weight))
        X = check_inputs(self, X, self._given_kernel(), reset=True)
        n = checks.number_of(X)
        given = check_weights(sample_weight, X)
        weights = np.ones(n) if given is None else given
        kernel, total = self._definite_kernel(X, given), self.nu * weights.sum()
        if is_approximation(kernel):
            return self._fit_in_span(rows_of(X, np.zeros(n), weights), kernel, total)
        gram = self._gram(kernel, X)
        # points on the boundary, to the accuracy of the fit, are inliers
        problem = BoxProblem(gram, np.zeros(n), np.zeros(n), weights, totals=np.array([total]), inclusive=True)
        result = self._fit_one(problem, filled(weights, total))
        self._keep_one(gram, result.coef, result.intercept[0], result)
        self.offset_ = -float(self.intercept_[0])
        return self

    def _fit_in_span(self, rows: Rows, kernel: Any, total: float) -> Any:
        """minimise sum_i w_i max(0, r - f(x_i)) - total r + ||f||^2 / 2 over f in the span, and r = -b."""
        reset_fitted(self, "support_", "support_vectors_")
        self.intercept_ = SvmInSpan(self, kernel, BELOW, 1.0, tilt=total).fit([rows])
        self.offset_ = -float(self.intercept_[0])
        return self

    def _spanned(self, kernel: Any, X: Any) -> SvmInSpan:
        """The machine in the span without weights, for a plan."""
        return SvmInSpan(self, kernel, BELOW, 1.0, tilt=self.nu * checks.number_of(X))

    def score_samples(self, X: Any) -> np.ndarray:
        """f(x) for each x in X; the lower, the less normal."""
        return self._values(X) + self.offset_

    def decision_function(self, X: Any) -> np.ndarray:
        """f(x) - r for each x in X; negative for outliers."""
        return self._values(X)

    def predict(self, X: Any) -> np.ndarray:
        """1 for inliers and -1 for outliers."""
        return np.where(self._values(X) >= 0, 1, -1)
