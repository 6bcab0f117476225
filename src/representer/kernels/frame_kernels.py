"""A kernel for a data frame, chosen by the types of its columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from representer.kernels import checks
from representer.kernels.algebra import Product, Scaled, Sum
from representer.kernels.alignments import GlobalAlignment
from representer.kernels.base import Kernel
from representer.kernels.categories import Categorical
from representer.kernels.columns import On
from representer.kernels.dates import as_days, is_date
from representer.kernels.graph_formats import is_listed_graph
from representer.kernels.graphs import WeisfeilerLehman
from representer.kernels.missing import Missing, missing_entries
from representer.kernels.normalized import Normalized
from representer.kernels.periodic import Periodic
from representer.kernels.sets import Jaccard
from representer.kernels.stationary import RBF
from representer.kernels.strings import Spectrum
from representer.kernels.text import Characters, Words

FEW_LEVELS, LEVEL_SHARE = 20, 0.2
"""Words are categories if there are at most this many distinct ones, or this fraction of the number of rows."""
YEAR, LONG_ENOUGH = 365.25, 2.0
"""Days in a year; number of periods that dates must span for a periodic part."""
DNA_LETTERS, DNA_LENGTH = set("ACGTNacgtn"), 10


@dataclass
class Column:
    """What is known about a column: its kind, a description of its contents, and whether it has gaps."""

    name: Any
    kind: str
    words: str
    gaps: bool = False
    scale: float = 1.0


@dataclass(frozen=True)
class FrameKernel:
    """A kernel for a data frame, and the reasons for it, which printing shows in words."""

    kernel: Kernel
    reasons: dict[str, str]
    """A sentence for each column."""
    left_out: tuple[str, ...]
    """Columns that the kernel does not use."""
    combination: str
    """How the parts are combined."""

    def __str__(self) -> str:
        width = max(map(len, self.reasons))
        lines = [f"  {name:<{width}}  {reason}" for name, reason in self.reasons.items()]
        return "\n".join([*lines, self.combination])


def kernel_for(frame: Any) -> FrameKernel:
    """A kernel to start with for a pandas or polars data frame, by the types of its columns.

    Numbers have an RBF kernel with a length scale for each column, categories `Categorical`, texts `Words`, dates an
    RBF kernel and a yearly period where they span enough years, and sets, series and graphs kernels of their own.
    Columns with gaps are wrapped in `Missing`. With several parts, the kernel is half their mean, so that each counts
    by itself, plus half the product of those without gaps, so that they interact.

    Parameters
    ----------
    frame : data frame
        The inputs, without the target.

    Examples
    --------
    >>> import pandas as pd
    >>> from representer.kernels import kernel_for
    >>> people = pd.DataFrame({"age": [30.0, 42.0, 18.0], "city": ["Rome", "Oslo", "Rome"]})
    >>> choice = kernel_for(people)
    >>> print(choice)
      age   numbers, with the standard deviation 9.8: RBF
      city  2 levels: Categorical
    The kernel is half the mean of the 2 parts, plus half their product.
    >>> choice.kernel(people).round(2).tolist()[0]
    [1.0, 0.17, 0.6]
    """
    if not hasattr(frame, "columns"):
        raise TypeError(f"kernel_for takes a data frame, but this is a {type(frame).__name__}.")
    checks.number_of(frame)
    columns = [look_at(frame[name], name) for name in frame.columns]
    whole, gaps = _parts(columns, frame)
    if not whole + gaps:
        raise ValueError(
            "No column of the data frame says anything about its rows: "
            + "; ".join(f"{c.name} is {c.words}" for c in columns)
            + "."
        )
    kernel, how = _combined(whole, gaps)
    reasons = {str(c.name): c.words + (", some missing" if c.gaps else "") + _ending(c) for c in columns}
    return FrameKernel(kernel, reasons, tuple(str(c.name) for c in columns if c.kind == "none"), how)


# ---- what a column is ----


def look_at(column: Any, name: Any, declared: str = "") -> Column:
    """What a column holds; strings may be ``declared`` "text" or "sequence", whatever they look like."""
    gone = np.asarray(missing_entries(column))
    if gone.all():
        return Column(name, "none", "empty")
    gaps = bool(gone.any())
    there = checks.take(column, np.flatnonzero(~gone))
    if is_date(column):
        return _dates(as_days(there), name, gaps)
    if _is_levelled(column):
        return _levels(there, name, gaps)
    if _is_number(column) or all(isinstance(x, Real) and not isinstance(x, bool) for x in there):
        values = np.asarray(list(there), np.float64)
        spread = float(values.std())
        if not spread > 0.0:
            return Column(name, "none", "the same number in all rows")
        return Column(name, "number", f"numbers, with the standard deviation {spread:.2g}", gaps, spread)
    return _objects(list(there), name, gaps, declared)


def _is_levelled(column: Any) -> bool:
    return hasattr(getattr(column, "dtype", None), "categories") or str(column.dtype).startswith(
        ("Categorical", "bool")
    )


def _is_number(column: Any) -> bool:
    dtype = column.dtype
    if hasattr(dtype, "is_numeric"):  # polars
        return bool(dtype.is_numeric())
    return getattr(dtype, "kind", "O") in "biuf"


def _dates(days: np.ndarray, name: Any, gaps: bool) -> Column:
    spread, span = float(days.std()), float(np.ptp(days))
    if not spread > 0.0:
        return Column(name, "none", "the same date in all rows")
    kind = "season" if span >= LONG_ENOUGH * YEAR else "date"
    return Column(name, kind, f"dates over {span:,.0f} days", gaps, spread)


def _levels(there: Any, name: Any, gaps: bool) -> Column:
    count = len({str(x) for x in there})
    if count == 1 and not gaps:
        return Column(name, "none", "the same level in all rows")
    return Column(name, "category", f"{count} level{'s' * (count != 1)}", gaps)


def _objects(values: list, name: Any, gaps: bool, declared: str) -> Column:
    if all(isinstance(x, str) for x in values):
        return _strings(values, name, gaps, declared)
    if all(isinstance(x, bool | np.bool_) for x in values):
        return _levels(values, name, gaps)
    if all(isinstance(x, set | frozenset) for x in values):
        return Column(name, "set", "sets", gaps)
    if all(is_listed_graph(x) for x in values):
        return Column(name, "graph", "graphs", gaps)
    if all(_is_series(x) for x in values):
        return Column(name, "series", "series of numbers", gaps)
    return Column(name, "none", f"{type(values[0]).__name__} objects, for which no kernel is known")


def _is_series(x: Any) -> bool:
    if not hasattr(x, "__len__") or isinstance(x, str | dict) or not len(x):
        return False
    try:
        values = np.asarray(x)
    except ValueError:  # parts of unequal lengths
        return False
    return values.dtype.kind in "iuf" and values.ndim in (1, 2)


def _strings(values: list[str], name: Any, gaps: bool, declared: str) -> Column:
    count, n = len(set(values)), len(values)
    words = float(np.mean([len(x.split()) for x in values]))
    is_dna = set("".join(values[:1000])) <= DNA_LETTERS and np.mean([len(x) for x in values]) >= DNA_LENGTH
    if is_dna and declared != "text":
        return Column(name, "dna", "sequences of A, C, G and T", gaps)
    if not declared and (count <= FEW_LEVELS or count <= LEVEL_SHARE * n):
        return _levels(values, name, gaps)
    if words >= 3.0 and declared != "sequence":
        return Column(name, "text", f"texts of {words:.0f} words on average", gaps)
    if count == n and not declared:
        return Column(name, "none", "a different word in each row, such as a name or an article number")
    return Column(name, "word", f"{count} different words", gaps)


# ---- the parts and how they are combined ----

OWN_KERNELS: dict[str, tuple[Callable[[Column], Kernel], str]] = {
    "text": (lambda c: Normalized(Words()), "normalised Words"),
    "word": (lambda c: Normalized(Characters(3)), "normalised Characters"),
    "dna": (lambda c: Normalized(Spectrum(4)), "normalised Spectrum"),
    "set": (lambda c: Jaccard(), "Jaccard"),
    "graph": (lambda c: Normalized(WeisfeilerLehman(3)), "normalised WeisfeilerLehman"),
    "series": (lambda c: GlobalAlignment(), "GlobalAlignment"),
}
"""Kernels of columns that get one each, and their names."""
ENDINGS = {"number": "RBF", "date": "RBF of days", "season": "RBF of days, and a yearly period", "none": "left out"}


def _ending(column: Column) -> str:
    named = OWN_KERNELS[column.kind][1] if column.kind in OWN_KERNELS else ENDINGS.get(column.kind, "Categorical")
    return f": {named}"


def _parts(columns: list[Column], frame: Any) -> tuple[list[Kernel], list[Kernel]]:
    """Kernels of columns without gaps, with numbers and categories grouped, and of columns with gaps."""
    whole: list[Kernel] = []
    full = [c for c in columns if not c.gaps]
    if numbers := [c for c in full if c.kind == "number"]:
        scales = [c.scale * float(np.sqrt(len(numbers))) for c in numbers]
        whole.append(On(RBF(scales if len(scales) > 1 else scales[0]), [c.name for c in numbers]))
    if levels := [c for c in full if c.kind == "category"]:
        names = [c.name for c in levels]
        whole.append(On(Categorical().with_default_scales(frame[names]), names))
    grouped = ("number", "category", "none")
    whole += [_single(c) for c in full if c.kind not in grouped]
    return whole, [_single(c) for c in columns if c.gaps and c.kind != "none"]


def _single(column: Column) -> Kernel:
    """The kernel of one column."""
    wrap = Missing if column.gaps else (lambda kernel: kernel)
    if column.kind in OWN_KERNELS:
        return On(wrap(OWN_KERNELS[column.kind][0](column)), column.name)
    if column.kind == "category":
        return On(wrap(Categorical(1.0)), column.name)
    rbf = RBF(column.scale)
    if column.kind == "season":
        return On(wrap(Scaled(Sum(rbf, Periodic(1.0, YEAR)), 0.5)), [column.name])
    return On(wrap(rbf), [column.name])


def _combined(whole: list[Kernel], gaps: list[Kernel]) -> tuple[Kernel, str]:
    every = [*whole, *gaps]
    if len(every) == 1:
        return every[0], "The kernel has one part."
    if len(whole) < 2:
        return Scaled(_tree(every, Sum), 1.0 / len(every)), f"The kernel is the mean of the {len(every)} parts."
    mean = Scaled(_tree(every, Sum), 0.5 / len(every))
    which = "their product" if not gaps else "the product of those without gaps"
    words = f"The kernel is half the mean of the {len(every)} parts, plus half {which}."
    return Sum(mean, Scaled(_tree(whole, Product), 0.5)), words


def _tree(parts: list[Kernel], node: type) -> Kernel:
    """A balanced tree of kernels, whose depth is only the logarithm of their number."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return node(_tree(parts[:half], node), _tree(parts[half:], node))
