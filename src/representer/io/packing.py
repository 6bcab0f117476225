"""Which values of a long collection are packed into one array, and how they are unpacked."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, pairwise
from typing import Any

import numpy as np

from representer.io.frames import WITH_GAPS
from representer.io.registry import CLASS_NAMES, RECORDS
from representer.io.tensor_layout import TYPE_NAMES

COLLECTIONS: dict[type, str] = {list: "list", tuple: "tuple", set: "set", frozenset: "frozenset", dict: "dict"}
COLLECTED: dict[str, Any] = {kind: made for made, kind in COLLECTIONS.items()}
PLAIN_ARRAYS = "biuf"
"""Kinds of arrays that a file holds as they are."""
LONG = 16
"""Smallest length of a collection that is packed."""
OBJECT_BYTES = {"numbers": 40, "scalars": 40, "texts": 88, "merged": 24, "array": 144} | {
    **{"list": 72, "tuple": 64, "set": 240, "frozenset": 240, "dict": 248},
}
"""Bytes that an object takes, with its place in a list; of a collection, those without parts."""
COLUMN_BYTES = {False: 1536, True: 5120}
"""Bytes that a column of a frame takes without its values, and one of a type with levels, gaps or a zone."""
WORD_BYTES = {"Categorical": 160, "Enum": 160}
"""Bytes that a word of a column takes, beyond those of Python, where all words are in a table."""
PART_BYTES = {"list": 8, "tuple": 8, "set": 128, "frozenset": 128, "dict": 64}
"""Bytes of each place in a collection; those for the first parts are in a set or dict from the beginning."""
SPLIT_BYTES = 32
"""Bytes that the lengths of parts take while they are found from their ends."""
HASHED_KINDS, FIRST_PARTS = ("set", "frozenset", "dict"), 4


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


def object_bytes(kind: str, count: int) -> int:
    """Bytes that so many objects take in a list."""
    return OBJECT_BYTES[kind] * count


def record_bytes(fields: int, count: int) -> int:
    """Bytes that so many records take in a list."""
    return (96 + 16 * fields) * count


def text_bytes(letters: np.ndarray, count: int) -> int:
    """Bytes that so many strings take in a list; one character beyond ASCII widens all those of its string."""
    return object_bytes("texts", count) + (4 if letters.max(initial=0) > 127 else 1) * len(letters)


def words_bytes(words: list) -> int:
    """Bytes that NumPy's strings take in a list, made of Python's."""
    return 144 * len(words) + 4 * sum(map(len, words))


def collection_bytes(kind: str, lengths: np.ndarray) -> int:
    """Bytes that collections of these lengths take in a list."""
    held = lengths[lengths > FIRST_PARTS].sum() if kind in HASHED_KINDS else lengths.sum()
    return object_bytes(kind, len(lengths)) + PART_BYTES.get(kind, 0) * int(held)


def one_collection_bytes(kind: str, length: int) -> int:
    """Bytes that one collection takes in a list."""
    held = 0 if kind in HASHED_KINDS and length <= FIRST_PARTS else length
    return object_bytes(kind, 1) + PART_BYTES[kind] * held


def csr_bytes(indices: np.ndarray, starts: np.ndarray) -> int:
    """Bytes that the check of a sparse matrix takes: differences of starts, and narrower copies of wide places."""
    return 16 * len(starts) + sum(4 * len(places) for places in (indices, starts) if places.itemsize == 8)


def column_bytes(kind: str, values: np.ndarray, marks: Any) -> int:
    """Bytes that a column of a frame takes beyond its arrays: its head, two copies, and a table of levels or gaps."""
    table = 0 if marks is None else (2 if kind in WITH_GAPS else 128) * marks.size
    if values.dtype.kind != "O":
        return COLUMN_BYTES[bool(kind)] + 2 * max(values.dtype.itemsize, 8) * len(values) + table
    letters = sum(len(value) for value in values if type(value) is str)
    return COLUMN_BYTES[True] + WORD_BYTES.get(kind, 48) * len(values) + 4 * letters + table
