"""Kernel quantile regression."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import d2_pinball_score

from representer.estimators.base import atomic
from representer.estimators.loss_machine import Machine
from representer.estimators.row_targets import numbers
from representer.kernels import checks
from representer.losses.pinball import Pinball
from representer.regularizers import SquaredNorm
from representer.result import Plan
from representer.rows.base import Rows


class KernelQuantileRegression(RegressorMixin, Machine):
    r"""minimise over f in H and b:  sum_i w_i pinball(y_i, f(x_i) + b) + (alpha / 2) ||f||^2, for each quantile.

    The pinball loss is quantile * (y - f) above f and (1 - quantile) * (f - y) below, so that a fraction ``quantile``
    of the targets lies below f.

    Parameters
    ----------
    quantile : float or list of floats
        Between 0 and 1. Several quantiles are fitted at once and predicted in as many columns.
    alpha : float
        Strength of the regulariser.
    kernel : Kernel or str
        A kernel object on inputs of any type, or a name such as "rbf", "linear" or "precomputed". A length scale that
        is not given is the typical distance of an input from the mean.
    non_crossing : bool
        Whether predictions of several quantiles are put into increasing order at each input (rearrangement), which can
        only bring them nearer to the true quantiles [1]_. ``function_`` holds them as they were fitted.
    fit_intercept : bool
        Whether there is a free constant b.
    tune : {None, "loo"}
        "loo" tunes alpha and all positive hyper-parameters of the kernel to minimise the leave-one-out loss, by
        gradients.
    bounds : dict, optional
        Pairs (low, high) for hyper-parameters by name, such as ``{"length_scale": (0.1, 10.0), "alpha": (0.1, 10.0)}``.
    fixed : list of names
        Hyper-parameters that are not tuned.
    priors : dict, optional
        Distributions with a ``logpdf``, as in scipy.stats, by name.
    tol : float
        Duality gap, relative to the objective, at which the solver has converged.
    max_iter : int
        Largest number of rounds of n SMO steps, or of Newton steps without an intercept, for each quantile. With
        ``tune`` it bounds the search, and these only where it is above the default.
    memory : int, optional
        Bytes that a fit may use; more is refused before work starts. The machine's memory when not given.
    threads : int, optional
    verbose : int
        1 shows each step, -1 nothing; 0 shows fits that take more than three seconds, on a terminal.

    Attributes
    ----------
    function_ : Function
        The fitted f + b, with an output for each quantile.
    dual_coef_ : array of shape (n,) or (n, n_quantiles)
    intercept_ : float or array of shape (n_quantiles,)
    kernel_ : Kernel
    alpha_ : float
        The alpha used.
    loo_error_ : float
        With ``tune``: the mean leave-one-out loss.
    certificate_ : Certificate
        Of all quantiles together.

    References
    ----------
    .. [1] Chernozhukov, Fernandez-Val and Galichon, Quantile and probability curves without crossing, Econometrica
       2010.

    Examples
    --------
    >>> import numpy as np
    >>> from representer import KernelQuantileRegression
    >>> X = np.linspace(0, 6, 80)[:, None]
    >>> y = np.sin(X).ravel() + np.random.default_rng(0).normal(size=80)
    >>> model = KernelQuantileRegression([0.1, 0.9], non_crossing=True).fit(X, y)
    >>> model.predict(X).shape
    (80, 2)
    """

    def __init__(
        self,
        quantile: Any = 0.5,
        *,
        alpha: float = 1.0,
        kernel: Any = "rbf",
        non_crossing: bool = False,
        fit_intercept: bool = True,
        tune: str | None = None,
        bounds: dict | None = None,
        fixed: Any = (),
        priors: dict | None = None,
        tol: float = 1e-6,
        max_iter: int = 1000,
        memory: int | None = None,
        threads: int | None = None,
        verbose: int = 0,
    ):
        self.quantile = quantile
        self.alpha = alpha
        self.kernel = kernel
        self.non_crossing = non_crossing
        self.fit_intercept = fit_intercept
        self.tune = tune
        self.bounds = bounds
        self.fixed = fixed
        self.priors = priors
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.threads = threads
        self.verbose = verbose

    @atomic
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelQuantileRegression:
        """Fit to inputs X and targets y, or to rows that contain their targets."""
        loss, regularizer = Pinball(self.quantile), SquaredNorm(checks.positive(self.alpha, "alpha"))
        loss.check()
        checks.boolean(self.non_crossing, "non_crossing")
        if isinstance(X, Rows):
            self._fit(numbers(self, X, y, sample_weight), None, loss, regularizer, None)
        else:
            X, weights = self._inputs(X, y, sample_weight)
            self._fit(X, self._numbers(X, y), loss, regularizer, weights)
        self.alpha_ = self.strength_
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The quantiles at each x in X: shape (n,), or (n, n_quantiles) for a list of quantiles."""
        values = self._values(X)
        if np.ndim(self.quantile) == 0:
            return values
        values = values.reshape(len(values), -1)
        if not self.non_crossing:
            return values
        rank = np.argsort(np.argsort(self.quantile))
        return np.sort(values, axis=1)[:, rank]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The fraction of the pinball loss that is explained (D^2), averaged over quantiles."""
        columns = self.predict(X).reshape(len(np.asarray(y)), -1).T
        pairs = zip(np.atleast_1d(self.quantile), columns, strict=True)
        return float(np.mean([d2_pinball_score(y, f, alpha=q, sample_weight=sample_weight) for q, f in pairs]))

    def plan(self, X: Any, y: Any = None) -> Plan:
        """The solver that `fit` would use for these inputs, why, and the memory and kernel values that it takes."""
        loss, regularizer = Pinball(self.quantile), SquaredNorm(self.alpha)
        return self._plan_for(X, np.zeros(checks.number_of(X)), loss, regularizer)
