"""Modules of loops are executed on first use: Numba takes half a second to import, which processes without a fit save.

The standard library's LazyLoader is not used: before Python 3.11.8, a second thread sees modules that are incomplete.
"""

import sys
from collections.abc import Callable
from importlib.util import find_spec, module_from_spec
from threading import RLock
from types import ModuleType
from typing import Any

_LOCK = RLock()


class Deferred(ModuleType):
    """A module that is executed on the first access to any of its names, and a plain module from then on."""

    def __getattribute__(self, name: str) -> Any:
        get = super().__getattribute__
        with _LOCK:  # other threads wait for the complete module
            if get("__class__") is Deferred and not get("__dict__").get("_running"):
                self._running = True
                try:
                    get("__spec__").loader.exec_module(self)
                    self.__class__ = ModuleType  # type: ignore[assignment]
                finally:
                    del self._running
        return get(name)


def deferred(package: str) -> Callable[[str], ModuleType]:
    """The function ``__getattr__`` of a package, for modules of it that have not been imported yet."""

    def __getattr__(name: str) -> ModuleType:
        full = f"{package}.{name}"
        with _LOCK:
            if full not in sys.modules:
                spec = find_spec(full)
                if spec is None:
                    raise AttributeError(f"module {package!r} has no attribute {name!r}")
                module = sys.modules[full] = module_from_spec(spec)
                module.__class__ = Deferred
                setattr(sys.modules[package], name, module)
        return sys.modules[full]

    return __getattr__
