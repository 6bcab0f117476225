from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize
from sklearn import svm as libsvm
from sklearn.datasets import load_wine, make_classification

from representer.kernels import RBF, Callable, Linear, Matern, Polynomial
from representer.problem import BoxProblem
from representer.solvers import box, working_set


@pytest.fixture(params=[1, working_set.FEW_BELOW], ids=["float32", "float64"], autouse=True)
def matrices(request, monkeypatch):
    """Small problems, too, with the float32 matrices and checks of large ones."""
    monkeypatch.setattr(working_set, "FEW_BELOW", request.param)
    return request.param


def classification(n, C=1.0, seed=0, **options):
    X, y = make_classification(n, 6, flip_y=0.1, random_state=seed)
    t = np.where(y == 1, 1.0, -1.0)
    return BoxProblem(RBF(2.0), X, t, np.where(t > 0, 0.0, -C), np.where(t > 0, C, 0.0), **options)


def random_problem(rng):
    n = int(rng.integers(3, 15))
    kind = rng.integers(4)
    t, w = rng.normal(size=n), rng.uniform(0.1, 3.0, n)
    sign = np.where(np.arange(n) % 2, 1.0, -1.0)
    lower, upper, epsilon = [
        (np.minimum(sign * w, 0.0), np.maximum(sign * w, 0.0), 0.0),  # hinge
        (-w, w, rng.uniform(0.0, 0.5)),  # epsilon-insensitive
        (-0.2 * w, 0.8 * w, 0.0),  # pinball
        (-w, w, 0.0),  # absolute
    ][kind]
    kernel = RBF(1.0) if rng.uniform() < 0.5 else 2.0 * Matern(1.0, nu=0.5) + RBF(0.5)
    return BoxProblem(kernel, rng.normal(size=(n, 2)), sign if kind == 0 else t, lower, upper, epsilon)


def least_value(problem):
    """The best value by a general solver, over the positive and negative parts of c."""
    K, n = problem.kernel(problem.X), problem.n

    def value(z):
        c = z[:n] - z[n:]
        return 0.5 * c @ K @ c - problem.targets @ c + problem.epsilon * z.sum()

    def slope(z):
        g = K @ (z[:n] - z[n:]) - problem.targets
        return np.concatenate([g, -g]) + problem.epsilon

    found = minimize(
        value,
        np.zeros(2 * n),
        jac=slope,
        method="SLSQP",
        bounds=[*zip(np.zeros(n), problem.upper, strict=True), *zip(np.zeros(n), -problem.lower, strict=True)],
        constraints=LinearConstraint(np.concatenate([np.ones(n), -np.ones(n)]), 0.0, 0.0),
        options={"maxiter": 1000, "ftol": 1e-12},
    )
    return found.fun


def test_gap_bounds_what_is_missing_on_200_problems():
    rng = np.random.default_rng(0)
    for _ in range(200):
        problem = random_problem(rng)
        best = least_value(problem)
        for max_steps in (int(rng.integers(1, 6)), None):
            result = working_set.solve(problem, max_steps=max_steps)
            assert result.dual - 1e-7 <= -best <= result.primal + 1e-7  # so the gap bounds what is missing
        assert result.converged
        assert -result.dual == pytest.approx(best, abs=1e-6 * max(1.0, abs(best)))


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_objective_as_libsvm(C):
    problem = classification(1500, C)
    result = working_set.solve(problem)
    model = libsvm.SVC(C=C, gamma=1.0 / 8.0).fit(problem.X, problem.targets)
    c = np.zeros(problem.n)
    c[model.support_] = model.dual_coef_[0]
    theirs = 0.5 * c @ problem.kernel(problem.X) @ c - problem.targets @ c
    assert -result.dual <= theirs + 1e-6 * abs(theirs)


@pytest.fixture
def small_sets(monkeypatch):
    monkeypatch.setattr(working_set, "FLAT_UP_TO", 100)
    monkeypatch.setattr(working_set, "SET_SIZE", 150)
    monkeypatch.setattr(working_set, "MORE", 75)
    monkeypatch.setattr(working_set, "EXACT_PAIRS", 1000)
    monkeypatch.setattr(working_set, "SHRINK_FROM", 32)


@pytest.mark.parametrize("C", [1.0, 1e3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_working_sets_find_the_same(C, dtype, request):
    problem = classification(800, C)
    problem.X = problem.X.astype(dtype)
    flat = working_set.solve(problem, tol=1e-5)
    request.getfixturevalue("small_sets")
    sets = working_set.solve(problem, tol=1e-5)
    assert sets.converged
    # each dual value is below each primal one, and the gap is small
    assert max(flat.dual, sets.dual) <= min(flat.primal, sets.primal)
    assert sets.primal - sets.dual < 1e-4 * sets.primal
    assert sets.gradient == pytest.approx(flat.gradient, abs=1e-3)
    assert sets.gradient == pytest.approx(
        problem.kernel(problem.X.astype(np.float64)) @ sets.coef - problem.targets, abs=1e-5 * max(1.0, C / 100.0)
    )


def test_violation_is_the_true_one(small_sets):
    problem = classification(800, 100.0)
    result = working_set.solve(problem)
    g = problem.kernel(problem.X) @ result.coef - problem.targets
    low = g[result.coef < problem.upper].min()
    high = g[result.coef > problem.lower].max()
    assert result.violation == pytest.approx(high - low, abs=1e-9)
    assert result.violation <= 1e-3
    assert result.precision.endswith("float64 check")


def test_who_rests_leaves_on_the_way(monkeypatch):
    """A set of all coefficients shrinks during its only round, to the same solution."""
    whole, sizes, leave = working_set.solve(classification(800, 100.0), tol=1e-5), [], working_set._leave

    def watched(state, kept):
        sizes.append((len(state.chosen), len(kept)))
        leave(state, kept)

    monkeypatch.setattr(working_set, "SHRINK_FROM", 100)
    monkeypatch.setattr(working_set, "_leave", watched)
    shrunk = working_set.solve(classification(800, 100.0), tol=1e-5)
    assert sizes[0][0] == 800 > sizes[-1][1]
    assert shrunk.converged
    assert max(whole.dual, shrunk.dual) <= min(whole.primal, shrunk.primal)
    assert shrunk.gradient == pytest.approx(whole.gradient, abs=1e-3)


@pytest.mark.parametrize("groups", [1, 2])
def test_few_new_points_are_put_behind_the_others(groups, small_sets, monkeypatch):
    """Kernel values that are known stay where they are."""
    problem, grown, grow = classification(800, 100.0 if groups == 1 else 10.0), [], working_set._grow
    if groups == 2:
        problem.targets, problem.groups = np.zeros(800), (problem.upper > 0).astype(int)
    start = np.where(problem.upper > 0, 1.0, -1.0) if groups == 2 else None

    def watched(problem, state, new):
        before = state.evaluations
        grow(problem, state, new)
        grown.append(len(new))
        m, known = len(state.chosen), len(state.chosen) - len(new)
        assert state.evaluations - before == m * (m + 1) // 2 - known * (known + 1) // 2
        np.testing.assert_allclose(state.K[:, :m], problem.kernel(problem.X[state.chosen]), atol=1e-6)

    monkeypatch.setattr(working_set, "_grow", watched)
    result = working_set.solve(problem, start=start, tol=1e-5)
    assert result.converged
    assert sum(grown) > 0
    assert result.bytes <= 4 * 800**2


@pytest.fixture
def sizes(monkeypatch):
    """Those of working sets that begin anew, with the number of free coefficients then."""
    seen, start = [], working_set._start

    def watched(problem, state, chosen, most):
        seen.append((len(chosen), int(np.count_nonzero(box.Rates.of(problem, state).free))))
        start(problem, state, chosen, most)

    monkeypatch.setattr(working_set, "_start", watched)
    return seen


def test_the_first_set_tells_the_size_of_the_second_one(small_sets, sizes):
    """Where nearly all support; but not where coefficients that were free at the start are in it."""
    problem = replace(classification(600, 100.0), kernel=RBF(0.5))
    assert working_set.solve(problem).converged
    (first, _), (second, free) = sizes[:2]
    assert (first, second) == (150, 600 * free // 150)
    assert second > free + 75
    sizes.clear()
    start = np.where(np.arange(600) < 100, 1e-3 * problem.targets, 0.0)
    assert working_set.solve(problem, start=start).converged
    assert all(size == free + 75 for size, free in sizes)


@pytest.mark.parametrize("place", [7, 123, 456, 789])
@pytest.mark.parametrize("kind", ["one of a class", "one far target"])
def test_the_worst_pair_is_never_left_out(kind, place, small_sets):
    """All others violate as much, and chance would mostly choose a set without the one that they pair with."""
    problem = classification(800)
    if kind == "one of a class":
        t = np.where(np.arange(800) == place, 1.0, -1.0)
        problem = replace(problem, targets=t, lower=np.minimum(t, 0.0), upper=np.maximum(t, 0.0))
    else:
        t = np.where(np.arange(800) == place, 1e6, np.sin(problem.X[:, 0]))
        problem = replace(problem, targets=t, lower=np.full(800, -1.0), upper=np.full(800, 1.0), epsilon=0.1)
    result = working_set.solve(problem)
    assert result.converged
    assert result.coef[place] == 1.0


def test_coefficients_at_the_kink_of_epsilon_are_not_free(small_sets, sizes):
    """At first all are zero, and the set has no more points than others; most of them stay there."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 2))
    t = np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=800)
    result = working_set.solve(BoxProblem(RBF(1.0), X, t, np.full(800, -1.0), np.full(800, 1.0), 0.2))
    assert result.converged
    assert sizes[0] == (150, 0)
    assert np.count_nonzero(result.coef) < 200


@pytest.mark.parametrize(("n", "most"), [(1, 1), (10, 10), (100, 120), (910, 2000), (8192, 16384), (16000, 16384)])
def test_room_for_more_points_is_within_the_memory(n, most):
    width = working_set._width(n, most)
    assert n <= width <= 1.25 * n + 16
    assert n * width <= most**2
    assert width >= int(1.25 * n) or n * (width + 1) > most**2
    assert width % 1024 >= 16 or width == n


def test_steps_that_float32_cannot_resolve_are_float64(small_sets, monkeypatch):
    forms, steps = [], box.smo.pair_steps

    def watched(K, g, *rest):
        forms.append(g.dtype)
        return steps(K, g, *rest)

    monkeypatch.setattr(box.smo, "pair_steps", watched)
    assert working_set.solve(classification(800)).converged
    assert np.float32 in forms
    forms.clear()
    assert working_set.solve(classification(800), tol=1e-7).violation <= 1e-7
    assert np.float64 in forms


def test_groups_keep_their_sums(small_sets):
    problem = classification(400)
    problem.targets = np.zeros(400)
    problem.groups = (problem.upper > 0).astype(int)
    start = np.where(problem.groups == 1, 0.2, -0.2)
    result = working_set.solve(problem, start=start, tol=1e-6)
    assert np.bincount(problem.groups, result.coef) == pytest.approx(np.bincount(problem.groups, start))
    assert len(result.intercepts) == 2
    for s in (0, 1):
        free = (result.coef > problem.lower) & (result.coef < problem.upper) & (problem.groups == s)
        assert result.gradient[free] == pytest.approx(-result.intercepts[s], abs=1e-5)


def test_shared_matrix():
    problem = classification(300)
    index = np.r_[10:120, 200:290]
    K = problem.kernel(problem.X).astype(np.float32)
    part = BoxProblem(
        problem.kernel, problem.X[index], problem.targets[index], problem.lower[index], problem.upper[index]
    )
    alone = working_set.solve(part)
    part.matrix, part.columns = K, index
    shared = working_set.solve(part)
    assert shared.coef == pytest.approx(alone.coef, abs=1e-5)


def test_shared_matrix_of_groups_in_any_order(rng):
    problem = classification(40)
    problem.targets, problem.groups = np.zeros(40), rng.permutation(np.arange(40) % 2)
    start = np.where(problem.upper > 0, 0.3, -0.3)
    alone = working_set.solve(problem, start=start)
    shared = replace(problem, matrix=problem.kernel(problem.X).astype(np.float32))
    assert alone.converged
    assert working_set.solve(shared, start=start).dual == pytest.approx(alone.dual, abs=1e-6)


def test_start_saves_steps():
    cold = working_set.solve(classification(500, 11.0))
    nearby = working_set.solve(classification(500, 10.0))
    warm = working_set.solve(classification(500, 11.0), start=nearby.coef)
    assert warm.steps < cold.steps
    assert warm.dual == pytest.approx(cold.dual, rel=1e-5)


def test_small_problems_have_all_digits():
    result = working_set.solve(classification(100, 10.0))
    assert result.violation < 1e-10
    assert result.primal - result.dual < 1e-8


def test_start_at_the_solution():
    problem = classification(100, 10.0)
    coarse = working_set.solve(problem, tol=0.5)
    again = working_set.solve(problem, start=coarse.coef)
    assert again.converged
    assert again.violation < 1e-9


def test_hopeless_data_stop():
    """Copies of two points with random labels and a huge C: it ends, and tells the gap."""
    rng = np.random.default_rng(0)
    X, t = np.repeat(np.eye(2), 50, axis=0), rng.choice([-1.0, 1.0], 100)
    C = 1e9
    problem = BoxProblem(RBF(1.0), X, t, np.where(t > 0, 0.0, -C), np.where(t > 0, C, 0.0))
    result = working_set.solve(problem, max_steps=10**5)
    assert result.steps <= 10**5
    assert np.isfinite(result.primal)
    assert np.isfinite(result.dual)


@pytest.mark.parametrize("offset", [1e5, 1e7])
@pytest.mark.parametrize("n", [150, 400])
def test_inputs_that_float32_cannot_tell_apart(n, offset):
    """The matrix and g come from float64 inputs then, and the violation that is told is the true one."""
    problem = classification(n, 10.0)
    problem.X = problem.X + offset
    result = working_set.solve(problem)
    g = problem.kernel(problem.X) @ result.coef - problem.targets
    violation = g[result.coef > problem.lower].max() - g[result.coef < problem.upper].min()
    assert result.converged
    assert violation == pytest.approx(result.violation, abs=1e-6)


def test_groups_share_a_small_working_set(monkeypatch):
    for name, size in (("FLAT_UP_TO", 50), ("SET_SIZE", 64), ("MORE", 32)):
        monkeypatch.setattr(working_set, name, size)
    problem = classification(400)
    problem.targets = np.zeros(400)
    problem.groups = (problem.upper > 0).astype(int)
    result = working_set.solve(problem, start=np.where(problem.groups == 1, 0.15, -0.15))
    assert result.converged


def test_all_at_their_bounds():
    problem = classification(20)
    result = working_set.solve(problem, start=problem.upper + problem.lower)
    full = BoxProblem(problem.kernel, problem.X, np.zeros(20), np.zeros(20), np.ones(20))
    full = working_set.solve(full, start=np.ones(20))
    assert np.isfinite(result.intercepts).all()
    assert np.isfinite(full.intercepts).all()
    assert full.violation == 0.0


def test_a_fit_that_stops_on_the_way_tells_its_true_violation():
    problem = classification(400, 100.0)
    result = working_set.solve(problem, max_steps=100)
    g = problem.kernel(problem.X) @ result.coef - problem.targets
    violation = g[result.coef > problem.lower].max() - g[result.coef < problem.upper].min()
    assert not result.converged
    assert result.violation == pytest.approx(violation, abs=1e-9)


@pytest.mark.parametrize("memory", [None, 4 * 300**2])
def test_few_coefficients_have_float64_values(matrices, memory):
    """If there is memory for them."""
    problem, exact = classification(300, 10.0), memory is None and matrices > 300
    result = working_set.solve(problem, memory=memory)
    assert result.precision == ("float64" if exact else "float32 values, float64 check")
    g = problem.kernel(problem.X) @ result.coef - problem.targets
    if exact:
        assert result.gradient == pytest.approx(g, abs=1e-12)
    rise, fall = np.where(result.coef < problem.upper, g, np.inf), np.where(result.coef > problem.lower, g, -np.inf)
    assert result.violation == pytest.approx(fall.max() - rise.min(), abs=1e-12)
    assert result.violation <= 1e-3


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("n", [60, 600])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_kernel_values_that_are_not_finite_are_told(n, value, epsilon):
    def odd(A, B):
        K = np.exp(-((A[:, None] - B) ** 2).sum(axis=2))
        K[np.abs(A[:, 0]) > 1.5] = value
        K[:, np.abs(B[:, 0]) > 1.5] = value
        K[(A[:, None] == B).all(axis=2)] = 1.0
        return K

    problem = replace(classification(n), kernel=Callable(odd), epsilon=epsilon)
    with pytest.raises(ValueError, match=r"values that are not finite.*scale the inputs"), np.errstate(all="ignore"):
        working_set.solve(problem)


def test_a_kernel_value_that_is_no_number_between_points_at_rest_is_told():
    """Steps never look at it; a matrix of all values does."""
    problem = classification(200)
    found = working_set.solve(problem)
    margins = problem.targets * (found.gradient + problem.targets + found.intercepts)
    i, j = np.argsort(margins)[-2:]  # so far on the right side that no step moves them
    K = problem.kernel(problem.X)
    K[i, j] = K[j, i] = np.nan
    with pytest.raises(ValueError, match="values that are not finite"), np.errstate(all="ignore"):
        working_set.solve(replace(problem, matrix=K))


def test_targets_of_few_points_too_large_for_float32(monkeypatch):
    """The solution for larger targets and boxes is as much larger."""
    monkeypatch.setattr(working_set, "FEW_BELOW", 700)
    problem, scale = classification(60), 2.0**150
    larger = replace(problem, **{name: scale * getattr(problem, name) for name in ("targets", "lower", "upper")})
    found = working_set.solve(larger, tol=1e-6 * scale)
    assert found.converged
    np.testing.assert_allclose(found.coef / scale, working_set.solve(problem, tol=1e-6).coef, atol=1e-5)


def test_kernel_values_too_large_for_float32_are_told():
    problem = classification(800)
    problem = replace(problem, kernel=Linear(), X=1e25 * problem.X)
    with pytest.raises(ValueError, match="too large for float32"), np.errstate(over="ignore"):
        working_set.solve(problem)


@pytest.mark.parametrize(("n", "scale", "C", "seed", "sep"), [(227, 37.5, 27.3, 876, 1.0), (451, 33.0, 2.83, 508, 2.0)])
def test_violation_is_true_for_large_kernel_values(n, scale, C, seed, sep):
    """Roundings of steps add up where kernel values are large: what is told is computed anew, and steps go on."""
    X, y = make_classification(n, 6, flip_y=0.0, class_sep=sep, random_state=seed)
    t = np.where(y == 1, 1.0, -1.0)
    box = np.where(t > 0, 0.0, -C), np.where(t > 0, C, 0.0)
    problem = BoxProblem(Polynomial(degree=3), scale * X, t, *box)
    result = working_set.solve(problem, max_steps=10**6)
    c = result.coef.astype(np.longdouble)
    g = problem.kernel(problem.X).astype(np.longdouble) @ c - t
    violation = float(g[c > problem.lower].max() - g[c < problem.upper].min())
    assert result.converged
    assert violation == pytest.approx(result.violation, rel=0.05)


def test_steps_that_float32_does_not_resolve():
    """Columns of very unequal size, as they come: float32 would step for ever, so float64 takes over after some."""
    X, y = load_wine(return_X_y=True)
    t = np.where(y < 1, 1.0, -1.0)[y < 2]
    result = working_set.solve(BoxProblem(Linear(), X[y < 2], t, np.minimum(t, 0.0), np.maximum(t, 0.0)))
    assert result.converged
    assert result.steps < 2 * 10**6


def test_few_coefficients_with_kernel_values_too_large_for_float32(matrices):
    problem = classification(60)
    problem = replace(problem, kernel=Linear(), X=1e25 * problem.X, targets=1e25 * problem.targets)
    if matrices > 60:  # float64 is enough
        assert working_set.solve(problem, max_steps=10).steps == 10
    else:
        with pytest.raises(ValueError, match="too large for float32"), np.errstate(over="ignore"):
            working_set.solve(problem, max_steps=10)


@pytest.mark.parametrize("n", [30, 300])
def test_given_matrix_of_few_coefficients(n, rng):
    """In float64, with groups in any order: the same as without it, and no kernel value is computed."""
    problem = classification(n, 10.0)
    problem.groups = rng.permutation(np.arange(n) % 2)
    alone = working_set.solve(problem, tol=1e-6)
    given = replace(problem, matrix=problem.kernel(problem.X))
    with_matrix = working_set.solve(given, tol=1e-6)
    assert with_matrix.dual == pytest.approx(alone.dual, rel=1e-7)
    assert with_matrix.coef == pytest.approx(alone.coef, abs=1e-4)
    assert with_matrix.kernel_evaluations == 0
