from dataclasses import FrozenInstanceError, replace

import box_cases
import numpy as np
import pytest

from representer.gram.tiled import Gram
from representer.kernels import RBF
from representer.problems.box import FEASIBLE, BoxProblem
from representer.solvers import smo


@pytest.fixture(params=[1e-3, 1.0, 1e4], ids=["small", "plain", "large"])
def problem(request, rng):
    """Two groups, with coefficients at either bound, at the kink and in between; and targets and boxes of any size."""
    n, scale = 12, request.param
    width = scale * rng.uniform(0.5, 2.0, n)
    kinds = rng.permutation(np.arange(n) % 4)
    c = np.select([kinds == 0, kinds == 1, kinds == 2], [-width, width, 0.0], 0.5 * width)
    groups = np.arange(n) % 2
    gram = Gram(RBF(1.0), rng.normal(size=(n, 2)))
    totals = np.bincount(groups, c)
    return BoxProblem(gram, scale * rng.normal(size=n), -width, width, 0.1 * scale, groups, totals), c


def test_judgement_is_that_of_textbook_sums(problem, rng):
    problem, c = problem
    K, b = box_cases.dense(problem), problem.epsilon * rng.normal(size=2)
    judged = problem.judge(c, b)
    primal, dual = box_cases.values(problem, K, c, b)
    np.testing.assert_allclose([judged.primal, judged.dual], [primal, dual], rtol=1e-12)
    np.testing.assert_allclose(judged.residuals, box_cases.violation(problem, K, c), rtol=1e-12)
    np.testing.assert_allclose(judged.error_bound, np.sqrt(2.0 * (primal - dual)), rtol=1e-12)
    error = 0.1 * problem.epsilon
    known = problem.judge(c, b, gradient=K @ c - problem.targets, error=error)
    widened = problem.values(c, K @ c - problem.targets, b, error)[2]
    assert widened > 1.001 * (primal - dual)
    assert (known.primal, known.dual) == pytest.approx((primal, primal - widened))
    assert known.error_bound[0] == pytest.approx(np.sqrt(2.0 * widened))


def test_roundings_of_gradients_widen_the_gap(rng):
    """Boxes of a width of 1e12 leave no digits of a gap near zero: it is at least that of the product in float128."""
    X = rng.normal(size=(30, 2))
    t = np.where(rng.random(30) < 0.5, -1.0, 1.0)
    problem = box_cases.hinge(Gram(RBF(1.0), X), t, 1e12)
    result = smo.solve(problem, box_cases.budget(1e-9, 10**5), "")
    K, c = box_cases.dense(problem).astype(np.longdouble), result.coef.astype(np.longdouble)
    r = t - K @ c - result.intercept[0]
    true = np.sum(np.maximum(np.maximum(problem.upper * r, problem.lower * r), 0.0) - c * r)
    assert true <= result.certificate.error_bound[0] ** 2 / 2.0


def test_dual_value_keeps_its_digits_far_below_the_primal_one(problem):
    problem, c = problem
    _, dual = box_cases.values(problem, box_cases.dense(problem), c, np.zeros(2))
    judged = problem.judge(c, np.full(2, 1e9 * problem.epsilon))
    assert judged.primal > 1e6 * abs(dual)
    assert judged.dual == pytest.approx(dual, rel=1e-12, abs=0.0)


def test_error_bound_and_weak_duality(problem, rng):
    """No dual value is above any primal value, and no f is further from the best one than is said."""
    problem, c = problem
    K = box_cases.dense(problem)
    tol = 1e-10 * np.abs(problem.targets).max()
    best = smo.solve(problem, box_cases.budget(tol), "", start=c)
    assert best.certificate.converged
    tightest = 0.0
    for size in (1.0, 0.1, 1e-3):
        other = c + size * (best.coef - c)  # between two feasible points
        judged = problem.judge(other, best.intercept + size * problem.epsilon * rng.normal(size=2))
        d = other - best.coef
        assert judged.dual <= best.certificate.primal * (1 + 1e-12)
        assert judged.primal >= best.certificate.dual * (1 - 1e-12)
        error = np.sqrt(max(d @ K @ d, 0.0))
        assert error <= judged.error_bound[0] * (1 + 1e-9) + 1e-12 * np.abs(c).max()
        tightest = max(tightest, error / judged.error_bound[0])
    assert tightest > 0.1  # the bound says something


@pytest.mark.parametrize("fault", ["sum", "box"])
def test_infeasible_coefficients_are_not_converged(problem, fault):
    problem, c = problem
    wrong, off = c.copy(), 10.0 * FEASIBLE * np.abs(c).sum()
    if fault == "sum":
        wrong[np.flatnonzero(c == 0.5 * problem.upper)[0]] += off
    else:
        wrong[c == problem.upper] += off
        problem = replace(problem, totals=np.bincount(problem.groups, wrong))
    assert problem.infeasibility(c) < FEASIBLE or fault == "box"
    judged = problem.judge(wrong, np.zeros(2))
    assert judged.residuals[0] == np.inf
    assert (judged.dual, judged.error_bound[0]) == (-np.inf, np.inf)


def test_problems_are_frozen(problem):
    with pytest.raises(FrozenInstanceError):
        problem[0].epsilon = 0.0
