"""The safetensors layout: 8 bytes with the length of a JSON header, the header, and the arrays one after the other.

Everything is checked against the available bytes before an array is created, and arrays are views of one buffer of
those bytes. Parsed JSON takes many times the size of its text, which is counted before parsing.
"""

from __future__ import annotations

import json
from itertools import pairwise
from math import prod
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from representer.io.allowance import Allowance, MemoryLimitError, json_bytes, padding_for

LONGEST_HEADER = 10**8
MOST_ARRAYS = 10_000
TYPE_NAMES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BOOL": "|b1", "I8": "|i1", "U8": "|u1"} | {
    f"{sign}{8 * size}": f"<{sign.lower()}{size}" for sign in "IU" for size in (2, 4, 8)
}
"""Array types by their safetensors names."""

PADDING = "padding"
"""Name of an array of zeros at the end that is never read: it makes a file as long as reading it takes memory."""
ENTRY_BYTES = 600
"""Bytes that each array takes beyond its numbers."""


class LayoutError(ValueError):
    """The bytes are not in this layout."""


class Place(NamedTuple):
    """Type, shape and position of an array, counted from the end of the header."""

    kind: str
    shape: list[int]
    start: int
    stop: int


def write_layout(file: BinaryIO, arrays: dict[str, np.ndarray], metadata: dict[str, str], objects: int = 0) -> None:
    """Write metadata and arrays in row-major order; wide types come first, so that all are aligned.

    ``objects`` are the bytes that reading will take beyond those of this layout. Padding makes the file long enough
    for that; it is a hole where file systems have holes. Raises LayoutError before anything is written if the result
    could not be read.
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
    text = _header(header)
    taken = json_bytes(text) + start + ENTRY_BYTES * (len(arrays) + 1) + objects + 2**10
    padding = padding_for(len(text) + start, taken)
    if padding:
        header[PADDING] = {"dtype": "U8", "shape": [padding], "data_offsets": [start, start + padding]}
        text = _header(header)
    _demand(len(text) <= LONGEST_HEADER, f"{len(text)} bytes of JSON, and a file may have {LONGEST_HEADER}")
    file.write(len(text).to_bytes(8, "little") + text.encode())
    for name in ordered:
        file.write(arrays[name].reshape(-1).data)
    if padding:
        file.seek(padding - 1, 1)
        file.write(b"\0")


def _header(header: dict[str, Any]) -> str:
    text = json.dumps(header, separators=(",", ":"))
    return text + " " * (-len(text) % 8)


def read_layout(file: BinaryIO, allowance: Allowance) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Arrays by name, and metadata."""
    length, size = int.from_bytes(file.read(8), "little"), allowance.size - 8
    _demand(size >= 0 and length <= min(size, LONGEST_HEADER), "its header is incomplete")
    allowance.take(2 * length, "its header")
    try:
        text = str(file.read(length), "ascii")
        _demand(len(text) == length, "its header is incomplete")
        allowance.take(json_bytes(text) - 2 * length, f"{length} bytes of JSON")
        header = json.loads(text)
        del text
    except (LayoutError, MemoryLimitError):
        raise
    except (ValueError, RecursionError):
        raise LayoutError("its header is not JSON") from None
    _demand(isinstance(header, dict), "its header is not a JSON object")
    metadata = header.pop("__metadata__", {})
    plain = isinstance(metadata, dict) and all(type(value) is str for value in metadata.values())
    _demand(plain, "its metadata are not strings")
    _demand(len(header) <= MOST_ARRAYS, f"it has {len(header)} arrays, and a file may have {MOST_ARRAYS}")
    places = {name: _place(entry, size - length) for name, entry in header.items()}
    ends = [(0, 0), *sorted((place.start, place.stop) for place in places.values()), (size - length,) * 2]
    _demand(all(a[1] == b[0] for a, b in pairwise(ends)), "its arrays do not fill the file")
    padding = places.pop(PADDING, None)
    _demand(padding is None or padding.stop == size - length, "its padding is not at its end")
    count = size - length if padding is None else padding.start
    allowance.take(count + ENTRY_BYTES * len(places), "its arrays")
    buffer = np.empty(count, np.uint8)
    _demand(file.readinto(buffer.data) == count, "its arrays are incomplete")  # type: ignore[attr-defined]
    return {name: _array(buffer, place) for name, place in places.items()}, metadata


def _place(entry: Any, size: int) -> Place:
    """The place of an array among ``size`` bytes, from its entry in the header."""
    _demand(isinstance(entry, dict) and entry.keys() == {"dtype", "shape", "data_offsets"}, "an array has no shape")
    kind, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    _demand(isinstance(kind, str) and kind in TYPE_NAMES, f"an array is of {kind!r:.20}, which no model has")
    _demand(_naturals(shape) and len(shape) <= 8, "an array has no shape")
    _demand(_naturals(offsets) and len(offsets) == 2, "an array has no offsets")
    width, (start, stop) = np.dtype(TYPE_NAMES[kind]).itemsize, offsets
    fits = start <= stop <= size and stop - start == prod(shape) * width
    _demand(fits, "an array does not fit its shape or the file")
    _demand(start % width == 0 or stop == start, "an array is not aligned")
    return Place(kind, shape, start, stop)


def _array(buffer: np.ndarray, place: Place) -> np.ndarray:
    array: np.ndarray = buffer[place.start : place.stop].view(TYPE_NAMES[place.kind])
    if place.kind == "BOOL":
        _demand(bool(array.view(np.uint8).max(initial=0) <= 1), "booleans are not 0 or 1")
    return array.reshape(place.shape)


def _naturals(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int and value >= 0 for value in values)


def _demand(holds: bool, fault: str) -> None:
    if not holds:
        raise LayoutError(fault)
