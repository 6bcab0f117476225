"""scikit-learn's checks of an estimator in one test: reports of sixty tests take longer than most of the checks."""

from sklearn.utils.estimator_checks import check_estimator


def faults(estimator):
    """Checks that fail, with their errors."""
    checks = check_estimator(estimator, on_skip=None, on_fail=None)
    assert len(checks) > 30
    return [f"{each['check_name']}: {each['exception']!r}" for each in checks if each["status"] == "failed"]
