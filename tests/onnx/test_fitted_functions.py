"""Fitted functions as ONNX nodes."""

import numpy as np
from each_case import each
from onnx_cases import NEW, X, close, run_proto

from representer import Function, Nystroem, RandomFeatures
from representer.kernels import RBF
from representer.onnx.fitted_functions import centre_features, values_of, waves
from representer.onnx.input_rows import Rows
from representer.onnx.nodes import Graph


def evaluated(write):
    graph = Graph(np.float64)
    graph.add("Identity", write(graph, Rows("X", 4)), name="out")
    return run_proto(graph.model(4, {"out": (np.float64, 2)}, {}), NEW, ["out"])["out"]


@each("columns", [1, 2])
def test_values(columns):
    coef = np.random.default_rng(0).normal(size=(len(X), columns))
    function = Function(RBF(1.0), X, coef, np.arange(columns) + 0.5)
    close(evaluated(lambda graph, rows: values_of(graph, function, rows)), function(NEW))


def test_features():
    fourier, landmarks = RandomFeatures(RBF(1.0), 15).fit(X), Nystroem(RBF(1.0), 5).fit(X)
    close(evaluated(lambda graph, rows: waves(graph, fourier.kernel_, rows)), fourier.transform(NEW))
    close(evaluated(lambda graph, rows: centre_features(graph, landmarks.basis_, rows)), landmarks.transform(NEW))
