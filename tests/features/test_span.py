"""What approximations share: kernels, transformers, and inputs of any type."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from representer import Nystroem, RandomFeatures, Sketch
from representer.features.span import seed_of
from representer.functions import Function
from representer.kernels import RBF, Sigmoid, Spectrum
from representer.testing import check_function, check_kernel

X = np.random.default_rng(0).normal(size=(40, 3))


@parametrize_with_checks([Nystroem(RBF(), 5), RandomFeatures(RBF(), 6), Sketch(RBF(), 5)])
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("maker", [Nystroem, RandomFeatures, Sketch])
def test_approximations_are_kernels_and_transformers(maker):
    kernel = maker(RBF(), 16).with_default_scales(X)
    check_kernel(kernel, X)
    features = maker(RBF(), 16).fit(X)
    phi = features.transform(X)
    np.testing.assert_allclose(phi @ phi.T, kernel(X), atol=1e-10)
    names = features.get_feature_names_out()
    assert list(names[:2]) == [f"{maker.__name__.lower()}{i}" for i in (0, 1)]
    assert len(names) == 16
    assert features.n_features_in_ == 3
    assert kernel.original == kernel.kernel
    y = X[:, 0] ** 2
    assert make_pipeline(maker(RBF(), 16), Ridge(1e-3)).fit(X, y).score(X, y) > 0.5


@pytest.mark.parametrize("maker", [Nystroem, RandomFeatures, Sketch])
def test_float32_stays_float32(maker):
    phi = maker(RBF(1.0), 16).fit_transform(X.astype(np.float32))
    assert phi.dtype == np.float32
    np.testing.assert_allclose(phi @ phi.T, maker(RBF(1.0), 16).fit(X).kernel_(X), atol=2e-4)


def test_functions_of_an_approximation_obey_the_laws():
    kernel = Nystroem(RBF(1.0), landmarks=X[:10])
    f, g = (Function(kernel, X[i : i + 5], np.arange(1.0, 6.0)) for i in (0, 5))
    check_function(f, g, X[:8])


def test_approximations_of_strings():
    words = ["ACGT", "ACGA", "TTTT", "GACG", "TTAC", "CGTA"]
    kernel = Nystroem(Spectrum(2), 6).with_default_scales(words)
    np.testing.assert_allclose(kernel(words), Spectrum(2)(words), atol=1e-10)
    assert not kernel.on_vectors
    assert Nystroem(Spectrum(2), 3).fit_transform(words).shape == (6, 3)


def test_rows_without_weight_are_no_landmarks():
    w = np.ones(40)
    w[:35] = 0.0
    kernel = Nystroem(RBF(), 40).with_default_scales(X, w)
    assert all(any(np.array_equal(z, x) for x in X[35:]) for z in kernel.landmarks)


def test_indefinite_kernels_are_refused():
    with pytest.raises(ValueError, match="not positive semidefinite"):
        Nystroem(Sigmoid(), 5).with_default_scales(X)


def test_seeds():
    assert seed_of(3) == 3
    assert isinstance(seed_of(None), int)
    kernel = RandomFeatures(RBF(1.0), 8, random_state=None)
    with pytest.raises(ValueError, match="needs a number"):
        kernel(X)
    fitted = kernel.with_default_scales(X)
    assert np.array_equal(fitted(X), clone(fitted)(X))
