"""The entry point for rows that are not in memory."""

from __future__ import annotations

from glob import glob
from pathlib import Path
from typing import Any

from representer.rows.arrays import ArrayRows, TableRows, is_elsewhere
from representer.rows.base import Rows
from representer.rows.checkpoint import Journal
from representer.rows.distributed.dask_rows import DaskRows, is_dask
from representer.rows.files import NpyFiles, ParquetFiles
from representer.rows.layout import Layout
from representer.rows.streams import Generated, Opened, StreamRows

SUFFIXES = {".parquet": "parquet", ".pq": "parquet", ".npy": "npy"}


def rows(source: Any, *, target: Any = None, weight: Any = None, columns: Any = None, checkpoint: Any = None) -> Rows:
    """Inputs, targets and weights in files or from a stream, to be passed to ``fit`` in place of X and y.

    Rows are read in blocks, by a thread that is one block ahead, as often as a fit needs them; they are never all in
    memory. The same rows give the same fit, bit for bit, from memory, from a memory map and from files.

    Parameters
    ----------
    source : str, path, list of paths, function, iterator, or table
        Files by name, such as ``"flights-*.parquet"`` or ``["a.npy", "b.npy"]``, or a folder of Parquet files; a
        function that opens a stream of batches each time it is called, such as an Arrow reader; an iterator of
        batches, for fits that read them once; a Dask array or data frame; or a table in memory. Batches are Arrow
        batches, data frames, arrays, or tuples (X, y) or (X, y, weights).
    target : str, int, or list of them
        The column, or columns, of the target. For .npy files also the names of as many files of targets.
    weight : str or int, optional
        The column of sample weights. For .npy files also the names of as many files.
    columns : list, optional
        The columns of the inputs; all others when not given. Tables of numbers become arrays, float32 if all columns
        are; tables with other columns stay data frames, for kernels such as ``On``.
    checkpoint : str or path, optional
        A file that a long fit writes once a minute. To resume an interrupted fit, repeat the same call; it ends with
        the same bits. The file is removed when the fit is done.

    Examples
    --------
    >>> import numpy as np
    >>> from representer import rows
    >>> def batches():
    ...     for i in range(3):
    ...         yield np.full((4, 2), i), np.arange(4.0)
    >>> data = rows(batches)
    >>> len(data), data.n_columns
    (12, 2)
    """
    found_rows = _rows_of(source, Layout(target, weight, columns))
    return found_rows if checkpoint is None else found_rows.checkpointed(Journal(checkpoint))


def _rows_of(source: Any, layout: Layout) -> Rows:
    if isinstance(source, Rows):
        raise TypeError("These are rows already; pass them to fit as they are.")
    if is_dask(source):
        return _of_dask(source, layout)
    given = _is_values(layout.target) or _is_values(layout.weight)
    if isinstance(source, str | Path) or (_are_paths(source) and not given):  # with target values a list is inputs
        return _of_files(source, layout)
    if callable(source):
        return StreamRows(Opened(source), layout)
    if hasattr(source, "__next__"):
        return StreamRows(Generated(source), layout)
    if given and layout.columns is not None:
        raise ValueError("columns= picks columns of a table that holds the target, too; pass X with those columns.")
    if given or layout == Layout():
        return ArrayRows(source, layout.target, layout.weight)
    if is_elsewhere(source):
        return TableRows(source, layout)
    return ArrayRows(*layout.split(source, "The table"))


def _of_files(source: Any, layout: Layout) -> Rows:
    paths = found(source)
    kinds = {SUFFIXES.get(path.suffix, path.suffix) for path in paths}
    if kinds == {"parquet"}:
        return StreamRows(ParquetFiles(paths, layout), layout)
    if kinds != {"npy"}:
        raise ValueError(
            f"Files that end with {', '.join(sorted(map(repr, kinds)))} are not read here; convert them to Parquet or "
            ".npy, all of one kind, or pass a function that opens batches of them. (A list of strings as inputs comes "
            "with an array as its target.)"
        )
    beside = [found(files) if _are_files(files) else None for files in (layout.target, layout.weight)]
    if (beside[0] is not None or beside[1] is not None) and (
        layout.columns is not None or (beside[0] is None) != (layout.target is None)
    ):
        raise ValueError("Give target and weight both as files, or both as numbers of columns, and no columns=.")
    files = NpyFiles(paths, beside[0], beside[1])
    return StreamRows(files, Layout() if any(each is not None for each in beside) else layout)


def _of_dask(source: Any, layout: Layout) -> Rows:
    """Targets and weights are columns of a data frame, by name, and separate collections for arrays."""
    if not hasattr(source, "columns"):
        if layout.columns is not None:
            raise ValueError("columns= picks columns of a data frame; pass X[:, columns] of an array.")
        return DaskRows(source, layout.target, layout.weight)
    wanted = layout.inputs(list(source.columns), "The data frame")
    y, w = (None if name is None else source[name] for name in (layout.target, layout.weight))
    return DaskRows(source[wanted], y, w)


def found(source: Any) -> list[Path]:
    """The files of a pattern, a folder or a list; raise if there are none."""
    if not isinstance(source, str | Path):
        paths = [Path(each) for each in source]
    elif Path(source).is_dir():
        paths = sorted(p for p in Path(source).iterdir() if p.suffix in SUFFIXES and p.name[0] not in "._")
    else:
        paths = [Path(source)] if Path(source).exists() else sorted(map(Path, glob(str(source), recursive=True)))
    if not paths:
        raise FileNotFoundError(f"No file matches {str(source)!r}; the working directory is {Path.cwd()}.")
    return paths


def _are_paths(source: Any) -> bool:
    return isinstance(source, list | tuple) and bool(source) and all(isinstance(each, str | Path) for each in source)


def _are_files(value: Any) -> bool:
    """Whether a target or weight names .npy files, not a column."""
    return isinstance(value, Path) or _are_paths(value) or (isinstance(value, str) and value.endswith(".npy"))


def _is_values(value: Any) -> bool:
    """Whether a target or weight is an array of values, not the name or number of a column, or a list of them."""
    return bool(getattr(value, "shape", ()))
