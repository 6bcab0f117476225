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
from representer.io.frames import columns_of, library_of
from representer.io.packing import (
    COLLECTIONS,
    LONG,
    PLAIN_ARRAYS,
    SPLIT_BYTES,
    collection_bytes,
    column_bytes,
    csr_bytes,
    object_bytes,
    one_collection_bytes,
    record_bytes,
    sort_of,
    text_bytes,
    words_bytes,
)
from representer.io.registry import CLASS_NAMES, NAMED_CLASSES, RECORDS
from representer.kernels.graph_formats import is_graph
from representer.kernels.graph_inputs import Graphs


class SaveError(TypeError):
    """A model holds something that a file cannot, such as a user's function."""


class Writer:
    """Collects the nodes and arrays of one value."""

    def __init__(self) -> None:
        self.nodes: list[list] = []
        self.arrays: dict[str, np.ndarray] = {}
        self.objects = 0
        """Bytes that the unpacked collections will take."""
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
            self.objects += csr_bytes(csr.indices, csr.indptr)
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
            self.objects += array.nbytes if array.dtype.kind == "U" else 0
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
        names = list(frame.columns)
        if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
            raise SaveError(f"{path} has two columns named {twice[0]!r}; rename one, and fit again.")
        columns = columns_of(frame, library)
        for name, (_, values, _) in columns.items():
            odd = [] if values.dtype.kind != "O" else [v for v in values if v is not None and type(v) is not str]
            if odd:
                raise SaveError(
                    f"{path}[{name!r}] is a column of objects, and one of them is {odd[0]!r}; a model file holds str "
                    "there: convert the column, to str, numbers, or a type of pandas such as 'boolean', and fit again."
                )
        self.objects += sum(column_bytes(*column) for column in columns.values())
        parts = [list(columns), *map(list, zip(*columns.values(), strict=True))]
        return ["columns", library, *(self.slot(part, path) for part in parts)]

    def _collection(self, values: Any, path: str) -> list:
        kind = COLLECTIONS[type(values)]
        if len(values) >= LONG:
            listed = list(values.items()) if kind == "dict" else list(values)
            if kind == "list":
                return self._packed(listed, path)
            self.objects += one_collection_bytes(kind, len(values))
            return ["packed", self.slot(listed, path), kind]
        self.objects += one_collection_bytes(kind, len(values))
        if kind == "dict":
            return [kind, [[self.slot(key, path), self.slot(values[key], f"{path}[{key!r}]")] for key in values]]
        return [kind, [self.slot(value, f"{path}[{i}]") for i, value in enumerate(values)]]

    def _packed(self, values: list, path: str) -> list:
        """A long list: its parts concatenated, sort by sort where there are several."""
        sorts = [sort_of(value) for value in values]
        known = {sort: code for code, sort in enumerate(dict.fromkeys(sorts))}
        kind, detail = sorts[0]
        if kind == "odd" if len(known) == 1 else len(known) > min(len(values) // LONG, 256):
            self.objects += one_collection_bytes("list", len(values))
            return ["list", [self.slot(value, f"{path}[{i}]") for i, value in enumerate(values)]]
        if len(known) > 1:
            codes = np.array([known[sort] for sort in sorts], np.uint8)
            parts = [[value for value, each in zip(values, sorts, strict=True) if each == sort] for sort in known]
            self.objects += object_bytes("merged", len(values))
            return ["mixed", [self.slot(part, path) for part in parts], self.slot(codes, path)]
        if kind == "texts":
            return self._texts(values, path, None, "list")
        if kind in ("numbers", "scalars"):
            self.objects += object_bytes(kind, len(values)) if detail else words_bytes(values)
            return [kind, self.slot(np.array(values, detail) if detail else list(map(str, values)), path)]
        if kind == "record":
            fields = [field.name for field in dataclasses.fields(RECORDS[detail])]
            self.objects += record_bytes(len(fields), len(values))
            return ["records", detail, self._slots({name: [getattr(v, name) for v in values] for name in fields}, path)]
        lengths = np.array([len(value) for value in values])
        self.objects += SPLIT_BYTES * len(values) + collection_bytes(kind, lengths)
        items = [value.items() if kind == "dict" else value for value in values]
        joined = np.concatenate(values) if kind == "array" else [part for item in items for part in item]
        return ["split", self.slot(joined, path), self.slot(np.cumsum(lengths), path), kind]

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
        self.objects += text_bytes(parts[0], len(texts))
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
