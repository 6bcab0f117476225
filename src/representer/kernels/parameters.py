"""Base class of kernels and feature maps: parameters that can be read, set, cloned, compared and printed."""

from __future__ import annotations

from functools import cache
from inspect import signature
from numbers import Real
from typing import Any

import numpy as np
from joblib import hash as joblib_hash
from sklearn.base import BaseEstimator, clone


class Parameters(BaseEstimator):
    """scikit-learn's parameters and cloning, equality by parameters, and a repr of the non-default ones."""

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        if type(self).__init__ is object.__init__:
            return f"{type(self).__name__}()"  # Python would compile the text of that signature
        known = signature(type(self)).parameters
        given = [(name, getattr(self, name)) for name in known]
        return f"{type(self).__name__}({', '.join(f'{n}={v!r}' for n, v in given if not _equal(v, known[n].default))})"

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        mine, theirs = self.get_params(deep=False), other.get_params(deep=False)
        return all(_equal(mine[name], theirs[name]) for name in mine)

    __hash__ = None  # type: ignore[assignment]

    def __sklearn_clone__(self) -> Any:
        """As scikit-learn's clone, but numbers, which are immutable, are not copied."""
        values = {name: getattr(self, name) for name in self._get_param_names()}
        return type(self)(**{n: v if isinstance(v, Real) else clone(v, safe=False) for n, v in values.items()})

    @classmethod
    @cache  # inspecting a signature takes longer than copying a kernel
    def _get_param_names(cls) -> list[str]:
        return super()._get_param_names()


def _equal(a: Any, b: Any) -> bool:
    """Equality of parameters: by value for numbers, arrays and lists of numbers, by content for inputs of any type."""
    if a is b or isinstance(a, Parameters | str) or callable(a):
        return a is b or a == b
    if all(isinstance(part, Real | np.ndarray) or _is_numbers(part) for part in (a, b)):
        return np.array_equal(a, b)
    return joblib_hash(a) == joblib_hash(b)


def _is_numbers(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(part, Real) for part in value)
