"""Nystroem's kernel: exact with all inputs as landmarks, better with more, and chosen from a sample of rows."""

import numpy as np
import pytest
from sklearn.base import clone

from representer import Nystroem
from representer.kernels import RBF

X = np.random.default_rng(0).normal(size=(150, 3))


def test_all_inputs_as_landmarks_give_the_kernel():
    kernel = Nystroem(RBF(1.5), landmarks=X)
    np.testing.assert_allclose(kernel(X), RBF(1.5)(X), atol=1e-12)
    np.testing.assert_allclose(Nystroem(RBF(1.5), 150).with_default_scales(X)(X), RBF(1.5)(X), atol=1e-12)


def test_error_falls_with_the_number_of_landmarks_and_is_positive_semidefinite():
    errors = []
    for m in (5, 20, 60):
        rest = RBF(1.5)(X) - Nystroem(RBF(1.5), m).with_default_scales(X)(X)
        assert np.linalg.eigvalsh(rest)[0] > -1e-10
        errors.append(np.trace(rest))
    assert errors[0] > 1.5 * errors[1] > 3.0 * errors[2]


def test_default_number_of_landmarks():
    kernel = Nystroem(RBF())
    assert [kernel._size(n) for n in (100, 1000, 10_000, 10**6)] == [100, 316, 1000, 2000]
    assert kernel.sample_rows(10**6) == 40_000
    assert Nystroem(RBF(), 10_000).sample_rows(10**6) == 20_000


def test_landmarks_come_from_a_sample_by_hash():
    wide = np.random.default_rng(1).normal(size=(5000, 2))
    kernel = Nystroem(RBF(), 8)
    chosen = kernel.with_default_scales(wide)
    some = kernel.sample(wide, None, 160)[0]
    assert len(some) == 160
    assert all(z in some for z in chosen.landmarks)
    assert chosen == kernel.with_default_scales(some)  # the same from the sample alone


def test_without_landmarks_it_says_what_to_do():
    kernel = Nystroem(RBF(), 5)
    assert repr(kernel) == "Nystroem(kernel=RBF(), n_components=5)"
    with pytest.raises(ValueError, match="no landmarks; use it in an estimator"):
        kernel(X)
    with pytest.raises(ValueError, match="The rule for landmarks is 'nice'"):
        Nystroem(RBF(), 5, landmarks="nice").fit(X)
    with pytest.raises(ValueError, match="n_components is 0"):
        Nystroem(RBF(), 0).fit(X)


def test_parameters_are_nested():
    kernel = Nystroem(RBF(2.0), 5).set_params(kernel__length_scale=3.0, n_components=7)
    assert clone(kernel).kernel.length_scale == 3.0
    assert repr(kernel.with_default_scales(X)) == "Nystroem(RBF(length_scale=3.0), landmarks=<7 inputs>)"
