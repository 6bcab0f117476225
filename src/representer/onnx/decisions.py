"""Classifiers as ONNX nodes: labels, decisions, votes of pairs of classes, and probabilities."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from representer.estimators.discriminant import KernelFisherDiscriminant
from representer.estimators.gaussian_process_classifier import GaussianProcessClassifier
from representer.estimators.kernel_classifier import KernelClassifier
from representer.estimators.svc import PairwiseClassifier
from representer.onnx.fitted_functions import values_of
from representer.onnx.input_rows import Rows
from representer.onnx.latent_classes import class_outputs
from representer.onnx.nodes import Graph, library


def classifier(graph: Graph, model: Any, rows: Rows) -> dict[str, Any]:
    """Nodes "label", "decision" and, where the model has them, "probability" or "transformed"."""
    if isinstance(model, GaussianProcessClassifier):
        return class_outputs(graph, model, rows)
    values = values_of(graph, model.function_, rows)
    if isinstance(model, KernelFisherDiscriminant):
        return _discriminant(graph, model, values)
    if isinstance(model, KernelClassifier):
        return _calibrated(graph, model, values)
    if isinstance(model, PairwiseClassifier):
        return _machine(graph, model, values)
    columns = model.function_.coef.shape[1] if model.function_.coef.ndim > 1 else 1
    index = _decided(graph, values, columns)
    outputs: dict[str, Any] = {}
    if hasattr(model, "predict_proba"):
        each = _two(graph, graph.add("Sigmoid", values)) if columns == 1 else graph.add("Softmax", values, axis=1)
        outputs = _probability(graph, each)
    return _labelled(graph, model, index, max(columns - 1, 1)) | outputs


def _decided(graph: Graph, values: str, columns: int) -> str:
    """The index of the class; adds the node "decision".

    One column has the sign of the class. Two columns are decided by their difference, more by the largest.
    """
    if columns > 2:
        return graph.add("ArgMax", graph.add("Identity", values, name="decision"), axis=1, keepdims=0)
    if columns == 2:
        values = graph.add("MatMul", values, np.array([-1.0, 1.0])[:, None])
    graph.add("Reshape", values, np.array([-1], np.int64), name="decision")
    return graph.add("Cast", graph.add("Greater", "decision", 0.0), to=library().TensorProto.INT64)


def _labelled(graph: Graph, model: Any, index: str, dimensions: int) -> dict[str, Any]:
    """The outputs "label", of this index among the classes, and "decision"."""
    return {"label": graph.labels(model.classes_, index), "decision": (graph.dtype, min(dimensions, 2))}


def _probability(graph: Graph, values: str) -> dict[str, Any]:
    graph.add("Identity", values, name="probability")
    return {"probability": (graph.dtype, 2)}


def _discriminant(graph: Graph, model: KernelFisherDiscriminant, values: str) -> dict[str, Any]:
    """Log posteriors f(x) m' - |m|^2 / 2 + log prior, m the mean of a class, or their difference for two classes."""
    with np.errstate(divide="ignore"):
        constant = np.log(model.priors_) - 0.5 * (model.means_**2).sum(axis=1)
    column = values if model.function_.coef.ndim > 1 else graph.add("Reshape", values, np.array([-1, 1], np.int64))
    means = model.means_
    if two := len(means) == 2:
        means, constant = means[1:] - means[:1], constant[1:] - constant[:1]
    index = _decided(graph, graph.add("Add", graph.add("MatMul", column, means.T), constant), 1 if two else len(means))
    graph.add("Slice", column, *(np.array([i], np.int64) for i in (0, model._n_features_out, 1)), name="transformed")
    return _labelled(graph, model, index, len(means)) | {"transformed": (graph.dtype, 2)}


def _calibrated(graph: Graph, model: KernelClassifier, values: str) -> dict[str, Any]:
    """Calibrated log odds, and their softmax."""
    k = len(model.classes_)
    each = graph.add("Concat", graph.add("Neg", values), values, axis=1) if k == 2 else values
    logits = graph.add("Add", graph.add("Mul", each, float(model._calibration[0])), model._calibration[1:])
    index = _decided(graph, logits, k)
    return _labelled(graph, model, index, k - 1) | _probability(graph, graph.add("Softmax", logits, axis=1))


def _machine(graph: Graph, model: Any, values: str) -> dict[str, Any]:
    """Signs of two classes, or votes of pairs of classes."""
    k = len(model.classes_)
    if k == 2:
        index = _decided(graph, values, 1)
    else:
        votes = _votes(graph, values, k)
        classes = _by_class(graph, values, votes, k)
        index = graph.add("ArgMax", classes if model.break_ties else votes, axis=1, keepdims=0)
        graph.add("Identity", values if model.decision_function_shape == "ovo" else classes, name="decision")
    outputs = _labelled(graph, model, index, k - 1)
    if not (hasattr(model, "predict_proba") and hasattr(model, "_sigmoids")):
        return outputs
    slopes, offsets = (np.array([getattr(s, name) for s in model._sigmoids]) for name in ("slope", "offset"))
    each = graph.add("Sigmoid", graph.add("Add", graph.add("Mul", values, slopes), offsets))
    return outputs | _probability(graph, _two(graph, each) if k == 2 else _coupled(graph, each, k))


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
