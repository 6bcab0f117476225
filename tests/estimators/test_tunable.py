import warnings

import numpy as np
import pytest
from each_case import each
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from representer import (
    SVC,
    SVR,
    KernelLogisticRegression,
    KernelMachine,
    KernelPoissonRegression,
    KernelQuantileRegression,
    KernelRidge,
)
from representer.estimators.criteria import MachineErrors, RidgeErrors
from representer.estimators.tunable import with_weight
from representer.kernels import RBF, Spectrum
from representer.losses import CustomLoss, Huber
from representer.regularizers import Norm, SquaredNorm

N = 90
RNG = np.random.default_rng(1)
X = RNG.normal(size=(2 * N, 2))
F = 1.5 * np.sin(2.0 * X[:, 0])
TARGETS = {
    "numbers": F + 0.3 * RNG.normal(size=2 * N),
    "labels": np.where(F + 0.3 * RNG.normal(size=2 * N) > 0, "yes", "no"),
    "classes": np.digitize(F + 0.1 * RNG.normal(size=2 * N), [-0.7, 0.7]),
    "counts": RNG.poisson(np.exp(F)),
}
MODELS = {
    "SVC": (SVC(), "labels"),
    "SVC of three classes": (SVC(), "classes"),
    "SVR": (SVR(), "numbers"),
    "logistic": (KernelLogisticRegression(), "labels"),
    "logistic of three classes": (KernelLogisticRegression(), "classes"),
    "quantiles": (KernelQuantileRegression([0.2, 0.8]), "numbers"),
    "Poisson": (KernelPoissonRegression(), "counts"),
    "machine": (KernelMachine(loss=Huber(0.5)), "numbers"),
    "ridge by likelihood": (KernelRidge(tune="likelihood"), "numbers"),
}


def strength(model):
    return next(getattr(model, name) for name in ("C_", "alpha_", "strength_") if hasattr(model, name))


@pytest.fixture
def criterion(monkeypatch):
    """Criteria that were used, the last one at the end."""
    used = []
    for kind in (MachineErrors, RidgeErrors):
        plain = kind.__call__
        monkeypatch.setattr(kind, "__call__", lambda self, *args, plain=plain: used.append(self) or plain(self, *args))
    return used


@pytest.mark.parametrize("name", MODELS)
def test_a_tuned_model_is_better_than_the_untuned(name, criterion):
    """Never worse by its own criterion, and here on new inputs, too."""
    model, kind = MODELS[name]
    y = TARGETS[kind]
    plain = clone(model).set_params(tune=None).fit(X[:N], y[:N])
    tuned = clone(model).set_params(tune=model.get_params()["tune"] or "loo").fit(X[:N], y[:N])
    before, after = (criterion[-1](m.kernel_, strength(m)).objective for m in (plain, tuned))
    assert after < before
    assert np.log(tuned.loo_error_) == pytest.approx(after, rel=1e-5, abs=1e-6)
    assert tuned.score(X[N:], y[N:]) > plain.score(X[N:], y[N:]) - 0.01
    assert not hasattr(tuned.set_params(tune=None).fit(X[:N], y[:N]), "loo_error_")


@each("name", MODELS)
def test_plans_count_the_search(name):
    model, kind = MODELS[name]
    plain = clone(model).set_params(tune=None).plan(X, TARGETS[kind])
    tuned = clone(model).set_params(tune=model.get_params()["tune"] or "loo").plan(X, TARGETS[kind])
    assert tuned.seconds > plain.seconds
    assert tuned.bytes >= plain.bytes


def test_bounds_fixed_and_the_warning_at_a_bound():
    y = TARGETS["labels"]
    with pytest.warns(ConvergenceWarning, match=r"ended at a bound of C \(upper\); widen bounds=, or fix them"):
        model = SVC(tune="loo", kernel=RBF(2.0), bounds={"C": (0.01, 0.1)}, fixed=["length_scale"]).fit(X, y)
    assert pytest.approx(0.1) == model.C_
    assert model.kernel_.length_scale == 2.0
    there = SVC(0.1, tune="loo", kernel=RBF(2.0), fixed=["length_scale", "C"]).fit(X, y)
    assert model.loo_error_ == pytest.approx(there.loo_error_, rel=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelLogisticRegression(tune="loo", fixed=["C"], max_iter=50).fit(X, y)


@each(
    ("model", "kind"),
    [
        (SVC(), "labels"),
        (KernelLogisticRegression(), "labels"),
        (KernelQuantileRegression(), "numbers"),
        (KernelRidge(solver="conjugate_gradient"), "numbers"),
    ],
)
def test_steps_of_the_search_are_not_those_of_the_solver(model, kind):
    """One step of the search, and a fit that converges; without a search, one step of the solver is not enough."""
    few = clone(model).set_params(tune="loo", max_iter=1).fit(X, TARGETS[kind])
    assert few.certificate_.converged
    assert few._most_iterations() == model._most_iterations()
    assert clone(model).set_params(tune="loo", max_iter=10**6)._most_iterations() >= 10**6
    with pytest.warns(ConvergenceWarning):
        clone(model).set_params(max_iter=1).fit(X, TARGETS[kind])


@each("model", [SVC(), SVR(), KernelLogisticRegression(), KernelQuantileRegression(), KernelMachine()])
@each(
    ("options", "message"),
    [
        ({"tune": "cv"}, "tune is 'cv'; use None or 'loo'"),
        ({"bounds": {"C": (1, 2)}}, "options of a search; use tune='loo'"),
        ({"tune": "loo", "fixed": "C"}, r"fixed is 'C'; give a list of names, such as \['C'\]"),
        ({"tune": "loo", "fixed": ["period"]}, "no hyper-parameter 'period' to fix; there are length_scale"),
        ({"tune": "loo", "bounds": {"gamma": (1, 2)}}, "no hyper-parameter 'gamma' to bound"),
    ],
)
def test_mistakes_are_told(model, options, message):
    y = TARGETS["labels" if hasattr(model, "decision_function") else "numbers"]
    with pytest.raises((ValueError, TypeError), match=message):
        clone(model).set_params(**options).fit(X, y)


def test_what_cannot_be_tuned_is_told():
    y = TARGETS["numbers"]
    with pytest.raises(ValueError, match="is for the squared norm, not for Norm"):
        KernelMachine(regularizer=Norm(1.0), tune="loo").fit(X, y)
    rough = CustomLoss(lambda y, f: 0.5 * (y - f) ** 2, lambda y, f: f - y)
    with pytest.raises(ValueError, match=r"has no curvature and conjugate, which tune='loo' needs"):
        KernelMachine(loss=rough, regularizer=SquaredNorm(1.0), tune="loo").fit(X, y)


def test_rows_without_weight_do_not_count():
    y, weights = TARGETS["labels"], np.tile([0.0, 1.0], N)
    by_weight = SVC(tune="loo").fit(X, y, weights)
    start = SVC().fit(X, y, weights).kernel_
    by_rows = SVC(kernel=start, tune="loo").fit(X[1::2], y[1::2])
    assert pytest.approx(by_rows.C_, rel=1e-3) == by_weight.C_
    assert by_weight.kernel_.length_scale == pytest.approx(by_rows.kernel_.length_scale, rel=1e-3)
    errors = RidgeErrors(X, F[:, None], weights)
    assert with_weight(errors, weights).n == N
    assert with_weight(errors, None) is errors


def test_strings_and_matrices():
    words = ["abc", "bcd", "cde", "abcd", "bcde", "aaa"] * 3
    labels = np.array(["x", "y", "y", "x", "y", "x"] * 2 + ["y", "y", "x", "x", "y", "y"])
    by_words = SVC(kernel=Spectrum(1), tune="loo").fit(words, labels)
    by_matrix = SVC(kernel="precomputed", tune="loo").fit(Spectrum(1)(words), labels)
    assert pytest.approx(by_matrix.C_, rel=1e-4) == by_words.C_


def test_progress_is_shown(capsys):
    SVR(tune="loo", verbose=1).fit(X[:30], TARGETS["numbers"][:30])
    lines = capsys.readouterr().err.split("\n")
    assert "search for hyper-parameters: [" in lines[0]
    assert len(lines) > 2  # the line of the fit after it is another one
