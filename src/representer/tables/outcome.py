"""What an honest fit of a table found, as one frozen record from which reports and files are written."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

import numpy as np

SCHEMA = 1
"""Version of the JSON form; raised whenever a field changes its name or meaning, not when one is added."""


@dataclass(frozen=True)
class TableColumn:
    """A column of the table, what it was taken for, and why."""

    name: str
    type: str
    """One of "number", "category", "date", "text", "sequence", "id", "constant", "empty", "skipped"."""
    why: str
    """The rule that decided, with what was seen: "1,204 numbers such as 12.5"."""
    treatment: str
    """What the kernel sees of it: "logarithm", "as it is", "left out" ..."""
    missing: int
    """Rows without a value."""
    distinct: int
    """Different values."""
    used: bool
    """Whether the kernel sees it."""


@dataclass(frozen=True)
class Score:
    """A score of the rows set aside, with a 95 % interval."""

    metric: str
    """Its name: "R2", "RMSE", "MAE", "log loss", "accuracy", "AUC", "Poisson deviance", "pinball loss"."""
    value: float
    lower: float
    upper: float
    higher_is_better: bool


@dataclass(frozen=True)
class Comparison:
    """The model and a simpler one on the same rows: the paired difference of the first score, with a 95 % interval."""

    other: str
    """In words: "the mean", "the most frequent class", "a linear model"."""
    metric: str
    value: float
    """The score of the simpler model."""
    gain: float
    """By how much the model is better in units of the score; negative where it is worse."""
    lower: float
    upper: float

    @property
    def is_better(self) -> bool:
        """Whether the whole interval is above zero."""
        return self.lower > 0.0


@dataclass(frozen=True)
class Coverage:
    """The share of rows set aside inside bands that promise ``level``."""

    level: float
    covered: float


@dataclass(frozen=True)
class Finding:
    """Something the doctor saw in the data."""

    kind: str
    """One of "leak", "id", "duplicates", "contradictions", "constant", "missing", "shift", "rows"."""
    serious: bool
    """Whether the scores may be wrong because of it."""
    columns: tuple[str, ...]
    sentence: str
    """What was seen, and what to do."""


@dataclass(frozen=True)
class Suspicion:
    """A training row, its target, and what the others predict for it."""

    row: int
    given: Any
    others_predict: Any
    strength: float
    """Of numbers how many robust standard deviations they are off; of classes by how much the others prefer another."""

    def __str__(self) -> str:
        return f"row {self.row}: {self.given} given, the others predict {self.others_predict} ({self.strength:.1f})"


@dataclass(frozen=True)
class HeldOut:
    """Rows that the judged model did not see: truth and predictions, in the order of the table."""

    rows: np.ndarray
    """Their numbers in the table, from 0. Where folds were repeated, those of the first repetition."""
    truth: np.ndarray
    """Targets in their own units; labels as words for classes."""
    prediction: np.ndarray
    std: np.ndarray | None
    """Standard deviation of a new measurement; None where the model has none."""
    lower: np.ndarray | None
    """Ends of the 95 % band."""
    upper: np.ndarray | None
    probabilities: np.ndarray | None
    """Of shape (rows, classes), in the order of `Outcome.classes`."""
    unfamiliar: np.ndarray
    """Whether the training rows say next to nothing about a row."""
    quantiles: np.ndarray | None = None
    """Of shape (rows, levels), in the order of levels, where quantiles are predicted."""


@dataclass(frozen=True)
class Outcome:
    """What a fit of a table found, judged by rows that were set aside first."""

    task: str
    """One of "regression", "classification", "counts", "quantiles"."""
    target: str
    classes: tuple[str, ...]
    """Labels in the order of probabilities; empty unless the task is classification."""
    verdict: tuple[str, ...]
    """Three sentences: how good, against what, and what to do."""
    use_linear: bool
    """Whether a linear model is as good."""
    rows: int
    fitted_rows: int
    """Rows that the judged model was fitted to."""
    judged_rows: int
    """Rows set aside."""
    protocol: str
    """How rows were set aside, and what the delivered model was fitted to, in words."""
    columns: tuple[TableColumn, ...]
    target_treatment: str
    """"as it is" or "logarithm", and why."""
    scores: tuple[Score, ...]
    """The first is the one that models are compared by."""
    comparisons: tuple[Comparison, ...]
    coverage: tuple[Coverage, ...]
    """Empty where the model has no bands."""
    findings: tuple[Finding, ...]
    model: str
    """The estimator in a sentence: "KernelRegressor, all rows exactly" or the scalable route and why."""
    kernel_words: tuple[str, ...]
    """The kernel in words, a line for each part."""
    kernel_formula: str
    plan: str
    certificate: str
    converged: bool
    held_out: HeldOut
    unfamiliar_share: float
    """Share of the rows set aside that are unfamiliar."""
    seconds: float
    reproduce: dict[str, Any]
    """"command", "seed", "versions" (by package), "data_sha256", "data", "time_limit", "settings"."""

    importance: tuple[tuple[str, float], ...] = ()
    """By how much the first score falls when a column is shuffled among rows set aside, the largest first."""
    suspicious: tuple[Suspicion, ...] = ()
    """Rows of the table, from 0, whose targets the others contradict."""

    def without_rows(self) -> Outcome:
        """The same without the rows set aside, for model files."""
        none = np.empty(0)
        empty = HeldOut(np.empty(0, np.int64), none, none, None, None, None, None, np.empty(0, bool))
        return dataclasses.replace(self, held_out=empty)

    def as_dict(self, rows: bool = True) -> dict[str, Any]:
        """Plain lists, numbers and words by name; ``rows=False`` leaves out those of `held_out`."""
        found: dict[str, Any] = {"schema": SCHEMA}
        found |= {
            field.name: _plain(getattr(self, field.name))
            for field in dataclasses.fields(self)
            if rows or field.name != "held_out"
        }
        return found

    def to_json(self, rows: bool = True) -> str:
        """The same as JSON, with null for what is not a finite number."""
        return json.dumps(self.as_dict(rows), indent=2, ensure_ascii=False, allow_nan=False)

    def __str__(self) -> str:
        return "\n".join(self.verdict)


def short_number(value: float) -> str:
    """Four digits, and thousands apart."""
    if not np.isfinite(value):
        return "–"
    return f"{float(f'{value:.4g}'):,.0f}" if 1e3 <= abs(value) < 1e9 else f"{value:.4g}"


def _plain(value: Any) -> Any:
    """Records as dicts, arrays and tuples as lists, numbers that are not finite as None."""
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
