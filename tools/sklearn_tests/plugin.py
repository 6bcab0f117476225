"""A pytest plugin that runs scikit-learn's own tests with its kernel estimators replaced, and counts.

Tests that are listed in expected_failures.toml have to fail; all others have to pass. The exit code is 1 as well when
fewer than 98 % pass of those tests that build one of the estimators, groups with counted = false aside.
"""

import json
import os
import tomllib
from pathlib import Path

import pytest

from representer import drop_in
from representer.drop_in import patching

HERE = Path(__file__).parent
LEAST = 98.0
NAMES = [name for name in patching.PLACES if name not in os.environ.get("NOT_PATCHED", "").split(",")]
running = None
built: set[str] = set()


def noted(kind):
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
        noted(getattr(drop_in, name))


def expected():
    """The reason for each test, a function or one with parameters, and whether it is counted."""
    with (HERE / "expected_failures.toml").open("rb") as file:
        groups = tomllib.load(file)["failures"]
    return {test: (group["reason"], group.get("counted", True)) for group in groups for test in group["tests"]}


def keys_of(item):
    return key_of(item), key_of(item).partition("[")[0]


def key_of(item):
    return f"{item.path.name}::{item.name}"


def pytest_collection_modifyitems(config, items):
    reasons = expected()
    known = set()
    for item in items:
        for key in keys_of(item):
            if key in reasons:
                known.add(key)
                item.add_marker(pytest.mark.xfail(reason=reasons[key][0], strict=True))
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
    found = [REASONS[key] for key in keys_of(item) if key in REASONS]
    report.listed, report.counted = bool(found), all(counted for _, counted in found)
    return report


REASONS = expected()
tally = {"passed": 0, "expected failures": 0, "failed": 0, "not counted": 0, "skipped": 0, "without our classes": 0}


def pytest_runtest_logreport(report):
    if report.when != "call" and not (report.when == "setup" and report.outcome != "passed"):
        return
    if report.outcome == "skipped" and not hasattr(report, "wasxfail"):
        tally["skipped"] += 1
    elif not report.built:
        tally["without our classes"] += 1
    elif report.listed and report.outcome != "failed":
        tally["expected failures" if report.counted else "not counted"] += 1
    else:  # scikit-learn's own expected failures count as passed
        tally["failed" if report.outcome == "failed" else "passed"] += 1


def share(*names):
    """Passed tests and all that build one of the estimators, those under these names aside, and the percentage."""
    rest = {"skipped", "without our classes", *names}
    total = sum(number for name, number in tally.items() if name not in rest)
    return tally["passed"], total, 100.0 * tally["passed"] / max(total, 1)


def pytest_sessionfinish(session, exitstatus):
    options = session.config.option
    whole = not (os.environ.get("ONLY") or options.collectonly or options.keyword)
    if whole and not hasattr(session.config, "workerinput") and exitstatus == 0 and share("not counted")[2] < LEAST:
        session.exitstatus = 1


def pytest_terminal_summary(terminalreporter):
    every, counted = share(), share("not counted")
    terminalreporter.write_line(
        f"{every[0]} of {every[1]} tests that build a class of representer.drop_in pass ({every[2]:.2f} %), "
        f"{counted[0]} of {counted[1]} of those counted ({counted[2]:.2f} %, at least {LEAST:g} % have to); "
        f"{json.dumps(tally)}"
    )
