"""Every kernel that is written out has its values."""

import numpy as np
import pytest
from each_case import each
from onnx_cases import close, run_proto
from sklearn.gaussian_process import kernels as theirs

from representer.drop_in.process_kernels import Foreign
from representer.kernels import (
    RBF,
    Brownian,
    Chi2,
    Cosine,
    Exp,
    HistogramIntersection,
    Laplacian,
    Linear,
    Matern,
    MinMax,
    Normalized,
    On,
    Periodic,
    Polynomial,
    PowerSeries,
    RationalQuadratic,
    Sigmoid,
    Tanimoto,
)
from representer.onnx.input_rows import Rows
from representer.onnx.kernel_nodes import block, diagonal
from representer.onnx.nodes import Graph

rng = np.random.default_rng(0)
X, Z = rng.normal(size=(5, 3)), rng.normal(size=(8, 3)) + 100.0
KERNELS = [
    RBF([1.0, 2.0, 3.0]),
    *(Matern(2.0, nu=nu) for nu in (0.5, 1.5, 2.5, 4.5, np.inf)),
    RationalQuadratic(1.5, 0.7),
    Laplacian([1.0, 2.0, 3.0]),
    Periodic(1.2, [2.0, 3.0, 4.0]),
    Linear([1.0, 2.0, 3.0]),
    Polynomial(2, 0.5, 3.0),
    Sigmoid(1e-5, 0.1),
    Cosine(),
    2.0 * RBF(1.0) ** 3 + 1.5,
    On(RBF(1.0), [0, 2]) * On(Linear(), [1]),
    Chi2([1.0, 2.0, 3.0]),
    HistogramIntersection(),
    MinMax(),
    Tanimoto(),
    Brownian(0.5),
    Brownian(0.3),
    Exp(RBF(2.0)),
    PowerSeries(RBF(2.0), [0.5, 1.0, 0.0, 2.0]),
    Normalized(Polynomial(2, 0.0)),
    Foreign(theirs.ExpSineSquared(1.2, 40.0)),
]


@each("kernel", KERNELS)
def test_values(kernel):
    rows, points = np.concatenate([X + 100.0, Z[:1], np.zeros((1, 3))]), np.concatenate([Z, np.zeros((1, 3))])
    graph = Graph(np.float64)
    table = Rows("X", 3)
    graph.add("Identity", block(graph, kernel, table, points), name="block")
    graph.add("Identity", diagonal(graph, kernel, table), name="diagonal")
    model = graph.model(3, {"block": (np.float64, 2), "diagonal": (np.float64, 2)}, {})
    values, diag = run_proto(model, rows, ["block", "diagonal"]).values()
    known = kernel(rows, points)
    close(values, known)
    np.testing.assert_allclose(diag[:, 0], kernel.diag(rows), rtol=1e-10, atol=1e-12)


def test_kernels_that_scikit_learn_evaluates_are_refused():
    with pytest.raises(TypeError, match="evaluated by scikit-learn"):
        block(Graph(np.float64), Foreign(theirs.PairwiseKernel(0.5)), Rows("X", 3), Z)
