"""All random features that kernels draw have their values."""

import numpy as np
import pytest
from onnx_cases import NEW, close, run_proto

from representer import RandomFeatures
from representer.kernels import RBF, ArcCosine, Polynomial
from representer.onnx.input_rows import Rows
from representer.onnx.nodes import Graph
from representer.onnx.random_maps import features

SCALES = [1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize(
    "kernel",
    [
        RBF(SCALES),
        ArcCosine(0),
        ArcCosine(2),
        Polynomial(3, 1.0, 5.0),
        0.5 * RBF(2.0) + ArcCosine(1),
        RBF(2.0) * ArcCosine(1) * Polynomial(2, 1.0, 5.0),
    ],
    ids=repr,
)
@pytest.mark.parametrize("size", [32, 21])
def test_values(kernel, size):
    kernel, graph = RandomFeatures(kernel, size), Graph(np.float64)
    maps = kernel.draw(4)
    graph.add("Identity", features(graph, maps, Rows("X", 4)), name="features")
    found = run_proto(graph.model(4, {"features": (np.float64, 2)}, {}), NEW, ["features"])["features"]
    known = np.empty(found.shape)
    maps(NEW, known)
    close(found, known)
