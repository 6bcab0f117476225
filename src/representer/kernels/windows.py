"""Window functions (smoothing kernels) w(|x - y| / h), for densities and local means.

A window is a density of the distance. It need not be positive semidefinite, so it is not a `Kernel`; `mercer` tells
which windows are both. A window defines its values, its integral over d dimensions, the standard deviation of one
coordinate and random radii.

============  =====================  ===========================
window        w(r)                   also a Mercer kernel
============  =====================  ===========================
gaussian      exp(-r^2 / 2)          in any dimension
exponential   exp(-r)                in any dimension
uniform       1 for r < 1            no
triangular    1 - r                  in one dimension
epanechnikov  1 - r^2                no
biweight      (1 - r^2)^2            no
triweight     (1 - r^2)^3            no
tricube       (1 - r^3)^3            no
cosine        cos(pi r / 2)          no
============  =====================  ===========================

All but the first two are zero for r >= 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from representer import _parallel
from representer._loops import convolution, products
from representer.kernels.read_only import readable


@dataclass(frozen=True)
class Window:
    """Base class. w(0) is 1."""

    def values(self, r: np.ndarray) -> np.ndarray:
        """w(r) for an array of distances, divided by the bandwidth."""
        raise NotImplementedError

    def log_integral(self, d: int) -> float:
        """log of the integral of w(|u|) over u in d dimensions."""
        raise NotImplementedError

    def deviation(self, d: int) -> float:
        """Standard deviation of one coordinate of a vector u with density proportional to w(|u|)."""
        raise NotImplementedError

    def radii(self, d: int, n: int, rng: Any) -> np.ndarray:
        """|u| of n such vectors."""
        raise NotImplementedError

    def mercer(self, d: int) -> bool:
        """Whether w(|x - y|) is positive semidefinite in d dimensions, so that it has an RKHS H, too."""
        return False

    def add(
        self, s: np.ndarray, V: np.ndarray, bandwidths: np.ndarray, least: np.ndarray, sums: np.ndarray, scratch: Any
    ) -> None:
        """sums_hi += sum_j w(sqrt(s_ij) / bandwidth_h) V_j for a tile of squared distances, which may be overwritten.

        Windows with unbounded support sum exp(e_i) w instead, where e_i = `exponents` at the smallest s_ij so far.
        """
        raise NotImplementedError

    def exponents(self, least: np.ndarray, bandwidths: np.ndarray) -> np.ndarray:
        """e_hi, the logarithms by which sums were scaled up."""
        return np.zeros((len(bandwidths), len(least)))


def _log_sphere(d: int) -> float:
    """log of the area of the unit sphere in d dimensions."""
    return np.log(2.0) + 0.5 * d * np.log(np.pi) - special.gammaln(0.5 * d)


def _inverse(bandwidths: np.ndarray, power: int, dtype: np.dtype) -> np.ndarray:
    """bandwidths^(-power), kept finite, as infinity times a distance of zero is NaN."""
    with np.errstate(over="ignore"):
        inverse = bandwidths ** -float(power)
    return np.minimum(inverse, np.finfo(dtype).max).astype(dtype)


@dataclass(frozen=True)
class Decaying(Window):
    """exp(-r^power / power), power 1 or 2."""

    power: int

    def values(self, r: np.ndarray) -> np.ndarray:
        return np.exp(-(np.asarray(r) ** self.power) / self.power)

    def log_integral(self, d: int) -> float:
        return 0.5 * d * np.log(2.0 * np.pi) if self.power == 2 else _log_sphere(d) + special.gammaln(d)

    def deviation(self, d: int) -> float:
        return 1.0 if self.power == 2 else float(np.sqrt(d + 1.0))

    def radii(self, d: int, n: int, rng: Any) -> np.ndarray:
        return np.sqrt(rng.chisquare(d, n)) if self.power == 2 else rng.gamma(d, size=n)

    def mercer(self, d: int) -> bool:
        return True

    def add(self, s, V, bandwidths, least, sums, scratch) -> None:
        if self.power == 1:
            np.sqrt(s, out=s)
        convolution.decaying_sums(s, V, _inverse(bandwidths, self.power, s.dtype) / self.power, least, sums, scratch)

    def exponents(self, least: np.ndarray, bandwidths: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # infinite where w is zero
            exponents = least.astype(np.float64) / (self.power * bandwidths[:, None] ** self.power)
        return np.where(least > 0, exponents, 0.0)


class _Ending(Window):
    """A window with bounded support, zero from r = 1 on."""

    def add(self, s, V, bandwidths, least, sums, scratch) -> None:
        for h, inverse in enumerate(_inverse(bandwidths, 2, s.dtype)):
            self.fill(s, inverse, scratch)
            products.apply(scratch, V, sums[h])

    def fill(self, s: np.ndarray, inverse: float, out: np.ndarray) -> None:
        """out <- w(sqrt(s inverse))."""
        raise NotImplementedError


@dataclass(frozen=True)
class Truncated(_Ending):
    """(1 - r^power)^exponent for r < 1; r^power of a random vector follows Beta(d / power, exponent + 1)."""

    power: int
    exponent: int

    def values(self, r: np.ndarray) -> np.ndarray:
        r = np.asarray(r)
        return np.where(r < 1, (1.0 - np.minimum(r, 1.0) ** self.power) ** self.exponent, 0.0)

    def log_integral(self, d: int) -> float:
        return _log_sphere(d) + special.betaln(d / self.power, self.exponent + 1.0) - np.log(self.power)

    def deviation(self, d: int) -> float:
        moments = [special.betaln((d + m) / self.power, self.exponent + 1.0) for m in (0, 2)]
        return float(np.sqrt(np.exp(moments[1] - moments[0]) / d))

    def radii(self, d: int, n: int, rng: Any) -> np.ndarray:
        return rng.beta(d / self.power, self.exponent + 1.0, n) ** (1.0 / self.power)

    def mercer(self, d: int) -> bool:
        return d == 1 and self.power == 1 and self.exponent == 1

    def fill(self, s: np.ndarray, inverse: float, out: np.ndarray) -> None:
        convolution.truncated(s, inverse, self.power, self.exponent, out)


@dataclass(frozen=True)
class Cosine(_Ending):
    """cos(pi r / 2) for r < 1."""

    def values(self, r: np.ndarray) -> np.ndarray:
        r = np.asarray(r)
        return np.where(r < 1, np.cos(0.5 * np.pi * r), 0.0)

    def _means(self, d: int) -> tuple[float, float]:
        """Means of w(r) and of r^2 w(r) over the unit ball, by Gauss-Jacobi quadrature, exact to rounding."""
        nodes, weights = special.roots_jacobi(24, 0.0, d - 1.0)
        r = 0.5 * (1.0 + nodes)
        w = np.cos(0.5 * np.pi * r) * weights / weights.sum()
        return float(w.sum()), float((r**2 * w).sum())

    def log_integral(self, d: int) -> float:
        return _log_sphere(d) - np.log(d) + np.log(self._means(d)[0])

    def deviation(self, d: int) -> float:
        mean, square = self._means(d)
        return float(np.sqrt(square / mean / d))

    def radii(self, d: int, n: int, rng: Any) -> np.ndarray:
        """By rejection from 1 - r^2: the cosine is at most that, and at least 0.78 times that."""
        found = np.empty(0)
        while len(found) < n:
            r = Truncated(2, 1).radii(d, n, rng)
            found = np.append(found, r[rng.uniform(size=n) * (1.0 - r**2) <= self.values(r)])
        return found[:n]

    def fill(self, s: np.ndarray, inverse: float, out: np.ndarray) -> None:
        convolution.cosine(s, inverse, out)


WINDOWS: dict[str, Window] = {
    "gaussian": Decaying(2),
    "exponential": Decaying(1),
    "uniform": Truncated(1, 0),
    "triangular": Truncated(1, 1),
    "epanechnikov": Truncated(2, 1),
    "biweight": Truncated(2, 2),
    "triweight": Truncated(2, 3),
    "tricube": Truncated(3, 3),
    "cosine": Cosine(),
}


def window_of(name: Any) -> Window:
    """The window with this name."""
    if not isinstance(name, str) or name not in WINDOWS:
        raise ValueError(f"window is {name!r}; use one of {', '.join(WINDOWS)}.")
    return WINDOWS[name]


def window_sums(
    window: Window,
    A: Any,
    B: Any,
    V: np.ndarray,
    bandwidths: np.ndarray,
    finish: Callable[[slice, np.ndarray, np.ndarray], Any],
    *,
    leave_out: bool = False,
    threads: int | None = None,
) -> None:
    """Sums S_hi = sum_j w(|a_i - b_j| / bandwidth_h) V_j for all bandwidths in one pass over the tiles.

    Calls finish(rows, S, e) for each block of rows, in any thread, where S has shape (n_bandwidths, n_rows, n_columns
    of V) and is scaled up by exp(e), e of shape (n_bandwidths, n_rows), so that it does not underflow. With
    ``leave_out``, A is B, and j = i is left out of the sum.
    """
    height, width = _parallel.tile_shape(A.dtype)
    part_b, V = _parallel.parts(B), readable(np.ascontiguousarray(V, A.dtype))

    def visit(run: list[_parallel.Tile]) -> None:
        tile_of, scratch_of = _parallel.buffer(A.dtype), _parallel.buffer(A.dtype)
        for rows, _ in run:
            part, count = A[rows], rows.stop - rows.start
            least, sums = np.full(count, np.inf, A.dtype), np.zeros((len(bandwidths), count, V.shape[1]))
            for columns in _parallel.split(len(B), width):
                s, scratch = tile_of((rows, columns)), scratch_of((rows, columns))
                part.squared_distances(part_b(columns), s)
                if leave_out:
                    own = np.arange(max(rows.start, columns.start), min(rows.stop, columns.stop))
                    s[own - rows.start, own - columns.start] = np.inf
                window.add(s, V[columns], bandwidths, least, sums, scratch)
            finish(rows, sums, window.exponents(least, bandwidths))

    blocks = [(rows, slice(0, 1)) for rows in _parallel.split(len(A), height)]
    for _ in _parallel.map_tiles(blocks, visit, threads=threads):
        pass
