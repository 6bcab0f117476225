"""The demonstration runs to its end and has something to show."""

import runpy
from pathlib import Path

DEMO = Path(__file__).parents[1] / "examples" / "demo.py"


def test_demo_runs(capsys):
    runpy.run_path(str(DEMO), run_name="__main__")
    assert capsys.readouterr().out.strip()
