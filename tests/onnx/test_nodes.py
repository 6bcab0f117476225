"""Graphs grow node by node."""

import sys

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator
from onnx_cases import run_proto

from representer.onnx.nodes import Graph, library


def test_graph_computes_what_was_added():
    graph = Graph(np.float32)
    graph.add("Add", graph.sum("X", 1), 1.0, name="out")
    model = graph.model(2, {"out": (np.float32, 2)}, {"key": "value"})
    (out,) = ReferenceEvaluator(model).run(None, {"X": np.ones((3, 2), np.float32)})
    assert out.dtype == np.float32
    np.testing.assert_array_equal(out, np.full((3, 1), 3.0))
    assert model.metadata_props[0].key == "key"


def test_rows_are_sorted():
    graph, rows = Graph(np.float64), np.array([[3.0, -1.0, 2.0], [0.0, 0.0, -5.0]])
    graph.add("Identity", graph.ascending("X", 3), name="out")
    model = graph.model(3, {"out": (np.float64, 2)}, {})
    for out in (ReferenceEvaluator(model).run(None, {"X": rows})[0], run_proto(model, rows, ["out"])["out"]):
        np.testing.assert_array_equal(out, np.sort(rows, axis=1))


def test_missing_package_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"representer\[onnx\]"):
        library()
