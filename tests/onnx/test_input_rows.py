"""Squared distances of rows from stored points."""

import numpy as np
from onnx_cases import NEW, X, close, run_proto
from scipy import sparse
from scipy.spatial.distance import cdist

from representer.onnx.input_rows import dense, squared_distances
from representer.onnx.nodes import Graph


def test_squared_distances_far_from_the_origin():
    graph, points = Graph(np.float64), X + 100.0
    graph.add("Identity", squared_distances(graph, "X", points), name="out")
    found = run_proto(graph.model(4, {"out": (np.float64, 2)}, {}), NEW + 100.0, ["out"])["out"]
    close(found, cdist(NEW + 100.0, points) ** 2)


def test_points_are_dense():
    np.testing.assert_array_equal(dense(sparse.csr_array(X)), X)
