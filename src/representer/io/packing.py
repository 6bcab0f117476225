"""Which values of a long collection are packed into one array, and how they are unpacked."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, pairwise
from typing import Any

import numpy as np

from representer.io.registry import CLASS_NAMES, RECORDS
from representer.io.tensor_layout import TYPE_NAMES

COLLECTIONS: dict[type, str] = {list: "list", tuple: "tuple", set: "set", frozenset: "frozenset", dict: "dict"}
COLLECTED: dict[str, Any] = {kind: made for made, kind in COLLECTIONS.items()}
LONG = 16
"""Smallest length of a collection that is packed."""


def sort_of(value: Any) -> tuple[str, Any]:
    """The sort of a value: its kind, and a detail shared by its parts. Values of one sort are packed together."""
    kind = type(value)
    if value is None or kind is str:
        return "texts", None
    if kind in (bool, float) or (kind is int and -(2**63) <= value < 2**63):
        return "numbers", {bool: "?", float: "<f8", int: "<i8"}[kind]
    if kind is np.str_:
        return "scalars", None
    if isinstance(value, np.generic | np.ndarray) and value.dtype.str in TYPE_NAMES.values():
        if kind is not np.ndarray:
            return "scalars", value.dtype.str
        if value.ndim == 1 or (value.ndim and value.flags.c_contiguous):
            return "array", (value.dtype.str, value.shape[1:])
    if kind in COLLECTIONS:
        return COLLECTIONS[kind], None
    return ("record", CLASS_NAMES[kind]) if CLASS_NAMES.get(kind) in RECORDS else ("odd", None)


def bounds(ends: np.ndarray, length: int) -> Iterator[tuple[int, int]]:
    """Start and end of each part, given the ends; the parts must fill the length."""
    rising = bool(np.all(ends[1:] >= ends[:-1])) and (not len(ends) or ends[0] >= 0)
    if not rising or (ends[-1] if len(ends) else 0) != length:
        raise ValueError("its parts do not fit their ends")
    return pairwise(chain([0], map(int, ends)))


def merged(parts: list, order: np.ndarray) -> list:
    """Merge several lists into one; ``order`` says from which list each value comes."""
    if np.bincount(order, minlength=len(parts)).tolist() != list(map(len, parts)):
        raise ValueError("its parts do not fit their order")
    left = list(map(iter, parts))
    return [next(left[code]) for code in order]
