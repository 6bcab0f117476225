"""Parquet and .npy files as sources of rows.

All headers are read up front, so that a missing column, a different type or a truncated file is an error before the
first sum, and the error names the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from hashlib import blake2b
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from representer.rows.base import LONGEST_BLOCK
from representer.rows.layout import Layout
from representer.rows.streams import Named, Source, has_rows

END_BYTES = 2**16
"""Bytes at the start and at the end of a file that go into the fingerprint."""


class Files(Source):
    """Files one after the other."""

    def __init__(self, paths: list[Path], lengths: list[int]):
        self.paths, self.starts = paths, [0, *accumulate(lengths)]
        self.n_rows = self.starts[-1]
        if not self.n_rows:
            raise ValueError(f"{_several(paths)} no rows; give at least one.")

    def fingerprint(self) -> str:
        digest = blake2b(digest_size=16)
        for path, start in zip(self.paths, self.starts, strict=False):
            with path.open("rb") as file:
                digest.update(f"{path.name} {start} {path.stat().st_size}".encode())
                digest.update(file.read(END_BYTES))
                file.seek(max(0, path.stat().st_size - END_BYTES))
                digest.update(file.read())
        return digest.hexdigest()

    def batches(self, start: int) -> tuple[int, Iterator[Named]]:
        k = int(np.searchsorted(self.starts, start, side="right")) - 1 if start else 0
        skip, later = self._file(k, start - self.starts[k]) if k < len(self.paths) else (0, iter(()))
        return skip, self._chained(later, k + 1)

    def _chained(self, batches: Iterator[Named], following: int) -> Iterator[Named]:
        yield from batches
        for k in range(following, len(self.paths)):
            yield from self._file(k, 0)[1]

    def first(self) -> Named:
        return next(filter(has_rows, self.batches(0)[1]))

    def _file(self, k: int, start: int) -> tuple[int, Iterator[Named]]:
        """Batches of file k, from one at or before its row ``start``, and how many of their rows precede that row."""
        raise NotImplementedError


class ParquetFiles(Files):
    """Parquet files with the same columns; row groups are read in batches, one after the other."""

    def __init__(self, paths: list[Path], layout: Layout):
        self._parquet = _pyarrow_parquet()
        groups = []
        types: dict[str, Any] = {}
        for path in paths:
            file = self._open(path)
            with file:
                schema, metadata = file.schema_arrow, file.metadata
                wanted = layout.inputs(schema.names, str(path))
                self.columns = [*wanted, *layout.others]
                here = {name: schema.field(name).type for name in self.columns}
                groups.append([metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)])
            _same_types(types or here, here, path, paths[0])
            types = types or here
        self.groups = groups
        super().__init__(paths, [sum(group) for group in groups])

    def _open(self, path: Path) -> Any:
        try:
            options = {"pre_buffer": False, "buffer_size": END_BYTES, "page_checksum_verification": True}
            return self._parquet.ParquetFile(path, **options)
        except FileNotFoundError:
            raise FileNotFoundError(f"There is no file {path}.") from None
        except Exception as error:  # pyarrow's own, of several types
            raise ValueError(f"{path} is not a whole Parquet file, or ends early: {error}") from None

    def _file(self, k: int, start: int) -> tuple[int, Iterator[Named]]:
        ends = list(accumulate(self.groups[k]))
        group = int(np.searchsorted(ends, start, side="right"))
        return start - (ends[group - 1] if group else 0), self._groups(k, group)

    def _groups(self, k: int, group: int) -> Iterator[Named]:
        path = self.paths[k]
        if not sum(self.groups[k]):  # one empty batch, so that the file is named
            with self._open(path) as file:
                yield str(path), file.schema_arrow.empty_table().select(self.columns)
            return
        wanted = list(range(group, len(self.groups[k])))
        row = sum(self.groups[k][:group])
        with self._open(path) as file:
            options = {"row_groups": wanted, "columns": self.columns, "use_threads": False}
            batches = file.iter_batches(LONGEST_BLOCK, **options)
            while True:
                try:
                    batch = next(batches)
                except StopIteration:
                    return
                except Exception as error:  # pyarrow's own, of several types
                    raise ValueError(f"{path} ends early or is damaged after row {row}: {error}") from None
                yield f"{path}, from row {row} on,", batch
                row += batch.num_rows


class NpyFiles(Files):
    """.npy files of inputs; targets and weights are in other files of as many rows, or in columns of the same array."""

    def __init__(self, paths: list[Path], targets: list[Path] | None, weights: list[Path] | None):
        self.beside = [targets, weights]
        for files, what in zip(self.beside, ("target", "weight"), strict=True):
            if files is not None and len(files) != len(paths):
                raise ValueError(
                    f"There are {len(paths)} files of inputs and {len(files)} of {what}; give one for each."
                )
        first, lengths = _mapped(paths[0]), []
        for k, path in enumerate(paths):
            X = _mapped(path)
            if X.shape[1:] != first.shape[1:] or X.dtype != first.dtype:
                raise ValueError(
                    f"{path} holds {X.dtype} of shape {X.shape}, but {paths[0]} holds {first.dtype} of shape "
                    f"{first.shape}; use files with the same columns and type."
                )
            for files in self.beside:
                if files is not None and len(other := _mapped(files[k])) != len(X):
                    raise ValueError(f"{files[k]} has {len(other)} rows, but {path} has {len(X)}.")
            lengths.append(len(X))
        super().__init__(paths, lengths)

    def _file(self, k: int, start: int) -> tuple[int, Iterator[Named]]:
        return 0, self._slices(k, start)

    def _slices(self, k: int, start: int) -> Iterator[Named]:
        path = self.paths[k]
        X, others = _mapped(path), [None if files is None else _mapped(files[k]) for files in self.beside]
        tupled = any(other is not None for other in others)
        for row in range(start, max(len(X), 1), LONGEST_BLOCK):  # an empty file gives an empty batch, so it is named
            stop = min(row + LONGEST_BLOCK, len(X))
            parts = tuple(None if values is None else np.array(values[row:stop]) for values in (X, *others))
            where = f"{path}, from row {row} on," if len(X) else str(path)
            yield where, parts if tupled else parts[0]


def _mapped(path: Path) -> np.ndarray:
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {path}.") from None
    except (ValueError, EOFError, OSError) as error:
        raise ValueError(f"{path} is not a whole .npy file, or ends early: {error}") from None


def _same_types(first: dict[str, Any], here: dict[str, Any], path: Path, before: Path) -> None:
    if missing := [name for name in first if name not in here]:
        raise ValueError(
            f"{path} has no column {', '.join(map(repr, missing))}, which {before} has; rewrite it, or leave these "
            "columns out with columns=."
        )
    for name, kind in here.items():
        if first.get(name) != kind:
            was = f"{first[name]} in {before}" if name in first else f"missing in {before}"
            raise ValueError(f"Column {name!r} is {kind} in {path}, but {was}; write both files with the same columns.")


def _several(paths: list[Path]) -> str:
    return f"{paths[0]} has" if len(paths) == 1 else f"The {len(paths)} files from {paths[0]} on have"


@cache
def _pyarrow_parquet() -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise ImportError("Parquet files are read by pyarrow: pip install 'representer[parquet]'.") from None
    return pyarrow.parquet
