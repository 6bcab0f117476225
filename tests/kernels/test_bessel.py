"""Normalised Bessel functions against their closed forms, near zero and far out."""

import numpy as np

from representer.kernels.bessel import bessel


def test_half_integer_orders_are_polynomials_times_exponentials():
    r = np.array([0.0, 1e-300, 1e-9, 0.3, 2.0, 40.0, 600.0])
    np.testing.assert_allclose(bessel(r, 0.5), np.exp(-r), rtol=1e-12)
    np.testing.assert_allclose(bessel(r, 1.5), (1.0 + r) * np.exp(-r), rtol=1e-12)
    np.testing.assert_allclose(bessel(r, 2.5), (1.0 + r + r**2 / 3.0) * np.exp(-r), rtol=1e-12)


def test_high_orders_do_not_overflow():
    values = bessel(np.array([0.0, 1e-6, 1e-3, 1.0, 2000.0]), 100.0)
    assert np.all(np.diff(values) <= 0)
    np.testing.assert_allclose(values[:3], 1.0, atol=1e-6)
    assert values[-1] < 1e-300
