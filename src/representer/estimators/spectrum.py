"""Initial periods of a search: peaks of the spectrum of the targets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.signal import lombscargle

from representer.kernels.base import Kernel

PERIODS_TRIED = 2
"""Candidates for each period."""
SPECTRUM_TERMS = 4 * 10**7
"""Largest number of frequencies times inputs in a spectrum."""
OVERSAMPLING = 5
"""Frequencies per peak width."""
TREND_DEGREE = 3
"""Degree of the polynomial trend that is removed first."""


def periodic_columns(kernel: Kernel, X: Any, prefix: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """The name of each period in a kernel, with the columns it applies to."""
    own = kernel.get_params(deep=False)
    if own.get("period") is not None:
        yield f"{prefix}period", np.asarray(X, np.float64).reshape(len(X), -1)
    X = kernel.pick(X) if hasattr(kernel, "pick") else X
    for name, child in own.items():
        if isinstance(child, Kernel):
            yield from periodic_columns(child, X, f"{prefix}{name}__")


def periods(x: np.ndarray, Y: np.ndarray, most: int = PERIODS_TRIED) -> list[float]:
    """The periods of the highest peaks of the Lomb-Scargle spectrum of Y over x, evenly spaced or not.

    A cubic trend is removed first. Periods are between half of the range of x, so that at least two are covered, and
    twice the mean spacing of inputs.
    """
    span, n = float(np.ptp(x)), len(np.unique(x))
    count = int(min(OVERSAMPLING * n / 2, SPECTRUM_TERMS / len(x)))
    if n < 8 or span == 0.0:
        return []
    t = 2.0 * (x - x.min()) / span - 1.0
    basis = np.polynomial.legendre.legvander(t, TREND_DEGREE)
    rest = Y - basis @ np.linalg.lstsq(basis, Y, rcond=None)[0]
    if np.abs(rest).max() <= 1e-9 * np.abs(Y).max():
        return []
    frequencies = np.linspace(2.0 / span, max(n / 2, 3.0) / span, max(count, 8))
    power: Any = sum(lombscargle(x - x.mean(), y, 2.0 * np.pi * frequencies) for y in rest.T)
    inner = np.flatnonzero((power[1:-1] >= power[:-2]) & (power[1:-1] > power[2:])) + 1
    return [float(1.0 / frequencies[i]) for i in inner[np.argsort(-power[inner])][:most]]


class Periods:
    """The periods among the hyper-parameters of a kernel: their spectral candidates, and their units.

    Parameters
    ----------
    kernel : Kernel
    X : inputs of the kernel
    Y : array of shape (n, n_targets)
    names : list of str
        Names of all hyper-parameters, in the order of theta.
    """

    def __init__(self, kernel: Kernel, X: Any, Y: np.ndarray, names: list[str]):
        self.names, self.found, self.spans = names, {}, {}
        for name, columns in periodic_columns(kernel, X):
            for place, known in self._places(name, columns):
                self.found[place] = [period for column in known.T for period in periods(column, Y)]
                self.spans[place] = float(np.ptp(known, axis=0).max())

    def _places(self, name: str, columns: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """The index in theta of the period, or of the period of each column, with its columns."""
        if name in self.names:
            yield self.names.index(name), columns
        for i in range(columns.shape[1]):
            if f"{name}[{i}]" in self.names:
                yield self.names.index(f"{name}[{i}]"), columns[:, i : i + 1]

    def others(self, start: np.ndarray, bounds: np.ndarray) -> tuple[np.ndarray, ...]:
        """theta with each period moved to a peak of the spectrum that is within its bounds."""
        moved = []
        for place, found in self.found.items():
            for period in found:
                if bounds[place, 0] < np.log(period) < bounds[place, 1]:
                    moved.append(np.where(np.arange(len(start)) == place, np.log(period), start))
        return tuple(moved)

    def units(self, start: np.ndarray) -> np.ndarray:
        """1 / the change of log period that shifts the phase between the ends of the data by one radian; 1 for others.

        A likelihood changes that fast with a period, and a search in other units jumps from peak to peak.
        """
        units = np.ones(len(start))
        for place, span in self.spans.items():
            units[place] = max(1.0, 2.0 * np.pi * span / np.exp(start[place]))
        return units
