"""`representer demo`: fit and explain a table that comes with the library."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from representer.cli import explain_command, fit_command
from representer.cli.main import parser
from representer.tables.demo_table import DEMO_TARGET, demo_table


def run(options: Namespace) -> int:
    """Fit and explain, printing the commands used and the location of the report."""
    table, out = str(demo_table()), Path(options.out)
    limit = f"{options.time_limit:g}"
    words = ["fit", table, "--target", DEMO_TARGET, "--out", str(out), "--time-limit", limit, "--force"]
    print(f"$ representer {' '.join(words)}", flush=True)
    code = fit_command.run(parser().parse_args([*words, *["--quiet"] * options.quiet]))
    words = ["explain", str(out / "model.repr"), table, "--row", "1"]
    print(f"\n$ representer {' '.join(words)}", flush=True)
    explain_command.run(parser().parse_args(words))
    print(f"\nThe report is {(out / 'report.html').resolve()}: open it in a browser.")
    return code
