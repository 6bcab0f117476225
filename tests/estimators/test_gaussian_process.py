"""Gaussian process regression against scikit-learn, kernel ridge, dense formulas and statistics of draws."""

import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from each_case import each
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor as TheirRegressor
from sklearn.gaussian_process import kernels as theirs
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn_contract import faults

from representer import GaussianProcessRegressor, KernelRidge
from representer.estimators import hyperparameter_search
from representer.kernels import (
    RBF,
    Brownian,
    Jaccard,
    Linear,
    Matern,
    Normalized,
    On,
    Periodic,
    Precomputed,
    RationalQuadratic,
    Spectrum,
)
from representer.testing.kernel_laws import derivative

RNG = np.random.default_rng(0)
X = RNG.uniform(-2.0, 2.0, size=(40, 2))
Y = np.sin(2.0 * X) @ [[1.0, 0.3], [0.5, -2.0]] + 0.1 * RNG.normal(size=(40, 2)) + [0.5, 3.0]
y = Y[:, 0]
Z = RNG.uniform(-2.5, 2.5, size=(15, 2))
KERNEL = 1.5 * RBF([0.8, 1.2])
AT_BOUNDS = pytest.mark.filterwarnings("ignore:The search for hyper-parameters ended at a bound")


def fixed(kernel=KERNEL, noise=0.05, **options):
    """A regressor that keeps its hyper-parameters."""
    return GaussianProcessRegressor(kernel, noise=noise, optimizer=None, **options)


def posterior(kernel, X, y, Z, noise):
    """Mean and covariance at Z by dense formulas."""
    A, k = kernel(X) + np.diag(np.broadcast_to(noise, len(y))), kernel(X, Z)
    return k.T @ np.linalg.solve(A, y), kernel(Z) - k.T @ np.linalg.solve(A, k)


@AT_BOUNDS  # of noise
def test_contract_of_scikit_learn():
    assert faults(GaussianProcessRegressor()) == []


# ---- agreement ----


@each("normalize_y", [False, True])
@each("targets", [y, Y])
@each("noise", [0.05, np.linspace(0.01, 0.5, len(X))])
def test_fixed_hyperparameters_agree_with_scikit_learn(noise, targets, normalize_y):
    kernel = theirs.ConstantKernel(1.5) * theirs.RBF([0.8, 1.2])
    other = TheirRegressor(kernel, alpha=noise, optimizer=None, normalize_y=normalize_y).fit(X, targets)
    gp = fixed(noise=noise, normalize_y=normalize_y).fit(X, targets)
    for option in ("return_std", "return_cov"):
        for ours, expected in zip(gp.predict(Z, **{option: True}), other.predict(Z, **{option: True}), strict=True):
            assert ours.shape == expected.shape
            np.testing.assert_allclose(ours, expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(gp.predict(Z), gp.predict(Z, return_std=True)[0])
    assert gp.log_marginal_likelihood_ == pytest.approx(other.log_marginal_likelihood_value_, rel=1e-6)


@pytest.mark.parametrize("seed", range(2))
def test_optimum_is_not_below_that_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.2 * rng.normal(size=30)
    kernel = theirs.ConstantKernel() * theirs.RBF([1.0, 1.0]) + theirs.WhiteKernel(0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # about bounds
        other = TheirRegressor(kernel, alpha=0.0, n_restarts_optimizer=2, random_state=0).fit(X, y)
    gp = GaussianProcessRegressor(1.0 * RBF([1.0, 1.0]), n_restarts=2, random_state=0).fit(X, y)
    assert gp.log_marginal_likelihood_ >= other.log_marginal_likelihood_value_ - 1e-4


@pytest.mark.parametrize("scale", [1e-3, 1e6])
def test_units_of_the_target_do_not_matter(scale):
    """The default kernel explains scale * y as well as y."""
    gp = GaussianProcessRegressor().fit(X, scale * (y - y.mean()))
    assert gp.score(X, scale * (y - y.mean())) > 0.9


@pytest.mark.parametrize("objective", ["likelihood", "loo"])
def test_optimum_is_stationary_and_above_its_neighbours(objective):
    gp = GaussianProcessRegressor(KERNEL, objective=objective).fit(X, y)
    best = gp.search_.values[0]
    assert gp.search_.at_bounds == []
    for name, value in gp.kernel_.get_params().items():
        if name in ("factor", "kernel__length_scale"):
            for factor in (0.98, 1.02):
                kernel = clone(gp.kernel_).set_params(**{name: np.asarray(value)[()] * factor})
                moved = fixed(kernel, gp.noise_, objective=objective).fit(X, y)
                assert moved.search_.values[0] < best
    for factor in (0.98, 1.02):
        assert fixed(gp.kernel_, factor * gp.noise_, objective=objective).fit(X, y).search_.values[0] < best


def test_objectives_differ_and_each_wins_by_its_own():
    likelihood, loo = (GaussianProcessRegressor(KERNEL, objective=o).fit(X, y) for o in ("likelihood", "loo"))
    other = fixed(likelihood.kernel_, likelihood.noise_, objective="loo").fit(X, y)
    assert loo.search_.values[0] > other.search_.values[0]
    assert likelihood.log_marginal_likelihood_ > loo.log_marginal_likelihood_


def test_noise_per_input_is_kernel_ridge_with_weights():
    noise = np.random.default_rng(1).uniform(0.01, 1.0, len(X))
    ridge = KernelRidge(1.0, kernel=KERNEL).fit(X, y, sample_weight=1.0 / noise)
    np.testing.assert_allclose(fixed(noise=noise).fit(X, y).predict(Z), ridge.predict(Z), rtol=1e-9, atol=1e-10)


def test_variance_lies_between_zero_and_the_prior():
    gp = fixed(noise=1e-6).fit(X, y)
    std = gp.predict(np.concatenate([Z, X, [[50.0, 50.0]]]), return_std=True)[1]
    assert np.all(std >= 0)
    assert np.all(std**2 <= 1.5 * (1 + 1e-12))
    assert std[-1] ** 2 == pytest.approx(1.5)  # far away nothing is known


def test_noiseless_fit_interpolates():
    mean, std = fixed(Matern(1.0), noise=0.0).fit(X, y).predict(X, return_std=True)
    np.testing.assert_allclose(mean, y, atol=1e-9)
    assert std.max() < 1e-6


def test_std_is_the_root_of_the_diagonal_of_cov_in_every_chunk():
    many = np.random.default_rng(2).uniform(-2.0, 2.0, size=(2100, 2))  # more than are taken at once
    gp = fixed().fit(X, Y)
    std, cov = gp.predict(many, return_std=True)[1], gp.predict(many[2000:], return_cov=True)[1]
    assert std.shape == (2100, 2)
    np.testing.assert_allclose(std[2000:] ** 2, np.einsum("iit->it", cov), rtol=1e-8)


# ---- solvers ----


def test_conjugate_gradients_agree_with_cholesky():
    rng = np.random.default_rng(9)
    A = rng.normal(size=(200, 2))
    b = np.column_stack([np.sin(2.0 * A[:, 0]), A[:, 1]]) + 0.1 * rng.normal(size=(200, 2)) + 2.0
    options = {"noise": np.linspace(0.05, 0.5, 200), "normalize_y": True, "tol": 1e-10}
    direct, iterative = (fixed(solver=s, **options).fit(A, b) for s in ("cholesky", "conjugate_gradient"))
    for option in ("return_std", "return_cov"):
        pairs = zip(iterative.predict(Z, **{option: True}), direct.predict(Z, **{option: True}), strict=True)
        for ours, expected in pairs:
            np.testing.assert_allclose(ours, expected, rtol=1e-7, atol=1e-9)
    error = iterative.log_marginal_likelihood_error_
    assert direct.log_marginal_likelihood_error_ == 0.0
    assert abs(iterative.log_marginal_likelihood_ - direct.log_marginal_likelihood_) <= 3 * error
    assert error < 0.01 * abs(direct.log_marginal_likelihood_)
    assert "posterior mean:" in iterative.report()
    assert f"standard error {error:.2g}" in iterative.report()


@pytest.mark.parametrize("solver", ["cholesky", "conjugate_gradient"])
def test_certificate_states_a_true_residual(solver):
    gp = fixed(solver=solver).fit(X, y)
    residual = y - (KERNEL(X) + 0.05 * np.eye(len(X))) @ gp.dual_coef_
    assert gp.certificate_.converged
    assert np.linalg.norm(residual) <= 1e-6 * np.linalg.norm(y)
    assert gp.certificate_.residual == pytest.approx(np.linalg.norm(residual) / np.linalg.norm(y), abs=1e-12)


def test_posterior_that_did_not_converge_warns():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        gp = fixed(2.9 * RBF(1.4), noise=4e-9, solver="conjugate_gradient").fit(X, y)
    assert gp.certificate_.converged or ConvergenceWarning in [warning.category for warning in caught]


def test_a_small_budget_turns_to_conjugate_gradients():
    rng = np.random.default_rng(9)
    A, b = rng.normal(size=(700, 2)), rng.normal(size=700)
    low = fixed(noise=1.0, memory=3_500_000).fit(A, b)
    assert "condition number" not in low.report()
    np.testing.assert_allclose(low.predict(Z), fixed(noise=1.0).fit(A, b).predict(Z), atol=1e-5)


# ---- inputs of many types ----

STRINGS = ["".join(RNG.choice(list("ACGT"), size)) for size in RNG.integers(5, 12, 30)]
SETS = [set(RNG.choice(12, size, replace=False).tolist()) for size in RNG.integers(1, 8, 30)]
PEOPLE = pd.DataFrame({"age": RNG.normal(size=30), "word": STRINGS, "income": RNG.normal(size=30)})
OBJECTS = {
    "strings": (1.5 * Normalized(Spectrum(3)), STRINGS[:20], STRINGS[20:]),
    "sets": (0.7 * Jaccard() + 0.1, SETS[:20], SETS[20:]),
    "data frame": (
        On(RBF([1.0, 2.0]), ["age", "income"]) * On(Normalized(Spectrum(2)), "word"),
        PEOPLE[:20],
        PEOPLE[20:],
    ),
}


@pytest.mark.parametrize("case", OBJECTS)
def test_objects(case):
    kernel, A, B = OBJECTS[case]
    mean, cov = posterior(kernel, A, y[:20], B, 0.1)
    gp = fixed(kernel, 0.1).fit(A, y[:20])
    np.testing.assert_allclose(gp.predict(B), mean, atol=1e-10)
    np.testing.assert_allclose(gp.predict(B, return_cov=True)[1], cov, atol=1e-10)
    np.testing.assert_allclose(gp.predict(B, return_std=True)[1] ** 2, cov.diagonal(), atol=1e-10)
    tuned = GaussianProcessRegressor(kernel).fit(A, y[:20])
    assert tuned.log_marginal_likelihood_ > fixed(kernel, "estimate").fit(A, y[:20]).log_marginal_likelihood_
    assert np.all(np.isfinite(tuned.sample(B, 2)))


def test_kernel_without_hyperparameters_still_estimates_noise():
    gp = GaussianProcessRegressor(Normalized(Spectrum(2))).fit(STRINGS[:20], y[:20])
    assert gp.search_.names == ["noise"]
    assert gp.kernel_ == Normalized(Spectrum(2))


def test_sparse_inputs_equal_dense_ones():
    thin = X * (np.abs(X) > 1.0)
    ours, expected = (GaussianProcessRegressor(KERNEL).fit(inputs, y) for inputs in (sparse.csr_array(thin), thin))
    assert ours.log_marginal_likelihood_ == pytest.approx(expected.log_marginal_likelihood_, rel=1e-6)
    found = ours.predict(sparse.csr_array(Z), return_std=True)
    for a, b in zip(found, expected.predict(Z, return_std=True), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


def test_float32_inputs_are_computed_in_double_precision():
    """Coefficients of a fit with little noise are large and of both signs, so float32 would cost most digits."""
    line = np.linspace(0.0, 6.0, 200, dtype=np.float32)[:, None]
    target = np.sin(line[:, 0])
    low, high = (fixed(RBF(1.0), 1e-8).fit(inputs, target) for inputs in (line, line.astype(np.float64)))
    for a, b in zip(low.predict(line, return_std=True), high.predict(line, return_std=True), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_precomputed_gram_matrix_equals_its_kernel():
    gp = fixed(Precomputed()).fit(KERNEL(X), y)
    np.testing.assert_allclose(gp.predict(KERNEL(Z, X)), fixed().fit(X, y).predict(Z), atol=1e-10)


def test_cross_validation_slices_a_precomputed_matrix_on_both_sides():
    ours, expected = (
        cross_val_predict(fixed(kernel), inputs, y, cv=4)
        for kernel, inputs in (("precomputed", KERNEL(X)), (KERNEL, X))
    )
    np.testing.assert_allclose(ours, expected, atol=1e-10)


# ---- draws ----


@pytest.mark.parametrize("pathwise", [False, True])
@pytest.mark.parametrize("targets", [y, Y], ids=["one target", "two targets"])
def test_draws_have_the_posterior_mean_and_covariance(targets, pathwise):
    """Within five standard errors: var / n for a mean, (C_ii C_jj + C_ij^2) / n for an entry of a covariance."""
    n, points = 4000, Z[:6]
    gp = fixed(normalize_y=True).fit(X, targets)
    mean, cov = gp.predict(points, return_cov=True)
    draws = gp.sample(points, n, random_state=3, pathwise=pathwise)
    assert draws.shape == (*mean.shape, n)
    mean, cov, draws = mean.reshape(6, -1), cov.reshape(6, 6, -1), draws.reshape(6, -1, n)
    for t in range(mean.shape[1]):
        C, v = cov[:, :, t], cov[:, :, t].diagonal()
        assert np.all(np.abs(draws[:, t].mean(axis=1) - mean[:, t]) < 5 * np.sqrt(v / n))
        assert np.all(np.abs(np.cov(draws[:, t]) - C) < 5 * np.sqrt((np.outer(v, v) + C**2) / n))
        assert t == 0 or abs(np.corrcoef(draws[0, 0], draws[0, t])[0, 1]) < 5 / np.sqrt(n)  # independent


@pytest.mark.parametrize("pathwise", [False, True])
def test_draws_repeat_with_their_seed_alone(pathwise):
    gp = fixed().fit(X, y)
    first, again, other = (gp.sample(Z, 2, random_state=seed, pathwise=pathwise) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert np.all(first != other)


def test_noiseless_draws_pass_through_the_data():
    draws = fixed(Matern(1.0), noise=0.0).fit(X, y).sample(X[:5], 3)
    np.testing.assert_allclose(draws, np.repeat(y[:5, None], 3, axis=1), atol=1e-5)


# ---- bounds and priors ----


@pytest.mark.parametrize(
    ("bounds", "name", "value", "side"),
    [
        ({"kernel__length_scale": (5.0, 10.0)}, "kernel__length_scale[0]", 5.0, "lower"),
        ({"kernel__length_scale[1]": (0.01, 0.02)}, "kernel__length_scale[1]", 0.02, "upper"),
        ({"noise": (0.5, 2.0)}, "noise", 0.5, "lower"),
        ({"factor": (30.0, 60.0)}, "factor", 30.0, "lower"),
    ],
)
def test_bounds_hold_and_active_ones_are_reported(bounds, name, value, side):
    with pytest.warns(
        ConvergenceWarning, match=rf"ended at a bound of .*{re.escape(f'{name} ({side})')}.*widen bounds="
    ):
        gp = GaussianProcessRegressor(KERNEL, bounds=bounds, n_restarts=1, random_state=0).fit(X, y)
    found = np.exp(gp.search_.theta[gp.search_.names.index(name)])
    assert found == pytest.approx(value, rel=1e-4)
    assert f"{name} ({side})" in gp.search_.at_bounds
    report = gp.report()
    assert f"{name} ({side})" in report.split("at a bound:")[1].splitlines()[0]
    assert any(name in line for line in report.splitlines() if line.startswith("try:"))
    held = {"noise": gp.noise_, "factor": gp.kernel_.factor}
    held |= {f"kernel__length_scale[{i}]": v for i, v in enumerate(gp.kernel_.kernel.length_scale)}
    assert held[name] == pytest.approx(value, rel=1e-4)


@AT_BOUNDS
def test_every_start_stays_within_its_bounds(monkeypatch):
    seen = []

    def spy(function, start, **options):
        seen.append(start)
        result = real(lambda theta: seen.append(theta.copy()) or function(theta), start, **options)
        return result

    real = hyperparameter_search.minimize
    monkeypatch.setattr(hyperparameter_search, "minimize", spy)
    bounds = {"factor": (2.0, 3.0), "kernel__length_scale": (0.5, 0.6), "noise": (0.1, 0.2)}
    GaussianProcessRegressor(KERNEL, bounds=bounds, n_restarts=3, random_state=0).fit(X, y)
    theta, limits = np.array(seen), np.log([(2.0, 3.0), (0.5, 0.6), (0.5, 0.6), (0.1, 0.2)])
    assert len(theta) > 8
    assert np.all(theta >= limits[:, 0] - 1e-12)
    assert np.all(theta <= limits[:, 1] + 1e-12)


def test_hyperparameters_with_a_range_of_their_own_stay_inside():
    """hurst of Brownian motion lies in (0, 1], and the optimum here is at a rough path."""
    line = np.linspace(0.0, 3.0, 40)[:, None]
    gp = GaussianProcessRegressor(1.0 * Brownian()).fit(line, np.sin(9.0 * line[:, 0]))
    assert 0 < gp.kernel_.kernel.hurst <= 1


PRIORS = {
    "kernel__length_scale": stats.lognorm(0.5, scale=1.0),
    "noise": stats.gamma(2.0, scale=0.1),
    "factor": stats.invgamma(3.0),
}


@pytest.mark.parametrize(
    ("noise", "priors", "objective"),
    [("estimate", PRIORS, "likelihood"), (0.3, None, "likelihood"), (0.3, None, "loo")],
)
def test_gradient_of_the_whole_objective(monkeypatch, noise, priors, objective):
    checked = []

    def spy(function, start, **options):
        theta = start + 0.1
        direction = np.random.default_rng(5).uniform(0.5, 1.0, len(theta))
        expected = derivative(lambda change: function(theta + change * direction)[0], 1e-2)
        checked.append((function(theta)[1] @ direction, expected))
        return real(function, start, **options)

    real = hyperparameter_search.minimize
    monkeypatch.setattr(hyperparameter_search, "minimize", spy)
    GaussianProcessRegressor(KERNEL, noise=noise, priors=priors, objective=objective).fit(X, y)
    ((gradient, expected),) = checked
    assert gradient == pytest.approx(expected, rel=1e-6)


def test_priors_add_their_log_density_to_the_objective():
    with_priors, without = fixed(noise="estimate", priors=PRIORS).fit(X, y), fixed(noise="estimate").fit(X, y)
    added = PRIORS["factor"].logpdf(1.5) + PRIORS["noise"].logpdf(without.noise_)
    added += PRIORS["kernel__length_scale"].logpdf([0.8, 1.2]).sum()
    assert with_priors.search_.values[0] - without.search_.values[0] == pytest.approx(added, rel=1e-9)
    assert with_priors.log_marginal_likelihood_ == without.log_marginal_likelihood_


def test_prior_of_one_entry_pulls_that_entry_alone():
    gp = GaussianProcessRegressor(RBF([1.0, 1.0]), priors={"length_scale[1]": stats.lognorm(0.01, scale=4.0)}).fit(X, y)
    assert gp.kernel_.length_scale[1] == pytest.approx(4.0, rel=0.03)
    assert gp.kernel_.length_scale[0] < 2.0


@AT_BOUNDS
def test_prior_that_is_zero_outside_an_interval_keeps_the_noise_inside():
    noise = 0.3, 0.4
    priors = {"noise": stats.uniform(noise[0], noise[1] - noise[0])}
    gp = GaussianProcessRegressor(KERNEL, priors=priors, bounds={"noise": noise}).fit(X, y)
    assert noise[0] <= gp.noise_ <= noise[1]


# ---- the search ----


def test_restarts_never_lose():
    rng = np.random.default_rng(6)
    X, y = rng.uniform(0.0, 5.0, size=(8, 1)), rng.normal(size=8)
    single = GaussianProcessRegressor().fit(X, y)
    several = GaussianProcessRegressor(n_restarts=4, random_state=0).fit(X, y)
    assert len(several.search_.values) == 5
    assert several.search_.values[0] == single.search_.values[0]
    assert several.log_marginal_likelihood_ == pytest.approx(max(several.search_.values), rel=1e-9)
    assert several.log_marginal_likelihood_ >= single.log_marginal_likelihood_


def test_restarts_find_a_better_maximum_from_a_bad_start():
    bad = 1.0 * RBF(0.002)
    lost = GaussianProcessRegressor(bad).fit(X, y)
    found = GaussianProcessRegressor(bad, n_restarts=5, random_state=0).fit(X, y)
    assert found.log_marginal_likelihood_ > lost.log_marginal_likelihood_ + 1.0


def test_random_state_makes_fits_repeat():
    def values(seed):
        return GaussianProcessRegressor(KERNEL, n_restarts=2, random_state=seed).fit(X, y).search_.values

    assert values(0) == values(0)
    assert values(0)[0] == values(1)[0]
    assert values(0)[1:] != values(1)[1:]


def test_without_optimizer_everything_stays():
    gp = fixed(noise=0.07).fit(X, y)
    assert gp.kernel_ == KERNEL
    assert gp.noise_ == 0.07
    assert "not optimised" in gp.report()


def test_fit_does_not_change_the_kernel_it_was_given():
    kernel = 1.0 * RBF()
    gp = GaussianProcessRegressor(kernel).fit(X, y)
    assert kernel == 1.0 * RBF()
    assert gp.kernel_ != kernel


def test_all_length_scales_of_an_irrelevant_column_grow():
    noisy = np.column_stack([X, np.random.default_rng(7).normal(size=len(X))])
    gp = GaussianProcessRegressor(1.0 * RBF(np.ones(3))).fit(noisy, y)
    scales = gp.kernel_.kernel.length_scale
    assert scales[2] > 3 * max(scales[:2])


# ---- report ----


def test_report_has_every_line():
    lines = GaussianProcessRegressor(KERNEL).fit(X, y).report().splitlines()
    starts = [line.split(":")[0] for line in lines]
    expected = ["kernel", "noise variance", "log marginal likelihood", "search", "at a bound", "condition number"]
    assert starts[:6] == expected
    assert lines[4] == "at a bound: none"
    assert "jitter added: 0" in lines[5]
    assert "n_restarts" in lines[6]


def test_report_states_the_condition_number():
    noise = 0.05
    stated = fixed(noise=noise).fit(X, y).report().split("condition number: ")[1].split(";")[0]
    truth = np.linalg.cond(KERNEL(X) + noise * np.eye(len(X)), 1)
    assert truth / 10 < float(stated) < truth * 10


def test_report_advises_noise_when_jitter_was_needed():
    gp = fixed(RBF(1.0), noise=0.0).fit(np.linspace(0.0, 1.0, 60)[:, None], np.ones(60))
    report = gp.report()
    assert float(report.split("jitter added: ")[1].splitlines()[0]) > 0
    assert "try: the matrix was singular" in report


def test_report_advises_noise_when_the_condition_is_bad():
    gp = fixed(RBF(1.0), noise=1e-12).fit(np.linspace(0.0, 1.0, 60)[:, None], np.ones(60))
    assert "try: the matrix is ill-conditioned: use more noise" in gp.report()


def test_report_with_noise_per_input():
    assert "noise variance: one variance per input" in fixed(noise=np.full(len(X), 0.1)).fit(X, y).report()


def test_search_that_stops_early_warns_and_advises(monkeypatch):
    real = hyperparameter_search.minimize
    monkeypatch.setattr(
        hyperparameter_search, "minimize", lambda *a, **given: real(*a, **given | {"options": {"maxiter": 1}})
    )
    with pytest.warns(ConvergenceWarning, match=r"stopped early .*ITERATIONS.*bounds=") as caught:
        gp = GaussianProcessRegressor(KERNEL).fit(X, y)
    assert "try: scale inputs and targets" in gp.report()
    assert caught[0].filename == __file__


# ---- edges ----

EDGES = {
    "one row": (X[:1], y[:1]),
    "two equal rows": (X[[0, 0]], y[:2]),
    "duplicates": (np.repeat(X[:10], 3, axis=0), np.repeat(y[:10], 3)),
    "constant y": (X, np.full(len(X), 5.0)),
    "constant y that rounds": (X[:30], np.full(30, 0.1)),
    "zero y": (X, np.zeros(len(X))),
    "constant column": (np.column_stack([X, np.ones(len(X))]), y),
    "constant X": (np.ones((10, 2)), y[:10]),
    "huge offset": (X + 1e6, y),
}


@AT_BOUNDS  # of nothing
@pytest.mark.parametrize(("normalize_y", "objective"), [(False, "likelihood"), (True, "loo")])
@pytest.mark.parametrize("case", EDGES)
def test_edges_give_finite_predictions(case, normalize_y, objective):
    A, b = EDGES[case]
    gp = GaussianProcessRegressor(normalize_y=normalize_y, objective=objective).fit(A, b)
    mean, std = gp.predict(A, return_std=True)
    for result in (mean, std, gp.predict(A, return_cov=True)[1], gp.sample(A, 2), gp.log_marginal_likelihood_):
        assert np.all(np.isfinite(result))
    assert np.abs(mean - b.mean()).max() <= 2 * np.abs(b - b.mean()).max() + 0.5 * np.abs(b).max() + 1e-6
    assert "nan" not in gp.report()


@pytest.mark.parametrize("noise", [0.0, 1e-12])
def test_duplicates_without_noise_get_jitter_and_finite_predictions(noise):
    A, b = EDGES["duplicates"]
    mean, std = fixed(noise=noise).fit(A, b).predict(A, return_std=True)
    np.testing.assert_allclose(mean, b, atol=1e-3)
    assert std.max() < 1e-2


@AT_BOUNDS
@pytest.mark.parametrize("value", [0.1, -3e7])
def test_normalised_constant_target_is_predicted(value):
    mean = GaussianProcessRegressor(normalize_y=True).fit(X[:30], np.full(30, value)).predict(Z)
    np.testing.assert_allclose(mean, value, rtol=1e-9)


# ---- memory and errors ----


def test_too_large_a_fit_is_refused_with_both_numbers():
    model = GaussianProcessRegressor(solver="cholesky", memory=1000)
    with pytest.raises(MemoryError, match=r"40 inputs needs 6.53e-05 GB, above the budget of 1e-06 GB.*memory="):
        model.fit(X, y)
    plan = model.plan(X, y)
    assert plan.bytes > 1000
    assert "above the budget of 1e-06 GB; use solver='conjugate_gradient'" in str(plan)
    model.set_params(solver="auto")
    with pytest.raises(MemoryError, match="use fewer inputs"):
        model.fit(X, y)
    assert model.plan(X, y).solver == "conjugate_gradient"


@pytest.mark.parametrize("optimizer", [None, "lbfgs"])
def test_plan_is_what_a_fit_takes(optimizer, peak_of):
    rng = np.random.default_rng(8)
    A, b = rng.normal(size=(1000, 3)), rng.normal(size=1000)
    bounds = dict.fromkeys(("length_scale", "noise"), (0.1, 0.1))  # one evaluation
    model = GaussianProcessRegressor(RBF(np.ones(3)), bounds=bounds, optimizer=optimizer)
    model.fit(A[:100], b[:100])  # compiles
    plan = model.plan(A, b)
    peak, _ = peak_of(lambda: model.fit(A, b), plan.bytes / 1.2)
    assert plan.solver == "cholesky"
    assert 0.8 < plan.bytes / peak < 1.2
    assert model.set_params(objective="loo").plan(A, b).bytes == plan.bytes + 8 * 1000**2  # one more matrix


def test_plan_of_many_inputs():
    plan = GaussianProcessRegressor(memory=10**9).plan(np.zeros((50_000, 3)), np.zeros((50_000, 2)))
    assert plan.solver == "conjugate_gradient"
    assert plan.bytes < 10**9
    assert "n is large" in str(plan)


def test_covariance_is_held_to_the_budget():
    many = np.zeros((300, 2))
    for gp, needed in ((fixed().fit(X, y), "0.000912"), (fixed(), "0.00072"), (fixed().fit(X, Y), "0.00235")):
        gp.set_params(memory=500_000)
        with pytest.raises(MemoryError, match=rf"covariance of 300 inputs needs {needed} GB.*return_std=True"):
            gp.predict(many, return_cov=True)
        with pytest.raises(MemoryError, match=r"sample\(pathwise=True\)"):
            gp.sample(many)
        assert gp.predict(many, return_std=True)[1].shape[0] == 300
        assert gp.sample(many, pathwise=True).shape[0] == 300
        assert gp.predict(many[:100], return_cov=True)[1].shape[:2] == (100, 100)


@each(
    ("options", "message"),
    [
        ({"solver": "svd"}, "solver is 'svd'; use 'auto', 'cholesky' or 'conjugate_gradient'"),
        ({"objective": "evidence"}, "objective is 'evidence'; use 'likelihood' or 'loo'"),
        ({"optimizer": "adam"}, "optimizer is 'adam'; use 'lbfgs' or None"),
        ({"noise": "auto"}, "noise is 'auto'; use 'estimate'"),
        ({"noise": -0.1}, "noise is -0.1.*none of them negative"),
        ({"noise": [0.1, 0.2]}, "one variance for each of the 40 inputs"),
        ({"noise": np.nan}, "noise"),
        ({"kernel": "gauss"}, "kernel is 'gauss'.*rbf"),
        ({"bounds": {"noise": (1.0, 2.0)}, "noise": 0.1}, "no hyper-parameter 'noise' to bound"),
        ({"bounds": -1}, "bounds is -1; give a dictionary"),
        ({"priors": "zzz"}, "priors is 'zzz'; give a dictionary"),
        ({"tol": "zzz"}, "tol is 'zzz'; it must be a positive number"),
        ({"tol": np.nan}, "tol is nan"),
        ({"tol": -1}, "tol is -1"),
        ({"memory": "2 GB"}, "memory is '2 GB'"),
        ({"memory": 0}, "memory is 0"),
        ({"normalize_y": "no"}, "normalize_y is 'no'; it must be True or False"),
        ({"solver": ["auto"]}, "solver is .*'auto'"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        GaussianProcessRegressor(**options).fit(X, y)


def test_indefinite_kernel_is_refused():
    with pytest.raises((ValueError, np.linalg.LinAlgError), match="positive"):
        GaussianProcessRegressor(-1.0 * RBF()).fit(X, y)


def test_both_std_and_cov_are_refused():
    with pytest.raises(ValueError, match="not both"):
        fixed().fit(X, y).predict(Z, return_std=True, return_cov=True)


# ---- before a fit, and after one that failed ----


def test_prior():
    """The kernel as it is given, with length scales of one where none are."""
    for gp, kernel in ((GaussianProcessRegressor(), RBF(1.0)), (fixed(), KERNEL)):
        mean, cov = gp.predict(Z, return_cov=True)
        np.testing.assert_array_equal(mean, np.zeros(len(Z)))
        np.testing.assert_allclose(cov, kernel(Z), rtol=1e-12)
        np.testing.assert_allclose(gp.predict(Z, return_std=True)[1], np.sqrt(kernel.diag(Z)), rtol=1e-12)
        np.testing.assert_array_equal(gp.predict(Z), mean)
        assert gp.sample_y(Z, 3).shape == (len(Z), 3)
        assert not hasattr(gp, "n_features_in_")
    draws = fixed().sample(Z[:2], 4000)
    assert np.all(np.abs(np.cov(draws) - KERNEL(Z[:2])) < 5 * 1.5 * np.sqrt(2 / 4000))
    kernel, A, _ = OBJECTS["strings"]
    np.testing.assert_allclose(fixed(kernel).predict(A, return_cov=True)[1], kernel(A), rtol=1e-12)
    with pytest.raises(NotFittedError):
        fixed().report()


@pytest.mark.parametrize("solver", ["cholesky", "conjugate_gradient"])
def test_changes_of_the_data_do_not_reach_the_model(solver):
    A, b, noise = X.copy(), y.copy(), np.full(len(X), 0.1)
    gp = fixed(Linear(1.0), noise=noise, solver=solver).fit(A, b)

    def state():
        return [*gp.predict(Z, return_cov=True), gp.sample(Z, pathwise=True), gp.function_.norm(), gp.noise_.copy()]

    before = state()
    for array in (A, b, noise):
        array *= 3.0
    for old, new in zip(before, state(), strict=True):
        np.testing.assert_array_equal(old, new)


def test_a_fit_that_fails_leaves_the_model_whole():
    frame = pd.DataFrame(X, columns=["a", "b"])
    gp = fixed().fit(frame, y)
    before, expected = dict(vars(gp)), gp.predict(frame)
    for A, b, options in (
        (np.ones((5, 3)), np.ones(4), {}),
        (np.ones((5, 3)), np.ones(5), {"bounds": -1}),
        (np.ones((5, 3)), np.ones(5), {"kernel": -1.0 * RBF()}),
    ):
        gp.set_params(**options)
        with pytest.raises((ValueError, TypeError, np.linalg.LinAlgError)):
            gp.fit(A, b)
        assert vars(gp).keys() == before.keys()
        assert all(vars(gp)[name] is value for name, value in before.items() if name not in ("bounds", "kernel"))
        np.testing.assert_array_equal(gp.predict(frame), expected)


def test_wrong_numbers_of_rows_are_refused():
    with pytest.raises(ValueError, match="inconsistent"):
        GaussianProcessRegressor().fit(X, y[:-1])
    with pytest.raises(ValueError, match="inconsistent"):
        fixed(OBJECTS["strings"][0]).fit(STRINGS, y[:-1])


# ---- the contract of an estimator ----


def test_clone_keeps_every_option():
    options = {
        "noise": 0.2,
        "objective": "loo",
        "optimizer": None,
        "n_restarts": 3,
        "bounds": {"noise": (0.1, 1.0)},
        "priors": {},
        "solver": "cholesky",
        "tol": 1e-5,
        "max_iter": 7,
        "normalize_y": True,
        "verbose": -1,
        "memory": 10**9,
        "threads": 1,
        "random_state": 4,
    }
    copy = clone(GaussianProcessRegressor(KERNEL, **options))
    assert copy.kernel == KERNEL
    assert {name: getattr(copy, name) for name in options} == options


@pytest.mark.parametrize("inputs", [(X, Z), OBJECTS["data frame"][1:]], ids=["numbers", "data frame"])
def test_pickle_predicts_the_same(inputs):
    kernel = KERNEL if inputs[0] is X else OBJECTS["data frame"][0]
    gp = fixed(kernel).fit(inputs[0], y[: len(inputs[0])])
    copy = pickle.loads(pickle.dumps(gp))
    for a, b in zip(gp.predict(inputs[1], return_std=True), copy.predict(inputs[1], return_std=True), strict=True):
        np.testing.assert_array_equal(a, b)
    assert copy.report() == gp.report()


def test_grid_search_over_names_of_the_kernel():
    grid = {"kernel__kernel__length_scale": [1e-3, 1.0, 1e3], "kernel__factor": [1.0, 2.0]}
    search = GridSearchCV(fixed(1.0 * RBF(1.0)), grid, cv=3).fit(X, y)
    assert search.best_params_["kernel__kernel__length_scale"] == 1.0
    assert search.best_estimator_.kernel_ == search.best_params_["kernel__factor"] * RBF(1.0)


# ---- bands of new measurements ----


@pytest.mark.parametrize("normalize", [False, True])
def test_bands_of_new_measurements(normalize, rng):
    X = rng.uniform(-3.0, 3.0, (1200, 1))
    y = 50.0 + 10.0 * np.sin(2.0 * X[:, 0]) + 2.0 * rng.normal(size=1200)
    gp = GaussianProcessRegressor(normalize_y=normalize).fit(X[:200], y[:200])
    mean, std = gp.predict(X[200:], return_std=True, noise=True)
    _, of_f = gp.predict(X[200:], return_std=True)
    assert 0.9 <= np.mean(np.abs(y[200:] - mean) < 1.96 * std) <= 0.99
    assert np.sqrt(np.mean(std**2 - of_f**2)) == pytest.approx(2.0, rel=0.15)
    covariance = gp.predict(X[200:], return_cov=True, noise=True)[1]
    np.testing.assert_allclose(np.sqrt(covariance.diagonal()), std, rtol=1e-6)


def test_noise_of_new_measurements_is_given_where_that_of_the_data_is(rng):
    X, y = rng.normal(size=(30, 1)), rng.normal(size=30)
    gp = GaussianProcessRegressor(noise=np.linspace(0.1, 1.0, 30)).fit(X, y)
    with pytest.raises(ValueError, match="pass those of the new ones as noise=array"):
        gp.predict(X[:2], return_std=True, noise=True)
    _, std = gp.predict(X[:2], return_std=True)
    _, noisy = gp.predict(X[:2], return_std=True, noise=np.array([1.0, 4.0]))
    np.testing.assert_allclose(noisy**2 - std**2, [1.0, 4.0])


def test_the_search_is_bounded_and_shown(capsys):
    with pytest.warns(ConvergenceWarning, match="larger max_iter="):
        gp = GaussianProcessRegressor(KERNEL, max_iter=2, verbose=1).fit(X, y)
    assert gp.n_iter_ == 2
    assert "search for hyper-parameters: iteration 2, " in capsys.readouterr().err
    GaussianProcessRegressor(KERNEL).fit(X, y)
    assert capsys.readouterr().err == ""


def test_a_co2_like_series_takes_no_more_evaluations_than_scikit_learn():
    """A trend, a season, wiggles and noise, with the kernel of scikit-learn's example of Mauna Loa."""
    rng, x = np.random.default_rng(0), np.arange(0.0, 10.0, 1 / 12)
    series = 0.05 * (x - 5.0) ** 2 + x + 3.0 * np.exp(np.sin(2 * np.pi * x)) + 0.3 * np.sin(1.7 * x)
    series += 0.2 * rng.normal(size=len(x)) - series.mean()
    long, season = theirs.RBF(50.0), theirs.ExpSineSquared(1.0, 1.0, periodicity_bounds="fixed")
    other = 2500.0 * long + 4.0 * theirs.RBF(100.0) * season + 0.25 * theirs.RationalQuadratic(1.0)
    calls = []

    class Counted(TheirRegressor):
        def log_marginal_likelihood(self, *args, **options):
            calls.append(args)
            return super().log_marginal_likelihood(*args, **options)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # about bounds
        their = Counted(other + theirs.WhiteKernel(0.01), alpha=0.0).fit(x[:, None], series)
    kernel = 2500.0 * RBF(50.0) + 4.0 * RBF(100.0) * Periodic(1.0, 1.0) + 0.25 * RationalQuadratic(1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        held = {"left__right__right__period": (1.0, 1.0)}
        gp = GaussianProcessRegressor(kernel, bounds=held).fit(x[:, None], series)
    assert gp.log_marginal_likelihood_ >= their.log_marginal_likelihood_value_ - 0.01
    assert gp.search_.evaluations <= len(calls)
