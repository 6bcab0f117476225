import numpy as np
import pandas as pd
import polars as pl
import pytest
from quick_tables import try_one_family
from scipy import sparse

from representer import KernelClassifier, KernelRegressor, load, save
from representer.estimators.model_search import ModelSearch
from representer.kernels import RBF, Normalized, Words


@pytest.fixture(autouse=True)
def one_family(monkeypatch):
    try_one_family(monkeypatch)


@pytest.fixture(scope="module")
def frame():
    rng, n = np.random.default_rng(0), 160
    words = ["good", "bad", "very", "fine", "day", "night"]
    return pd.DataFrame(
        {
            "age": rng.normal(40, 10, n),
            "income": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "city": rng.choice(["Rome", "Oslo", "Bonn"], n),
            "text": [" ".join(rng.choice(words, 5)) for _ in range(n)],
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D"),
        }
    )


def target(frame):
    numbers = 0.1 * frame["age"] + frame["income"].fillna(1.0) + 2.0 * (frame["city"] == "Rome")
    return numbers.to_numpy() + frame["text"].str.count("good").to_numpy()


def test_frames_of_numbers_levels_dates_and_gaps(frame):
    """Predictions take data frames of any library."""
    X, y = frame.drop(columns="text"), target(frame) - frame["text"].str.count("good").to_numpy()
    model = KernelRegressor().fit(X[:120], y[:120])
    assert model.score(X[120:], y[120:]) > 0.95
    assert isinstance(model.function_.X, np.ndarray)
    assert model.feature_names_in_.tolist() == list(X.columns)
    assert "city    3 levels; a column for each level" in model.report()
    np.testing.assert_array_equal(model.predict(pl.from_pandas(X[120:])), model.predict(X[120:]))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[["age", "city"]])


def test_frames_with_texts(frame, tmp_path):
    y = target(frame)
    model = KernelRegressor().fit(frame[:80].drop(columns="day"), y[:80])
    frame = frame[80:].drop(columns="day")
    mean, std = model.predict(frame, return_std=True)
    assert model.score(frame, y[80:]) > 0.8
    assert np.mean(np.abs(y[80:] - mean) < 1.96 * std) > 0.8
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(frame), mean)


def test_classes_of_sparse_rows():
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.random((240, 30)) * (rng.random((240, 30)) < 0.2))
    labels = np.where(X @ np.arange(-15, 15) > 0, "high", "low")
    model = KernelClassifier().fit(X[:140], labels[:140])
    assert model.score(X[140:], labels[140:]) > 0.8
    assert {trial.form for trial in model.trials_} == {"one length scale"}


def test_a_given_kernel_is_tuned(frame):
    """On rows of numbers, and on inputs of another type."""
    X, y = frame[["age"]].to_numpy(), np.sin(frame["age"] / 3.0).to_numpy()
    model = KernelRegressor(kernel=RBF(30.0)).fit(X, y)
    assert model.kernel_.length_scale < 10.0
    assert model.loo_score_ > 0.95
    assert model.predict(X[:2].astype(np.float32)).dtype == np.float32
    texts = frame["text"].tolist()
    model = KernelRegressor(kernel=2.0 * Normalized(Words())).fit(texts, frame["text"].str.count("good").to_numpy())
    assert model.loo_score_ > 0.5
    assert model.predict(texts[:3]).shape == (3,)


def test_plans_count_targets_and_classes():
    X, y = np.zeros((9000, 2)), np.arange(9000)
    for model, several in ((KernelRegressor(), np.zeros((9000, 400))), (KernelClassifier(), y % 400)):
        plan = model.plan(X, several)
        assert plan.bytes > model.plan(X, y % 2).bytes + 8 * 9000 * 399
        assert model.plan(X, y % 2).bytes == model.plan(X).bytes


def test_fits_above_the_memory_are_refused_before_the_search(monkeypatch):
    monkeypatch.setattr(ModelSearch, "run", lambda self: 1 / 0)
    with pytest.raises(MemoryError, match="above the budget of 1e-05 GB"):
        KernelRegressor(memory=10**4).fit(np.random.default_rng(0).normal(size=(50, 2)), np.arange(50.0))
