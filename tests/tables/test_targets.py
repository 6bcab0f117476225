"""What is predicted, and targets that cannot be."""

import numpy as np
import polars as pl
import pytest
from each_case import each

from representer.tables.column_types import column_types
from representer.tables.reading import TableError, read_table
from representer.tables.targets import Target, target_of


def found(values, loss=None, declared=None):
    table = read_table(pl.DataFrame({"y": values, "x": np.arange(len(values)) % 3}, strict=False))
    kind = column_types(table, {"y": declared} if declared else None)["y"]
    return target_of(table, "y", kind, loss)


def test_tasks():
    assert found(["1.5", None, "2.5", "3"])[0].task == "regression"
    assert found(["1.5", None, "2.5", "3"])[2].tolist() == [0, 2, 3]
    target, y, _ = found(["b", "a", "c", "a"])
    assert (target.task, target.classes) == ("classification", ("a", "b", "c"))
    assert y.tolist() == ["b", "a", "c", "a"]
    assert found([0, 1, 1, 0])[0].classes == ("0", "1")
    assert found([0.0, 1.0, 1.0])[0].classes == ("0", "1")
    assert found([3, 4, 5, 3], declared="category")[0].task == "classification"
    assert found([0, 2, 5, 0], "poisson")[0].task == "counts"
    assert found([0, 1, 1, 0], declared="number")[0].task == "regression"
    assert found([1.0, 2.5, 1.0], declared="category")[0].classes == ("1", "2.5")
    assert found([1234567.0, 1234568.0, 1234567.0])[0].classes == ("1234567", "1234568")
    assert found([0.5, 2.0, 5.0], "quantiles:0.9,0.1,0.5")[0].quantiles == (0.1, 0.5, 0.9)
    assert found([0.5, 2.0, 5.0], "huber")[0].loss == "huber"


@each(
    ("values", "options", "words"),
    [
        ([None, None], {}, "missing in all rows"),
        (["x", "x"], {}, "one value only, 'x'"),
        (["x", None, "x"], {}, "one value only"),
        ([f"u{i}" for i in range(40)], {}, "is an id"),
        ([f"a long text {i}" for i in range(40)], {}, "looks like a text"),
        (["a", "b", "c"], {"loss": "poisson"}, "has classes"),
        ([1.5, 2.5, 0.5], {"loss": "poisson"}, "is for counts"),
        ([1.5, 2.5, 0.5], {"loss": "poison"}, "did you mean 'poisson'"),
        ([1.5, 2.5, 0.5], {"loss": "mse"}, "the losses are 'squared'"),
        ([1.5, 2.5, 0.5], {"loss": "huber:2"}, "leave them out"),
        ([1.5, 2.5, 0.5], {"loss": "quantiles:2"}, "between 0 and 1"),
        ([1.5, 2.5, 0.5], {"loss": "quantiles:a"}, "between 0 and 1"),
        ([str(i % 150) for i in range(300)], {"declared": "category"}, "more than 100"),
    ],
)
def test_targets_that_cannot_be_predicted(values, options, words):
    with pytest.raises(TableError, match=words):
        found(values, **options)


def test_logarithms_return():
    target = Target("y", "regression", "squared", logarithm=True, smear=1.5)
    y = np.array([1.0, np.e])
    np.testing.assert_allclose(target.fitted_scale(y), [0.0, 1.0])
    np.testing.assert_allclose(target.mean_of(np.array([0.0, 1.0])), 1.5 * y)
    np.testing.assert_allclose(target.end_of(np.array([0.0, 1.0])), y)


def test_quantiles_hold_the_median_which_is_the_prediction():
    assert found([0.5, 2.0, 5.0], "quantiles:0.9")[0].quantiles == (0.9,)
    with pytest.raises(TableError, match=r"lack the median.*write quantiles:0\.1,0\.5,0\.9, or"):
        found([0.5, 2.0, 5.0], "quantiles:0.1,0.9")


def test_nan_is_missing():
    nan = float("nan")
    target, y, rows = found([1.5, nan, 2.5, 3.0])
    assert (target.task, y.tolist(), rows.tolist()) == ("regression", [1.5, 2.5, 3.0], [0, 2, 3])
    target, y, rows = found([0.0, nan, 1.0, 1.0])
    assert (target.classes, rows.tolist()) == (("0", "1"), [0, 2, 3])
