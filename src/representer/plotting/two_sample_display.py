"""Plots of tests: the null distribution with the statistic, and the witness function of two samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer.estimators.resampling import Outcome
from representer.estimators.two_sample import MMD
from representer.plotting.axes import dense, panels


class NullDisplay:
    """The resampled statistics of a test as a histogram, with the observed statistic as a line.

    Parameters
    ----------
    statistic : float
    pvalue : float
    null : array
        The resampled statistics.
    name : str
        Name of the statistic.
    n_kernels : int
        How many kernels the p-value is for.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from representer import MMD
    >>> from representer.plotting import NullDisplay
    >>> rng = np.random.default_rng(0)
    >>> outcome = MMD(n_permutations=99).test(rng.normal(size=(30, 1)), rng.normal(size=(40, 1)))
    >>> display = NullDisplay.from_outcome(outcome)
    >>> display.null.shape
    (99,)
    """

    def __init__(
        self, statistic: float, pvalue: float, null: np.ndarray, *, name: str = "statistic", n_kernels: int = 1
    ):
        self.statistic = statistic
        self.pvalue = pvalue
        self.null = null
        self.name = name
        self.n_kernels = n_kernels

    @classmethod
    def from_outcome(cls, outcome: Outcome) -> NullDisplay:
        """The plot of a test's outcome; with several kernels, the statistics of the one with the smallest p-value.

        The p-value is that of the test, which corrects for the choice among them.
        """
        if outcome.null is None:
            raise ValueError(
                "This p-value comes from a normal distribution, so there are no resampled statistics to draw."
            )
        name = outcome.method.split(",")[0]
        if outcome.parts:
            name += f" of the best of {len(outcome.parts)} kernels"
        return cls(outcome.statistic, outcome.pvalue, outcome.null, name=name, n_kernels=len(outcome.parts) or 1)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, Y: Any) -> NullDisplay:
        """Run the test on X and Y."""
        return cls.from_outcome(estimator.test(X, Y))

    def plot(self, ax: Any = None) -> NullDisplay:
        """Draw on ``ax``, or on a new figure."""
        ax = panels(ax)[0]
        bins = min(50, max(10, len(self.null) // 20))
        ax.hist(self.null, bins=bins, color="#9db8d2", edgecolor="white", linewidth=0.5, label="resampled")
        label = f"observed, p = {self.pvalue:.3g}" + (f" for all {self.n_kernels}" if self.n_kernels > 1 else "")
        ax.axvline(self.statistic, color="#c0392b", linewidth=2, label=label)
        ax.set(xlabel=self.name, ylabel="number of resamples")
        ax.legend(frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self


class WitnessDisplay:
    """The witness function of two samples of numbers: large where the first has more mass, small where the second does.

    Parameters
    ----------
    grid : array of shape (n_points,)
    witness : array of shape (n_points,)
        Its values on the grid.
    X, Y : arrays of shape (n,) and (m,)
        The samples.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from representer import MMD
    >>> from representer.plotting import WitnessDisplay
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(50, 1)), rng.laplace(size=(60, 1))
    >>> WitnessDisplay.from_estimator(MMD(), X, Y).witness.shape
    (300,)
    """

    def __init__(self, grid: np.ndarray, witness: np.ndarray, X: np.ndarray, Y: np.ndarray):
        self.grid = grid
        self.witness = witness
        self.X = X
        self.Y = Y

    @classmethod
    def from_estimator(cls, estimator: MMD, X: Any, Y: Any, *, n_points: int = 300) -> WitnessDisplay:
        """Compute the witness function on a grid over both samples, which have one column."""
        X, Y = dense(X), dense(Y)
        if any(Z.ndim != 2 or Z.shape[1] != 1 for Z in (X, Y)):
            raise ValueError(
                f"The samples have shapes {X.shape} and {Y.shape}; the witness function is drawn over one column, "
                "so pass arrays of shape (n, 1)."
            )
        low, high = min(X.min(), Y.min()), max(X.max(), Y.max())
        margin = 0.05 * (high - low)
        grid = np.linspace(low - margin, high + margin, n_points)
        return cls(grid, estimator.witness(X, Y)(grid[:, None]), X[:, 0], Y[:, 0])

    def plot(self, ax: Any = None) -> WitnessDisplay:
        """Draw on ``ax``, or on a new figure: histograms of both samples, and the witness function over them."""
        ax = panels(ax)[0]
        bins = np.linspace(self.grid[0], self.grid[-1], 31)
        for values, color, label in ((self.X, "#2e86c1", "X"), (self.Y, "#e67e22", "Y")):
            ax.hist(values, bins=bins, density=True, color=color, alpha=0.35, label=label)
        ax.set(xlabel="x", ylabel="density")
        over = ax.twinx()
        over.plot(self.grid, self.witness, color="black", linewidth=2, label="witness")
        over.axhline(0.0, color="grey", linewidth=0.8, linestyle=":")
        top = 1.1 * float(np.abs(self.witness).max()) or 1.0
        over.set(ylabel="witness function", ylim=(-top, 1.25 * top))  # room for the legend
        handles = [*ax.get_legend_handles_labels()[0], *over.get_legend_handles_labels()[0]]
        ax.legend(handles=handles, frameon=False, loc="upper center", ncols=3)
        ax.set_ylim(top=1.2 * ax.get_ylim()[1])
        self.ax_, self.figure_ = ax, ax.figure
        return self
