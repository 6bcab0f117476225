"""`representer explain`: contributions of training rows and columns to a prediction."""

from __future__ import annotations

import json
from argparse import Namespace

from representer.cli.main import OK
from representer.cli.predict_command import table_model
from representer.tables.explaining import explain
from representer.tables.reading import TableError, read_table


def run(options: Namespace) -> int:
    """Explain one row."""
    model, table = table_model(options.model), read_table(options.table, options.encoding)
    if not 1 <= options.row <= len(table):
        raise TableError(f"--row is {options.row}, and {table.source} has the rows 1 to {len(table):,}.")
    if options.top < 1:
        raise TableError(f"--top is {options.top}; give a number of rows above zero.")
    found = explain(model, table, options.row - 1, n=options.top).counted_from_1()
    print(json.dumps(found.as_dict(), indent=2, ensure_ascii=False, default=str) if options.json else found)
    return OK
