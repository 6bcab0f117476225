"""The assessment of a model on unseen rows: scores, coverage, importance of columns, suspicious targets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from representer.tables import baselines, scores, splits
from representer.tables.outcome import Coverage, HeldOut, Outcome, Suspicion
from representer.tables.scores import Fold
from representer.tables.suspicious import MOST_LEFT_OUT, far_off, suspicious_labels
from representer.tables.table_model import Predictions, TableModel
from representer.tables.targets import Target

BANDS = 0.5, 0.8, 0.95
"""Levels of bands whose coverage is measured."""
SHUFFLED_ROWS, SHUFFLED_FOLDS = 1000, 5
"""Largest number of rows per fold, and of folds, in which columns are shuffled."""


class JudgedRows:
    """Models and the rows they were judged on: several for folds, one for a single split."""

    def __init__(self, job: Any):
        self.job = job
        self.folds: list[Fold] = []
        self.judged: list[tuple[np.ndarray, np.ndarray, Predictions]] = []
        self.falls: list[dict[str, float]] = []

    def add(self, model: TableModel, pair: tuple[np.ndarray, np.ndarray]) -> None:
        """Judge a model of the training rows, and the baselines, on the test rows."""
        job, (train, test) = self.job, pair
        source, target = job.table.source, model.target
        fitted = model.columns.treated(job.frame[train.tolist()], source)
        unseen = model.columns.treated(job.frame[test.tolist()], source)
        others = {
            baselines.CONSTANTS[target.task]: baselines.constant(target, job.y[train])(unseen),
            baselines.LINEAR_MODEL: baselines.linear(target, fitted, job.y[train])(unseen),
        }
        found = model.predicted(unseen)
        self.folds.append((job.y[test], found, others))
        self.judged.append((test, job.y[test], found))

    def shuffle(self, model: TableModel, test: np.ndarray) -> None:
        """Permutation importance: by how much the first score falls when each column is shuffled among unseen rows."""
        if len(self.falls) >= SHUFFLED_FOLDS:
            return
        job, metric = self.job, scores.metrics_for(model.target)[0]
        rng = np.random.default_rng(job.seed)
        rows = np.sort(rng.permutation(test)[:SHUFFLED_ROWS])
        frame, truth = job.frame[rows.tolist()], job.y[rows]

        def score(raw: Any) -> float:
            treated = model.columns.treated(raw, job.table.source)
            value = metric.of(model.target, truth, model.predicted(treated, bands=False))
            return value if metric.higher_is_better else -value

        before, falls = score(frame), {}
        for each in model.columns.treatments:
            moved = frame[each.name].gather(rng.permutation(len(rows)).tolist())
            falls[each.name] = before - score(frame.with_columns(moved))
        self.falls.append(falls)

    def importance(self) -> tuple[tuple[str, float], ...]:
        """Columns and the mean drop of the score, largest first."""
        names = self.falls[0] if self.falls else {}
        found = [(name, float(np.mean([falls[name] for falls in self.falls]))) for name in names]
        return tuple(sorted(found, key=lambda each: -each[1]))

    def scores(self, target: Target) -> tuple[list, list]:
        """Scores and comparisons with intervals."""
        job = self.job
        if job.split.is_folds and len(self.folds) >= splits.FOLDS:
            return scores.scores_of_folds(target, self.folds, len(job.split.pairs[0][1]) / len(job.y))
        truth, found, others = self._together()  # the variance over a few folds is unreliable
        compared = [
            scores.comparison_of_rows(target, truth, found, other, name, job.seed) for name, other in others.items()
        ]
        return scores.scores_of_rows(target, truth, found, job.seed), compared

    def _together(self) -> Fold:
        """The rows of all folds, each row once, as one set."""
        folds = self.folds[: len(self._first_repetition())]
        others = {name: joined([fold[2][name] for fold in folds]) for name in folds[0][2]}
        return np.concatenate([truth for truth, _, _ in folds]), joined([found for _, found, _ in folds]), others

    def _first_repetition(self) -> list[tuple[np.ndarray, np.ndarray, Predictions]]:
        """Judged rows until the first repetition."""
        seen: set[int] = set()
        kept = []
        for each in self.judged:
            if int(each[0][0]) in seen:
                break
            seen.update(each[0].tolist())
            kept.append(each)
        return kept

    def held_out(self) -> HeldOut:
        """Truth and predictions in the order of the table."""
        parts = self._first_repetition()
        rows = np.concatenate([self.job.rows[test] for test, _, _ in parts])
        order = np.argsort(rows)

        def in_order(pick: Callable[[Predictions], Any]) -> Any:
            values = [pick(found) for _, _, found in parts]
            return None if values[0] is None else np.concatenate(values)[order]

        return HeldOut(
            rows=rows[order],
            truth=np.concatenate([truth for _, truth, _ in parts])[order],
            prediction=in_order(lambda found: found.prediction),
            std=in_order(lambda found: found.std),
            lower=in_order(lambda found: found.ends()[0]),
            upper=in_order(lambda found: found.ends()[1]),
            probabilities=in_order(lambda found: found.probabilities),
            unfamiliar=in_order(lambda found: found.unfamiliar),
            quantiles=in_order(lambda found: found.quantiles),
        )

    def coverage(self) -> tuple[Coverage, ...]:
        """Empirical coverage of the bands."""
        if self.judged[0][2].band is None:
            return ()
        covered = []
        for level in bands_of(self.job.target):
            inside = []
            for _, truth, found in self.judged:
                low, high = found.ends(level)
                inside.append((truth >= low) & (truth <= high))
            covered.append(Coverage(level, float(np.mean(np.concatenate(inside)))))
        return tuple(covered)


def bands_of(target: Target) -> tuple[float, ...]:
    """Levels of the bands for a target: the default ones, or those between two of its quantiles."""
    levels = target.quantiles
    between = sorted(levels[-1 - i] - levels[i] for i in range(len(levels) // 2))
    return tuple(between) if target.task == "quantiles" else BANDS


def joined(parts: list[Predictions]) -> Predictions:
    """Predictions for several sets of rows as one, without bands."""
    if len(parts) == 1:
        return parts[0]

    def together(name: str) -> Any:
        values = [getattr(part, name) for part in parts]
        return None if values[0] is None else np.concatenate(values)

    names = "prediction", "unfamiliar", "std", "probabilities", "quantiles"
    return Predictions(**{name: together(name) for name in names})


def suspicions(model: TableModel, outcome: Outcome) -> tuple[tuple[Suspicion, ...], int]:
    """Rows of the table whose targets the others contradict: by leave-one-out, or among rows set aside.

    Also the number of rows among which they were sought.

    The latter where a fit to all rows has no leave-one-out predictions: in the span of landmarks, and for counts and
    quantiles.
    """
    fitted, target = model.fitted_rows, model.target
    if fitted is None or hasattr(model.estimator, "machine"):
        return far_off(outcome.held_out, outcome.classes), len(outcome.held_out.rows)
    found = suspicious_labels(
        model.estimator, fitted.targets if target.is_classes else target.fitted_scale(fitted.targets)
    )
    named = tuple(
        Suspicion(
            int(fitted.numbers[each.row]),
            fitted.targets[each.row].item(),
            each.others_predict if target.is_classes else float(target.end_of(np.array(each.others_predict))),
            each.strength,
        )
        for each in found
    )
    return named, min(len(fitted.targets), MOST_LEFT_OUT)
