"""Scores on rows set aside, with intervals: bootstrap for one set of rows, Nadeau and Bengio's variance for folds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import xlogy
from scipy.stats import t as student

from representer.tables.outcome import Comparison, Score
from representer.tables.targets import Target

RESAMPLES = 1000
DRAWN_AT_ONCE = 2_000_000
SIDES = 0.025, 0.975


@dataclass(frozen=True)
class Metric:
    """A score as a function of weighted sums over rows, so that one product gives it for all resamples."""

    name: str
    higher_is_better: bool
    terms: Callable[[Target, np.ndarray, Any], np.ndarray]
    """Truth and predictions to an array of shape (rows, terms)."""
    value: Callable[[np.ndarray], np.ndarray]
    """Means of the terms, of shape (..., terms), to the score."""
    range: tuple[float, float] = (0.0, np.inf)
    """Possible values of the score."""

    def of(self, target: Target, truth: np.ndarray, found: Any) -> float:
        """The score of some predictions."""
        return float(self.value(self.terms(target, truth, found).mean(axis=0)))


def _squares(target: Target, truth: np.ndarray, found: Any) -> np.ndarray:
    centred = truth - truth.mean()  # the same for all models, and without cancellation for large means
    return np.column_stack([(truth - found.prediction) ** 2, centred, centred**2])


def _own_probability(target: Target, truth: np.ndarray, found: Any) -> np.ndarray:
    places = np.searchsorted(np.array(target.classes), truth)
    return -np.log(np.maximum(found.probabilities[np.arange(len(truth)), places], 1e-15))[:, None]


def _deviance(target: Target, truth: np.ndarray, found: Any) -> np.ndarray:
    rate = np.maximum(found.prediction, 1e-9)
    return 2.0 * (xlogy(truth, truth / rate) - truth + rate)[:, None]


def _pinball(target: Target, truth: np.ndarray, found: Any) -> np.ndarray:
    off, levels = truth[:, None] - found.quantiles, np.array(target.quantiles)
    return np.maximum(levels * off, (levels - 1.0) * off).mean(axis=1, keepdims=True)


def _hits(target: Target, truth: np.ndarray, found: Any) -> np.ndarray:
    return (truth == found.prediction)[:, None].astype(np.float64)


def _first(means: np.ndarray) -> np.ndarray:
    return means[..., 0]


def _r2(means: np.ndarray) -> np.ndarray:
    return 1.0 - means[..., 0] / np.maximum(means[..., 2] - means[..., 1] ** 2, 1e-300)


R2 = Metric("R2", True, _squares, _r2, (-np.inf, 1.0))
RMSE = Metric("RMSE", False, _squares, lambda means: np.sqrt(means[..., 0]))
MAE = Metric("MAE", False, lambda _, truth, found: np.abs(truth - found.prediction)[:, None], _first)
LOG_LOSS = Metric("log loss", False, _own_probability, _first)
ACCURACY = Metric("accuracy", True, _hits, _first, (0.0, 1.0))
DEVIANCE = Metric("Poisson deviance", False, _deviance, _first)
PINBALL = Metric("pinball loss", False, _pinball, _first)
METRICS = {
    "regression": (R2, RMSE, MAE),
    "classification": (LOG_LOSS, ACCURACY),
    "counts": (DEVIANCE, RMSE),
    "quantiles": (PINBALL, MAE),
}
"""Scores by task; the first one is used to compare models."""


def metrics_for(target: Target) -> tuple[Metric, ...]:
    """The scores of a task, without the area under the ROC curve, which is added for two classes."""
    return METRICS[target.task]


def score_names(target: Target) -> list[str]:
    """Names of the scores that a fit of the target will have."""
    area = ["AUC"] if target.is_classes and len(target.classes) == 2 else []
    return [metric.name for metric in metrics_for(target)] + area


def auc(truth: np.ndarray, score: np.ndarray) -> float:
    """The probability that a row of the second class has the higher score; ties count half."""
    values, places = np.unique(score, return_inverse=True)
    ones, zeros = np.bincount(places, truth, len(values)), np.bincount(places, ~truth, len(values))
    below = np.cumsum(zeros) - zeros
    pairs = float(ones.sum() * zeros.sum())
    return float((ones * (below + 0.5 * zeros)).sum() / pairs) if pairs else np.nan


# ---- one set of rows ----


def bootstrap(terms: list[np.ndarray], seed: int) -> list[np.ndarray]:
    """Means of the terms over Poisson bootstrap resamples of the same rows, each of shape (resamples, terms)."""
    n = len(terms[0])
    count = RESAMPLES if n <= 20_000 else 300
    rng, out = np.random.default_rng(seed), [np.empty((count, part.shape[1])) for part in terms]
    step = max(1, DRAWN_AT_ONCE // n)
    for start in range(0, count, step):
        weights = rng.poisson(1.0, (min(step, count - start), n)).astype(np.float64)
        weights[:, 0] += weights.sum(axis=1) == 0.0
        weights /= weights.sum(axis=1, keepdims=True)
        for part, means in zip(terms, out, strict=True):
            means[start : start + step] = weights @ part
    return out


def scores_of_rows(target: Target, truth: np.ndarray, found: Any, seed: int) -> list[Score]:
    """All scores of a task with bootstrap intervals."""
    scores = []
    for metric in metrics_for(target):
        terms = metric.terms(target, truth, found)
        low, high = np.quantile(metric.value(bootstrap([terms], seed)[0]), SIDES)
        scores.append(
            Score(metric.name, metric.of(target, truth, found), float(low), float(high), metric.higher_is_better)
        )
    if target.is_classes and len(target.classes) == 2:
        scores.append(_auc_score(target, truth, found, seed))
    return scores


def _auc_score(target: Target, truth: np.ndarray, found: Any, seed: int) -> Score:
    ones, score, n = truth == target.classes[1], found.probabilities[:, 1], len(truth)
    if ones.all() or not ones.any():
        return Score("AUC", np.nan, np.nan, np.nan, True)
    rng = np.random.default_rng(seed)
    resampled = []
    for _ in range(200):
        some = rng.integers(0, n, n)
        resampled.append(auc(ones[some], score[some]))
    low, high = np.nanquantile(resampled, SIDES)
    return Score("AUC", auc(ones, score), float(low), float(high), True)


def comparison_of_rows(target: Target, truth: np.ndarray, found: Any, other: Any, name: str, seed: int) -> Comparison:
    """The paired difference of the first score, with a bootstrap interval."""
    metric = metrics_for(target)[0]
    both = [metric.terms(target, truth, each) for each in (found, other)]
    mine, theirs = (metric.value(means) for means in bootstrap(both, seed))
    sign = 1.0 if metric.higher_is_better else -1.0
    low, high = np.quantile(sign * (mine - theirs), SIDES)
    value = metric.of(target, truth, other)
    gain = sign * (metric.of(target, truth, found) - value)
    return Comparison(name, metric.name, value, gain, float(low), float(high))


# ---- folds ----


def over_folds(values: np.ndarray, test_share: float) -> tuple[float, float, float]:
    """Mean and 95 % interval of a score over J folds, whose variance is (1 / J + n_test / n_train) s^2.

    Folds share training rows, so their scores are not independent; that is Nadeau and Bengio's correction.
    """
    count, mean = len(values), float(np.mean(values))
    if count < 2:
        return mean, -np.inf, np.inf
    ratio = test_share / (1.0 - test_share)
    half = float(student.ppf(SIDES[1], count - 1) * np.sqrt((1.0 / count + ratio) * np.var(values, ddof=1)))
    return mean, mean - half, mean + half


Fold = tuple[np.ndarray, Any, dict[str, Any]]
"""Truth, predictions of the model, and those of the baselines by name."""


def scores_of_folds(target: Target, folds: list[Fold], test_share: float) -> tuple[list[Score], list[Comparison]]:
    """Scores and paired differences over folds."""
    scores = []
    for metric in metrics_for(target):
        values = np.array([metric.of(target, truth, found) for truth, found, _ in folds])
        mean, low, high = over_folds(values, test_share)
        low, high = np.clip([low, high], *metric.range).tolist()
        scores.append(Score(metric.name, mean, low, high, metric.higher_is_better))
    if target.is_classes and len(target.classes) == 2:
        areas = np.array([auc(truth == target.classes[1], f.probabilities[:, 1]) for truth, f, _ in folds])
        mean, low, high = over_folds(areas[~np.isnan(areas)], test_share)
        scores.append(Score("AUC", mean, max(low, 0.0), min(high, 1.0), True))
    metric = metrics_for(target)[0]
    sign = 1.0 if metric.higher_is_better else -1.0
    comparisons = []
    for name in folds[0][2]:
        theirs = np.array([metric.of(target, truth, others[name]) for truth, _, others in folds])
        mine = np.array([metric.of(target, truth, found) for truth, found, _ in folds])
        gain, low, high = over_folds(sign * (mine - theirs), test_share)
        comparisons.append(Comparison(name, metric.name, float(theirs.mean()), gain, low, high))
    return scores, comparisons
