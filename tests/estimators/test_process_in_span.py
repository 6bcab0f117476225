"""Gaussian processes with approximations: exact at full rank, below the evidence else, and wide away from the data."""

import numpy as np
import pytest

from representer import GaussianProcessRegressor, Nystroem, RandomFeatures, rows
from representer.kernels import RBF
from representer.solvers import finite_passes

rng = np.random.default_rng(0)
X = rng.uniform(-2.0, 2.0, size=(80, 1))
y = np.sin(3.0 * X[:, 0]) + 0.1 * rng.normal(size=80)


def test_full_rank_is_exact():
    exact = GaussianProcessRegressor(kernel=RBF(0.5), noise=0.01, optimizer=None).fit(X, y)
    model = GaussianProcessRegressor(kernel=Nystroem(RBF(0.5), landmarks=X), noise=0.01, optimizer=None).fit(X, y)
    new = np.linspace(-4.0, 4.0, 9)[:, None]
    for a, b in zip(model.predict(new, return_std=True), exact.predict(new, return_std=True), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)
    np.testing.assert_allclose(
        model.predict(new, return_cov=True)[1], exact.predict(new, return_cov=True)[1], atol=1e-5
    )
    np.testing.assert_allclose(model.log_marginal_likelihood_, exact.log_marginal_likelihood_, rtol=1e-5)


def test_noise_is_found_and_variances_stay():
    model = GaussianProcessRegressor(kernel=Nystroem(RBF(0.5), 15), normalize_y=True, optimizer=None).fit(X, y)
    assert 0.003 < model.noise_ < 0.03  # 0.01 is true
    mean, std = model.predict(np.array([[0.0], [40.0]]), return_std=True)
    np.testing.assert_allclose(std[1], y.std(), rtol=1e-3)
    assert std[0] < 0.1
    assert abs(mean[0]) < 0.2
    assert model.function_.coef.shape == (15,)
    assert model.certificate_.converged
    assert model.plan(X, y).passes == 2


@pytest.mark.parametrize("noise", ["estimate", 0.01])
def test_the_bound_tunes_the_kernel(noise):
    exact = GaussianProcessRegressor(kernel=1.0 * RBF(2.0), noise=noise).fit(X, y)
    model = GaussianProcessRegressor(kernel=Nystroem(1.0 * RBF(2.0), 30), noise=noise).fit(X, y)
    for a, b in zip(model.search_.theta, exact.search_.theta, strict=True):
        assert abs(a - b) < 0.05
    assert model.search_.names == exact.search_.names
    assert (
        exact.log_marginal_likelihood_ - 0.5 < model.log_marginal_likelihood_ <= exact.log_marginal_likelihood_ + 1e-6
    )
    fixed = GaussianProcessRegressor(kernel=Nystroem(1.0 * RBF(2.0), 30), noise=noise, optimizer=None).fit(X, y)
    assert fixed.log_marginal_likelihood_ < model.log_marginal_likelihood_ - 10.0
    new = np.linspace(-2.0, 6.0, 9)[:, None]
    for a, b in zip(model.predict(new, return_std=True), exact.predict(new, return_std=True), strict=True):
        np.testing.assert_allclose(a, b, atol=0.02)


@pytest.mark.filterwarnings("ignore:The fit stopped")
def test_bound_noise_and_variances_are_of_the_sums_that_the_solution_is_of(monkeypatch):
    kernel, smooth = Nystroem(RBF(1.0), landmarks=X), np.sin(X[:, 0]) + 1e-4 * rng.normal(size=80)
    model = GaussianProcessRegressor(kernel=kernel, optimizer=None, tol=1e-12)
    model.fit(X, smooth)
    before = model.log_marginal_likelihood_, model.noise_, model.predict(X[:3] + 0.01, return_std=True)[1]
    monkeypatch.setattr(finite_passes, "SMALL_WORK", 0.0)  # so that sums are first taken in float32
    model.fit(X, smooth)
    assert model.certificate_.precision == "float64"
    np.testing.assert_allclose(model.log_marginal_likelihood_, before[0], rtol=1e-6)
    np.testing.assert_allclose(model.noise_, before[1], rtol=1e-4)
    np.testing.assert_allclose(model.predict(X[:3] + 0.01, return_std=True)[1], before[2], rtol=1e-4)


def test_several_targets_and_refusals():
    model = GaussianProcessRegressor(kernel=RandomFeatures(RBF(0.5), 64)).fit(X, np.column_stack([y, 2.0 * y]))
    assert model.predict(X, return_std=True)[1].shape == (80, 2)
    with pytest.raises(ValueError, match="objective='loo' needs an exact kernel"):
        GaussianProcessRegressor(kernel=Nystroem(RBF(), 5), objective="loo").fit(X, y)
    with pytest.raises(ValueError, match="one positive variance"):
        GaussianProcessRegressor(kernel=Nystroem(RBF(), 5), noise=np.ones(80)).fit(X, y)


def test_rows_from_elsewhere_have_the_same_bits_bound_and_variances(tmp_path):
    np.save(tmp_path / "X.npy", np.column_stack([X, y]))
    model = GaussianProcessRegressor(kernel=Nystroem(1.0 * RBF(), 20), normalize_y=True)
    here = model.fit(X, y).predict(X[:9], return_std=True)
    bound, noise = model.log_marginal_likelihood_, model.noise_
    there = model.fit(rows([tmp_path / "X.npy"], target=1)).predict(X[:9], return_std=True)
    np.testing.assert_array_equal(here, there)
    assert (bound, noise) == (model.log_marginal_likelihood_, model.noise_)
    assert model.plan(rows(X, target=y)).passes == 2


def test_rows_that_a_process_cannot_take():
    with pytest.raises(ValueError, match="has no weights; give rows without weight="):
        GaussianProcessRegressor(kernel=Nystroem(RBF(), 5)).fit(rows(X, target=y, weight=np.ones(80)))
    with pytest.raises(TypeError, match="fitted in the span of a basis, and RBF"):
        GaussianProcessRegressor(kernel=RBF(1.0)).fit(rows(X, target=y))
