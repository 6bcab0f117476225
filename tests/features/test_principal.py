import numpy as np
import pytest
from each_case import each

from representer.features.principal import centred, cholesky_view, gram_view, relaxed_view, stiefel_view
from representer.kernels import RBF, Linear, Spectrum

THREE = each("view", [gram_view, stiefel_view, cholesky_view])


def gram(kernel=None, n=25, center=True):
    X = np.random.default_rng(0).normal(size=(n, 3)) * [2.0, 1.0, 0.5]
    K = (kernel or RBF(2.0))(X)
    return centred(K) if center else K


def projector(view):
    """The values P phi(x_i) at x_j of the projection onto the span of V, whatever its basis."""
    return view.scores.T @ view.scores


def test_centred_is_the_matrix_of_centred_features():
    X = np.random.default_rng(0).normal(size=(10, 3)) + 5.0
    F = X - X.mean(axis=0)
    np.testing.assert_allclose(centred(X @ X.T), F @ F.T, atol=1e-12)


@THREE
@each("least", [False, True])
@each("center", [False, True])
def test_the_three_views_agree(view, least, center):
    """Each is orthonormal, has the sum of r eigenvalues as its variance, and spans the same space."""
    K = gram(0.5 * RBF(1.0) + Linear(), n=8, center=center)
    values = np.linalg.eigvalsh(K)
    values = values[values > 1e-10 * values[-1]]
    found, first = view(K, 3, least=least), gram_view(K, 3, least=least)
    np.testing.assert_allclose(found.inner, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(found.variance, (values if least else values[::-1])[:3].sum(), rtol=1e-9)
    np.testing.assert_allclose(found.scores, found.coef.T @ K, atol=1e-9 * values[-1])
    np.testing.assert_allclose(projector(found), projector(first), atol=1e-6 * values[-1])


def test_views_of_strings():
    K = centred(Spectrum(2)(["ACGT", "ACCA", "GTGT", "TTAC", "GGCA", "CATG"]))
    views = [view(K, 2) for view in (gram_view, stiefel_view, cholesky_view, relaxed_view)]
    for other in views[1:]:
        np.testing.assert_allclose(projector(other), projector(views[0]), atol=1e-7)


def test_scores_are_a_projection_of_the_cholesky_factor():
    """V' Phi = M' C with K = C'C and M'M = I; C itself is the Cholesky factor where K is not singular."""
    K = gram(RBF(0.5), n=12, center=False)
    C = np.linalg.cholesky(K).T
    view = gram_view(K, 4)
    M = C @ view.coef
    np.testing.assert_allclose(M.T @ M, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(M.T @ C, view.scores, atol=1e-12)


@pytest.mark.parametrize("r", [1, 3])
def test_relaxed_maximum_lies_on_the_rim(r):
    """From inside the ball the ascent ends at orthonormal functions, and at the solution of the three views."""
    K = gram(n=15)
    relaxed, view = relaxed_view(K, r), gram_view(K, r)
    np.testing.assert_allclose(relaxed.inner, np.eye(r), atol=1e-9)
    np.testing.assert_allclose(relaxed.variance, view.variance, rtol=1e-9)
    np.testing.assert_allclose(projector(relaxed), projector(view), atol=1e-6 * np.abs(K).max())


@THREE
def test_beyond_the_rank_only_the_relaxed_problem_has_a_solution(view):
    """The r functions then have all of the variance, but V'V is a projection of the rank of K and not I."""
    K = gram(Linear(), n=10)
    with pytest.raises(ValueError, match="5 orthonormal functions are wanted, but the data span 3 dimensions"):
        view(K, 5)
    relaxed = relaxed_view(K, 5)
    np.testing.assert_allclose(relaxed.variance, K.trace(), rtol=1e-9)
    np.testing.assert_allclose(np.linalg.eigvalsh(relaxed.inner), [0, 0, 1, 1, 1], atol=1e-9)


def test_least_variance_is_where_the_problems_part():
    """Orthonormal functions in the span have minor components; outside of it there are some with no variance at all."""
    K = gram(Linear(), n=10)
    smallest = np.linalg.eigvalsh(K)[-3]
    assert smallest > 0.4
    np.testing.assert_allclose(stiefel_view(K, 1, least=True).variance, smallest, rtol=1e-9)
    relaxed = relaxed_view(K, 1, least=True)
    assert relaxed.variance < 1e-9
    assert relaxed.inner[0, 0] < 1e-9
