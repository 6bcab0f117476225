"""Explanations of a few rows that were set aside, for the report: the worst one, a usual one, and an unfamiliar one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from representer.tables.explaining import RowExplanation, explain
from representer.tables.outcome import HeldOut

MOST_COEFFICIENTS = 3000
"""Representers up to which rows are explained: the weights of rows take a linear system of this size each."""
SHARES_SHOWN = 3
"""Training rows that are listed in each direction."""


@dataclass(frozen=True)
class ExplainedRow:
    """A row that was set aside, and what made the prediction of the delivered model."""

    why: str
    """Why this row is shown."""
    given: Any
    predicted: Any
    """By a model that had not seen the row."""
    explanation: RowExplanation
    """With rows counted from 1."""


def explained_rows(fit: Any, frame: Any) -> tuple[ExplainedRow, ...]:
    """The row set aside with the largest error of a `TableFit`, one with the median error, and an unfamiliar one.

    ``frame`` holds all rows of the table. Nothing is explained for models of many representers, which takes long.
    """
    held, model = fit.outcome.held_out, fit.model
    if not len(held.rows) or len(model.estimator.function_.coef) > MOST_COEFFICIENTS:
        return ()
    found = []
    for why, place in _chosen(held, fit.outcome.classes).items():
        number = int(held.rows[place])
        explanation = replace(explain(model, frame[[number]], n=SHARES_SHOWN), row=number).counted_from_1()
        found.append(ExplainedRow(why, held.truth[place].item(), held.prediction[place].item(), explanation))
    return tuple(found)


def _chosen(held: HeldOut, classes: tuple[str, ...]) -> dict[str, int]:
    """Places among the rows set aside, by what they are shown for."""
    if held.probabilities is None:
        errors = np.abs(np.asarray(held.truth, np.float64) - held.prediction)
    else:
        errors = 1.0 - held.probabilities[np.arange(len(held.rows)), np.searchsorted(np.array(classes), held.truth)]
    order = np.argsort(-errors, kind="stable")
    found = {"the largest error": int(order[0])}
    if strange := [int(i) for i in order if held.unfamiliar[i] and i != order[0]]:
        found["the largest error among other unfamiliar rows"] = strange[0]
    if len(order) > 2 and (middle := int(order[len(order) // 2])) not in found.values():
        found["a usual error"] = middle
    return found
