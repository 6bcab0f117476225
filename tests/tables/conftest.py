"""A table and its fit, for the tests of all that is said about a fit."""

import numpy as np
import polars as pl
import pytest
from quick_tables import make_quick, try_one_family

from representer import fit_table


@pytest.fixture(scope="module", autouse=True)
def one_family():
    """Which family of kernels is chosen is tested with the models that choose."""
    with pytest.MonkeyPatch.context() as patch:
        try_one_family(patch)
        yield


@pytest.fixture(scope="session")
def houses():
    rng, n = np.random.default_rng(0), 90
    size, city = rng.uniform(30.0, 150.0, n), rng.choice(["Oslo", "Rome"], n)
    price = 100.0 * np.sin(size / 20.0) + 30.0 * (city == "Oslo") + 5.0 * rng.normal(size=n)
    rooms = pl.Series([None if i % 9 == 0 else i % 5 + 1.0 for i in range(n)])
    return pl.DataFrame({"nr": np.arange(n), "size": size, "city": city, "rooms": rooms, "price": price})


@pytest.fixture(scope="session")
def houses_fit(houses):
    with pytest.MonkeyPatch.context() as patch:
        make_quick(patch)
        return fit_table(houses, "price", time_limit=60.0)
