import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from representer import SVC, Gram
from representer.estimators.calibration import Sigmoid, coupled, left_out
from representer.kernels import RBF
from representer.problems.box import BoxProblem
from representer.result import Budget
from representer.solvers import smo


def test_sigmoid_is_logistic_regression_with_smoothed_targets():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=200)
    positive = rng.uniform(size=200) < expit(2.0 * scores + 0.5)
    sigmoid = Sigmoid.fit(scores, positive, np.ones(200))
    high, low = positive.sum(), (~positive).sum()
    weight = np.where(positive, (high + 1) / (high + 2), 1 / (low + 2))
    model = LogisticRegression(C=1e10, tol=1e-10, max_iter=10000)
    model.fit(np.r_[scores, scores][:, None], np.repeat([1, 0], 200), sample_weight=np.r_[weight, 1.0 - weight])
    assert sigmoid.slope == pytest.approx(model.coef_[0, 0], rel=1e-4)
    assert sigmoid.offset == pytest.approx(model.intercept_[0], abs=1e-4)


def test_separated_scores_give_a_finite_slope():
    sigmoid = Sigmoid.fit(np.r_[-np.ones(5), np.ones(5)], np.repeat([False, True], 5), np.ones(10))
    assert 0.0 < sigmoid.slope < 10.0


def test_weights_of_scores_are_repetition():
    rng = np.random.default_rng(1)
    scores, positive, weights = rng.normal(size=50), rng.uniform(size=50) < 0.4, rng.integers(1, 4, 50)
    repeated = Sigmoid.fit(np.repeat(scores, weights), np.repeat(positive, weights), np.ones(weights.sum()))
    weighted = Sigmoid.fit(scores, positive, weights.astype(float))
    assert (weighted.slope, weighted.offset) == pytest.approx((repeated.slope, repeated.offset), rel=1e-6)


@pytest.mark.parametrize("k", [3, 5])
def test_consistent_pairs_give_their_probabilities(k):
    p = np.random.default_rng(k).dirichlet(np.ones(k), size=20)
    pairs = [p[:, a] / (p[:, a] + p[:, b]) for a in range(k) for b in range(a + 1, k)]
    assert coupled(np.stack(pairs, axis=1), k) == pytest.approx(p, abs=1e-9)


def test_coupled_probabilities_are_the_least_squares():
    rng = np.random.default_rng(0)
    r = rng.uniform(0.05, 0.95, size=3)
    p = coupled(r[None], 3)[0]

    def value(p):
        pairs = [(0, 1, r[0]), (0, 2, r[1]), (1, 2, r[2])]
        return sum(((1.0 - x) * p[a] - x * p[b]) ** 2 for a, b, x in pairs)

    assert all(value(p) <= value(q) + 1e-12 for q in rng.dirichlet(np.ones(3), size=1000))


def test_left_out_scores_against_refits():
    """The span rule is exact while no coefficient changes between free and bound; most refits are like that."""
    X, y = make_classification(60, 3, n_redundant=0, n_informative=3, flip_y=0.1, random_state=0)
    t = np.where(y == 1, 1.0, -1.0)
    problem = BoxProblem(Gram(RBF(2.0), X), t, np.where(t > 0, 0.0, -5.0), np.where(t > 0, 5.0, 0.0))
    result = smo.solve(problem, Budget(10**10, 1e-6, 10**7), "it is tested")
    scores = left_out(problem, result) + result.intercept[0]
    refits = np.array(
        [
            SVC(C=5.0, kernel=RBF(2.0), tol=1e-6).fit(np.delete(X, i, 0), np.delete(y, i)).decision_function(X[[i]])[0]
            for i in range(60)
        ]
    )
    outside = result.coef == 0.0
    assert scores[outside] == pytest.approx(refits[outside], abs=1e-4)
    assert np.median(np.abs(scores - refits)) < 0.02
    assert np.mean(np.sign(scores) == np.sign(refits)) > 0.9
    plain = result.applied + result.intercept[0]
    assert np.abs(scores - refits).mean() < 0.5 * np.abs(plain - refits).mean()


@pytest.mark.parametrize("groups", [None, np.arange(40) % 2])
def test_left_out_scores_by_the_bordered_matrix(groups):
    """The formula itself, with the inverse of [[K, G], [G', 0]] for the free support vectors."""
    rng = np.random.default_rng(0)
    X, t = rng.normal(size=(40, 2)), rng.normal(size=40)
    problem = BoxProblem(Gram(RBF(1.0), X), t, np.full(40, -0.5), np.full(40, 0.5), epsilon=0.1, groups=groups)
    result = smo.solve(problem, Budget(10**10, 1e-8, 10**7), "it is tested")
    c, K = result.coef, RBF(1.0)(X)
    free = np.flatnonzero((np.abs(c) < 0.5) & (c != 0.0))
    member = (problem.group_of[:, None] == np.unique(problem.group_of)).astype(float)
    zeros = np.zeros((member.shape[1],) * 2)
    bordered = np.block([[K[np.ix_(free, free)] + 1e-10 * np.eye(len(free)), member[free]], [member[free].T, zeros]])
    inverse = np.linalg.inv(bordered)
    span = np.zeros(40)
    span[free] = 1.0 / np.diag(inverse)[: len(free)]
    for i in np.setdiff1d(np.flatnonzero(c), free):
        right = np.r_[K[i, free], member[i]]
        span[i] = 1.0 - right @ inverse @ right
    assert 3 < len(free) < 40
    np.testing.assert_allclose(left_out(problem, result), K @ c - c * span, rtol=1e-6, atol=1e-8)


def test_left_out_scores_take_one_matrix_of_the_free_support_vectors(peak_of):
    rng = np.random.default_rng(0)
    X, t = rng.normal(size=(900, 5)), rng.normal(size=900)
    problem = BoxProblem(Gram(RBF(0.7), X), t, np.full(900, -1e4), np.full(900, 1e4), epsilon=0.01)
    result = smo.solve(problem, Budget(10**10, 1e-3, 10**7), "it is tested")
    free = np.sum((np.abs(result.coef) < 1e4) & (result.coef != 0.0))
    assert free > 700
    left_out(problem, result)
    peak, _ = peak_of(lambda: left_out(problem, result))
    assert peak < 1.6 * 8 * free**2
