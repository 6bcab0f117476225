from dataclasses import replace

import box_cases
import numpy as np
import pytest

from representer.gram.submatrix import Submatrix
from representer.gram.tiled import Gram
from representer.kernels import RBF
from representer.solvers import smo
from representer.solvers.smo import exact
from representer.solvers.smo.state import KKT, State


def stepped(n, C, offset=0.0):
    """A problem whose samples are sorted by class, a solution whose g comes from float32 values, and K."""
    problem = box_cases.classification(n, C, RBF(4.0), offset=offset)
    order = np.argsort(problem.targets)
    problem = box_cases.hinge(Gram(RBF(4.0), problem.gram.X[order]), problem.targets[order], C)
    c = smo.solve(problem, box_cases.budget(), "").coef
    single = problem.gram.astype(np.float32)
    state = State(c, -problem.targets, single, Submatrix(single))
    exact.add_products(problem, state, np.float32, np.flatnonzero(c), c[c != 0.0], np.arange(n))
    return problem, state, box_cases.dense(problem)


@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_standard_errors_of_gradients(offset):
    """No error is far above its standard error, and the largest are not far below."""
    problem, state, K = stepped(600, 10.0, offset)
    off = np.abs(state.g - (K @ state.c - problem.targets))
    share = off / exact.gradient_errors(problem, state)
    assert 0.5 < share.max() < exact.DEVIATIONS


def test_gradients_of_some_coefficients_are_computed_in_float64():
    problem, state, K = stepped(300, 1.0)
    index = np.array([3, 5, 200])
    g, true = state.g.copy(), K @ state.c - problem.targets
    exact.exact_kkt(problem, state, index)
    np.testing.assert_allclose(state.g[index], true[index], atol=1e-13)
    assert np.array_equal(np.delete(state.g, index), np.delete(g, index))
    exact.exact_kkt(problem, state, np.arange(300))
    np.testing.assert_allclose(state.g, true, atol=1e-12)


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("tol", [1e-7, 1e6])
def test_violation_is_true_and_the_objective_within_its_rounding(tol, flat, monkeypatch):
    """Whatever part of g stays float32: none if its error is no small part of the tolerance."""
    monkeypatch.setattr(exact, "VALUE", 1.0)
    monkeypatch.setattr(exact, "EXACT_PAIRS", 0)
    problem, state, K = stepped(600, 10.0)
    kkt, error = exact.checked_kkt(problem, state, KKT.of(problem, state.c, state.g), tol, flat)
    g, b = K @ state.c - problem.targets, kkt.intercepts
    assert kkt.violation == pytest.approx(box_cases.violation(problem, K, state.c), abs=1e-12)
    primal, _, gap = problem.values(state.c, g, b)
    dual, rounding = primal - gap, problem.values(state.c, state.g, b, error)[2] - gap
    shown = problem.judge(state.c, b, gradient=state.g, error=error)
    assert abs(shown.primal - primal) <= rounding + 1e-12 * primal
    assert dual - 2.0 * rounding - 1e-12 * abs(dual) <= shown.dual <= dual + 1e-12 * abs(dual)
    assert np.any(error) == (not flat or tol != 1e-7)


@pytest.mark.parametrize("side", ["g_up", "g_down"])
def test_gradients_within_their_errors_of_an_extreme_decide_the_violation(side, monkeypatch):
    """The coefficient that is extreme in float64 may look less extreme than others in float32, by the errors of g."""
    monkeypatch.setattr(exact, "VALUE", 1.0)
    monkeypatch.setattr(exact, "EXACT_PAIRS", 0)
    problem, state, K = stepped(600, 10.0)
    sign, other = (1.0, "g_down") if side == "g_up" else (-1.0, "g_up")
    kkt = KKT.of(problem, state.c, state.g)
    i = np.flatnonzero(np.isinf(getattr(kkt, other)))[0]  # at a bound, so that it matters on this side alone
    end, error = sign * np.min(sign * getattr(kkt, side)), exact.gradient_errors(problem, state)[i]
    state.g[i] = end + sign * 0.8 * exact.DEVIATIONS * error
    targets = problem.targets.copy()
    targets[i] = K[i] @ state.c - (end - sign * exact.DEVIATIONS * error)  # the extreme by its true gradient
    problem = replace(problem, targets=targets)
    found, _ = exact.checked_kkt(problem, state, KKT.of(problem, state.c, state.g), 1e6, False)
    true = KKT.of(problem, state.c, K @ state.c - targets)
    assert np.argmin(sign * getattr(true, side)) == i
    assert found.violation == pytest.approx(true.violation, abs=1e-12)


def test_few_products_are_all_computed():
    problem, state, K = stepped(150, 1.0)
    assert exact.checked_kkt(problem, state, KKT.of(problem, state.c, state.g), 1e-3, False)[1] == 0.0
    np.testing.assert_allclose(state.g, K @ state.c - problem.targets, atol=1e-12)


def test_sums_that_steps_have_rounded_are_put_right():
    problem, state, K = stepped(150, 1.0)
    exact.exact_kkt(problem, state, np.arange(150))
    free = np.flatnonzero((state.c > problem.lower) & (state.c < problem.upper))
    state.c[free[0]] += 1e-9
    state.g += 1e-9 * K[free[0]]
    exact.rebalance(problem, state)
    assert abs(state.c.sum()) < 1e-13
    np.testing.assert_allclose(state.g, K @ state.c - problem.targets, atol=1e-12)


def test_sums_are_not_corrected_by_coefficients_at_the_kink():
    """Theirs are the boxes with the most room, but off zero they would violate the KKT conditions by 2 epsilon."""
    problem = replace(box_cases.classification(4), lower=-np.ones(4), upper=np.ones(4), epsilon=0.1)
    c = np.array([0.0, 0.4, -0.5, 0.1 + 1e-9])
    state = State(c.copy(), box_cases.dense(problem) @ c - problem.targets, problem.gram, Submatrix(problem.gram))
    exact.rebalance(problem, state)
    assert abs(state.c.sum()) < 1e-15
    np.testing.assert_array_equal(np.flatnonzero(state.c != c), [2])


@pytest.mark.parametrize("seed", range(3))
def test_gap_counts_losses_within_the_errors_of_their_gradients(seed, monkeypatch):
    """Such a loss changes by up to the width of the box times the error of g, however small the coefficient is."""
    monkeypatch.setattr(exact, "VALUE", 1.0)
    monkeypatch.setattr(exact, "EXACT_PAIRS", 0)
    rng = np.random.default_rng(seed)
    X, signs = rng.normal(size=(750, 2)), np.where(rng.random(750) < 0.5, -1.0, 1.0)
    problem = box_cases.hinge(Gram(RBF(1.0), X), signs, 200.0)
    result = smo.solve(problem, box_cases.budget(0.05), "")
    true = problem.values(result.coef, box_cases.dense(problem) @ result.coef - signs, result.intercept)[2]
    assert 0.0 < result.certificate.gap - true < 0.25 * true
