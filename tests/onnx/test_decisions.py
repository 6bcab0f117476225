"""Exported classifiers give the labels, decisions and probabilities of the model."""

import numpy as np
import pytest
from each_case import each
from onnx_cases import LABELS, NEW, WORDS, X, close, run
from sklearn.gaussian_process import kernels as theirs

from representer import (
    SVC,
    GaussianProcessClassifier,
    KernelClassifier,
    KernelFisherDiscriminant,
    KernelLogisticRegression,
    KernelMachine,
    KernelRidgeClassifier,
    NuSVC,
    drop_in,
    to_onnx,
)
from representer.kernels import RBF
from representer.losses import Hinge, Multinomial


@pytest.mark.filterwarnings("ignore:The search stopped at its time_limit")
@each("dtype", [np.float64, np.float32])
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
        (KernelMachine(loss=Hinge()), LABELS == 1),
        (KernelMachine(loss=Multinomial()), LABELS),
        (KernelMachine(loss=Multinomial()), LABELS == 1),
        (KernelFisherDiscriminant(), WORDS),
        (KernelFisherDiscriminant(n_components=1), LABELS),
        (KernelFisherDiscriminant(priors=[0.9, 0.1]), LABELS == 1),
        (KernelFisherDiscriminant(priors=[0.9, 0.1, 0.0]), LABELS),
        (GaussianProcessClassifier(900.0 * RBF(1.0), optimizer=None), LABELS),
        (GaussianProcessClassifier(optimizer=None), WORDS == "b"),
        (drop_in.GaussianProcessClassifier(theirs.RBF() + theirs.WhiteKernel(), optimizer=None), LABELS == 1),
        (drop_in.GaussianProcessClassifier(theirs.RBF(), optimizer=None), WORDS),
        (KernelClassifier(time_limit=1e-9), LABELS),
        (KernelClassifier(time_limit=1e-9), LABELS == 1),
    ],
)
def test_classifiers(model, y, dtype):
    found = run(model.fit(X, y), dtype=dtype)
    assert list(found["label"]) == list(model.predict(NEW))
    if hasattr(model, "predict_proba"):
        close(found["probability"], model.predict_proba(NEW), dtype)
    if hasattr(model, "transform"):
        close(found["transformed"], model.transform(NEW), dtype)
    decision = getattr(model, "decision_function", None) or _mean_of_f(model)
    finite = np.isfinite(known := decision(NEW))
    assert np.array_equal(found["decision"][~finite], known[~finite])
    close(found["decision"][finite], known[finite], dtype)


def _mean_of_f(model):
    return lambda X: GaussianProcessClassifier.latent_mean_and_variance(model, X)[0]


def test_votes_of_processes_are_refused():
    model = drop_in.GaussianProcessClassifier(optimizer=None, multi_class="one_vs_one").fit(X, LABELS)
    with pytest.raises(TypeError, match="one_vs_rest"):
        to_onnx(model)
