"""Simple models are those of the textbook."""

import numpy as np
import polars as pl

from representer.tables import baselines
from representer.tables.targets import Target

RNG = np.random.default_rng(0)
FRAME = pl.DataFrame({"a": RNG.normal(size=80), "b": pl.Series(["u", "v"] * 40).cast(pl.Categorical)})
LINE = 3.0 * FRAME["a"].to_numpy() + 2.0 * (FRAME["b"] == "u").to_numpy() + 10.0


def test_constants():
    assert baselines.constant(Target("y", "regression", "squared"), LINE)(FRAME).prediction[3] == LINE.mean()
    classes = Target("y", "classification", "logistic", classes=("n", "y"))
    labels = np.where(np.quantile(LINE, 0.25) < LINE, "y", "n")
    found = baselines.constant(classes, labels)(FRAME)
    np.testing.assert_allclose(found.probabilities[0], [0.25, 0.75])
    assert found.prediction[0] == "y"
    quantiles = Target("y", "quantiles", "quantiles", (0.1, 0.5))
    assert baselines.constant(quantiles, LINE)(FRAME).quantiles[0].tolist() == np.quantile(LINE, [0.1, 0.5]).tolist()


def test_linear_models_find_lines():
    found = baselines.linear(Target("y", "regression", "squared"), FRAME, LINE)(FRAME)
    np.testing.assert_allclose(found.prediction, LINE, rtol=1e-3)
    logs = baselines.linear(Target("y", "regression", "squared", logarithm=True), FRAME, np.exp(LINE / 10.0))(FRAME)
    np.testing.assert_allclose(logs.prediction, np.exp(LINE / 10.0), rtol=1e-3)
    counts = baselines.linear(Target("y", "counts", "poisson"), FRAME, np.round(np.exp(LINE / 5.0)))(FRAME)
    np.testing.assert_allclose(counts.prediction, np.exp(LINE / 5.0), rtol=0.1)
    levels = Target("y", "quantiles", "quantiles", (0.5,))
    np.testing.assert_allclose(baselines.linear(levels, FRAME, LINE)(FRAME).quantiles[:, 0], LINE, rtol=0.05)


def test_linear_classes():
    target = Target("y", "classification", "logistic", classes=("n", "y"))
    labels = np.where(LINE > 11.0, "y", "n")
    assert np.mean(baselines.linear(target, FRAME, labels)(FRAME).prediction == labels) > 0.95
