from dataclasses import replace

import box_cases
import numpy as np
import pytest
from box_cases import budget, classification
from each_case import each
from sklearn import svm as libsvm
from sklearn.datasets import load_wine, make_classification

from representer.gram.stored import Stored
from representer.gram.submatrix import Submatrix
from representer.gram.tiled import Gram
from representer.kernels import RBF, Callable, Linear, Polynomial
from representer.problems.box import BoxProblem
from representer.solvers.smo import exact, small, state, working_set
from representer.solvers.smo.working_set import solve


@pytest.fixture(params=[0, 700], ids=["float32", "float64"])
def matrices(request, monkeypatch):
    """Small problems, too, with the float32 matrices and checks of large ones."""
    monkeypatch.setattr(small, "SMALL_BELOW", request.param)
    return request.param


@pytest.fixture
def small_sets(monkeypatch):
    """Working sets that have not all of some hundred coefficients."""
    for module, name, value in (
        (working_set, "FLAT_UP_TO", 100),
        (working_set, "SET_SIZE", 150),
        (working_set, "SPARE", 75),
        (working_set, "SHRINK_FROM", 32),
        (exact, "EXACT_PAIRS", 1000),
    ):
        monkeypatch.setattr(module, name, value)


@pytest.fixture
def restarts(monkeypatch):
    """The sizes of working sets that begin anew."""
    sizes, restart = [], Submatrix.restart

    def watched(self, index, most):
        sizes.append(len(index))
        restart(self, index, most)

    monkeypatch.setattr(Submatrix, "restart", watched)
    return sizes


# ---- certificates ----


def test_gap_bounds_the_distance_from_the_optimum(matrices):
    rng = np.random.default_rng(0)
    for _ in range(20):
        problem = box_cases.random_problem(rng)
        best = box_cases.least_value(problem, box_cases.dense(problem))
        for limit in (int(rng.integers(1, 6)), 10**6):
            certificate = solve(problem, budget(max_iter=limit), "").certificate
            assert certificate.dual - 1e-7 <= -best <= certificate.primal + 1e-7
        assert certificate.converged
        assert -certificate.dual == pytest.approx(best, abs=1e-6 * max(1.0, abs(best)))


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e4])
@pytest.mark.parametrize("limit", [20, 10**6])
def test_certificate_is_that_of_textbook_sums(scale, limit, matrices, monkeypatch):
    """At any scale of targets and boxes, whether the fit converged or not."""
    monkeypatch.setattr(exact, "EXACT_PAIRS", 1000)
    problem = classification(250, 10.0)
    problem = replace(problem, **{name: scale * getattr(problem, name) for name in ("targets", "lower", "upper")})
    result = solve(problem, budget(1e-3 * scale, limit), "")
    certificate, K = result.certificate, box_cases.dense(problem)
    primal, dual = box_cases.values(problem, K, result.coef, result.intercept)
    assert certificate.converged == (limit > 20)
    assert certificate.residual == pytest.approx(box_cases.violation(problem, K, result.coef), rel=1e-9)
    assert certificate.primal == pytest.approx(primal, rel=1e-7)
    assert certificate.dual == pytest.approx(dual, rel=1e-7)
    assert certificate.dual <= dual + 1e-12 * abs(dual)
    assert certificate.error_bound[0] == pytest.approx(np.sqrt(2.0 * (primal - dual)), rel=1e-4)
    np.testing.assert_allclose(result.applied, K @ result.coef, atol=1e-5 * scale)
    assert certificate.precision == ("float64" if matrices else "float32 values, float64 check")


@pytest.mark.parametrize("seed", [1, 2, 8, 15, 18, 525])
def test_large_kernel_values_leave_no_sum_off(seed):
    """A cubic kernel of uncentred inputs, with values of 1e15: what converged is feasible, and no worse than zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8, 2)) + rng.choice([100, 200, 400])
    t = np.where(rng.random(8) < 0.5, -1.0, 1.0)
    t[:2] = -1.0, 1.0
    problem = box_cases.hinge(Gram(Polynomial(), X), t, 100.0)
    result = solve(problem, budget(max_iter=10**5), "")
    c, K, certificate = result.coef, box_cases.dense(problem), result.certificate
    primal, dual = box_cases.values(problem, K, c, result.intercept)
    assert abs(c.sum()) <= 1e-10 * np.abs(c).sum()
    assert dual >= -1e-12 * primal
    rounding = 100.0 * np.finfo(float).eps * len(c) * float((np.abs(K) @ np.abs(c)).sum())  # C times that of all values
    assert abs(certificate.primal - primal) <= 1e-6 * primal + rounding
    assert certificate.gap >= (1 - 1e-6) * (primal - dual) - 1e-9 * primal
    if certificate.converged:
        assert box_cases.violation(problem, K, c) <= 1.001e-3


@pytest.mark.parametrize(("n", "scale", "C", "seed", "sep"), [(227, 37.5, 27.3, 876, 1.0), (451, 33.0, 2.83, 508, 2.0)])
def test_violation_is_true_for_large_kernel_values(n, scale, C, seed, sep):
    """Roundings of steps add up where kernel values are large: the violation is computed anew, and steps go on."""
    X, y = make_classification(n, 6, flip_y=0.0, class_sep=sep, random_state=seed)
    problem = box_cases.hinge(Gram(Polynomial(degree=3), scale * X), np.where(y == 1, 1.0, -1.0), C)
    result = solve(problem, budget(max_iter=10**6), "")
    c = result.coef.astype(np.longdouble)
    g = box_cases.dense(problem).astype(np.longdouble) @ c - problem.targets
    assert result.certificate.converged
    true = float(g[c > problem.lower].max() - g[c < problem.upper].min())
    assert true == pytest.approx(result.certificate.residual, rel=0.05)


@pytest.mark.parametrize("offset", [1e5, 1e7])
def test_inputs_that_float32_does_not_resolve(offset, matrices):
    problem = classification(300, 10.0, offset=offset)
    result = solve(problem, budget(), "")
    assert result.certificate.converged
    true = box_cases.violation(problem, box_cases.dense(problem), result.coef)
    assert true == pytest.approx(result.certificate.residual, abs=1e-6)


def test_few_coefficients_have_all_digits(matrices):
    certificate = solve(classification(100, 10.0), budget(), "").certificate
    assert certificate.residual < 1e-10
    assert certificate.gap < 1e-8


# ---- solutions ----


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_objective_as_libsvm(C):
    problem = classification(1500, C)
    model = libsvm.SVC(C=C, gamma=1.0 / 8.0).fit(problem.gram.X, problem.targets)
    c = np.zeros(problem.n)
    c[model.support_] = model.dual_coef_[0]
    theirs = 0.5 * c @ box_cases.dense(problem) @ c - problem.targets @ c
    assert -solve(problem, budget(), "").certificate.dual <= theirs + 1e-6 * abs(theirs)


@pytest.mark.parametrize(("C", "dtype"), [(1.0, np.float32), (1e3, np.float64)])
def test_working_sets_find_the_same(C, dtype, request):
    problem = classification(800, C, dtype=dtype)
    flat = solve(problem, budget(1e-5), "")
    request.getfixturevalue("small_sets")
    sets = solve(problem, budget(1e-5), "")
    assert sets.certificate.converged
    # each dual value is below each primal one, and the gap is small
    duals, primals = zip(*((r.certificate.dual, r.certificate.primal) for r in (flat, sets)), strict=True)
    assert max(duals) <= min(primals)
    assert sets.certificate.gap < 1e-4 * sets.certificate.primal
    assert sets.applied == pytest.approx(flat.applied, abs=1e-5 * max(100.0, C))
    assert sets.applied == pytest.approx(box_cases.dense(problem) @ sets.coef, abs=1e-5 * max(1.0, C / 100.0))


def test_working_sets_shrink_on_the_way(monkeypatch):
    """A set of all coefficients shrinks during its only round, to the same solution."""
    whole, sizes, shrink = solve(classification(800, 100.0), budget(1e-5), ""), [], Submatrix.shrink

    def watched(self, kept):
        sizes.append((len(self.index), len(kept)))
        shrink(self, kept)

    monkeypatch.setattr(working_set, "SHRINK_FROM", 100)
    monkeypatch.setattr(Submatrix, "shrink", watched)
    shrunk = solve(classification(800, 100.0), budget(1e-5), "")
    assert sizes[0][0] == 800 > sizes[-1][1]
    assert shrunk.certificate.converged
    assert shrunk.applied == pytest.approx(whole.applied, abs=1e-3)


def test_groups_keep_their_sums_in_small_working_sets(small_sets, monkeypatch):
    """New coefficients are put behind others, in any order of the groups."""
    (problem, _), grown, grow = box_cases.two_groups(800), [], Submatrix.grow
    start = np.zeros(800)  # none is free, so that the first set holds violators alone
    for s in (0, 1):
        members = np.flatnonzero(problem.groups == s)
        full = int(abs(problem.totals[s]))
        start[members[:full]] = np.sign(problem.totals[s])
        start[members[full]] = problem.totals[s] - start[members].sum()
    monkeypatch.setattr(Submatrix, "grow", lambda self, new: (grown.append(len(new)), grow(self, new)))
    result = solve(problem, budget(1e-6), "", start)
    assert result.certificate.converged
    assert sum(grown) > 0
    assert np.bincount(problem.groups, result.coef) == pytest.approx(problem.totals)
    for s in (0, 1):
        free = (result.coef > problem.lower) & (result.coef < problem.upper) & (problem.groups == s)
        assert result.applied[free] == pytest.approx(-result.intercept[s], abs=1e-5)


def test_the_first_set_estimates_the_size_of_the_second(small_sets, restarts):
    """Where nearly all support; but not where coefficients that were free at the start are in it."""
    problem = classification(600, 100.0, RBF(0.5))
    assert solve(problem, budget(), "").certificate.converged
    first, second = restarts[:2]
    assert first == 150
    assert second > 400
    restarts.clear()
    start = np.where(np.arange(600) < 100, 1e-3 * problem.targets, 0.0)
    start[:100] -= start.sum() / 100
    assert solve(problem, budget(), "", start).certificate.converged
    assert all(size < 600 for size in restarts)
    assert restarts[1] < 400


@pytest.mark.parametrize("place", [7, 789])
@pytest.mark.parametrize("kind", ["one of a class", "one far target"])
def test_the_worst_pair_is_never_left_out(kind, place, small_sets):
    """All others violate as much, and chance would mostly choose a set without the one that they pair with."""
    problem, here = classification(800), np.arange(800) == place
    if kind == "one of a class":
        problem = box_cases.hinge(problem.gram, np.where(here, 1.0, -1.0))
    else:
        t = np.where(here, 1e6, np.sin(problem.gram.X[:, 0]))
        problem = BoxProblem(problem.gram, t, np.full(800, -1.0), np.ones(800), 0.1)
    result = solve(problem, budget(), "")
    assert result.certificate.converged
    assert result.coef[place] == 1.0


def test_coefficients_at_the_kink_are_not_free(small_sets, restarts, rng):
    """At first all are zero, and the set has no more coefficients than others; most of them stay there."""
    X = rng.normal(size=(800, 2))
    t = np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=800)
    result = solve(BoxProblem(Gram(RBF(1.0), X), t, np.full(800, -1.0), np.ones(800), 0.2), budget(), "")
    assert result.certificate.converged
    assert restarts[0] == 150
    assert np.count_nonzero(result.coef) < 200


def test_steps_that_float32_cannot_resolve_are_float64(small_sets, monkeypatch):
    dtypes, steps = [], state.smo.smo_steps

    def watched(K, g, *rest):
        dtypes.append(g.dtype)
        return steps(K, g, *rest)

    monkeypatch.setattr(state.smo, "smo_steps", watched)
    assert solve(classification(800), budget(), "").certificate.converged
    assert np.float32 in dtypes
    dtypes.clear()
    assert solve(classification(800), budget(1e-7), "").certificate.residual <= 1e-7
    assert np.float64 in dtypes


def test_columns_of_very_unequal_size(matrices):
    """Float32 would step for ever, so float64 takes over after some steps."""
    X, y = load_wine(return_X_y=True)
    problem = box_cases.hinge(Gram(Linear(), X[y < 2]), np.where(y < 1, 1.0, -1.0)[y < 2])
    certificate = solve(problem, budget(), "").certificate
    assert certificate.converged
    assert certificate.iterations < 2 * 10**6


def test_part_of_a_stored_float32_matrix():
    whole, index = classification(300), np.r_[10:120, 200:290]
    part = box_cases.hinge(whole.gram.take(index), whole.targets[index])
    K = box_cases.dense(whole).astype(np.float32)
    stored = replace(part, gram=Stored(part.gram, K, index))
    assert solve(stored, budget(), "").coef == pytest.approx(solve(part, budget(), "").coef, abs=1e-5)


# ---- starts and ends ----


def test_start_saves_steps(matrices):
    cold, nearby = (solve(classification(500, C), budget(), "") for C in (11.0, 10.0))
    warm = solve(classification(500, 11.0), budget(), "", nearby.coef)
    assert warm.certificate.iterations < cold.certificate.iterations
    assert warm.certificate.dual == pytest.approx(cold.certificate.dual, rel=1e-5)


def test_all_at_their_bounds(matrices):
    problem = classification(20)
    full = BoxProblem(problem.gram, np.zeros(20), np.zeros(20), np.ones(20), totals=np.array([20.0]))
    result = solve(full, budget(), "", np.ones(20))
    assert np.isfinite(result.intercept).all()
    assert result.certificate.residual == 0.0


def test_hopeless_data_stop(matrices, rng):
    """Copies of two inputs with random labels and a huge C."""
    problem = box_cases.hinge(Gram(RBF(1.0), np.repeat(np.eye(2), 50, axis=0)), rng.choice([-1.0, 1.0], 100), 1e9)
    certificate = solve(problem, budget(max_iter=10**5), "").certificate
    assert certificate.iterations <= 10**5
    assert np.isfinite([certificate.primal, certificate.dual]).all()


def test_a_progress_function_stops_a_fit(matrices):
    asked = []

    def once(what, violation):
        asked.append(what)
        return len(asked) == 1

    certificate = solve(classification(300), budget(progress=once), "").certificate
    assert not certificate.converged
    assert certificate.iterations == 0
    assert asked == ["SMO steps"]


@pytest.mark.parametrize("value", [np.inf, np.nan])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_kernel_values_that_are_not_finite_are_refused(value, epsilon, matrices):
    def odd(A, B):
        K = np.exp(-((A[:, None] - B) ** 2).sum(axis=2))
        K[np.abs(A[:, 0]) > 1.5] = value
        K[:, np.abs(B[:, 0]) > 1.5] = value
        K[(A[:, None] == B).all(axis=2)] = 1.0
        return K

    problem = replace(classification(60, kernel=Callable(odd)), epsilon=epsilon)
    with pytest.raises(ValueError, match=r"values that are not finite.*scale the inputs"), np.errstate(all="ignore"):
        solve(problem, budget(), "")


def test_kernel_values_too_large_for_float32_are_refused():
    problem = classification(800)
    problem = replace(problem, gram=Gram(Linear(), 1e25 * problem.gram.X))
    with pytest.raises(ValueError, match="too large for float32"), np.errstate(over="ignore"):
        solve(problem, budget(), "")


# ---- plans ----


class Inputs:
    """A Gram matrix of so many inputs, of which only the size is known."""

    kernel, X, nbytes, dtype = RBF(), None, 0, np.dtype(np.float64)

    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n


@each(
    ("sizes", "memory", "bytes_"),
    [
        ([600], 10**9, 12 * 600**2),
        ([600], 4 * 10**6, 4 * 600**2),  # no room for float64
        ([5000], 10**9, 4 * 5000**2),
        ([10**5], 10**10, 4 * 16384**2),
        ([10**5], 6 * 10**8, None),  # all of the memory
        ([7000, 7000], 10**9, 4 * 14000**2),
        ([60] * 10, 10**9, 8 * 600**2 + 2 * 12 * 120**2),
        ([600] * 10, 10**9, 4 * (10 * 600**2 + 2 * 1200**2)),
        ([2000] * 3, 10**9, 4 * 6000**2),
        ([3000] * 10, 10**12, 4 * (10 * 3000**2 + 2 * 6000**2)),
        ([3000] * 10, 10**9, 4 * 6000**2),  # pairs one by one
    ],
)
def test_plan_announces_the_memory_of_matrices(sizes, memory, bytes_):
    plan = working_set.cost_of_pairs(Inputs(sum(sizes)), np.array(sizes), budget(memory=memory, threads=2))
    tiles = 2 * 2**19
    assert plan.bytes == (memory if bytes_ is None else bytes_ + tiles)
    assert not plan.refusal


@pytest.mark.parametrize("sizes", [[500], [5000], [10**5], [10**7], [50] * 10, [10**4] * 10])
def test_plan_is_refused_below_the_memory_that_it_announces_and_never_raises(sizes):
    for memory in (10**4, 10**6, 10**8, 10**10):
        plan = working_set.cost_of_pairs(Inputs(sum(sizes)), np.array(sizes), budget(memory=memory, threads=2))
        assert bool(plan.refusal) == (plan.bytes > memory)
        assert not plan.refusal or "larger memory=" in plan.refusal


def test_memory_below_what_free_coefficients_take(monkeypatch, rng):
    """Half of a working set are violators, so that it is never one of free coefficients alone."""
    monkeypatch.setattr(working_set, "FLAT_UP_TO", 0)
    problem = box_cases.hinge(Gram(RBF(0.3), rng.normal(size=(600, 4)), threads=1), np.sign(rng.normal(size=600)), 10.0)
    limits = budget(memory=4 * 300**2 + 3 * 10**5 + 2**19, threads=1)
    result = solve(problem, limits, "")
    assert result.certificate.converged
    assert result.certificate.bytes <= limits.memory
