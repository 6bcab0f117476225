"""Routes by task and rows: exact ones, and landmarks for many rows."""

import numpy as np
import polars as pl
import pytest

from representer import KernelRidge, Nystroem
from representer.kernels import RBF
from representer.solvers import normal_equations
from representer.tables import machines
from representer.tables.machines import Effort, Route, fit_machine, landmarks_for, route_words
from representer.tables.reading import TableError
from representer.tables.targets import Target

RNG = np.random.default_rng(0)
N = 150
X = RNG.uniform(-2.0, 2.0, N)
FRAME = pl.DataFrame({"x": X, "c": pl.Series(RNG.choice(["u", "v"], N)).cast(pl.Categorical)})
MEAN = np.sin(2.0 * X) + (FRAME["c"] == "u").to_numpy()
EFFORT = Effort(30.0)
pytestmark = pytest.mark.filterwarnings("ignore:The search stopped")


def test_exact_regression():
    model, words = fit_machine(Target("y", "regression", "squared"), FRAME, MEAN, EFFORT)
    assert "all 150 rows fitted exactly" in words
    assert np.mean((model.predict(FRAME) - MEAN) ** 2) < 0.1


def test_landmarks_for_many_rows(monkeypatch):
    monkeypatch.setattr(machines, "EXACT_ROWS", 100)
    monkeypatch.setattr(machines, "FEWEST_LANDMARKS", 40)
    model, words = fit_machine(Target("y", "regression", "squared"), FRAME, MEAN + 0.1 * RNG.normal(size=N), EFFORT)
    assert "landmarks (Nystroem)" in words
    assert "landmarks" in route_words(Target("y", "regression", "squared"), N, 300.0)
    assert np.mean((model.predict(FRAME) - MEAN) ** 2) < 0.1
    np.testing.assert_allclose(model.function_(model.rows_of(FRAME)), model.predict(FRAME))
    np.testing.assert_array_equal(model.rows_of(FRAME)[model.landmarks], model.function_.X)
    assert model.certificate_.converged
    low, high = model.residuals[[10, -11]]
    assert low < 0.0 < high
    labels = np.where(MEAN > 0.5, "a", "b")
    model, _ = fit_machine(Target("y", "classification", "logistic", classes=("a", "b")), FRAME, labels, EFFORT)
    assert np.mean(model.classes_[model.predict_proba(FRAME).argmax(axis=1)] == labels) > 0.9


def test_counts_and_quantiles():
    counts = RNG.poisson(np.exp(MEAN)).astype(float)
    model, words = fit_machine(Target("y", "counts", "poisson"), FRAME, counts, EFFORT)
    assert "KernelPoissonRegression" in words
    assert np.corrcoef(np.log(model.predict(FRAME)), MEAN)[0, 1] > 0.8
    target = Target("y", "quantiles", "quantiles", (0.1, 0.9))
    model, _ = fit_machine(target, FRAME, MEAN + RNG.normal(size=N), EFFORT)
    found = model.predict(FRAME)
    assert np.all(found[:, 0] <= found[:, 1])


def test_the_least_of_some_values_is_found_downhill():
    seen = []

    def value(i):
        seen.append(i)
        return abs(i - 2)

    assert machines.least(value, 9, 4, 60.0) == 2
    assert seen == [4, 3, 2, 1, 0]
    seen.clear()
    assert machines.least(value, 9, 1, 60.0) == 2
    assert seen == [1, 0, 2, 3, 4]
    seen.clear()
    assert machines.least(value, 9, 5, -1.0) == 5  # no time, but a value
    assert seen == [5]


def test_routes_fit_the_time():
    numbers = Target("y", "regression", "squared")
    assert Route.of(numbers, 20_000, 34.0, None).exact  # a quarter of the part of 300 seconds for one model
    short = Route.of(numbers, 12_000, 1.7, None)
    assert not short.exact
    assert "may exceed the time limit" in short.words
    assert Route.of(numbers, 5000, 1.7, None).exact


def test_routes_fit_the_memory():
    numbers = Target("y", "regression", "squared")
    assert Route.of(numbers, 5000, 60.0, None).exact
    tight = Route.of(numbers, 5000, 60.0, 48 * 1000**2)
    assert (tight.exact, tight.searched) == (False, 1000)
    assert tight.landmarks <= 1000
    assert "does not fit the memory" in tight.words
    with pytest.raises(TableError, match="give more"):
        Route.of(numbers, 5000, 60.0, 1_000_000)
    classes = Target("y", "classification", "logistic", classes=("a", "b"))
    assert Route.of(classes, 50_000, 60.0, None).landmarks < Route.of(numbers, 50_000, 60.0, None).landmarks / 3


def test_rows_are_found_again_in_arrays_and_frames():
    rows = np.array([[1.0, 2.0], [0.0, 5.0], [1.0, 2.0], [3.0, 3.0]])
    assert machines.places_of(rows[[3, 2]], rows).tolist() == [3, 0]
    assert machines.places_of(rows + 1.0, rows) is None
    frame = pl.DataFrame({"x": rows[:, 0], "w": ["a", "b", "c", "d"]})
    assert machines.places_of(frame[[2, 1]], frame).tolist() == [2, 1]


def test_landmarks_fit_the_time():
    assert landmarks_for(1_000_000, 30.0) < landmarks_for(100_000, 30.0) <= machines.MOST_LANDMARKS
    assert landmarks_for(300, 30.0) == 150


def test_folds_leave_rows_of_each_class_to_fit():
    y = np.array(["no"] * 37 + ["yes"] * 3)
    folds = machines._folds(np.arange(40), y)
    assert len(folds) == 4
    assert all(len(np.unique(y[np.setdiff1d(np.arange(40), fold)])) == 2 for fold in folds)
    y[37:39] = "no"
    assert [39 in fold for fold in machines._folds(np.arange(40), y)] == [False, False, False]


def test_rare_classes_are_searched_and_fitted(monkeypatch):
    for name, value in (("EXACT_ROWS", 100), ("FEWEST_LANDMARKS", 20), ("ROWS_OF_SEARCH", 40), ("STRENGTH_ROWS", 40)):
        monkeypatch.setattr(machines, name, value)
    labels = np.where(np.sort(X)[-4] < X, "yes", "no")
    target = Target("y", "classification", "logistic", classes=("no", "yes"))
    for seed in range(3):
        model, _ = fit_machine(target, FRAME, labels, Effort(1.0, seed))
        assert model.classes_.tolist() == ["no", "yes"]


def test_proteins_that_all_differ_are_seen_by_the_kernel():
    cells = ["".join(RNG.choice(list("ACDEFGHIKLMNPQRSTVWY"), 20)) for _ in range(60)]
    frame, y = pl.DataFrame({"protein": cells}), np.array([float(cell.count("K")) for cell in cells])
    for target in (Target("y", "regression", "squared"), Target("y", "counts", "poisson")):
        model, _ = fit_machine(target, frame, y, Effort(0.2), declared={"protein": "sequence"})
        assert "Characters" in repr(model.kernel_)


def test_bands_are_as_wide_as_errors_of_new_rows(monkeypatch):
    monkeypatch.setattr(machines, "EXACT_ROWS", 100)
    monkeypatch.setattr(machines, "FEWEST_LANDMARKS", 75)
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(rng.normal(size=(150, 4)), ["a", "b", "c", "d"])
    y = np.sin(3.0 * frame["a"].to_numpy()) * frame["b"].to_numpy() + 0.1 * rng.normal(size=150)
    model, _ = fit_machine(Target("y", "regression", "squared"), frame, y, Effort(1.0))
    new = pl.DataFrame(rng.normal(size=(500, 4)), frame.columns)
    errors = np.sin(3.0 * new["a"].to_numpy()) * new["b"].to_numpy() - model.predict(new)
    low, high = np.interp([0.1, 0.9], machines.BAND_LEVELS, model.residuals)
    assert 0.7 < np.mean((errors > low) & (errors < high)) < 0.9


def test_residuals_of_many_rows_are_wider_than_those_of_the_fit(monkeypatch):
    """By generalised cross-validation about as much as by leaving out each row."""
    rows, y = X[:, None], MEAN + 0.3 * RNG.normal(size=N)
    model = KernelRidge([0.01, 0.1], kernel=Nystroem(RBF(0.5), 60))
    exact = machines.left_out_residuals(model.fit(rows, y), rows, y)
    np.testing.assert_array_equal(exact, model.loo_residuals_)
    monkeypatch.setattr(normal_equations, "LEAVE_OUT_WORK", 0)
    found = machines.left_out_residuals(model.fit(rows, y), rows, y)
    fitted = np.std(y - model.predict(rows))
    assert np.std(found) == pytest.approx(np.std(exact), rel=0.05)
    assert np.std(found) > 1.05 * fitted
