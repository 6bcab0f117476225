"""Distributions of random features of kernels: k(x, y) = E phi(x) phi(y), with phi from the kernel's ``law``.

Stationary kernels have Fourier features cos <w, x> and sin <w, x> whose frequencies w are normal vectors times random
scales (Bochner's theorem). Arc-cosine kernels have ramps, and polynomials have tensor sketches. A sum concatenates the
features of its parts. A product of stationary kernels has sums of frequencies, other products have tensor sketches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import gammaincinv, ndtri
from scipy.stats import qmc

from representer._loops import sine_waves
from representer.kernels import checks

SAMPLINGS = ("orthogonal", "gaussian", "qmc")
NEAR_THE_END = 1e-12
"""Smallest distance of random numbers in (0, 1) from its ends."""


class Source:
    """Normal vectors and uniform numbers: independent, in orthogonal blocks, or quasi-random."""

    def __init__(self, sampling: str, seed: Any):
        self.sampling, self.rng = sampling, np.random.default_rng(seed)

    def draw(self, n: int, d: int, more: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """n standard normal vectors of length d, and ``more`` uniform numbers in (0, 1) for each."""
        if self.sampling == "qmc":
            U = qmc.Sobol(d + more, rng=self.rng).random(2 ** int(np.ceil(np.log2(max(n, 1)))))[:n]
            U = np.clip(self.rng.permutation(U), NEAR_THE_END, 1.0 - NEAR_THE_END)  # so that two draws are not aligned
            return ndtri(U[:, :d]), U[:, d:]
        Z = self._orthogonal(n, d) if self.sampling == "orthogonal" else self.rng.normal(size=(n, d))
        return Z, np.clip(self.rng.random((n, more)), NEAR_THE_END, 1.0 - NEAR_THE_END)

    def _orthogonal(self, n: int, d: int) -> np.ndarray:
        """Blocks of d orthogonal directions, each scaled to the length of an independent normal vector."""
        blocks = []
        for _ in range(-(-n // d)):
            Q, R = np.linalg.qr(self.rng.normal(size=(d, d)))
            blocks.append((Q * np.sign(R.diagonal())).T)  # the signs make the rotation uniform
        return np.concatenate(blocks)[:n] * np.sqrt(self.rng.chisquare(d, n))[:, None]


# ---- features, as functions of rows ----


@dataclass(frozen=True)
class Waves:
    """phi(x) = sqrt(1 / p) (cos <w_1, x>, ..., cos <w_p, x>, sin <w_1, x>, ..., sin <w_p, x>).

    With a random phase b, the last frequency has the single feature sqrt(2) cos(<w_p, x> + b), for an odd number of
    features.
    """

    frequencies: np.ndarray
    phase: float | None = None

    @property
    def size(self) -> int:
        return 2 * len(self.frequencies) - (self.phase is not None)

    def __call__(self, X: Any, out: np.ndarray) -> None:
        p = len(self.frequencies)
        angles = np.ascontiguousarray(X @ self.frequencies.T.astype(out.dtype), out.dtype)
        if self.phase is not None:
            angles[:, -1] += self.phase
        sine_waves.waves(angles, np.sqrt(1.0 / p), out)
        if self.phase is not None:
            out[:, p - 1] *= np.sqrt(2.0).astype(out.dtype)


@dataclass(frozen=True)
class Ramps:
    """phi_j(x) = sqrt(2 / D) max(<w_j, x>, 0)^order, or a step function for order 0."""

    directions: np.ndarray
    order: int

    @property
    def size(self) -> int:
        return len(self.directions)

    def __call__(self, X: Any, out: np.ndarray) -> None:
        out[...] = X @ self.directions.T.astype(out.dtype)
        if self.order == 0:
            out[...] = out > 0.0
        else:
            np.maximum(out, 0.0, out=out)
            out **= self.order
        out *= np.sqrt(2.0 / self.size).astype(out.dtype)


@dataclass(frozen=True)
class TensorSketch:
    """phi(x) = FFT^-1 (FFT(S_1 z) ... FFT(S_p z)), z = (x / length_scale, sqrt(offset)), S_i random count sketches.

    References
    ----------
    Pham and Pagh, Fast and scalable polynomial kernels via explicit feature maps, KDD 2013.
    """

    buckets: np.ndarray
    """Array of shape (degree, n_columns + 1): the bucket of each column."""
    signs: np.ndarray
    scale: np.ndarray
    offset: float
    size: int

    def __call__(self, X: Any, out: np.ndarray) -> None:
        product: Any = 1.0
        for buckets, signs in zip(self.buckets, self.signs, strict=True):
            S = np.zeros((len(buckets), self.size), out.dtype)
            S[np.arange(len(buckets)), buckets] = signs
            sketch = X @ (S[:-1] / self.scale[:, None]).astype(out.dtype) + np.sqrt(self.offset) * S[-1]
            product = product * np.fft.rfft(np.asarray(sketch), axis=1)
        out[...] = np.fft.irfft(product, n=self.size, axis=1)


@dataclass(frozen=True)
class Tensors:
    """FFT^-1 (FFT(S_1 phi_1(x)) ... FFT(S_p phi_p(x))), a tensor sketch of all products of features of p kernels."""

    parts: tuple[Any, ...]
    buckets: np.ndarray
    """Array of shape (p, size): the bucket of each feature."""
    signs: np.ndarray

    @property
    def size(self) -> int:
        return self.buckets.shape[1]

    def __call__(self, X: Any, out: np.ndarray) -> None:
        product: Any = 1.0
        for part, buckets, signs in zip(self.parts, self.buckets, self.signs, strict=True):
            values = np.empty(out.shape, out.dtype)
            part(X, values)
            places = (np.arange(self.size), buckets)
            S = sparse.csr_array((signs.astype(out.dtype), places), shape=(self.size, self.size))
            product = product * np.fft.rfft(values @ S, axis=1)
        out[...] = np.fft.irfft(product, n=self.size, axis=1)


@dataclass(frozen=True)
class SideBySide:
    """The features of two kernels, concatenated."""

    left: Any
    right: Any

    @property
    def size(self) -> int:
        return self.left.size + self.right.size

    def __call__(self, X: Any, out: np.ndarray) -> None:
        for part, at in ((self.left, 0), (self.right, self.left.size)):
            values = np.empty((len(out), part.size), out.dtype)
            part(X, values)
            out[:, at : at + part.size] = values


@dataclass(frozen=True)
class Stretched:
    """Features times the square root of a factor."""

    part: Any
    factor: float

    @property
    def size(self) -> int:
        return self.part.size

    def __call__(self, X: Any, out: np.ndarray) -> None:
        self.part(X, out)
        out *= np.sqrt(self.factor).astype(out.dtype)


# ---- laws ----


class Law:
    """The distribution of random features of a kernel."""

    def features(self, kernel: Any, n_columns: int, size: int, source: Source) -> Any:
        """``size`` random features of rows with ``n_columns`` columns."""
        raise NotImplementedError


class Spectral(Law):
    """Fourier features with frequencies z s / length_scale: z standard normal, s a random scale."""

    def scales_each(self, n_columns: int) -> int:
        """Uniform numbers in (0, 1) per frequency from which its scales are drawn."""
        return 1

    def scales(self, kernel: Any, U: np.ndarray) -> Any:
        """Random scales from uniform numbers in (0, 1)."""
        return 1.0

    def frequencies(self, kernel: Any, n_columns: int, n: int, source: Source) -> np.ndarray:
        """n frequencies as rows."""
        Z, U = source.draw(n, n_columns, self.scales_each(n_columns))
        return Z * self.scales(kernel, U) / checks.length_scale(kernel.length_scale, n_columns)

    def features(self, kernel: Any, n_columns: int, size: int, source: Source) -> Waves:
        frequencies = self.frequencies(kernel, n_columns, -(-size // 2), source)
        return Waves(frequencies, 2.0 * np.pi * source.rng.random() if size % 2 else None)


class Normal(Spectral):
    """exp(-|x|^2 / 2): normal frequencies."""

    def scales_each(self, n_columns: int) -> int:
        return 0


class Student(Spectral):
    """Matern kernels: Student's t with 2 nu degrees of freedom."""

    def scales(self, kernel: Any, U: np.ndarray) -> Any:
        return 1.0 if kernel.nu == np.inf else np.sqrt(kernel.nu / gammaincinv(kernel.nu, U))


class Mixture(Spectral):
    """Rational quadratic kernels: normal vectors with a gamma-distributed precision."""

    def scales(self, kernel: Any, U: np.ndarray) -> Any:
        return np.sqrt(gammaincinv(kernel.mixture, U) / kernel.mixture)


class Cauchy(Spectral):
    """exp(-|x_1| - |x_2| - ...): a Cauchy variable for each column, a normal one with its own random scale."""

    def scales_each(self, n_columns: int) -> int:
        return n_columns

    def scales(self, kernel: Any, U: np.ndarray) -> Any:
        return np.sqrt(0.5 / gammaincinv(0.5, U))


class Arcs(Law):
    """Arc-cosine kernels: ramps in normal directions."""

    def features(self, kernel: Any, n_columns: int, size: int, source: Source) -> Ramps:
        return Ramps(source.draw(size, n_columns)[0], kernel.order)


class Monomials(Law):
    """Polynomials: tensor sketches."""

    def features(self, kernel: Any, n_columns: int, size: int, source: Source) -> TensorSketch:
        shape, rng = (kernel.degree, n_columns + 1), source.rng
        scale = np.broadcast_to(checks.length_scale(kernel.length_scale, n_columns), (n_columns,))
        return TensorSketch(
            rng.integers(size, size=shape), rng.choice([-1.0, 1.0], shape), scale, float(kernel.offset), size
        )


class Parts(Law):
    """A sum: half of the features for each part."""

    def features(self, kernel: Any, n_columns: int, size: int, source: Source) -> SideBySide:
        half = size // 2
        if not half:
            raise ValueError(f"{size} random feature is wanted of the sum {kernel!r}; each part needs at least one.")
        parts = ((kernel.left, half), (kernel.right, size - half))
        return SideBySide(*(law_of(part).features(part, n_columns, n, source) for part, n in parts))


class Multiple(Law):
    """A kernel times a factor."""

    def features(self, kernel: Any, n_columns: int, size: int, source: Source) -> Stretched:
        part = self.part_of(kernel)
        return Stretched(law_of(part).features(part, n_columns, size, source), kernel.factor)

    @staticmethod
    def part_of(kernel: Any) -> Any:
        """The kernel that is multiplied; raise for a negative factor."""
        if kernel.factor < 0.0:
            raise ValueError(f"{kernel!r} is not positive semidefinite, so it has no features; use a positive factor.")
        return kernel.kernel


class Factors(Law):
    """A product, or a power: sums of independent frequencies for its stationary factors, tensor sketches for others."""

    def features(self, kernel: Any, n_columns: int, size: int, source: Source) -> Any:
        parts, factor = factors_of(kernel)
        waves = [part for part in parts if isinstance(part.law, Spectral)]
        others = [part for part in parts if not isinstance(part.law, Spectral)]
        maps: list[Any] = [Together(waves).features(kernel, n_columns, size, source)] if waves else []
        maps += [part.law.features(part, n_columns, size, source) for part in others]
        found = maps[0]
        if len(maps) > 1:
            shape, rng = (len(maps), size), source.rng
            found = Tensors(tuple(maps), rng.integers(size, size=shape), rng.choice([-1.0, 1.0], shape))
        return found if factor == 1.0 else Stretched(found, factor)


class Together(Spectral):
    """A product of stationary kernels: sums of their independent frequencies."""

    def __init__(self, parts: list[Any]):
        self.parts = parts

    def frequencies(self, kernel: Any, n_columns: int, n: int, source: Source) -> np.ndarray:
        return np.sum([part.law.frequencies(part, n_columns, n, source) for part in self.parts], axis=0)


def factors_of(kernel: Any) -> tuple[list[Any], float]:
    """The factors of a product that are not products themselves, and the product of its numbers."""
    law = law_of(kernel)
    if isinstance(law, Multiple):
        parts, factor = factors_of(law.part_of(kernel))
        return parts, factor * kernel.factor
    if not isinstance(law, Factors):
        return [kernel], 1.0
    inner = [kernel.kernel] * kernel.exponent if hasattr(kernel, "exponent") else [kernel.left, kernel.right]
    found = [factors_of(part) for part in inner]
    return [part for parts, _ in found for part in parts], float(np.prod([factor for _, factor in found]))


def law_of(kernel: Any) -> Any:
    """The law of a kernel; raise if it has none."""
    if kernel.law is None:
        raise TypeError(f"Random features of {kernel!r} are not known; use Nystroem, which takes any kernel.")
    return kernel.law
