"""The safetensors layout: 8 bytes with the length of a JSON header, the header, and the arrays one after the other.

Everything is checked against the available bytes before an array is created, and arrays are views of those bytes.
Parsed JSON takes many times the size of its text, so that size is bounded before parsing.
"""

from __future__ import annotations

import json
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

LONGEST_HEADER = 10**8
MOST_ARRAYS = 10_000
TYPE_NAMES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BOOL": "|b1", "I8": "|i1", "U8": "|u1"} | {
    f"{sign}{8 * size}": f"<{sign.lower()}{size}" for sign in "IU" for size in (2, 4, 8)
}
"""Array types by their safetensors names."""

SPARE_BYTES = 2**26
"""Largest memory that reading takes beyond twice the file: tables with hundreds of mixed columns need some."""
PARSED_BYTES = {",": 72, "[": 96, "{": 200, ":": 100}
"""Bytes that each JSON character adds when parsed: an entry with a short string, a list, an object, a key."""


class LayoutError(ValueError):
    """The bytes are not in this layout."""


def write_layout(file: Any, arrays: dict[str, np.ndarray], metadata: dict[str, str]) -> None:
    """Write metadata and arrays in row-major order; wide types come first, so that all are aligned.

    Raises LayoutError before anything is written if the result could not be read.
    """
    _demand(len(arrays) <= MOST_ARRAYS, f"it has {len(arrays)} arrays, and a file may have {MOST_ARRAYS}")
    kinds = {dtype: kind for kind, dtype in TYPE_NAMES.items()}
    header: dict[str, Any] = {"__metadata__": metadata}
    ordered, start = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name)), 0
    for name in ordered:
        array = arrays[name]
        stop = start + array.nbytes
        header[name] = {"dtype": kinds[array.dtype.str], "shape": list(array.shape), "data_offsets": [start, stop]}
        start = stop
    text = json.dumps(header, separators=(",", ":"))
    text += " " * (-len(text) % 8)
    demand_room(text, 8 + len(text) + start)
    file.write(len(text).to_bytes(8, "little") + text.encode())
    for name in ordered:
        file.write(arrays[name].reshape(-1).data)


def demand_room(text: str, size: int) -> None:
    """Raise if a JSON text and its parsed form would take more than the size of the file plus SPARE_BYTES."""
    wide = 4 if "\\u" in text else 1  # one such character makes its whole string wide
    taken = len(text) * (1 + wide) + sum(each * text.count(sign) for sign, each in PARSED_BYTES.items())
    fault = f"{len(text)} bytes of JSON could take {taken / 1e6:.3g} MB, too many for a file of {size} bytes"
    _demand(taken <= size + SPARE_BYTES, fault)


def read_layout(content: bytearray) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Arrays by name, and metadata."""
    length = int.from_bytes(content[:8], "little")
    _demand(len(content) >= 8 and length <= min(len(content) - 8, LONGEST_HEADER), "its header is incomplete")
    try:
        text = str(memoryview(content)[8 : 8 + length], "ascii")
        demand_room(text, len(content))
        header = json.loads(text)
        del text
    except LayoutError:
        raise
    except (ValueError, RecursionError):
        raise LayoutError("its header is not JSON") from None
    _demand(isinstance(header, dict), "its header is not a JSON object")
    metadata = header.pop("__metadata__", {})
    plain = isinstance(metadata, dict) and all(type(value) is str for value in metadata.values())
    _demand(plain, "its metadata are not strings")
    _demand(len(header) <= MOST_ARRAYS, f"it has {len(header)} arrays, and a file may have {MOST_ARRAYS}")
    begin, spans, arrays = 8 + length, [], {}
    for name, entry in header.items():
        arrays[name], span = _array(content, begin, entry)
        spans.append(span)
    ends = [(0, 0), *sorted(spans), (len(content) - begin,) * 2]
    _demand(all(a[1] == b[0] for a, b in pairwise(ends)), "its arrays do not fill the file")
    return arrays, metadata


def _array(content: bytearray, begin: int, entry: Any) -> tuple[np.ndarray, tuple[int, int]]:
    """The array of an entry, and its position after the header."""
    _demand(isinstance(entry, dict) and entry.keys() == {"dtype", "shape", "data_offsets"}, "an array has no shape")
    kind, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    _demand(isinstance(kind, str) and kind in TYPE_NAMES, f"an array is of {kind!r:.20}, which no model has")
    _demand(_naturals(shape) and len(shape) <= 8, "an array has no shape")
    _demand(_naturals(offsets) and len(offsets) == 2, "an array has no offsets")
    dtype, (start, stop) = np.dtype(TYPE_NAMES[kind]), offsets
    fits = start <= stop <= len(content) - begin and stop - start == prod(shape) * dtype.itemsize
    _demand(fits, "an array does not fit its shape or the file")
    array: np.ndarray = np.frombuffer(content, dtype, prod(shape), begin + start if stop > start else 0)
    if kind == "BOOL":
        _demand(bool(array.view(np.uint8).max(initial=0) <= 1), "booleans are not 0 or 1")
    _demand((begin + start) % dtype.itemsize == 0 or stop == start, "an array is not aligned")
    return array.reshape(shape), (start, stop)


def _naturals(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int and value >= 0 for value in values)


def _demand(holds: bool, fault: str) -> None:
    if not holds:
        raise LayoutError(fault)
