"""The demonstration fits the table that comes along, explains a row, and says where the report lies."""

from representer.cli import demo_command, fit_command
from representer.cli.main import main
from representer.tables.demo_table import demo_table


def test_demo(monkeypatch, folder, table, capsys):
    asked = []
    monkeypatch.setattr(fit_command, "run", lambda options: asked.append(options) or 0)
    monkeypatch.setattr(demo_command, "demo_table", lambda: table)
    assert main(["demo", "--out", str(folder), "--time-limit", "1", "--quiet"]) == 0
    shown = capsys.readouterr().out
    assert (asked[0].target, asked[0].time_limit, asked[0].force, asked[0].quiet) == ("price", 1.0, True, True)
    assert f"$ representer fit {table} --target price" in shown
    assert "by training row" in shown
    assert str(folder / "report.html") in shown
    assert demo_table().exists()
