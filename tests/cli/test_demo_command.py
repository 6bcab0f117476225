"""The demonstration fits, explains, and says where the report lies."""

from quick_tables import make_quick

from representer.cli import demo_command
from representer.cli.main import main


def test_demo(monkeypatch, table, tmp_path, capsys):
    make_quick(monkeypatch)
    monkeypatch.setattr(demo_command, "demo_table", lambda: table)
    out = tmp_path / "demo"
    assert main(["demo", "--out", str(out), "--time-limit", "1", "--quiet"]) == 0
    shown = capsys.readouterr().out
    assert f"$ representer fit {table} --target price" in shown
    assert str(out / "report.html") in shown
