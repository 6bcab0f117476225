"""Arc-cosine kernels have their values at all angles, those near 0 and pi too."""

import numpy as np
import pytest
from onnx_cases import run_proto

from representer.kernels import ArcCosine
from representer.onnx.angles import arcs, own_arcs
from representer.onnx.input_rows import Rows
from representer.onnx.nodes import Graph

rng = np.random.default_rng(0)
Z = np.concatenate([rng.normal(size=(8, 3)), np.zeros((1, 3))])
X = np.concatenate([rng.normal(size=(5, 3)), Z, -2.0 * Z[:3], Z[:3] + 1e-7, 1e-6 - Z[:3]])


@pytest.mark.parametrize("order", [0, 1, 2])
def test_values(order):
    kernel, graph, rows = ArcCosine(order), Graph(np.float64), Rows("X", 3)
    graph.add("Identity", arcs(graph, kernel, rows, Z), name="block")
    graph.add("Identity", own_arcs(graph, kernel, rows), name="diagonal")
    model = graph.model(3, {"block": (np.float64, 2), "diagonal": (np.float64, 2)}, {})
    block, diagonal = run_proto(model, X, ["block", "diagonal"]).values()
    np.testing.assert_allclose(block, kernel(X, Z), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(diagonal[:, 0], kernel.diag(X), rtol=1e-12, atol=1e-14)
