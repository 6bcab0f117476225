"""Predictions to a file or to stdout; models and tables that do not fit."""

import io
import json
import re

import numpy as np
import polars as pl
import pytest

from representer import KernelRidge, load, save
from representer.cli.main import main


def test_predictions(folder, table, tmp_path, capsys):
    model, out = str(folder / "model.repr"), tmp_path / "p.csv"
    assert main(["predict", model, str(table), "-o", str(out)]) == 0
    found = pl.read_csv(out)
    assert found.columns == ["prediction", "std", "lower", "upper", "unfamiliar"]
    np.testing.assert_allclose(found["prediction"], load(model).predict(table)["prediction"])
    assert main(["predict", model, str(table)]) == 0
    assert pl.read_csv(io.StringIO(capsys.readouterr().out)).equals(found)
    assert main(["predict", model, str(table), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 60
    assert main(["predict", model, str(table), "-o", str(out)]) == 2
    assert main(["predict", model, str(table), "-o", str(out), "--force"]) == 0


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("column", "no column 'size'"),
        ("type", "'size' holds numbers, but row 1"),
        ("half", "is not a model file"),
        ("newer", "newer than"),
        ("other", "holds a KernelRidge"),
        ("none", "There is no file"),
    ],
)
def test_what_does_not_fit(what, words, folder, table, tmp_path, capsys):
    model, new, out = tmp_path / "m.repr", tmp_path / "new.csv", tmp_path / "out.csv"
    content = (folder / "model.repr").read_bytes()
    contents = {
        "half": content[: len(content) // 2],
        "newer": re.sub(rb'"format":"\d"', b'"format":"9"', content),
        "other": None,
        "none": None,
    }
    if contents.get(what, content) is not None:
        model.write_bytes(contents.get(what, content))
    if what == "other":
        save(KernelRidge(), model)
    frame = pl.read_csv(table)
    frame = frame.drop("size") if what == "column" else frame
    frame = frame.with_columns(size=pl.lit("large")) if what == "type" else frame
    frame.write_csv(new)
    assert main(["predict", str(model), str(new), "-o", str(out)]) == 2
    shown = capsys.readouterr().err
    assert words in shown
    assert shown.count("\n") == 1
    assert not out.exists()
