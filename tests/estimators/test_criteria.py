import numpy as np
import pytest
from ridge_cases import leave_one_out
from sklearn.base import clone

from representer.estimators.criteria import (
    Average,
    MachineErrors,
    Part,
    RidgeErrors,
    mixed,
    robust,
    robust_deviation,
    softened,
)
from representer.kernels import RBF, Matern
from representer.losses import EpsilonInsensitive, Hinge, Logistic, Loss, Pinball

RNG = np.random.default_rng(0)
X = RNG.normal(size=(36, 2))
Y = np.sin(2.0 * X[:, :1]) + 0.2 * RNG.normal(size=(36, 1))
SIGNS = np.where(Y[:, 0] > 0, 1.0, -1.0)
WEIGHTS = RNG.uniform(0.5, 2.0, 36)


def pairs():
    """Two machines on different rows, as pairs of classes are."""
    some, others = np.arange(24), np.arange(12, 36)
    return [Part(SIGNS[rows], softened(Hinge(), SIGNS), WEIGHTS[rows], rows) for rows in (some, others)]


CRITERIA = {
    "squared": RidgeErrors(X, np.hstack([Y, Y**2]), WEIGHTS, True),
    "likelihood": RidgeErrors(X, np.hstack([Y, Y**2]), WEIGHTS, True, likelihood=True),
    "machines": MachineErrors(X, 36, pairs(), strength="C"),
    "quantiles": MachineErrors(X, 36, [Part(Y[:, 0], softened(Pinball(q), Y[:, 0]), WEIGHTS) for q in (0.2, 0.7)]),
}
CRITERIA["average"] = Average([CRITERIA["squared"].on(np.arange(20)), CRITERIA["squared"].on(np.arange(10, 36))])


@pytest.mark.parametrize("name", CRITERIA)
def test_derivatives(name):
    criterion, kernel, step = CRITERIA[name], Matern([1.0, 1.5], nu=1.5), 1e-4
    found = criterion(kernel, 0.7)

    def at(scales, strength):
        return criterion(clone(kernel).set_params(length_scale=scales), strength).objective

    expected = [
        (at([1.0 + step, 1.5], 0.7) - at([1.0 - step, 1.5], 0.7)) / (2 * step),
        (at([1.0, 1.5 + step], 0.7) - at([1.0, 1.5 - step], 0.7)) / (2 * step),
        (at([1.0, 1.5], 0.7 * np.exp(step)) - at([1.0, 1.5], 0.7 * np.exp(-step))) / (2 * step),
    ]
    np.testing.assert_allclose(
        [*found.gradients["length_scale"], found.by_log_strength], expected, rtol=1e-4, atol=1e-7
    )


def test_predictive_likelihood_is_that_of_n_normal_laws():
    """Means and variances by n fits, and the amplitude of the greatest likelihood."""
    K, alpha, y = RBF(1.0)(X), 0.3, Y[:, 0]
    off, spread = np.empty(36), np.empty(36)
    for i in range(36):
        rest = np.arange(36) != i
        A = K[np.ix_(rest, rest)] + alpha * np.eye(35)
        off[i] = y[i] - K[i, rest] @ np.linalg.solve(A, y[rest])
        spread[i] = K[i, i] + alpha - K[i, rest] @ np.linalg.solve(A, K[rest, i])
    amplitude = np.mean(off**2 / spread)
    expected = np.mean(0.5 * np.log(amplitude * spread))
    assert RidgeErrors(X, Y, likelihood=True)(RBF(1.0), alpha).objective == pytest.approx(expected, rel=1e-9)
    assert off == pytest.approx(y - leave_one_out(K, y, alpha), abs=1e-9)


def test_parts_on_some_rows():
    """Rows of a part are counted among those that are kept; a part of one class has nothing to tell."""
    criterion = MachineErrors(X, 36, pairs()).on(np.arange(20, 36))
    assert [len(part.y) for part in criterion.parts] == [4, 16]
    np.testing.assert_array_equal(criterion.parts[1].y, SIGNS[20:])
    np.testing.assert_array_equal(criterion.X[criterion.parts[0].rows], X[20:24])
    one = np.flatnonzero(SIGNS > 0)
    assert not MachineErrors(X, 36, pairs()).on(one).parts


def test_widths_follow_the_targets():
    y = 1000.0 * Y[:, 0]
    assert softened(EpsilonInsensitive(0.1), y).width == pytest.approx(1000.0 * softened(Pinball(0.5), Y[:, 0]).width)
    assert isinstance(softened(Logistic(), y), Logistic)

    class Kinked(Loss):
        smooth = False

    with pytest.raises(ValueError, match="kinks that cannot be smoothed"):
        softened(Kinked(), y)


def test_robust_targets_end_at_four_deviations():
    y = np.append(RNG.normal(size=99), 1e6)[:, None]
    clipped, loss = robust(y)
    assert clipped.max() < 10.0
    assert loss.delta == pytest.approx(1.0, rel=0.3)
    assert robust(np.ones((9, 1)))[1].delta == 1.0


def test_robust_targets_of_several_units_are_judged_alike():
    """Each by a Huber loss that is linear beyond its own robust deviation."""
    y = RNG.normal(size=(200, 2))
    (clipped, loss), (same, _) = robust(y * [1.0, 1e4]), robust(y)
    np.testing.assert_allclose(clipped / loss.delta, same / robust(y)[1].delta)
    np.testing.assert_allclose(robust_deviation(clipped)[1], loss.delta)


def test_any_rows_in_a_row_hold_the_classes_in_proportion():
    """The first ones hold each class; targets with many values are in plain random order."""
    codes = np.repeat([0, 1, 2], [270, 27, 3])
    order = mixed(np.eye(3)[codes], 0)
    np.testing.assert_array_equal(np.sort(order), np.arange(300))
    assert {*codes[order[:3]]} == {0, 1, 2}
    for part in np.array_split(codes[order], 3):
        np.testing.assert_array_equal(np.bincount(part), [90, 9, 1])
    assert np.any(np.diff(order[codes[order] == 0]) < 0)
    np.testing.assert_array_equal(mixed(RNG.normal(size=(300, 1)), 5), np.random.default_rng(5).permutation(300))
