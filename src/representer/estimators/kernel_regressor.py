"""The regressor to start with: kernel, length scales and alpha are found by leave-one-out."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from representer import _parallel
from representer.estimators.base import atomic
from representer.estimators.criteria import RidgeErrors, robust, robust_deviation
from representer.estimators.hyperparameters import deviation
from representer.estimators.inputs import check_targets, check_weights
from representer.estimators.left_out import LOO_ROWS, LeftOutFit
from representer.estimators.repeated_rows import DistinctRows
from representer.estimators.searched_model import SearchedModel
from representer.kernels import checks
from representer.processes.gaussian import GaussianProcess, doubled
from representer.processes.local import LocalPosterior
from representer.processes.posterior import ExactPosterior

COVERED, DEVIATIONS_OF_BAND = 0.96, 1.96
"""Fraction of the leave-one-out residuals within this many standard deviations: a hundredth more than for new
measurements, as the tuning has seen the residuals."""
FAR_OFF = 15.0
"""Multiple of the median leave-one-out residual beyond which a row is outlying: ten normal standard deviations."""


class KernelRegressor(MultiOutputMixin, RegressorMixin, SearchedModel):
    r"""minimise over f in H and b:  sum_i w_i (y_i - f(x_i) - b)^2 + alpha ||f||^2, kernel and alpha by leave-one-out.

    Matern-1/2, 3/2, 5/2 and RBF kernels plus a linear part are compared on a few hundred rows, with one length scale
    and with a length scale per column. The latter are shrunk towards a common one by a penalty whose strength is chosen
    on rows held out from the tuning. The best is tuned on more rows as long as that pays, and fitted exactly to all.

    In data frames, dates become numbers and yearly, weekly and daily waves, categories are one-hot encoded, and missing
    values become the median, with an indicator column; texts, sets, graphs, series and categories of many levels have
    kernels of their own, alone and multiplied with that of the numbers.

    Parameters
    ----------
    kernel : Kernel or str, optional
        Searched instead of the kernels above, with all its hyper-parameters, on any inputs that it takes.
    criterion : {"squared", "huber", "likelihood"}
        What leave-one-out measures: squared errors; Huber's loss, which is linear in large errors, of targets clipped
        at four robust deviations from their median, so that a few corrupt rows do not dominate; or the probability of
        each target given all others. Unseen rows judge by the error.
    time_limit : float
        Seconds after which no further step of the search begins.
    random_state : int
        Seed of the subsets.
    tol : float
        Relative residual of the fit to all rows; its default is far below the noise of tables, and 1e-6 gives the
        digits of `KernelRidge`.
    memory : int, optional
        Bytes that a fit may take.
    threads : int, optional
    verbose : int
        1 for a line of progress.

    Attributes
    ----------
    kernel_ : Kernel
        In the units of the columns.
    alpha_ : float
    function_ : Function
        The fitted function, intercept included.
    loo_score_ : float
        R^2 of the leave-one-out predictions; of the clipped targets with "huber", which are fitted.
    noise_ : float or array of shape (n_targets,)
        The standard deviation of a measurement about f, in the units of y.
    trials_ : list of Trial
        What was tried.
    certificate_ : Certificate

    Notes
    -----
    A weight of two is a repeated row. Rows that are equal, targets included, are left out together: otherwise a copy
    would predict the other one.

    Examples
    --------
    >>> import numpy as np
    >>> from representer import KernelRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(120, 3))
    >>> y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=120)
    >>> model = KernelRegressor().fit(X, y)
    >>> bool(model.loo_score_ > 0.95)
    True
    """

    def __init__(
        self,
        *,
        kernel: Any = None,
        criterion: str = "squared",
        time_limit: float = 300.0,
        random_state: int = 0,
        tol: float = 1e-3,
        memory: int | None = None,
        threads: int | None = None,
        verbose: int = 0,
    ):
        self.kernel = kernel
        self.criterion = criterion
        self.time_limit = time_limit
        self.random_state = random_state
        self.tol = tol
        self.memory = memory
        self.threads = threads
        self.verbose = verbose

    @atomic
    def fit(self, X: Any, y: Any, sample_weight: Any = None, declared: dict[str, str] | None = None) -> KernelRegressor:
        """Fit to rows X and targets y of shape (n,) or (n, n_targets); columns of strings may be declared.

        ``declared`` maps names of columns of a data frame to "text" or "sequence"; others are recognised.
        """
        X = self._rows(X, declared)
        y = check_targets(self, X, y)
        weights = check_weights(sample_weight, X)
        if self.criterion not in ("squared", "huber", "likelihood"):
            raise ValueError(f"criterion is {self.criterion!r}; use 'squared', 'huber' or 'likelihood'.")
        Y = y.reshape(len(y), -1)
        distinct = DistinctRows.of(X, Y, weights)
        Y, weights, single = Y[distinct.first], distinct.weights, y.ndim == 1
        centre, units = np.average(Y, axis=0, weights=weights), deviation(Y)
        if self.criterion == "huber":  # after which `robust` does not rescale targets
            spread = robust_deviation(Y)[1]
            units = np.where(spread > 0.0, spread, units)
        targets = (Y - centre) / units
        targets, loss = robust(targets) if self.criterion == "huber" else (targets, None)
        errors = RidgeErrors(
            checks.take(X, distinct.first), targets, weights, True, loss, self.criterion == "likelihood"
        )
        fit, result = self._found(errors)
        constant = units * result.intercept + centre
        self.function_ = self._function(X, units * distinct.spread(result.coef), constant, single)
        self._fitted_rows = distinct.first
        self._set_bands(fit, result.coef, units, single)
        self._warn_unless_converged(result.certificate, "use a larger tol")
        return self

    def _count_targets(self, y: Any) -> int:
        return 1 if np.ndim(y) == 1 else int(np.shape(y)[1])

    def _set_bands(self, fit: LeftOutFit, coef: np.ndarray, units: np.ndarray, single: bool) -> None:
        """Set the amplitude with which posterior variances cover the leave-one-out residuals, and loo_score_."""
        left_out, truth = fit.left_out(coef), fit.targets[fit.rows]
        errors = truth - left_out.predictions
        scores = np.abs(errors) / np.sqrt(left_out.variances)[:, None]
        far = FAR_OFF * np.median(scores, axis=0)
        self._outlying = 0 if self.criterion == "huber" else int(np.count_nonzero(np.any(scores > far, axis=1)))
        weights = None if fit.weights is None else fit.weights[fit.rows]
        amplitude = np.quantile(scores, COVERED, axis=0, method="inverted_cdf", weights=weights) / DEVIATIONS_OF_BAND
        self._amplitude = units * np.maximum(amplitude, 1e-300)
        self._weights = np.ones(len(fit.gram)) if fit.weights is None else fit.weights
        noise = self._amplitude * np.sqrt(self.alpha_)
        self.noise_ = float(noise[0]) if single else noise
        variance = np.average((truth - np.average(truth, axis=0, weights=weights)) ** 2, axis=0, weights=weights)
        missed = np.average(errors**2, axis=0, weights=weights)
        self.loo_score_ = 1.0 - float(missed.mean() / max(variance.mean(), 1e-300))

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """f(x) + b for each x in X, and with ``return_std`` the standard deviation of a new measurement there.

        It has the units of y: 96 % of the leave-one-out residuals are within 1.96 times it, and about 95 % of new ones.
        """
        values = self._values(X)
        if not return_std:
            return values
        deviations = np.sqrt(self._process.variance(self._centred(self.rows_of(X))) + self.alpha_)
        single = self.function_.coef.ndim == 1
        return values, deviations * self._amplitude[0] if single else deviations[:, None] * self._amplitude

    @property
    def _fitted(self) -> Any:
        """The distinct rows of the fit; model files of format 1 do not list them, and hold the weights of all rows."""
        rows = vars(self).get("_fitted_rows")
        return self._centred(checks.take(self.function_.X, np.flatnonzero(self._weights) if rows is None else rows))

    @cached_property
    def _process(self) -> Any:
        """The process with variance k(x, x) - k' (K + alpha W^(-1))^(-1) k: exact, or local for many rows."""
        fitted, noise = self._fitted, self.alpha_ / self._weights[self._weights > 0.0]
        if len(noise) > LOO_ROWS:
            return LocalPosterior(self._gram(self.kernel_, fitted), noise)
        with _parallel.blas_threads_for(len(noise)):
            exact = ExactPosterior(self.kernel_, doubled(fitted), noise, threads=self.threads)
        return GaussianProcess(self.kernel_, fitted, exact, self.threads)
