"""Plots of kernel principal components: eigenfunctions over the plane, and the data in their coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from representer.estimators.inputs import is_precomputed
from representer.estimators.kernel_pca import KernelPCA
from representer.kernels import checks
from representer.plotting.axes import dense, even_grid, pyplot

LEGEND = 20
"""Largest number of classes in a legend."""


class EigenfunctionDisplay:
    """Contours of v_j(x) - <v_j, m> over two numeric columns, one panel with its eigenvalue per component.

    Parameters
    ----------
    columns, rows : arrays of shape (width,) and (height,)
        The grid.
    values : array of shape (n_components, height, width)
        Values of each function on the grid.
    eigenvalues : array of shape (n_components,)
    X : array of shape (n, 2)
        The data, drawn as points.

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : list of matplotlib Axes, one for each component

    Examples
    --------
    >>> import numpy as np
    >>> from representer import KernelPCA
    >>> from representer.plotting import EigenfunctionDisplay
    >>> pca = KernelPCA(2).fit(np.random.default_rng(0).normal(size=(50, 2)))
    >>> EigenfunctionDisplay.from_estimator(pca, grid=20).values.shape
    (2, 20, 20)
    """

    def __init__(self, columns: np.ndarray, rows: np.ndarray, values: np.ndarray, eigenvalues: np.ndarray, X: Any):
        self.columns = columns
        self.rows = rows
        self.values = values
        self.eigenvalues = eigenvalues
        self.X = X

    @classmethod
    def from_estimator(
        cls, estimator: KernelPCA, *, n_components: int | None = None, grid: int = 100, margin: float = 0.15
    ) -> EigenfunctionDisplay:
        """The first components of a fitted `KernelPCA` on two columns; the grid reaches beyond the data by a margin."""
        check_is_fitted(estimator)
        X: Any = dense(estimator.X_fit_) if estimator.kernel_.on_vectors else None
        if X is None or np.shape(X)[1:] != (2,) or is_precomputed(estimator.kernel_):
            raise ValueError(
                "Contours need inputs with two numeric columns; use EmbeddingDisplay for inputs of any other type."
            )
        columns, rows = even_grid(X, checks.integer(grid, "grid", least=2), margin * np.ptp(X, axis=0))
        points = np.stack(np.meshgrid(columns, rows), axis=-1).reshape(-1, 2)
        found = len(estimator.eigenvalues_)
        shown = found if n_components is None else min(checks.integer(n_components, "n_components"), found)
        values = estimator.eigenfunctions_(points.astype(X.dtype))[:, :shown].T.reshape(shown, len(rows), len(columns))
        return cls(columns, rows, values, estimator.eigenvalues_[:shown], X)

    def plot(self, axes: Any = None, *, levels: int = 12, per_row: int = 4) -> EigenfunctionDisplay:
        """Draw on the given axes, one for each component, or on a new figure."""
        count = len(self.values)
        if axes is None:
            width, height = min(count, per_row), -(-count // per_row)
            self.figure_, axes = pyplot().subplots(
                height, width, figsize=(3.0 * width, 3.0 * height), squeeze=False, layout="constrained"
            )
        axes = list(np.ravel(np.asarray(axes, dtype=object)))
        if len(axes) < count:
            raise ValueError(f"There are {len(axes)} axes for {count} components; give one for each.")
        self.figure_ = axes[0].figure
        for ax in axes[count:]:
            ax.set_visible(False)
        self.axes_ = axes[:count]
        for j, ax in enumerate(self.axes_):
            most = np.abs(self.values[j]).max() or 1.0
            ax.contourf(self.columns, self.rows, self.values[j], levels=levels, cmap="RdBu_r", vmin=-most, vmax=most)
            ax.contour(self.columns, self.rows, self.values[j], levels=levels, colors="0.3", linewidths=0.5)
            ax.plot(*self.X.T, ".", color="black", markersize=3)
            ax.set(title=f"eigenvalue {self.eigenvalues[j]:.3g}", xticks=[], yticks=[])
        return self


class EmbeddingDisplay:
    """Data in the coordinates of two kernel principal components, coloured by labels or numbers.

    Parameters
    ----------
    scores : array of shape (n, 2)
    labels : array of shape (n,), optional
        Strings are classes, and so are integers with at most 20 values; other numbers are a colour scale. Up to 20
        classes have a legend; with more, each name is placed at the mean of its points.
    names : pair of str
        Names of the axes.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
    """

    def __init__(self, scores: np.ndarray, labels: Any = None, names: tuple[str, str] = ("", "")):
        self.scores = scores
        self.labels = None if labels is None else np.asarray(labels)
        if self.labels is not None and self.labels.dtype.kind not in "biuf":
            self.labels = self.labels.astype(str)  # so that labels of mixed types can be sorted
        self.names = names

    @classmethod
    def from_estimator(
        cls, estimator: KernelPCA, X: Any, labels: Any = None, *, components: tuple[int, int] = (0, 1)
    ) -> EmbeddingDisplay:
        """Inputs X of any type in two components of a fitted `KernelPCA`, counted from 0."""
        check_is_fitted(estimator)
        found = len(estimator.eigenvalues_)
        if len(components) != 2 or not all(0 <= c < found for c in components):
            raise ValueError(f"components is {components!r}; give two numbers from 0 to {found - 1}.")
        scores = np.asarray(estimator.transform(X))[:, list(components)]
        if labels is not None and len(labels) != len(scores):
            raise ValueError(f"There are {len(labels)} labels for {len(scores)} inputs; give one for each.")
        share = estimator.explained_variance_ratio_
        names = [f"component {c + 1} ({share[c]:.1%} of the variance)" for c in components]
        return cls(scores, labels, (names[0], names[1]))

    def plot(self, ax: Any = None) -> EmbeddingDisplay:
        """Draw on the given axes, or on a new figure."""
        self.ax_ = pyplot().subplots(layout="constrained")[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        size = float(np.clip(3000 / len(self.scores), 2, 30))
        if self.labels is None:
            self.ax_.scatter(*self.scores.T, s=size)
        elif _are_classes(self.labels):
            self._plot_classes(self.labels, size)
        else:
            self.figure_.colorbar(self.ax_.scatter(*self.scores.T, c=self.labels, s=size), ax=self.ax_)
        self.ax_.set(xlabel=self.names[0], ylabel=self.names[1])
        return self

    def _plot_classes(self, labels: np.ndarray, size: float) -> None:
        classes = np.unique(labels)
        colours = pyplot().get_cmap("tab10" if len(classes) <= 10 else "tab20")
        for c, label in enumerate(classes):
            points = self.scores[labels == label]
            self.ax_.scatter(*points.T, s=size, label=str(label), color=colours(c % colours.N))
            if len(classes) > LEGEND:
                self.ax_.annotate(str(label), points.mean(axis=0), ha="center", va="bottom", fontsize="x-small")
        if len(classes) <= LEGEND:
            self.ax_.legend()


def _are_classes(labels: np.ndarray) -> bool:
    """Whether labels are strings, or integers with few values."""
    if labels.dtype.kind == "U":
        return True
    return len(np.unique(labels)) <= LEGEND and bool(np.all(labels == np.round(labels)))
