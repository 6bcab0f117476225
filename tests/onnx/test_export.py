"""Exported models give the same answers in another runtime."""

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from each_case import each
from sklearn.datasets import load_iris
from sklearn.gaussian_process import kernels as theirs

from representer import (
    SVC,
    SVR,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    KernelClassifier,
    KernelLogisticRegression,
    KernelPCA,
    KernelPoissonRegression,
    KernelRegressor,
    KernelRidge,
    KernelRidgeClassifier,
    NadarayaWatson,
    NuSVC,
    Nystroem,
    OneClassSVM,
    RandomFeatures,
    drop_in,
    to_onnx,
)
from representer.kernels import RBF, ArcCosine, Linear, Matern, On, Periodic, Spectrum

X, LABELS = load_iris(return_X_y=True)
X, LABELS = X[::3], LABELS[::3]
WORDS = np.array(["a", "b", "c"])[LABELS]
Y = np.stack([np.sin(X[:, 0]), X[:, 1]], axis=1)
NEW = X[:7] + 0.1


def run(model, rows=NEW, dtype=np.float64):
    exported = to_onnx(model, dtype)
    session = onnxruntime.InferenceSession(bytes(exported), providers=["CPUExecutionProvider"])
    return dict(zip(exported.outputs, session.run(list(exported.outputs), {"X": rows.astype(dtype)}), strict=True))


def close(found, known, dtype):
    np.testing.assert_allclose(found, known, atol=1e-10 if dtype == np.float64 else 1e-4 * np.abs(known).max())


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
        (KernelRegressor(time_limit=1e-9), Y),
    ],
)
def test_regressions(model, y, dtype):
    close(run(model.fit(X, y), dtype=dtype)["value"], model.predict(NEW), dtype)


@pytest.mark.parametrize("normalize_y", [False, True])
def test_deviations_of_processes(normalize_y):
    kernel = 2.0 * Matern(1.5, nu=2.5) + Linear(3.0)
    model = GaussianProcessRegressor(kernel, noise=0.01, optimizer=None, normalize_y=normalize_y).fit(X, Y[:, 0])
    found, (mean, std) = run(model), model.predict(NEW, return_std=True)
    close(found["value"], mean, np.float64)
    close(found["std"], std, np.float64)


@pytest.mark.filterwarnings("ignore:The search stopped at its time_limit")
@each(
    ("model", "y"),
    [
        (SVC(probability=True), LABELS),
        (SVC(probability=True), WORDS),
        (SVC(probability=True), LABELS == 2),
        (SVC(decision_function_shape="ovo"), LABELS),
        (SVC(kernel=RBF(0.1), break_ties=True), LABELS.astype(float)),
        (NuSVC(nu=0.2), LABELS),
        (KernelLogisticRegression(), LABELS),
        (KernelLogisticRegression(), LABELS == 1),
        (KernelRidgeClassifier(0.1), LABELS),
        (GaussianProcessClassifier(900.0 * RBF(1.0), optimizer=None), LABELS),
        (GaussianProcessClassifier(optimizer=None), WORDS == "b"),
        (drop_in.GaussianProcessClassifier(theirs.RBF() + theirs.WhiteKernel(), optimizer=None), LABELS == 1),
        (KernelClassifier(time_limit=1e-9), LABELS),
        (KernelClassifier(time_limit=1e-9), LABELS == 1),
    ],
)
def test_classifiers(model, y):
    found = run(model.fit(X, y))
    assert list(found["label"]) == list(model.predict(NEW))
    if hasattr(model, "predict_proba"):
        close(found["probability"], model.predict_proba(NEW), np.float64)
    decision = getattr(model, "decision_function", None) or (lambda X: model.latent_mean_and_variance(X)[0])
    close(found["decision"], decision(NEW), np.float64)


def test_outliers_and_transformers(tmp_path):
    outliers = OneClassSVM(nu=0.3).fit(X)
    found = run(outliers, X)
    close(found["score"], outliers.decision_function(X), np.float64)
    assert np.array_equal(found["label"], outliers.predict(X))
    for model in (KernelPCA(3), Nystroem(RBF(2.0), 10), RandomFeatures(RBF(2.0), 20), RandomFeatures(RBF(2.0), 5)):
        close(run(model.fit(X))["transformed"], model.transform(NEW), np.float64)
    to_onnx(outliers).save(tmp_path / "model.onnx")
    onnxruntime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])


def test_models_by_scikit_learns_signatures():
    for model in (drop_in.KernelPCA(3), drop_in.Nystroem(n_components=9), drop_in.RBFSampler(n_components=9)):
        close(run(model.fit(X))["transformed"], model.transform(NEW), np.float64)
    process = drop_in.GaussianProcessRegressor(theirs.RBF() + theirs.WhiteKernel(0.1), optimizer=None).fit(X, Y[:, 0])
    found, (mean, std) = run(process), process.predict(NEW, return_std=True)
    close(found["value"], mean, np.float64)
    close(found["std"], std, np.float64)
    classes = drop_in.GaussianProcessClassifier(theirs.RBF(), optimizer=None).fit(X, WORDS)
    close(run(classes)["probability"], classes.predict_proba(NEW), np.float64)


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
    assert stored["estimator"] == "KernelRidge"
    waves = KernelRidge(kernel=RandomFeatures(RBF(), 20)).fit(X, Y)  # stores no points
    assert 1e-8 < to_onnx(waves, np.float32).error < 1e-4


@pytest.mark.parametrize(
    ("model", "inputs", "message"),
    [
        (KernelRidge(kernel=Spectrum(2)), ["abc", "abd", "xyz"] * 3, "rows of numbers"),
        (KernelRidge(kernel="precomputed"), np.eye(9), "precomputed"),
        (KernelRidge(kernel=Matern(1.0, nu=1.7)), X[:9], "Bessel"),
        (KernelRidge(kernel=ArcCosine()), X[:9], "has no ONNX form.*angles"),
        (NadarayaWatson(), X[:9], "NadarayaWatson has no ONNX form"),
        (drop_in.Nystroem(np.dot, n_components=3), X[:9], "evaluated by Python"),
    ],
)
def test_what_has_no_form_is_told(model, inputs, message):
    y = np.arange(len(inputs)) % 2
    with pytest.raises(TypeError, match=message):
        to_onnx(model.fit(inputs, y))


def test_votes_of_processes_are_refused():
    model = drop_in.GaussianProcessClassifier(optimizer=None, multi_class="one_vs_one").fit(X, LABELS)
    with pytest.raises(TypeError, match="one_vs_rest"):
        to_onnx(model)


def test_other_precisions_are_refused():
    with pytest.raises(ValueError, match="use float64 or float32"):
        to_onnx(KernelRidge().fit(X, Y), np.float16)
