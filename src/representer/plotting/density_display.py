"""Plots of densities and of regression curves."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from representer.kernels import checks
from representer.plotting.axes import dense, even_grid, panels


class DensityDisplay:
    """The curve of a one-column density with a tick for each input, or filled contours of a two-column density.

    Parameters
    ----------
    axes : list of one or two arrays
        The values of each column at which the density is evaluated.
    density : array
        Of shape (n,) for one column, and (n_second, n_first) for two.
    X : array of shape (n_inputs, 1 or 2), optional
        Inputs to show.

    Attributes
    ----------
    ax_ : matplotlib axes

    Examples
    --------
    >>> import numpy as np
    >>> from representer import ParzenDensity
    >>> from representer.plotting import DensityDisplay
    >>> X = np.random.default_rng(0).normal(size=(50, 1))
    >>> display = DensityDisplay.from_estimator(ParzenDensity().fit(X))
    >>> display.density.shape
    (200,)
    """

    def __init__(self, axes: list[np.ndarray], density: np.ndarray, X: np.ndarray | None = None):
        self.axes, self.density, self.X = axes, density, X

    @classmethod
    def from_estimator(cls, estimator: Any, *, points: int = 200, margin: float | None = None) -> DensityDisplay:
        """The density of a fitted `ParzenDensity` of one or two columns.

        Parameters
        ----------
        estimator : ParzenDensity
        points : int
            Values of each column.
        margin : float, optional
            How far beyond the inputs to go; three standard deviations of the window when not given.
        """
        check_is_fitted(estimator)
        checks.integer(points, "points", least=2)
        X = dense(estimator.X_fit_)
        if X.shape[1] > 2:
            raise ValueError(f"The density has {X.shape[1]} columns; a plot shows one or two.")
        if margin is None:
            margin = 3.0 * estimator.bandwidth_ * estimator._window.deviation(X.shape[1])
        axes = even_grid(X, points, margin)
        mesh = np.meshgrid(*axes)
        where = np.stack([part.ravel() for part in mesh], axis=1).astype(X.dtype)
        return cls(axes, np.exp(estimator.score_samples(where)).reshape(mesh[0].shape), X)

    def plot(self, ax: Any = None, **style: Any) -> DensityDisplay:
        """Draw on the axes, or on new ones; ``style`` goes to matplotlib's `plot`, or `contourf` for two columns."""
        self.ax_ = ax = panels(ax)[0]
        if len(self.axes) == 1:
            (line,) = ax.plot(self.axes[0], self.density, **style)
            if self.X is not None:
                height = 0.03 * self.density.max()
                ax.vlines(self.X[:, 0], -height, 0.0, color=line.get_color(), alpha=0.4, linewidth=0.8)
            ax.set(xlabel="x", ylabel="density")
        else:
            ax.contourf(*self.axes, self.density, **{"levels": 12, "cmap": "Blues", **style})
            if self.X is not None:
                ax.plot(*self.X.T, ".", color="black", markersize=2, alpha=0.5)
            ax.set(xlabel="first column", ylabel="second column")
        return self


class RegressionDisplay:
    """The curve of a regression on one column, over the data.

    Parameters
    ----------
    x : array of shape (n,)
        Where the curve is evaluated, in increasing order.
    prediction : array of shape (n,)
    X : array of shape (n_inputs,), optional
        Inputs to show.
    y : array of shape (n_inputs,), optional
        Their targets.

    Attributes
    ----------
    ax_ : matplotlib axes

    Examples
    --------
    >>> import numpy as np
    >>> from representer import NadarayaWatson
    >>> from representer.plotting import RegressionDisplay
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> display = RegressionDisplay.from_estimator(NadarayaWatson().fit(X, np.sin(X).ravel()), X, np.sin(X).ravel())
    >>> display.prediction.shape
    (300,)
    """

    def __init__(self, x: np.ndarray, prediction: np.ndarray, X: np.ndarray | None = None, y: np.ndarray | None = None):
        self.x, self.prediction, self.X, self.y = x, prediction, X, y

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, points: int = 300, margin: float = 0.0
    ) -> RegressionDisplay:
        """The predictions of any fitted regressor of one column and one target, over the range of X.

        Parameters
        ----------
        estimator : fitted regressor
        X : array of shape (n, 1)
        y : array of shape (n,), optional
            Targets, to show the data.
        points : int
            Number of points of the curve.
        margin : float
            How far beyond the inputs to go.
        """
        check_is_fitted(estimator)
        checks.integer(points, "points", least=2)
        X = dense(X)
        if X.ndim != 2 or X.shape[1] != 1:
            raise ValueError(f"X has shape {X.shape}; a curve needs one column.")
        x = even_grid(X, points, margin)[0].astype(X.dtype if X.dtype.kind == "f" else np.float64)
        prediction = np.asarray(estimator.predict(x[:, None]))
        if prediction.ndim > 1:
            raise ValueError(f"The regressor has {prediction.shape[1]} targets; a curve shows one.")
        return cls(x, prediction, None if y is None else X[:, 0], None if y is None else np.asarray(y))

    def plot(self, ax: Any = None, **style: Any) -> RegressionDisplay:
        """Draw on the axes, or on new ones; ``style`` goes to matplotlib's `plot` of the curve."""
        self.ax_ = ax = panels(ax)[0]
        if self.y is not None:
            ax.plot(self.X, self.y, ".", color="grey", alpha=0.5)
        ax.plot(self.x, self.prediction, **style)
        ax.set(xlabel="x", ylabel="y")
        return self
