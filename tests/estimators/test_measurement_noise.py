"""Noise as it is asked for, in the units of the targets, and of new measurements."""

import numpy as np
import pytest

from representer import GaussianProcessRegressor
from representer.estimators.measurement_noise import NO_NOISE, MeasurementNoise, check_noise
from representer.kernels import RBF


@pytest.mark.parametrize("noise", ["auto", -0.1, [0.1, 0.2], np.nan, None, np.ones((3, 1)), [0.1, np.inf, 0.1]])
def test_noise_that_cannot_be(noise):
    with pytest.raises(ValueError, match=r"(?s)noise is .*one variance for each of the 3 inputs, none"):
        check_noise(noise, 3)


def test_noise_that_can_be():
    given = np.array([0.1, 0.2, 0.0])
    assert check_noise("estimate", 3) == "estimate"
    assert check_noise(np.float32(2.0), 3) == 2.0
    np.testing.assert_array_equal(check_noise(given, 3), given)
    assert not np.shares_memory(check_noise(given, 3), given)


@pytest.mark.parametrize(
    ("noise", "scale", "variance"),
    [
        (0.1, [2.0], 0.4),
        (0.1, [2.0, 3.0], [0.4, 0.9]),
        (0.1, [1.0, 1.0], 0.1),
        ([0.1, 0.2], [2.0], [0.4, 0.8]),
        ([0.1, 0.2, 0.3], [2.0, 3.0], [[0.4, 0.9], [0.8, 1.8], [1.2, 2.7]]),
    ],
)
def test_variance_in_squared_units_of_y(noise, scale, variance):
    found = MeasurementNoise.of(noise, np.array(scale))
    np.testing.assert_allclose(found.variance, variance)
    assert np.shape(found.variance) == np.shape(variance)
    assert ("per input" in str(found)) == isinstance(noise, list)


def test_noise_of_new_measurements():
    known = MeasurementNoise.of(0.1, np.array([2.0, 3.0]))
    np.testing.assert_allclose(known.of_new(True, 5), [[0.4, 0.9]])
    np.testing.assert_allclose(known.of_new([1.0, 2.0], 2), [[1.0], [2.0]])
    np.testing.assert_allclose(known.of_new(0.7, 5), [[0.7]])
    assert known.of_new(False, 5) == NO_NOISE.of_new(True, 5) == 0.0
    with pytest.raises(ValueError, match="noise is 'estimate'; use True, False"):
        known.of_new("estimate", 5)
    with pytest.raises(ValueError, match="one variance for each of the 5 inputs"):
        known.of_new([1.0, 2.0], 5)
    with pytest.raises(ValueError, match="pass those of the new ones"):
        MeasurementNoise.of([0.1, 0.2], np.ones(1)).of_new(True, 5)


@pytest.mark.parametrize("targets", [1, 2])
def test_units_of_a_fit_do_not_depend_on_normalisation(rng, targets):
    """The same model in the units of y: mean, bands, covariances of new measurements, and the noise."""
    X, new = rng.normal(size=(60, 1)), rng.normal(size=(9, 1))
    y = 7.0 + np.array([10.0, 3.0])[:targets] * (np.sin(2.0 * X) + 0.2 * rng.normal(size=(60, targets)))
    y = y[:, 0] if targets == 1 else y
    scale, mean = y.std(axis=0), y.mean(axis=0)
    gp = GaussianProcessRegressor(1.5 * RBF(0.8), noise=0.04, optimizer=None, normalize_y=True).fit(X, y)
    np.testing.assert_allclose(gp.noise_, 0.04 * scale**2)
    for t in range(targets):
        factor, column = (scale, y) if targets == 1 else (scale[t], y[:, t])
        plain = GaussianProcessRegressor(1.5 * factor**2 * RBF(0.8), noise=0.04 * factor**2, optimizer=None)
        plain.fit(X, column - column.mean())
        for noise in (False, True, np.linspace(1.0, 2.0, 9)):
            for option in ("return_std", "return_cov"):
                ours = gp.predict(new, noise=noise, **{option: True})
                expected = plain.predict(new, noise=noise, **{option: True})
                pick = (lambda a: a) if targets == 1 else (lambda a, t=t: a[..., t])
                np.testing.assert_allclose(pick(ours[0]), expected[0] + np.reshape(mean, -1)[t], rtol=1e-9)
                np.testing.assert_allclose(pick(ours[1]), expected[1], rtol=1e-8, atol=1e-9)
