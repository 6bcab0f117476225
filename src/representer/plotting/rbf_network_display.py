"""A plot of the dual basis of a network: how far the influence of a data point reaches."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from representer.estimators.rbf_network import RBFNetwork
from representer.kernels import checks
from representer.plotting.axes import even_grid, panels

STYLES = ("-", "-.", "--", ":")


class DualBasisDisplay:
    """u_i(x) for some data points i: curves over one input column, or contours over two.

    Parameters
    ----------
    grid : list of one or two arrays
        Values of each column.
    values : array of shape (n_functions, n) or (n_functions, height, width)
        The functions on the grid.
    points : array of shape (n_functions, n_columns)
        The data points that they belong to.
    index : array of shape (n_functions,)
        Their indices.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    drawn_ : list of lines or contours

    Examples
    --------
    >>> import numpy as np
    >>> from representer import RBFNetwork
    >>> from representer.plotting import DualBasisDisplay
    >>> X = np.linspace(0, 1, 12)[:, None]
    >>> model = RBFNetwork("cubic").fit(X, np.sin(6 * X).ravel())
    >>> DualBasisDisplay.from_estimator(model, [0, 5, 11], grid=50).values.shape
    (3, 50)
    """

    def __init__(self, grid: list[np.ndarray], values: np.ndarray, points: np.ndarray, index: np.ndarray):
        self.grid, self.values, self.points, self.index = grid, values, points, index

    @classmethod
    def from_estimator(
        cls, estimator: RBFNetwork, index: Any, *, grid: int = 200, margin: float = 0.1
    ) -> DualBasisDisplay:
        """The dual basis functions of a fitted `RBFNetwork` at some data points.

        Parameters
        ----------
        estimator : RBFNetwork
            On one or two columns.
        index : int or list of int
            Data points, as in `RBFNetwork.dual_basis`.
        grid : int
            Points of the grid in each direction.
        margin : float
            How far the grid reaches beyond the data, relative to their range.
        """
        check_is_fitted(estimator)
        X = estimator.X_fit_
        if X.shape[1] > 2:
            raise ValueError(f"The network has {X.shape[1]} columns; a plot needs one or two.")
        index = np.atleast_1d(np.arange(len(X))[index])
        sides = even_grid(X, checks.integer(grid, "grid", 2), margin * np.ptp(X, axis=0))
        mesh = np.stack([side.ravel() for side in np.meshgrid(*sides)], axis=1)
        values = estimator.dual_basis(index)(mesh).T
        return cls(sides, values.reshape(len(index), *(grid,) * X.shape[1]), X[index], index)

    def plot(self, ax: Any = None) -> DualBasisDisplay:
        """Draw on the axes, or on new ones."""
        self.ax_ = ax = panels(ax)[0]
        self.figure_ = ax.figure
        self.drawn_ = []
        for i, (number, values, point) in enumerate(zip(self.index, self.values, self.points, strict=True)):
            color, style = f"C{i % 10}", STYLES[i % len(STYLES)]
            if len(self.grid) == 1:
                self.drawn_ += ax.plot(self.grid[0], values, color=color, linestyle=style, label=f"point {number}")
                ax.axvline(point[0], color=color, linestyle=style, linewidth=0.8)
            else:
                levels = np.linspace(0.1, 0.9, 5)
                self.drawn_.append(ax.contour(*self.grid, values, levels=levels, colors=color, linewidths=1.0))
                ax.plot(*point, color=color, marker="o", linestyle="", label=f"point {number}")
        ax.legend(fontsize="small")
        ax.set(xlabel="x", ylabel="u(x)") if len(self.grid) == 1 else ax.set(xlabel="column 0", ylabel="column 1")
        return self
