"""A pytest plugin that runs scikit-learn's own tests with its kernel estimators replaced, and counts.

Tests that are listed in expected_failures.toml have to fail; all others have to pass.
"""

import json
import os
import tomllib
from pathlib import Path

import pytest

from representer import drop_in
from representer.drop_in import patching

HERE = Path(__file__).parent
NAMES = [name for name in patching.PLACES if name not in os.environ.get("NOT_PATCHED", "").split(",")]
running = None
built: set[str] = set()


def counted(kind):
    """The class, which notes the test that builds an object of it."""
    original = kind.__init__

    def __init__(self, *args, **options):
        if running is not None:
            built.add(running)
        original(self, *args, **options)

    __init__.__wrapped__ = original  # its signature is what scikit-learn reads parameters from
    kind.__init__ = __init__


def pytest_configure(config):
    patching.patch(NAMES)
    for name in NAMES:
        counted(getattr(drop_in, name))


def expected():
    """Reasons by test: a file, a function, or a function with parameters."""
    with (HERE / "expected_failures.toml").open("rb") as file:
        groups = tomllib.load(file)["failures"]
    return {test: (group["reason"], group.get("strict", True)) for group in groups for test in group["tests"]}


def key_of(item):
    return f"{item.path.name}::{item.name}"


def pytest_collection_modifyitems(config, items):
    reasons = expected()
    known = set()
    for item in items:
        for key in (key_of(item), key_of(item).partition("[")[0]):
            if key in reasons:
                known.add(key)
                reason, strict = reasons[key]
                item.add_marker(pytest.mark.xfail(reason=reason, strict=strict))
    missing = [key for key in reasons if key not in known and not os.environ.get("ONLY")]
    if missing and not hasattr(config, "workerinput"):
        raise pytest.UsageError(f"expected_failures.toml names tests that are not there: {', '.join(missing)}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    global running
    running = key_of(item)
    try:
        return (yield)
    finally:
        running = None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    report.built = key_of(item) in built
    report.listed = any(key in REASONS for key in (key_of(item), key_of(item).partition("[")[0]))
    return report


REASONS = expected()
tally = {"passed": 0, "expected failures": 0, "failed": 0, "skipped": 0, "without our classes": 0}


def pytest_runtest_logreport(report):
    if report.when != "call" and not (report.when == "setup" and report.outcome != "passed"):
        return
    if report.outcome == "skipped" and not hasattr(report, "wasxfail"):
        tally["skipped"] += 1
    elif not report.built:
        tally["without our classes"] += 1
    elif report.listed and report.outcome != "failed":
        tally["expected failures"] += 1
    else:  # scikit-learn's own expected failures count as passed
        tally["failed" if report.outcome == "failed" else "passed"] += 1


def pytest_terminal_summary(terminalreporter):
    total = tally["passed"] + tally["expected failures"] + tally["failed"]
    terminalreporter.write_line(
        f"{tally['passed']} of {total} tests that build a class of representer.drop_in pass "
        f"({100.0 * tally['passed'] / max(total, 1):.2f} %); {json.dumps(tally)}"
    )
