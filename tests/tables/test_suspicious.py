"""Labels that were changed are found, and what the others predict is what a fit without the row predicts."""

import numpy as np
import pytest

from representer import SVC, KernelClassifier, KernelRidge, suspicious_labels
from representer.tables.outcome import HeldOut
from representer.tables.suspicious import far_off

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))


def test_a_changed_number_is_found_with_what_the_others_predict():
    y = np.sin(X[:, 0]) + 0.02 * RNG.normal(size=60)
    y[11] += 2.0
    model = KernelRidge(alpha=0.1, fit_intercept=True).fit(X, y)
    (first, *_) = suspicious_labels(model, y)
    rest = np.arange(60) != 11
    without = KernelRidge(kernel=model.kernel_, alpha=0.1, fit_intercept=True).fit(X[rest], y[rest])
    assert first.row == 11
    assert first.others_predict == pytest.approx(float(without.predict(X[11:12])[0]), abs=1e-9)
    assert "row 11" in str(first)


@pytest.mark.filterwarnings("ignore:The search stopped")
def test_changed_classes_are_found():
    labels = np.where(X[:, 0] > 0, "yes", "no")
    clear = np.flatnonzero(np.abs(X[:, 0]) > 0.8)[:2]
    labels[clear] = np.where(labels[clear] == "yes", "no", "yes")
    found = suspicious_labels(KernelClassifier(time_limit=1e-9).fit(X, labels), labels, n=2)
    assert {each.row for each in found} == set(clear)
    assert all(each.given != each.others_predict for each in found)


def test_errors_say_what_to_do():
    with pytest.raises(TypeError, match="use KernelRegressor"):
        suspicious_labels(SVC().fit(X, X[:, 0] > 0), X[:, 0] > 0)
    with pytest.raises(ValueError, match="fitted to 60 rows"):
        suspicious_labels(KernelRidge().fit(X, X[:, 0]), X[:5, 0])


def test_rows_set_aside_that_are_far_off():
    truth = RNG.normal(size=100)
    found = truth + 0.1 * RNG.normal(size=100)
    found[30] += 3.0
    held = HeldOut(np.arange(200, 300), truth, found, None, None, None, None, np.zeros(100, bool))
    assert [each.row for each in far_off(held, ())] == [230]
    labels, shares = np.array(["a", "b", "b"]), np.array([[0.9, 0.1], [0.95, 0.05], [0.4, 0.6]])
    held = HeldOut(np.arange(3), labels, np.array(["a", "a", "b"]), None, None, None, shares, np.zeros(3, bool))
    assert [(each.row, each.others_predict) for each in far_off(held, ("a", "b"))] == [(1, "a")]
