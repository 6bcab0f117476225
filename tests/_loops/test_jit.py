import signal
import time
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core import caching, event

from representer._loops import jit


@pytest.fixture(autouse=True)
def compiler(monkeypatch):
    """These tests compile their own loop also where others run as plain Python."""
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 0)


def total(values):
    s = values.dtype.type(0.0)
    for i in range(values.size):
        s += values[i]
    return s


@pytest.mark.parametrize("decorator", [jit.loop, jit.summing_loop])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled_is_the_same_as_plain_python(decorator, dtype):
    values = np.arange(37, dtype=dtype)  # integers, whose sum has no rounding in any order
    result = decorator(total)(values)
    assert result == 666.0
    assert np.isinf(decorator(total)(np.array([1.0, np.inf], dtype)))


def test_only_summing_loops_may_change_the_order_of_additions():
    values = np.array([1.0, 1e100, 1.0, -1e100] * 25)  # in this order the ones are lost
    assert jit.loop(total)(values) == 0.0
    assert not jit.STRICT & {"reassoc", "ninf", "fast"}  # infinities occur, too


DECORATORS = [jit.loop, jit.inlined_loop, jit.summing_loop, jit.inlined_summing_loop]


@pytest.mark.parametrize("decorator", DECORATORS)
def test_loops_are_made_where_no_cache_is_writable(decorator, monkeypatch):
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    with pytest.raises(RuntimeError, match="no locator"):
        numba.njit(cache=True)(total)
    monkeypatch.setattr(jit.notice, "cached", True)
    made = decorator(total)
    assert isinstance(made, numba.core.dispatcher.Dispatcher)
    assert not jit.notice.cached


def test_no_loop_is_made_otherwise():
    files = Path(jit.__file__).parent.rglob("*.py")
    assert [path.name for path in files if "njit" in path.read_text()] == ["jit.py"]


@pytest.fixture
def notice(monkeypatch):
    """Notices of loops of this file, at once."""
    monkeypatch.setattr(jit, "NOTICE_AFTER", 0.0)
    listener = jit.CompilationNotice(__name__)
    monkeypatch.setattr(jit, "notice", listener)
    with event.install_listener("numba:compile", listener):
        yield listener


def printed(notice, capsys):
    if notice._timer is not None:
        notice._timer.join()
    return capsys.readouterr().err


def test_compiling_is_announced_and_loading_from_the_cache_is_not(notice, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    values = np.arange(3.0)
    assert jit.loop(total)(values) == 3.0
    assert "once; later runs load" in printed(notice, capsys)
    notice.printed = False
    assert jit.loop(total)(values) == 3.0
    assert printed(notice, capsys) == ""


def test_without_a_cache_it_says_what_to_do(notice, monkeypatch, capsys):
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    assert jit.loop(total)(np.arange(3.0)) == 3.0
    assert "set NUMBA_CACHE_DIR" in printed(notice, capsys)


def compiling(function, seconds=0.05):
    with event.trigger_event("numba:compile", data={"dispatcher": numba.njit(function)}):
        time.sleep(seconds)


def test_one_line_for_a_process(notice, capsys):
    compiling(total)
    compiling(total)
    assert printed(notice, capsys).count("\n") == 1


def test_short_compilations_and_those_of_others_are_not_announced(notice, monkeypatch, capsys):
    monkeypatch.setattr(notice, "package", "another.package")
    compiling(total)
    monkeypatch.setattr(notice, "package", __name__)
    monkeypatch.setattr(jit, "NOTICE_AFTER", 0.1)
    compiling(total, 0.0)
    time.sleep(0.15)
    assert printed(notice, capsys) == ""


class Interrupting(event.Listener):
    """The key is pressed while a loop is compiled."""

    def on_start(self, event):
        signal.raise_signal(signal.SIGINT)

    def on_end(self, event):
        pass


def test_an_interrupted_compilation_is_completed_first(monkeypatch, tmp_path):
    """Numba would keep half of it, and raise RuntimeError in all later calls."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    handler, sums = signal.getsignal(signal.SIGINT), jit.loop(total)
    guard = jit.InterruptGuard(__name__)
    with event.install_listener("numba:compile", guard), event.install_listener("numba:compile", Interrupting()):
        with pytest.raises(KeyboardInterrupt):
            sums(np.arange(3.0))
        assert signal.getsignal(signal.SIGINT) is handler
    assert sums.signatures
    assert sums(np.arange(3.0)) == 3.0
