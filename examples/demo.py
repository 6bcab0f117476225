"""From a table to a saved model: fit, evaluation on held-out rows, predictions, an explanation, and a report."""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter

import polars as pl

from representer import explain, fit_table, save
from representer.tables.demo_table import DEMO_TARGET, demo_table
from representer.tables.effects import column_effects
from representer.tables.report import report_html, report_json

out = Path(sys.argv[1] if len(sys.argv) > 1 else "representer-demo")
seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 15.0
out.mkdir(parents=True, exist_ok=True)
start = perf_counter()

print(f"Prices of flats, from {demo_table()}:")
fit = fit_table(demo_table(), DEMO_TARGET, time_limit=seconds, tell=lambda text: print(f"  ... {text}"))
print(f"\n{fit}\n")

table = pl.read_csv(demo_table())
print(f"Predictions of three flats, with bands:\n{fit.predict(table.head(3))}\n")
print(f"Why the first flat has its price:\n{explain(fit, table, row=0, n=2)}\n")

effects = column_effects(fit, table)
(out / "report.html").write_text(report_html(fit.outcome, effects), encoding="utf-8")
(out / "report.json").write_text(report_json(fit.outcome, effects), encoding="utf-8")
save(fit.model, out / "model.repr")
print(f"Done in {perf_counter() - start:.0f} s. Open the report: {(out / 'report.html').resolve()}")
