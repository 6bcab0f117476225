"""The outcome of a table fit, as one frozen record from which reports and files are written."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

import numpy as np

SCHEMA = 2
"""Version of the JSON schema; raised whenever a field changes its name or meaning, not when one is added."""


@dataclass(frozen=True)
class TableColumn:
    """A column of the table, its type, and why."""

    name: str
    type: str
    """One of "number", "category", "date", "text", "sequence", "id", "constant", "empty", "skipped"."""
    why: str
    """The rule that decided, with what was seen: "1,204 numbers such as 12.5"."""
    treatment: str
    """How it is transformed for the kernel: "logarithm", "as it is", "left out" ..."""
    missing: int
    """Rows without a value."""
    distinct: int
    """Number of distinct values."""
    used: bool
    """Whether the kernel sees it."""


@dataclass(frozen=True)
class Score:
    """A score on the rows set aside, with a 95 % interval."""

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
    """The fraction of rows set aside that lies inside bands of nominal ``level``."""

    level: float
    covered: float


@dataclass(frozen=True)
class Finding:
    """Something the doctor found in the data."""

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
    """For numbers, the error in robust standard deviations; for classes, how much the others prefer another class."""

    def __str__(self) -> str:
        return f"row {self.row}: {self.given} given, the others predict {self.others_predict} ({self.strength:.1f})"


@dataclass(frozen=True)
class HeldOut:
    """Rows that the judged model did not see: truth and predictions, in the order of the table."""

    rows: np.ndarray
    """Their indices in the table, from 0. Where folds were repeated, those of the first repetition."""
    truth: np.ndarray
    """Targets in their own units; labels as strings for classes."""
    prediction: np.ndarray
    std: np.ndarray | None
    """Standard deviation of a new measurement; None where the model has none."""
    lower: np.ndarray | None
    """Ends of the 95 % band."""
    upper: np.ndarray | None
    probabilities: np.ndarray | None
    """Of shape (rows, classes), in the order of `Outcome.classes`."""
    unfamiliar: np.ndarray
    """Whether the training rows carry almost no information about a row."""
    quantiles: np.ndarray | None = None
    """Of shape (rows, levels), in the order of levels, where quantiles are predicted."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a table fit, judged on rows that were set aside first."""

    task: str
    """One of "regression", "classification", "counts", "quantiles"."""
    target: str
    classes: tuple[str, ...]
    """Labels in the order of probabilities; empty unless the task is classification."""
    verdict: tuple[str, ...]
    """Three sentences: how good, compared with what, and what to do."""
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
    """The first one is used to compare models."""
    comparisons: tuple[Comparison, ...]
    coverage: tuple[Coverage, ...]
    """Empty where the model has no bands."""
    findings: tuple[Finding, ...]
    model: str
    """The estimator in a sentence: "KernelRegressor, all rows exactly" or the scalable route and why."""
    kernel_words: tuple[str, ...]
    """The kernel in words, one line per part."""
    kernel_formula: str
    plan: str
    certificate: str
    converged: bool
    held_out: HeldOut
    unfamiliar_share: float
    """Fraction of the rows set aside that are unfamiliar."""
    seconds: float
    reproduce: dict[str, Any]
    """"command", "seed", "versions" (by package), "data_sha256", "data", "time_limit", "settings"."""

    importance: tuple[tuple[str, float], ...] = ()
    """Permutation importance: by how much the first score falls when a column is shuffled, largest first."""
    suspicious: tuple[Suspicion, ...] = ()
    """Rows of the table, from 0, whose targets the others contradict."""
    suspicious_among: int = 0
    """The number of rows among which they were sought."""

    def without_rows(self) -> Outcome:
        """The outcome without the rows set aside, for model files."""
        none = np.empty(0)
        empty = HeldOut(np.empty(0, np.int64), none, none, None, None, None, None, np.empty(0, bool))
        return dataclasses.replace(self, held_out=empty)

    def as_dict(self, rows: bool = True) -> dict[str, Any]:
        """The fields by name, as plain lists, numbers and strings; ``rows=False`` leaves out `held_out`.

        Rows are counted from 1 here, as in all files.
        """
        found: dict[str, Any] = {"schema": SCHEMA}
        found |= {
            field.name: plain(getattr(self, field.name))
            for field in dataclasses.fields(self)
            if rows or field.name != "held_out"
        }
        for each in found["suspicious"]:
            each["row"] += 1
        if rows:
            found["held_out"]["rows"] = [row + 1 for row in found["held_out"]["rows"]]
        return found

    def to_json(self, rows: bool = True) -> str:
        """The same as JSON, with null for non-finite numbers."""
        return json.dumps(self.as_dict(rows), indent=2, ensure_ascii=False, allow_nan=False)

    def __str__(self) -> str:
        return "\n".join(self.verdict)


def short_number(value: float) -> str:
    """Four digits, with thousands separators."""
    if not np.isfinite(value):
        return "–"
    return f"{float(f'{value:.4g}'):,.0f}" if 1e3 <= abs(value) < 1e9 else f"{value:.4g}"


def plain(value: Any) -> Any:
    """Records as dicts, arrays and tuples as lists, numbers that are not finite as None."""
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
