import numpy as np
import pytest

from representer._loops.pivot_rejection import reject


def definite(n, rng):
    G = rng.normal(size=(n, n))
    return G @ G.T + 0.1 * np.eye(n)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_all_pivots_of_a_definite_matrix_are_accepted(n, rng):
    A = definite(n, rng)
    H = A.copy()
    assert reject(H, np.zeros(n)).all()
    np.testing.assert_allclose(np.tril(H), np.linalg.cholesky(A), rtol=1e-12, atol=1e-13)


def test_duplicates_are_rejected(rng):
    A, proposed = definite(3, rng), np.array([0, 1, 0, 2, 1])
    H = A[np.ix_(proposed, proposed)]
    accepted = reject(H, np.zeros(5))
    assert accepted.tolist() == [True, True, False, True, False]
    np.testing.assert_allclose(np.tril(H[np.ix_(accepted, accepted)]), np.linalg.cholesky(A), rtol=1e-12, atol=1e-13)


def test_zeros_are_rejected():
    assert not reject(np.zeros((3, 3)), np.zeros(3)).any()
    assert reject(np.diag([1.0, 0.0, 2.0]), np.zeros(3)).tolist() == [True, False, True]


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_share_of_accepted(correlation):
    """The second pivot keeps 1 - c^2 of its value, which is the probability to accept it."""
    uniforms = (np.arange(200) + 0.5) / 200
    accepted = [reject(np.array([[1.0, correlation], [correlation, 1.0]]), np.array([0.999, u])) for u in uniforms]
    share = np.mean(accepted, axis=0)
    assert share[0] == 1.0
    assert share[1] == pytest.approx(1.0 - correlation**2, abs=0.5 / 200)


def test_law_of_acceptance(rng):
    """Pivot j is accepted if u_j A_jj is below its Schur complement after the pivots accepted before."""
    for _ in range(20):
        A, uniforms, before = definite(6, rng), rng.random(6), []
        for j in range(6):
            explained = A[j, before] @ np.linalg.solve(A[np.ix_(before, before)], A[before, j])
            if uniforms[j] * A[j, j] < A[j, j] - explained:
                before.append(j)
        H = A.copy()
        assert np.flatnonzero(reject(H, uniforms)).tolist() == before
        L = np.tril(H[np.ix_(before, before)])
        np.testing.assert_allclose(L @ L.T, A[np.ix_(before, before)], rtol=1e-11, atol=1e-12)
