import numpy as np
import pytest
from ridge_cases import budget, of

from representer import Gram
from representer.features.pivoted_cholesky import pivoted_cholesky
from representer.gram.low_rank import LowRank
from representer.kernels import Matern
from representer.solvers import conjugate_gradient, preconditioners
from representer.solvers.preconditioners import BlockPreconditioner, Preconditioner, bisected, blocks_help


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("ridges", [[0.5], [2.0, 0.5, 2.0], [1e-4]])
def test_preconditioner_is_the_inverse(dtype, ridges, rng):
    F, ridges = rng.normal(size=(7, 40)).astype(dtype), np.array(ridges)
    R = rng.normal(size=(40, len(ridges)))
    precondition = Preconditioner(LowRank(F), ridges)
    found, F = precondition(R, ridges), F.astype(np.float64)
    expected = [np.linalg.solve(F.T @ F + a * np.eye(40), r) for a, r in zip(ridges, R.T, strict=True)]
    rtol = 1e-10 if dtype == np.float64 and ridges.min() < 0.1 else 1e-5  # sums in float32 will do for fair ridges
    np.testing.assert_allclose(found, np.array(expected).T, rtol=rtol, atol=rtol * np.abs(expected).max())
    # as it is asked for columns that are still live
    np.testing.assert_allclose(precondition(R[:, -1:], ridges[-1:]), found[:, -1:], rtol=rtol, atol=rtol)


def test_preconditioner_for_a_tiny_ridge(rng):
    """F F' is summed in float64 where float32 would not do."""
    F, ridge, R = rng.normal(size=(5, 3000)), np.array([1e-5]), rng.normal(size=(3000, 1))
    S = Preconditioner(LowRank(F), ridge)(R, ridge)
    np.testing.assert_allclose(F.T @ (F @ S) + ridge * S, R, atol=1e-6)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(preconditioners, "GROUP_ROWS", 16)
    monkeypatch.setattr(preconditioners, "BLOCKS_FROM", 40)


@pytest.mark.parametrize("weighted", [False, True])
def test_blocks_are_the_inverse(weighted, small, rng):
    """Of the sum of F'F and of blocks of the remainder, by dense algebra."""
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    weights = np.where(np.arange(60) % 7 == 3, 0.0, rng.uniform(0.2, 3.0, 60)) if weighted else None
    p = of(Matern(1.0, nu=1.5), X, y, [0.3], weights, intercept=True)
    D = p.sqrt_weights.ravel()
    low_rank = pivoted_cholesky(p.gram, 8, weights=D)
    blocks = BlockPreconditioner(p, p.gram, low_rank)
    A = D[:, None] * p.gram.dense() * D + 0.3 * np.eye(60)
    F = low_rank.factor
    same = np.zeros((60, 60), bool)
    for part in blocks.parts:
        rows = blocks.order[part]
        assert len(rows) <= 16
        same[np.ix_(rows, rows)] = True
    R = rng.normal(size=(60, 2))
    expected = np.linalg.solve(np.where(same, A, F.T @ F), R)
    np.testing.assert_allclose(blocks(R, p.ridges), expected, rtol=1e-5, atol=1e-5)


def test_groups_are_halves_of_what_is_near(rng):
    """Two clusters are not mixed, and every column is in one group."""
    F = np.hstack([rng.normal(size=(3, 40)), 9.0 + rng.normal(size=(3, 40))])
    groups = bisected(F, 20, rng)
    np.testing.assert_array_equal(np.sort(np.concatenate(groups)), np.arange(80))
    assert all(len(np.unique(rows < 40)) == 1 and len(rows) <= 20 for rows in groups)
    assert [len(rows) for rows in bisected(np.zeros((2, 50)), 20, rng)]  # where nothing tells them apart


def test_blocks_save_iterations(monkeypatch, rng):
    X = rng.uniform(size=(1200, 2))
    y = np.sin(9.0 * X[:, 0]) + 0.1 * rng.normal(size=1200)
    p = of(Matern(0.3, nu=0.5), X, y, [1e-3], intercept=True)
    monkeypatch.setattr(preconditioners, "BLOCKS_FROM", 1000)
    fewer = conjugate_gradient.solve(p, budget(1e-7), "")
    monkeypatch.setattr(conjugate_gradient, "blocks_help", lambda *_: False)
    more = conjugate_gradient.solve(p, budget(1e-7), "")
    assert fewer.certificate.converged
    assert fewer.certificate.iterations < 0.7 * more.certificate.iterations
    np.testing.assert_allclose(fewer.coef, more.coef, atol=1e-3 * np.abs(more.coef).max())


def test_when_blocks_help(small, rng):
    p = of(Matern(0.3), rng.normal(size=(60, 2)), rng.normal(size=(60, 2)), [0.05, 0.05])
    low_rank = LowRank(np.zeros((8, 60)), remainder=np.ones(60))
    assert blocks_help(p, low_rank, 8)
    assert not blocks_help(p, LowRank(np.zeros((8, 60)), remainder=np.full(60, 0.4)), 8)  # alpha is not much less
    assert not blocks_help(p, low_rank, 9)  # the factor stopped early, as it left nothing
    two = of(Matern(0.3), p.gram.X, p.targets, [0.05, 0.06])
    assert not blocks_help(two, low_rank, 8)
    tiny = of(Matern(0.3), p.gram.X, p.targets, [1e-9, 1e-9])
    assert not blocks_help(tiny, low_rank, 8)
    far = of(Matern(3.0), p.gram.X, p.targets, [0.05, 0.05])
    assert not blocks_help(far, low_rank, 8)  # the remainder is not local


def test_the_share_of_squares_near_the_diagonal(small, rng):
    p = of(Matern(1.0), rng.normal(size=(60, 2)), rng.normal(size=60), [0.05], rng.uniform(0.5, 2.0, 60))
    F, D = rng.normal(size=(3, 60)), p.sqrt_weights.ravel()
    left = (D[:, None] * p.gram.dense() * D - F.T @ F) ** 2
    np.fill_diagonal(left, 0.0)
    expected = sum(np.sort(row)[-16:].sum() for row in left) / left.sum()
    np.testing.assert_allclose(preconditioners._local_share(p, LowRank(F)), expected, rtol=1e-5)


def test_blocks_that_rounding_leaves_indefinite(small, rng):
    """Their diagonal is raised."""
    X = np.repeat(rng.normal(size=(20, 2)), 3, axis=0)
    p = of(1e6 * Matern(1.0, nu=2.5), X, rng.normal(size=60), [1.0])
    K = Gram(p.gram.kernel, X.astype(np.float32))
    solved = BlockPreconditioner(p, K, pivoted_cholesky(K, 8))(rng.normal(size=(60, 1)), p.ridges)
    assert np.all(np.isfinite(solved))
