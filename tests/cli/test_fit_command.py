"""The folder of a fit, its decisions again, requirements, and bad input that leaves nothing behind."""

import json
import sys
import tomllib
from types import SimpleNamespace

import polars as pl
import pytest

from representer.cli import fit_command
from representer.cli.fit_command import FILES, bytes_of, exit_code, required
from representer.cli.main import main, parser
from representer.io import load
from representer.tables.fitting import TableFit
from representer.tables.outcome import Score


def test_the_folder(folder, table):
    assert sorted(each.name for each in folder.iterdir()) == sorted(FILES)
    report = json.loads((folder / "report.json").read_text())
    assert report["target"] == "price"
    assert report["reproduce"]["command"].startswith(f"representer fit {table} --target price")
    rows = pl.read_csv(folder / "test_predictions.csv")
    assert rows.columns == ["row", "truth", "prediction", "std", "lower", "upper", "unfamiliar"]
    assert rows["row"].is_sorted()
    assert 12 <= len(rows) <= 60  # as many folds as the time allows
    assert (folder / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert load(folder / "model.repr").target.name == "price"
    assert tomllib.loads((folder / "fit.toml").read_text())["time_limit"] == 2.0


def test_decisions_are_repeated_from_the_file(folder, table):
    options = parser().parse_args(["fit", "--config", str(folder / "fit.toml"), "--seed", "7", "--type", "a=b=text"])
    decisions = fit_command.decided(options)
    assert (decisions.table, decisions.target, decisions.seed) == (str(table), "price", 7)
    assert decisions.types == {"a=b": "text"}
    assert decisions.command().endswith("--time-limit 2.0 --seed 7 --type a=b=text")


def test_decisions_are_repeated_from_another_folder(table, tmp_path, monkeypatch):
    monkeypatch.chdir(table.parent)
    decisions = fit_command.decided(parser().parse_args(["fit", table.name, "--target", "price"]))
    (tmp_path / "fit.toml").write_text(decisions.toml())
    monkeypatch.chdir(tmp_path)
    assert fit_command.decided(parser().parse_args(["fit", "--config", "fit.toml"])).table == str(table)


def test_a_plan_fits_nothing(table, capsys, monkeypatch):
    monkeypatch.setattr(fit_command, "Fitting", lambda *args: pytest.fail("it fits"))
    assert main(["fit", str(table), "--target", "price", "--type", "city=skipped", "--plan"]) == 0
    shown = capsys.readouterr().out
    assert "regression of 'price'" in shown
    assert "the target" in shown
    assert main(["fit", str(table), "--target", "city", "--plan", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["task"] == "classification"


def test_sizes():
    assert [bytes_of(text) for text in ("500", "2kb", "1.5 MB", "4G")] == [500, 2000, 1_500_000, 4 * 10**9]


def test_requirements():
    assert required("R2>=0.8") == ("R2", ">=", 0.8)
    assert required(" log loss < 0.5") == ("log loss", "<", 0.5)
    outcome = SimpleNamespace(scores=(Score("R2", 0.7, 0.6, 0.8, True),), converged=True)
    told = []
    fit = SimpleNamespace(outcome=outcome, stopped=False)
    assert exit_code(fit, [("r2", ">=", 0.6)], told.append) == 0
    assert exit_code(fit, [("R2", ">", 0.8)], told.append) == 3
    assert "R2 is 0.7" in told[0]
    assert exit_code(SimpleNamespace(outcome=outcome, stopped=True), [], told.append) == 130
    outcome.converged = False
    assert exit_code(fit, [], told.append) == 3


BAD = {
    "no file": (["nothing.csv", "--target", "y"], "There is no file"),
    "no table": (["picture.csv", "--target", "y"], "binary data"),
    "typo": (["good.csv", "--target", "prise"], "did you mean 'price'?"),
    "no target": (["good.csv"], "No target is given"),
    "one class": (["good.csv", "--target", "one"], "one value only"),
    "id": (["good.csv", "--target", "id"], "is an id"),
    "empty target": (["good.csv", "--target", "gone"], "missing in all rows"),
    "twice": (["twice.csv", "--target", "a"], "two columns named 'a'"),
    "type": (["good.csv", "--target", "price", "--type", "price"], "has no type"),
    "types": (["good.csv", "--target", "price", "--type", "one=colour"], "it may be one of"),
    "loss": (["good.csv", "--target", "price", "--loss", "poison"], "did you mean 'poisson'?"),
    "group": (["good.csv", "--target", "price", "--group", "shop"], "for the group"),
    "limit": (["good.csv", "--target", "price", "--time-limit", "0"], "above zero"),
    "require": (["good.csv", "--target", "price", "--require", "R2"], "is not understood"),
    "score": (["good.csv", "--target", "price", "--require", "AUC>0.8"], "no score 'AUC' to require"),
    "number": (["good.csv", "--target", "price", "--require", "R2>=e"], "is not understood"),
    "config": (["good.csv", "--config", "bad.toml"], "unknown setting 'tarket'; did you mean 'target'"),
    "kind": (["good.csv", "--config", "kind.toml"], "of the wrong type for"),
    "no toml": (["good.csv", "--config", "good.csv"], "is not a fit.toml file"),
    "memory": (["good.csv", "--target", "price", "--memory", "much"], "write it as 500MB"),
    "small": (["good.csv", "--target", "price", "--memory", "1KB"], "give more"),
    "no config": (["good.csv", "--config", "nothing.toml"], "no file or folder nothing.toml"),
    "out": (["good.csv", "--target", "price", "--out", "good.csv/out"], "is a file"),
    "encoding": (["good.csv", "--target", "price", "--encoding", "klingon"], "no encoding 'klingon'"),
    "seed": (["good.csv", "--target", "price", "--seed", "-3"], "The seed is -3"),
    "taken": (["good.csv", "--target", "price", "--out", "taken"], "give --force"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence_and_leaves_nothing(case, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [f"{i},{i * 1.5 % 7},k,,{i % 9}" for i in range(60)]
    (tmp_path / "good.csv").write_text("\n".join(["id,price,one,gone,x", *rows]))
    (tmp_path / "twice.csv").write_text("a,a\n1,2\n")
    (tmp_path / "picture.csv").write_bytes(b"\x89PNG\x00\x01")
    (tmp_path / "bad.toml").write_text('tarket = "price"')
    (tmp_path / "kind.toml").write_text("target = 3")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "model.repr").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    words, sentence = BAD[case]
    assert main(["fit", *words]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert sentence in shown.err
    assert shown.err.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


@pytest.fixture
def fitted(table, folder, monkeypatch):
    """A fit that is at hand: only what is written of it is tested."""
    model = load(folder / "model.repr")
    fit = TableFit(model, model.outcome)
    monkeypatch.setattr(fit_command, "Fitting", lambda *args: SimpleNamespace(run=lambda: fit))
    return ["fit", str(table), "--target", "price", "--quiet", "--out"]


def test_an_interrupted_report_keeps_the_model(fitted, tmp_path, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(fit_command, "column_effects", interrupted)
    assert main([*fitted, str(tmp_path / "out")]) == 130
    assert sorted(each.name for each in (tmp_path / "out").iterdir()) == sorted(FILES)


def test_a_report_that_fails_leaves_old_files(fitted, tmp_path, monkeypatch, capsys):
    for name in FILES:
        (tmp_path / name).write_text("old")

    def full(model, path):
        path.write_text("half")
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(fit_command, "save", full)
    assert main([*fitted, str(tmp_path), "--force"]) == 2
    assert "No space left" in capsys.readouterr().err
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == dict.fromkeys(FILES, "old")


def test_missing_packages_are_told_before_the_fit(table, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(fit_command, "Fitting", lambda *args: pytest.fail("it fits"))
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert main(["fit", str(table), "--target", "price", "--out", str(tmp_path / "out")]) == 2
    assert "pip install 'representer[cli]'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
