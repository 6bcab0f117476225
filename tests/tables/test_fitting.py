"""The whole way: honest scores, anytime, reproducible, and what cannot be fitted says so."""

import json
import warnings

import numpy as np
import polars as pl
import pytest
from quick_tables import make_quick

from representer import fit_table, load, save
from representer.tables import fitting, machines
from representer.tables.reading import TableError

RNG = np.random.default_rng(0)
N = 90
SIZE = RNG.uniform(30.0, 150.0, N)
HOUSES = pl.DataFrame(
    {
        "nr": np.arange(N),
        "size": SIZE,
        "city": RNG.choice(["Oslo", "Rome"], N),
        "rooms": pl.Series([None if i % 9 == 0 else i % 5 + 1.0 for i in range(N)]),
        "price": 100.0 * np.sin(SIZE / 20.0) + 5.0 * RNG.normal(size=N),
    }
)


def test_scores_are_of_rows_not_seen(houses_fit):
    outcome = houses_fit.outcome
    assert outcome.scores[0].metric == "R2"
    assert 0.9 < outcome.scores[0].value < 1.0
    assert [each.other for each in outcome.comparisons] == ["the mean", "a linear model"]
    assert outcome.comparisons[1].is_better
    assert not outcome.use_linear
    assert outcome.held_out.rows.tolist() == list(range(N))
    assert np.corrcoef(outcome.held_out.truth, outcome.held_out.prediction)[0, 1] > 0.9
    assert [each.level for each in outcome.coverage] == [0.5, 0.8, 0.95]
    assert outcome.coverage[2].covered > 0.8


def test_columns_and_facts_are_told(houses_fit):
    notes = {each.name: each for each in houses_fit.outcome.columns}
    assert notes["nr"].type == "id"
    assert not notes["nr"].used
    assert "missing value" in notes["rooms"].treatment
    assert houses_fit.outcome.reproduce["seed"] == 0
    assert json.loads(houses_fit.outcome.to_json())["task"] == "regression"
    assert houses_fit.outcome.kernel_words[0].endswith(f"{houses_fit.model.estimator.alpha_:.3g}")
    assert "<table>" in houses_fit._repr_html_()
    assert str(houses_fit) == "\n".join(houses_fit.outcome.verdict)


def test_the_model_is_of_all_rows_and_can_be_saved(houses, houses_fit, tmp_path):
    assert len(houses_fit.model.estimator.function_.X) == N
    save(houses_fit.model, tmp_path / "model.repr")
    again = load(tmp_path / "model.repr")
    assert again.predict(houses).equals(houses_fit.predict(houses))
    assert again.outcome.verdict == houses_fit.outcome.verdict
    assert again.outcome.scores == houses_fit.outcome.scores


def test_a_line_is_said_to_be_one(monkeypatch):
    make_quick(monkeypatch)
    x = RNG.normal(size=121)
    day = pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 4, 30), eager=True)
    frame = pl.DataFrame({"x": x, "day": day, "y": 2.0 * x + 0.5 * RNG.normal(size=121)})
    fit = fit_table(frame, "y", time_limit=60.0)
    assert fit.outcome.use_linear
    assert fit.outcome.verdict[2].startswith("Use the linear model")
    assert fit.outcome.held_out.rows.tolist() == list(range(97, 121))
    assert "the last 24 rows by 'day'" in fit.outcome.protocol


@pytest.mark.filterwarnings("ignore:The search stopped")
def test_all_of_many_rows_have_the_kernel_of_the_judged_model(monkeypatch):
    monkeypatch.setattr(machines, "EXACT_ROWS", 50)
    monkeypatch.setattr(machines, "FEWEST_LANDMARKS", 20)
    real, found = fitting.fit_machine, []
    monkeypatch.setattr(fitting, "fit_machine", lambda *args: found.append(real(*args)) or found[-1])
    day = pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 3, 20), eager=True)
    x = RNG.normal(size=80)
    fit = fit_table(pl.DataFrame({"x": x, "day": day, "y": np.sin(x)}), "y", time_limit=0.1)
    _, judged, last = [model for model, _ in found]
    assert fit.model.estimator is last
    assert last.searched is judged.searched
    assert len(fit.model.fitted_rows.numbers) == 80


def test_an_interrupt_leaves_the_best_so_far(monkeypatch):
    real, calls = fitting.fit_machine, []

    def interrupted(*args):
        calls.append(1)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(fitting, "fit_machine", interrupted)
    fit = fit_table(HOUSES, "price", time_limit=1.0)
    assert fit.stopped
    assert "the time was enough for 1 of these 10 folds" in fit.outcome.protocol
    assert "stopped early" in fit.outcome.verdict[-1]
    assert len(fit.predict(HOUSES)) == N
    calls.extend([1])
    with pytest.raises(KeyboardInterrupt):
        fit_table(HOUSES, "price", time_limit=1.0)


def test_only_the_warning_of_short_time_is_held_back(monkeypatch):
    real, calls = fitting.fit_machine, []

    def warned(*args):
        calls.append(1)
        warnings.warn("the first of its kind", UserWarning, stacklevel=1)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(fitting, "fit_machine", warned)
    with pytest.warns(UserWarning, match="of its kind") as caught:
        fit_table(HOUSES, "price", time_limit=1.0)
    assert len(caught) == 1


def test_groups_are_kept_out(monkeypatch):
    monkeypatch.setattr(fitting, "fit_machine", lambda *args: pytest.fail("nothing is fitted"))
    job = fitting.table_job(HOUSES.with_columns(who=pl.Series(np.arange(N) % 10)), "price", group="who")
    assert "who" not in [each.name for each in job.plan.treatments]
    assert all(not set(train % 10) & set(test % 10) for train, test in job.split.pairs)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"target": "prise"}, "no column 'prise' for the target; did you mean 'price'"),
        ({"target": "price", "group": "nop"}, "for the group"),
        ({"target": "price", "time_limit": 0}, "above zero"),
        ({"target": "nr"}, "is an id"),
        ({"target": "price", "types": {"city": "colour"}}, "one of number"),
        ({"target": "price", "group": "one"}, "one group only"),
        ({"target": "price", "group": "price"}, "the target and the group"),
        ({"target": "price", "seed": -1}, "The seed is -1"),
    ],
)
def test_what_cannot_be_fitted(options, words):
    with pytest.raises(TableError, match=words):
        fit_table(HOUSES.with_columns(one=pl.lit("k")), **options)


def test_too_few_rows():
    with pytest.raises(TableError, match="at least 20"):
        fit_table(HOUSES.head(10), "price")


def test_rows_that_are_all_alike():
    frame = pl.DataFrame({"smokes": ["yes", "no"] * 30, "ill": ["yes", "no"] * 30})
    with pytest.raises(TableError, match="Only 2 rows are different in 'smokes' and 'ill'"):
        fit_table(frame, "ill")


def test_durations_do_not_order_rows():
    frame = HOUSES.with_columns(lasted=pl.Series(SIZE).cast(pl.Int64).cast(pl.Duration("ms")))
    assert not fitting.table_job(frame, "price").split.time
