"""Kernel Poisson regression."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import d2_tweedie_score

from representer.estimators.base import atomic
from representer.estimators.loss_machine import Machine
from representer.estimators.row_targets import counts
from representer.kernels import checks
from representer.losses.poisson import Poisson
from representer.regularizers import SquaredNorm
from representer.result import Plan
from representer.rows.base import Rows


class KernelPoissonRegression(RegressorMixin, Machine):
    r"""minimise over f in H and b:  sum_i w_i (exp(f(x_i) + b) - y_i (f(x_i) + b)) + (alpha / 2) ||f||^2.

    Counts y have a Poisson distribution with rate exp(f(x) + b). With a linear kernel this is scikit-learn's
    PoissonRegressor with alpha / n, as that one averages the losses.

    Parameters
    ----------
    alpha : float
        Strength of the regulariser.
    kernel : Kernel or str
        A kernel object on inputs of any type, or a name such as "rbf", "linear" or "precomputed". A length scale that
        is not given is the typical distance of an input from the mean.
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
        Largest number of Newton steps. With ``tune`` it bounds the search, and these only where above the default.
    memory : int, optional
        Bytes that a fit may use; more is refused before work starts. The machine's memory when not given.
    threads : int, optional
    verbose : int
        1 shows each step, -1 nothing; 0 shows fits that take more than three seconds, on a terminal.

    Attributes
    ----------
    function_ : Function
        The fitted f + b, the logarithm of the rate.
    dual_coef_ : array of shape (n,)
    intercept_ : float
    kernel_ : Kernel
    alpha_ : float
        The alpha used.
    loo_error_ : float
        With ``tune``: the mean leave-one-out loss.
    certificate_ : Certificate

    Examples
    --------
    >>> import numpy as np
    >>> from representer import KernelPoissonRegression
    >>> X = np.linspace(0, 6, 80)[:, None]
    >>> y = np.random.default_rng(0).poisson(np.exp(1 + np.sin(X).ravel()))
    >>> rate = KernelPoissonRegression().fit(X, y).predict(X)
    >>> bool(np.abs(np.log(rate) - 1 - np.sin(X).ravel()).mean() < 0.3)
    True
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        kernel: Any = "rbf",
        fit_intercept: bool = True,
        tune: str | None = None,
        bounds: dict | None = None,
        fixed: Any = (),
        priors: dict | None = None,
        tol: float = 1e-6,
        max_iter: int = 100,
        memory: int | None = None,
        threads: int | None = None,
        verbose: int = 0,
    ):
        self.alpha = alpha
        self.kernel = kernel
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

    @atomic
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelPoissonRegression:
        """Fit to inputs X and nonnegative counts y, which need not be integers, or to rows with counts."""
        regularizer = SquaredNorm(checks.positive(self.alpha, "alpha"))
        if isinstance(X, Rows):
            self._fit(counts(self, X, y, sample_weight), None, Poisson(), regularizer, None)
        else:
            X, weights = self._inputs(X, y, sample_weight)
            self._fit(X, self._counts(X, y, weights), Poisson(), regularizer, weights)
        self.alpha_ = self.strength_
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The rate exp(f(x) + b) for each x in X."""
        return np.exp(self._values(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The fraction of the Poisson deviance that is explained (D^2)."""
        return float(d2_tweedie_score(y, self.predict(X), sample_weight=sample_weight, power=1))

    def plan(self, X: Any, y: Any = None) -> Plan:
        """The solver that `fit` would use for these inputs, why, and the memory and kernel values that it takes."""
        return self._plan_for(X, np.ones(checks.number_of(X)), Poisson(), SquaredNorm(self.alpha))
