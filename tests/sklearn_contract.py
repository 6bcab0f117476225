"""scikit-learn's checks of an estimator in one test: reports of sixty tests take longer than most of the checks."""

from sklearn.utils.estimator_checks import check_estimator


def faults(estimator, expected=None):
    """Checks that fail, with their errors, and checks that pass though they were expected to fail."""
    checks = check_estimator(estimator, expected_failed_checks=expected, on_skip=None, on_fail=None)
    assert len(checks) > 30
    failed = [f"{each['check_name']}: {each['exception']!r}" for each in checks if each["status"] == "failed"]
    passed = [each["check_name"] for each in checks if each["status"] == "passed" and each["expected_to_fail"]]
    return failed + [f"{name} passes: do not expect it to fail" for name in passed]
