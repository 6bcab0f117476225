"""A table and a folder that the command made of it, for the tests of all commands."""

import numpy as np
import polars as pl
import pytest
from quick_tables import make_quick

from representer.cli.main import main


@pytest.fixture(scope="session")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    size = rng.uniform(30.0, 150.0, 60)
    price = 100.0 * np.sin(size / 20.0) + rng.normal(size=60)
    path = tmp_path_factory.mktemp("table") / "houses.csv"
    pl.DataFrame({"size": size, "city": rng.choice(["Oslo", "Rome"], 60), "price": price}).write_csv(path)
    return path


@pytest.fixture(scope="session")
def folder(table):
    out = table.parent / "out"
    with pytest.MonkeyPatch.context() as patch:
        make_quick(patch)
        assert main(["fit", str(table), "--target", "price", "--out", str(out), "--time-limit", "2", "--quiet"]) == 0
    return out
