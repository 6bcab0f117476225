import numpy as np
import onnxruntime
import pytest

from representer.estimators.gaussian_process_classifier import _probability
from representer.onnx.latent_classes import _mean_of_sigmoid
from representer.onnx.nodes import Graph


@pytest.mark.parametrize("deviation", [0.0, 0.3, 3.0, 40.0])
def test_mean_of_a_sigmoid(deviation):
    graph, means = Graph(np.float64), np.array([[-50.0], [-1.0], [0.0], [2.5], [30.0]])
    graph.add("Identity", _mean_of_sigmoid(graph, "X", graph.constant(np.array([[deviation]]))), name="p")
    model = graph.model(1, {"p": (np.float64, 2)}, {})
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    known = _probability(means[:, 0], np.full(5, deviation**2))
    np.testing.assert_allclose(session.run(["p"], {"X": means})[0][:, 0], known, rtol=1e-10, atol=1e-10)
