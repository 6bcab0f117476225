"""Exported models give the same answers in another runtime."""

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from each_case import each
from onnx.reference import ReferenceEvaluator
from onnx_cases import LABELS, NEW, WORDS, X, Y, close, run

from representer import (
    GPLVM,
    SVR,
    GaussianProcessRegressor,
    KernelMachine,
    KernelPCA,
    KernelPoissonRegression,
    KernelQuantileRegression,
    KernelRegressor,
    KernelRidge,
    NadarayaWatson,
    Nystroem,
    OneClassSVM,
    RandomFeatures,
    drop_in,
    to_onnx,
)
from representer.kernels import RBF, Matern, On, Periodic, Spectrum
from representer.losses import Huber, Poisson, Squared


class Doubled(Squared):
    """A loss with a response of its own."""

    def response(self, f):
        return 2.0 * f


@pytest.mark.filterwarnings("ignore:The search stopped at its time_limit")
@each("dtype", [np.float64, np.float32])
@each(
    ("model", "y"),
    [
        (KernelRidge(0.1, fit_intercept=True), Y),
        (KernelRidge(0.1, kernel=Nystroem(RBF(), 10)), Y[:, 0]),
        (KernelRidge(0.1, kernel=RandomFeatures(RBF(), 20)), Y[:, 0]),
        (SVR(), Y[:, 0]),
        (KernelPoissonRegression(), LABELS),
        (KernelMachine(loss=Poisson()), LABELS),
        (KernelMachine(loss=Huber()), Y[:, 0]),
        (KernelQuantileRegression([0.5]), Y[:, 0]),
        (KernelQuantileRegression([0.7, 0.5, 0.51, 0.5], kernel=RBF(0.1), non_crossing=True), Y[:, 0]),
        (KernelRegressor(time_limit=1e-9), Y),
    ],
)
def test_regressions(model, y, dtype):
    close(run(model.fit(X, y), dtype=dtype)["value"], model.predict(NEW), dtype)


@each("dtype", [np.float64, np.float32])
@each(
    "model",
    [
        KernelPCA(3),
        Nystroem(RBF(2.0), 10),
        RandomFeatures(RBF(2.0), 20),
        RandomFeatures(RBF(2.0), 5),
        drop_in.KernelPCA(3),
        drop_in.KernelPCA(2, kernel="sigmoid", gamma=0.01),
        drop_in.Nystroem(n_components=9),
        drop_in.RBFSampler(n_components=9, random_state=0),
    ],
)
def test_transformers(model, dtype):
    close(run(model.fit(X), dtype=dtype)["transformed"], model.transform(NEW), dtype)


def test_outliers_and_files(tmp_path):
    outliers = OneClassSVM(nu=0.3).fit(X)
    for dtype in (np.float64, np.float32):
        close(run(outliers, X, dtype)["score"], outliers.decision_function(X), dtype)
    assert np.array_equal(run(outliers, X)["label"], outliers.predict(X))
    to_onnx(outliers).save(tmp_path / "model.onnx")
    onnxruntime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])


def test_columns_of_frames():
    frame = pd.DataFrame(X, columns=list("abcd"))
    kernel = On(RBF(1.0), ["a", "c"]) + On(Periodic(1.0, 3.0), ["b"])
    model = KernelRidge(0.1, kernel=kernel).fit(frame, Y[:, 0])
    close(run(model)["value"], model.predict(pd.DataFrame(NEW, columns=list("abcd"))), np.float64)


@pytest.mark.filterwarnings("ignore:The search stopped at its time_limit")
def test_words_in_frames_are_refused():
    frame = pd.DataFrame({"a": X[:, 0], "b": WORDS})
    with pytest.raises(TypeError, match="numeric columns only"):
        to_onnx(KernelRegressor(time_limit=1e-9).fit(frame, Y))


def test_error_is_measured():
    model = KernelRidge(1e-4).fit(X, Y)
    exact, rounded = to_onnx(model), to_onnx(model, np.float32)
    assert exact.error < 1e-9 < rounded.error < 1e-2
    stored = {each.key: each.value for each in rounded.proto.metadata_props}
    assert float(stored["largest error at stored points"]) == pytest.approx(rounded.error, rel=1e-2)
    assert (stored["estimator"], stored["error measured by"]) == ("KernelRidge", "onnx.reference")
    waves = KernelRidge(kernel=RandomFeatures(RBF(), 20)).fit(X, Y)  # stores no points
    assert 1e-8 < to_onnx(waves, np.float32).error < 1e-4


def test_error_is_that_of_the_worst_output():
    kernel, rows = RBF(1.0), np.linspace(0.0, 1.0, 20)[:, None]
    model = GaussianProcessRegressor(kernel, noise=1e-4, optimizer=None).fit(rows, np.sin(rows[:, 0]))
    exported = to_onnx(model, np.float32)
    found = ReferenceEvaluator(exported.proto).run(["value", "std"], {"X": rows.astype(np.float32)})
    known = model.predict(rows.astype(np.float32).astype(np.float64), return_std=True)
    errors = [np.abs(each - other).max() for each, other in zip(found, known, strict=True)]
    assert exported.error == pytest.approx(max(errors), rel=1e-6)
    assert errors[1] > errors[0]


@pytest.mark.parametrize(
    ("model", "inputs", "message"),
    [
        (KernelRidge(kernel=Spectrum(2)), ["abc", "abd", "xyz"] * 3, "rows of numbers"),
        (KernelRidge(kernel="precomputed"), np.eye(9), "precomputed"),
        (KernelRidge(kernel=Matern(1.0, nu=1.7)), X[:9], "Bessel"),
        (NadarayaWatson(), X[:9], "NadarayaWatson has no ONNX form"),
        (GPLVM(1), X[:9], "GPLVM has no ONNX form"),
        (KernelMachine(loss=Doubled()), X[:9], "response of .* is Python code"),
        (drop_in.Nystroem(np.dot, n_components=3), X[:9], "evaluated by Python"),
    ],
)
def test_what_has_no_form_is_told(model, inputs, message):
    y = np.arange(len(inputs)) % 2
    with pytest.raises(TypeError, match=message):
        to_onnx(model.fit(inputs, y))


def test_other_precisions_are_refused():
    with pytest.raises(ValueError, match="use float64 or float32"):
        to_onnx(KernelRidge().fit(X, Y), np.float16)
