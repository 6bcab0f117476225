"""Features that approximate kernels are those of scikit-learn, seed by seed."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import kernel_approximation as theirs

from representer.drop_in import Nystroem, RBFSampler

X = np.abs(np.random.default_rng(0).normal(size=(30, 3)))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kernel": "poly", "degree": 2, "coef0": 0.5, "gamma": 0.3},
        {"kernel": "chi2"},
        {"kernel": "additive_chi2"},
        {"kernel": lambda x, y: float(x @ y)},
    ],
)
def test_landmarks_and_features_are_those_of_scikit_learn(options):
    ours, other = (kind(n_components=10, random_state=0, **options) for kind in (Nystroem, theirs.Nystroem))
    np.testing.assert_allclose(ours.fit_transform(X), other.fit_transform(X), atol=1e-7)
    np.testing.assert_array_equal(ours.component_indices_, other.component_indices_)
    assert list(ours.get_feature_names_out()) == list(other.get_feature_names_out())


def test_waves_are_those_of_scikit_learn():
    for rows in (X, X.astype(np.float32), sparse.csr_array(X)):
        ours, other = (kind(n_components=7, gamma="scale", random_state=3) for kind in (RBFSampler, theirs.RBFSampler))
        features = ours.fit_transform(rows)
        assert features.dtype == rows.dtype
        np.testing.assert_allclose(features, other.fit_transform(rows), rtol=1e-5, atol=1e-6)


def test_parameters_are_those_of_scikit_learn():
    assert Nystroem().get_params() == theirs.Nystroem().get_params()
    assert RBFSampler().get_params() == theirs.RBFSampler().get_params()
    with pytest.warns(UserWarning, match="n_components > n_samples"):
        assert Nystroem().fit(X).components_.shape == X.shape
    with pytest.raises(ValueError, match="Don't pass gamma"):
        Nystroem(kernel=lambda x, y: 1.0, gamma=1.0, n_components=3).fit(X)
