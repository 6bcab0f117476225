import matplotlib as mpl
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

from representer import KernelRidge, KernelRidgeClassifier
from representer.plotting import LeaveOneOutDisplay

ALPHAS = np.logspace(-3, 2, 12)
X = np.random.default_rng(0).normal(size=(40, 2))
Y = np.c_[np.sin(2 * X[:, 0]), X[:, 1]] + 0.3 * np.random.default_rng(1).normal(size=(40, 2))


@pytest.fixture(autouse=True)
def plt():
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


@pytest.mark.parametrize("weights", [None, np.arange(40.0) % 3], ids=["even", "weighted"])
def test_one_target(weights):
    ridge = KernelRidge(ALPHAS, fit_intercept=True).fit(X, Y[:, 0], weights)
    display = LeaveOneOutDisplay.from_estimator(ridge)
    np.testing.assert_array_equal(display.alphas.ravel(), ALPHAS)
    np.testing.assert_array_equal(display.errors.ravel(), -ridge.loo_scores_)
    np.testing.assert_array_equal(display.gcv, ridge.gcv_)
    assert display.chosen.tolist() == [ridge.alpha_] == [ALPHAS[display.errors.argmin()]]
    np.testing.assert_allclose(display.targets, Y[:, :1], rtol=1e-12)
    error = np.average((display.predictions - display.targets) ** 2, axis=0, weights=weights)
    assert error[0] == pytest.approx(display.errors.min())


def test_several_targets_with_one_alpha():
    ridge = KernelRidge(ALPHAS).fit(X, Y)
    display = LeaveOneOutDisplay.from_estimator(ridge).plot()
    assert display.errors.shape == display.gcv.shape == display.alphas.shape == (12, 1)
    np.testing.assert_allclose(display.gcv[:, 0], ridge.gcv_.mean(axis=1))
    np.testing.assert_allclose(display.targets, Y, rtol=1e-12)
    assert (len(display.error_lines_), len(display.points_)) == (1, 2)


@pytest.mark.parametrize("alpha", [ALPHAS, np.c_[ALPHAS, 10 * ALPHAS]], ids=["shared", "columns"])
def test_an_alpha_for_each_target(alpha):
    ridge = KernelRidge(alpha, alpha_per_target=True).fit(X, Y)
    display = LeaveOneOutDisplay.from_estimator(ridge).plot()
    assert display.errors.shape == display.gcv.shape == (12, 2)
    np.testing.assert_array_equal(display.alphas, np.broadcast_to(alpha.reshape(12, -1), (12, 2)))
    np.testing.assert_array_equal(display.alphas[display.errors.argmin(axis=0), [0, 1]], display.chosen)
    assert len(display.error_lines_) == len(display.gcv_lines_) == len(display.chosen_lines_) == 2


@pytest.mark.parametrize("classes", [2, 3])
def test_errors_of_a_classifier_are_rates(classes):
    labels = np.digitize(Y[:, 1], [0.0, 0.7][: classes - 1])
    ridge = KernelRidgeClassifier(ALPHAS).fit(X, labels)
    display = LeaveOneOutDisplay.from_estimator(ridge).plot()
    np.testing.assert_allclose(display.errors.ravel(), 1.0 - ridge.loo_scores_)
    assert display.targets.shape == (40, 1 if classes == 2 else 3)
    np.testing.assert_allclose(np.abs(display.targets), 1.0)


def test_what_is_drawn(plt):
    display = LeaveOneOutDisplay.from_estimator(KernelRidge(ALPHAS).fit(X, Y[:, 0])).plot()
    left, right = display.axes_
    np.testing.assert_array_equal(display.error_lines_[0].get_data(), [ALPHAS, display.errors.ravel()])
    np.testing.assert_array_equal(display.gcv_lines_[0].get_ydata(), display.gcv.ravel())
    assert display.chosen_lines_[0].get_xdata()[0] == display.chosen[0]
    np.testing.assert_array_equal(display.points_[0].get_offsets(), np.c_[display.targets, display.predictions])
    assert (left.get_xscale(), left.get_yscale(), right.get_xscale()) == ("log", "log", "linear")
    names = [text.get_text() for text in left.get_legend().get_texts()]
    assert names == ["leave-one-out", "generalised cross-validation", "chosen"]
    _, axes = plt.subplots(1, 2)
    assert list(display.plot(axes).axes_) == list(axes)


def test_path_that_starts_at_zero():
    display = LeaveOneOutDisplay.from_estimator(KernelRidge([0.0, 0.1, 1.0], kernel="laplacian").fit(X, Y[:, 0])).plot()
    assert display.axes_[0].get_xscale() == "symlog"
    display.figure_.canvas.draw()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: KernelRidge(ALPHAS), NotFittedError, "not fitted"),
        (lambda: KernelRidge(1.0).fit(X, Y), ValueError, "one alpha; fit it with a list of alphas"),
        (lambda: Ridge().fit(X, Y), TypeError, "estimator is a Ridge; give a fitted KernelRidge"),
    ],
)
def test_bad_estimators(make, error, message):
    with pytest.raises(error, match=message):
        LeaveOneOutDisplay.from_estimator(make())
