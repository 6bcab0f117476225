from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from representer.estimators import tuning as module
from representer.estimators.criteria import MachineErrors, Part, RidgeErrors, Value
from representer.estimators.tuning import SEARCHED_STRENGTHS, Tuning, carried_over
from representer.kernels import RBF, Linear, Matern
from representer.losses import Huber, Logistic, SquaredHinge


@pytest.fixture
def tuning(rng):
    X = rng.normal(size=(40, 3))
    y = np.sin(2.0 * X[:, :1]) + 0.1 * rng.normal(size=(40, 1))
    return Tuning(RidgeErrors(X, y, intercept=True))


def scales(tuned):
    return np.asarray(tuned.kernel.length_scale)


def test_length_scales_follow_what_matters(tuning):
    tuned = tuning.run(RBF(np.ones(3)), 0.1)
    assert scales(tuned)[1:].min() > 3.0 * scales(tuned)[0]
    assert tuned.objective < tuned.at_start
    assert tuned.search.names == ["length_scale[0]", "length_scale[1]", "length_scale[2]", "alpha"]


def test_shrinking_holds_ratios_together(tuning):
    """From free length scales over shrunk ones to those that keep the ratios they start with."""
    start = RBF(np.array([1.0, 2.0, 3.0]))
    spreads = [
        np.std(np.log(scales(replace(tuning, shrink=s).run(start, 0.1))) - np.log([1, 2, 3]))
        for s in (0.0, 20.0, 1e4, np.inf)
    ]
    assert spreads[0] > spreads[1] > spreads[2] > spreads[3]
    assert spreads[3] == pytest.approx(0.0, abs=1e-12)


def test_a_flat_start_does_not_end_the_search():
    """A step of the length of this gradient would gain less than the tolerance."""
    found = Tuning(None, tol=1e-3)._minimum(
        lambda z: (0.002 * float((z - 5.0) @ (z - 5.0)), 0.004 * (z - 5.0)), np.array([[-10.0, 10.0]]), lambda: False
    )
    assert found.x[0] == pytest.approx(5.0, abs=0.1)
    assert found.nfev < 10


def test_shrinking_is_to_the_usual_ratios(tuning):
    """Wherever the search starts."""
    usual = RBF(np.array([1.0, 2.0, 3.0]))
    held = replace(tuning, shrink=1e4, usual=usual).run(RBF(np.array([3.0, 1.0, 9.0])), 0.1)
    np.testing.assert_allclose(scales(held) / scales(held)[0], [1.0, 2.0, 3.0], rtol=0.02)


@pytest.mark.parametrize("loss", [None, Huber(0.5), SquaredHinge()], ids=str)
@pytest.mark.parametrize("shrink", [0.0, 5.0])
def test_gradient_is_that_of_the_objective(tuning, loss, shrink, monkeypatch):
    """L-BFGS sees derivatives that differences confirm, with penalty and prior."""
    errors = replace(tuning.criterion, loss=loss)
    if isinstance(loss, SquaredHinge):
        errors = replace(errors, targets=np.sign(errors.targets))
    tuning = replace(tuning, criterion=errors, shrink=shrink, priors={"left__length_scale": stats.gamma(2.0)})
    seen = {}
    monkeypatch.setattr(
        "representer.estimators.tuning.lbfgs", lambda f, start, *_, **__: seen.update(f=f, start=start) or 1 / 0
    )
    with pytest.raises(ZeroDivisionError):
        tuning.run(Matern(np.array([1.0, 2.0, 0.7]), nu=1.5) + 0.3 * Linear(2.0), 0.2)
    z = seen["start"] + 0.1 * np.arange(len(seen["start"]))
    _, gradient = seen["f"](z)
    for i in range(len(z)):
        step = 1e-5 * (np.arange(len(z)) == i)
        expected = (seen["f"](z + step)[0] - seen["f"](z - step)[0]) / 2e-5
        assert gradient[i] == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_fixed_and_bounded(tuning):
    tuned = replace(tuning, fixed=["length_scale[1]", "nu", "alpha"], bounds={"length_scale": (0.9, 1.1)}).run(
        Matern(np.ones(3)), 0.25
    )
    assert scales(tuned)[1] == 1.0
    assert tuned.strength == pytest.approx(0.25)
    assert np.all((scales(tuned) >= 0.9 * (1 - 1e-12)) & (scales(tuned) <= 1.1 * (1 + 1e-12)))
    with pytest.raises(ValueError, match="no hyper-parameter 'period' to fix; there are length_scale"):
        replace(tuning, fixed=["period"]).run(RBF(np.ones(3)), 0.1)
    with pytest.raises(ValueError, match="no hyper-parameter 'period' to bound"):
        replace(tuning, bounds={"period": (1.0, 2.0)}).run(RBF(np.ones(3)), 0.1)


def test_a_start_outside_the_bounds_is_moved_into_them(tuning):
    """Even where it is better, as length scales of a short kernel are here."""
    narrow = replace(tuning, bounds={"length_scale": (5.0, 10.0), "alpha": (0.5, 0.5)})
    found = narrow.run(RBF(np.ones(3)), 0.1)
    assert found.strength == 0.5
    np.testing.assert_allclose(scales(found), [5.0, 10.0, 10.0])
    assert found.objective == pytest.approx(tuning.criterion(found.kernel, 0.5).objective)
    assert found.error == pytest.approx(np.exp(found.objective))
    assert found.at_start == pytest.approx(tuning.criterion(RBF(np.full(3, 5.0)), 0.5).objective)
    assert found.at_start > tuning.criterion(RBF(np.ones(3)), 0.1).objective


@pytest.mark.parametrize("options", [{"max_iter": 0}, {"fixed": ["length_scale", "alpha"]}], ids=str)
def test_a_search_without_steps_is_its_start(tuning, options):
    found = replace(tuning, **options).run(RBF(np.ones(3)), 0.1)
    assert (found.strength, found.search.evaluations) == (pytest.approx(0.1), 1)
    np.testing.assert_allclose(scales(found), 1.0)
    assert found.objective == found.at_start == tuning.criterion(found.kernel, found.strength).objective


def test_alpha_starts_within_its_range(tuning):
    low, high = SEARCHED_STRENGTHS["alpha"]
    assert low <= tuning.run(RBF(np.ones(3)), 0.0).strength <= high


@pytest.mark.parametrize(
    ("larger", "between", "expected"),
    [
        (2.0, 2.0, 8.0),  # alpha grows as the rows do
        (np.sqrt(2.0), 2.0, np.sqrt(8.0)),
        (8.0, 2.0, 32.0),  # by a power of at most one
        (0.5, 2.0, 0.5),  # not downwards
        (1.0, 1.0, 1.0),  # no power is known
        (2.0, 1.0, 2.0),
    ],
)
def test_strengths_follow_a_power_law_to_more_rows(larger, between, expected):
    assert carried_over(1.0, larger, between, 4.0) == pytest.approx(expected)
    assert carried_over(1.0, larger, between, 1e9) <= 10.0 * larger


@pytest.fixture
def small_stages(monkeypatch):
    for name, rows in {"FIRST_SUBSET": 20, "LAST_SUBSET": 40, "BLOCK_ROWS": 20}.items():
        monkeypatch.setattr(module, name, rows)


@pytest.mark.usefixtures("small_stages")
@pytest.mark.parametrize("kind", [RidgeErrors, MachineErrors])
@pytest.mark.parametrize("rare", [2, 7])
def test_rare_classes_are_in_subsets_and_blocks(rng, kind, rare):
    """With fewer rows of a class than blocks, those without it are left out."""
    X, y = rng.normal(size=(130, 2)), np.where(np.arange(130) < rare, 1.0, -1.0)
    X[:rare] += 2.0
    errors = (
        RidgeErrors(X, y[:, None], intercept=True)
        if kind is RidgeErrors
        else MachineErrors(X, 130, [Part(y, Logistic(), np.ones(130))])
    )
    found = Tuning(errors, max_iter=5).in_stages(RBF(1.0), 1.0)
    assert found.objective < found.at_start < 1e3


@pytest.mark.usefixtures("small_stages")
def test_rows_of_one_class_have_nothing_to_tell(rng):
    errors = MachineErrors(rng.normal(size=(130, 2)), 130, [Part(np.ones(130), Logistic(), np.ones(130))])
    for criterion in (errors.on(np.arange(125)), errors.on(np.arange(15))):
        found = Tuning(criterion, max_iter=5).in_stages(RBF(1.0), 1.0)
        assert found.objective == module.IMPOSSIBLE
        assert found.kernel.length_scale == 1.0


class Parabola:
    """A criterion whose best strength follows a power law in the number of rows."""

    def __init__(self, strength, power, rows):
        self.strength, self.power, self.n, self.X = strength, power, rows, np.zeros((rows, 1))
        self.is_constant = False

    def order(self, seed):
        return np.arange(self.n)

    def on(self, rows):
        return Parabola(self.strength, self.power, len(rows))

    def __call__(self, kernel, strength):
        off = np.log(strength) - self.power * np.log(self.n / 20.0)
        return Value(1.0 + off**2, {"length_scale": np.zeros(())}, 2.0 * off)


@pytest.mark.usefixtures("small_stages")
@pytest.mark.parametrize(
    ("name", "power", "expected"),
    [("alpha", 0.5, 0.5), ("alpha", -0.5, -0.5 * np.log(2.0) / np.log(8.0)), ("C", -0.5, -0.5), ("strength", 0.5, 0.5)],
)
def test_strengths_are_those_for_all_rows(name, power, expected):
    """From blocks of 20 rows over 40 to all 160: towards more regularisation, which is a smaller C, and not to less."""
    found = Tuning(Parabola(name, power, 160)).in_stages(RBF(1.0), 1.0)
    assert found.strength == pytest.approx(8.0**expected, rel=1e-3)
