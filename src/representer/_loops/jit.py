"""How every loop is compiled: without the GIL, cached on disk, fused multiply-adds allowed.

Only relaxations of IEEE arithmetic that keep the order of additions are enabled, so that a loop gives the same bits on
every run. Loops that sum many terms have ``reassoc`` as well. Short parts of a loop that runs for less than a
microsecond are inlined, as passing arrays takes a part of that time.

The cache is Numba's: in NUMBA_CACHE_DIR, or beside the source, or else below the user's cache directory. Where none of
them is writable, loops are compiled in each process. A cached loop is recompiled when its own file changes, but not
when a function that it calls changes in another file: delete the cache (*.nbi) then.

An interrupt during compilation takes effect when the loop is compiled, which may take some seconds. It works at any
time afterwards: maps over tiles and solvers return to Python at least once a second.
"""

import signal
import sys
import threading
from typing import Any

from numba import njit
from numba.core import event

STRICT = {"contract", "nsz", "arcp", "nnan"}
NOTICE_AFTER = 1.0
"""Seconds of compilation after which the process prints one notice."""


class CompilationNotice(event.Listener):
    """A notice on stderr, once per process, when compiling loops takes long. Cached loops are not compiled."""

    def __init__(self, package):
        self.package, self.cached, self.printed = package, True, False
        self._depth, self._timer = 0, None

    def on_start(self, event):
        if self._is_ours(event):
            self._depth += 1  # loops that a loop calls are compiled within it
            if self._depth == 1 and not self.printed:
                self._timer = threading.Timer(NOTICE_AFTER, self._print)
                self._timer.daemon = True
                self._timer.start()

    def on_end(self, event):
        if self._is_ours(event):
            self._depth -= 1
            if self._depth == 0 and self._timer is not None:
                self._timer.cancel()

    def _is_ours(self, event):
        return event.data["dispatcher"].py_func.__module__.startswith(self.package)

    def _print(self):
        self.printed = True
        how_often = (
            "once; later runs load them from the cache"
            if self.cached
            else "in each process, as no cache directory is writable: set NUMBA_CACHE_DIR to one that is"
        )
        print(f"representer: compiling loops, 5 to 60 seconds, {how_often}.", file=sys.stderr)


class InterruptGuard(event.Listener):
    """Delays an interrupt of the main thread until the loop that it compiles is complete.

    Numba keeps what was compiled of an interrupted loop, and every later call of it in the process would fail.
    """

    def __init__(self, package):
        self.package, self._depth, self._handler, self._pending = package, 0, None, False

    def on_start(self, event):
        if self._concerns(event):
            self._depth += 1
            if self._depth == 1 and callable(handler := signal.getsignal(signal.SIGINT)):
                self._handler, self._pending = handler, False
                signal.signal(signal.SIGINT, self._delay)

    def on_end(self, event):
        if self._concerns(event):
            self._depth -= 1
            if self._depth == 0 and self._handler is not None:
                handler, self._handler = self._handler, None
                signal.signal(signal.SIGINT, handler)
                if self._pending:
                    handler(signal.SIGINT, None)

    def _concerns(self, event):
        ours = event.data["dispatcher"].py_func.__module__.startswith(self.package)
        return ours and threading.current_thread() is threading.main_thread()

    def _delay(self, number, frame):
        self._pending = True


PACKAGE = __name__.rpartition(".")[0]
notice = CompilationNotice(PACKAGE)
event.register("numba:compile", notice)
event.register("numba:compile", InterruptGuard(PACKAGE))


def _compiler(**options: Any) -> Any:
    """A decorator: njit with a disk cache, or without one where Numba finds no directory for it."""
    options |= {"nogil": True, "no_cfunc_wrapper": True}  # nothing calls a loop from C

    def compiled(function):
        try:
            return njit(cache=True, **options)(function)
        except RuntimeError:
            notice.cached = False
            return njit(**options)(function)

    return compiled


loop = _compiler(fastmath=STRICT)
dividing_loop = _compiler(fastmath=STRICT | {"reassoc"}, error_model="numpy")
"""A summing loop in which x / 0 is inf: Python's test for zero would prevent vectorisation."""
INLINED: dict[str, Any] = {"forceinline": True, "no_cpython_wrapper": True}
"""Inlined parts have no entry point from Python, which took a fifth of the compile time: calls from there crash."""
inlined_loop = _compiler(fastmath=STRICT, **INLINED)
summing_loop = _compiler(fastmath=STRICT | {"reassoc"})
inlined_summing_loop = _compiler(fastmath=STRICT | {"reassoc"}, **INLINED)
