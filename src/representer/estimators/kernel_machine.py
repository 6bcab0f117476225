"""The kernel machine: any loss, any nondecreasing regulariser of the norm."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if

from representer.estimators.base import atomic
from representer.estimators.inputs import check_weights
from representer.estimators.loss_machine import Machine
from representer.estimators.row_targets import coded
from representer.kernels import checks
from representer.losses.base import Loss
from representer.losses.squared import Squared
from representer.problems.intercepts import best_intercept
from representer.problems.points import Point
from representer.regularizers import Regularizer, SquaredNorm
from representer.result import Plan
from representer.rows.base import Rows
from representer.rows.distributed.lazy import lazily
from representer.rows.validation import reset_fitted


def _classifies(model: KernelMachine) -> bool:
    if model._loss.targets in ("signs", "classes"):
        return True
    raise AttributeError(f"A machine with the loss {model._loss!r} is a regressor and has no decision_function.")


class KernelMachine(Machine):
    r"""minimise over f in H and b:  sum_i w_i loss(y_i, f(x_i) + b) + R(||f||).

    The solution is f = sum_i a_i k(x_i, .), whatever the loss and the nondecreasing R. Where both are convex, a
    certificate bounds how far the objective is above its minimum. Whether this is a regressor or a classifier depends
    on the targets of the loss.

    Parameters
    ----------
    kernel : Kernel or str
        A kernel object on inputs of any type, or a name such as "rbf", "linear" or "precomputed". A length scale that
        is not given is the typical distance of an input from the mean.
    loss : Loss, optional
        From `representer.losses`, or your own; `Squared` when not given.
    regularizer : Regularizer, optional
        From `representer.regularizers`; ``SquaredNorm(1.0)`` when not given.
    fit_intercept : bool
        Whether there is a free constant b.
    tune : {None, "loo"}
        "loo" tunes the strength of a `SquaredNorm` and all positive hyper-parameters of the kernel to minimise the
        leave-one-out loss, by gradients.
    bounds : dict, optional
        Pairs (low, high) for hyper-parameters by name, such as ``{"length_scale": (0.1, 10.0)}``.
    fixed : list of names
        Hyper-parameters that are not tuned.
    priors : dict, optional
        Distributions with a ``logpdf``, as in scipy.stats, by name.
    tol : float
        Duality gap, relative to the objective, at which the solver has converged.
    max_iter : int
        Largest number of Newton steps, of L-BFGS steps where the loss has only value and gradient, or of rounds of n
        SMO steps where the dual is box-constrained, as for hinge and pinball losses with an intercept. With ``tune`` it
        bounds the search, and these only where it is above the default.
    memory : int, optional
        Bytes that a fit may use; more is refused before work starts. The machine's memory when not given.
    threads : int, optional
    verbose : int
        1 shows each step, -1 nothing; 0 shows fits that take more than three seconds, on a terminal.

    Attributes
    ----------
    function_ : Function
        The fitted f + b.
    dual_coef_ : array of shape (n,) or (n, n_outputs)
    intercept_ : float or array of shape (n_outputs,)
    strength_ : float
        The effective strength R'(||f||) / ||f||: with ``SquaredNorm(strength_)`` the solution is the same. Infinite for
        f = 0; in a ball, that of the solution before it was shrunk to the radius.
    kernel_ : Kernel
        The kernel used, with all length scales.
    certificate_ : Certificate
        Its ``error_bound`` is for the squared norm with the effective strength.
    classes_ : array
        Of a classifier.

    Examples
    --------
    >>> import numpy as np
    >>> from representer import KernelMachine
    >>> from representer.losses import Huber
    >>> from representer.regularizers import Norm
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> y = np.sin(X).ravel()
    >>> y[::10] += 5.0
    >>> model = KernelMachine(loss=Huber(0.1), regularizer=Norm(0.1)).fit(X, y)
    >>> bool(np.abs(model.predict(X) - np.sin(X).ravel()).max() < 0.2), model.certificate_.converged
    (True, True)
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        loss: Loss | None = None,
        regularizer: Regularizer | None = None,
        *,
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
        self.kernel = kernel
        self.loss = loss
        self.regularizer = regularizer
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

    _strength_name = "strength"

    @property
    def _loss(self) -> Loss:
        return Squared() if self.loss is None else self.loss

    @property
    def _regularizer(self) -> Regularizer:
        return SquaredNorm(1.0) if self.regularizer is None else self.regularizer

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        targets = getattr(self._loss, "targets", "real")
        tags.target_tags.required = True
        if targets in ("signs", "classes"):
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags(multi_class=targets == "classes")
        else:
            tags.estimator_type = "regressor"
            tags.regressor_tags = RegressorTags()
            tags.target_tags.positive_only = targets == "counts"
        return tags

    @atomic
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelMachine:
        """Fit to inputs X and targets or labels y, or to rows that contain them."""
        reset_fitted(self, "classes_")
        X, targets, weights = self._checked(X, y, sample_weight)
        self._fit(X, targets, self._loss, self._regularizer, weights)
        return self

    def _check_parts(self) -> None:
        """Raise if the loss or the regulariser is not one, or has a parameter out of range."""
        for part, kind, example in ((self._loss, Loss, "Huber()"), (self._regularizer, Regularizer, "Norm(0.3)")):
            if not isinstance(part, kind):
                raise TypeError(f"{part!r} is not a {kind.__name__}; pass an object such as {example}.")
            part.check()

    def _checked(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Any, Any, np.ndarray | None]:
        """Inputs, targets as numbers, and weights, as the loss needs them."""
        self._check_parts()
        if isinstance(X, Rows):
            return coded(self, X, y, sample_weight, self._loss.targets), None, None
        X, weights = self._inputs(X, y, sample_weight)
        if self._loss.targets == "real":
            return X, self._numbers(X, y), weights
        if self._loss.targets == "counts":
            return X, self._counts(X, y, weights), weights
        return X, (self._signs if self._loss.targets == "signs" else self._labels)(X, y, weights), weights

    @available_if(_classifies)
    @lazily
    def decision_function(self, X: Any) -> np.ndarray:
        """f(x) + b for each x in X; the sign, or the largest of several columns, determines the class."""
        values = self._values(X)
        two = values.ndim == 2 and values.shape[1] == 2
        return values[:, 1] - values[:, 0] if two else values

    def predict(self, X: Any) -> np.ndarray:
        """f(x) + b for each x in X; for counts, the rate exp(f(x) + b); for labels, the class."""
        values = self._values(X)
        if self._loss.targets not in ("signs", "classes"):
            return self._loss.response(values)
        return self.classes_[values.argmax(axis=1) if values.ndim == 2 else (values > 0).astype(int)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2 of a regressor, accuracy of a classifier; mean D^2 for several outputs with a loss each.

        D^2 is one minus the loss relative to that of the best constant.
        """
        predicted = self.predict(X)
        if self._loss.targets in ("signs", "classes"):
            return float(accuracy_score(y, predicted, sample_weight=sample_weight))
        if predicted.ndim == 1:
            return float(r2_score(y, predicted, sample_weight=sample_weight))
        y = self._numbers(X, y)[:, None]
        weights = check_weights(sample_weight, X)
        w = np.ones_like(y) if weights is None else weights[:, None]
        pairs = zip(self._loss.parts(), predicted.T, strict=True)
        return float(np.mean([_explained(loss, y, w, f) for loss, f in pairs]))

    def plan(self, X: Any, y: Any = None) -> Plan:
        """The solver that `fit` would use for these inputs, why, and the memory and time that it takes."""
        model = clone(self)  # checks set attributes
        model._check_parts()
        elsewhere, zeros = isinstance(X, Rows), np.zeros(checks.number_of(X))
        X, targets, _ = (X, zeros, None) if y is None or elsewhere else model._checked(X, y)
        return model._plan_for(X, targets, self._loss, self._regularizer)


def _explained(loss: Loss, y: np.ndarray, w: np.ndarray, f: np.ndarray) -> float:
    """1 - loss of f / loss of the best constant; as for R^2, 1 or 0 where all targets are equal."""
    flat = np.zeros_like(y)
    best = flat + best_intercept(loss, y, w, Point(flat, np.zeros(1), flat))
    lost, least = (float(np.sum(w * loss.value(y, values))) for values in (f[:, None], best))
    return 1.0 - lost / least if np.ptp(y) > 0.0 else float(lost == 0.0)
