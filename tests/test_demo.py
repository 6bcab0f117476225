"""The demonstration runs to its end, and says where its report lies."""

import runpy
import sys
from pathlib import Path

from quick_tables import make_quick

from representer import load
from representer.tables import demo_table

DEMO = Path(__file__).parents[1] / "examples" / "demo.py"


def test_demo_runs(capsys, tmp_path, monkeypatch):
    few = tmp_path / "flats.csv"
    few.write_text("".join(demo_table.demo_table().read_text(encoding="utf-8").splitlines(keepends=True)[:90]), "utf-8")
    monkeypatch.setattr(demo_table, "demo_table", lambda: few)
    make_quick(monkeypatch)
    monkeypatch.setattr(sys, "argv", ["demo.py", str(tmp_path / "out"), "0.5"])
    runpy.run_path(str(DEMO), run_name="__main__")
    said = capsys.readouterr().out
    report = tmp_path / "out" / "report.html"
    assert f"Open the report: {report.resolve()}" in said
    assert "<!DOCTYPE html>" in report.read_text(encoding="utf-8")
    assert load(tmp_path / "out" / "model.repr").target.name == "price"
