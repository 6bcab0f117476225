"""Principal components with approximations: exact at full rank, from any basis."""

import numpy as np
import pytest

from representer import KernelPCA, Nystroem, RandomFeatures
from representer.kernels import RBF, Linear

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 3))
w = rng.random(150)


@pytest.mark.parametrize("center", [True, False])
def test_full_rank_is_exact(center):
    model = KernelPCA(3, kernel=Nystroem(RBF(1.5), landmarks=X), center=center).fit(X, sample_weight=w)
    exact = KernelPCA(3, kernel=RBF(1.5), center=center).fit(X, sample_weight=w)
    np.testing.assert_allclose(model.eigenvalues_, exact.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(model.explained_variance_ratio_, exact.explained_variance_ratio_, rtol=1e-9)
    np.testing.assert_allclose(np.abs(model.transform(X)), np.abs(exact.transform(X)), atol=1e-8)
    P = model.project(X[:2])(X[:3])
    np.testing.assert_allclose(P, exact.project(X[:2])(X[:3]), atol=1e-8)


def test_approximations_come_near():
    exact = KernelPCA(3, kernel=RBF(1.5)).fit(X)
    for kernel, rtol in ((Nystroem(RBF(1.5), 60), 0.01), (RandomFeatures(RBF(1.5), 1024), 0.1)):
        model = KernelPCA(3, kernel=kernel)
        scores = model.fit_transform(X)
        np.testing.assert_allclose(model.eigenvalues_, exact.eigenvalues_, rtol=rtol)
        np.testing.assert_allclose(scores, model.transform(X))
        np.testing.assert_allclose((scores**2).sum(axis=0), model.eigenvalues_, rtol=1e-6)
        assert model.certificate_.converged
        assert model.plan(X).passes == 2


def test_float32_sums_are_judged_in_float64(monkeypatch):
    monkeypatch.setattr("representer.solvers.finite_passes.SMALL_WORK", 0.0)
    model = KernelPCA(3, kernel=Nystroem(RBF(1.5), 60)).fit(X)
    assert model.certificate_.converged
    np.testing.assert_allclose(model.eigenvalues_, KernelPCA(3, kernel=model.kernel_).fit(X).eigenvalues_, rtol=1e-5)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_few_columns_of_many_rows_are_solved_in_their_span(center, weighted):
    data = np.random.default_rng(5).normal(size=(2100, 4)) * [1.0, 2.0, 3.0, 4.0] + 1.0
    weights = np.random.default_rng(6).integers(3, size=2100) if weighted else None
    model, other = (KernelPCA(3, kernel=Linear(), center=center, solver=solver) for solver in ("auto", "davidson"))
    assert model.plan(data).solver == "eigenvectors in the span"
    model.fit(data, sample_weight=weights)
    other.fit(data, sample_weight=weights)
    assert model.certificate_.solver == "eigenvectors in the span"
    assert len(model.X_fit_) == 2100
    np.testing.assert_allclose(model.eigenvalues_, other.eigenvalues_, rtol=1e-8)
    np.testing.assert_allclose(model.eigenvectors_, other.eigenvectors_, atol=1e-6)
    np.testing.assert_allclose(model.transform(data), other.transform(data), atol=1e-4)
    np.testing.assert_allclose(model.explained_variance_ratio_, other.explained_variance_ratio_, rtol=1e-8)
