"""The eigenproblem of a Gram matrix against the covariance of features."""

import numpy as np
import pytest

from representer import Gram
from representer.kernels import Linear
from representer.problems import eigen
from representer.problems.eigen import EigenProblem


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_covariance_seen_from_the_data(weighted, center, monkeypatch):
    """With features phi of a kernel, A has the eigenvalues of the sum of w (phi - m) (phi - m)', m the mean."""
    monkeypatch.setattr(eigen, "COLUMNS_AT_A_TIME", 7)
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(30, 4)), rng.uniform(size=30) if weighted else np.ones(30)
    p = EigenProblem(Gram(Linear(), X), w if weighted else None, center)
    features = X - np.average(X, axis=0, weights=w) if center else X
    covariance = (features.T * w) @ features
    U = p.project(np.eye(30))
    np.testing.assert_allclose(p.project(U), U, atol=1e-14)
    A = p.apply(p.gram @ (p.sqrt_weights * U))
    np.testing.assert_allclose(A, A.T, atol=1e-13)
    np.testing.assert_allclose(np.linalg.eigvalsh(A)[-4:], np.linalg.eigvalsh(covariance), rtol=1e-12)
    np.testing.assert_allclose(p.trace(X @ X.T @ w), covariance.trace(), rtol=1e-12)
    # residuals of any vectors and values, with the rounding of images on top
    V, values = U @ rng.normal(size=(30, 12)), rng.uniform(1.0, 2.0, 12)
    judged = p.judge(V, values, p.gram @ (p.sqrt_weights * V), rounding=0.25)
    expected = (np.linalg.norm(A @ V - V * values, axis=0) + 0.25) / values.max()
    np.testing.assert_allclose(judged.residuals, expected, rtol=1e-12)


def test_no_vectors():
    p = EigenProblem(Gram(Linear(), np.ones((3, 1))))
    assert p.judge(np.empty((3, 0)), np.empty(0), np.empty((3, 0))).residuals.shape == (0,)
