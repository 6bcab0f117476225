"""Figures of a report as SVG, drawn by matplotlib; lines and text take the colour of the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import StringIO
from typing import Any

import numpy as np

INK = "#010203"
"""Placeholder for the colour of the page's text, light or dark."""
BLUE, ORANGE = "#3b82c4", "#d9822b"
MOST_POINTS = 1000
"""Points of a scatter plot up to which each is a vector shape; more are rasterised."""
LONGEST_WORD = 18
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text, in the page's font
    "text.parse_math": False,  # a column may be called $a_1$
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK),
}


def matplotlib_parts() -> tuple[Any, Any]:
    """What figures need of matplotlib, or an error that says how to install it."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("A report needs matplotlib; install it by pip install 'representer[cli]'.") from None
    return rc_context, Figure


def drawn(draw: Callable[[Any], None], name: str, size: tuple[float, float] = (3.4, 2.9)) -> str:
    """The SVG element of a figure that ``draw`` draws on its axes."""
    rc_context, blank = matplotlib_parts()
    with rc_context({**STYLE, "svg.hashsalt": name}):
        figure = blank(figsize=size, layout="constrained")
        draw(figure.add_subplot())
        file = StringIO()
        figure.savefig(file, format="svg", transparent=True, dpi=150, metadata={"Date": None, "Creator": None})
    text = file.getvalue()
    return text[text.index("<svg") :].replace(INK, "currentColor")


def cloud(axes: Any, x: np.ndarray, y: np.ndarray, color: str = BLUE) -> None:
    """A scatter plot, rasterised where there are many points."""
    n = max(len(x), 1)
    axes.scatter(x, y, s=9, color=color, alpha=min(0.7, 30.0 / n**0.5), linewidths=0, rasterized=n > MOST_POINTS)


def truth_against_prediction(truth: np.ndarray, prediction: np.ndarray) -> str:
    """Scatter plot of truth against prediction, and the line on which they agree."""

    def draw(axes: Any) -> None:
        cloud(axes, prediction, truth)
        ends = [min(truth.min(), prediction.min()), max(truth.max(), prediction.max())]
        axes.plot(ends, ends, color=INK, linewidth=0.8)
        axes.set(xlabel="prediction", ylabel="truth")
        axes.locator_params(nbins=5)

    return drawn(draw, "truth")


def residuals(truth: np.ndarray, prediction: np.ndarray) -> str:
    """truth - prediction against prediction."""

    def draw(axes: Any) -> None:
        cloud(axes, prediction, truth - prediction)
        axes.axhline(0.0, color=INK, linewidth=0.8)
        axes.set(xlabel="prediction", ylabel="truth - prediction")
        axes.locator_params(nbins=5)

    return drawn(draw, "residuals")


def coverage(levels: Sequence[float], covered: Sequence[float]) -> str:
    """Empirical coverage of bands against their nominal level."""

    def draw(axes: Any) -> None:
        axes.plot([0, 1], [0, 1], color=INK, linewidth=0.8)
        axes.plot([0, *levels, 1], [0, *covered, 1], color=BLUE, marker="o", markersize=4, clip_on=False)
        axes.set(xlabel="nominal level of the band", ylabel="rows set aside inside it", xlim=(0, 1), ylim=(0, 1.02))

    return drawn(draw, "coverage")


def reliability(confidence: np.ndarray, right: np.ndarray, bins: int = 10) -> str:
    """Reliability diagram: frequency of correct predictions against their predicted probability."""
    place = np.minimum((confidence * bins).astype(int), bins - 1)
    count = np.bincount(place, minlength=bins)
    kept = count > 0
    mean = np.bincount(place, confidence, bins)[kept] / count[kept]
    share = np.bincount(place, right.astype(float), bins)[kept] / count[kept]

    def draw(axes: Any) -> None:
        axes.plot([0, 1], [0, 1], color=INK, linewidth=0.8)
        axes.plot(mean, share, color=BLUE, linewidth=1.2)
        axes.scatter(mean, share, s=12 + 150 * count[kept] / count.max(), color=BLUE, linewidths=0, zorder=3)
        axes.set(xlabel="probability of the predicted class", ylabel="how often it is right", xlim=(0, 1.03))
        axes.set_ylim(0, 1.05)

    return drawn(draw, "reliability")


def roc(score: np.ndarray, positive: np.ndarray) -> str:
    """ROC curve: true positives against false positives as the threshold decreases."""
    order = np.argsort(-score, kind="stable")
    last = np.append(np.flatnonzero(np.diff(score[order])), len(order) - 1)  # tied scores are passed together
    hits, misses = np.cumsum(positive[order])[last], np.cumsum(~positive[order])[last]

    def draw(axes: Any) -> None:
        axes.plot([0, 1], [0, 1], color=INK, linewidth=0.8)
        axes.step(np.append(0, misses) / max(misses[-1], 1), np.append(0, hits) / max(hits[-1], 1), color=BLUE)
        axes.set(xlabel="false positives", ylabel="true positives", xlim=(0, 1), ylim=(0, 1.02))

    return drawn(draw, "roc")


def section(points: Sequence[Any], mean: np.ndarray, band: Any, name: str) -> str:
    """Partial dependence: the prediction as one column changes and the others stay; a line for numbers, else dots."""
    numbers = all(isinstance(point, int | float) for point in points)

    def draw(axes: Any) -> None:
        x = np.asarray(points, float) if numbers else np.arange(len(points))
        if numbers:
            axes.plot(x, mean, color=BLUE)
            if band is not None:
                axes.fill_between(x, *band, color=BLUE, alpha=0.18, linewidth=0)
            return
        spans = None if band is None else np.abs(np.stack([mean - band[0], band[1] - mean]))
        axes.errorbar(x, mean, spans, fmt="o", color=BLUE, markersize=4, elinewidth=1)
        axes.set_xticks(x, [short(point) for point in points], rotation=30, ha="right")

    return drawn(draw, f"section {name}", (3.4, 2.3))


def short(value: Any) -> str:
    """A cell as a short string on one line."""
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    text = "".join(letter if letter.isprintable() else " " for letter in text)
    return text if len(text) <= LONGEST_WORD else text[: LONGEST_WORD - 1] + "…"
