from dataclasses import replace
from time import perf_counter
from types import SimpleNamespace

import numpy as np
import pytest

from representer import KernelRidge
from representer.estimators import model_search as module
from representer.estimators.criteria import RidgeErrors
from representer.estimators.model_search import ModelSearch, SharedFactor, Trial, steadiest
from representer.estimators.starting_kernels import FAMILIES, for_numbers
from representer.estimators.tuning import carried_over
from representer.kernels import RBF


def search(X, y, seconds=3600.0, told=None):
    y = (y - y.mean()) / y.std()
    tell = (lambda text: None) if told is None else told.append
    errors = RidgeErrors(X, y[:, None], intercept=True)
    return ModelSearch(errors, for_numbers(X), perf_counter() + seconds, 0, tell)


def trial(losses, shrink):
    losses = np.asarray(losses)
    return Trial("RBF", "", 10, SimpleNamespace(objective=np.log(losses.mean())), shrink, losses)


def test_flexible_kernels_must_be_better_than_noise(rng):
    losses = rng.exponential(size=400)
    noise = rng.normal(size=400)
    noise = (noise - noise.mean()) / noise.std()
    free, held, worse = (
        trial(losses + off, shrink) for off, shrink in ((0, 4.0), (0.08 + noise, 20.0), (noise + 0.12, np.inf))
    )
    assert steadiest([free, held, worse]) is held  # worse by 1.6 and by 2.4 standard errors
    assert steadiest([free, trial(losses + 0.01 * rng.normal(size=400), np.inf)]).shrink == np.inf
    assert steadiest([free, trial(losses + 0.5, np.inf)]) is free
    assert steadiest([Trial("RBF", "", 10, SimpleNamespace(objective=o), 1.0, np.empty(0)) for o in (2, 1)]).loo < 3.0


def test_columns_that_do_not_matter_get_long_scales(rng):
    X = rng.normal(size=(700, 4)) * [1.0, 10.0, 0.1, 1.0] + [0.0, 5.0, 0.0, 100.0]
    y = np.sin(2.0 * X[:, 0]) + 0.2 * rng.normal(size=700)
    told = []
    found = search(X, y, told=told)
    best = found.run()
    scales = found.start.relative(best.tuned.kernel, best.family)["left__length_scale"]
    assert "per column" in best.form
    assert scales[1:].min() > 2.0 * scales[0]
    assert best.rows > 400
    assert len(told) == len(found.trials)
    assert {t.family for t in found.trials} == set(FAMILIES)


def test_without_time_there_is_one_trial(rng):
    found = search(rng.normal(size=(60, 2)), rng.normal(size=60), seconds=-1.0)
    assert found.run() is found.trials[0]
    assert len(found.trials) == 1


def test_steps_that_would_end_too_late_are_left_out(rng):
    """Which `stopped` tells, though the deadline has not passed."""
    found = search(rng.normal(size=(60, 2)), rng.normal(size=60))
    job = ("RBF", 60, np.inf, found.start.kernels["RBF"], 0.1)
    assert found._try(job, max_iter=1) is not None
    assert not found.stopped
    found.trials[-1] = replace(found.trials[-1], seconds=4000.0)
    assert found._try(job, max_iter=1) is None
    assert found.stopped


def test_many_columns_start_from_slopes(rng):
    X = rng.normal(size=(150, 32))
    found = search(X, X[:, 0] + np.sin(2.0 * X[:, 1]))
    first = found._try(("RBF", 150, np.inf, found.start.kernels["RBF"], 0.1), max_iter=25)
    start = found.start.relative(found._with_slopes(first), "RBF")["left__length_scale"]
    assert start[:2].max() < 0.7 * np.median(start[2:])


def test_many_groups_of_columns_start_from_slopes(rng):
    """As levels of a category are; columns of a group keep their ratios. A few groups start from one length scale."""
    X = np.hstack([rng.normal(size=(150, 32)), np.eye(3)[rng.integers(0, 3, 150)]])
    found = search(X, X[:, 0] + np.sin(2.0 * X[:, 1]) + 2.0 * X[:, 34])
    groups = np.append(np.arange(32), [32, 32, 32])
    found.start = replace(found.start, groups=groups)
    assert found._has_slopes
    first = found._try(("RBF", 150, np.inf, found.start.kernels["RBF"], 0.1), max_iter=25)
    start = found.start.relative(found._with_slopes(first), "RBF")["left__length_scale"]
    assert start[[0, 1, 32]].max() < 0.7 * np.median(start[2:32])
    np.testing.assert_allclose(start[32:], start[32])
    found.start = replace(found.start, groups=groups % 9)
    assert not found._has_slopes


def test_the_first_rows_hold_the_rarest_class(rng):
    X, y = rng.normal(size=(3000, 2)), np.where(np.arange(3000) < 3, 1.0, -1.0)
    found = search(X, y)
    assert np.count_nonzero(found.order[: module.FIRST_ROWS] < 3) == 1


@pytest.fixture
def small(monkeypatch):
    for name, rows in {"FIRST_ROWS": 50, "MOST_ROWS": 50, "UNSEEN_ROWS": 80, "ALPHA_ROWS": 100}.items():
        monkeypatch.setattr(module, name, rows)


@pytest.mark.usefixtures("small")
def test_alpha_grows_from_half_of_the_rows_to_all(rng):
    """By the power law through the best alphas for halves of the rows of the trial and for all of these."""
    X = rng.normal(size=(300, 2))
    found = search(X, np.sin(X[:, 0]) + rng.normal(size=300))
    best = found._try(("RBF", 50, np.inf, found.start.kernels["RBF"], 0.1), max_iter=25)
    alpha = found._for_all_rows(best).tuned.strength
    kernel, halves = best.tuned.kernel, np.array_split(found.order[:50], 2)
    grid = np.geomspace(1e-3, 1e3, 200) * best.tuned.strength
    losses = [np.mean([found.errors.on(half)(kernel, value).objective for half in halves]) for value in grid]
    expected = carried_over(grid[np.argmin(losses)], best.tuned.strength, 2.0, 6.0)
    assert alpha == pytest.approx(expected, rel=0.15)


@pytest.mark.usefixtures("small")
def test_small_alphas_are_compared_on_unseen_rows(rng, monkeypatch):
    """The largest that is not worse than the best; the first that is worse is the last to be tried."""
    X = rng.normal(size=(300, 2))
    found = search(X, X[:, 0])
    best = found._try(("RBF", 50, np.inf, found.start.kernels["RBF"], 0.1), max_iter=1)
    best = replace(best, tuned=replace(best.tuned, strength=1e-4))
    noise, tried = rng.normal(size=80), []
    means = {1.0: 1.0, 3.0: 0.8, 10.0: 0.8, 30.0: 1.2}

    def losses(fit, unseen):
        rows, alpha = fit
        assert (len(rows), len(unseen)) == (100, 80)
        assert not len(np.intersect1d(rows[:, 0], X[unseen, 0]))
        tried.append(round(alpha / 1e-4))
        return means[tried[-1]] + 0.01 * len(tried) * noise

    monkeypatch.setattr(SharedFactor, "function", lambda self, alpha: (self.problem.gram.X, alpha))
    monkeypatch.setattr(found, "_losses", losses)
    expected = carried_over(1e-4, 1e-3, 2.0, 3.0)
    assert found._for_all_rows(best).tuned.strength == pytest.approx(expected)
    assert tried == [1, 3, 10, 30]


@pytest.mark.parametrize(("means", "tried"), [((1.0, 1.5), [20.0]), ((1.0, 0.9, 1.2), [20.0, 100.0])])
def test_stronger_shrinkage_is_tried_as_long_as_it_helps(rng, monkeypatch, means, tried):
    found = search(rng.normal(size=(60, 2)), rng.normal(size=60))
    noise, losses = 0.01 * rng.normal(size=400), dict(zip((4.0, 20.0, 100.0), means, strict=False))

    def after(job):
        tuned = SimpleNamespace(objective=0.0, kernel=None, strength=1.0)
        return Trial(job[0], "", 10, tuned, job[2], losses[job[2]] + noise)

    monkeypatch.setattr(found, "_try_all", lambda jobs: [after(job) for job in jobs])
    assert [t.shrink for t in found._shrunk([after(("RBF", 10, 4.0))])] == tried
    assert found._shrunk([]) == []


@pytest.mark.parametrize("scale", [1.0, 0.05])
def test_one_factor_serves_several_alphas(rng, monkeypatch, scale):
    """Where it holds nearly all of the matrix; otherwise each is solved by itself."""
    X, solved = rng.normal(size=(200, 2)), []
    ridges = [KernelRidge(alpha, kernel=RBF(scale), fit_intercept=True) for alpha in (0.1, 1.0)]
    exact = [ridge.fit(X, np.sin(X[:, 0])).predict(X) for ridge in ridges]
    for solver in (module.cholesky, module.conjugate_gradient):
        solve = solver.solve
        monkeypatch.setattr(solver, "solve", lambda *a, s=solver, f=solve, **k: solved.append(s.name) or f(*a, **k))
    problem = RidgeErrors(X, np.sin(X[:, :1]), intercept=True).problem(RBF(scale), 0.1)
    fits = SharedFactor(problem)
    for alpha, values in zip((0.1, 1.0), exact, strict=True):
        np.testing.assert_allclose(fits.function(alpha)(X).ravel(), values, atol=1e-3)
    assert set(solved) == {"conjugate_gradient" if scale == 1.0 else "cholesky"}
