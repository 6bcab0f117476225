"""RBF networks against SciPy, natural cubic splines, polynomials and refits."""

import pickle

import numpy as np
import pytest
from each_case import each
from scipy.interpolate import CubicSpline, RBFInterpolator
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn_contract import faults

from representer import RBFNetwork
from representer.kernels import RBF, Multiquadric, Polyharmonic, Precomputed, Sigmoid, Spectrum, ThinPlate
from representer.solvers.saddle import Saddle
from representer.testing.kernel_laws import derivative

RNG = np.random.default_rng(0)
X = RNG.uniform(-2.0, 2.0, (60, 2))
Y = np.stack([np.sin(2.0 * X[:, 0]) * X[:, 1], np.cos(X).sum(axis=1)], axis=1) + 0.05 * RNG.normal(size=(60, 2))
y = Y[:, 0]
Z = RNG.uniform(-2.5, 2.5, (15, 2))


@pytest.mark.filterwarnings("ignore:.*do not determine the .* polynomials:UserWarning")  # 15 points in 30 columns
def test_contract_of_scikit_learn():
    assert faults(RBFNetwork()) == []


# ---- agreement ----

THEIRS = [
    ("thin_plate", "thin_plate_spline", 1.0),
    ("linear_spline", "linear", 1.0),
    ("cubic", "cubic", 1.0),
    ("quintic", "quintic", 1.0),
    (Multiquadric(0.8), "multiquadric", 1.25),
    (RBF(0.5), "gaussian", 2.0**0.5),
    (Polyharmonic(3, 0.5), "cubic", 2.0),
]


@each(("kernel", "name", "epsilon"), THEIRS)
@each("alpha", [0.0, 0.1])
@each("degree", [None, 2])
def test_agrees_with_scipy(kernel, name, epsilon, alpha, degree):
    expected = RBFInterpolator(X, Y, kernel=name, epsilon=epsilon, smoothing=alpha, degree=degree)(Z)
    model = RBFNetwork(kernel, alpha=alpha, degree=degree).fit(X, Y)
    np.testing.assert_allclose(model.predict(Z), expected, rtol=1e-8, atol=1e-8)


def test_inverse_multiquadric_agrees_with_scipy():
    scale = RBFNetwork("inverse_multiquadric").fit(X, y).kernel_.length_scale
    expected = RBFInterpolator(X, y, kernel="inverse_multiquadric", epsilon=1.0 / scale)(Z)
    np.testing.assert_allclose(RBFNetwork("inverse_multiquadric").fit(X, y).predict(Z), expected, rtol=1e-6)


def test_cubes_in_one_column_are_the_natural_cubic_spline():
    t = np.sort(RNG.uniform(0.0, 5.0, 20))
    values, grid = np.sin(2.0 * t), np.linspace(t[0], t[-1], 50)
    spline = CubicSpline(t, values, bc_type="natural")
    model = RBFNetwork(Polyharmonic(3)).fit(t[:, None], values)
    np.testing.assert_allclose(model.predict(grid[:, None]), spline(grid), rtol=1e-9, atol=1e-10)
    # a'Ka is 12 times the integral of squared second derivatives: linear pieces between the knots
    second = spline(t, 2)
    energy = (np.diff(t) * (second[1:] ** 2 + second[1:] * second[:-1] + second[:-1] ** 2) / 3.0).sum()
    assert model.function_.energy() == pytest.approx(energy / 12.0, rel=1e-8)


# ---- laws ----


@each("kernel", ["thin_plate", "quintic", "multiquadric", "rbf", Polyharmonic(4)])
@each("alpha", [0.0, 0.5])
@each("centers", [None, 20])
def test_polynomials_are_reproduced(kernel, alpha, centers):
    if alpha == 0 and kernel == "rbf":
        kernel = RBF(0.5)
    model = RBFNetwork(kernel, alpha=alpha, degree=2, centers=centers)
    P = np.stack([1.0 + X[:, 0] - X[:, 1], X[:, 0] * X[:, 1] - 2.0 * X[:, 0] ** 2], axis=1)
    expected = np.stack([1.0 + Z[:, 0] - Z[:, 1], Z[:, 0] * Z[:, 1] - 2.0 * Z[:, 0] ** 2], axis=1)
    model.fit(X, P)
    np.testing.assert_allclose(model.predict(Z), expected, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(model.function_.energy(), 0.0, atol=1e-9)


@pytest.mark.parametrize("kernel", ["thin_plate", "cubic", Multiquadric(0.5), RBF(0.5), Polyharmonic(4)])
def test_dual_basis_is_cardinal_and_adds_up(kernel):
    model = RBFNetwork(kernel).fit(X, y)
    every = model.dual_basis()
    np.testing.assert_allclose(every(X), np.eye(len(X)), atol=1e-8)
    np.testing.assert_allclose(every(Z) @ y, model.predict(Z), rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(every(Z).sum(axis=1), 1.0, rtol=1e-8)  # constants are reproduced
    np.testing.assert_allclose(model.dual_basis([3, 5])(Z), every(Z)[:, [3, 5]], atol=1e-9)
    np.testing.assert_allclose(model.dual_basis(3)(Z), every(Z)[:, 3], atol=1e-9)


@pytest.mark.parametrize("centers", [None, 12])
def test_dual_basis_of_smoothing_and_of_centers(centers):
    model = RBFNetwork(alpha=0.3, centers=centers).fit(X, Y)
    np.testing.assert_allclose(model.dual_basis()(Z) @ Y, model.predict(Z), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("centers", [None, 12])
def test_path_is_exact_leave_one_out(centers):
    alphas = np.logspace(-4, 2, 7)
    model = RBFNetwork(alpha=alphas, centers=X[:12] if centers else None).fit(X, Y)
    assert model.alpha_ == alphas[model.loo_scores_.argmax()]
    same = RBFNetwork(alpha=model.alpha_, centers=X[:12] if centers else None)
    np.testing.assert_allclose(model.predict(Z), clone(same).fit(X, Y).predict(Z), rtol=1e-9, atol=1e-10)
    for i in (0, 17, 59):
        rest = np.delete(np.arange(60), i)
        expected = same.fit(X[rest], Y[rest]).predict(X[i : i + 1])[0]
        np.testing.assert_allclose(model.loo_predictions_[i], expected, rtol=1e-8, atol=1e-9)
    chosen = model.loo_scores_[np.flatnonzero(alphas == model.alpha_)[0]]
    assert -chosen == pytest.approx(np.mean((Y - model.loo_predictions_) ** 2), rel=1e-12)


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("degree", [1, 3])
def test_gradient(outputs, degree):
    f = RBFNetwork(alpha=0.1, degree=degree).fit(X, y if outputs == 1 else Y).function_
    direction = np.array([0.6, -0.8])
    along = f.gradient(Z[:3]) @ direction
    for i in range(3):
        for t in range(outputs):
            value = derivative(lambda h, i=i, t=t: f(Z[i : i + 1] + h * direction).reshape(-1)[t], 1e-4)
            assert along.reshape(3, -1)[i, t] == pytest.approx(value, rel=1e-6, abs=1e-7)


def test_shift_and_scale_do_not_matter_for_thin_plates():
    first = RBFNetwork().fit(X, y).predict(Z)
    second = RBFNetwork().fit(100.0 + 1e3 * X, y).predict(100.0 + 1e3 * Z)
    np.testing.assert_allclose(second, first, rtol=1e-8, atol=1e-9)


def test_leave_one_out_of_points_that_do_not_count():
    weights = np.ones(60)
    weights[::4] = 0.0
    some = weights > 0
    for Y in (y, np.column_stack([y, -y])):
        model = RBFNetwork(alpha=[1e-3, 1e-1]).fit(X, Y, sample_weight=weights)
        without = RBFNetwork(alpha=[1e-3, 1e-1]).fit(X[some], Y[some])
        assert model.loo_predictions_.shape == Y.shape
        np.testing.assert_allclose(model.loo_predictions_[some], without.loo_predictions_, rtol=1e-9)
        np.testing.assert_allclose(model.loo_predictions_[~some], without.predict(X[~some]), rtol=1e-9)


@pytest.mark.parametrize("alpha", [0.0, 0.2])
def test_weights_are_repetition(alpha):
    weights = RNG.integers(0, 3, 60).astype(float)
    often = np.repeat(np.arange(60), weights.astype(int))
    one = RBFNetwork(alpha=alpha).fit(X, y, sample_weight=weights)
    two = RBFNetwork(alpha=alpha).fit(X[often], y[often])
    np.testing.assert_allclose(one.predict(Z), two.predict(Z), rtol=1e-9, atol=1e-10)


def test_more_alpha_bends_less_and_fits_worse():
    fits = [RBFNetwork(alpha=alpha).fit(X, y) for alpha in (1e-3, 1e-1, 1e1, 1e3)]
    energies = [fit.function_.energy() for fit in fits]
    errors = [np.sum((fit.predict(X) - y) ** 2) for fit in fits]
    assert np.all(np.diff(energies) < 0)
    assert np.all(np.diff(errors) > 0)
    plane = np.linalg.lstsq(np.c_[np.ones(60), X], y, rcond=None)[0]
    far = RBFNetwork(alpha=1e9).fit(X, y).predict(Z)
    np.testing.assert_allclose(far, np.c_[np.ones(15), Z] @ plane, atol=1e-6)


# ---- use ----


def test_float32_pickle_and_search():
    model = RBFNetwork(alpha=0.1).fit(X.astype(np.float32), y)
    assert model.predict(Z.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(model.predict(Z), RBFNetwork(alpha=0.1).fit(X, y).predict(Z), atol=1e-5)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(Z), model.predict(Z))
    search = GridSearchCV(RBFNetwork(ThinPlate()), {"alpha": [0.01, 1.0], "kernel__length_scale": [1.0, 2.0]}, cv=3)
    assert search.fit(X, y).best_params_["alpha"] == 0.01


def test_centers_are_data_points_and_reproducible():
    first, second = (RBFNetwork(centers=10, random_state=3).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(first.centers_, second.centers_)
    assert first.dual_coef_.shape == (10,)
    assert all((center == X).all(axis=1).any() for center in first.centers_)
    assert len(repr(first.function_)) < 100


def test_plan():
    assert RBFNetwork().plan(X, y).solver == "null_space_cholesky"
    assert RBFNetwork(centers=X[:9]).plan(X).solver == "svd"
    many = np.zeros((30_000, 1))
    assert "use fewer centers (such as centers=1000)" in RBFNetwork(memory=10**9).plan(many).refusal
    plan = RBFNetwork(memory=10**9, centers=500).plan(many)
    assert (plan.refusal, plan.bytes) == ("", 8 * 4 * (30_000 * 500 + 500**2))
    assert RBFNetwork(centers=10**6).plan(X).bytes == RBFNetwork(centers=60).plan(X).bytes
    for options in ({"alpha": -1.0}, {"kernel": "thinplate"}, {"centers": 0.5}, {"degree": 0}, {"memory": 0}):
        with pytest.raises(ValueError, match=next(iter(options))):
            RBFNetwork(**options).plan(X)


def test_later_changes_of_points_and_centers_do_not_reach_the_fit():
    points, centers = X.copy(), X[:9].copy()
    model = RBFNetwork(alpha=0.1, centers=centers).fit(points, y)
    before = model.predict(Z)
    points += 1.0
    centers += 1.0
    np.testing.assert_array_equal(model.predict(Z), before)


def test_threads_are_those_of_the_model():
    model = RBFNetwork(alpha=0.1, threads=1).fit(X, y)
    assert model.function_.radial.threads == model.dual_basis(0).radial.threads == 1


# ---- too few points, and errors ----


def test_too_few_points_give_the_least_polynomial():
    with pytest.warns(UserWarning, match="2 points in 2 columns do not determine the 3 polynomials up to degree 1"):
        model = RBFNetwork().fit([[0.0, 0.0], [2.0, 0.0]], [1.0, 3.0])
    np.testing.assert_allclose(model.predict([[0.0, 0.0], [2.0, 0.0], [1.0, 9.0]]), [1.0, 3.0, 2.0], atol=1e-12)
    with pytest.warns(UserWarning, match=r"1 points .* is taken\. Use more"):
        assert RBFNetwork().fit([[5.0]], [3.0]).predict([[5.0]]) == pytest.approx(3.0)


@pytest.mark.parametrize("centers", [None, 10])
def test_a_constant_column_does_not_matter(centers):
    options = {"kernel": "cubic", "alpha": 0.1, "centers": centers}
    with pytest.warns(UserWarning, match="column 1 of X is constant: leave it out"):
        wide = RBFNetwork(**options).fit(np.c_[X[:, 0], np.full(60, 7.0)], y)
    narrow = RBFNetwork(**options).fit(X[:, :1], y)
    expected = narrow.predict(Z[:, :1])
    np.testing.assert_allclose(wide.predict(np.c_[Z[:, 0], np.full(15, 7.0)]), expected, rtol=1e-8)


def test_path_without_points_to_leave_out():
    with pytest.raises(ValueError, match="leave-one-out needs more"):
        RBFNetwork(alpha=[0.1, 1.0]).fit(X[:3], y[:3])


@each(
    ("options", "message"),
    [
        ({"kernel": "thinplate"}, "kernel is 'thinplate'; .* thin_plate"),
        ({"kernel": "precomputed"}, "kernel is 'precomputed'"),
        ({"kernel": 3}, "kernel is 3"),
        ({"kernel": Precomputed()}, "not a kernel on vectors"),
        ({"kernel": Spectrum(2)}, "not a kernel on vectors"),
        ({"kernel": Sigmoid()}, "not even conditionally"),
        ({"kernel": -1.0 * ThinPlate()}, "not even conditionally"),
        ({"degree": 0}, "needs polynomials of degree 1"),
        ({"degree": -2}, "degree is -2"),
        ({"degree": 1.5}, r"degree is 1\.5"),
        ({"alpha": -1.0}, r"alpha is -1\.0"),
        ({"alpha": "much"}, "alpha is 'much'"),
        ({"alpha": [0.0, 1.0]}, "has a 0 in it"),
        ({"alpha": []}, "alpha is"),
        ({"centers": 0}, "centers is 0"),
        ({"centers": 2.5}, "centers is 2.5; use an integer"),
        ({"centers": "kmeans"}, "centers is 'kmeans'; use an integer"),
        ({"centers": np.ones((5, 2))}, "equal rows; give each point once"),
        ({"threads": 0}, "threads is 0"),
        ({"centers": np.ones((5, 3))}, "centers has 3 columns"),
        ({"kernel": RBF(100.0)}, "singular to rounding on these points; use a larger alpha"),
    ],
)
def test_options_that_cannot_work(options, message):
    with pytest.raises(ValueError, match=message):
        RBFNetwork(**options).fit(X, y)


def test_points_that_cannot_work():
    with pytest.raises(ValueError, match=r"Rows 3 and 60 of X are equal and their targets are not.*alpha > 0"):
        RBFNetwork().fit(np.r_[X, X[3:4]], np.append(y, 7.0))
    with pytest.raises(MemoryError, match="centers=1000"):
        RBFNetwork(memory=10_000).fit(X, y)
    with pytest.raises(NotFittedError):
        RBFNetwork().dual_basis(0)
    with pytest.raises(IndexError):
        RBFNetwork().fit(X, y).dual_basis(60)


@pytest.mark.parametrize("options", [{}, {"alpha": 0.1}, {"alpha": [0.1, 1.0], "centers": 8}], ids=str)
def test_certificate_is_that_of_the_coefficients(options):
    """The residual of the system, or of the gradient where centres are not the data."""
    rng = np.random.default_rng(0)
    X, Y, weights = rng.uniform(size=(30, 2)), rng.normal(size=(30, 2)), rng.uniform(0.5, 2.0, 30)
    model = RBFNetwork(**options).fit(X, Y, weights)
    found, f = model.certificate_, model.function_
    assert found.converged
    assert found.residuals.shape == (2,)
    assert found.residual < 1e-12
    rest = weights[:, None] * (Y - f(X))
    P = f.polynomials(model.centers_)
    gradient = model.kernel_(X, model.centers_).T @ rest - model.alpha_ * model.kernel_(model.centers_) @ f.radial.coef
    gradient -= P @ np.linalg.lstsq(P, gradient, rcond=None)[0]
    np.testing.assert_allclose(gradient, 0.0, atol=1e-11)
    n, m = 30, len(model.centers_)
    assert found.kernel_evaluations == (4 * n * m + m * (m + 1) if "centers" in options else n * (n + 1))


def test_a_solution_that_is_off_is_told(monkeypatch):
    solve = Saddle.solve
    monkeypatch.setattr(Saddle, "solve", lambda self, *given: tuple(1.001 * part for part in solve(self, *given)))
    X = np.random.default_rng(0).uniform(size=(20, 2))
    with pytest.warns(
        ConvergenceWarning, match="relative residual of 0.001, above the tolerance 1e-06; use a larger alpha"
    ):
        RBFNetwork().fit(X, np.sin(X[:, 0]))
