"""Ridge models with approximations: exact at full rank, better with more landmarks, the same from rows anywhere."""

import dask
import dask.array as da
import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from representer import KernelRidge, KernelRidgeClassifier, Nystroem, RandomFeatures, Sketch, rows
from representer.kernels import RBF, Linear, Spectrum
from representer.rows.arrays import ArrayRows

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 3))
y = np.sin(X).sum(axis=1) + 0.1 * rng.normal(size=300)
Y = np.column_stack([y, X[:, 0] + 2.0])


@pytest.mark.parametrize("intercept", [True, False])
def test_full_rank_is_exact(intercept):
    options = {"fit_intercept": intercept}
    model = KernelRidge(0.1, kernel=Nystroem(RBF(1.5), landmarks=X), **options).fit(X, Y)
    exact = KernelRidge(0.1, kernel=RBF(1.5), **options).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), exact.predict(X), atol=1e-7)
    np.testing.assert_allclose(model.function_.norm(), exact.function_.norm(), rtol=1e-6)
    assert model.function_.kernel == RBF(1.5)


def test_paths_are_those_of_the_approximate_kernel_matrix():
    alphas, kernel = np.logspace(-3, 2, 8), Nystroem(RBF(1.5), landmarks=X[:40])
    model = KernelRidge(alphas, kernel=kernel, fit_intercept=True).fit(X, Y)
    exact = KernelRidge(alphas, kernel="precomputed", fit_intercept=True).fit(kernel(X), Y)
    assert model.alpha_ == exact.alpha_
    for name in ("loo_scores_", "gcv_", "loo_predictions_"):
        np.testing.assert_allclose(getattr(model, name), getattr(exact, name), rtol=1e-6, atol=1e-7)
    assert model.dual_coef_.shape == (40, 2)
    assert "by leave-one-out" in model.certificate_.reason


def test_large_paths_are_chosen_by_gcv(monkeypatch):
    monkeypatch.setattr("representer.solvers.normal_equations.LEAVE_OUT_WORK", 0.0)
    model = KernelRidge(np.logspace(-3, 2, 8), kernel=Nystroem(RBF(1.5), 40)).fit(X, y)
    assert model.alpha_ == np.logspace(-3, 2, 8)[model.gcv_.ravel().argmin()]
    assert not hasattr(model, "loo_scores_")


@pytest.mark.parametrize("kernel", [Nystroem(RBF(1.5), 5), RandomFeatures(RBF(1.5), 8), Sketch(RBF(1.5), 5)], ids=repr)
def test_error_falls_with_the_number_of_components(kernel):
    exact = KernelRidge(0.1, kernel=RBF(1.5)).fit(X, y).predict(X)
    models = [KernelRidge(0.1, kernel=kernel.set_params(n_components=m)).fit(X, y) for m in (8, 32, 128)]
    errors = [np.linalg.norm(model.predict(X) - exact) for model in models]
    assert errors[0] > 1.5 * errors[1] > 2.0 * errors[2]


def test_weights_are_repetition():
    kernel, times = Nystroem(RBF(1.5), landmarks=X[:30]), rng.integers(3, size=300)
    model = KernelRidge([0.1, 1.0], kernel=kernel, fit_intercept=True).fit(X, y, times)
    repeated = KernelRidge(model.alpha_, kernel=kernel, fit_intercept=True).fit(X.repeat(times, 0), y.repeat(times))
    np.testing.assert_allclose(model.predict(X), repeated.predict(X), atol=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kernel", [Nystroem(RBF(1.5), landmarks=X[:30]), RBF(1.5)], ids=repr)
def test_weights_are_repetition_in_generalised_cross_validation(kernel, intercept):
    times = rng.integers(3, size=120)
    model = KernelRidge(np.logspace(-3, 2, 4), kernel=kernel, fit_intercept=intercept)
    found = model.fit(X[:120], y[:120], times).gcv_
    again = model.fit(X[:120].repeat(times, 0), y[:120].repeat(times)).gcv_
    np.testing.assert_allclose(found, again, rtol=1e-7)
    least = model.fit(X[:120], y[:120], np.full(120, 1e-3)).gcv_  # of fewer weights than rows
    assert np.all(np.isfinite(least))


def test_passes_of_the_gap_and_of_targets_are_counted(tmp_path):
    np.save(tmp_path / "all.npy", np.column_stack([X, y]))
    data = rows(str(tmp_path / "*.npy"), target=3)
    reads = []

    class Counted(type(data)):
        def blocks(self, first=0):
            reads.append(first)
            return super().blocks(first)

    data.__class__ = Counted
    for alpha in (0.1, [0.1, 1.0]):
        model = KernelRidge(alpha, kernel=Nystroem(RBF(1.5), 30))
        model.fit(data)
        planned = model.plan(data).passes
        reads.clear()
        model.fit(data)
        assert model.certificate_.approximation.full_gap is not None
        assert model.certificate_.passes == planned
        assert len(reads) == planned


def test_rows_give_the_bits_of_arrays():
    model = KernelRidge([0.1, 1.0], kernel=Nystroem(RBF(), 30), fit_intercept=True)
    a = model.fit(X, y).predict(X)
    b = model.fit(ArrayRows(X, y)).predict(X)
    assert np.array_equal(a, b)
    assert model.n_features_in_ == 3
    assert model.plan(ArrayRows(X, y)).passes == model.certificate_.passes == 4
    with pytest.raises(ValueError, match="contain their own targets"):
        model.fit(ArrayRows(X, y), y)
    with pytest.raises(ValueError, match="have no targets"):
        model.fit(ArrayRows(X))


def test_linear_kernels_of_many_rows_are_solved_in_their_columns():
    Z = rng.normal(size=(2100, 3))
    t, w = Z @ np.arange(3.0) + rng.normal(size=2100), rng.random(2100)
    model = KernelRidge(2.0, kernel=Linear(2.0), fit_intercept=True).fit(Z, t, w)
    assert model.certificate_.solver == "normal equations"
    A = np.column_stack([Z / 2.0, np.ones(2100)])
    best = np.linalg.solve((A.T * w) @ A + np.diag([2.0, 2.0, 2.0, 0.0]), (A.T * w) @ t)
    np.testing.assert_allclose(model.predict(Z), A @ best, atol=1e-9)
    assert model.dual_coef_.shape == (2100,)
    np.testing.assert_allclose((Z / 4.0).T @ model.dual_coef_, best[:3] / 2.0, atol=1e-9)
    assert model.certificate_.approximation is None


def test_linear_kernels_keep_the_inputs_only_if_they_are_at_hand(tmp_path):
    Z = rng.normal(size=(2100, 3))
    np.save(tmp_path / "Z.npy", Z)
    table, model = np.load(tmp_path / "Z.npy", mmap_mode="r"), KernelRidge(2.0, kernel=Linear())
    expected = model.fit(Z[:, :2], Z[:, 2]).predict(Z[:5, :2])
    assert model.X_fit_.shape == (2100, 2)
    with dask.config.set(scheduler="synchronous"):
        collection = da.from_array(Z, chunks=(700, 3))
        elsewhere = [(rows(table, target=2), None), (collection[:, :2], collection[:, 2])]
        for X, y in elsewhere:
            assert len(model.fit(X, y).X_fit_) == len(model.dual_coef_) == 1  # f itself, as one element of H
            np.testing.assert_allclose(model.predict(Z[:5, :2]), expected)
    assert isinstance(model.fit(table, Z[:, 2]).X_fit_, np.memmap)


def test_classifiers_grids_and_strings():
    labels = np.digitize(y, [-1.0, 1.0])
    model = KernelRidgeClassifier([0.01, 1.0], kernel=Nystroem(RBF(), 50)).fit(X, labels)
    assert model.score(X, labels) > 0.8
    assert model.loo_scores_.max() > 0.75
    grid = {"kernel__n_components": [5, 50], "kernel__kernel__length_scale": [1.0, 3.0]}
    search = GridSearchCV(KernelRidge(0.1, kernel=Nystroem(RBF(), 5)), grid, cv=2).fit(X, y)
    assert search.best_params_["kernel__n_components"] == 50
    words = ["ACGT", "ACGA", "TTTT", "GACG", "TTAC", "CGTA"] * 5
    counts = np.array([word.count("A") for word in words], float)
    assert KernelRidge(0.1, kernel=Nystroem(Spectrum(1), 4)).fit(words, counts).score(words, counts) > 0.9


def test_solvers_and_refusals():
    kernel = Nystroem(RBF(1.5), 20)
    fits = [KernelRidge(0.5, kernel=kernel, solver=s, tol=1e-8).fit(X, y) for s in ("auto", "conjugate_gradient")]
    np.testing.assert_allclose(fits[0].predict(X), fits[1].predict(X), atol=1e-6)
    assert fits[1].certificate_.solver.startswith("conjugate gradients")
    with pytest.raises(ValueError, match="solver is 'cholesky'"):
        KernelRidge(0.5, kernel=kernel, solver="cholesky").fit(X, y)
    with pytest.raises(ValueError, match="tune the exact kernel"):
        KernelRidge(0.5, kernel=kernel, tune="loo").fit(X, y)
    with pytest.raises(MemoryError, match="GB"):
        KernelRidge(0.5, kernel=kernel, memory=10_000).fit(X, y)
