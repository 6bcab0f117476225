"""Support vector machines with approximations: exact at full rank, pairs of classes, and refusals."""

import numpy as np
import pytest

from representer import SVC, SVR, NuSVC, NuSVR, Nystroem, OneClassSVM, RandomFeatures
from representer.kernels import RBF

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 2))
f = np.sin(2.0 * X[:, 0])
y = f + 0.2 * rng.normal(size=120)
w = rng.random(120) + 0.5
FULL = Nystroem(RBF(1.0), landmarks=X)


@pytest.mark.parametrize(
    ("model", "target"),
    [
        (SVC(tol=1e-4), y > 0),
        (SVC(C=3.0, tol=1e-4, class_weight="balanced"), np.digitize(y, [-0.5, 0.5])),
        (SVR(tol=1e-4), y),
        (OneClassSVM(nu=0.3, tol=1e-4), None),
    ],
    ids=lambda case: type(case).__name__,
)
def test_full_rank_is_exact(model, target):
    decide = "predict" if isinstance(model, SVR) else "decision_function"
    exact = getattr(model.set_params(kernel=RBF(1.0)).fit(X, target, w), decide)(X)
    spanned = model.set_params(kernel=FULL).fit(X, target, w)
    assert spanned.certificate_.converged
    size = np.abs(exact).max()
    np.testing.assert_allclose(getattr(spanned, decide)(X), exact, atol=0.03 * size)
    assert not hasattr(spanned, "support_")


def test_functions_are_on_landmarks():
    model = SVC(kernel=Nystroem(RBF(1.0), 20)).fit(X, np.digitize(y, [-0.5, 0.5]))
    assert model.function_.coef.shape == (20, 3)
    assert model.dual_coef_.shape == (3, 20)
    assert model.n_iter_.shape == (3,)
    assert np.ndim(SVR(kernel=Nystroem(RBF(1.0), 20)).fit(X, y).n_iter_) == 0
    assert model.score(X, np.digitize(y, [-0.5, 0.5])) > 0.7
    assert model.certificate_.approximation.mean > 0.0
    assert SVC(kernel=RandomFeatures(RBF(), 16)).plan(X, y > 0).solver == "newton"


def test_the_gap_to_the_original_kernel_is_that_of_all_pairs():
    labels, kernel = np.digitize(y, [-0.5, 0.5]), Nystroem(RBF(1.0), landmarks=X[:20])
    found = SVC(kernel=kernel, tol=1e-4).fit(X, labels).certificate_
    total = 0.0
    for a, b in ((0, 1), (0, 2), (1, 2)):
        rows = (labels == a) | (labels == b)
        total += SVC(kernel=kernel, tol=1e-4).fit(X[rows], labels[rows]).certificate_.approximation.full_gap
    np.testing.assert_allclose(found.approximation.full_gap, total, rtol=0.05)
    exact = SVC(kernel=RBF(1.0), tol=1e-4).fit(X, labels).certificate_
    assert exact.primal - exact.gap <= found.primal <= exact.primal + found.approximation.full_gap


@pytest.mark.parametrize("Estimator", [SVC, SVR, OneClassSVM])
def test_plans_leave_no_mark(Estimator):
    model = Estimator(kernel=Nystroem(RBF(1.0), 5))
    before = vars(model).copy()
    model.plan(X, y > 0)
    assert vars(model) == before
    fitted = model.fit(X, y > 0)
    assert getattr(fitted, "C_", 1.0) == 1.0


def test_refusals():
    kernel = Nystroem(RBF(1.0), 20)
    for model in (NuSVC(kernel=kernel), NuSVR(kernel=kernel)):
        with pytest.raises(ValueError, match="no form in the span of a basis"):
            model.fit(X, y > 0)
    with pytest.raises(ValueError, match="probability=True needs"):
        SVC(kernel=kernel, probability=True).fit(X, y > 0)
    with pytest.raises(ValueError, match="tune the exact kernel"):
        SVR(kernel=kernel, tune="loo").fit(X, y)
