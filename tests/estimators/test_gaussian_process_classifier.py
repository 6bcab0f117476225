import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier as Other
from sklearn.gaussian_process.kernels import RBF as OtherRBF
from sklearn.gaussian_process.kernels import ConstantKernel
from sklearn_contract import faults

from representer import GaussianProcessClassifier
from representer.estimators.gaussian_process_classifier import _probability
from representer.kernels import RBF, Linear, Spectrum


def test_estimator_checks():
    assert faults(GaussianProcessClassifier(optimizer=None)) == []


@pytest.mark.parametrize("classes", [2, 3])
def test_as_scikit_learn(classes):
    """Its probabilities are integrals by an approximation that is wrong by some 1e-4; ours are not."""
    X, y = load_iris(return_X_y=True)
    X, y = X[: 50 * classes : 2], y[: 50 * classes : 2]
    own = GaussianProcessClassifier(4.0 * RBF(1.2), optimizer=None).fit(X, y)
    other = Other(ConstantKernel(4.0) * OtherRBF(1.2), optimizer=None, max_iter_predict=1000).fit(X, y)
    assert own.log_marginal_likelihood_value_ == pytest.approx(other.log_marginal_likelihood_value_, rel=1e-6)
    np.testing.assert_allclose(own.predict_proba(X), other.predict_proba(X), atol=3e-4)
    np.testing.assert_array_equal(own.predict(X), other.predict(X))


@pytest.mark.parametrize("deviation", [0.0, 0.3, 0.49, 0.51, 3.0, 30.0])
def test_probability_by_quadrature(deviation):
    for mean in (-4.0, 0.3, 9.0):
        expected = expit(mean)
        if deviation:
            lo, hi = mean - 9 * deviation, mean + 9 * deviation
            points = np.clip([0.0, -5.0, 5.0], lo, hi)
            expected = quad(lambda f, m=mean: expit(f) * norm.pdf(f, m, deviation), lo, hi, points=points, limit=500)[0]
        assert _probability(np.array([mean]), np.array([deviation**2]))[0] == pytest.approx(expected, abs=1e-8)


def test_search_raises_the_likelihood():
    X, y = load_iris(return_X_y=True)
    X, y = X[50::3], y[50::3]
    fixed, found = (GaussianProcessClassifier(optimizer=o).fit(X, y) for o in (None, "lbfgs"))
    assert found.log_marginal_likelihood_value_ > fixed.log_marginal_likelihood_value_ + 1
    mean, variance = found.latent_mean_and_variance(X)
    np.testing.assert_allclose(mean, found.function_(X), rtol=1e-9, atol=1e-9)
    assert variance.min() >= 0


@pytest.mark.parametrize("classes", [2, 3])
def test_certificate_is_that_of_the_mode(classes):
    """The objective of each class, and a gap that is not below the distance from its minimum."""
    X, y = load_iris(return_X_y=True)
    X, y = X[: 50 * classes : 4], y[: 50 * classes : 4]
    K, signs = 4.0 * RBF(1.2)(X), [np.where(y == c, 1.0, -1.0) for c in ([1] if classes == 2 else range(3))]

    def objective(sign, a):
        f = K @ a
        return np.logaddexp(0.0, -sign * f).sum() + 0.5 * a @ f

    early = GaussianProcessClassifier(4.0 * RBF(1.2), optimizer=None, max_iter=1)
    with pytest.warns(ConvergenceWarning, match="relative gap of .*use a larger max_iter"):
        early.fit(X, y)
    good = GaussianProcessClassifier(4.0 * RBF(1.2), optimizer=None).fit(X, y)
    values = []
    for model in (early, good):
        coefs = [f.coef for f in ([model.function_] if classes == 2 else model.function_)]
        values.append([objective(s, a) for s, a in zip(signs, coefs, strict=True)])
        assert model.certificate_.primal == pytest.approx(sum(values[-1]), rel=1e-12)
        assert len(model.certificate_.residuals) == len(signs)
    true = np.subtract(*values) / values[0]
    assert np.all(early.certificate_.residuals > 0.999 * true)
    assert early.certificate_.residual < 1e3 * true.max()
    assert not early.certificate_.converged
    assert good.certificate_.converged
    assert good.certificate_.kernel_evaluations == len(signs) * len(X) * (len(X) + 1) // 2


def test_strings_and_errors():
    model = GaussianProcessClassifier(Spectrum(2), optimizer=None).fit(["abab", "bab", "ccd", "dcc"], [0, 0, 1, 1])
    assert model.predict(["ab", "cd"]).tolist() == [0, 1]
    with pytest.raises(ValueError, match="only one class"):
        GaussianProcessClassifier().fit([[0.0], [1.0]], [1, 1])
    with pytest.raises(ValueError, match="optimizer is 'adam'"):
        GaussianProcessClassifier(optimizer="adam").fit([[0.0], [1.0]], [0, 1])
    for options, message in (
        ({"bounds": -1}, "bounds is -1; give a dictionary"),
        ({"tol": "zzz"}, "tol is 'zzz'"),
        ({"tol": np.nan}, "tol is nan"),
        ({"memory": 1.5}, "memory is 1.5"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            GaussianProcessClassifier(**options).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("optimizer", [None, "lbfgs"])
@pytest.mark.parametrize("classes", [2, 3])
def test_plan_is_what_a_fit_takes(optimizer, classes, rng, peak_of):
    X, y = rng.normal(size=(700, 2)), rng.integers(0, classes, 700)
    bounds = {"factor": (1.0, 1.0), "kernel__length_scale": (1.0, 1.0)}  # one evaluation
    model = GaussianProcessClassifier(optimizer=optimizer, bounds=bounds, tol=1e-4)
    model.fit(X[:100], y[:100])  # compiles
    plan = model.plan(X, y)
    peak, _ = peak_of(lambda: model.fit(X, y), plan.bytes / 1.2)
    assert 0.8 < plan.bytes / peak < 1.2
    model.set_params(memory=plan.bytes - 1)
    with pytest.raises(MemoryError, match=r"700 inputs needs .* above the budget .*KernelLogisticRegression"):
        model.fit(X, y)
    assert "GB; use fewer inputs" in str(model.plan(X, y))


def test_plan_counts_the_copy_of_the_inputs():
    model, y = GaussianProcessClassifier(optimizer=None), np.arange(20) % 2
    few, many = (model.plan(np.zeros((20, columns)), y).bytes for columns in (1, 1001))
    assert many - few == 2 * 8 * 20 * 1000


def test_changes_of_the_data_do_not_reach_the_model(rng):
    X = rng.normal(size=(40, 2))
    model = GaussianProcessClassifier(Linear(1.0), optimizer=None).fit(X, X[:, 0] > 0)
    new = rng.normal(size=(10, 2))
    before, norm = model.predict_proba(new), model.function_.norm()
    X *= 3.0
    np.testing.assert_array_equal(model.predict_proba(new), before)
    assert model.function_.norm() == norm


def test_a_fit_that_fails_leaves_the_model_whole(rng):
    X = rng.normal(size=(30, 2))
    model = GaussianProcessClassifier(optimizer=None).fit(X, np.where(X[:, 0] > 0, "pos", "neg"))
    before = model.predict(X)
    for options in ({"memory": 1}, {"memory": None, "kernel": -1.0 * RBF()}, {"kernel": None, "bounds": 3}):
        with pytest.raises((ValueError, TypeError, MemoryError)):
            model.set_params(**options).fit(X[:, :1], np.where(X[:, 0] > 0, "cat", "dog"))
        np.testing.assert_array_equal(model.predict(X), before)
        assert model.n_features_in_ == 2
