"""Values as a flat table of JSON nodes and arrays, and back.

Each value that is not a plain number or string is a node, and nodes point to earlier nodes only. So one loop reads
them without recursion, and a value that was shared when it was saved is shared again.

    [kind, ...]     a node
    3, "a", null    a plain value inside a node
    [7]             the value of node 7 inside a node

Long collections of strings, numbers, arrays, records or such collections are packed into arrays of all their parts: the
JSON grows with the structure of a model, not with its data.
"""

from __future__ import annotations

import dataclasses
from math import isfinite
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from representer.estimators.base import derived
from representer.functions import Function
from representer.io.frames import columns_of, frame_of, library_of
from representer.io.packing import COLLECTED, COLLECTIONS, LONG, bounds, merged, sort_of
from representer.io.registry import CLASS_NAMES, NAMED_CLASSES, RECORDS
from representer.kernels.graph_formats import is_graph
from representer.kernels.graph_inputs import Graphs

MOST_LEVELS = 200
"""Largest depth of nesting, beyond that of any kernel that a solver takes."""
PLAIN_ARRAYS = "biuf"


class SaveError(TypeError):
    """A model holds something that a file cannot, such as a user's function."""


class LoadError(ValueError):
    """A file is damaged, is not a model, or comes from a newer version."""


class Writer:
    """Collects the nodes and arrays of one value."""

    def __init__(self) -> None:
        self.nodes: list[list] = []
        self.arrays: dict[str, np.ndarray] = {}
        self._places: dict[int, int] = {}
        self._kept: list[Any] = []
        """Keeps values alive whose ids are stored, as others could get the same id."""

    def slot(self, value: Any, path: str) -> Any:
        """The representation of a value inside a node; ``path`` is its location, for error messages."""
        if value is None or type(value) in (bool, int, str) or (type(value) is float and isfinite(value)):
            return value
        if id(value) not in self._places:
            node = self._node(value, path)
            self._kept.append(value)
            self._places[id(value)] = len(self.nodes)
            self.nodes.append(node)
        return [self._places[id(value)]]

    def _node(self, value: Any, path: str) -> list:
        if type(value) is float:
            return ["float", str(value)]
        if isinstance(value, np.ndarray):
            return self._array(value, path)
        if isinstance(value, np.generic):
            return ["scalar", self.slot(np.asarray(value), path)]
        if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.number)):
            return ["dtype", np.dtype(value).str]
        if type(value) in COLLECTIONS:
            return self._collection(value, path)
        if sparse.issparse(value) and value.ndim == 2:
            csr = sparse.csr_array(value)
            parts = [self.slot(part, path) for part in (csr.data, csr.indices, csr.indptr)]
            return ["csr", *parts, list(map(int, csr.shape))]
        if library := library_of(value):
            return self._frame(value, library, path)
        if isinstance(value, Graphs):
            return ["graphs", self._slots({name: getattr(value, name) for name in GRAPHS}, path)]
        if isinstance(value, Function):
            return ["function", *(self.slot(getattr(value, name), f"{path}.{name}") for name in FUNCTION)]
        return self._named(value, path)

    def _array(self, array: np.ndarray, path: str) -> list:
        if array.dtype.kind in "OU":
            return self._texts(array.ravel().tolist(), path, list(array.shape), array.dtype.kind)
        if array.dtype.kind in "mM":
            return ["dates", self.slot(np.asarray(array, order="C").view(np.int64), path), array.dtype.str]
        if array.dtype.kind not in PLAIN_ARRAYS or array.dtype.itemsize > 8:
            raise SaveError(f"{path} is an array of {array.dtype}, which a model file cannot hold; convert it first.")
        # products of arrays in another memory order round differently
        columns_first = array.ndim == 2 and array.flags.f_contiguous and not array.flags.c_contiguous
        name = f"{len(self.arrays)}"
        self.arrays[name] = np.asarray(array.T if columns_first else array, order="C")
        return ["array", name, "F" if columns_first else "C"]

    def _frame(self, frame: Any, library: str, path: str) -> list:
        columns = columns_of(frame, library)
        parts = [list(columns), *map(list, zip(*columns.values(), strict=True))]
        return ["columns", library, *(self.slot(part, path) for part in parts)]

    def _collection(self, values: Any, path: str) -> list:
        kind = COLLECTIONS[type(values)]
        if len(values) >= LONG:
            listed = list(values.items()) if kind == "dict" else list(values)
            return self._packed(listed, path) if kind == "list" else ["packed", self.slot(listed, path), kind]
        if kind == "dict":
            return [kind, [[self.slot(key, path), self.slot(values[key], f"{path}[{key!r}]")] for key in values]]
        return [kind, [self.slot(value, f"{path}[{i}]") for i, value in enumerate(values)]]

    def _packed(self, values: list, path: str) -> list:
        """A long list: its parts concatenated, sort by sort where there are several."""
        sorts = [sort_of(value) for value in values]
        known = {sort: code for code, sort in enumerate(dict.fromkeys(sorts))}
        kind, detail = sorts[0]
        if kind == "odd" if len(known) == 1 else len(known) > min(len(values) // LONG, 256):
            return ["list", [self.slot(value, f"{path}[{i}]") for i, value in enumerate(values)]]
        if len(known) > 1:
            codes = np.array([known[sort] for sort in sorts], np.uint8)
            parts = [[value for value, each in zip(values, sorts, strict=True) if each == sort] for sort in known]
            return ["mixed", [self.slot(part, path) for part in parts], self.slot(codes, path)]
        if kind == "texts":
            return self._texts(values, path, None, "list")
        if kind in ("numbers", "scalars"):
            return [kind, self.slot(np.array(values, detail) if detail else list(map(str, values)), path)]
        if kind == "record":
            fields = [field.name for field in dataclasses.fields(RECORDS[detail])]
            return ["records", detail, self._slots({name: [getattr(v, name) for v in values] for name in fields}, path)]
        ends = np.cumsum([len(value) for value in values])
        items = [value.items() if kind == "dict" else value for value in values]
        joined = np.concatenate(values) if kind == "array" else [part for item in items for part in item]
        return ["split", self.slot(joined, path), self.slot(ends, path), kind]

    def _texts(self, texts: list, path: str, shape: list[int] | None, kind: str) -> list:
        """Concatenated strings as UTF-8, the end of each, and which ones are None."""
        for i, text in enumerate(texts):
            if type(text) is not str and text is not None:
                raise SaveError(
                    f"{path} is an array of objects, and entry {i} is {text!r}; a model file holds str there."
                )
        encoded = [b"" if text is None else text.encode("utf-8", "surrogatepass") for text in texts]
        ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
        missing = np.flatnonzero([text is None for text in texts])
        parts = np.frombuffer(b"".join(encoded), np.uint8), ends, missing
        return ["texts", *(self.slot(part, path) for part in parts), kind, shape]

    def _named(self, value: Any, path: str) -> list:
        name = CLASS_NAMES.get(type(value))
        if name in RECORDS:
            fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
            return ["record", name, self._slots(fields, path)]
        if name in NAMED_CLASSES:
            parameters = value.get_params(deep=False)
            kind: Any = type(value)
            without = {*parameters, *derived(kind)}
            fitted = {key: part for key, part in vars(value).items() if key not in without}
            return ["object", name, self._slots(parameters, path), self._slots(fitted, path)]
        if callable(value) or isinstance(value, BaseEstimator):
            raise SaveError(
                f"{path} is {value!r}, code that is not part of this library, and a model file holds no code; "
                "use parts of the library there, or pickle the model if you trust all who can write the file."
            )
        graph = " Fit to Graphs.of(graphs) instead of a list of graphs." if is_graph(value) else ""
        raise SaveError(f"{path} is a {type(value).__name__}, which a model file cannot hold; pickle can.{graph}")

    def _slots(self, named: dict[str, Any], path: str) -> dict[str, Any]:
        return {name: self.slot(value, f"{path}.{name}") for name, value in named.items()}


GRAPHS = (
    *("starts", "indptr", "indices", "node_labels", "edge_labels"),
    *("directed", "has_node_labels", "has_edge_labels", "names"),
)
"""What Graphs are made of."""
FUNCTION = ("kernel", "X", "coef", "constant", "threads")
"""What a Function is made of."""


class Reader:
    """Builds values from nodes, after checks; raises LoadError for anything that a Writer would not produce."""

    def __init__(self, arrays: dict[str, np.ndarray]):
        self.arrays = arrays
        self.values: list[Any] = []
        self._levels: list[int] = []
        self._level = 0
        self._taken: set[int] = set()

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
            except (TypeError, ValueError, AttributeError, KeyError, IndexError, OverflowError) as error:
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
        return [self.value(slot) for slot in _listed(slots)]

    def _read_tuple(self, slots: list) -> tuple:
        return tuple(self._read_list(slots))

    def _read_set(self, slots: list) -> set:
        return set(self._read_list(slots))

    def _read_frozenset(self, slots: list) -> frozenset:
        return frozenset(self._read_list(slots))

    def _read_dict(self, pairs: list) -> dict:
        return {self.value(key): self.value(part) for key, part in _listed(pairs)}

    def _read_packed(self, slot: Any, kind: str) -> Any:
        return COLLECTED[kind](self._once(self.value(slot)))

    def _read_numbers(self, slot: Any) -> list:
        return self._row(slot).tolist()

    def _read_scalars(self, slot: Any) -> list:
        value = self.value(slot)
        return [np.str_(text) for text in self._once(value)] if isinstance(value, list) else list(self._row(slot))

    def _read_mixed(self, slots: Any, codes: Any) -> list:
        parts, order = [self._once(self.value(slot)) for slot in _listed(slots)], self._row(codes, np.uint8)
        return merged(parts, order)

    def _read_split(self, slot: Any, ends: Any, kind: str) -> list:
        joined = self._once(self.value(slot))
        _require(isinstance(joined, np.ndarray if kind == "array" else list), "its parts are of another kind")
        made = np.asarray if kind == "array" else COLLECTED[kind]
        return [made(joined[a:b]) for a, b in bounds(self._row(ends, np.int64), len(joined))]

    def _read_records(self, name: str, fields: Any) -> list:
        kind, columns = RECORDS[name], [self._once(self.value(slot)) for slot in fields.values()]
        _require(bool(columns) and all(isinstance(column, list) for column in columns), "it has no fields")
        return [kind(**dict(zip(fields, row, strict=True))) for row in zip(*columns, strict=True)]

    def _row(self, slot: Any, dtype: Any = None) -> np.ndarray:
        """A one-dimensional array of numbers that is unpacked into this value only."""
        array = self._once(self._array(slot, dtype))
        _require(array.ndim == 1 and array.dtype.kind in PLAIN_ARRAYS, "a row of numbers was expected")
        return array

    def _read_texts(self, letters: Any, ends: Any, missing: Any, kind: str, shape: Any) -> Any:
        data = self._row(letters, np.uint8).data
        texts: list = [
            str(data[a:b], "utf-8", "surrogatepass") for a, b in bounds(self._row(ends, np.int64), len(data))
        ]
        for i in self._row(missing, np.int64):
            texts[i] = None
        if kind in ("list", "tuple"):
            return texts if kind == "list" else tuple(texts)
        _require(kind in ("O", "U") and (kind == "O" or None not in texts), "its kind is unknown")
        # an array of strings is as wide as its longest one: a single long string must not widen all of them
        widest = max(map(len, texts), default=0) if kind == "U" else 0
        _require(4 * widest * len(texts) <= 8 * len(data) + 64 * len(texts) + 4096, "its words are too unequal")
        array = np.empty(len(texts), object if kind == "O" else f"<U{max(widest, 1)}")
        array[:] = texts
        return array.reshape(_shape(shape))

    def _read_dates(self, slot: Any, dtype: str) -> np.ndarray:
        _require(isinstance(dtype, str) and dtype[1:2] in ("m", "M") and len(dtype) < 16, "it is no date")
        return self._array(slot, np.int64).view(np.dtype(dtype))

    def _read_csr(self, data: Any, indices: Any, starts: Any, shape: Any) -> sparse.csr_array:
        rows, columns = _shape(shape)
        parts = [self._array(slot) for slot in (data, indices, starts)]
        _require(all(part.ndim == 1 for part in parts) and all(part.dtype.kind == "i" for part in parts[1:]), "no CSR")
        _require(len(parts[2]) == rows + 1 and columns >= 0, "it has other rows")
        matrix = sparse.csr_array(tuple(parts), shape=(rows, columns))
        matrix.check_format(full_check=True)
        return matrix

    def _read_frame(self, library: str, named: Any) -> Any:
        return self._framed(library, [[self.value(slot) for slot in column] for column in _listed(named)])

    def _read_columns(self, library: str, *parts: Any) -> Any:
        return self._framed(library, list(zip(*(self.value(slot) for slot in parts), strict=True)))

    def _framed(self, library: str, columns: list) -> Any:
        _require(library in ("pandas", "polars"), "its library is unknown")
        fits = all(isinstance(values, np.ndarray) and values.ndim == 1 for _, _, values, _ in columns)
        _require(fits and bool(columns), "it has no columns")
        named = {name: (kind, self._once(values), levels) for name, kind, values, levels in columns}
        return frame_of(named, library)

    def _read_graphs(self, parts: Any) -> Graphs:
        return Graphs.restored(**self._named(parts))

    def _read_function(self, *slots: Any) -> Function:
        return Function.restored(*(self.value(slot) for slot in slots))

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


def _shape(shape: Any) -> tuple[int, ...]:
    _require(isinstance(shape, list) and len(shape) <= 8 and all(type(n) is int and n >= 0 for n in shape), "no shape")
    return tuple(shape)
