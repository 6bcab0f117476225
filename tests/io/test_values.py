"""Values come back equal, shared where they were shared, and nothing but what a Writer leaves is read."""

import json

import numpy as np
import pandas as pd
import pytest
from each_case import each
from scipy import sparse

from representer import Function, KernelMachine
from representer.io.allowance import Allowance
from representer.io.node_reader import LoadError, Reader
from representer.io.values import SaveError, Writer
from representer.kernels import (
    RBF,
    Callable,
    FeatureMap,
    Graphs,
    Linear,
    Normalized,
    On,
    Quadratic,
    Spectrum,
    WeisfeilerLehman,
    Words,
)
from representer.losses import CustomLoss, Huber
from representer.regularizers import Norm
from representer.tables.outcome import Coverage


def written(value):
    writer = Writer()
    root = writer.slot(value, "value")
    return json.loads(json.dumps({"root": root, "nodes": writer.nodes}, allow_nan=False)), writer.arrays


def read(document, arrays):
    reader = Reader(arrays, Allowance(0))
    reader.read(document["nodes"])
    return reader.value(document["root"])


def again(value):
    return read(*written(value))


PLAIN = [None, True, 3, -(10**30), 0.1, 5e-324, "ACGT", "", "é\ud800", float("inf"), [1, [2.5, "a"]], (1, "b"), {1, 2}]


@each("value", [*PLAIN, frozenset({"a"}), {"a": 1, 2: [None]}, ["ab", "", "ü"], [], ("x",)])
def test_plain_values(value):
    found = again(value)
    assert found == value
    assert type(found) is type(value)


LONG_ONES = [
    [{f"w{i}", f"w{i + 1}"} for i in range(100)],
    [frozenset({i, "a", None, 0.5, True, i + 10**6}) for i in range(100)],
    {("a", f"{i}") for i in range(100)},
    [{f"k{i}": i, "b": None} for i in range(100)],
    {f"k{i}": [i, [f"{i}"]] for i in range(100)},
    {i: i**2 if i % 3 else f"{i}" for i in range(100)},
    [set(), *({i} for i in range(99))],
    [[[] for _ in range(3)] for _ in range(50)],
    [set(np.arange(i, i + 3)) for i in range(50)],
    [set(np.array(["a", "bc"])) for i in range(50)],
    tuple(float(i) if i % 2 else float("inf") for i in range(100)),
    [2**63 + i if i % 2 else i for i in range(100)],
]


@each("value", LONG_ONES)
def test_long_collections_are_packed(value):
    document, arrays = written(value)
    found = read(document, arrays)
    assert found == value
    assert repr(found) == repr(value) or "{" in repr(value)  # sets may be in another order
    assert _types(found) == _types(value)
    assert json.dumps(document).count(",") < 80 or 2**63 + 1 in value  # and not hundreds


def _types(value):
    parts = value.items() if type(value) is dict else value if type(value) in (list, tuple, set, frozenset) else ()
    return type(value), sorted(map(repr, map(_types, parts)))


def test_lists_of_arrays_and_records_are_packed():
    series = [np.arange(2.0 * i).reshape(i, 2).astype(np.float32 if i % 2 else np.float64) for i in range(40)]
    records = [Coverage(0.9, 0.01 * i) for i in range(40)]
    document, arrays = written([series, records])
    assert len(arrays) < 12
    found = read(document, arrays)
    for mine, theirs in zip(found[0], series, strict=True):
        np.testing.assert_array_equal(mine, theirs)
        assert mine.dtype == theirs.dtype
    assert found[1] == records


def test_wide_frames_are_packed():
    frame = pd.DataFrame({f"c{i}": np.arange(3) * (i if i % 2 else 0.5) for i in range(100)}).assign(t=["a", None, "b"])
    document, arrays = written(frame)
    pd.testing.assert_frame_equal(read(document, arrays), frame)
    assert len(arrays) < 20


def test_frames_and_tuples_of_words_of_version_1():
    nodes = [["array", name, "C"] for name in "abcd"]
    nodes += [
        ["frame", "pandas", [["x", "", [0], None]]],
        ["texts", [1], [2], [3], "tuple", None],
        ["tuple", [[4], [5]]],
    ]
    arrays = {
        "a": np.arange(3),
        "b": np.frombuffer(b"abc", np.uint8),
        "c": np.array([1, 3]),
        "d": np.zeros(0, np.int64),
    }
    frame, words = read({"nodes": nodes, "root": [6]}, arrays)
    pd.testing.assert_frame_equal(frame, pd.DataFrame({"x": np.arange(3)}))
    assert words == ("a", "bc")


def test_packed_parts_are_unpacked_once():
    document, arrays = written([f"{i}" for i in range(20)])
    document["nodes"].append(document["nodes"][-1])
    with pytest.raises(LoadError, match="of another value"):
        read(document, arrays)


def test_not_a_number():
    assert np.isnan(again(float("nan")))


ARRAYS = [
    np.arange(6.0).reshape(2, 3),
    np.asfortranarray(np.arange(6.0, dtype=np.float32).reshape(2, 3)),
    np.arange(4)[::2],
    np.array(2.5),
    np.zeros((0, 3)),
    np.array([True, False]),
    np.array(["a", "", "long"]),
    np.array([["x", None]], object),
    np.array(["2020-01-01", "NaT"], "datetime64[D]"),
]


@each("array", ARRAYS)
def test_arrays(array):
    found = again(array)
    np.testing.assert_array_equal(found, array)
    assert found.dtype == array.dtype
    assert found.flags.f_contiguous == array.flags.f_contiguous or array.size <= 3  # products keep their bits


@pytest.mark.parametrize("number", [np.float64(0.1), np.int32(7), np.bool_(True)], ids=repr)
def test_numbers_of_numpy(number):
    assert again(number) == number
    assert type(again(number)) is type(number)


def test_sparse():
    matrix = sparse.random_array((5, 4), density=0.4, rng=np.random.default_rng(0), format="csr")
    found = again(matrix)
    assert (found != matrix).nnz == 0
    assert found.shape == matrix.shape


@pytest.mark.parametrize(
    "kernel",
    [
        2.0 * RBF([1.0, 2.0]) ** 2 + Normalized(Linear()),
        On(Spectrum(3), "dna") * On(RBF(), ["a", "b"]),
        FeatureMap(Quadratic()),
        KernelMachine(loss=Huber(0.5), regularizer=Norm(2.0)).loss,
    ],
    ids=repr,
)
def test_expressions(kernel):
    assert again(kernel) == kernel


def test_inputs_and_fitted_state_of_structured_kernels():
    texts = ["the cat", "a dog and a cat", "the end"]
    kernel = Words().with_default_scales(texts)
    np.testing.assert_array_equal(again(kernel)(texts), kernel(texts))
    graphs = Graphs([(0, 1), (1, 2), (3, 4)], [0, 0, 0, 1, 1], node_labels="CCOCO")
    np.testing.assert_array_equal(WeisfeilerLehman(2)(again(graphs)), WeisfeilerLehman(2)(graphs))
    assert not {"owner", "sources"} & vars(again(graphs)).keys()
    with pytest.raises(SaveError, match=r"Graphs\.of"):
        written([type("Graph", (), {"nodes": [0], "edges": [], "adj": {}, "is_directed": lambda self: False})()])


def test_shared_values_are_shared_again():
    X = np.ones((3, 1))
    f = Function(RBF(1.0), X, np.ones(3))
    model = KernelMachine(kernel=RBF(1.0))
    model.first_, model.second_ = f, f.with_coef(np.arange(3.0))
    found = again(model)
    assert found.first_.X is found.second_.X
    np.testing.assert_array_equal((found.second_ - found.first_)(X), (model.second_ - model.first_)(X))


@pytest.mark.parametrize(
    "value",
    [
        Callable(lambda x, y: 1.0),
        FeatureMap(np.sin),
        CustomLoss(np.add, np.add),
        KernelMachine(kernel=RBF() + Callable(np.dot)),
        type("Mine", (RBF,), {})(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_code_is_refused(value):
    with pytest.raises(SaveError, match="holds no code"):
        written(value)


@pytest.mark.parametrize(
    "value", [np.array([1j]), object(), np.array([1, "a"], object)], ids=["complex", "object", "mixed"]
)
def test_other_types_are_refused(value):
    with pytest.raises(SaveError, match="value is"):
        written(value)


TWO_COLUMNS = [["array", "1", "C"], ["array", "few", "C"]]


@each(
    ("nodes", "fault"),
    [
        (3, "no table"),
        ([["list", [[0]]]], "points nowhere"),
        ([["list", [[1]]], ["list", []]], "points nowhere"),
        ([["list", [[-1]]]], "points nowhere"),
        ([["list", [[True]]]], "points nowhere"),
        ([["list", [{}]]], "plain value"),
        ([["list", []] for _ in range(1)] + [["list", [[i]]] for i in range(300)], "levels deep"),
        ([["eval", "1"]], "unknown kind"),
        ([["object", "os.system", {}, {}]], "no class 'os.system'"),
        ([["object", "kernels.RBF", {"length": 1.0}, {}]], "not as it was saved"),
        ([["object", "kernels.RBF", {}, {"fill": 1}]], "would hide"),
        ([["object", "kernels.RBF", {}, {"__class__": 1}]], "no attribute"),
        ([["record", "Popen", {}]], "no record"),
        ([["array", "missing", "C"]], "not as it was saved"),
        ([["array", "1", "K"]], "order is unknown"),
        ([["texts", [0], [0], [0], "list", None]], "points nowhere"),
        ([["array", "u", "C"], ["array", "ends", "C"], ["texts", [0], [1], [1], "list", None]], "do not fit"),
        ([["array", "1", "C"], ["csr", [0], [0], [0], [1, 10**12]]], "no CSR"),
        ([["dtype", "V1000000000"]], "value 0"),
        ([["set", [[0]]]], "points nowhere"),
        ([["list", []], ["set", [[0]]]], "not as it was saved"),
        ([["object", "kernels.RBF", {}, {}], ["function", [0], None, None, 0.0, None]], "an array was expected"),
        ([["array", "1", "C"], ["function", None, [0], [0], 0.0, None]], "NoneType is not a kernel"),
        ([["array", "1", "C"], ["object", "kernels.RBF", {}, {}], ["function", [1], [0], [0], "1", None]], "constant"),
        ([["array", "u", "C"], ["numbers", [0]]], "of another type"),
        ([["list", [1, 2]], ["scalars", [0]]], "words were expected"),
        ([["array", "1", "C"], ["frame", "pandas", [["x", "string", [0], None]]]], "no columns"),
        ([["array", "1", "C"], ["frame", "pandas", [["x", [0], [0], None]]]], "no columns"),
        ([["array", "1", "C"], ["frame", "polars", [["x", "Int64", [0], [0]]]]], "no columns"),
        ([*TWO_COLUMNS, ["frame", "polars", [["x", "", [0], None], ["y", "", [1], None]]]], "not make a data frame"),
        ([*TWO_COLUMNS, ["frame", "pandas", [["x", "", [0], None], ["x", "", [1], None]]]], "have one name"),
    ],
)
def test_faults_are_named(nodes, fault):
    arrays = {"1": np.zeros(3), "u": np.zeros(3, np.uint8), "ends": np.array([2, 1, 3]), "few": np.zeros(2)}
    with pytest.raises(LoadError, match=fault):
        Reader(arrays, Allowance(0)).read(nodes)
