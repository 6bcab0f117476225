from dataclasses import replace

import box_cases
import numpy as np
import pytest

from representer.gram.stored import Stored
from representer.gram.tiled import Gram
from representer.kernels import RBF, Linear
from representer.solvers import smo
from representer.solvers.smo import small


@pytest.mark.parametrize(
    "columns",
    [None, np.random.default_rng(0).permutation(30), np.r_[3:9, 20:28], np.tile(np.arange(4, 15), 2), np.r_[5, 2, 2]],
    ids=["all", "in any order", "of two classes", "each twice", "some"],
)
def test_values_of_some_rows_and_columns(columns, rng):
    K = RBF(1.0)(rng.normal(size=(30, 3)))
    values, part = small.Values(K, columns), K if columns is None else K[np.ix_(columns, columns)]
    c = rng.normal(size=len(part))
    np.testing.assert_allclose(values @ c, part @ c, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(values.dense(), part)


@pytest.mark.parametrize("places", [None, np.random.default_rng(0).permutation(30)], ids=["in order", "in any order"])
def test_each_pair_is_computed_once_and_kept_once(places, rng):
    X, c = rng.normal(size=(30, 20)), rng.normal(size=30)
    gram = Gram(RBF(4.0), X if places is None else X[np.argsort(places)])
    values, K = small.HalfValues(gram, places), RBF(4.0)(X)
    assert gram.evaluations == 30 * 31 // 2
    np.testing.assert_allclose(values @ c, K @ c, atol=1e-13)
    np.testing.assert_allclose(values.dense(), K, atol=1e-15)
    single = values.square(np.float32)
    np.testing.assert_array_equal(single, values.square(np.float64).astype(np.float32))
    np.testing.assert_array_equal(single, single.T)


@pytest.mark.parametrize("n", [30, 300])
def test_a_shared_matrix_and_groups_in_any_order(n, rng):
    """The same as without it, and no kernel value is computed."""
    problem, start = box_cases.two_groups(n)
    limits, K = box_cases.budget(1e-6), np.zeros((n + 9, n + 9))
    places = np.r_[2 : 2 + n // 2, 7 + n // 2 : 7 + n]
    K[np.ix_(places, places)] = box_cases.dense(problem)
    alone = smo.solve(problem, limits, "", start)
    before = problem.gram.evaluations
    shared = smo.solve(replace(problem, gram=Stored(problem.gram, K, places)), limits, "", start)
    assert before == n * (n + 1) // 2 == problem.gram.evaluations
    assert alone.certificate.converged
    assert shared.certificate.dual == pytest.approx(alone.certificate.dual, rel=1e-7)
    assert shared.coef == pytest.approx(alone.coef, abs=1e-4)
    assert (alone.certificate.bytes, shared.certificate.bytes) == (12 * n * n, 12 * (n + 9) ** 2)


@pytest.mark.parametrize("grouped", [False, True])
def test_memory_is_that_of_the_certificate(grouped, peak_of):
    problem, start = box_cases.two_groups(600) if grouped else (box_cases.classification(600), None)
    limits = box_cases.budget(1e-7)  # which float32 does not resolve
    smo.solve(problem, limits, "", start)
    peak, result = peak_of(lambda: smo.solve(problem, limits, "", start))
    assert result.certificate.precision == "float64"
    assert 0.95 * result.certificate.bytes < peak < 1.1 * result.certificate.bytes


def test_a_value_that_is_not_finite_between_coefficients_that_stay_zero():
    """Steps never read it; the product that checks them does."""
    problem = box_cases.classification(100)
    found = smo.solve(problem, box_cases.budget(), "")
    i, j = np.argsort(problem.targets * (found.applied + found.intercept))[-2:]  # outside the margin by far
    K = box_cases.dense(problem)
    K[i, j] = K[j, i] = np.nan
    with pytest.raises(ValueError, match="values that are not finite"), np.errstate(all="ignore"):
        smo.solve(replace(problem, gram=Stored(problem.gram, K)), box_cases.budget(), "")


def test_targets_too_large_for_float32():
    """The solution for larger targets and boxes is as much larger."""
    problem, scale = box_cases.classification(60), 2.0**150
    larger = replace(problem, **{name: scale * getattr(problem, name) for name in ("targets", "lower", "upper")})
    found = smo.solve(larger, box_cases.budget(1e-6 * scale), "")
    assert found.certificate.converged
    plain = smo.solve(problem, box_cases.budget(1e-6), "")
    np.testing.assert_allclose(found.coef / scale, plain.coef, atol=1e-5)


def test_kernel_values_too_large_for_float32():
    problem = box_cases.classification(60)
    problem = replace(problem, gram=Gram(Linear(), 1e25 * problem.gram.X), targets=1e25 * problem.targets)
    assert smo.solve(problem, box_cases.budget(max_iter=10), "").certificate.iterations == 10


@pytest.mark.parametrize(
    ("sizes", "more", "share"),
    [([300, 300, 99], 0, True), ([300, 300, 99], -1, False), ([400, 300, 5], 0, False), ([300] * 11, 0, False)],
)
def test_small_pairs_share_matrices_if_there_is_room(sizes, more, share):
    sizes = np.array(sizes)
    room = 2 * 8 * sizes.sum() ** 2 + 3 * 12 * np.sort(sizes)[-2:].sum() ** 2 + more
    assert small.pairs_share_doubles(sizes, room, 3, matrices=2) == share
