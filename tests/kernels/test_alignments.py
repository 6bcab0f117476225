import numpy as np
import pandas as pd
import pytest

from representer import GaussianProcessClassifier
from representer.kernels import GlobalAlignment, Normalized
from representer.testing import check_gram, check_kernel


def series(n=18, d=2):
    rng = np.random.default_rng(0)
    return [rng.normal(size=(rng.integers(1, 9), d)) for _ in range(n)]


def naive(x, y, scale):
    M = np.zeros((len(x) + 1, len(y) + 1))
    M[0, 0] = 1.0
    for i, a in enumerate(x):
        for j, b in enumerate(y):
            g = np.exp(-np.sum((a - b) ** 2) / (2 * scale**2))
            M[i + 1, j + 1] = (M[i, j] + M[i + 1, j] + M[i, j + 1]) * g / (2 - g)
    return M[-1, -1]


def test_equal_to_the_definition():
    X = series()
    K = np.array([[naive(x, y, 1.3) for y in X] for x in X])
    assert np.allclose(GlobalAlignment(1.3, normalize=False)(X), K, rtol=1e-12)
    root = np.sqrt(K.diagonal())
    assert np.allclose(GlobalAlignment(1.3)(X), K / root[:, None] / root, rtol=1e-12)
    assert np.allclose(GlobalAlignment(1.3)(X), Normalized(GlobalAlignment(1.3, normalize=False))(X))


@pytest.mark.parametrize("normalize", [True, False])
def test_laws(normalize):
    check_kernel(GlobalAlignment(1.3, normalize), series(8))
    check_gram(GlobalAlignment(2.0, normalize), series())


def test_formats():
    table = np.random.default_rng(0).normal(size=(5, 6))
    expected = GlobalAlignment()(list(table))
    for X in (table, table[:, :, None], pd.DataFrame(table), table.tolist()):
        assert np.array_equal(GlobalAlignment()(X), expected)
    padded = np.concatenate([table, np.full((5, 2), np.nan)], axis=1)
    assert np.array_equal(GlobalAlignment()(padded), expected)


def test_long_series():
    X = np.cumsum(np.random.default_rng(0).normal(size=(3, 600)), axis=1)
    K = GlobalAlignment(5.0)(X)
    assert np.isfinite(K).all()
    assert np.all(K.diagonal() == 1.0)
    with pytest.raises(ValueError, match="too long; use normalize=True"):
        GlobalAlignment(5.0, normalize=False)(X)


def test_default_length_scale():
    X = [np.array([0.0, 2.0]), np.array([0.0, 2.0, 0.0, 2.0]), np.array([0.0, 2.0, 0.0, 2.0])]
    assert GlobalAlignment().with_default_scales(X).length_scale == pytest.approx(np.sqrt(2))  # 4 ** (1 / 4)
    weighted = GlobalAlignment().with_default_scales(X[:2], np.array([1.0, 2.0]))
    assert weighted.length_scale == pytest.approx(np.sqrt(2))
    assert GlobalAlignment().with_default_scales([np.ones(3)]).length_scale == 1.0


def test_in_an_estimator():
    t = np.linspace(0.0, 1.0, 12)
    X = [np.sin(2 * np.pi * (t + shift)) * size for size in (1.0, 3.0) for shift in (0.0, 0.1, 0.2)]
    model = GaussianProcessClassifier(kernel=GlobalAlignment()).fit(X, [0, 0, 0, 1, 1, 1])
    assert model.predict([2.7 * np.sin(2 * np.pi * t)[:-2]]) == [1]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (["abc", "abd"], "Series 0 is 'abc'"),
        ([[1.0, 2.0], [np.nan]], "Series 1 has no samples"),
        ([[1.0, 2.0], []], "Series 1 has no samples"),
        ([[1.0, np.nan, 2.0]], "Series 0 has samples that are NaN"),
        ([np.zeros((2, 2, 2))], "Series 0 has 3 dimensions"),
        ([np.zeros((2, 2)), np.zeros((2, 3))], "2 to 3 columns"),
        ([1.0, 2.0], "Series 0 has 0 dimensions"),
    ],
)
def test_bad_series_are_refused(X, message):
    with pytest.raises((TypeError, ValueError), match=message):
        GlobalAlignment()(X)


def test_bad_parameters_are_refused():
    with pytest.raises(ValueError, match="length_scale is 0"):
        GlobalAlignment(0)(series(2))
    with pytest.raises(ValueError, match="X have 1 columns where those of the other series have 2"):
        GlobalAlignment()(series(2, 1), series(2))
