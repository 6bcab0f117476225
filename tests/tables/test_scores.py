"""Scores agree with scikit-learn's, and intervals cover."""

import numpy as np
import pytest
from scipy.stats import t as student
from sklearn import metrics

from representer.tables import scores
from representer.tables.table_model import Predictions
from representer.tables.targets import Target

RNG = np.random.default_rng(0)
NUMBERS, CLASSES = Target("y", "regression", "squared"), Target("y", "classification", "logistic", classes=("a", "b"))
TRUTH = RNG.normal(size=200) + 1e6
NEAR, FAR = TRUTH + 0.3 * RNG.normal(size=200), TRUTH + 0.6 * RNG.normal(size=200)


def numbers(values):
    return Predictions(values, np.zeros(len(values), bool))


def test_scores_of_numbers():
    found = {each.metric: each for each in scores.scores_of_rows(NUMBERS, TRUTH, numbers(NEAR), 0)}
    assert found["R2"].value == pytest.approx(metrics.r2_score(TRUTH, NEAR))
    assert found["RMSE"].value == pytest.approx(metrics.root_mean_squared_error(TRUTH, NEAR))
    assert found["MAE"].value == pytest.approx(metrics.mean_absolute_error(TRUTH, NEAR))
    assert all(each.lower < each.value < each.upper for each in found.values())
    spread = np.std(np.abs(TRUTH - NEAR)) / np.sqrt(200)
    assert found["MAE"].upper - found["MAE"].lower == pytest.approx(2 * 1.96 * spread, rel=0.15)


def test_scores_of_classes():
    labels = RNG.choice(["a", "b"], 300)
    p = np.clip(np.where(labels == "b", 0.7, 0.3) + 0.2 * np.round(RNG.normal(size=300), 1), 0.05, 0.95)
    found = Predictions(np.where(p > 0.5, "b", "a"), p > 2, probabilities=np.column_stack([1 - p, p]))
    values = {each.metric: each.value for each in scores.scores_of_rows(CLASSES, labels, found, 0)}
    assert values["log loss"] == pytest.approx(metrics.log_loss(labels, p))
    assert values["accuracy"] == pytest.approx(metrics.accuracy_score(labels, found.prediction))
    assert values["AUC"] == pytest.approx(metrics.roc_auc_score(labels == "b", p))


def test_scores_of_counts_and_quantiles():
    counts, rate = RNG.poisson(3.0, 100).astype(float), RNG.uniform(2.0, 4.0, 100)
    target = Target("y", "counts", "poisson")
    assert scores.DEVIANCE.of(target, counts, numbers(rate)) == pytest.approx(
        metrics.mean_poisson_deviance(counts, rate)
    )
    target = Target("y", "quantiles", "quantiles", (0.2,))
    found = Predictions(rate, rate > 9, quantiles=rate[:, None])
    assert scores.PINBALL.of(target, counts, found) == pytest.approx(metrics.mean_pinball_loss(counts, rate, alpha=0.2))


def test_differences_are_paired():
    found = scores.comparison_of_rows(NUMBERS, TRUTH, numbers(NEAR), numbers(FAR), "a linear model", 0)
    assert found.value == pytest.approx(metrics.r2_score(TRUTH, FAR))
    assert found.gain == pytest.approx(metrics.r2_score(TRUTH, NEAR) - metrics.r2_score(TRUTH, FAR))
    assert found.is_better
    shifted = scores.comparison_of_rows(NUMBERS, TRUTH, numbers(NEAR), numbers(NEAR), "itself", 0)
    assert shifted.gain == shifted.lower == shifted.upper == 0.0


def test_intervals_of_folds_are_nadeau_and_bengios():
    values = np.array([0.8, 0.7, 0.9, 0.75, 0.85])
    mean, low, high = scores.over_folds(values, 0.2)
    half = student.ppf(0.975, 4) * np.sqrt((1 / 5 + 0.25) * values.var(ddof=1))
    assert (mean, low, high) == pytest.approx((0.8, 0.8 - half, 0.8 + half))
    assert scores.over_folds(values[:1], 0.2)[1:] == (-np.inf, np.inf)


def test_folds_are_averaged_and_stay_in_range():
    halves = [slice(0, 100), slice(100, 200)]
    folds = [(TRUTH[h], numbers(NEAR[h]), {"far": numbers(FAR[h])}) for h in halves]
    found, compared = scores.scores_of_folds(NUMBERS, folds, 0.5)
    assert found[0].value == pytest.approx(np.mean([metrics.r2_score(TRUTH[h], NEAR[h]) for h in halves]))
    assert found[0].upper <= 1.0
    assert found[1].lower >= 0.0
    assert compared[0].gain > 0.0


def test_there_is_no_auc_of_one_class():
    truth, target = np.array(["a"] * 9), Target("y", "classification", "logistic", classes=("a", "b"))
    found = Predictions(truth, np.zeros(9, bool), probabilities=np.full((9, 2), 0.5))
    score = scores.scores_of_rows(target, truth, found, 0)[-1]
    assert score.metric == "AUC"
    assert np.isnan([score.value, score.lower, score.upper]).all()
