"""The variance of measurements about f, as given by the user, and in the units of the targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


def check_noise(noise: Any, n: int) -> Any:
    """The noise of n inputs, checked: "estimate", a variance, or an array with one variance per input."""
    if isinstance(noise, str) and noise == "estimate":
        return noise
    try:
        values = np.array(noise, np.float64)  # a copy: later changes do not affect the model
    except (TypeError, ValueError):
        values = np.array(np.nan)
    if values.shape not in ((), (n,)) or not np.all(np.isfinite(values)) or np.any(values < 0):
        raise ValueError(
            f"noise is {noise!r}; use 'estimate', one variance, or one variance for each of the {n} inputs, none of "
            "them negative."
        )
    return values if values.ndim else float(values)


@dataclass(frozen=True)
class MeasurementNoise:
    """The variance of y - f(x) in squared units of y, of shape (1 or n, 1 or n_targets)."""

    values: np.ndarray
    per_input: bool = False

    @classmethod
    def of(cls, noise: Any, scale: np.ndarray) -> MeasurementNoise:
        """From a variance, or one per input, of targets that were divided by these scales."""
        scale = scale[:1] if np.all(scale == scale[0]) else scale
        return cls(np.reshape(noise, (-1, 1)) * scale**2, np.ndim(noise) > 0)

    @property
    def variance(self) -> Any:
        """One number, one per input, one per target, or one per input and target."""
        values = self.values if self.per_input else self.values[0]
        return values[..., 0][()] if self.values.shape[1] == 1 else values

    def __str__(self) -> str:
        return "one variance per input" if self.per_input else ", ".join(f"{value:.4g}" for value in self.values[0])

    def of_new(self, asked: Any, n: int) -> np.ndarray:
        """The noise variance of n new measurements: zero for False, the fitted one for True, or as given.

        Its shape is (1 or n, 1 or n_targets).
        """
        if asked is False:
            return NO_NOISE.values
        if asked is True and self.per_input:
            raise ValueError(
                "noise is one variance for each training input; pass those of the new ones as noise=array."
            )
        if asked is True:
            return self.values
        if isinstance(asked, str):
            raise ValueError(f"noise is {asked!r}; use True, False, or the variance of each of the {n} inputs.")
        return np.reshape(check_noise(asked, n), (-1, 1))


NO_NOISE = MeasurementNoise(np.zeros((1, 1)))
