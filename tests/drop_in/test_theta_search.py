"""The search for theta."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from representer import kernels
from representer.drop_in.theta_search import asked_kernel, best_theta, values_of


def bowl(theta, eval_gradient):
    value = -float(((theta - 0.5) ** 2).sum())
    return (value, -2.0 * (theta - 0.5)) if eval_gradient else value


def grid(objective, start, bounds):
    thetas = np.linspace(*bounds[0], 201)
    values = [objective(np.array([theta]), eval_gradient=False) for theta in thetas]
    return thetas[[int(np.argmin(values))]], min(values)


@pytest.mark.parametrize("optimizer", ["fmin_l_bfgs_b", grid])
def test_maximum_is_found_within_bounds(optimizer):
    rng = np.random.RandomState(0)
    theta, value = best_theta(bowl, RBF(1.0, (0.1, 10.0)), optimizer, 2, rng)
    assert theta == pytest.approx([0.5], abs=0.02)
    assert value == pytest.approx(0.0, abs=1e-3)
    assert best_theta(bowl, RBF(1.0, (0.1, 1.2)), optimizer, 0, rng)[0] == pytest.approx([np.log(1.2)])


def test_mistakes_raise_scikit_learns_errors():
    with pytest.raises(ValueError, match="Unknown optimizer"):
        best_theta(bowl, RBF(1.0), "adam", 0, np.random.RandomState(0))
    with pytest.raises(ValueError, match="bounds are finite"), np.errstate(divide="ignore"):
        best_theta(bowl, RBF(1.0, (0.0, np.inf)), "fmin_l_bfgs_b", 1, np.random.RandomState(0))


def test_values_are_named():
    kernel = ConstantKernel(2.0, "fixed") * RBF([1.0, 3.0])
    assert values_of(kernel) == pytest.approx({"k2__length_scale[0]": 1.0, "k2__length_scale[1]": 3.0})


def test_kernels_are_new_objects():
    given = RBF(2.0)
    assert asked_kernel(given, "fixed") == given
    assert asked_kernel(given, "fixed") is not given
    assert asked_kernel(None, "fixed").n_dims == 0
    assert asked_kernel(2.0 * kernels.RBF(3.0), "fixed") == ConstantKernel(2.0) * RBF(3.0)
