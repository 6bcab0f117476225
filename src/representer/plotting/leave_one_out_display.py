"""A plot of how leave-one-out chose the strength of ridge regression."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from representer.estimators.kernel_ridge import KernelRidge
from representer.estimators.ridge_classifier import KernelRidgeClassifier
from representer.plotting.axes import log_scale, panels


class LeaveOneOutDisplay:
    r"""Left: the leave-one-out error and generalised cross-validation against alpha, with the alpha that was chosen.

    Right: the prediction of each target by the fit without it, against the target itself.

    Parameters
    ----------
    alphas, errors, gcv : arrays of shape (n_alphas, n_curves)
        One curve for each target with its own alpha, or one for all. Errors are mean squared errors, or
        misclassification rates.
    chosen : array of shape (n_curves,)
        The alphas that were chosen.
    predictions, targets : arrays of shape (n, n_targets)

    Attributes
    ----------
    axes_, figure_ : matplotlib axes and figure
    error_lines_, gcv_lines_, chosen_lines_, points_ : what was drawn

    Examples
    --------
    >>> import numpy as np
    >>> from representer import KernelRidge
    >>> from representer.plotting import LeaveOneOutDisplay
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> ridge = KernelRidge(np.logspace(-6, 2, 20)).fit(X, np.sin(X).ravel())
    >>> display = LeaveOneOutDisplay.from_estimator(ridge)
    >>> bool(display.alphas[display.errors.argmin()] == display.chosen)
    True
    """

    def __init__(
        self,
        alphas: np.ndarray,
        errors: np.ndarray,
        gcv: np.ndarray,
        chosen: np.ndarray,
        predictions: np.ndarray,
        targets: np.ndarray,
    ):
        self.alphas, self.errors, self.gcv, self.chosen = alphas, errors, gcv, chosen
        self.predictions, self.targets = predictions, targets

    @classmethod
    def from_estimator(cls, estimator: KernelRidge | KernelRidgeClassifier) -> LeaveOneOutDisplay:
        """The path of a `KernelRidge` or `KernelRidgeClassifier` that was fitted with several alphas."""
        if not isinstance(estimator, KernelRidge | KernelRidgeClassifier):
            raise TypeError(f"estimator is a {type(estimator).__name__}; give a fitted KernelRidge.")
        check_is_fitted(estimator)
        if np.ndim(estimator.alpha) == 0 or not hasattr(estimator, "loo_scores_"):
            raise ValueError(
                "The estimator has one alpha; fit it with a list of alphas to choose from, and without tune."
            )
        scores = estimator.loo_scores_.reshape(len(estimator.gcv_), -1)
        errors = 1.0 - scores if isinstance(estimator, KernelRidgeClassifier) else -scores
        curves = errors.shape[1]
        gcv = estimator.gcv_ if curves == estimator.gcv_.shape[1] else estimator.gcv_.mean(axis=1, keepdims=True)
        alphas = np.asarray(estimator.alpha, np.float64)
        alphas = np.broadcast_to(alphas.reshape(len(scores), -1)[:, :curves], (len(scores), curves))
        chosen = np.broadcast_to(np.ravel(estimator.alpha_)[:curves], curves)
        predictions = estimator.loo_predictions_
        return cls(alphas, errors, gcv, chosen, predictions, predictions + estimator.loo_residuals_)

    def plot(self, ax: Any = None) -> LeaveOneOutDisplay:
        """Draw into two matplotlib axes, or those of a new figure."""
        left, right = panels(ax, 2)
        left.set_xscale(**log_scale(self.alphas))
        left.set_yscale(**log_scale(self.errors))
        gcv = np.where(np.isfinite(self.gcv), self.gcv, np.nan)
        self.error_lines_ = left.plot(self.alphas, self.errors, color="C0")
        self.gcv_lines_ = left.plot(self.alphas, gcv, color="C1", linestyle="--")
        self.chosen_lines_ = [left.axvline(alpha, color="black", linewidth=0.8) for alpha in self.chosen]
        for lines, label in (
            (self.error_lines_, "leave-one-out"),
            (self.gcv_lines_, "generalised cross-validation"),
            (self.chosen_lines_, "chosen"),
        ):
            lines[0].set_label(label)
        left.set(xlabel="alpha", ylabel="error")
        left.legend()
        both = np.stack([self.targets, self.predictions])
        right.axline((both.min(), both.min()), slope=1.0, color="black", linewidth=0.8)
        self.points_ = [right.scatter(t, p, s=10) for t, p in zip(self.targets.T, self.predictions.T, strict=True)]
        right.set(xlabel="target", ylabel="prediction without it", aspect="equal")
        self.axes_, self.figure_ = np.array([left, right]), left.figure
        return self
