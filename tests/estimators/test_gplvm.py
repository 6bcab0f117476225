"""The latent variable model against PCA, differences, Gaussian process regression and its own laws."""

import pickle
import warnings

import numpy as np
import pytest
from each_case import each
from scipy.linalg import subspace_angles
from scipy.stats import spearmanr
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn_contract import faults

from representer import GPLVM, GaussianProcessRegressor
from representer.estimators import gplvm
from representer.estimators.hyperparameters import LatentParameters, LogParameters
from representer.kernels import RBF, Linear, Matern, Sigmoid, Spectrum, ThinPlate
from representer.testing.kernel_laws import derivative

RNG = np.random.default_rng(0)
LATENT = RNG.uniform(-1.5, 1.5, size=(60, 2))
X = np.sin(LATENT @ RNG.normal(size=(2, 6)) + RNG.uniform(size=6)) + 0.02 * RNG.normal(size=(60, 6)) + 3.0


def fitted(X, *components, max_iter=60, **options):
    """A model after a short search."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return GPLVM(*components, max_iter=max_iter, **options).fit(X)


@pytest.fixture(scope="module")
def exact():
    return fitted(X)


@pytest.fixture(scope="module")
def sparse():
    return fitted(X, n_landmarks=20)


MODELS = pytest.mark.parametrize("name", ["exact", "sparse"])


def test_contract_of_scikit_learn():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert faults(GPLVM(n_landmarks=5, max_iter=5)) == []


# ---- laws ----


@pytest.mark.parametrize("n_landmarks", [None, 2])  # a linear kernel of two columns has rank two
def test_linear_kernel_is_principal_component_analysis(n_landmarks):
    """The latent points span the principal components, with the likelihood and noise of probabilistic PCA."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 2)) @ rng.normal(size=(2, 5)) + 0.3 * rng.normal(size=(50, 5))
    start = rng.normal(size=(50, 2))  # not the principal components
    model = fitted(X, kernel=Linear(1.0), init=start, n_landmarks=n_landmarks, max_iter=2000, tol=1e-13)
    scores = PCA(2).fit_transform(X)
    angle = subspace_angles(model.embedding_, scores)[0]
    assert angle < 1e-4
    # dual probabilistic PCA: eigenvalues of X X' / d beyond the second make up the noise
    centred = X - X.mean(axis=0)
    values = np.linalg.eigvalsh(centred @ centred.T / 5)[::-1]
    noise = values[2:].mean()
    Z = model.embedding_ / model.kernel_.length_scale
    lengths = np.linalg.eigvalsh(Z.T @ Z)[::-1]
    assert model.noise_ == pytest.approx(noise, rel=1e-3)
    np.testing.assert_allclose(lengths, values[:2] - noise, rtol=1e-3)
    log_determinant = np.log(values[:2]).sum() + 48 * np.log(noise)
    best = -0.5 * 5 * (50 * np.log(2 * np.pi) + log_determinant + 50)
    assert model.log_marginal_likelihood_ == pytest.approx(best, abs=1e-2)


@each("kernel", [1.3 * RBF([0.8, 1.2]), RBF(0.7) * Matern(2.0, nu=2.5) + 0.3 * Linear()])
@each("n_landmarks", [0, 9])
@each("noise", [None, 0.1])
def test_gradient_equals_differences(kernel, n_landmarks, noise, rng):
    """The gradient that the search follows, in one random direction through all unknowns."""
    model, Y = GPLVM(kernel=kernel), X - X.mean(axis=0)
    unknowns = LatentParameters(LogParameters(kernel, kernel.prepare(LATENT)), len(X), 2, noise)
    points = np.concatenate([LATENT, rng.normal(size=(n_landmarks, 2))])
    theta = np.append(unknowns.parameters.start, [-2.0] * (noise is None))
    x = np.append(points.ravel(), theta)
    direction = rng.normal(size=x.shape)

    def objective(x):
        Z, U, kernel, noise = unknowns.at(x)
        return unknowns.gradient(x, *model._likelihood(kernel, Z, U, noise, Y))

    slope = objective(x)[1] @ direction
    assert slope == pytest.approx(derivative(lambda h: objective(x + h * direction)[0], 1e-3), rel=1e-6)


@MODELS
def test_likelihood_rises(name, request):
    model = request.getfixturevalue(name)
    assert np.all(np.diff(model.path_) >= 0)
    assert model.log_marginal_likelihood_ == model.path_[-1]
    assert len(model.path_) == model.n_iter_ + 1
    assert model.log_marginal_likelihood_ > model.path_[0] + 200


def test_rotation_and_shift_of_the_latent_space_do_not_matter(exact):
    """The likelihood sees distances only: a rotated start ends at the rotated map, with the same likelihood."""
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    start = PCA(2, whiten=True).fit_transform(X)
    first = fitted(X, init=start, max_iter=5)
    second = fitted(X, init=start @ turn + 4.0, max_iter=5)
    assert second.log_marginal_likelihood_ == pytest.approx(first.log_marginal_likelihood_, rel=1e-7)
    np.testing.assert_allclose(second.embedding_, first.embedding_ @ turn + 4.0, atol=1e-5)


def test_one_latent_component_follows_a_curve():
    """Five eighths of a circle: the first principal component folds it, one latent component does not."""
    t = np.linspace(0.0, 1.25 * np.pi, 60)
    curve = np.c_[np.cos(t), np.sin(t), 0.3 * t] + 0.01 * RNG.normal(size=(60, 3))
    model = fitted(curve, 1)
    assert np.abs(spearmanr(model.embedding_[:, 0], t).statistic) > 0.999
    error = np.mean((model.inverse_transform(model.embedding_) - curve) ** 2)
    pca = PCA(1).fit(curve)
    assert error < 0.01 * np.mean((pca.inverse_transform(pca.transform(curve)) - curve) ** 2)


def test_bound_is_below_the_likelihood_at_the_same_place(exact, sparse):
    gp = GaussianProcessRegressor(sparse.kernel_, noise=sparse.noise_, optimizer=None)
    at = gp.fit(sparse.embedding_, X - X.mean(axis=0)).log_marginal_likelihood_
    assert sparse.log_marginal_likelihood_ < at
    assert sparse.log_marginal_likelihood_ > at - 60


# ---- use ----


def test_map_is_gaussian_process_regression(exact):
    Z = RNG.normal(size=(9, 2))
    gp = GaussianProcessRegressor(exact.kernel_, noise=exact.noise_, optimizer=None)
    mean, std = gp.fit(exact.embedding_, X - X.mean(axis=0)).predict(Z, return_std=True)
    assert exact.log_marginal_likelihood_ == pytest.approx(gp.log_marginal_likelihood_, rel=1e-9)
    ours = exact.inverse_transform(Z, return_std=True)
    np.testing.assert_allclose(ours[0], mean + X.mean(axis=0), rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(ours[1], std, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(exact.precision(Z), 1.0 / (std[:, 0] ** 2 + exact.noise_), rtol=1e-5)
    np.testing.assert_array_equal(exact.inverse_transform(Z), ours[0])


@MODELS
def test_map_reconstructs_and_is_sure_at_the_data(name, request):
    model = request.getfixturevalue(name)
    assert np.abs(model.inverse_transform(model.embedding_) - X).max() < 0.4
    far = model.precision(np.full((1, 2), 1e3) * model.embedding_.std())
    assert far[0] == pytest.approx(1.0 / (model.kernel_.factor + model.noise_), rel=1e-6)
    assert np.all(model.precision(model.embedding_) > 2.0 * far)


@MODELS
def test_new_rows_find_their_place(name, request):
    """Data made at new latent points are led back there, at a density not below that of the start."""
    model = request.getfixturevalue(name)
    Z = model.embedding_[:20] + 0.05 * RNG.normal(size=(20, 2))
    new = model.inverse_transform(Z)
    back = model.transform(new)
    assert np.median(np.linalg.norm(back - Z, axis=1)) < 0.02
    Y = new - X.mean(axis=0)
    at = model._map.log_density
    assert np.all(at(back, Y)[0] >= at(Z, Y)[0] - 1.0)
    np.testing.assert_array_equal(model.transform(X), model.embedding_)


def test_rows_do_not_depend_on_each_other(exact):
    new = X[:10] + 0.05 * RNG.normal(size=(10, 6))
    one_by_one = np.concatenate([exact.transform(row[None]) for row in new])
    np.testing.assert_allclose(exact.transform(new), one_by_one, atol=1e-5)


def test_float32_pickle_and_names(exact):
    model = fitted(X.astype(np.float32), n_landmarks=10)
    Z = model.transform(X.astype(np.float32))
    assert Z.dtype == np.float32
    assert model.inverse_transform(Z).dtype == np.float32
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.inverse_transform(Z), model.inverse_transform(Z))
    assert list(model.get_feature_names_out()) == ["gplvm0", "gplvm1"]


def test_length_scales_and_noise():
    model = fitted(X, 3, kernel=1.0 * RBF([1.0, 1.0, 1.0]), noise=0.01)
    assert model.noise_ == 0.01
    assert model.kernel_.kernel.length_scale.shape == (3,)


def test_more_components_than_columns_and_constant_data():
    few = X[:12, :1]
    assert fitted(few, 2).embedding_.shape == (12, 2)
    flat = fitted(np.full((6, 3), 2.0))
    np.testing.assert_allclose(flat.inverse_transform(flat.embedding_), 2.0, atol=1e-6)


def test_repeated_rows_share_a_place():
    Z = fitted(np.r_[X[:25], X[:5]], max_iter=5).embedding_
    np.testing.assert_allclose(Z[25:], Z[:5], atol=1e-7)


def test_classes_of_flowers_are_apart():
    """The nearest neighbour in the map is of the same class about as often as in the data."""
    data, label = load_iris(return_X_y=True)
    Z = fitted(data, n_landmarks=15).embedding_
    distances = np.linalg.norm(Z[:, None] - Z[None], axis=2) + np.diag(np.full(150, np.inf))
    assert np.mean(label[distances.argmin(axis=1)] == label) > 0.9


def test_report_and_warning(exact):
    text = exact.report()
    assert "60 rows in 2 latent components" in text
    assert "exact" in text
    assert f"{exact.n_iter_} iterations" in text
    with pytest.warns(ConvergenceWarning, match=r"stopped early \(STOP: TOTAL NO. OF ITERATIONS.*max_iter"):
        model = GPLVM(max_iter=3, n_landmarks=7).fit(X)
    assert not model.converged_
    assert model.n_iter_ == 3
    assert "a lower bound through 7 landmarks" in model.report()
    assert "try: a larger max_iter" in model.report()


def test_a_search_goes_on_where_the_likelihood_is_steep():
    """A rough tol ends L-BFGS where the likelihood hardly rises, and the certificate would not hold there."""
    model = GPLVM(tol=1e-2).fit(X[:20])
    assert model.converged_
    assert model.certificate_.converged
    assert len(model.path_) == model.n_iter_ + 1
    with pytest.warns(ConvergenceWarning, match="stopped early"):
        model = GPLVM(tol=1e-2, max_iter=model.n_iter_ - 1).fit(X[:20])
    assert not model.converged_


def test_many_rows_go_through_landmarks():
    model = GPLVM(max_iter=2)
    assert model._count_landmarks(2000) == 0
    assert model._count_landmarks(2001) == 100
    assert GPLVM(n_landmarks=30)._count_landmarks(20) == 20
    with pytest.raises(MemoryError, match=r"no landmarks needs 0.03\d* GB.*n_landmarks=100"):
        GPLVM(memory=10**6).fit(np.tile(X, (32, 1))[:1897])
    with pytest.raises(MemoryError, match="n_landmarks=15"):
        GPLVM(memory=10**4, n_landmarks=30).fit(X)


@pytest.mark.parametrize("n_landmarks", [None, 60])
def test_plan_is_what_a_fit_takes(n_landmarks, peak_of):
    data = np.tile(X, (12, 1)) + 0.1 * RNG.normal(size=(720, 6))
    fitted(data[:200], n_landmarks=n_landmarks, max_iter=2)  # compiles
    peak, model = peak_of(lambda: fitted(data, n_landmarks=n_landmarks, max_iter=2))
    plan = model.plan(data)
    assert 0.8 < plan.bytes / peak < 1.2
    with pytest.raises(MemoryError, match=f"needs {plan.bytes / 1e9:.3g} GB"):
        model.set_params(memory=plan.bytes - 1).fit(data)
    assert "GB; use n_landmarks=" in str(model.plan(data))


def test_changes_of_the_data_do_not_reach_the_model():
    data = X.copy()
    model = fitted(data, max_iter=3)
    before, embedding = model.transform(X[:5]), model.embedding_.copy()
    data += 1.0
    np.testing.assert_array_equal(model.transform(X[:5]), before)
    with pytest.raises(ValueError, match="init has shape"):
        model.set_params(init=np.zeros((3, 3))).fit(data[:, :2])
    np.testing.assert_array_equal(model.embedding_, embedding)
    np.testing.assert_array_equal(model.transform(X[:5]), before)


# ---- errors ----


@each(
    ("options", "message"),
    [
        ({"n_components": 0}, "n_components is 0"),
        ({"kernel": "rfb"}, "kernel is 'rfb'"),
        ({"kernel": Sigmoid()}, "not positive semidefinite"),
        ({"kernel": ThinPlate()}, "not positive semidefinite"),
        ({"kernel": Spectrum(2)}, "not a kernel on vectors"),
        ({"kernel": "precomputed"}, "not a kernel on vectors"),
        ({"noise": "guess"}, "noise is 'guess'"),
        ({"noise": 0.0}, r"noise is 0\.0"),
        ({"init": "isomap"}, "init is 'isomap'"),
        ({"init": np.zeros((60, 3))}, r"init has shape \(60, 3\)"),
        ({"n_landmarks": 0}, "n_landmarks is 0"),
        ({"max_iter": 0}, "max_iter is 0"),
        ({"tol": -1.0}, "tol is"),
    ],
)
def test_options_that_cannot_work(options, message):
    with pytest.raises(ValueError, match=message):
        GPLVM(**options).fit(X)


def test_latent_points_of_the_wrong_width(exact):
    with pytest.raises(ValueError, match="Z has 3 columns, but latent points have 2"):
        exact.inverse_transform(np.zeros((4, 3)))
    with pytest.raises(NotFittedError):
        GPLVM().report()


@pytest.mark.parametrize("noise", [1e-3, 0.5])
def test_certificate_is_the_gradient_at_the_end(noise, monkeypatch):
    """By differences of a likelihood that is written out, in all unknowns; towards a bound it does not count."""
    monkeypatch.setattr(
        gplvm.hyperparameter_search, "log_bounds", lambda names, start, *_: np.stack([start - 1e-9] * 2, 1)
    )
    Y = X[:12] - X[:12].mean(axis=0)
    model = fitted(X[:12], noise=noise, max_iter=3)

    def likelihood(Z):
        A = model.kernel_(Z) + noise * np.eye(12)
        return -0.5 * (np.trace(Y.T @ np.linalg.solve(A, Y)) + 6 * np.linalg.slogdet(A)[1] + Y.size * np.log(2 * np.pi))

    assert model.certificate_.primal == pytest.approx(-likelihood(model.embedding_), rel=1e-9)
    Z, step = model.embedding_, 1e-5
    units = step * np.eye(24).reshape(24, 12, 2)
    slopes = [(likelihood(Z + unit) - likelihood(Z - unit)) / (2 * step) for unit in units]
    assert model.certificate_.residual == pytest.approx(np.abs(slopes).max() / Y.size, rel=1e-4)
    assert model.certificate_.tolerance == pytest.approx(np.sqrt(model.tol))
    assert f"gradient: {model.certificate_.residual:.2g} for each entry" in model.report()
