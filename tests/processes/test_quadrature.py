"""Bounds of v' log(M) v against eigenvectors."""

import numpy as np
import pytest

from representer.processes.quadrature import LogForms, log_forms


def matrix(rng, values):
    """A symmetric matrix with these eigenvalues, and its logarithm."""
    Q = np.linalg.qr(rng.normal(size=(len(values), len(values))))[0]
    return (Q * values) @ Q.T, (Q * np.log(values)) @ Q.T


def never(forms):
    return False


@pytest.mark.parametrize("values", [np.geomspace(1.0, 1e4, 60), np.append(np.ones(55), [3.0, 4.0, 50.0, 1e3, 1e3])])
@pytest.mark.parametrize("least", [0.1, 0.9])
def test_bounds_hold_after_any_number_of_products_and_close(rng, values, least):
    M, L = matrix(rng, values)
    V = rng.normal(size=(60, 4))
    exact = np.einsum("ij,ij->j", V, L @ V) / np.einsum("ij,ij->j", V, V)
    before = np.inf
    for most in (1, 2, 3, 5, 10, 20, 150):
        forms = log_forms(lambda W: M @ W, V, least, most=most, enough=never)
        assert np.all(forms.lower <= exact + 1e-9)
        assert np.all(forms.upper >= exact - 1e-9)
        width = (forms.upper - forms.lower).max()
        assert width < before or width < 1e-9
        before = width
    assert before < 1e-6
    squares = np.einsum("ij,ij->j", L @ V, L @ V) / np.einsum("ij,ij->j", V, V)
    np.testing.assert_allclose(forms.squares, squares, rtol=1e-6)


def test_an_invariant_subspace_ends_a_recurrence(rng):
    V = rng.choice([-1.0, 1.0], size=(6, 3))
    forms = log_forms(lambda W: 3.0 * W, V, 0.9, most=10, enough=never)
    assert forms.products == 1
    np.testing.assert_allclose(forms.lower, np.log(3.0), rtol=1e-12)
    np.testing.assert_allclose(forms.upper, np.log(3.0), rtol=1e-12)
    # one vector ends before the others do
    M = np.diag([2.0, 2.0, 2.0, 5.0, 6.0, 7.0])
    V[:, 0], V[:, 1:] = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0], 1.0
    forms = log_forms(lambda W: M @ W, V, 0.9, most=10, enough=never)
    np.testing.assert_allclose(forms.upper, [np.log(2.0)] + 2 * [np.log(M.diagonal()).mean()], rtol=1e-9)
    np.testing.assert_allclose(forms.lower, forms.upper, rtol=1e-9)


@pytest.mark.parametrize("smallest", [0.5, -1.0])
def test_an_eigenvalue_below_the_promise_leaves_no_lower_bound(rng, smallest):
    M = np.diag(np.append(smallest, np.linspace(1.0, 9.0, 7)))
    forms = log_forms(lambda W: M @ W, rng.choice([-1.0, 1.0], size=(8, 3)), 0.9, most=8, enough=never)
    assert np.all(forms.lower == -np.inf)
    assert np.all(np.isfinite(forms.upper))


def test_products_end_when_it_is_enough(rng):
    M, _ = matrix(rng, np.geomspace(1.0, 1e4, 60))
    seen = []

    def enough(forms):
        seen.append(forms.products)
        return (forms.upper - forms.lower).mean() < 0.1

    forms = log_forms(lambda W: M @ W, rng.normal(size=(60, 2)), 0.9, most=50, enough=enough)
    assert forms.products == seen[-1] < 50
    assert seen[0] == 6
    assert (forms.upper - forms.lower).mean() < 0.1


def test_sums_of_forms_are_those_of_more_vectors():
    one = LogForms(np.array([1.0]), np.array([2.0]), np.array([3.0]), 4)
    two = one + one
    assert two.lower.tolist() == [1.0, 1.0]
    assert two.upper.tolist() == [2.0, 2.0]
    assert two.squares.tolist() == [3.0, 3.0]
    assert two.products == 8
