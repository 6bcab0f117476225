import numpy as np
import pytest
from each_case import each
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn_contract import faults

from representer import KernelLogisticRegression


def test_estimator_checks():
    assert faults(KernelLogisticRegression()) == []


@each("classes", [2, 3])
@each("intercept", [True, False])
@each("class_weight", [None, "balanced"])
def test_linear_kernel_is_linear_model(classes, intercept, class_weight):
    X, y = load_iris(return_X_y=True)
    X, y = X[30 : 50 * classes], y[30 : 50 * classes]
    common = {"C": 0.7, "fit_intercept": intercept, "class_weight": class_weight}
    own = KernelLogisticRegression("linear", tol=1e-12, **common).fit(X, y)
    other = LogisticRegression(tol=1e-10, max_iter=10000, **common).fit(X, y)
    np.testing.assert_allclose(own.predict_proba(X), other.predict_proba(X), atol=1e-5)
    np.testing.assert_allclose(np.exp(own.predict_log_proba(X)), own.predict_proba(X), rtol=1e-10)
    np.testing.assert_array_equal(own.predict(X), other.predict(X))


def test_bad_C_is_refused():
    with pytest.raises(ValueError, match="C is 0"):
        KernelLogisticRegression(C=0.0).fit([[0.0], [1.0]], [0, 1])


def test_plan():
    assert KernelLogisticRegression().plan(np.ones((9, 1)), [0, 1, 2] * 3).solver == "newton"
