"""Which posterior is planned for which numbers of inputs and bytes, and which one is taken."""

import numpy as np
import pytest
from each_case import each

from representer import GaussianProcessRegressor
from representer.estimators import process_plan
from representer.estimators.process_plan import Asked, is_direct, plan, posterior
from representer.kernels import RBF
from representer.processes.posterior import ExactPosterior, IterativePosterior
from representer.processes.single_precision import SinglePosterior


def asked(solver="auto", memory=16 * 10**9, tol=1e-6):
    return Asked(solver, 30, 1, memory, tol, None)


@each(
    ("n", "options", "solver", "form"),
    [
        (8000, {}, "cholesky", ""),
        (8001, {}, "cholesky", process_plan.SINGLE),
        (20_000, {}, "cholesky", process_plan.SINGLE),
        (20_001, {}, "conjugate_gradient", ""),
        (10_000, {"memory": 12 * 10**8}, "cholesky", process_plan.SINGLE),
        (10_000, {"memory": 7 * 10**8}, "conjugate_gradient", ""),
        (10_000, {"solver": "cholesky"}, "cholesky", ""),
        (100, {"solver": "conjugate_gradient"}, "conjugate_gradient", ""),
        (5000, {"memory": 10**8}, "conjugate_gradient", ""),
    ],
)
def test_solver_of_a_plan(n, options, solver, form):
    found = plan(n, 1, 8 * n, asked(**options))
    assert (found.solver, found.form) == (solver, form)
    assert is_direct(found) == (solver == "cholesky" and not form)
    assert found.seconds > 0
    if form:
        least = 4 if "memory" in options else 8  # times n^2, where a float64 factor fits half of the memory
        assert least * n * n < found.bytes < (least + 1) * n * n
        assert "float32 factor" in str(found)


@pytest.mark.parametrize(
    ("noise", "memory", "kind"),
    [
        (0.1, 10**9, SinglePosterior),
        (3e-5, 10**9, ExactPosterior),  # not precise enough in float32
        (3e-5, 10**6, SinglePosterior),  # with corrections, as float64 does not fit
        (1e-7, 10**6, IterativePosterior),  # for which corrections do not converge
        (0.0, 10**9, ExactPosterior),
    ],
)
def test_posterior_that_is_taken(rng, noise, memory, kind):
    X = rng.normal(size=(300, 3))
    planned = plan(9000, 1, 8, asked())
    assert type(posterior(RBF(1.0), X, np.full(300, noise), planned, asked(memory=memory))) is kind


@pytest.mark.parametrize(("noise", "sizes"), [(0.1, [100, 300]), (3e-5, [100])])
def test_a_sample_shows_that_a_float32_factor_of_all_inputs_is_not_needed(rng, monkeypatch, noise, sizes):
    factored = []

    class Counted(SinglePosterior):
        def __init__(self, kernel, X, given, **options):
            factored.append(len(given))
            super().__init__(kernel, X, given, **options)

    monkeypatch.setattr(process_plan, "SAMPLE_ROWS", 100)
    monkeypatch.setattr(process_plan, "SinglePosterior", Counted)
    found = posterior(RBF(1.0), rng.normal(size=(300, 3)), np.full(300, noise), plan(9000, 1, 8, asked()), asked())
    assert factored == sizes
    assert type(found) is (Counted if noise == 0.1 else ExactPosterior)


@pytest.mark.parametrize("normalize_y", [False, True])
def test_beyond_the_direct_range_a_fit_predicts_the_same(rng, monkeypatch, normalize_y):
    X, new = rng.normal(size=(200, 2)), rng.normal(size=(30, 2))
    y = 5.0 + 3.0 * np.column_stack([np.sin(2.0 * X[:, 0]), X[:, 1]]) + 0.3 * rng.normal(size=(200, 2))
    model = GaussianProcessRegressor(4.0 * RBF(1.0), noise=0.1, optimizer=None, normalize_y=normalize_y)
    mean, std = model.fit(X, y).predict(new, return_std=True)
    likelihood = model.log_marginal_likelihood_
    monkeypatch.setattr(process_plan, "CHOLESKY_UP_TO", 100)
    for most, name in ((1000, "Cholesky"), (150, "conjugate gradients")):
        monkeypatch.setattr(process_plan, "SINGLE_UP_TO", most)
        model.fit(X, y)
        assert name in model.certificate_.solver
        for ours, expected in zip(model.predict(new, return_std=True), (mean, std), strict=True):
            np.testing.assert_allclose(ours, expected, rtol=6e-4)
        assert abs(model.log_marginal_likelihood_ - likelihood) <= 3 * model.log_marginal_likelihood_error_
        low, high = model.variance_bounds(new)
        assert np.all((low <= std**2 * (1 + 1e-9)) & (std**2 <= high * (1 + 1e-9)))
        assert np.all(high <= low * 1.0011)
