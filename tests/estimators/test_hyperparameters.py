import numpy as np
import pytest

from representer.estimators.hyperparameters import LogParameters, ProcessParameters, deviation
from representer.kernels import RBF, Linear, Matern, On, PowerSeries, Spectrum
from representer.processes.likelihood import Value

X = np.random.default_rng(0).normal(size=(6, 2))


def parameters(kernel, inputs=X):
    return LogParameters(kernel, kernel.prepare(inputs))


@pytest.mark.parametrize(
    ("kernel", "names"),
    [
        (RBF(2.0), ["length_scale"]),
        (RBF([1.0, 3.0]), ["length_scale[0]", "length_scale[1]"]),
        (Matern(2.0, nu=1.5), ["length_scale"]),
        (
            0.5 * RBF(2.0) + Linear([1.0, 2.0]) * RBF(3.0),
            [
                "left__factor",
                "left__kernel__length_scale",
                "right__left__length_scale[0]",
                "right__left__length_scale[1]",
                "right__right__length_scale",
            ],
        ),
        (On(RBF(2.0), [0]), ["kernel__length_scale"]),
        (PowerSeries(Linear(2.0), [0.0, 1.0]), ["kernel__length_scale"]),
    ],
    ids=repr,
)
def test_names_and_start(kernel, names):
    p = parameters(kernel)
    assert sorted(p.names) == sorted(names)
    known = kernel.get_params()
    for name, theta in zip(p.names, p.start, strict=True):
        key, _, index = name.partition("[")
        value = np.ravel(known[key])[int(index.rstrip("]")) if index else 0]
        assert theta == pytest.approx(np.log(value))
    np.testing.assert_allclose(p.kernel_at(p.start)(X), kernel(X), rtol=1e-14)


def test_kernel_at():
    kernel = 0.5 * RBF([1.0, 3.0])
    p = parameters(kernel)
    theta = np.arange(3.0)
    moved = p.kernel_at(theta)
    assert moved is not kernel
    assert kernel.kernel.length_scale == [1.0, 3.0]
    by_name = dict(zip(p.names, np.exp(theta), strict=True))
    assert moved.factor == by_name["factor"]
    assert isinstance(moved.factor, float)
    expected = [by_name["kernel__length_scale[0]"], by_name["kernel__length_scale[1]"]]
    np.testing.assert_array_equal(moved.kernel.length_scale, expected)


def test_gradient():
    """d/dtheta of sum_ij W_ij k(x_i, x_j), by central differences."""
    kernel, W = 0.5 * RBF([1.0, 3.0]) + Matern(2.0, nu=2.5), np.random.default_rng(1).normal(size=(6, 6))
    p = parameters(kernel)
    theta = p.start + 0.3
    gradient = p.gradient(theta, p.kernel_at(theta).contract(X, W))
    steps = 1e-5 * np.eye(len(theta))
    expected = [np.sum(W * (p.kernel_at(theta + s)(X) - p.kernel_at(theta - s)(X))) / 2e-5 for s in steps]
    np.testing.assert_allclose(gradient, expected, rtol=1e-7, atol=1e-9)


def test_length_scale_that_is_not_given_is_one():
    assert parameters(RBF()).start == pytest.approx([0.0])


def test_kernel_without_parameters():
    p = parameters(Spectrum(2), ["abc", "bc"])
    assert p.names == []
    assert p.start.shape == p.gradient(p.start, {}).shape == (0,)
    assert p.kernel_at(p.start) == Spectrum(2)


def test_one_input():
    assert parameters(RBF(2.0), X[:1]).names == ["length_scale"]


def test_noise_is_one_more_unknown():
    kernel, noise = 0.5 * RBF(2.0), np.full(6, 0.3)
    value = Value(1.0, {"factor": 3.0, "kernel__length_scale": 5.0}, np.arange(6.0))
    theta = np.log([0.7, 0.9, 0.2])
    p = ProcessParameters(kernel, kernel.prepare(X), noise, True)
    assert p.names[-1] == "noise"
    np.testing.assert_allclose(np.exp(p.start[-1]), 0.3)
    np.testing.assert_allclose(p.noise_at(theta), 0.2)
    by_name = dict(zip(p.names, p.gradient(theta, value), strict=True))
    assert by_name["noise"] == pytest.approx(0.2 * 15.0)
    fixed = ProcessParameters(kernel, kernel.prepare(X), noise, False)
    assert fixed.names == p.names[:-1]
    assert fixed.noise_at(theta[:-1]) is noise
    np.testing.assert_allclose(fixed.gradient(theta[:-1], value), p.gradient(theta, value)[:-1])
    assert fixed.kernel_at(theta[:-1]) == p.kernel_at(theta)


def test_deviation_of_a_constant_is_one():
    Y = np.column_stack([[1.0, 3.0, 5.0], [0.1, 0.1, 0.1], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(deviation(Y), [np.sqrt(8 / 3), 1.0, 1.0])
