"""Predictions in the units of the target, with bands, of files and frames."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import poisson

from representer import explain, load, save
from representer.tables.column_plan import ColumnPlan, Treatment
from representer.tables.machines import Effort, fit_machine
from representer.tables.reading import TableError
from representer.tables.table_model import TableModel, by_class
from representer.tables.targets import Target

RNG = np.random.default_rng(0)
N = 120
FRAME = pl.DataFrame(
    {"x": RNG.uniform(1.0, 3.0, N), "c": RNG.choice(["u", "v"], N), "t": [f"a b c{i % 5} text" for i in range(N)]}
)
PLAN = ColumnPlan((Treatment("x", "number", transform="logarithm"), Treatment("c", "category"), Treatment("t", "text")))
Y = 5.0 * FRAME["x"].to_numpy() * np.exp(0.05 * RNG.normal(size=N))
pytestmark = pytest.mark.filterwarnings("ignore:The search stopped")


def model_of(target, y, plan=PLAN):
    estimator, route = fit_machine(target, plan.treated(FRAME, "t"), target.fitted_scale(y), Effort(30.0))
    return TableModel(plan, target, estimator, route)


@pytest.fixture(scope="module")
def logs():
    return model_of(Target("y", "regression", "squared", logarithm=True, smear=1.01), Y)


def test_numbers_come_back_in_their_units(logs, tmp_path):
    found = logs.predict(FRAME)
    assert found.columns == ["prediction", "std", "lower", "upper", "unfamiliar"]
    assert np.mean(np.abs(found["prediction"].to_numpy() / Y - 1.0)) < 0.1
    assert ((found["lower"] < found["prediction"]) & (found["prediction"] < found["upper"])).all()
    FRAME.write_csv(tmp_path / "new.csv")
    assert logs.predict(tmp_path / "new.csv")["prediction"].to_list() == pytest.approx(found["prediction"].to_list())


def test_the_fitted_function_takes_its_rows(logs):
    values = logs.estimator.function_(logs.kernel_rows(FRAME))
    np.testing.assert_allclose(1.01 * np.exp(values), logs.predict(FRAME)["prediction"])


def test_pandas_gives_pandas(logs):
    frame = pd.DataFrame(FRAME.to_dict(as_series=False), index=np.arange(N) + 7)
    found = logs.predict(frame)
    assert isinstance(found, pd.DataFrame)
    assert found.index[0] == 7


def test_new_levels_gaps_and_far_rows(logs):
    new = pl.DataFrame({"x": [2.0, None, 1e9], "c": ["u", "new", None], "t": ["a text", None, "zzz"]})
    found = logs.predict(new)
    assert np.isfinite(found["prediction"].to_numpy()).all()
    assert found["unfamiliar"].to_list()[2]
    with pytest.raises(TableError, match="no column 't'"):
        logs.predict(new.drop("t"))


def test_it_is_saved_with_its_columns(logs, tmp_path):
    save(logs, tmp_path / "m.repr")
    again = load(tmp_path / "m.repr")
    assert again.predict(FRAME).equals(logs.predict(FRAME))
    assert "logarithm" in again.describe()
    assert again.kernel_words() == logs.kernel_words()


def test_bands_of_other_tasks():
    plan = ColumnPlan((Treatment("x", "number"),))
    counts = RNG.poisson(Y).astype(float)
    found = model_of(Target("y", "counts", "poisson"), counts, plan).predict(FRAME)
    np.testing.assert_allclose(found["upper"], poisson.ppf(0.975, found["prediction"].to_numpy()))
    levels = Target("y", "quantiles", "quantiles", (0.1, 0.5, 0.9))
    model = model_of(levels, Y, plan)
    found = model.predict(FRAME)
    quantiles = [f"quantile {level}" for level in levels.quantiles]
    assert found.columns == ["prediction", *quantiles, "lower", "upper", "unfamiliar"]
    assert found["lower"].equals(found["quantile 0.1"])
    assert found["upper"].equals(found["quantile 0.9"])
    assert found["prediction"].equals(found["quantile 0.5"])
    low, high = model.predicted(model.treated(FRAME)).ends(0.8)
    assert np.array_equal([low, high], [found["quantile 0.1"], found["quantile 0.9"]])
    explained = explain(model, FRAME.select("t", "c", "x"), row=3)
    assert [name for name, _, _ in explained.columns] == ["x"]
    assert explained.what == "quantile 0.5 of y"
    assert explained.value == pytest.approx(found["prediction"][3])
    labels = np.where(np.median(Y) < Y, "much", "little")
    found = model_of(Target("y", "classification", "logistic", classes=("little", "much")), labels, plan).predict(FRAME)
    assert found.columns == ["prediction", "probability of little", "probability of much", "unfamiliar"]
    assert np.mean(found["prediction"].to_numpy() == labels) > 0.9


def test_classes_that_a_fit_did_not_see_have_no_probability():
    target = Target("y", "classification", "logistic", classes=("a", "b", "c"))
    np.testing.assert_array_equal(by_class(np.array([[0.3, 0.7]]), ["a", "c"], target), [[0.3, 0.0, 0.7]])
