"""Modules of loops are executed on first use, once, and completely before any thread sees their names."""

import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from types import ModuleType

import pytest

from representer import _loops
from representer._loops import products
from representer._loops.deferred import Deferred, deferred

SLOW = """
import time
from representer_test_package.counted import add
time.sleep(0.05)
add()
def late():
    return early() + 1
time.sleep(0.05)
def early():
    return 1
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package whose modules are deferred, one of them slow to execute."""
    name = "representer_test_package"
    folder = tmp_path / name
    folder.mkdir()
    init = f"from representer._loops.deferred import deferred\n__getattr__ = deferred({name!r})\n"
    (folder / "__init__.py").write_text(init)
    (folder / "slow.py").write_text(SLOW)
    (folder / "broken.py").write_text("import no_module_of_this_name\n")
    (folder / "counted.py").write_text("runs = 0\ndef add():\n    global runs\n    runs += 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield import_module(name)
    for each in [each for each in sys.modules if each.startswith(name)]:
        del sys.modules[each]


def test_modules_are_executed_on_first_use_and_plain_from_then_on(package):
    slow = package.slow
    assert type(slow) is Deferred
    assert "late" not in object.__getattribute__(slow, "__dict__")
    assert slow.late() == 2
    assert type(slow) is ModuleType
    assert slow is package.slow is import_module(f"{package.__name__}.slow")


def test_threads_wait_for_the_complete_module(package):
    slow = package.slow
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda _: slow.late(), range(8))) == [2] * 8
    assert package.counted.runs == 1


def test_names_imported_from_a_deferred_module_execute_it(package):
    assert type(package.counted) is Deferred
    assert import_module(f"{package.__name__}.counted").runs == 0


def test_an_import_that_fails_fails_again(package):
    broken = package.broken
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError, match="no_module_of_this_name"):
            broken.anything  # noqa: B018


def test_modules_that_do_not_exist_have_no_attribute():
    with pytest.raises(AttributeError, match="has no attribute"):
        _loops.product  # noqa: B018
    with pytest.raises(ImportError, match="product"):
        exec("from representer._loops import product")
    assert deferred("representer._loops")("products") is products
