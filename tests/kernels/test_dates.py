import numpy as np
import pandas as pd
import polars as pl
import pytest

from representer.kernels import RBF, Categorical, Missing, On, Periodic
from representer.kernels.dates import as_days, dates_as_days, is_date

TIMES = pd.Series(pd.to_datetime(["1970-01-02", "1969-12-31 12:00", None, "2020-02-29 06:00"], format="mixed"))
DAYS = [1.0, -0.5, np.nan, 18321.25]


@pytest.mark.parametrize(
    "column",
    [
        TIMES,
        TIMES.dt.tz_localize("UTC").dt.tz_convert("Europe/Rome"),
        TIMES.astype("datetime64[s]"),
        TIMES.to_numpy(),
        pl.Series(TIMES.to_numpy().astype("datetime64[us]")),
    ],
)
def test_days_since_1970(column):
    assert is_date(column)
    assert np.array_equal(as_days(column), DAYS, equal_nan=True)


def test_lengths_of_time_and_plain_dates():
    assert np.allclose(as_days(pd.Series(pd.to_timedelta(["36h", "-1h"]))), [1.5, -1 / 24])
    assert as_days(pl.Series(["1970-01-05"]).str.to_date()).tolist() == [4.0]
    far = np.array(["0020-07-25", "9999-12-31"], "datetime64[s]")  # beyond what nanoseconds reach
    for column in (pd.Series(far), pl.Series(far.astype("datetime64[us]")), pl.Series(far.astype("datetime64[D]"))):
        assert as_days(column).tolist() == [-712017.0, 2932896.0]
    assert not is_date(pd.Series([1.0]))
    assert not is_date(pl.Series(["a"]))


@pytest.mark.parametrize("library", [pd, pl])
def test_dates_in_kernels(library):
    days = np.array([0.0, 100.0, 365.25, 730.5])
    frame = library.DataFrame({"day": np.datetime64("2000-01-01") + (days * 86_400_000).astype("m8[ms]"), "x": days})
    assert np.allclose(On(RBF(90.0), ["day"])(frame), RBF(90.0)(days[:, None]))
    yearly = On(Periodic(period=365.25), ["day"])(frame)
    assert np.allclose(yearly[0, 2:], 1.0)
    assert yearly[0, 1] < 0.5
    assert np.allclose(On(RBF(90.0), ["x", "day"])(frame), RBF(90.0)(np.stack([days, days], axis=1)))
    assert is_date(frame["day"])  # the user's frame stays as it is
    assert np.allclose(On(Categorical(), "day")(frame), Categorical()(days))
    assert dates_as_days(frame, ["x"]) is frame


def test_missing_dates():
    frame = pd.DataFrame({"day": TIMES})
    assert np.array_equal(On(Missing(RBF()), ["day"])(frame)[2], [0, 0, 1, 0])
    with pytest.raises(ValueError, match="missing"):
        On(RBF(), ["day"])(frame)
