"""Inputs, targets and weights wherever they are stored: blocks of rows, and sums over them."""

from representer.rows.arrays import ArrayRows
from representer.rows.base import Rows
from representer.rows.read import rows

__all__ = ["ArrayRows", "Rows", "rows"]
