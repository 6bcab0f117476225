import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn_contract import faults

from representer import NuSVC
from representer.kernels import RBF


@pytest.mark.filterwarnings("ignore:nu = 0.[35] leaves no margin")  # for rows of zeros that have different labels
@pytest.mark.filterwarnings("ignore:The specified nu is infeasible")
@pytest.mark.parametrize("nu", [0.5, 0.3])
def test_scikit_learn_checks(nu):
    assert faults(NuSVC(nu=nu)) == []


def test_nu_bounds_fractions():
    X, y = make_classification(400, 5, flip_y=0.2, random_state=2)
    for nu in (0.3, 0.6):
        model = NuSVC(nu=nu, tol=1e-6).fit(X, y)
        margin = np.where(y == 1, 1.0, -1.0) * model.decision_function(X)
        assert np.mean(margin < 1.0 - 1e-3) <= nu <= len(model.support_) / len(y)


def test_no_margin_is_told():
    rng = np.random.default_rng(0)
    P = rng.normal(size=(4, 2))
    far, shift = rng.normal(size=(30, 2)), np.array([4.0, 0.0])
    X = np.r_[np.repeat(P, 10, axis=0), far + shift, far - shift]
    y = np.r_[np.tile([0, 1], 20), np.zeros(30, int), np.ones(30, int)]
    for inputs in (X, X.astype(np.float32)):
        with pytest.warns(ConvergenceWarning, match="no margin between two classes"):
            NuSVC(nu=0.3, kernel=RBF(1.0)).fit(inputs, y)
    assert NuSVC(nu=0.6, kernel=RBF(1.0)).fit(X, y).score(X, y) > 0.75


def test_infeasible_nu_is_the_largest_feasible_one():
    X, y = make_classification(60, 4, weights=[0.8], random_state=0)  # 49 and 11 samples
    with pytest.warns(UserWarning, match="nu = 0.5, but classes as unequal as 1 and 0 allow at most 0.367"):
        model = NuSVC(nu=0.5, kernel=RBF(1.0), tol=1e-9).fit(X, y)
    below = NuSVC(nu=22 / 60 - 1e-6, kernel=RBF(1.0), tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), below.decision_function(X), atol=1e-4)
    assert model.decision_function(X[y == 1]).max() == pytest.approx(1.0)


def test_infeasible_nu_of_a_pair_leaves_the_other_pairs():
    X, y = make_classification(90, 4, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
    kept = (y < 2) | (np.cumsum(y == 2) <= 5)
    X, y = X[kept], y[kept]
    with pytest.warns(UserWarning, match="classes as unequal as 2 and"):
        model = NuSVC(kernel=RBF(1.0), tol=1e-9, decision_function_shape="ovo").fit(X, y)
    pair = NuSVC(kernel=RBF(1.0), tol=1e-9).fit(X[y < 2], y[y < 2])
    np.testing.assert_allclose(-pair.decision_function(X), model.decision_function(X)[:, 0], atol=1e-6)


@pytest.mark.filterwarnings("ignore:The specified nu is infeasible")
def test_infeasible_nu_with_weights_that_have_no_exact_sum():
    X, y = make_classification(60, 4, weights=[0.8], random_state=0)
    weights = np.random.default_rng(0).uniform(0.1, 1.0, 60)
    model = NuSVC(nu=1.0, kernel=RBF(1.0), tol=1e-9).fit(X, y, weights)
    assert model.decision_function(X[y == 1]).max() == pytest.approx(1.0, abs=1e-6)
    assert model.n_support_[1] == 11


def test_certificate_is_that_of_the_undivided_function():
    X, y = make_classification(n_samples=60, random_state=0)
    model = NuSVC(nu=0.4, kernel=RBF(3.0), tol=1e-6).fit(X, y)
    r = 0.4 * 60 / np.abs(model.dual_coef_).sum()
    c, b, signs = r * model.dual_coef_[0], r * model.intercept_[0], 2 * y - 1
    f = RBF(3.0)(X, model.support_vectors_) @ c
    primal = 0.5 * c @ f[model.support_] - 0.4 * r * 60 + np.maximum(r - signs * (f + b), 0.0).sum()
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-12)
