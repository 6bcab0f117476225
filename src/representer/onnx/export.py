"""Fitted models as ONNX graphs: values, classes with votes and probabilities, standard deviations, scores."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from representer.drop_in import components, sampled_features
from representer.estimators.discriminant import KernelFisherDiscriminant
from representer.estimators.gaussian_process import GaussianProcessRegressor
from representer.estimators.gaussian_process_classifier import GaussianProcessClassifier
from representer.estimators.kernel_classifier import KernelClassifier
from representer.estimators.kernel_machine import KernelMachine
from representer.estimators.kernel_pca import KernelPCA
from representer.estimators.kernel_regressor import KernelRegressor
from representer.estimators.kernel_ridge import KernelRidge
from representer.estimators.logistic_regression import KernelLogisticRegression
from representer.estimators.one_class import OneClassSVM
from representer.estimators.poisson_regression import KernelPoissonRegression
from representer.estimators.quantile_regression import KernelQuantileRegression
from representer.estimators.ridge_classifier import KernelRidgeClassifier
from representer.estimators.svc import PairwiseClassifier
from representer.estimators.svr import SVR, NuSVR
from representer.features.span import Transformer
from representer.functions import Function
from representer.kernels.basis import Points
from representer.losses.base import Loss
from representer.losses.poisson import Poisson
from representer.onnx.decisions import classifier
from representer.onnx.deviations import deviation_nodes
from representer.onnx.fitted_functions import centre_features, values_of, waves
from representer.onnx.input_rows import Rows, dense
from representer.onnx.kernel_nodes import block
from representer.onnx.nodes import Graph, library

CLASSIFIERS = (
    GaussianProcessClassifier,
    KernelClassifier,
    KernelFisherDiscriminant,
    KernelLogisticRegression,
    KernelMachine,
    KernelRidgeClassifier,
    PairwiseClassifier,
)
REGRESSORS = (
    GaussianProcessRegressor,
    KernelMachine,
    KernelPoissonRegression,
    KernelQuantileRegression,
    KernelRegressor,
    KernelRidge,
    NuSVR,
    SVR,
)
OTHERS = (KernelPCA, OneClassSVM, Transformer, sampled_features.Sampled)
CHECKED_POINTS = 200
"""Stored or random points at which the error of a graph is measured."""


@dataclass(frozen=True)
class Exported:
    """An ONNX model from rows "X" to the named outputs, and the largest error of its numbers at stored points."""

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

    Outputs are "value" for regressions, and "std" for Gaussian processes, except those solved by conjugate gradients;
    "label", "decision" (the decision function, or the mean of f) and, where the model has them, "probability" for
    classifiers; "score" for `OneClassSVM`; and "transformed" for `KernelPCA`, `KernelFisherDiscriminant`, `Nystroem`
    and `RandomFeatures`. Data frames are passed as rows, columns in order. Kernels on strings and graphs, and Python
    functions, have no ONNX form and are refused.

    Parameters
    ----------
    model : fitted estimator
    dtype : float64 or float32
        Most accelerators need float32. The largest error of any output but labels at stored points, or at normally
        distributed ones where the model stores none, is kept as ``error``, and in the metadata of the model, with the
        runtime in which it was measured.
    """
    dtype = np.dtype(dtype)
    if dtype not in (np.float64, np.float32):
        raise ValueError(f"dtype is {dtype}; use float64 or float32.")
    check_is_fitted(model)
    _require_form(model)
    graph, points = Graph(dtype), _points(model)
    columns = tuple(map(str, points.columns)) if hasattr(points, "columns") else None
    rows = Rows("X", points.shape[1], columns)
    outputs = classifier(graph, model, rows) if is_classifier(model) else _other(graph, model, rows)
    metadata = {"estimator": type(model).__name__, "kernel": repr(getattr(model, "kernel_", ""))[:1000]}
    error = _error(graph.model(rows.n_columns, outputs, metadata), model, points, dtype)
    measured = {"largest error at stored points": f"{error:.3g}", "error measured by": "onnx.reference"}
    return Exported(graph.model(rows.n_columns, outputs, metadata | measured), tuple(outputs), error)


def _require_form(model: Any) -> None:
    """Raise unless predictions of this class are written below."""
    if not isinstance(model, CLASSIFIERS if is_classifier(model) else REGRESSORS + OTHERS):
        raise TypeError(
            f"{type(model).__name__} has no ONNX form; there are forms of kernel ridge, support vector machines, "
            "KernelMachine, logistic, Poisson and quantile regression, the Fisher discriminant, Gaussian processes, "
            "KernelRegressor, KernelClassifier, KernelPCA, Nystroem and RandomFeatures."
        )


def _points(model: Any) -> Any:
    """The inputs that a model stores, or random ones where it stores none."""
    if isinstance(model, GaussianProcessClassifier):
        return _numbers(model.X_fit_)
    if getattr(model, "_encoding", None) is not None:
        raise TypeError("Words, dates and missing values of a data frame have no ONNX form; give numeric columns only.")
    if isinstance(model, sampled_features.Sampled):
        return model.components_ if hasattr(model, "components_") else _normal(model)
    if isinstance(model, Transformer):
        return model.kernel_.landmarks if hasattr(model.kernel_, "landmarks") else _normal(model)
    function = _written(model) if isinstance(model, KernelPCA) else model.function_
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


def _written(model: KernelPCA) -> Function:
    """The scores as functions of rows, also where the fit was to a matrix of kernel values."""
    return model.written_scores() if isinstance(model, components.KernelPCA) else model.eigenfunctions_


def _other(graph: Graph, model: Any, rows: Rows) -> dict[str, Any]:
    """Outputs of regressors, outlier detectors and transformers."""
    if isinstance(model, sampled_features.Sampled):
        return _sampled(graph, model, rows)
    if isinstance(model, Transformer):
        return _transformer(graph, model, rows)
    if isinstance(model, KernelPCA):
        graph.add("Identity", values_of(graph, _written(model), rows), name="transformed")
        return {"transformed": (graph.dtype, 2)}
    values = values_of(graph, model.function_, rows)
    if isinstance(model, OneClassSVM):
        score = graph.add("Reshape", values, np.array([-1], np.int64), name="score")
        inlier = graph.add("Cast", graph.add("GreaterOrEqual", score, 0.0), to=library().TensorProto.INT64)
        graph.add("Sub", graph.add("Mul", inlier, np.array(2)), np.array(1), name="label")
        return {"label": (np.int64, 1), "score": (graph.dtype, 1)}
    single = model.function_.coef.ndim == 1
    if isinstance(model, KernelQuantileRegression):
        single = np.ndim(model.quantile) == 0
    values = _response(graph, model, values)
    if single:
        graph.add("Reshape", values, np.array([-1], np.int64), name="value")
    else:
        graph.add("Identity", values, name="value")
    outputs: dict[str, Any] = {"value": (graph.dtype, 1 if single else 2)}
    if not isinstance(model, GaussianProcessRegressor):
        return outputs
    return outputs | deviation_nodes(graph, model, rows, single)


def _response(graph: Graph, model: Any, values: str) -> str:
    """Predictions from values of f: rates of counts, and sorted quantiles."""
    loss = Poisson() if isinstance(model, KernelPoissonRegression) else getattr(model, "_loss", None)
    if isinstance(loss, Poisson):
        return graph.add("Exp", values)
    if isinstance(loss, Loss) and type(loss).response is not Loss.response:
        raise TypeError(f"The response of {loss!r} is Python code, which has no ONNX form; Poisson() has one.")
    if isinstance(model, KernelQuantileRegression) and model.non_crossing and np.ndim(model.quantile):
        rank = np.argsort(np.argsort(model.quantile))
        return graph.add("Gather", graph.ascending(values, len(rank)), rank.astype(np.int64), axis=1)
    return values


def _transformer(graph: Graph, model: Any, rows: Rows) -> dict[str, Any]:
    if hasattr(model.basis_, "centres"):
        values = centre_features(graph, model.basis_, rows)
    else:
        values = waves(graph, model.kernel_, rows)
    graph.add("Identity", values, name="transformed")
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


def _error(proto: Any, model: Any, points: Any, dtype: np.dtype) -> float:
    """The largest difference between the graph and the methods of the model, over all outputs but labels."""
    from onnx.reference import ReferenceEvaluator

    some = points.iloc[:CHECKED_POINTS] if hasattr(points, "iloc") else points[:CHECKED_POINTS]
    X = dense(some).astype(dtype)
    given = some if hasattr(some, "columns") else X.astype(np.float64)
    names = [each.name for each in proto.graph.output if each.name != "label"]
    with np.errstate(over="ignore", invalid="ignore"):  # its sigmoid divides infinities that it does not use
        found: Any = ReferenceEvaluator(proto).run(names, {"X": X})
    return max(_difference(*pair) for pair in zip(found, (_known(model, name, given) for name in names), strict=True))


def _difference(found: np.ndarray, known: Any) -> float:
    found, known = found.astype(np.float64), np.asarray(known, np.float64)
    with np.errstate(invalid="ignore"):  # log posteriors of classes without a prior are equal and infinite
        return float(np.where(found == known, 0.0, np.abs(found - known)).max())


def _known(model: Any, name: str, X: Any) -> Any:
    """The values of an output by the method that has them."""
    if name == "decision" and isinstance(model, GaussianProcessClassifier):
        return GaussianProcessClassifier.latent_mean_and_variance(model, X)[0]  # also of several classes
    if name == "std":
        return model.predict(X, return_std=True)[1]
    methods = {"value": "predict", "probability": "predict_proba", "transformed": "transform"}
    return getattr(model, methods.get(name, "decision_function"))(X)
