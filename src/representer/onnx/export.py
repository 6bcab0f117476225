"""Fitted models as ONNX graphs: values, classes with votes and probabilities, standard deviations, scores."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from representer.drop_in import sampled_features
from representer.estimators.gaussian_process import GaussianProcessRegressor
from representer.estimators.gaussian_process_classifier import GaussianProcessClassifier
from representer.estimators.kernel_classifier import KernelClassifier
from representer.estimators.poisson_regression import KernelPoissonRegression
from representer.features.random_features import RandomFeatures
from representer.functions import Function
from representer.kernels.basis import Points
from representer.kernels.laws import Waves
from representer.onnx.kernel_nodes import Rows, block, dense, diagonal
from representer.onnx.latent_classes import class_outputs
from representer.onnx.nodes import Graph, library

CHECKED_POINTS = 200
"""Stored or random points at which the error of a graph is measured."""


@dataclass(frozen=True)
class Exported:
    """An ONNX model from rows "X" to the named outputs, and the largest error at stored points."""

    proto: Any
    outputs: tuple[str, ...]
    error: float

    def save(self, path: Any) -> None:
        """Write the model to a file."""
        Path(path).write_bytes(self.proto.SerializeToString())

    def __bytes__(self) -> bytes:
        return self.proto.SerializeToString()


def to_onnx(model: Any, dtype: Any = np.float64) -> Exported:
    """A fitted model as an ONNX graph, for runtimes in any language.

    Outputs are "value" for regressions and "std" for Gaussian processes; "label", "decision" (the decision function, or
    the mean of f) and, where the model has them, "probability" for classifiers; "score" for `OneClassSVM`; and
    "transformed" for `KernelPCA`, `Nystroem` and `RandomFeatures`. Data frames are passed as rows, columns in order.
    Kernels on strings and graphs, and Python functions, have no ONNX form and are refused.

    Parameters
    ----------
    model : fitted estimator
    dtype : float64 or float32
        Most accelerators need float32. The largest error at stored points, or at normally distributed ones where the
        model stores none, is kept as ``error``, and in the metadata of the model.
    """
    dtype = np.dtype(dtype)
    if dtype not in (np.float64, np.float32):
        raise ValueError(f"dtype is {dtype}; use float64 or float32.")
    check_is_fitted(model)
    graph, points = Graph(dtype), _points(model)
    columns = tuple(map(str, points.columns)) if hasattr(points, "columns") else None
    rows = Rows("X", points.shape[1], columns)
    outputs = _classifier(graph, model, rows) if is_classifier(model) else _other(graph, model, rows)
    metadata = {"estimator": type(model).__name__, "kernel": repr(getattr(model, "kernel_", ""))[:1000]}
    error = _error(graph.model(rows.n_columns, outputs, metadata), model, points, dtype)
    proto = graph.model(rows.n_columns, outputs, metadata | {"largest error at stored points": f"{error:.3g}"})
    return Exported(proto, tuple(outputs), error)


def _points(model: Any) -> Any:
    """The inputs that a model stores, or random ones where it stores none."""
    if isinstance(model, GaussianProcessClassifier):
        return _numbers(model.X_fit_)
    if getattr(model, "_encoding", None) is not None:
        raise TypeError("Words, dates and missing values of a data frame have no ONNX form; give numeric columns only.")
    if isinstance(model, sampled_features.Sampled):
        return model.components_ if hasattr(model, "components_") else _normal(model)
    if hasattr(model, "basis_"):  # a transformer
        return model.kernel_.landmarks if hasattr(model.kernel_, "landmarks") else _normal(model)
    function = getattr(model, "eigenfunctions_", None) or getattr(model, "function_", None)
    if not isinstance(function, Function):
        raise TypeError(
            f"{type(model).__name__} has no ONNX form; there are forms of kernel ridge, support vector machines, "
            "logistic regression, Gaussian processes, KernelPCA, Nystroem and RandomFeatures."
        )
    if isinstance(function.X, Points):
        return _normal(model)
    if function.kernel.precomputed:
        raise TypeError("A precomputed Gram matrix has no ONNX form: the kernel is not known; give a kernel.")
    return _numbers(function.X)


def _normal(model: Any) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(CHECKED_POINTS, model.n_features_in_))


def _numbers(points: Any) -> Any:
    if not hasattr(points, "shape"):
        raise TypeError("ONNX has operators for rows of numbers only, not for these inputs; use representer.save.")
    return points


def _values(graph: Graph, function: Function, rows: Rows) -> str:
    """f(x), one column per output."""
    coef = function.coef.reshape(len(function.coef), -1)
    if isinstance(function.X, Points):
        features = _features(graph, function.kernel, rows)
        values = graph.add("MatMul", features, function.X.coordinates.T @ coef)
    else:
        values = graph.add("MatMul", block(graph, function.kernel, rows, function.X), coef)
    return graph.add("Add", values, np.broadcast_to(np.asarray(function.constant, np.float64), coef.shape[1:]))


def _features(graph: Graph, kernel: Any, rows: Rows) -> str:
    """phi(x) of random features."""
    maps = kernel.draw(rows.n_columns) if isinstance(kernel, RandomFeatures) else None
    if not isinstance(maps, Waves):
        raise TypeError(f"{kernel!r} has no ONNX form; Nystroem and Fourier features of stationary kernels have.")
    p = len(maps.frequencies)
    paired, phases, factors = maps.size - p, np.zeros(p), np.full(maps.size, np.sqrt(1.0 / p))
    if maps.phase is not None:
        phases[-1], factors[p - 1] = maps.phase, np.sqrt(2.0 / p)
    cosines = graph.add("Cos", graph.add("Add", graph.add("MatMul", rows.name, maps.frequencies.T), phases))
    sines = graph.add("Sin", graph.add("MatMul", rows.name, maps.frequencies[:paired].T))
    return graph.add("Mul", graph.add("Concat", cosines, sines, axis=1), factors)


def _other(graph: Graph, model: Any, rows: Rows) -> dict[str, Any]:
    """Outputs of regressors, outlier detectors and transformers."""
    if isinstance(model, sampled_features.Sampled):
        return _sampled(graph, model, rows)
    if hasattr(model, "basis_"):
        return _transformer(graph, model, rows)
    if hasattr(model, "eigenfunctions_"):
        graph.add("Identity", _values(graph, model.eigenfunctions_, rows), name="transformed")
        return {"transformed": (graph.dtype, 2)}
    values, single = _values(graph, model.function_, rows), model.function_.coef.ndim == 1
    if hasattr(model, "offset_"):
        score = graph.add("Reshape", values, np.array([-1], np.int64), name="score")
        inlier = graph.add("Cast", graph.add("GreaterOrEqual", score, 0.0), to=library().TensorProto.INT64)
        graph.add("Sub", graph.add("Mul", inlier, np.array(2)), np.array(1), name="label")
        return {"label": (np.int64, 1), "score": (graph.dtype, 1)}
    if isinstance(model, KernelPoissonRegression):
        values = graph.add("Exp", values)
    if single:
        graph.add("Reshape", values, np.array([-1], np.int64), name="value")
    else:
        graph.add("Identity", values, name="value")
    outputs: dict[str, Any] = {"value": (graph.dtype, 1 if single else 2)}
    return outputs | _deviation(graph, model, rows, single) if isinstance(model, GaussianProcessRegressor) else outputs


def _deviation(graph: Graph, model: Any, rows: Rows, single: bool) -> dict[str, Any]:
    """The standard deviation of f: the square root of k(x, x) - |L^(-1) k(X, x)|^2, in units of y."""
    factor = getattr(model._process.posterior, "factor", None) if hasattr(model._process, "posterior") else None
    if factor is None or isinstance(model.function_.X, Points):
        return {}
    kernel, points = model.function_.kernel, model.function_.X
    inverse = factor.half_solve(np.eye(len(factor.L)))
    half = graph.add("MatMul", block(graph, kernel, rows, points), inverse.T)
    explained = graph.sum(graph.add("Mul", half, half), 1)
    variance = graph.add("Max", graph.add("Sub", diagonal(graph, kernel, rows), explained), 0.0)
    std = graph.add("Mul", graph.add("Sqrt", variance), model._scale[None])
    graph.add("Reshape", std, np.array([-1] if single else [0, -1], np.int64), name="std")
    return {"std": (graph.dtype, 1 if single else 2)}


def _transformer(graph: Graph, model: Any, rows: Rows) -> dict[str, Any]:
    basis = model.basis_
    if hasattr(basis, "centres"):
        root = basis.root if basis.combination is None else basis.combination @ basis.root
        graph.add("MatMul", block(graph, basis.of, rows, basis.centres), root, name="transformed")
    else:
        graph.add("Identity", _features(graph, model.kernel_, rows), name="transformed")
    return {"transformed": (graph.dtype, 2)}


def _sampled(graph: Graph, model: Any, rows: Rows) -> dict[str, Any]:
    """Nystroem and Fourier features with scikit-learn's signatures."""
    if isinstance(model, sampled_features.Nystroem):
        if (kernel := model.written_kernel()) is None:
            raise TypeError(f"{model.kernel!r} is evaluated by Python and has no ONNX form.")
        graph.add("MatMul", block(graph, kernel, rows, model.components_), model.normalization_.T, name="transformed")
    else:
        phases = graph.add("Add", graph.add("MatMul", rows.name, model.random_weights_), model.random_offset_)
        factors = np.full(model.n_components, np.sqrt(2.0 / model.n_components))
        graph.add("Mul", graph.add("Cos", phases), factors, name="transformed")
    return {"transformed": (graph.dtype, 2)}


def _classifier(graph: Graph, model: Any, rows: Rows) -> dict[str, Any]:
    """Label, decision and probability."""
    if isinstance(model, GaussianProcessClassifier):
        return class_outputs(graph, model, rows)
    if isinstance(model, KernelClassifier):
        return _calibrated(graph, model, rows)
    values, k = _values(graph, model.function_, rows), len(model.classes_)
    outputs: dict[str, Any] = {}
    columns = model.function_.coef.shape[1] if model.function_.coef.ndim > 1 else 1
    pairs = hasattr(model, "decision_function_shape")
    if columns == 1:
        graph.add("Reshape", values, np.array([-1], np.int64), name="decision")
        index = graph.add("Cast", graph.add("Greater", "decision", 0.0), to=library().TensorProto.INT64)
    elif pairs:
        votes = _votes(graph, values, k)
        classes = _by_class(graph, values, votes, k)
        index = graph.add("ArgMax", classes if model.break_ties else votes, axis=1, keepdims=0)
        graph.add("Identity", values if model.decision_function_shape == "ovo" else classes, name="decision")
    else:
        index = graph.add("ArgMax", graph.add("Identity", values, name="decision"), axis=1, keepdims=0)
    probability = _probability(graph, model, values, columns)
    if probability is not None:
        graph.add("Identity", probability, name="probability")
        outputs["probability"] = (graph.dtype, 2)
    decision = (graph.dtype, 1 if columns == 1 else 2)
    return {"label": graph.labels(model.classes_, index), "decision": decision} | outputs


def _calibrated(graph: Graph, model: KernelClassifier, rows: Rows) -> dict[str, Any]:
    """Calibrated log odds, and their softmax."""
    values, k = _values(graph, model.function_, rows), len(model.classes_)
    each = graph.add("Concat", graph.add("Neg", values), values, axis=1) if k == 2 else values
    logits = graph.add("Add", graph.add("Mul", each, float(model._calibration[0])), model._calibration[1:])
    if k == 2:
        odds = graph.add("MatMul", logits, np.array([-1.0, 1.0])[:, None])
        graph.add("Reshape", odds, np.array([-1], np.int64), name="decision")
    else:
        graph.add("Identity", logits, name="decision")
    graph.add("Softmax", logits, axis=1, name="probability")
    label = graph.labels(model.classes_, graph.add("ArgMax", logits, axis=1, keepdims=0))
    return {"label": label, "decision": (graph.dtype, min(k - 1, 2)), "probability": (graph.dtype, 2)}


def _votes(graph: Graph, values: str, k: int) -> str:
    """Votes of the pairs for the classes."""
    pairs = list(combinations(range(k), 2))
    first, second = (np.eye(k)[[pair[side] for pair in pairs]] for side in (0, 1))
    kind = library().helper.np_dtype_to_tensor_dtype(graph.dtype)
    ahead = graph.add("Cast", graph.add("Greater", values, 0.0), to=kind)
    behind = graph.add("Sub", 1.0, ahead)
    return graph.add("Add", graph.add("MatMul", ahead, first), graph.add("MatMul", behind, second))


def _by_class(graph: Graph, values: str, votes: str, k: int) -> str:
    """Votes, with ties broken by the sums of the pairs' values, squashed to less than half a vote."""
    signs = np.array([np.eye(k)[a] - np.eye(k)[b] for a, b in combinations(range(k), 2)])
    sums = graph.add("MatMul", values, signs)
    squeezed = graph.add("Div", sums, graph.add("Mul", graph.add("Add", graph.add("Abs", sums), 1.0), 3.0))
    return graph.add("Add", votes, squeezed)


def _probability(graph: Graph, model: Any, values: str, columns: int) -> str | None:
    """The probability of each class, if the model has one."""
    if hasattr(model, "_sigmoids"):
        slopes, offsets = (np.array([getattr(s, name) for s in model._sigmoids]) for name in ("slope", "offset"))
        each = graph.add("Sigmoid", graph.add("Add", graph.add("Mul", values, slopes), offsets))
        return _two(graph, each) if columns == 1 else _coupled(graph, each, len(model.classes_))
    if not hasattr(model, "predict_proba"):
        return None
    return _two(graph, graph.add("Sigmoid", values)) if columns == 1 else graph.add("Softmax", values, axis=1)


def _two(graph: Graph, second: str) -> str:
    return graph.add("Concat", graph.add("Sub", 1.0, second), second, axis=1)


def _coupled(graph: Graph, pairs: str, k: int) -> str:
    """p that minimises |V p|^2 with sum p = 1, a row (1 - r_ab) e_a - r_ab e_b of V for each pair, by elimination.

    With p = e_k + T q it is a positive definite system of k - 1 equations, so that no pivoting is needed.
    """
    order = list(combinations(range(k), 2))
    first, second = (np.eye(k)[[pair[side] for pair in order]] for side in (0, 1))
    r = graph.add("Clip", pairs, 1e-7, 1.0 - 1e-7)
    r = graph.add("Unsqueeze", r, np.array([2], np.int64))
    V = graph.add("Sub", graph.add("Mul", graph.add("Sub", 1.0, r), first[None]), graph.add("Mul", r, second[None]))
    T = np.concatenate([np.eye(k - 1), -np.ones((1, k - 1))])
    W, last = graph.add("MatMul", V, T), graph.add("MatMul", V, -np.eye(k)[:, -1:])
    turned = graph.add("Transpose", W, perm=[0, 2, 1])
    M = graph.add("Concat", graph.add("MatMul", turned, W), graph.add("MatMul", turned, last), axis=2)
    for i in range(k - 1):  # Gauss-Jordan elimination: the solution ends up in the last column
        row, column = graph.add("Gather", M, np.array([i]), axis=1), graph.add("Gather", M, np.array([i]), axis=2)
        row = graph.add("Div", row, graph.add("Gather", row, np.array([i]), axis=2))
        M = graph.add("Sub", M, graph.add("Mul", graph.add("Sub", column, np.eye(k - 1)[None, :, i : i + 1]), row))
    q = graph.add("Gather", M, np.array(k - 1), axis=2)
    p = graph.add("Add", graph.add("MatMul", q, T.T), np.eye(k)[-1])
    p = graph.add("Max", p, 0.0)
    return graph.add("Div", p, graph.sum(p, 1))


def _error(proto: Any, model: Any, points: Any, dtype: np.dtype) -> float:
    """The largest difference between model and graph in the first numeric output at stored points."""
    from onnx.reference import ReferenceEvaluator

    some = points.iloc[:CHECKED_POINTS] if hasattr(points, "iloc") else points[:CHECKED_POINTS]
    X = dense(some).astype(dtype)
    given = some if hasattr(some, "columns") else X.astype(np.float64)
    name = next(each.name for each in proto.graph.output if each.name in ("value", "decision", "score", "transformed"))
    found: Any = ReferenceEvaluator(proto).run([name], {"X": X})
    found = found[0]
    if name == "transformed":
        known = model.transform(given)
    elif hasattr(model, "eigenfunctions_"):
        known = model.eigenfunctions_(given)
    elif isinstance(model, GaussianProcessClassifier):
        known = GaussianProcessClassifier.latent_mean_and_variance(model, given)[0]  # also of several classes
    elif name == "value":
        known = model.predict(given)
    elif isinstance(model, KernelClassifier) or hasattr(model, "decision_function_shape"):
        known = model.decision_function(given)
    else:
        known = model.function_(given)
    return float(np.abs(np.asarray(found, np.float64) - np.asarray(known).reshape(found.shape)).max())
