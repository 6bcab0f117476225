"""scikit-learn's checks of every public estimator with default parameters; none is expected to fail.

    python -m pytest -W default tools/sklearn_tests/estimator_checks.py

The estimators' own tests run the same checks, some of them with fewer steps.
"""

import inspect

from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

import representer
from representer import drop_in
from representer.kernels import RBF


def defaults():
    """An object of each class; those that require a kernel get one."""
    for room in (representer, drop_in):
        for name in room.__all__:
            kind = getattr(room, name)
            if inspect.isclass(kind) and issubclass(kind, BaseEstimator):
                required = inspect.signature(kind).parameters.get("kernel")
                yield kind(RBF()) if required and required.default is required.empty else kind()


@parametrize_with_checks(list(defaults()))
def test_estimator(estimator, check):
    check(estimator)
