"""Likelihood and leave-one-out probability against densities, refits, differences and scikit-learn."""

import numpy as np
import pytest
from each_case import each
from scipy import stats
from scipy.linalg import hilbert
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as theirs

from representer import _parallel
from representer.kernels import (
    RBF,
    Exp,
    Linear,
    Matern,
    Normalized,
    Periodic,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    Spectrum,
)
from representer.processes.likelihood import Factor, log_leave_one_out, log_marginal_likelihood
from representer.testing.kernel_laws import derivative

OBJECTIVES = [log_marginal_likelihood, log_leave_one_out]
RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=(25, 3))
MANY = RNG.normal(size=(270, 2))  # several tiles of the Gram matrix
STRINGS = ["".join(RNG.choice(list("ACGT"), size)) for size in RNG.integers(4, 12, 25)]
NESTED = 0.5 * Exp(0.3 * RBF([1.0, 2.0, 3.0])) * (Linear(0.7) + 2.0) + Normalized(Polynomial(2, 0.5, 1.5)) ** 2

CASES = {
    "nested": (NESTED, NUMBERS),
    "periodic": (1.5 * Periodic(0.8, 3.0) + Matern(2.0, nu=2.5), NUMBERS[:, :1]),
    "rational": (RationalQuadratic([1.0, 0.7, 2.0], 1.5) * Matern(3.0), NUMBERS),
    "several tiles": (2.0 * RBF([1.0, 0.5]) + 0.3, MANY),
    "strings": (1.3 * Normalized(Spectrum(2)) + 0.4, STRINGS),
}
PAIRS = [("nested", 1), ("periodic", 3), ("rational", 1), ("several tiles", 1), ("strings", 3)]
PROBLEMS = each(("case", "targets"), PAIRS)


@pytest.fixture(autouse=True)
def _one_blas_thread():
    """As for fits of this size: threads of BLAS that wait for each other take longer than the work."""
    with _parallel.one_blas_thread():
        yield


def problem(case, targets):
    """Kernel, inputs, targets and a noise for each input."""
    kernel, X = CASES[case]
    rng = np.random.default_rng(1)
    return kernel, X, rng.normal(size=(len(X), targets)), rng.uniform(0.1, 0.6, len(X))


def evaluate(function, kernel, X, Y, noise, **options):
    return function(kernel, kernel.prepare(X), Y, noise, **options)


def covariance(kernel, X, noise):
    return kernel(X) + np.diag(noise)


# ---- values ----


@PROBLEMS
def test_likelihood_is_the_normal_density(case, targets):
    kernel, X, Y, noise = problem(case, targets)
    density = stats.multivariate_normal(cov=covariance(kernel, X, noise))
    expected = sum(density.logpdf(y) for y in Y.T)
    assert evaluate(log_marginal_likelihood, kernel, X, Y, noise).value == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("targets", [1, 2])
def test_likelihood_and_gradient_equal_those_of_scikit_learn(targets):
    Y = np.random.default_rng(2).normal(size=(len(NUMBERS), targets))
    kernel = theirs.ConstantKernel(1.7) * theirs.RBF([1.0, 2.0, 0.5]) + theirs.WhiteKernel(0.3)
    other = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=None).fit(NUMBERS, Y)
    value, gradient = other.log_marginal_likelihood(other.kernel_.theta, eval_gradient=True)
    ours = evaluate(log_marginal_likelihood, 1.7 * RBF([1.0, 2.0, 0.5]), NUMBERS, Y, np.full(len(Y), 0.3))
    by_logarithm = [
        1.7 * ours.gradients["factor"],
        *(ours.gradients["kernel__length_scale"] * [1.0, 2.0, 0.5]),
        0.3 * ours.by_noise.sum(),
    ]
    assert ours.value == pytest.approx(value, rel=1e-8)
    np.testing.assert_allclose(by_logarithm, gradient, rtol=1e-8)


@pytest.mark.parametrize(("case", "targets"), [p for p in PAIRS if p[0] != "several tiles"])
def test_leave_one_out_is_the_density_given_the_other_targets(case, targets):
    kernel, X, Y, noise = problem(case, targets)
    A, expected = covariance(kernel, X, noise), 0.0
    for i in range(len(Y)):
        others = np.delete(np.arange(len(Y)), i)
        weights = np.linalg.solve(A[np.ix_(others, others)], A[others, i])
        deviation = np.sqrt(A[i, i] - weights @ A[others, i])
        expected += stats.norm.logpdf(Y[i], weights @ Y[others], deviation).sum()
    assert evaluate(log_leave_one_out, kernel, X, Y, noise).value == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("function", OBJECTIVES)
def test_one_input_has_the_density_of_one_number(function):
    result = evaluate(function, 2.0 * RBF(1.0), np.ones((1, 1)), np.array([[0.7]]), np.array([0.5]))
    assert result.value == pytest.approx(stats.norm.logpdf(0.7, scale=np.sqrt(2.5)), rel=1e-12)


@pytest.mark.parametrize("function", OBJECTIVES)
def test_number_of_threads_does_not_matter(function):
    kernel, X, Y, noise = problem("several tiles", 1)
    one, two = (evaluate(function, kernel, X, Y, noise, threads=threads) for threads in (1, 2))
    assert one.value == pytest.approx(two.value, rel=1e-12)
    for name, gradient in one.gradients.items():
        np.testing.assert_allclose(gradient, two.gradients[name], rtol=1e-9)


# ---- gradients ----


@PROBLEMS
@each("function", OBJECTIVES)
def test_gradient_by_hyperparameters_equals_differences(function, case, targets):
    kernel, X, Y, noise = problem(case, targets)
    result = evaluate(function, kernel, X, Y, noise)
    start = {name: np.asarray(kernel.get_params()[name]) for name in result.gradients}
    # one random direction through all hyper-parameters sees an error in any of them
    rng = np.random.default_rng(3)
    direction = {name: value * rng.uniform(0.5, 1.0, value.shape) for name, value in start.items()}

    def moved(change):
        values = {name: (value + change * direction[name])[()] for name, value in start.items()}
        return evaluate(function, clone(kernel).set_params(**values), X, Y, noise).value

    slopes = [np.vdot(result.gradients[name], direction[name]) for name in start]
    tolerance = 1e-7 * (np.abs(slopes).sum() + abs(result.value))
    assert sum(slopes) == pytest.approx(derivative(moved, 3e-3), abs=tolerance)


@pytest.mark.parametrize(("case", "targets"), [p for p in PAIRS if p[0] != "strings"])
def test_gradient_by_inputs_equals_differences(case, targets):
    kernel, X, Y, noise = problem(case, targets)
    direction = np.random.default_rng(3).normal(size=X.shape)
    result = evaluate(log_marginal_likelihood, kernel, X, Y, noise, by_inputs=True)
    assert evaluate(log_marginal_likelihood, kernel, X, Y, noise).by_inputs is None

    def moved(change):
        return evaluate(log_marginal_likelihood, kernel, X + change * direction, Y, noise).value

    slopes = result.by_inputs * direction
    tolerance = 1e-7 * (np.abs(slopes).sum() + abs(result.value))
    assert slopes.sum() == pytest.approx(derivative(moved, 1e-3), abs=tolerance)


@pytest.mark.parametrize("function", OBJECTIVES)
def test_gradient_names_every_hyperparameter_in_its_shape(function):
    kernel, X, Y, noise = problem("nested", 1)
    gradients = evaluate(function, kernel, X, Y, noise).gradients
    assert gradients.keys() == kernel.contract(X, np.eye(len(X))).keys()
    for name, gradient in gradients.items():
        assert np.shape(gradient) == np.shape(kernel.get_params()[name])


@PROBLEMS
@each("function", OBJECTIVES)
def test_gradient_by_noise_equals_differences(function, case, targets):
    kernel, X, Y, noise = problem(case, targets)
    direction = noise * np.random.default_rng(4).uniform(-1.0, 1.0, len(noise))
    result = evaluate(function, kernel, X, Y, noise)
    expected = derivative(lambda change: evaluate(function, kernel, X, Y, noise + change * direction).value, 3e-3)
    tolerance = 1e-7 * (np.abs(result.by_noise * direction).sum() + abs(result.value))
    assert result.by_noise @ direction == pytest.approx(expected, abs=tolerance)


# ---- memory ----


@pytest.mark.parametrize(("function", "matrices"), [(log_marginal_likelihood, 1), (log_leave_one_out, 2)])
def test_objectives_with_gradients_need_few_matrices(function, matrices, peak_of):
    n = 1000
    rng = np.random.default_rng(5)
    X, Y, kernel = rng.normal(size=(n, 8)), rng.normal(size=(n, 1)), RBF(np.ones(8))
    evaluate(function, kernel, X[:300], Y[:300], np.full(300, 0.1))  # compiles
    peak, _ = peak_of(lambda: evaluate(function, kernel, X, Y, np.full(n, 0.1)))
    assert matrices < peak / (8 * n * n) < matrices + 0.9  # the first holds for the test to see anything at all


# ---- the factor ----


@pytest.fixture
def factor_and_matrix():
    kernel, X, _, noise = problem("nested", 1)
    return Factor(kernel, kernel.prepare(X), noise), covariance(kernel, X, noise)


def test_factor_of_a_regular_matrix(factor_and_matrix):
    factor, A = factor_and_matrix
    B = np.random.default_rng(6).normal(size=(len(A), 2))
    L = np.tril(factor.L)
    assert factor.jitter == 0.0
    np.testing.assert_allclose(L @ L.T, A, rtol=1e-12, atol=1e-12 * np.abs(A).max())
    assert factor.log_determinant == pytest.approx(np.linalg.slogdet(A)[1], rel=1e-10)
    np.testing.assert_allclose(A @ factor.solve(B), B, atol=1e-10)
    np.testing.assert_allclose(L @ factor.half_solve(B), B, atol=1e-10)
    np.testing.assert_allclose(np.tril(factor.invert()), np.tril(np.linalg.inv(A)), atol=1e-10)


def test_factor_leaves_right_hand_sides_alone(factor_and_matrix):
    factor, A = factor_and_matrix
    B = np.asfortranarray(np.random.default_rng(6).normal(size=(len(A), 2)))
    before = B.copy()
    factor.solve(B)
    factor.half_solve(B)
    np.testing.assert_array_equal(B, before)


def test_error_bound_of_the_certificate_is_reached():
    """An error along an eigenvector of K with eigenvalue equal to the noise: ||f - f*|| = |r| / (2 sqrt(noise))."""
    K = NESTED(NUMBERS)
    values, vectors = np.linalg.eigh(K)
    noise, kernel = np.full(len(K), values[12]), Precomputed()
    Y = np.random.default_rng(6).normal(size=(len(K), 2))
    factor = Factor(kernel, kernel.prepare(K), noise)
    wrong = 0.3 * np.outer(vectors[:, 12], [1.0, 2.0])
    certificate = factor.certificate(factor.solve(Y) + wrong, Y, noise, 1e-6)
    distances = np.sqrt(np.einsum("ij,ij->j", wrong, K @ wrong))
    np.testing.assert_allclose(certificate.error_bound, distances, rtol=1e-6)
    assert not certificate.converged
    assert certificate.residual == pytest.approx(
        (2 * noise[0] * 0.3 * np.array([1, 2]) / np.linalg.norm(Y, axis=0)).max()
    )
    # along any other one it is larger, whatever the noise of each input
    noise = np.linspace(0.1, 2.0, len(K))
    factor = Factor(kernel, kernel.prepare(K), noise)
    for v in vectors.T:
        bound = factor.certificate(factor.solve(Y) + v[:, None], Y, noise, 1e-6).error_bound
        assert np.all(bound >= np.sqrt(v @ K @ v))


def test_both_triangles_of_the_inverse():
    kernel, X, _, noise = problem("several tiles", 1)
    inverse = Factor(kernel, kernel.prepare(X), noise).inverse()
    np.testing.assert_allclose(inverse, np.linalg.inv(covariance(kernel, X, noise)), rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(inverse, inverse.T)


@each("noise", [1.0, 1e-4, 1e-9])
@each("kernel", [RBF(1.0), Matern(2.0), Linear() + 3.0])
def test_condition_is_within_ten_of_the_truth(kernel, noise):
    v = np.full(len(NUMBERS), noise)
    truth = np.linalg.cond(covariance(kernel, NUMBERS, v), 1)
    assert truth / 10 < Factor(kernel, kernel.prepare(NUMBERS), v).condition < 10 * truth


@each("scale", [1e-6, 1.0, 1e6])
@each(
    ("kernel", "X"),
    [
        (Linear(), np.repeat(NUMBERS, 4, axis=0)),
        (RBF(3.0), np.linspace(0.0, 1.0, 200)[:, None]),
        (Normalized(Spectrum(2)), STRINGS * 3),
    ],
)
def test_singular_matrices_get_jitter_from_the_ladder(kernel, X, scale):
    kernel = scale * kernel
    K = kernel(X)
    factor = Factor(kernel, kernel.prepare(X), np.zeros(len(K)))
    power = np.log10(factor.jitter / K.diagonal().mean())
    assert power == pytest.approx(round(power), abs=1e-6)
    assert -10 <= round(power) <= -5
    L = np.tril(factor.L)
    np.testing.assert_allclose(L @ L.T, K + factor.jitter * np.eye(len(K)), atol=1e-12 * np.abs(K).max())


def test_jitter_is_the_first_that_is_enough():
    """An eigenvalue of -3e-8 is beyond jitter 1e-10, 1e-9 and 1e-8 and within 1e-7."""
    Q = np.linalg.qr(np.random.default_rng(7).normal(size=(20, 20)))[0]
    A = (Q * np.append(-3e-8, np.ones(19))) @ Q.T
    A = 0.5 * (A + A.T)
    kernel = Precomputed()
    factor = Factor(kernel, kernel.prepare(A), np.zeros(20))
    assert factor.jitter == pytest.approx(1e-7 * A.diagonal().mean(), rel=1e-9)


def test_ill_conditioned_but_definite_matrix_gets_none():
    kernel = Precomputed()
    assert Factor(kernel, kernel.prepare(hilbert(8)), np.zeros(8)).jitter == 0.0  # condition 1e10


@pytest.mark.parametrize("kernel", [-1.0 * RBF(1.0), RBF(1.0) + -5.0])
def test_hopeless_matrix_says_what_to_do(kernel):
    with pytest.raises(np.linalg.LinAlgError, match=r"(?s)not positive definite.*noise.*psd\.report"):
        Factor(kernel, kernel.prepare(NUMBERS), np.zeros(len(NUMBERS)))
