"""One row is explained, counted from 1."""

import json
from dataclasses import asdict, replace

import pytest

from representer import explain, load
from representer.cli.main import main


def test_a_row(folder, table, capsys):
    model = str(folder / "model.repr")
    assert main(["explain", model, str(table), "--row", "17", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["value"] == pytest.approx(load(model).predict(table)["prediction"][16])
    direct = explain(load(model), table, 16)
    assert (found["row"], found["up"][0]) == (17, asdict(replace(direct.up[0], row=direct.up[0].row + 1)))
    assert found["down"][0]["row"] == direct.down[0].row + 1
    assert main(["explain", model, str(table)]) == 0
    assert "by size" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--row", "61"], ["--row", "0"], ["--top", "0"]])
def test_rows_that_are_not_there(folder, table, words, capsys):
    assert main(["explain", str(folder / "model.repr"), str(table), *words]) == 2
    assert "give a number" in capsys.readouterr().err or words[0] == "--row"
