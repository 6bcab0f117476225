"""A model of a table: from its raw columns to predictions in the units of the target, in one record that is saved."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import poisson

from representer.tables.column_plan import ColumnPlan
from representer.tables.familiarity import Familiarity
from representer.tables.machines import BAND_LEVELS
from representer.tables.outcome import Outcome
from representer.tables.reading import polars_library, read_table
from representer.tables.targets import Target

LEVEL = 0.95
"""Level of the band between lower and upper."""


@dataclass(frozen=True)
class Predictions:
    """Predictions of a model for some rows."""

    prediction: np.ndarray
    unfamiliar: np.ndarray
    std: np.ndarray | None = None
    band: Any = None
    """A function from a level to lower and upper ends; None where the model has no bands."""
    probabilities: np.ndarray | None = None
    quantiles: np.ndarray | None = None

    def ends(self, level: float = LEVEL) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Lower and upper ends of the band with this nominal level."""
        return (None, None) if self.band is None else self.band(level)


@dataclass(frozen=True)
class FittedRows:
    """The rows that a model was fitted to."""

    numbers: np.ndarray
    """Indices in the table, from 0."""
    targets: np.ndarray
    """As they are in the table."""


@dataclass(frozen=True)
class TableModel:
    """A fitted model of a table; `predict` takes files and frames with the columns of the fit."""

    columns: ColumnPlan
    target: Target
    estimator: Any
    """`KernelRegressor`, `KernelClassifier` or `SearchedMachine`, on frames that `treated` returns."""
    route: str
    """The estimator in a sentence."""
    outcome: Outcome | None = None
    """The outcome of this model's assessment, without rows."""
    fitted_rows: FittedRows | None = None
    """The rows of the fit, for explanations."""

    def treated(self, source: Any) -> Any:
        """The frame that the estimator takes, from a path, a pandas or polars frame, or a `Table`."""
        table = read_table(source)
        return self.columns.treated(table.frame, table.source)

    def kernel_rows(self, source: Any) -> Any:
        """The inputs of the fitted function for such a source: `estimator.function_(kernel_rows)` predicts."""
        return self.estimator.rows_of(self.treated(source))

    @cached_property
    def familiarity(self) -> Familiarity:
        """The criterion for unfamiliar rows, computed on first access."""
        estimator = self.estimator
        return Familiarity.of(estimator.kernel_, estimator.function_.X, float(estimator.alpha_))

    def predict(self, source: Any) -> Any:
        """prediction, std, lower, upper and unfamiliar for each row; for classes the probability of each.

        A model of quantiles gives each of them in place of std; lower and upper are the outer ones.

        A pandas frame returns a pandas frame, everything else a polars frame.
        """
        table = read_table(source)
        found = self.predicted(self.columns.treated(table.frame, table.source))
        columns = prediction_columns(self.target, found)
        if hasattr(source, "iloc"):
            return type(source)(columns, index=source.index)
        return polars_library().DataFrame(columns)

    def predicted(self, frame: Any, bands: bool = True) -> Predictions:
        """The same as arrays, for a treated frame; without ``bands`` only what scores need, which is much faster."""
        estimator, target, none = self.estimator, self.target, np.zeros(frame.height, bool)
        unfamiliar = self.familiarity.unfamiliar(estimator.rows_of(frame)) if bands else none
        if target.is_classes:
            shares = by_class(estimator.predict_proba(frame), estimator.classes_, target)
            labels = np.array(target.classes)[shares.argmax(axis=1)]
            return Predictions(labels, unfamiliar, probabilities=shares)
        if target.task == "counts":
            rate = estimator.predict(frame)
            return Predictions(rate, unfamiliar, np.sqrt(rate), lambda level: _poisson_ends(rate, level))
        if target.task == "quantiles":
            return self._quantiles(estimator.predict(frame).reshape(frame.height, -1), unfamiliar)
        if not bands:
            return Predictions(target.mean_of(estimator.predict(frame)), unfamiliar)
        return self._regression(frame, unfamiliar)

    def _quantiles(self, found: np.ndarray, unfamiliar: np.ndarray) -> Predictions:
        levels = self.target.quantiles
        values = self.target.end_of(found)
        middle = values[:, target_level(levels)]

        def ends(level: float) -> tuple[np.ndarray, np.ndarray]:
            pairs = [(levels[-1 - i] - levels[i], i) for i in range(len(levels) // 2)]
            i = min(pairs, key=lambda pair: abs(pair[0] - level))[1]
            return values[:, i], values[:, -1 - i]

        return Predictions(middle, unfamiliar, band=ends if len(levels) > 1 else None, quantiles=values)

    def _regression(self, frame: Any, unfamiliar: np.ndarray) -> Predictions:
        """Mean, standard deviation and bands: from the process, or from quantiles of residuals where it has none."""
        target, residuals = self.target, getattr(self.estimator, "residuals", None)
        if residuals is not None:
            f = self.estimator.predict(frame)
            spread = float(np.sqrt(np.trapezoid(residuals**2, BAND_LEVELS)))
            deviations = np.full(len(f), spread)

            def ends(level: float) -> tuple[np.ndarray, np.ndarray]:
                low, high = np.interp([0.5 - 0.5 * level, 0.5 + 0.5 * level], BAND_LEVELS, residuals)
                return target.end_of(f + low), target.end_of(f + high)
        else:
            f, deviations = self.estimator.predict(frame, return_std=True)

            def ends(level: float) -> tuple[np.ndarray, np.ndarray]:
                z = float(ndtri(0.5 + 0.5 * level))
                return target.end_of(f - z * deviations), target.end_of(f + z * deviations)

        mean = target.mean_of(f)
        std = mean * np.sqrt(np.expm1(np.minimum(deviations**2, 50.0))) if target.logarithm else deviations
        return Predictions(mean, unfamiliar, std, ends)

    def kernel_words(self) -> tuple[str, ...]:
        """The kernel in words: its family, and the length scale of each column, the most relevant first."""
        searched = getattr(self.estimator, "searched", self.estimator)
        return tuple(searched.kernel_words())

    def describe(self) -> str:
        """Target, columns and scores, in a few lines."""
        lines = [f"{self.target.task} of {self.target.name!r}: {self.route}"]
        for each in self.columns.treatments:
            lines.append(f"  {each.name}: {each.type}, {each.words}")
        if self.outcome is not None:
            lines += [*self.outcome.verdict, *(f"{s.metric} {s.value:.4g}" for s in self.outcome.scores)]
        return "\n".join(lines)


def target_level(levels: tuple[float, ...]) -> int:
    """The index of the quantile that serves as the prediction: the one nearest to the median."""
    return int(np.argmin(np.abs(np.array(levels) - 0.5)))


def by_class(shares: np.ndarray, known: Any, target: Target) -> np.ndarray:
    """Probabilities with one column per class of the target; classes that the fit did not see have zero."""
    if len(known) == len(target.classes):
        return shares
    out = np.zeros((len(shares), len(target.classes)))
    out[:, np.searchsorted(np.array(target.classes), np.asarray(known).astype(str))] = shares
    return out


def _poisson_ends(rate: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    return poisson.ppf(0.5 - 0.5 * level, rate), poisson.ppf(0.5 + 0.5 * level, rate)


def prediction_columns(target: Target, found: Predictions) -> dict[str, Any]:
    """The columns of a file of predictions."""
    columns: dict[str, Any] = {"prediction": found.prediction}
    if found.probabilities is not None:
        columns |= {f"probability of {name}": p for name, p in zip(target.classes, found.probabilities.T, strict=True)}
    if found.quantiles is not None:
        columns |= {f"quantile {q:g}": values for q, values in zip(target.quantiles, found.quantiles.T, strict=True)}
    if found.std is not None:
        columns["std"] = found.std
    if found.band is not None:
        columns["lower"], columns["upper"] = found.ends()
    return columns | {"unfamiliar": found.unfamiliar}


def held_out_columns(outcome: Outcome, levels: tuple[float, ...] = ()) -> dict[str, Any]:
    """The columns of a file of the rows set aside: row numbers in the table from 1, truth and predictions.

    ``levels`` are those of quantiles, if there are any.
    """
    held = outcome.held_out
    columns: dict[str, Any] = {"row": held.rows + 1, "truth": held.truth, "prediction": held.prediction}
    columns |= {name: getattr(held, name) for name in ("std", "lower", "upper") if getattr(held, name) is not None}
    if held.probabilities is not None:
        columns |= {f"probability of {name}": p for name, p in zip(outcome.classes, held.probabilities.T, strict=True)}
    if held.quantiles is not None:
        columns |= {f"quantile {q:g}": values for q, values in zip(levels, held.quantiles.T, strict=True)}
    return columns | {"unfamiliar": held.unfamiliar}
