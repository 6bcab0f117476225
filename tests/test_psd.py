"""Reports, repairs and factors of Gram matrices."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from representer import psd
from representer.kernels import RBF, Jaccard, Linear, Matern, Polynomial, Precomputed, Sigmoid, Spectrum, Subset

SIGMOID = Sigmoid(scale=2.0, offset=-1.0)
STRINGS = ["ACGTACGT", "ACGA", "TTTTT", "ACGTTT", "ACGT"]
SETS = [{1, 2}, {2, 3}, {1, 2, 3}, {4}, set()]


@pytest.fixture
def X(rng):
    return rng.normal(size=(40, 3))


@pytest.fixture
def indefinite(rng):
    A = rng.normal(size=(12, 12))
    return A + A.T


# ---- report ----


@pytest.mark.parametrize("kernel", [RBF(), Linear(), Polynomial(3), Matern(nu=0.5)], ids=repr)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_report_of_a_definite_kernel(X, kernel, dtype):
    report = psd.report(kernel, X.astype(dtype))
    eigenvalues = np.linalg.eigvalsh(kernel(X))
    assert report.definite
    assert report.n == 40
    assert report.largest == pytest.approx(eigenvalues[-1], rel=1e-5 if dtype == "f4" else 1e-12)
    assert abs(report.smallest - eigenvalues[0]) < report.tolerance
    assert report.asymmetry <= report.tolerance


def test_report_of_the_sigmoid(X):
    report = psd.report(SIGMOID, X)
    assert not report.definite
    assert report.smallest == pytest.approx(np.linalg.eigvalsh(SIGMOID(X))[0], rel=1e-10)
    assert report.smallest < -0.1


@pytest.mark.parametrize(("kernel", "inputs"), [(Spectrum(2), STRINGS), (Jaccard(), SETS)])
def test_report_of_strings_and_sets(kernel, inputs):
    report = psd.report(kernel, inputs)
    assert report.definite
    assert report.n == 5


def test_report_of_a_matrix(X, indefinite):
    assert psd.report(Precomputed(), RBF()(X)).definite
    report = psd.report(Precomputed(), indefinite)
    assert not report.definite
    assert report.smallest == pytest.approx(np.linalg.eigvalsh(indefinite)[0])


def test_report_sees_asymmetry(rng):
    # so little that Precomputed accepts it, so much that it is no rounding
    K = np.eye(4)
    K[0, 1] += 1e-9
    report = psd.report(Precomputed(), K)
    assert report.asymmetry == pytest.approx(1e-9)
    assert report.smallest > 0.9
    assert not report.definite


@pytest.mark.parametrize("precomputed", [False, True])
def test_report_of_many_inputs_takes_a_sample(rng, precomputed):
    X = rng.normal(size=(90, 2))
    kernel, inputs = (Precomputed(), RBF()(X)) if precomputed else (RBF(), X)
    chosen = np.sort(np.random.default_rng(7).choice(90, 30, replace=False))
    report = psd.report(kernel, inputs, sample=30, random_state=7)
    assert report.n == 30
    assert report.largest == pytest.approx(np.linalg.eigvalsh(RBF()(X[chosen]))[-1], rel=1e-12)
    assert report == psd.report(kernel, inputs, sample=30, random_state=7)
    assert report != psd.report(kernel, inputs, sample=30, random_state=8)
    assert psd.report(kernel, inputs, sample=90).n == 90


def test_report_reads_well():
    good = psd.Report(n=50, smallest=1e-17, largest=12.3456, asymmetry=0.0, tolerance=1e-13)
    assert str(good) == (
        "Gram matrix of 50 inputs: eigenvalues from 1e-17 to 12.3, asymmetry 0 (rounding allows 1e-13): "
        "positive semidefinite to rounding."
    )
    bad = str(psd.Report(n=50, smallest=-2.5, largest=12.3456, asymmetry=0.0, tolerance=1e-13))
    assert "eigenvalues from -2.5 to 12.3" in bad
    assert "NOT positive semidefinite; use a kernel that is, or repair(K, 'clip')" in bad


@pytest.mark.parametrize("sample", [0, -3, 2.5])
def test_wrong_sample(X, sample):
    with pytest.raises(ValueError, match=r"sample is .* integer"):
        psd.report(RBF(), X, sample=sample)


# ---- repair ----


def test_clip_is_the_nearest_definite_matrix(indefinite, rng):
    clipped = psd.repair(indefinite)
    eigenvalues = np.linalg.eigvalsh(indefinite)
    np.testing.assert_allclose(np.linalg.eigvalsh(clipped), np.maximum(eigenvalues, 0), atol=1e-12)
    distance = np.linalg.norm(clipped - indefinite)
    assert distance == pytest.approx(np.linalg.norm(np.minimum(eigenvalues, 0)))
    for _ in range(20):  # no other one is nearer
        R = rng.normal(size=indefinite.shape)
        other = clipped + 0.1 * rng.random() * (R @ R.T - clipped)
        assert np.linalg.norm(other - indefinite) > distance


def test_shift_keeps_what_is_off_the_diagonal(indefinite):
    shifted = psd.repair(indefinite, "shift")
    off = ~np.eye(len(indefinite), dtype=bool)
    np.testing.assert_array_equal(shifted[off], indefinite[off])
    np.testing.assert_allclose((shifted - indefinite).diagonal(), -np.linalg.eigvalsh(indefinite)[0], rtol=1e-12)
    assert np.linalg.eigvalsh(shifted)[0] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("method", ["clip", "shift"])
def test_repair_leaves_a_definite_matrix_and_its_argument_alone(X, method, indefinite):
    K = Matern()(X)
    np.testing.assert_allclose(psd.repair(K, method), K, atol=1e-13)
    before = indefinite.copy()
    repaired = psd.repair(indefinite, method)
    np.testing.assert_array_equal(indefinite, before)
    assert psd.report(Precomputed(), repaired).definite
    np.testing.assert_allclose(
        psd.repair(np.triu(indefinite) * 2, method), psd.repair(np.triu(indefinite) + np.triu(indefinite).T, method)
    )
    assert psd.repair(indefinite.astype("f4"), method).dtype == np.float32


def test_repair_errors(indefinite):
    with pytest.raises(ValueError, match="method is 'flip'; use 'clip' or 'shift'"):
        psd.repair(indefinite, "flip")
    with pytest.raises(ValueError, match=r"The matrix has shape \(3, 12\); a Gram matrix is square"):
        psd.repair(indefinite[:3])
    with pytest.raises(ValueError, match="NaN"):
        psd.repair(np.full((2, 2), np.nan))


# ---- factor ----


@pytest.mark.parametrize(
    ("kernel", "inputs"),
    [
        (RBF(0.5), None),
        (Matern(nu=0.5), None),
        (Linear(), None),
        (Polynomial(2), None),
        (Spectrum(2), STRINGS),
        (Subset(), SETS),
        (Jaccard(), SETS),
    ],
    ids=repr,
)
def test_factor_is_an_isometry(X, kernel, inputs):
    inputs = X if inputs is None else inputs
    K, R = kernel(inputs), psd.factor(kernel, inputs)
    size = np.abs(K).max()
    assert R.shape[0] == len(K)
    np.testing.assert_allclose(R @ R.T, K, rtol=0, atol=1e-12 * size)
    # squared distances are exact to rounding, so distances to its square root
    np.testing.assert_allclose(cdist(R, R, "sqeuclidean"), kernel.distance(inputs) ** 2, rtol=0, atol=1e-12 * size)
    np.testing.assert_allclose(cdist(R, R), kernel.distance(inputs), rtol=0, atol=1e-6 * np.sqrt(size))


@pytest.mark.parametrize(("kernel", "rank"), [(Linear(), 3), (Polynomial(2), 10), (Polynomial(2, offset=0.0), 6)])
def test_factor_of_a_singular_matrix_has_as_many_columns_as_its_rank(X, kernel, rank):
    assert psd.factor(kernel, X).shape == (40, rank)


def test_factor_with_duplicates(X):
    twice = np.concatenate([X[:10], X[:10]])
    R = psd.factor(Matern(nu=0.5), twice)
    np.testing.assert_allclose(R @ R.T, Matern(nu=0.5)(twice), atol=1e-12)
    np.testing.assert_allclose(R[:10], R[10:], atol=1e-6)


def test_factor_in_float32(X):
    for kernel in (RBF(0.3), Linear()):
        R = psd.factor(kernel, X.astype("f4"))
        assert R.dtype == np.float32
        np.testing.assert_allclose(R @ R.T, kernel(X), atol=1e-5)


def test_factor_of_a_matrix(X, indefinite):
    K = RBF(0.5)(X)
    np.testing.assert_array_equal(psd.factor(Precomputed(), K), psd.factor(RBF(0.5), X))
    with pytest.raises(ValueError, match=r"has the eigenvalue -.*no real factor; see psd.repair"):
        psd.factor(Precomputed(), indefinite)
    R = psd.factor(Precomputed(), psd.repair(indefinite))
    np.testing.assert_allclose(R @ R.T, psd.repair(indefinite), atol=1e-12)


def test_factor_of_an_indefinite_kernel(X):
    with pytest.raises(ValueError, match="no real factor"):
        psd.factor(SIGMOID, X)
