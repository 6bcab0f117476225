"""Tests by resampling: what they report, and all resampled statistics of a kernel matrix in one pass over its tiles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from representer import _parallel
from representer._loops import quadratic_forms as loops
from representer.gram.tiled import Gram

SIGN_TILE = 256, 512
SIGN_BYTES = 2**30
"""Signs held at a time; more resamples than that take further passes over the tiles."""
COLUMNS_OF_SIGNS = 2048
"""Resamples that a tile is multiplied by at a time: interrupts are checked in between."""
DRAWN = 2**22
"""Entries drawn or copied at a time, for the same reason."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a test.

    The p-value is (1 + number of resampled statistics that reach the observed one) / (1 + number of resamples). It is
    never zero, and at most u with probability at most u under the null hypothesis.
    """

    statistic: float
    pvalue: float
    null: np.ndarray | None
    """The resampled statistics, or None where the p-value comes from a normal distribution."""
    kernel: Any
    """The kernel of the statistic with all its length scales, or the pair of kernels."""
    method: str
    """How statistic and p-value were computed."""
    parts: tuple[Outcome, ...] = ()
    """With several kernels: the outcome of each alone."""
    error_bound: float = 0.0
    """How far the statistic can be from that of the given kernels, where those were approximated."""

    def __str__(self) -> str:
        several = f", best of {len(self.parts)} kernels" if self.parts else ""
        return f"statistic {self.statistic:.4g}, p = {self.pvalue:.4g} ({self.method}; {self.kernel!r}{several})"


@dataclass(frozen=True)
class Forms:
    """Sums over i != j of h_ij = k(x_i, x_j) - shift_i - shift_j, or over pairs within blocks only."""

    values: np.ndarray
    """sum_ij s_i s_j h_ij for each column s of the signs, from products in float32 that are summed in float64."""
    sums: np.ndarray
    """sum_j h_ij for each i."""
    own: np.ndarray
    """s_i sum_j h_ij s_j for the first column s, not rounded to float32."""


def permuted(row: np.ndarray, count: int, rng: np.random.Generator) -> Iterator[tuple[slice, np.ndarray]]:
    """``count`` random permutations of a row, in batches, each with its slice."""
    for part in _parallel.split(count, max(1, DRAWN // len(row))):
        rows = np.tile(row, (part.stop - part.start, 1))
        yield part, rng.permuted(rows, axis=1, out=rows)


def forms(
    gram: Gram,
    signs: np.ndarray,
    *,
    shift: np.ndarray | None = None,
    size: float = 1.0,
    block: int | None = None,
) -> Forms:
    """sum_{i != j} s_i s_j (k(x_i, x_j) - shift_i - shift_j) for all columns s of the signs, in one pass over tiles.

    Each tile of the lower triangle is filled once and multiplied once, by the signs of its columns; the result is
    multiplied by those of its rows. A shift near the row means keeps the summands small.

    Parameters
    ----------
    gram : Gram
    signs : int8 array of shape (n, n_columns)
    shift : array of shape (n,), optional
    size : float
        A typical size of the kernel's values, which may be out of the range of float32.
    block : int, optional
        Use only pairs within consecutive blocks of this many inputs.
    """
    n, width = signs.shape
    shift = np.zeros(n, gram.dtype) if shift is None else shift.astype(gram.dtype)
    most = np.finfo(gram.dtype).maxexp - 8
    unit = np.ldexp(1.0, -int(np.clip(np.frexp(size)[1], -most, most)))  # a power of two, so that nothing is rounded
    first, scale, parts = (
        signs[:, 0].astype(gram.dtype),
        gram.dtype.type(unit),
        _parallel.split(width, COLUMNS_OF_SIGNS),
    )

    def visit(tiles: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        memory32 = np.empty(SIGN_TILE[0] * SIGN_TILE[1], np.float32)
        work = np.empty(SIGN_TILE[0] * min(width, COLUMNS_OF_SIGNS), np.float32)
        values, sums, own = np.zeros(width), np.zeros(n), np.zeros(n)
        for i, j, tile in tiles:
            shape = tile.shape
            rounded = memory32[: shape[0] * shape[1]].reshape(shape)
            if block is not None and block < shape[0]:
                tile *= np.equal.outer(np.arange(i.start, i.stop) // block, np.arange(j.start, j.stop) // block)
            loops.centre(
                tile, shift[i], shift[j], first[i], first[j], scale, rounded, sums[i], sums[j], own[i], own[j], i == j
            )
            for part in _parallel.interruptible(parts):
                rows, columns = signs[i, part].astype(np.float32), signs[j, part].astype(np.float32)
                product = work[: rows.size].reshape(rows.shape)
                loops.add_forms(rounded, rows, columns, product, 1.0 if i == j else 2.0, values[part])
        return values, sums, own

    found = list(gram.map_tiles(visit, tiles=_tiles_of(n, block)))
    values, sums, own = (np.sum(terms, axis=0) for terms in zip(*found, strict=True))
    return Forms(values / unit, sums, own)


def forms_of_features(phi: np.ndarray, signs: np.ndarray, block: int | None = None) -> Forms:
    """`forms` with h_ij = <phi_i, phi_j> for rows phi: |Phi' s|^2 minus the diagonal, in time n m for each column.

    Products of slabs of rows are in the precision of phi, and added in float64.
    """
    n, width = signs.shape
    values, own, sums = np.zeros(width), np.empty(n), np.empty(n)
    squares = np.einsum("ij,ij->i", phi, phi, dtype=np.float64)
    for rows in _parallel.split(n, n if block is None else block):
        Z, total = np.zeros((phi.shape[1], width)), np.zeros(phi.shape[1])
        for part in _parallel.split(rows.stop - rows.start, max(1, DRAWN // width)):
            some = slice(rows.start + part.start, rows.start + part.stop)
            Z += phi[some].T @ signs[some].astype(phi.dtype)
            total += phi[some].sum(axis=0, dtype=np.float64)
        values += np.einsum("jb,jb->b", Z, Z) - squares[rows].sum()
        own[rows] = signs[rows, 0] * (phi[rows] @ Z[:, 0]) - squares[rows]
        sums[rows] = phi[rows] @ total - squares[rows]
    return Forms(values, sums, own)


def _tiles_of(n: int, block: int | None) -> list[_parallel.Tile]:
    """The tiles of the lower triangle, or of that of each block; small blocks share a tile."""
    if block is None:
        return _parallel.pairs(n, n, SIGN_TILE, True)
    size = block if block > 32 else block * (64 // block)
    return [
        (slice(i.start + start, i.stop + start), slice(j.start + start, j.stop + start))
        for start in range(0, n, size)
        for i, j in _parallel.pairs(min(size, n - start), min(size, n - start), SIGN_TILE, True)
    ]


def dot(vectors: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """The products of rows with all columns of int8 signs, in float64, without a float64 copy of the signs."""
    total = np.zeros((len(vectors), signs.shape[1]))
    for i in _parallel.split(len(signs), max(1, DRAWN // signs.shape[1])):
        total += vectors[:, i] @ signs[i].astype(np.float64)
    return total


def combine(nulls: np.ndarray, statistics: np.ndarray, slacks: np.ndarray) -> tuple[float, np.ndarray]:
    """The p-value of the smallest of several p-values, and these; rows of ``nulls`` share the same resamples.

    Each resample gets the p-value that it would have if it were the observed one, for each row, and the smallest of
    these is compared with the observed smallest one; ties are broken by the larger number of standard deviations. As
    all have the same distribution under the null hypothesis, the result is exact, however the rows depend on each
    other. Statistics that differ by rounding alone, by the ``slack`` of a row or a small fraction of its deviation, are
    ties.
    """
    everything = np.concatenate([statistics[:, None], nulls], axis=1)
    if not np.all(np.isfinite(everything)):
        raise ValueError("The kernel's values are too large for their dtype; divide the inputs, or pass float64 ones.")
    deviations, slacks = everything.std(axis=1, keepdims=True), slacks[:, None]
    rooms = slacks + 64 * np.finfo(np.float32).eps * deviations
    below = [np.searchsorted(np.sort(row), row - room) for row, room in zip(everything, rooms, strict=True)]
    ranks = everything.shape[1] - np.array(below)  # number of statistics that reach each one
    pvalues = ranks[:, 0] / ranks.shape[1]
    if len(ranks) == 1:
        return float(pvalues[0]), pvalues
    units = np.maximum(deviations, 1e3 * slacks + np.finfo(np.float64).tiny)
    scores = (everything - everything.mean(axis=1, keepdims=True)) / units
    smallest = ranks.min(axis=0)
    best = np.where(ranks == smallest, scores, -np.inf).max(axis=0)
    tied = (smallest == smallest[0]) & (best >= best[0] - (rooms / units).max())
    return float(np.mean((smallest < smallest[0]) | tied)), pvalues
