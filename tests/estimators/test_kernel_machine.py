import pickle
import warnings

import numpy as np
import pytest
from each_case import each
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from sklearn_contract import faults

from representer import KernelMachine, KernelQuantileRegression, KernelRidge
from representer.kernels import RBF, Spectrum
from representer.losses import CustomLoss, Hinge, Huber, Logistic, Multinomial, Pinball, Poisson, Squared
from representer.regularizers import Ball, Norm, SquaredNorm


def data(n=50, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=n)


def test_estimator_checks():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert faults(KernelMachine()) == []


@pytest.mark.parametrize("intercept", [True, False])
def test_squared_is_ridge(intercept):
    X, y = data()
    machine = KernelMachine(RBF(1.0), Squared(), SquaredNorm(0.3), fit_intercept=intercept, tol=1e-12).fit(X, y)
    ridge = KernelRidge(0.3, kernel=RBF(1.0), fit_intercept=intercept, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(machine.predict(X), ridge.predict(X), atol=1e-8)


def test_wide_huber_is_squared():
    X, y = data()
    huber, squared = (KernelMachine(RBF(1.0), loss, tol=1e-12).fit(X, y) for loss in (Huber(1e3), Squared()))
    np.testing.assert_allclose(huber.predict(X), squared.predict(X), atol=1e-9)


def test_hinge_is_svc():
    X, y = data()
    label = np.where(y > 0, "up", "down")
    machine = KernelMachine(RBF(1.0), Hinge(), SquaredNorm(0.5), tol=1e-10).fit(X, label)
    other = SVC(C=2.0, gamma=0.5, tol=1e-9).fit(X, label)
    np.testing.assert_allclose(machine.decision_function(X), other.decision_function(X), atol=1e-4)
    np.testing.assert_array_equal(machine.predict(X), other.predict(X))


@each("loss", [Squared(), Huber(0.2), Pinball([0.2, 0.8])])
@each("R", [SquaredNorm(0.5), Norm(0.5), Ball(1.0)])
def test_weights_are_repetitions(loss, R):
    X, y = data(30)
    times = np.arange(30) % 3
    again = np.repeat(np.arange(30), times)
    model = KernelMachine(RBF(1.0), loss, R, tol=1e-8)
    once = model.fit(X, y, sample_weight=times).certificate_
    repeated = clone(model).fit(X[again], y[again]).certificate_
    assert once.primal == pytest.approx(repeated.primal, rel=1e-6)


def test_norm_can_give_zero():
    X, y = data()
    model = KernelMachine(loss=Squared(), regularizer=Norm(1e3)).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y.mean(), rtol=1e-9)
    assert model.strength_ == np.inf
    assert model.certificate_.converged


def test_ball_keeps_the_norm():
    X, y = data()
    model = KernelMachine(loss=Huber(0.5), regularizer=Ball(1.2)).fit(X, y)
    assert model.function_.norm() == pytest.approx(1.2, rel=1e-4)


def test_kind_follows_the_loss():
    assert is_regressor(KernelMachine())
    assert is_classifier(KernelMachine(loss=Hinge()))
    assert is_classifier(KernelMachine(loss=Multinomial()))
    assert not hasattr(KernelMachine(), "decision_function")
    X, y = data()
    counts = np.round(np.exp(y))
    rate = KernelMachine(loss=Poisson()).fit(X, counts).predict(X)
    assert rate.min() > 0
    assert rate.sum() == pytest.approx(counts.sum(), rel=1e-3)  # the intercept makes it so


def test_several_classes():
    X, y = data()
    label = np.digitize(y, [-0.5, 0.5])
    model = KernelMachine(loss=Multinomial()).fit(X, label)
    assert model.decision_function(X).shape == (50, 3)
    assert model.score(X, label) > 0.6  # chance is about a third
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        KernelMachine(loss=Hinge()).fit(X, label)


def test_strings_and_pickles():
    words = ["abab", "bab", "ccd", "dcc", "abba", "cdcd"]
    model = KernelMachine(Spectrum(2), Logistic()).fit(words, [0, 0, 1, 1, 0, 1])
    assert model.predict(["ab", "cd"]).tolist() == [0, 1]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(words), model.predict(words))


@pytest.mark.parametrize("loss", [Squared(), Hinge(), Logistic()], ids=repr)
def test_two_points(loss):
    model = KernelMachine(RBF(1.0), loss).fit([[0.0], [1.0]], [-1, 1])
    assert np.all(np.sign(model.function_(np.array([[0.0], [1.0]]))) == [-1, 1])


def test_local_minimum_is_said():
    X, y = data()
    cauchy = CustomLoss(
        lambda y, f: np.log1p((f - y) ** 2), lambda y, f: 2 * (f - y) / (1 + (f - y) ** 2), convex=False
    )
    certificate = KernelMachine(loss=cauchy, tol=1e-5).fit(X, y).certificate_
    assert "local minimum" in certificate.reason
    assert (certificate.dual, certificate.measure) == (None, "gradient")
    strong = KernelMachine(loss=cauchy, regularizer=Norm(1e3)).fit(X, y)
    assert strong.certificate_.converged
    assert strong.function_.norm() == 0.0


def test_score_of_several_outputs():
    """As that of quantile regression, with weights, too."""
    X, y = data()
    weights = np.random.default_rng(0).integers(1, 4, 50)
    model = KernelMachine(loss=Pinball([0.2, 0.7])).fit(X, y)
    same = KernelQuantileRegression([0.2, 0.7]).fit(X, y)
    assert model.score(X, y) == pytest.approx(same.score(X, y), rel=1e-4)
    again = np.repeat(np.arange(50), weights)
    assert model.score(X, y, weights) == pytest.approx(model.score(X[again], y[again]), rel=1e-9)
    assert 0.1 < model.score(X, y) < 1.0
    flat = np.full(50, 2.0)
    assert KernelMachine(loss=Pinball([0.2, 0.7])).fit(X, flat).score(X, flat + 1.0) == 0.0


def test_plan():
    hinge = [KernelMachine(loss=Hinge(), fit_intercept=fit_intercept) for fit_intercept in (True, False)]
    assert [model.plan(np.ones((100, 2))).solver for model in hinge] == ["SMO", "smoothed newton"]
    X, y = data()
    several, one = (KernelMachine(loss=Pinball(levels)) for levels in ([0.2, 0.5, 0.7], 0.2))
    assert several.plan(X) == several.plan(X, y) == one.plan(X)  # one by one
    label = np.digitize(y, [-0.5, 0.5])
    model = KernelMachine(loss=Multinomial()).fit(X, label)
    assert model.plan(X, label).bytes == model.certificate_.bytes
    model.plan(X[:, :1], label > 0)
    assert model.predict(X).max() == 2  # a plan leaves a fitted model as it is


@each(
    ("model", "y"),
    [
        (KernelMachine(loss=Hinge()), np.arange(50) % 3),
        (KernelMachine(loss=Poisson()), np.full(50, -1.0)),
        (KernelMachine(loss=Logistic()), np.ones(50)),
        (KernelMachine(), np.full(50, np.nan)),
        (KernelMachine(), np.ones(49)),
        (KernelMachine(loss="hinge"), np.ones(50)),
        (KernelMachine(loss=Pinball(2.0)), np.ones(50)),
        (KernelMachine(regularizer=Norm(-1.0)), np.ones(50)),
    ],
)
def test_a_plan_refuses_what_a_fit_refuses(model, y):
    X, _ = data()
    with pytest.raises((TypeError, ValueError)) as by_fit:
        model.fit(X, y)
    with pytest.raises(by_fit.type) as by_plan:
        model.plan(X, y)
    assert str(by_plan.value) == str(by_fit.value)


def test_a_loss_that_is_not_convex_is_not_certified_too_early(rng):
    def value(y, f):
        return np.log1p((y - f) ** 2)

    def gradient(y, f):
        return 2.0 * (f - y) / (1.0 + (f - y) ** 2)

    X = rng.normal(size=(60, 2))
    y = X @ [1.0, 2.0] + 0.5 * rng.normal(size=60) + 5.0
    model = KernelMachine(loss=CustomLoss(value, gradient, convex=False), max_iter=10)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert model.certificate_.residual > model.tol
    assert np.isinf(model.certificate_.error_bound)
