import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn_contract import faults

from representer import NuSVC
from representer.kernels import RBF


@pytest.mark.filterwarnings("ignore:nu = 0.[35] leaves no margin")  # for rows of zeros that have different labels
def test_scikit_learn_checks():
    assert faults(NuSVC(nu=0.3)) == []
    infeasible = "nu = 0.5 is infeasible for the classes of this check, in scikit-learn too"
    kinds = ("dense", "sparse")
    assert faults(NuSVC(), {f"check_sample_weight_equivalence_on_{kind}_data": infeasible for kind in kinds}) == []


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


def test_largest_nu():
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.arange(40) < 10
    assert NuSVC(nu=0.5).fit(X, y).score(X, y) > 0.5


def test_certificate_is_that_of_the_undivided_function():
    X, y = make_classification(n_samples=60, random_state=0)
    model = NuSVC(nu=0.4, kernel=RBF(3.0), tol=1e-6).fit(X, y)
    r = 0.4 * 60 / np.abs(model.dual_coef_).sum()
    c, b, signs = r * model.dual_coef_[0], r * model.intercept_[0], 2 * y - 1
    f = RBF(3.0)(X, model.support_vectors_) @ c
    primal = 0.5 * c @ f[model.support_] - 0.4 * r * 60 + np.maximum(r - signs * (f + b), 0.0).sum()
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-12)
