"""The table of the demonstration is the one that its script writes, small, and of mixed types."""

import csv
import runpy
from pathlib import Path

from representer.tables.column_types import column_types
from representer.tables.demo_table import DEMO_TARGET, demo_table
from representer.tables.reading import read_table

SCRIPT = Path(__file__).parents[2] / "tools" / "demo_data.py"


def test_it_is_what_the_script_writes():
    made = runpy.run_path(str(SCRIPT))
    with open(demo_table(), newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == made["HEADER"]
    assert rows == [[str(cell) for cell in row] for row in made["rows"]()]
    assert demo_table().stat().st_size < 200_000


def test_its_columns_are_of_many_types():
    types = column_types(read_table(demo_table()), None)
    assert types["flat"].type == "id"
    assert types["district"].type == "category"
    assert types["area_m2"].type == "number"
    assert types["built"].missing > 0
    assert types[DEMO_TARGET].type == "number"
