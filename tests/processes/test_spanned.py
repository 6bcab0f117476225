"""Processes in a span: the bound and the variances against dense algebra."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from representer import Nystroem
from representer.gram.design import Design
from representer.kernels import RBF
from representer.processes.spanned import Evidence, SpanProcess

rng = np.random.default_rng(0)
X = rng.normal(size=(50, 2))
y = np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=50)
KERNEL, NOISE = Nystroem(RBF(1.0), landmarks=X[:8]), 0.05


@pytest.fixture(scope="module")
def design():
    return Design(KERNEL.basis(X))


@pytest.fixture(scope="module")
def phi(design):
    return design.features(X)


def test_the_bound_is_titsias_and_below_the_evidence(phi):
    values, V = np.linalg.eigh(phi.T @ phi)
    left = float(np.trace(RBF(1.0)(X) - KERNEL(X)))
    found = Evidence(values, V.T @ phi.T @ y[:, None], np.array([y @ y]), left, 50).bound(NOISE)
    normal = multivariate_normal.logpdf(y, cov=KERNEL(X) + NOISE * np.eye(50))
    np.testing.assert_allclose(found, normal - 0.5 * left / NOISE, rtol=1e-8)
    assert found < multivariate_normal.logpdf(y, cov=RBF(1.0)(X) + NOISE * np.eye(50))


def test_variances_do_not_collapse_away_from_the_data(design, phi):
    values, V = np.linalg.eigh(phi.T @ phi)
    process = SpanProcess(KERNEL, design, V, values, NOISE)
    far = np.array([[9.0, 9.0], [0.0, 0.0]])
    np.testing.assert_allclose(process.variance(far)[0], 1.0, atol=1e-6)
    K, k = KERNEL(X) + NOISE * np.eye(50), KERNEL(far, X)
    expected = RBF(1.0)(far) - k @ np.linalg.solve(K, k.T)
    np.testing.assert_allclose(process.covariance(far), expected, atol=1e-8)
    np.testing.assert_allclose(process.variance(far), expected.diagonal(), atol=1e-8)
    assert np.array_equal(*process.variance_bounds(far))
    near = X[:3]
    for draw in (process.draws, process.paths):
        drawn = draw(near, 4000, rng)
        np.testing.assert_allclose(drawn.var(axis=1), process.variance(near), rtol=0.15)
