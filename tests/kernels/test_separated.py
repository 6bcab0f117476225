"""Kernels are the sums of their terms, and shares of columns are the Shapley values that all subsets give."""

from itertools import combinations
from math import factorial

import numpy as np
import pandas as pd
import pytest
from each_case import each

from representer import Function
from representer.kernels import (
    RBF,
    Categorical,
    Constant,
    Laplacian,
    Linear,
    Matern,
    Missing,
    On,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Spectrum,
)
from representer.kernels.separated import terms_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 4))
NEW = RNG.normal(size=(1, 4))
COEF = RNG.normal(size=12)
L = np.array([0.7, 1.0, 1.5, 2.0])
FRAME = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": RNG.choice(["x", "y", "z"], 12), "s": ["ab", "ba", "aab"] * 4})
ONE = pd.DataFrame({"a": [0.3], "b": [-0.2], "c": ["y"], "s": ["aba"]})

ON_NUMBERS = [
    RBF(L),
    Laplacian(1.3),
    Periodic(L, period=2.0),
    Linear(L),
    2.0 * RBF(1.0) * Periodic(2.0) + 0.5 * Linear() + 3.0,
    (RBF(L) + 1.0) * (Linear() + Constant(0.5)),
    RBF(L) ** 3,
    On(RBF(0.8), [0, 2]) * On(Laplacian(), [1]) + On(Polynomial(2), [3]),
    Matern(L, nu=0.5),
    Matern(1.5, nu=2.5) + 0.1 * Linear(L),
    Matern(1.5, nu=0.8) * On(RBF(), [1, 2]),
    RationalQuadratic(L, mixture=0.7),
]


@each("kernel", [*ON_NUMBERS, Matern(L, nu=60.0), Matern(L, nu=np.inf), RationalQuadratic(1.0, 30.0)])
def test_terms_add_up_to_the_kernel(kernel):
    rows = np.vstack([X, NEW, NEW + 1e-6])
    terms = terms_of(kernel, rows, NEW)
    values = sum(t.weight * np.prod([p for p, _ in t.factors.values()] or [np.ones(14)], axis=0) for t in terms)
    np.testing.assert_allclose(values, kernel(rows, NEW)[:, 0], rtol=2e-13, atol=2e-13)


def brute_force(value, players):
    """sum_S |S|! (d - |S| - 1)! / d! (v(S + p) - v(S)) over all subsets S without p."""
    d, found = len(players), {}
    for p in players:
        rest = [q for q in players if q != p]
        sets = [set(s) for size in range(d) for s in combinations(rest, size)]
        weights = [factorial(len(s)) * factorial(d - len(s) - 1) / factorial(d) for s in sets]
        found[p] = sum(w * (value(s | {p}) - value(s)) for w, s in zip(weights, sets, strict=True))
    return found


def without(kernel, columns):
    """f with only these columns left, for kernels of scaled distances: the others agree with x."""
    rows = np.where(np.isin(np.arange(4), list(columns)), X, NEW)
    return COEF @ kernel(rows, NEW)[:, 0]


@pytest.mark.parametrize("kernel", [RBF(L), Laplacian(1.3), Matern(L, nu=0.5), RationalQuadratic(L, 0.7), RBF(L) ** 3])
def test_shares_are_those_of_all_subsets(kernel):
    found = Function(kernel, X, COEF, 0.7).column_shares(NEW)
    expected = brute_force(lambda s: without(kernel, s), range(4))
    assert found.base == pytest.approx(0.7 + without(kernel, ()), abs=1e-13)
    for column, share in expected.items():
        assert found.shares[(column,)] == pytest.approx(share, abs=1e-13)


@pytest.mark.parametrize("kernel", [RBF(L), Matern(L, nu=1.5) + 0.3 * Linear(L)])
def test_removed_columns_may_have_the_values_of_others(kernel):
    found = Function(kernel, X, COEF, 0.7).column_shares(NEW, reference=X[:2])

    def value(columns):
        mixed = np.where(np.isin(np.arange(4), list(columns)), NEW, X[:2])
        return np.mean(COEF @ kernel(X, mixed))

    assert found.base == pytest.approx(0.7 + value(()), abs=1e-13)
    for column, share in brute_force(value, range(4)).items():
        assert found.shares[(column,)] == pytest.approx(share, abs=1e-12)


def test_a_linear_part_moves_to_the_mean():
    f = Function(Linear(L), X, COEF, 0.7)
    found = f.column_shares(NEW)
    w = X.T @ COEF / L**2
    np.testing.assert_allclose(list(found.shares.values()), w * (NEW[0] - X.mean(axis=0)), atol=1e-13)
    assert found.base == pytest.approx(float(f(X.mean(axis=0, keepdims=True))[0]), abs=1e-13)


@each("kernel", ON_NUMBERS)
def test_shares_add_up_to_the_value(kernel):
    f = Function(kernel, X, COEF, -0.3)
    found = f.column_shares(NEW)
    assert found.base + sum(found.shares.values()) == pytest.approx(float(f(NEW)[0]), abs=2e-12)


def test_tables_have_names_and_owners():
    numbers = On(Matern([1.0, 2.0], nu=1.5), ["a", "b"]) + 0.1 * On(Linear([1.0, 2.0]), ["a", "b"])
    k = (1.0 + numbers) * (1.0 + On(Missing(Categorical(1.0)), "c") + 0.5 * On(Spectrum(2), "s"))
    f = Function(k, FRAME, COEF)
    found = f.column_shares(ONE)
    assert set(found.shares) == {("a",), ("b",), ("c",), ("s",)}
    assert found.base + sum(found.shares.values()) == pytest.approx(float(f(ONE)[0]), abs=1e-11)
    owned = f.column_shares(ONE, owners={"a": "place", "b": "place"})
    assert set(owned.shares) == {("place",), ("c",), ("s",)}
    assert owned.base == pytest.approx(found.base)


def test_columns_that_go_together_share_a_value():
    kernel = On(RBF(), [0]) + On(Polynomial(2), [0, 2]) + On(RBF(), [1])
    found = Function(kernel, X, COEF).column_shares(NEW)
    assert set(found.shares) == {(0, 2), (1,)}


def test_errors_say_what_to_do():
    with pytest.raises(ValueError, match="pick one"):
        Function(RBF(), X, np.ones((12, 2))).column_shares(NEW)
    with pytest.raises(ValueError, match="pass one row"):
        Function(RBF(), X, COEF).column_shares(X)
