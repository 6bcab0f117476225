"""Both posteriors against dense algebra, and the error of the likelihood against what it is."""

import numpy as np
import pytest

from representer import _parallel
from representer.kernels import RBF, Laplacian, Linear, Matern, Precomputed, Spectrum
from representer.processes import posterior as module
from representer.processes.posterior import ExactPosterior, IterativePosterior

POSTERIORS = pytest.mark.parametrize("kind", [ExactPosterior, IterativePosterior])
NOISE = pytest.mark.parametrize("constant", [True, False], ids=["one noise", "noise per input"])


@pytest.fixture(autouse=True)
def _one_blas_thread():
    """As for fits of this size: threads of BLAS that wait for each other take longer than the work."""
    with _parallel.one_blas_thread():
        yield


def dense(kernel, X, noise):
    return kernel(X) + np.diag(noise)


def problem(rng, n=300, constant=False):
    X = rng.normal(size=(n, 3))
    noise = np.full(n, 0.05) if constant else rng.uniform(0.02, 0.2, n)
    return 1.3 * RBF(1.5), X, noise


# ---- solutions ----


@NOISE
@POSTERIORS
def test_coefficients_and_explained_covariance(rng, kind, constant):
    kernel, X, noise = problem(rng, constant=constant)
    Y, columns = rng.normal(size=(300, 2)), kernel(X, rng.normal(size=(70, 3)))
    A = dense(kernel, X, noise)
    posterior = kind(kernel, X, noise, tol=1e-9)
    np.testing.assert_allclose(posterior.coefficients(Y), np.linalg.solve(A, Y), rtol=1e-6, atol=1e-7)
    covariance = rng.normal(size=(70, 70))
    covariance += covariance.T
    expected = covariance - columns.T @ np.linalg.solve(A, columns)
    explained = posterior.explained(np.asfortranarray(columns))
    posterior.subtract_explained(np.asfortranarray(columns), covariance)
    np.testing.assert_allclose(covariance, expected, rtol=1e-9, atol=1e-10)
    np.testing.assert_array_equal(covariance, covariance.T)
    np.testing.assert_allclose(explained, np.diag(columns.T @ np.linalg.solve(A, columns)), rtol=1e-9)


@pytest.mark.parametrize("memory", [2 * 10**9, 10**5])
def test_conjugate_gradients_converge_within_any_memory(rng, memory):
    kernel, X, noise = problem(rng)
    result = IterativePosterior(kernel, X, noise, tol=1e-10, memory=memory).solve(rng.normal(size=(300, 2)))
    assert result.certificate.converged


@NOISE
@pytest.mark.parametrize("tol", [1e-2, 1e-6])
def test_explained_variance_is_too_small_by_at_most_its_bound(rng, constant, tol):
    kernel, X, noise = problem(rng, constant=constant)
    columns = kernel(X, rng.normal(size=(7, 3)))
    posterior = IterativePosterior(kernel, X, noise, tol=tol)
    value, bound = posterior._squares(columns, posterior.solve(columns))
    exact = np.einsum("ij,ij->j", columns, np.linalg.solve(dense(kernel, X, noise), columns))
    rounding = 1e-12 * exact
    assert np.all(exact - value >= -rounding)
    assert np.all(exact - value <= bound + rounding)


def test_strings(rng):
    X = ["".join(rng.choice(list("ACGT"), 12)) for _ in range(60)]
    noise, y = np.full(60, 0.3), rng.normal(size=(60, 1))
    A = dense(Spectrum(3), X, noise)
    posterior = IterativePosterior(Spectrum(3), X, noise, tol=1e-9)
    np.testing.assert_allclose(posterior.coefficients(y), np.linalg.solve(A, y), rtol=1e-6, atol=1e-8)
    value, error = posterior.log_determinant()
    assert abs(value - np.linalg.slogdet(A)[1]) < 3 * error


def test_noise_must_be_positive(rng):
    with pytest.raises(ValueError, match="positive noise"):
        IterativePosterior(RBF(), rng.normal(size=(5, 2)), np.zeros(5))


# ---- the likelihood ----

HARD = {
    "smooth": (RBF(0.2), 1e-3),
    "rough": (Laplacian(0.5), 1e-4),
    "little noise": (Matern(0.5), 1e-5),
    "much noise": (RBF(0.5), 1.0),
    "nearly diagonal": (3.0 * Laplacian(0.01), 1e-2),
}


@NOISE
@pytest.mark.parametrize("case", HARD)
def test_log_determinant_is_within_three_of_its_standard_errors(rng, case, constant):
    kernel, noise = HARD[case]
    X = rng.normal(size=(400, 2))
    noise = np.full(400, noise) if constant else noise * np.exp(rng.uniform(-2.0, 2.0, 400))
    value, error = IterativePosterior(kernel, X, noise).log_determinant()
    exact = np.linalg.slogdet(dense(kernel, X, noise))[1]
    assert abs(value - exact) < 3 * error
    assert error < 0.06 * abs(exact)


@pytest.mark.parametrize(("kernel", "noise"), [(RBF(0.3), 1e-2), (RBF(1.0), 1e-2)], ids=["many", "few"])
def test_standard_errors_have_the_size_of_errors(rng, kernel, noise):
    """The root mean square of error / standard error over seeds, where many or few eigenvalues matter."""
    X = rng.normal(size=(100, 2))
    posterior = IterativePosterior(kernel, X, np.full(100, noise), memory=10**5)
    exact = np.linalg.slogdet(dense(kernel, X, posterior.noise))[1]
    z = []
    for seed in range(20):
        posterior.random_state = seed
        value, error = posterior.log_determinant()
        z.append((value - exact) / error)
    assert 0.6 < np.sqrt(np.mean(np.square(z))) < 1.2
    assert np.abs(z).max() < 3.5


def test_few_products_widen_the_error_and_not_the_spread_alone(rng):
    kernel, noise = HARD["rough"]
    X = rng.normal(size=(400, 2))
    posterior = IterativePosterior(kernel, X, np.full(400, noise))
    exact = np.linalg.slogdet(dense(kernel, X, posterior.noise))[1]
    errors = []
    for steps in (3, 10, 100):
        value, error = posterior.log_determinant(steps)
        assert abs(value - exact) < 2 * error
        errors.append(error)
    assert errors[0] > 2 * errors[1] > 4 * errors[2]


def test_finite_rank_has_nothing_but_rounding(rng):
    """log |XX' + noise I| = log |X'X + noise I| + (n - 3) log noise; the standard error is that small, too."""
    X = rng.normal(size=(200, 3))
    for noise in (1.0, 1e-3, 1e-6):
        value, error = IterativePosterior(Linear(1.0), X, np.full(200, noise)).log_determinant()
        exact = np.linalg.slogdet(X.T @ X + noise * np.eye(3))[1] + 197 * np.log(noise)
        assert abs(value - exact) <= error < 1e-5


def test_a_preconditioner_of_rank_zero(rng):
    """The noise is above the trace of K, so the factor has no rows."""
    kernel, X = 1e-3 * RBF(1.0), rng.normal(size=(30, 2))
    value, error = IterativePosterior(kernel, X, np.ones(30)).log_determinant()
    assert abs(value - np.linalg.slogdet(dense(kernel, X, np.ones(30)))[1]) < 3 * error < 0.02


def test_a_matrix_that_is_not_positive_definite_has_an_infinite_error(rng):
    Q = np.linalg.qr(rng.normal(size=(40, 40)))[0]
    K = (Q * np.append(-0.5, rng.uniform(0.0, 4.0, 39))) @ Q.T
    posterior = IterativePosterior(Precomputed(), 0.5 * (K + K.T), np.full(40, 0.1))
    assert posterior.log_determinant()[1] == np.inf


@NOISE
def test_likelihood_counts_what_residuals_leave_open(rng, constant, monkeypatch):
    kernel, X, noise = problem(rng, constant=constant)
    Y = rng.normal(size=(300, 2))
    A = dense(kernel, X, noise)
    determinant = np.linalg.slogdet(A)[1]
    exact = -0.5 * (np.vdot(Y, np.linalg.solve(A, Y)) + 2 * (determinant + 300 * np.log(2 * np.pi)))
    posterior = IterativePosterior(kernel, X, noise, tol=0.3)
    monkeypatch.setattr(posterior, "log_determinant", lambda steps: (determinant, 0.0))
    result = posterior.solve(Y)
    value, error = posterior.log_likelihood(Y, result)
    assert 0.01 * error < abs(value - exact) < error
    # and the error of the determinant, for each target
    monkeypatch.setattr(posterior, "log_determinant", lambda steps: (determinant, 7.0))
    assert posterior.log_likelihood(Y, result)[1] == pytest.approx(error + 7.0)


@NOISE
@POSTERIORS
def test_likelihood_is_the_normal_density(rng, kind, constant):
    kernel, X, noise = problem(rng, constant=constant)
    Y = rng.normal(size=(300, 2))
    A = dense(kernel, X, noise)
    exact = -0.5 * (np.vdot(Y, np.linalg.solve(A, Y)) + 2 * np.linalg.slogdet(A)[1] + 600 * np.log(2 * np.pi))
    found = kind(kernel, X, noise).condition(Y)
    assert abs(found.log_likelihood - exact) <= 3 * found.error + 1e-9 * abs(exact)
    assert found.certificate.converged
    np.testing.assert_allclose(found.coef, np.linalg.solve(A, Y), atol=1e-4)


def test_cheap_products_are_spent_on_more_vectors(rng, monkeypatch):
    kernel, X, noise = problem(rng, 200)
    posterior, seen = IterativePosterior(kernel, X, noise, memory=10**5), []
    real = module.log_forms
    monkeypatch.setattr(module, "log_forms", lambda *a, **options: seen.append(real(*a, **options)) or seen[-1])
    posterior.log_determinant()
    products = [forms.products for forms in seen]
    assert len(products) > 1
    assert sum(products[:-1]) + products[0] <= module.STEPS < sum(products) + products[0]


@pytest.mark.parametrize(("n", "memory"), [(1500, 10**9), (4000, 4 * 10**7)], ids=["stored", "computed anew"])
def test_cost_is_what_a_posterior_takes(rng, peak_of, monkeypatch, n, memory):
    monkeypatch.setattr(module, "STEPS", 1)
    X, Y = rng.normal(size=(n, 3)), rng.normal(size=(n, 2))
    noise = np.full(n, 0.3)
    IterativePosterior(RBF(0.2), X[:200], noise[:200], tol=1e-2).condition(Y[:200])  # compiles
    announced, _ = IterativePosterior.cost(n, 2, memory)
    fit = lambda: IterativePosterior(RBF(0.2), X, noise, tol=1e-2, memory=memory).condition(Y)  # noqa: E731
    peak, _ = peak_of(fit, 0.8 * announced)
    assert 0.8 < peak / announced < 1.2
