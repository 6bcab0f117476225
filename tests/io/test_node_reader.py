"""What is read takes no more memory and time than announced, and whatever is written can be read."""

import tracemalloc
from contextlib import suppress

import numpy as np
import pandas as pd
import polars  # noqa: F401
import pytest
from each_case import each

from representer.io.allowance import Allowance, MemoryLimitError
from representer.io.node_reader import LoadError, Reader
from representer.io.values import Writer
from representer.tables.outcome import Coverage

pd.DataFrame({"x": pd.Categorical(["a"])})  # memory of imports, here and above, is not counted
N = 500
COLLECTIONS = [
    [f"{i}" for i in range(N)],
    [f"{i}\U0001f600" for i in range(N)],
    [i + 1000 for i in range(N)],
    [float(i) for i in range(N)],
    [bool(i % 2) for i in range(N)],
    [None] * N,
    [np.uint8(i % 256) for i in range(N)],
    [np.str_(f"{i}") for i in range(N)],
    [i if i % 2 else f"{i}" for i in range(N)],
    [set() for _ in range(N)],
    [set(range(1000 * i, 1000 * i + 5)) for i in range(N)],
    [frozenset(range(i, i + 20)) for i in range(N)],
    [[] for _ in range(N)],
    [(i, f"{i}") for i in range(N)],
    [{f"k{i}": i + 1000} for i in range(N)],
    [dict.fromkeys(range(6)) for _ in range(N)],
    {i + 1000: f"{i}" for i in range(N)},
    {f"{i}" for i in range(N)},
    [np.zeros(i % 3) for i in range(N)],
    [Coverage(0.9, 0.01 * i) for i in range(N)],
    np.array([f"{i}" for i in range(N)]),
    np.array([f"{i}" for i in range(N)], object),
    pd.DataFrame({"x": np.arange(N), "c": pd.Categorical([f"{i}" for i in range(N)])}),
]


@each("value", COLLECTIONS)
def test_objects_take_what_is_announced(value):
    writer = Writer()
    writer.slot(value, "value")
    reader = Reader(dict(writer.arrays), allowance := Allowance(0))
    tracemalloc.start()
    reader.read(writer.nodes)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < writer.objects + 16_000
    assert allowance.taken <= writer.objects


ZEROS = ["b", "?", "u1", "f2", "<f4", "<i8"]
UNPACKED = [
    *(["numbers", [0]], ["scalars", [0]], ["mixed", [[1]], [0]], ["texts", [0], [2], [2], "list", None]),
    *(["split", [1], [0], kind] for kind in ("list", "tuple", "set", "frozenset", "dict", "array")),
    *(["split", [2], [0], kind] for kind in ("list", "tuple", "set", "frozenset", "dict", "array")),
    *(["frame", "pandas", [["x", kind, [0], None]]] for kind in ("", "Int64", "str")),
    ["frame", "polars", [["x", "", [0], None]]],
    ["frame", "pandas", [["x", "category", [2], [0]]]],
]


@pytest.mark.parametrize("dtype", ZEROS)
def test_forged_arrays_of_many_parts_are_not_unpacked(dtype):
    size = 100_000 * np.dtype(dtype).itemsize
    for node in UNPACKED:
        arrays = {"0": np.zeros(100_000, dtype), "2": np.zeros(0, np.int64)}
        tracemalloc.start()
        with suppress(LoadError, MemoryLimitError):
            Reader(arrays, Allowance(size, limit=size)).read(
                [["array", "0", "C"], ["list", []], ["array", "2", "C"], node]
            )
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < size + 50_000, node


def endless(kind):
    """A value of 2^60 parts in 60 nodes, as each holds the one before it twice."""
    return [[kind, []], *([kind, [[i], [i]]] for i in range(60))]


TOP, ROW, RBF = [60], [61], [62]
HASHED = [
    *(["set", [TOP]], ["frozenset", [TOP]], ["dict", [[TOP, 1]]], ["packed", TOP, "set"], ["packed", TOP, "frozenset"]),
    *(["frame", library, [[TOP, "", ROW, None]]] for library in ("pandas", "polars")),
    ["object", "kernels.Normalized", {"kernel": TOP}, {}],
    *(["function", TOP, ROW, ROW, 0.0, None], ["function", RBF, ROW, TOP, 0.0, None]),
    *(["function", RBF, ROW, ROW, TOP, None], ["scalars", TOP], ["columns", "pandas", TOP, TOP, TOP, TOP]),
    *(["frame", "pandas", [["x", TOP, ROW, None]]], ["frame", "pandas", [["x", "category", ROW, TOP]]]),
]


@pytest.mark.parametrize("kind", ["list", "tuple"])
@each("node", HASHED)
def test_values_of_endless_parts_are_refused(kind, node):
    nodes = [*endless(kind), ["array", "0", "C"], ["object", "kernels.RBF", {}, {}], node]
    with pytest.raises(LoadError, match="value 63"):
        Reader({"0": np.zeros(3)}, Allowance(0)).read(nodes)


def test_records_in_keys_are_counted():
    nodes = [["tuple", []], *(["record", "Coverage", {"level": [i], "covered": [i]}] for i in range(60))]
    with pytest.raises(LoadError, match="too many parts"):
        Reader({}, Allowance(0)).read([*nodes, ["set", [TOP]]])


def test_nested_keys_are_read():
    value = {(i, (f"{i}", frozenset({i, (i, i)}))): {(i,)} for i in range(100)}
    writer = Writer()
    root = writer.slot(value, "value")
    reader = Reader(writer.arrays, Allowance(0))
    reader.read(writer.nodes)
    assert reader.value(root) == value
