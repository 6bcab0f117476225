import numpy as np
import pytest
from each_case import each
from preimage_cases import NESTED, POINTS, PRODUCTS, RADIAL, inputs, representers
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.decomposition import KernelPCA
from sklearn.kernel_ridge import KernelRidge
from threadpoolctl import threadpool_limits

from representer import Function
from representer.kernels import RBF, Linear, Matern, Polynomial, RationalQuadratic
from representer.preimage.distance_constraints import distances, inverse, locate
from representer.preimage.fixed_point import fixed_point
from representer.preimage.target import Target

CASES = RADIAL | PRODUCTS


@each("case", CASES)
def test_finds_the_input_of_a_representer(case):
    f = representers(CASES[case], POINTS, inputs())
    np.testing.assert_allclose(distances(Target(f)), POINTS, atol=1e-3 if case == "Matern" else 1e-6)


def test_far_neighbours_without_values_do_not_mislead(rng):
    """A short length scale: most of the neighbours are so far that f is zero there, to all digits."""
    X = rng.normal(scale=20.0, size=(150, 2))
    X[:12] = POINTS[0, :2] + rng.normal(scale=0.5, size=(12, 2))
    f = representers(RBF(1.0), POINTS[:1, :2], np.vstack([X, POINTS[:1, :2]]))
    np.testing.assert_allclose(distances(Target(f)), POINTS[:1, :2], atol=1e-6)


def test_a_fraction_of_a_representer_has_the_same_preimage():
    """log f(x_i) is then less by a constant, which all neighbours share."""
    f = 0.3 * representers(RBF(3.0), POINTS, inputs())
    np.testing.assert_allclose(distances(Target(f)), POINTS, atol=1e-6)


@threadpool_limits.wrap(limits=1)  # waiting for a busy core, two threads take far longer
def test_digits_are_cleaner_than_by_a_learned_inverse_of_scikit_learn(rng):
    """Projections onto components are no representers, so the neighbours' equations contradict each other."""
    digits = load_digits().data / 8.0 - 1.0
    X, clean = digits[:600], digits[1200:1220]
    noisy = clean + 0.5 * rng.normal(size=clean.shape)
    scale = float(np.sqrt(X.var(axis=0).sum()))
    model = KernelPCA(128, kernel="rbf", gamma=0.5 / scale**2, eigen_solver="dense").fit(X)
    scores, new, errors = model.transform(X), model.transform(noisy), []
    for alpha in (1e-3, 1e-2, 1e-1):  # what KernelPCA(fit_inverse_transform=True) does
        inverse_map = KernelRidge(alpha=alpha, kernel="rbf", gamma=model.gamma).fit(scores, X)
        errors.append(((inverse_map.predict(new) - clean) ** 2).mean())
    target = Target(_projections(RBF(scale), X, noisy, model))
    found, best = distances(target), fixed_point(target)
    reached, least = (target.squared_distances(Z, np.arange(20)).mean() for Z in (found, best))
    assert ((found - clean) ** 2).mean() <= 0.9 * min(errors)
    assert least <= reached <= 1.15 * least


def _projections(kernel, X, noisy, model):
    """Mean plus components of the centred kernel principal components that a model of scikit-learn has found."""
    coef = (model.eigenvectors_ / np.sqrt(model.eigenvalues_)) @ model.transform(noisy).T
    return Function(kernel, X, coef - coef.mean(axis=0) + 1.0 / len(X))


def test_one_point_from_its_distances(rng):
    P, z = rng.normal(size=(1, 8, 3)), rng.normal(size=3)
    found = locate(P, ((P - z) ** 2).sum(axis=2) + 5.0, np.ones((1, 8)))
    np.testing.assert_allclose(found[0], z[None], rtol=1e-10)


def test_point_off_the_plane_is_projected(rng):
    """Three neighbours in four dimensions: the result is the foot of the perpendicular."""
    P, z = rng.normal(size=(3, 4)), rng.normal(size=4)
    along = np.linalg.qr((P[1:] - P[0]).T)[0]
    foot = P[0] + along @ (along.T @ (z - P[0]))
    found = locate(P[None], ((P - z) ** 2).sum(axis=1)[None], np.ones((1, 3)))
    np.testing.assert_allclose(found[0], foot[None], rtol=1e-10)


def test_equal_neighbours_give_themselves():
    P = np.ones((1, 4, 2))
    for found in locate(P, np.full((1, 4), 3.0), np.ones((1, 4))):
        np.testing.assert_array_equal(found, [[1.0, 1.0]])


@pytest.mark.parametrize(
    ("kernel", "s"),
    [
        (RBF(), np.array([[0.0, 0.1, 3.0, 20.0]])),
        (Matern(nu=1.5), np.array([[0.0, 0.1, 3.0, 20.0]])),
        (RationalQuadratic(mixture=0.5), np.array([[0.0, 0.1, 3.0, 20.0]])),
        (Linear(), np.array([[-9.0, 0.0, 5.0]])),
        (Polynomial(3), np.array([[-9.0, 0.0, 5.0]])),
        (Polynomial(2), np.array([[-0.5, 0.0, 5.0]])),
    ],
    ids=repr,
)
def test_inverse_undoes_phi(kernel, s):
    values = s.copy()
    kernel.phi(values)
    low = 0.0 if s.min() == 0 and s.max() == 20 else -30.0
    np.testing.assert_allclose(inverse(kernel, values, low, 100.0), s, atol=1e-6)


def test_values_out_of_range_are_moved_to_the_end():
    found = inverse(RBF(), np.array([[1.5, -0.2]]), 0.0, 50.0)
    np.testing.assert_allclose(found, [[0.0, 50.0]], atol=1e-12)


def test_sparse_inputs_give_the_same(rng):
    X = rng.normal(size=(30, 5)) * (rng.uniform(size=(30, 5)) > 0.6)
    coef = rng.uniform(size=(30, 3)) / 30
    for kernel in (RBF(2.0), Linear()):
        dense, thin = (distances(Target(Function(kernel, Z, coef))) for Z in (X, sparse.csr_array(X)))
        np.testing.assert_allclose(thin, dense, atol=1e-8)


@pytest.mark.parametrize("kernel", list(NESTED.values()), ids=repr)
def test_other_kernels_are_refused(kernel):
    with pytest.raises(ValueError, match=r"not a function of one distance.*method='gradient'"):
        distances(Target(Function(kernel, inputs(), np.ones(60))))
