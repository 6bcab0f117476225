"""A plot of a latent space: the latent points of the data, and the precision of the map around them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from representer.estimators.gplvm import GPLVM
from representer.kernels import checks
from representer.plotting.axes import even_grid, panels

MARKERS = "os^Dv*<>Ph"


class LatentDisplay:
    """Latent points with a colour and a marker for each label, over the precision of the map: white where it is high.

    Parameters
    ----------
    points : array of shape (n, 2)
    columns, rows : arrays of shape (width,) and (height,)
        The grid.
    precision : array of shape (height, width)
        1 / (variance of the map + noise) on the grid.
    labels : array of shape (n,), optional
    components : (int, int)
        Which components of the latent space are drawn, for the names of the axes.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    image_ : the precision
    points_ : list of what was drawn for each label

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from representer import GPLVM
    >>> from representer.plotting import LatentDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GPLVM(n_landmarks=10, tol=1e-3).fit(X)
    >>> LatentDisplay.from_estimator(model, labels=y, grid=30).precision.shape
    (30, 30)
    """

    def __init__(
        self,
        points: np.ndarray,
        columns: np.ndarray,
        rows: np.ndarray,
        precision: np.ndarray,
        labels: Any = None,
        components: tuple[int, int] = (0, 1),
    ):
        self.points, self.columns, self.rows, self.precision = points, columns, rows, precision
        self.labels, self.components = labels, components

    @classmethod
    def from_estimator(
        cls,
        estimator: GPLVM,
        *,
        labels: Any = None,
        components: tuple[int, int] = (0, 1),
        grid: int = 120,
        margin: float = 0.1,
    ) -> LatentDisplay:
        """Two components of a fitted `GPLVM`; further ones are held at their mean on the grid.

        Parameters
        ----------
        estimator : GPLVM
        labels : array of shape (n,), optional
            Labels of the rows that the model was fitted to.
        components : (int, int)
        grid : int
            Points of the grid in each direction.
        margin : float
            How far the grid reaches beyond the points, relative to their range.
        """
        check_is_fitted(estimator)
        Z = estimator.embedding_
        if Z.shape[1] < 2 or not set(components) <= set(range(Z.shape[1])) or len(set(components)) != 2:
            raise ValueError(
                f"components is {components!r}; a plot needs two different ones of the {Z.shape[1]} that the latent "
                "space has, counted from 0."
            )
        if labels is not None:
            labels = np.asarray(labels)
            check_consistent_length(Z, labels)
        points = Z[:, list(components)]
        columns, rows = even_grid(points, checks.integer(grid, "grid", 2), margin * np.ptp(points, axis=0))
        places = np.tile(Z.mean(axis=0), (grid * grid, 1))
        places[:, components[0]], places[:, components[1]] = np.tile(columns, grid), np.repeat(rows, grid)
        return cls(points, columns, rows, estimator.precision(places).reshape(grid, grid), labels, components)

    def plot(self, ax: Any = None) -> LatentDisplay:
        """Draw on the axes, or on new ones."""
        self.ax_ = ax = panels(ax)[0]
        self.figure_ = ax.figure
        ends = (self.columns[0], self.columns[-1], self.rows[0], self.rows[-1])
        self.image_ = ax.imshow(
            np.log10(self.precision), extent=ends, origin="lower", cmap="gray", aspect="auto", interpolation="bilinear"
        )
        self.figure_.colorbar(self.image_, ax=ax, label="log10 of the precision")
        self.points_ = []
        for i, label in enumerate([None] if self.labels is None else np.unique(self.labels)):
            some = slice(None) if label is None else self.labels == label
            marker = MARKERS[i % len(MARKERS)]
            style = {"color": f"C{i % 10}", "edgecolors": "black", "linewidths": 0.3, "s": 18}
            self.points_.append(ax.scatter(*self.points[some].T, label=label, marker=marker, **style))
        if self.labels is not None:
            ax.legend(fontsize="small")
        first, second = self.components
        ax.set(xlabel=f"latent component {first}", ylabel=f"latent component {second}")
        return self
