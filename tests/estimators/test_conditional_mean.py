import pickle

import numpy as np
import pandas as pd
import pytest
from each_case import each
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LinearRegression, Ridge
from sklearn_contract import faults

from representer import ConditionalMeanEmbedding, Function, KernelRidge, mean_embedding
from representer.kernels import RBF, Laplacian, Linear, Spectrum
from representer.solvers import conjugate_gradient

SOLVERS = each("solver", ["cholesky", "conjugate_gradient"])


def data(n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.stack([np.sin(X[:, 0]), X[:, 0] * X[:, 1]], axis=1) + 0.3 * rng.normal(size=(n, 2))


def test_estimator_checks():
    assert faults(ConditionalMeanEmbedding()) == []


@SOLVERS
def test_linear_kernels_give_linear_regression(solver):
    X, Y = data()
    new = data(10, seed=1)[0]
    model = ConditionalMeanEmbedding("linear", "linear", 0.7, solver=solver, tol=1e-12).fit(X, Y)
    expected = Ridge(0.7, fit_intercept=False).fit(X, Y).predict(new)
    np.testing.assert_allclose(model.expect(lambda y: y, new), expected, rtol=1e-8, atol=1e-9)
    # in the space of the linear kernel mu(x) is the function y -> <E[y | x], y>
    np.testing.assert_allclose(model.embed(new)(np.eye(2)).T, expected, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(model.embed(new).norm(), np.linalg.norm(expected, axis=1), rtol=1e-8)


def test_little_alpha_gives_least_squares():
    X, Y = data()
    expected = LinearRegression(fit_intercept=False).fit(X, Y).predict(X)
    model = ConditionalMeanEmbedding(Linear(), Linear(), 1e-6).fit(X, Y)
    np.testing.assert_allclose(model.expect(Y, X), expected, atol=1e-6)


@SOLVERS
def test_expectations_are_ridge_regressions_and_inner_products(solver):
    X, Y = data()
    new = data(7, seed=1)[0]
    model = ConditionalMeanEmbedding(RBF(1.2), Laplacian(1.0), 0.3, solver=solver, tol=1e-10).fit(X, Y)
    rng = np.random.default_rng(2)
    g = Function(Laplacian(1.0), Y[:20], rng.normal(size=20))
    expected = KernelRidge(0.3, kernel=RBF(1.2), tol=1e-10).fit(X, g(Y)).predict(new)
    np.testing.assert_allclose(model.expect(g, new), expected, rtol=1e-7, atol=1e-8)
    mu = model.embed(new)
    inner = [mu[i].inner(g) for i in range(7)]
    np.testing.assert_allclose(inner, expected, rtol=1e-7, atol=1e-8)


def test_without_dependence_it_is_the_mean_embedding():
    """A constant x: then mu(x) is the mean embedding of all y, but for the factor n / (n + alpha)."""
    Y = data()[1]
    model = ConditionalMeanEmbedding(RBF(1.0), RBF(1.0), 2.0).fit(np.ones((80, 1)), Y)
    mu = model.embed(np.ones((1, 1)))[0]
    assert mu.distance(mean_embedding(RBF(1.0), Y) * (80 / 82)) < 1e-10


def test_conditional_variance_is_found():
    """y has mean zero everywhere, and a deviation of 1 + |x|."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (1400, 1))
    Y = (1 + np.abs(X)) * rng.normal(size=(1400, 1))
    model = ConditionalMeanEmbedding(RBF(0.7), RBF(), 3.0).fit(X, Y)
    new = np.array([[-1.5], [0.0], [1.5]])
    np.testing.assert_allclose(model.expect(lambda y: y[:, 0], new), 0.0, atol=0.4)
    np.testing.assert_allclose(np.sqrt(model.expect(lambda y: y[:, 0] ** 2, new)), [2.5, 1.2, 2.5], rtol=0.12)


def test_strings_and_gram_matrices():
    rng = np.random.default_rng(0)
    strings = ["".join(rng.choice(list("AC"), 6)) for _ in range(60)]
    Y = np.array([[s.count("A")] for s in strings], float)
    model = ConditionalMeanEmbedding(Spectrum(1), RBF(1.0), 1e-3).fit(strings, Y)
    np.testing.assert_allclose(model.expect(Y, ["AAAAAA", "CCCCCC"])[:, 0], [6.0, 0.0], atol=0.01)
    K = Spectrum(1)(strings)
    given = ConditionalMeanEmbedding("precomputed", RBF(1.0), 1e-3).fit(K, Y)
    np.testing.assert_allclose(given.embed(K[:3]).coef, model.embed(strings[:3]).coef, rtol=1e-6, atol=1e-9)
    words = ConditionalMeanEmbedding(RBF(1.0), Spectrum(1), 0.1).fit(Y, strings)
    assert words.embed(np.array([[6.0]]))(["A", "C"])[:, 0] @ [1, -1] > 4


def test_contract():
    X, Y = data()
    model = ConditionalMeanEmbedding(alpha=0.1)
    with pytest.raises(NotFittedError):
        model.embed(X)
    model.fit(X, Y)
    assert model.n_features_in_ == 2
    assert model.kernel_x_ == RBF().with_default_scales(X)
    assert model.kernel_y_ == RBF().with_default_scales(Y)
    assert clone(model).get_params() == model.get_params()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).expect(Y, X), model.expect(Y, X))
    single = clone(model).fit(X.astype(np.float32), Y).expect(Y, X.astype(np.float32))
    np.testing.assert_allclose(single, model.expect(Y, X), atol=1e-4)


@each(
    ("options", "X", "Y", "error", "message"),
    [
        ({"alpha": 0.0}, *data(5), ValueError, "alpha is 0.0"),
        ({"alpha": [1.0, 2.0]}, *data(5), ValueError, "alpha"),
        ({"solver": "cholesk"}, *data(5), ValueError, "solver is 'cholesk'"),
        ({"kernel_y": "rfb"}, *data(5), ValueError, "rfb"),
        ({}, data(5)[0], data(6)[1], ValueError, "5 inputs and Y has 6"),
        ({}, data(5)[0], ["a", "b", "c", "d", "e"], TypeError, "RBF needs numbers"),
        ({}, data(5)[0], np.full((5, 1), np.nan), ValueError, "NaN"),
        ({"memory": 10}, *data(5), MemoryError, "memory="),
        ({"memory": 7 * 1600**2}, *data(1600), MemoryError, "use solver='conjugate_gradient'"),
    ],
)
def test_bad_input_is_named(options, X, Y, error, message):
    with pytest.raises(error, match=message):
        ConditionalMeanEmbedding(**options).fit(X, Y)


@pytest.mark.parametrize("kind", [np.asarray, list, pd.Series])
def test_numbers_are_one_column(kind):
    X, Y = data()
    new = data(9, seed=1)[0]
    column = ConditionalMeanEmbedding(alpha=0.1).fit(X, Y[:, :1])
    numbers = ConditionalMeanEmbedding(alpha=0.1).fit(X, kind(Y[:, 0]))
    np.testing.assert_array_equal(numbers.expect(Y[:, 0], new), column.expect(Y[:, 0], new))
    np.testing.assert_array_equal(numbers.embed(new)(Y[:3, :1]), column.embed(new)(Y[:3, :1]))


def test_later_changes_of_the_pairs_do_not_reach_the_fit():
    (X, Y), new = data(), data(9, seed=1)[0]
    model = ConditionalMeanEmbedding(alpha=0.1).fit(X, Y)
    before = model.expect(lambda y: y[:, 0], new), model.embed(new)(np.zeros((1, 2)))
    X += 1.0
    Y += 1.0
    after = model.expect(lambda y: y[:, 0], new), model.embed(new)(np.zeros((1, 2)))
    np.testing.assert_array_equal(after[0], before[0])
    np.testing.assert_array_equal(after[1], before[1])


def test_plan():
    X, Y = data()
    assert ConditionalMeanEmbedding().plan(X, Y).solver == "cholesky"
    plan = ConditionalMeanEmbedding(memory=10**9).plan(np.zeros((30_000, 1)))
    assert (plan.solver, plan.refusal) == ("conjugate_gradient", "")
    assert "use solver='conjugate_gradient'" in ConditionalMeanEmbedding(memory=1000).plan(X).refusal
    with pytest.raises(ValueError, match="alpha is 0"):
        ConditionalMeanEmbedding(alpha=0.0).plan(X)


def test_bad_functions_are_named():
    X, Y = data(6)
    model = ConditionalMeanEmbedding().fit(X, Y)
    with pytest.raises(ValueError, match=r"shape \(5,\); it needs one number"):
        model.expect(np.ones(5), X)
    with pytest.raises(ValueError, match="it needs one number"):
        model.expect(lambda y: "mean", X)
    with pytest.raises(ValueError, match="NaN"):
        model.expect(np.full(6, np.nan), X)
    with pytest.raises(ValueError, match="3 features"):
        model.embed(np.ones((2, 3)))


def test_solver_of_the_plan_is_the_one_that_runs(rng, monkeypatch):
    used = []
    solve = conjugate_gradient.solve
    monkeypatch.setattr(conjugate_gradient, "solve", lambda *given: used.append(given[2]) or solve(*given))
    X = rng.normal(size=(30, 2))
    ConditionalMeanEmbedding(solver="conjugate_gradient").fit(X, X).embed(X[:2])
    assert used == 2 * ["it was asked for, with room for float32 tiles"]  # for the certificate, and for embed


@pytest.mark.parametrize("solver", ["cholesky", "conjugate_gradient"])
def test_certificate_is_that_of_embeddings(solver, rng):
    """Those of some training inputs, whose coefficients `embed` returns."""
    X = rng.normal(size=(50, 2))
    model = ConditionalMeanEmbedding(alpha=0.3, solver=solver).fit(X, X)
    some = np.linspace(0, 49, 8).astype(int)
    K, coef = model.kernel_x_(X), model.embed(X[some]).coef
    rest = K[:, some] - K @ coef - 0.3 * coef
    expected = np.linalg.norm(rest, axis=0) / np.linalg.norm(K[:, some], axis=0)
    assert model.certificate_.residuals.shape == (8,)
    np.testing.assert_allclose(model.certificate_.residuals, expected, rtol=1e-3, atol=1e-14)
    assert model.certificate_.converged
    assert model.certificate_.tolerance == 1e-6


def test_a_factor_that_is_off_is_told(rng, monkeypatch):
    factorise = ConditionalMeanEmbedding._factorise
    monkeypatch.setattr(ConditionalMeanEmbedding, "_factorise", lambda self: (1.01 * factorise(self)[0], True))
    X = rng.normal(size=(20, 2))
    with pytest.warns(ConvergenceWarning, match="relative residual of 0.0"):
        ConditionalMeanEmbedding().fit(X, X)
