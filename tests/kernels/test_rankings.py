from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

from representer import KernelPCA, KernelRidge
from representer.kernels import Kendall, Mallows, Normalized, rankings, ranks
from representer.testing import check_gram, check_kernel

NAN = np.nan
FULL = np.array(list(permutations(range(1, 5)))[::3], float)
TIED = np.array([[1, 1, 2, 3], [2, 2, 2, 2], [4, 1, 1, 4], [1, 2, 3, 4]], float)
GAPS = np.array(
    [[1.5, 0.1, NAN, -4.0, NAN], [NAN, NAN, 0.0, 3.0, NAN], [1, 2, 2, NAN, 0.5], [NAN] * 5, [3, 1, 4, 2, 5]]
)


def complete(x):
    """All rankings without ties that agree with x where it says something."""
    found = [np.array(p, float) for p in permutations(range(len(x)))]
    known = [(i, j) for i, j in combinations(range(len(x)), 2) if not np.isnan(x[i] - x[j]) and x[i] != x[j]]
    return [p for p in found if all((p[i] - p[j]) * (x[i] - x[j]) > 0 for i, j in known)]


def mean_signs(x):
    """The mean of sign(x_i - x_j) over all completions of x, one by one."""
    pairs = list(combinations(range(len(x)), 2))
    return np.mean([[np.sign(p[i] - p[j]) for i, j in pairs] for p in complete(x)], axis=0)


def test_values_by_hand():
    assert np.isclose(Kendall()(GAPS[:1], GAPS[1:2])[0, 0], -7 / 60)
    assert np.isclose(Kendall("last")(GAPS[:1], GAPS[1:2])[0, 0], -1 / 5)
    assert np.isclose(Mallows(0.5)([[1, 2, 3]], [[3, 1, 2]])[0, 0], np.exp(-0.5 * 2))  # two pairs disagree


def test_missing_items_are_means_over_all_completions():
    signs = np.array([mean_signs(x) for x in GAPS])
    found = Kendall()(GAPS)
    assert np.allclose(found, signs @ signs.T / 10, atol=1e-14)
    assert np.all(found[3] == 0.0)  # nothing is known of it


def test_ranks_and_scores_differ_in_what_is_last():
    scores = np.array([[3.0, NAN, 1.0, 2.0], [NAN, 5.0, 1.0, NAN]])
    assert np.allclose(Kendall("last")(scores), Kendall("last", best="lowest")(-scores))
    filled = np.where(np.isnan(scores), -9.0, scores)
    assert np.allclose(Kendall("last")(scores), Kendall()(filled))


def test_normalised_is_tau_b():
    X = np.concatenate([TIED, FULL])
    K = Normalized(Kendall())(X)
    for i, j in combinations(range(len(X)), 2):
        tau = kendalltau(X[i], X[j]).statistic
        assert np.isclose(K[i, j], 0.0 if np.isnan(tau) else tau)


@pytest.mark.parametrize("kernel", [Kendall(), Kendall("last", best="lowest"), Mallows(0.3), Mallows(0.1, "last")])
def test_laws(kernel):
    check_kernel(kernel, np.concatenate([GAPS, np.random.default_rng(0).normal(size=(6, 5))]))
    check_gram(kernel, FULL)


def test_many_items_are_compared_in_chunks(monkeypatch):
    X = np.random.default_rng(0).normal(size=(7, 12))
    X[2, 3:7] = NAN
    expected = Kendall()(X)
    monkeypatch.setattr(rankings, "FEW_PAIRS", 10)
    assert np.allclose(Kendall()(X), expected, atol=1e-14)


@pytest.mark.parametrize("kernel", [Kendall(), Normalized(Kendall()), 2.0 * Kendall() + Kendall("last")])
def test_values_of_functions_by_the_mean_signs(kernel, monkeypatch):
    """The value at a ranking takes as long for 5,000 others as for one."""
    monkeypatch.setattr(rankings, "FEW_PAIRS", 4)
    X = np.random.default_rng(0).normal(size=(9, 5))
    X[[1, 3, 3], [0, 2, 4]] = np.nan
    C = np.random.default_rng(1).normal(size=(2, 6))
    A, B = kernel.prepare(X[:6]), kernel.prepare(X[3:])
    found = kernel.features.linear_form(A, C)(B)
    np.testing.assert_allclose(found, C @ kernel(X[:6], X[3:]), rtol=1e-12)
    monkeypatch.setattr(rankings, "MOST_SIGNS", 2 * 10 - 1)
    assert kernel.features.linear_form(A, C) is None
    with pytest.raises(TypeError, match="no features with names"):
        kernel.features(X)


def test_default_decay_is_the_spread_of_the_rankings():
    X = np.array([[1, 2, 3], [3, 2, 1], [1, 2, 3], [3, 2, 1]], float)
    assert Mallows().with_default_scales(X).decay == pytest.approx(2 / 3)  # |phi|^2 = 3, and the mean is zero
    assert Mallows().with_default_scales(X[:2], np.array([2.0, 2.0])).decay == pytest.approx(2 / 3)
    assert Mallows().with_default_scales(X[::2]).decay == 2.0  # no spread at all
    assert Mallows(0.7).with_default_scales(X).decay == 0.7


def test_ranks_from_orders():
    table = ranks([["b", "a", "c"], ["c", {"a", "b"}], ["a"]])
    assert np.array_equal(table, [[2, 1, 3], [2.5, 2.5, 1], [1, NAN, NAN]], equal_nan=True)
    assert ranks([[2, 0, 1]], items=[0, 1, 2]).tolist() == [[2, 3, 1]]
    with pytest.raises(ValueError, match="'d', which is not one"):
        ranks([["d"]], items="abc")
    with pytest.raises(ValueError, match="'a' twice"):
        ranks([["a", "b", "a"]])


def test_frames_and_estimators():
    frame = pd.DataFrame(FULL, columns=list("abcd"))
    assert np.array_equal(Kendall()(frame), Kendall()(FULL))
    assert KernelPCA(2, kernel=Kendall()).fit_transform(np.vstack([FULL, TIED])).shape == (12, 2)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([["a", "b"], ["b", "a"]], r"ranks\(orders\)"),
        ([[1, 2], [1, 2, 3]], r"ranks\(orders\)"),
        ([1, 2, 3], "X has 1 dimension where Kendall"),
        ([[1], [2]], "at least two items"),
        ([[1, np.inf], [2, 1]], "use NaN"),
    ],
)
def test_bad_tables_are_refused(X, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Kendall()(X)


def test_bad_parameters_are_refused():
    with pytest.raises(ValueError, match="missing is 'first'; use 'anywhere' or 'last'"):
        Kendall("first")(FULL)
    with pytest.raises(ValueError, match="best is 'small'"):
        Mallows(best="small")(FULL)
    with pytest.raises(ValueError, match="decay is -1"):
        Mallows(-1)(FULL)
    with pytest.raises(ValueError, match="X ranks 3 items where the other rankings have 4"):
        Kendall()(FULL[:, :3], FULL)


def test_signs_are_a_basis():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 5))
    X[::7, 2] = np.nan
    kernel = Kendall()
    basis = kernel.basis(X[:1])
    assert basis.size == 10
    phi = np.empty((50, 10))
    basis.fill(basis.prepare(X[:50]), phi)
    np.testing.assert_allclose(phi @ phi.T, kernel(X[:50]), atol=1e-12)
    y = (X[:, 0] > X[:, 1]).astype(float)
    spanned = KernelRidge(kernel=kernel).fit(X, y)  # many rows, in ten dimensions
    assert "normal equations" in spanned.certificate_.solver
    exact = KernelRidge(kernel=kernel, solver="cholesky").fit(X, y)
    np.testing.assert_allclose(spanned.predict(X[:30]), exact.predict(X[:30]), atol=1e-8)
    chunked = KernelRidge(kernel=kernel).partial_fit(X[:999], y[:999]).partial_fit(X[999:], y[999:])
    np.testing.assert_allclose(chunked.predict(X[:30]), exact.predict(X[:30]), atol=1e-8)
