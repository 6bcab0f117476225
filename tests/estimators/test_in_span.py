"""Which kernels are solved in a span, rows from elsewhere, and gaps to all functions of the original kernel."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

from representer import (
    SVC,
    SVR,
    GaussianProcessRegressor,
    KernelLogisticRegression,
    KernelPCA,
    KernelRidge,
    NuSVC,
    NuSVR,
    Nystroem,
    OneClassSVM,
    RandomFeatures,
    Sketch,
)
from representer.estimators import in_span
from representer.estimators.in_span import (
    basis_for,
    is_approximation,
    kernel_for,
    kernel_for_rows,
    may_span,
    refuse,
)
from representer.features import sketch
from representer.kernels import RBF, FeatureMap, Linear, Quadratic
from representer.rows.arrays import ArrayRows

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 3))


def test_which_kernels_are_solved_in_a_span():
    assert basis_for(RBF(), X) is None
    assert basis_for(Linear(), X) is None  # few rows: nothing is gained
    assert basis_for(Linear(), np.ones((3000, 2))).size == 2
    assert basis_for(Linear(), np.ones((3000, 2000))) is None
    assert basis_for(FeatureMap(Quadratic()), np.ones((3000, 2))).size == 5
    assert basis_for(RandomFeatures(RBF(), 10), X).size == 10
    assert may_span(Nystroem(RBF(), 5), X)
    assert not may_span(RBF(), X)
    with pytest.raises(TypeError, match="has none; use Nystroem"):
        basis_for(RBF(), ArrayRows(X))


def test_approximations_inside_of_expressions_are_known():
    assert is_approximation(2.0 * Nystroem(RBF(), 5) + Linear())
    assert not is_approximation(2.0 * RBF() + Linear())
    with pytest.raises(ValueError, match=r"so it cannot use Nystroem\(.*\); use another"):
        refuse(Nystroem(RBF(), 5), "This", "another")


@pytest.mark.parametrize("kernel", [Nystroem(RBF(1.0), 9) * Linear(), Nystroem(RBF(1.0), 9) ** 2])
@pytest.mark.parametrize(
    "model",
    [
        KernelRidge(),
        KernelLogisticRegression(),
        SVC(),
        NuSVC(),
        SVR(),
        NuSVR(),
        OneClassSVM(),
        KernelPCA(2),
        GaussianProcessRegressor(optimizer=None),
    ],
    ids=lambda model: type(model).__name__,
)
def test_products_and_powers_of_approximations_are_fitted_as_kernels_without_a_basis(model, kernel):
    some = X[:40]
    y = some[:, 0] > 0 if is_classifier(model) else some[:, 0]
    assert not is_approximation(kernel)
    fitted = clone(model).set_params(kernel=kernel).fit(some, y)
    assert fitted.plan(some, y).seconds > 0
    # the same values from a kernel that is exact by its own account
    other = clone(model).set_params(kernel="precomputed").fit(kernel.with_default_scales(some)(some), y)
    method = "transform" if hasattr(fitted, "transform") else "predict"
    K = kernel.with_default_scales(some)(some)
    np.testing.assert_allclose(getattr(fitted, method)(some), getattr(other, method)(K), rtol=1e-3, atol=1e-3)


def test_rows_choose_the_same_landmarks_as_arrays():
    wide = rng.normal(size=(3000, 2))
    for n, kernel in ((200, Nystroem(RBF(), 20)), (3000, Nystroem(RBF(), 20))):
        part = wide[:n]
        assert kernel_for_rows(kernel, ArrayRows(part)) == kernel.with_default_scales(part)


@pytest.mark.parametrize(
    "kernel",
    [
        RandomFeatures(RBF(), 20),
        Sketch(RBF(), 10),
        Nystroem(RBF(), 10) + Linear(),
        2.0 * Nystroem(RBF(), 10),
        RandomFeatures(RBF(), 20, random_state=3) + Nystroem(RBF(), 10, random_state=4),
    ],
    ids=str,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_many_rows_give_the_same_kernel_from_memory_and_from_elsewhere(kernel, weighted, monkeypatch):
    monkeypatch.setattr(in_span, "SCALE_ROWS", 300)
    monkeypatch.setattr(sketch, "SKETCHED_ROWS", 300)
    wide = np.linspace(1.0, 2.0, 900)[:, None] * rng.normal(size=(900, 2))
    weights = rng.integers(0, 3, 900).astype(float) if weighted else None
    found = kernel_for(kernel, wide, weights)
    assert found == kernel_for_rows(kernel, ArrayRows(wide, None, weights))
    assert found != kernel.with_default_scales(wide, weights)
    assert kernel_for(kernel, wide[:300]) == kernel.with_default_scales(wide[:300])
    a, b = (KernelRidge(kernel=kernel).fit(*data) for data in ((wide, wide[:, 0]), (ArrayRows(wide, wide[:, 0]),)))
    np.testing.assert_array_equal(a.predict(wide), b.predict(wide))


@pytest.mark.parametrize("state", [None, np.random.default_rng(0)], ids=["None", "Generator"])
def test_rows_take_any_random_state(state, monkeypatch):
    monkeypatch.setattr(in_span, "SCALE_ROWS", 100)
    for kernel in (Nystroem(RBF(), 4, random_state=state), RandomFeatures(RBF(), 4, random_state=state)):
        model = KernelRidge(kernel=kernel).fit(ArrayRows(X, X[:, 0]))
        assert isinstance(model.kernel_, type(kernel))


def test_dense_sketches_of_many_rows_are_refused_from_files_too(monkeypatch):
    monkeypatch.setattr(sketch, "MOST_DENSE", 150)
    for data in (X, ArrayRows(X)):
        with pytest.raises(ValueError, match="A gaussian sketch of 200 rows takes"):
            KernelPCA(2, kernel=Sketch(RBF(), 5, method="gaussian")).fit(data)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_full_gap_bounds_the_objective_of_the_exact_fit(intercept):
    y, w = np.sin(2.0 * X[:, 0]), rng.random(200)
    model = KernelRidge(0.5, kernel=Nystroem(RBF(1.0), 15), fit_intercept=intercept).fit(X, y, w)
    exact = KernelRidge(0.5, kernel=RBF(1.0), fit_intercept=intercept).fit(X, y, w)

    def objective(model):
        return w @ (y - model.predict(X)) ** 2 + 0.5 * model.function_.norm() ** 2

    certificate = model.certificate_
    np.testing.assert_allclose(certificate.primal, objective(model))
    assert objective(exact) < objective(model) <= objective(exact) + certificate.approximation.full_gap
    assert certificate.gap < 1e-8 < certificate.approximation.mean
    assert "Approximation: k - k^ is" in str(certificate)
