"""A plot of a Gaussian process over one input column."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from representer.estimators.gaussian_process import GaussianProcessRegressor
from representer.plotting.axes import dense, panels


class GaussianProcessDisplay:
    r"""The posterior mean m(x), the band m(x) +- 2 s(x) that holds f(x) with probability 0.95, data, and draws of f.

    Parameters
    ----------
    x : array of shape (n,)
        Sorted inputs at which the posterior is drawn.
    mean, std : arrays of shape (n,)
        Posterior mean and standard deviation of f, or of new measurements.
    inputs, targets : arrays of shape (n_fit,)
        The data.
    samples : array of shape (n, n_samples)
        Joint draws of f; may have no columns.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    line_, band_, points_, sample_lines_ : what was drawn

    Examples
    --------
    >>> import numpy as np
    >>> from representer import GaussianProcessRegressor
    >>> from representer.plotting import GaussianProcessDisplay
    >>> X = np.linspace(0, 6, 10)[:, None]
    >>> gp = GaussianProcessRegressor().fit(X, np.sin(X).ravel())
    >>> display = GaussianProcessDisplay.from_estimator(gp, n_samples=3)
    >>> display.mean.shape, display.samples.shape
    ((300,), (300, 3))
    """

    def __init__(
        self,
        x: np.ndarray,
        mean: np.ndarray,
        std: np.ndarray,
        inputs: np.ndarray,
        targets: np.ndarray,
        samples: np.ndarray,
    ):
        self.x, self.mean, self.std = x, mean, std
        self.inputs, self.targets, self.samples = inputs, targets, samples

    @classmethod
    def from_estimator(
        cls,
        estimator: GaussianProcessRegressor,
        X: Any = None,
        *,
        target: int = 0,
        n_samples: int = 0,
        random_state: Any = 0,
        noise: Any = False,
    ) -> GaussianProcessDisplay:
        """The posterior of a fitted process with one input column.

        Parameters
        ----------
        estimator : GaussianProcessRegressor
            Fitted to vectors with one column.
        X : array of shape (n,) or (n, 1), optional
            Where to draw; 300 inputs from a tenth below to a tenth above the data when not given.
        target : int
            Which of several targets.
        n_samples : int
            How many draws of f to show.
        random_state : int or Generator
            Seed of the draws.
        noise : bool or array
            Whether the band is that of new measurements, as in ``predict``.
        """
        if not isinstance(estimator, GaussianProcessRegressor):
            raise TypeError(f"estimator is a {type(estimator).__name__}; give a fitted GaussianProcessRegressor.")
        check_is_fitted(estimator, "function_")
        columns = getattr(estimator, "n_features_in_", None)
        if columns != 1:
            found = "inputs that are not vectors" if columns is None else f"{columns} input columns"
            raise ValueError(f"The process has {found}; this plot needs exactly one numeric column.")
        inputs = dense(estimator.X_fit_).astype(np.float64).ravel()
        x = _around(inputs) if X is None else np.sort(dense(X).astype(np.float64).ravel())
        mean, std = (np.reshape(part, (len(x), -1)) for part in estimator.predict(x[:, None], True, noise=noise))
        if not 0 <= target < mean.shape[1]:
            raise ValueError(f"target is {target}, but there are {mean.shape[1]}, counted from 0.")
        samples = np.empty((len(x), 0))
        if n_samples:
            draws = estimator.sample(x[:, None], n_samples, random_state)
            samples = draws.reshape(*mean.shape, n_samples)[:, target]
        targets = estimator.y_fit_.reshape(len(inputs), -1)
        return cls(x, mean[:, target], std[:, target], inputs, targets[:, target], samples)

    def plot(self, ax: Any = None) -> GaussianProcessDisplay:
        """Draw into matplotlib axes, or those of a new figure."""
        (ax,) = panels(ax)
        (self.line_,) = ax.plot(self.x, self.mean, color="C0", label="mean")
        low, high = self.mean - 2.0 * self.std, self.mean + 2.0 * self.std
        self.band_ = ax.fill_between(self.x, low, high, color="C0", alpha=0.2, linewidth=0, label="± 2 sd")
        self.sample_lines_ = ax.plot(self.x, self.samples, color="C1", linewidth=0.8, alpha=0.7)
        if self.sample_lines_:
            self.sample_lines_[0].set_label("draws of f")
        self.points_ = ax.scatter(self.inputs, self.targets, s=12, color="black", zorder=3, label="data")
        ax.set(xlabel="x", ylabel="y", xlim=(self.x.min(), self.x.max()))
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _around(inputs: np.ndarray) -> np.ndarray:
    """300 inputs from a tenth below to a tenth above the data."""
    margin = 0.1 * np.ptp(inputs) or 1.0
    return np.linspace(inputs.min() - margin, inputs.max() + margin, 300)
