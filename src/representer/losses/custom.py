"""A loss from two functions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from representer.losses.base import Loss

TARGETS = ("real", "counts", "signs")


class CustomLoss(Loss):
    """l(y, f) from its value and gradient, elementwise functions of arrays y and f.

    Parameters
    ----------
    value, gradient : callable
        Of (y, f); l must be differentiable everywhere.
    targets : {"real", "counts", "signs"}
        What y holds: any numbers, numbers that are not negative, or the signs -1 and +1 of two classes.
    convex : bool
        Whether l is convex in f. Otherwise a fit finds a local minimum, and its plan says so.

    Examples
    --------
    >>> import numpy as np
    >>> from representer import KernelMachine
    >>> from representer.losses import CustomLoss
    >>> log_cosh = CustomLoss(lambda y, f: np.logaddexp(f - y, y - f) - np.log(2), lambda y, f: np.tanh(f - y))
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> bool(KernelMachine(loss=log_cosh).fit(X, np.sin(X).ravel()).certificate_.converged)
    True
    """

    def __init__(
        self,
        value: Callable[[np.ndarray, np.ndarray], np.ndarray],
        gradient: Callable[[np.ndarray, np.ndarray], np.ndarray],
        *,
        targets: str = "real",
        convex: bool = True,
    ):
        self.value = value  # type: ignore[method-assign, assignment]
        self.gradient = gradient  # type: ignore[method-assign, assignment]
        self.targets = targets
        self.convex = convex

    def check(self) -> None:
        for name in ("value", "gradient"):
            if not callable(getattr(self, name)):
                raise TypeError(f"{name} is {getattr(self, name)!r}; give a function of (y, f).")
        if self.targets not in TARGETS:
            raise ValueError(f"targets is {self.targets!r}; use one of {', '.join(TARGETS)}.")
