"""Values from the nodes of a file, after checks of what they point to and of the memory that they would take."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
from scipy import sparse

from representer.functions import Function
from representer.io.allowance import Allowance, MemoryLimitError
from representer.io.frames import WITH_GAPS, frame_of
from representer.io.packing import (
    COLLECTED,
    PLAIN_ARRAYS,
    SPLIT_BYTES,
    bounds,
    collection_bytes,
    column_bytes,
    csr_bytes,
    merged,
    object_bytes,
    one_collection_bytes,
    record_bytes,
    text_bytes,
    words_bytes,
)
from representer.io.registry import CLASS_NAMES, NAMED_CLASSES, RECORDS
from representer.kernels.graph_inputs import Graphs

MOST_LEVELS = 128
"""Largest depth of nesting: kernels can be nested 100 levels deep, and stand inside a model."""
SPARE_PARTS = 10**6
"""Parts of nested keys that are hashed in addition to those that the bytes of a file can hold."""
NUMBERS = "|b1", "<i8", "<f8"
"""Types of numbers in long lists."""
OBJECT_COLUMNS = {"str", "string", "String", "Categorical", "Enum"}
"""Types of columns whose values are strings."""


class LoadError(ValueError):
    """A file is damaged, is not a model, or comes from a newer version."""


class Reader:
    """Builds values from nodes, after checks; raises LoadError for anything that a Writer would not produce."""

    def __init__(self, arrays: dict[str, np.ndarray], allowance: Allowance):
        self.arrays, self.allowance = arrays, allowance
        self.values: list[Any] = []
        self._levels: list[int] = []
        self._level = 0
        self._taken: set[int] = set()
        self._stored = sum(array.nbytes for array in arrays.values())
        self._hashed = 0

    def read(self, nodes: Any) -> None:
        """Read all nodes into ``values``."""
        _require(isinstance(nodes, list), "it has no table of values")
        for i, node in enumerate(nodes):
            _require(isinstance(node, list) and bool(node) and isinstance(node[0], str), f"value {i} is no node")
            build = getattr(self, f"_read_{node[0]}", None)
            _require(build is not None, f"value {i} is of an unknown kind")
            self._level = 0
            try:
                value = build(*node[1:])  # type: ignore[misc]
            except LoadError as error:
                raise LoadError(f"value {i}: {error}") from None
            except MemoryLimitError:
                raise
            except (TypeError, ValueError, AttributeError, LookupError, ArithmeticError) as error:
                raise LoadError(f"value {i} ({node[0]}) is not as it was saved: {error}") from None
            _require(self._level < MOST_LEVELS, f"value {i} is nested {MOST_LEVELS} levels deep")
            self.values.append(value)
            self._levels.append(self._level + 1)

    def value(self, slot: Any) -> Any:
        """What a slot stands for: itself, or the value of an earlier node."""
        if not isinstance(slot, list):
            _require(not isinstance(slot, dict), "a plain value was expected")
            return slot
        _require(len(slot) == 1 and type(slot[0]) is int and 0 <= slot[0] < len(self.values), "it points nowhere")
        self._level = max(self._level, self._levels[slot[0]])
        return self.values[slot[0]]

    def _array(self, slot: Any, dtype: Any = None) -> np.ndarray:
        array = self.value(slot)
        _require(isinstance(array, np.ndarray) and dtype in (None, array.dtype), "an array was expected")
        return array

    def _once(self, value: Any) -> Any:
        """An array or list that is copied into this value only: many copies of one would fill the memory."""
        _require(id(value) not in self._taken, "its parts are those of another value")
        self._taken.add(id(value))
        return value

    def _allow(self, taken: int) -> None:
        """Raise before objects are made that would take too much memory."""
        self.allowance.take(taken, "its words, numbers and sets")

    def _keys(self, keys: Iterable) -> Iterable:
        """Values that are to be hashed: a tuple of two equal tuples of two equal tuples has very many parts."""
        most = 4 * self._stored + SPARE_PARTS
        for key in keys:
            left = [] if type(key) in (str, int) else [key]
            while left:
                part = left.pop()
                parts = part if type(part) in (tuple, frozenset) else _fields(part)
                self._hashed += len(parts)
                _require(self._hashed <= most, "its keys have too many parts")
                left.extend(parts)
            yield key

    def _named(self, slots: Any) -> dict[str, Any]:
        _require(isinstance(slots, dict), "names were expected")
        return {name: self.value(slot) for name, slot in slots.items()}

    def _read_float(self, text: str) -> float:
        _require(text in ("nan", "inf", "-inf"), "it is no such number")
        return float(text)

    def _read_array(self, name: str, order: str) -> np.ndarray:
        array = self.arrays.pop(name)
        _require(order == "C" or (order == "F" and array.ndim == 2), "its order is unknown")
        return array if order == "C" else array.T

    def _read_scalar(self, slot: Any) -> Any:
        array = self._array(slot)
        _require(array.shape == () and array.dtype.kind in PLAIN_ARRAYS + "mMU", "it is no number")
        return array[()]

    def _read_dtype(self, text: str) -> np.dtype:
        _require(isinstance(text, str) and len(text) == 3, "it is no dtype")
        found = np.dtype(text)
        _require(found.kind in PLAIN_ARRAYS, "it is no dtype of numbers")
        return found

    def _read_list(self, slots: list) -> list:
        return self._collected("list", [self.value(slot) for slot in _listed(slots)])

    def _read_tuple(self, slots: list) -> tuple:
        return self._collected("tuple", [self.value(slot) for slot in _listed(slots)])

    def _read_set(self, slots: list) -> set:
        return self._collected("set", [self.value(slot) for slot in _listed(slots)])

    def _read_frozenset(self, slots: list) -> frozenset:
        return self._collected("frozenset", [self.value(slot) for slot in _listed(slots)])

    def _read_dict(self, pairs: list) -> dict:
        return self._collected("dict", [(self.value(key), self.value(part)) for key, part in _listed(pairs)])

    def _read_packed(self, slot: Any, kind: str) -> Any:
        return self._collected(kind, self._unpacked(slot))

    def _collected(self, kind: str, values: list) -> Any:
        """A collection of values, or of pairs."""
        self._allow(one_collection_bytes(kind, len(values)))
        return self._made(kind, values)

    def _made(self, kind: str, values: list) -> Any:
        """A collection whose memory has been counted."""
        if kind in ("set", "frozenset"):
            return COLLECTED[kind](self._keys(values))
        if kind == "dict":
            for _ in self._keys(key for key, _ in values):
                pass
        return COLLECTED[kind](values)

    def _unpacked(self, slot: Any) -> list:
        """A list whose parts become those of this value only."""
        values = self._once(self.value(slot))
        _require(isinstance(values, list), "a list was expected")
        return values

    def _read_numbers(self, slot: Any) -> list:
        row = self._row(slot)
        _require(row.dtype.str in NUMBERS, "its numbers are of another type")
        self._allow(object_bytes("numbers", len(row)))
        return row.tolist()

    def _read_scalars(self, slot: Any) -> list:
        if isinstance(self.value(slot), list):
            texts = self._unpacked(slot)
            _require(all(type(text) is str for text in texts), "words were expected")
            self._allow(words_bytes(texts))
            return [np.str_(text) for text in texts]
        row = self._row(slot)
        self._allow(object_bytes("scalars", len(row)))
        return list(row)

    def _read_mixed(self, slots: Any, codes: Any) -> list:
        parts, order = [self._unpacked(slot) for slot in _listed(slots)], self._row(codes, np.uint8)
        self._allow(object_bytes("merged", len(order)))
        return merged(parts, order)

    def _read_split(self, slot: Any, ends: Any, kind: str) -> list:
        joined = self._once(self._array(slot)) if kind == "array" else self._unpacked(slot)
        row = self._row(ends, np.int64)
        self._allow(SPLIT_BYTES * len(row))
        pairs = bounds(row, len(joined))
        self._allow(collection_bytes(kind, np.diff(row, prepend=0)))
        if kind == "array":
            return [np.asarray(joined[a:b]) for a, b in pairs]
        return [self._made(kind, joined[a:b]) for a, b in pairs]

    def _read_records(self, name: str, fields: Any) -> list:
        kind, columns = RECORDS[name], [self._unpacked(slot) for slot in fields.values()]
        _require(bool(columns), "it has no fields")
        self._allow(record_bytes(len(columns), len(columns[0])))
        return [kind(**dict(zip(fields, row, strict=True))) for row in zip(*columns, strict=True)]

    def _row(self, slot: Any, dtype: Any = None) -> np.ndarray:
        """A one-dimensional array of numbers that is unpacked into this value only."""
        array = self._once(self._array(slot, dtype))
        _require(array.ndim == 1 and array.dtype.kind in PLAIN_ARRAYS, "a row of numbers was expected")
        return array

    def _read_texts(self, letters: Any, ends: Any, missing: Any, kind: str, shape: Any) -> Any:
        row, stops = self._row(letters, np.uint8), self._row(ends, np.int64)
        self._allow(text_bytes(row, len(stops)))
        data = row.data
        texts: list = [str(data[a:b], "utf-8", "surrogatepass") for a, b in bounds(stops, len(data))]
        for i in self._row(missing, np.int64):
            texts[i] = None
        if kind in ("list", "tuple"):
            return texts if kind == "list" else tuple(texts)
        _require(kind in ("O", "U") and (kind == "O" or None not in texts), "its kind is unknown")
        # an array of strings is as wide as its longest one: a single long string must not widen all of them
        widest = max(map(len, texts), default=0) if kind == "U" else 0
        _require(4 * widest * len(texts) <= 8 * len(data) + 64 * len(texts) + 4096, "its words are too unequal")
        self._allow(4 * widest * len(texts))
        array = np.empty(len(texts), object if kind == "O" else f"<U{max(widest, 1)}")
        array[:] = texts
        return array.reshape(_shape(shape))

    def _read_dates(self, slot: Any, dtype: str) -> np.ndarray:
        _require(isinstance(dtype, str) and dtype[1:2] in ("m", "M") and len(dtype) < 16, "it is no date")
        return self._array(slot, np.int64).view(np.dtype(dtype))

    def _read_csr(self, data: Any, indices: Any, starts: Any, shape: Any) -> sparse.csr_array:
        rows, columns = _shape(shape)
        parts = [self._array(slot) for slot in (data, indices, starts)]
        places = all(part.dtype.str in ("<i4", "<i8") for part in parts[1:])
        _require(all(part.ndim == 1 for part in parts) and places, "no CSR")
        _require(len(parts[2]) == rows + 1 and columns >= 0, "it has other rows")
        self._allow(csr_bytes(*parts[1:]))
        matrix = sparse.csr_array(tuple(parts), shape=(rows, columns))
        matrix.check_format(full_check=True)
        return matrix

    def _read_frame(self, library: str, named: Any) -> Any:
        return self._framed(library, [[self.value(slot) for slot in column] for column in _listed(named)])

    def _read_columns(self, library: str, *parts: Any) -> Any:
        return self._framed(library, list(zip(*(self.value(slot) for slot in parts), strict=True)))

    def _framed(self, library: str, columns: list) -> Any:
        _require(library in ("pandas", "polars"), "its library is unknown")
        _require(bool(columns) and all(map(_is_column, columns)), "it has no columns")
        for _ in self._keys(name for name, *_ in columns):
            pass
        named = {name: (kind, self._once(values), levels) for name, kind, values, levels in columns}
        _require(len(named) == len(columns), "two columns have one name")
        self._allow(sum(column_bytes(*column) for column in named.values()))
        return frame_of(named, library)

    def _read_graphs(self, parts: Any) -> Graphs:
        return Graphs.restored(**self._named(parts))

    def _read_function(self, kernel: Any, X: Any, coef: Any, constant: Any, threads: Any) -> Function:
        added = self.value(constant)
        _require(isinstance(added, float | int | np.ndarray | np.number), "its constant is no number")
        return Function.restored(self.value(kernel), self.value(X), self._array(coef), added, self.value(threads))

    def _read_record(self, name: str, fields: Any) -> Any:
        kind: Any = RECORDS.get(name)
        _require(kind is not None, f"there is no record {name!r} in this version")
        return kind(**self._named(fields))

    def _read_object(self, name: str, parameters: Any, fitted: Any) -> Any:
        kind: Any = NAMED_CLASSES.get(name)
        _require(kind is not None, f"there is no class {name!r} in this version")
        made = kind(**self._named(parameters))
        state = self._named(fitted)
        for key in state:
            _require(key.isidentifier() and not key.startswith("__"), f"{key!r} is no attribute")
            _require(not hasattr(kind, key), f"{key!r} would hide what {kind.__name__} defines")
        vars(made).update(state)
        return made


def _require(holds: bool, fault: str) -> None:
    if not holds:
        raise LoadError(fault)


def _listed(slots: Any) -> list:
    _require(isinstance(slots, list), "a list was expected")
    return slots


def _fields(value: Any) -> Collection:
    """The values of the fields of a record, none of anything else."""
    return vars(value).values() if CLASS_NAMES.get(type(value)) in RECORDS else ()


def _is_column(column: tuple) -> bool:
    """Whether these are the name, type, values, and levels or gaps of a column."""
    _, kind, values, marks = column
    is_row = isinstance(values, np.ndarray) and values.ndim == 1 and isinstance(kind, str)
    if not is_row or (kind in OBJECT_COLUMNS and values.dtype.kind != "O"):
        return False
    if marks is None or kind not in WITH_GAPS:
        return marks is None or isinstance(marks, np.ndarray)
    are_gaps = isinstance(marks, np.ndarray) and marks.dtype == bool and marks.shape == values.shape
    return are_gaps and values.dtype.kind in PLAIN_ARRAYS


def _shape(shape: Any) -> tuple[int, ...]:
    _require(isinstance(shape, list) and len(shape) <= 8 and all(type(n) is int and n >= 0 for n in shape), "no shape")
    return tuple(shape)
