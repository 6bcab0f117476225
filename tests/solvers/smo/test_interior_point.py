from dataclasses import replace

import box_cases
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from representer.gram.submatrix import Submatrix
from representer.gram.tiled import Gram
from representer.kernels import RBF, Sigmoid
from representer.problems.box import BoxProblem
from representer.solvers import smo
from representer.solvers.smo import small
from representer.solvers.smo.interior_point import NEWTON_STEPS, is_simple, jump
from representer.solvers.smo.state import KKT, State


def jumped(problem, tol, c=None):
    """The state and KKT violation before and after."""
    c, K = np.zeros(problem.n) if c is None else c.copy(), box_cases.dense(problem)
    state = State(c, K @ c - problem.targets, problem.gram, Submatrix(problem.gram))
    kkt = KKT.of(problem, state.c, state.g)
    return state, kkt, jump(problem, state, kkt, K, tol)


def objective(problem, c):
    return 0.5 * c @ box_cases.dense(problem) @ c - problem.targets @ c + problem.epsilon * np.abs(c).sum()


def random_problem(seed, epsilon):
    """Boxes of any size, some of them empty, with given sums over one or two groups; and a feasible start."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 50))
    lower, upper = -rng.uniform(0.0, 2.0, n) * (seed % 3 > 0), rng.uniform(0.0, 2.0, n)
    fixed = rng.random(n) < 0.2 * (seed % 2)
    lower[fixed], upper[fixed] = 0.0, 0.0
    groups = rng.permutation(np.arange(n) % 2) if seed % 4 > 1 else np.zeros(n, int)
    start = np.where(groups == 0, 0.3, 0.1) * upper
    gram, totals = Gram(RBF(1.0), rng.normal(size=(n, 3))), np.bincount(groups, start)
    return BoxProblem(gram, rng.normal(size=n), lower, upper, epsilon, groups, totals), start


def iris(gamma, C):
    """Two classes of irises that overlap, with bounds far from most coefficients."""
    X, y = load_iris(return_X_y=True)
    X = ((X - X.mean(axis=0)) / X.std(axis=0))[50:]
    return box_cases.hinge(Gram(RBF(1.0 / np.sqrt(2.0 * gamma)), X), np.where(y[50:] == 1, 1.0, -1.0), C)


@pytest.mark.parametrize("epsilon", [0.0, 1e-6, 0.1, 1.0])
def test_solutions_are_those_of_steps(epsilon):
    for seed in range(100 if epsilon == 0.0 else 30):
        problem, start = random_problem(seed, epsilon)
        steps = smo.solve(problem, box_cases.budget(1e-10), "", start)
        state, _, after = jumped(problem, 1e-8, start)
        assert after.violation <= 1e-8
        assert problem.infeasibility(state.c) < 1e-14
        assert objective(problem, state.c) == pytest.approx(objective(problem, steps.coef), rel=1e-12)


@pytest.mark.filterwarnings("ignore:Solver terminated early")
@pytest.mark.parametrize(("gamma", "C"), [(1e-5, 1e10), (1e-4, 1e10), (1e-3, 1e9), (1e-3, 1e10)])
def test_bounds_far_from_the_solution_take_few_steps(gamma, C):
    """Pairs of coefficients alone take up to ten million steps."""
    problem = iris(gamma, C)
    found = smo.solve(problem, box_cases.budget(1e-3), "")
    assert found.certificate.converged
    assert found.certificate.iterations <= 2 * small.STEPS_TO_JUMP * problem.n
    other = SVC(C=C, gamma=gamma, tol=1e-6, max_iter=20_000)  # some would need millions of steps
    other.fit(problem.gram.X, problem.targets)
    c = np.zeros(problem.n)
    c[other.support_] = other.dual_coef_[0]
    assert objective(problem, found.coef) <= objective(problem, c) + 1e-6 * abs(objective(problem, c))


def test_regression_with_bounds_far_from_the_solution_takes_few_steps():
    X = load_iris().data
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    problem = BoxProblem(Gram(RBF(2.0), X[:, :3]), X[:, 3], np.full(150, -1e6), np.full(150, 1e6), 0.1)
    found = smo.solve(problem, box_cases.budget(1e-3), "")
    assert found.certificate.converged
    assert found.certificate.solver == "SMO, then interior point"
    assert found.n_iter <= 2 * small.STEPS_TO_JUMP * problem.n
    assert 0 < found.certificate.iterations - found.n_iter <= NEWTON_STEPS
    assert "an interior point method follows" in smo.cost(problem, box_cases.budget(1e-3)).reason


def test_plans_say_where_an_interior_point_method_may_follow():
    """Up to 400 coefficients, or 200 of both signs, whose kernel values are float64."""
    limits = box_cases.budget(1e-3)
    for sizes, parts, follows in (([400], 1, True), ([401], 1, False), ([200], 2, True), ([201], 2, False)):
        gram = Gram(RBF(1.0), np.zeros((sum(sizes), 2)))
        plan = smo.cost_of_pairs(gram, np.array(sizes), limits, parts)
        assert ("interior point" in plan.reason) == follows
    easy = smo.solve(box_cases.classification(40), limits, "")
    assert easy.certificate.solver == "SMO"
    assert easy.n_iter == easy.certificate.iterations


def test_the_unit_of_the_kernel_does_not_matter():
    problem = iris(1e-2, 1e6)
    found = [
        jumped(
            BoxProblem(Gram(s * RBF(7.0), problem.gram.X), problem.targets, problem.lower / s, problem.upper / s), 1e-9
        )
        for s in (1.0, 2.0**40, 2.0**-40)
    ]
    for s, (state, _, after) in zip((1.0, 2.0**40, 2.0**-40), found, strict=True):
        assert after.violation < 1e-8
        np.testing.assert_allclose(s * state.c, found[0][0].c, rtol=1e-6)


def test_other_duals_are_left_to_steps():
    problem = iris(1.0, 1.0)
    unbounded = replace(problem, lower=np.where(problem.targets < 0.0, -np.inf, 0.0))
    assert is_simple(problem)
    assert not is_simple(unbounded)
    larger = box_cases.classification(201)
    assert is_simple(larger)
    assert not is_simple(replace(larger, epsilon=0.1))  # whose coefficients have two parts each
    assert not is_simple(box_cases.classification(401))


def test_nothing_changes_without_a_positive_semidefinite_matrix():
    problem = iris(1.0, 1.0)
    indefinite = replace(problem, gram=Gram(Sigmoid(-1.0, 0.0), problem.gram.X))
    empty = replace(problem, lower=0.0 * problem.lower, upper=0.0 * problem.upper)
    for other in (indefinite, empty):
        state, before, after = jumped(other, 1e-3)
        assert after is before
        assert not state.c.any()
    assert jump(problem, state, before, np.full((problem.n, problem.n), np.inf), 1e-3) is before


def test_steps_end_at_their_limit():
    found = smo.solve(iris(1e-4, 1e10), box_cases.budget(1e-3, 5000), "")
    assert not found.certificate.converged
    assert found.certificate.iterations == 5000
