"""The table that the demonstration fits: prices of flats, made up by ``tools/demo_data.py``."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

DEMO_TARGET = "price"
"""The column to be predicted."""


def demo_table() -> Path:
    """The path of the table."""
    return Path(str(resources.files("representer.tables").joinpath("flats.csv")))
