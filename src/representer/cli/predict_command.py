"""`representer predict`: a table of predictions."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from representer.cli.main import OK
from representer.cli.output import require_folder, require_free, write_by_rename
from representer.io import load
from representer.tables.reading import TableError, read_table
from representer.tables.table_model import TableModel


def table_model(path: str) -> TableModel:
    """The model of a table in a file, or an error that says what the file holds."""
    model = load(path)
    if not isinstance(model, TableModel):
        raise TableError(f"{path} holds a {type(model).__name__}, not a model of a table; fit one by representer fit.")
    return model


def run(options: Namespace) -> int:
    """Predict all rows."""
    out = Path(options.out) if options.out else None
    if out is not None:
        if not out.parent.is_dir():
            raise TableError(f"There is no folder {out.parent} for {out.name}; make it, or choose another place.")
        require_folder(out.parent)
        require_free([out], options.force)
    frame: Any = table_model(options.model).predict(read_table(options.table, options.encoding))
    write = frame.write_json if options.json else frame.write_csv
    if out is None:
        sys.stdout.write(write())
    else:
        write_by_rename(out, write)
    return OK
