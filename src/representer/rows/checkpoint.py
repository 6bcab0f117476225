"""Checkpoints: sums of an interrupted fit, from which the next one resumes with bit-for-bit the same result.

A solver sees its rows only through sums over blocks, and everything else follows from them. So a checkpoint is a
journal of sums: those of finished passes, and the partial sums of the current one. A resumed fit runs from the start,
and is given these sums in place of passes over rows.
"""

from __future__ import annotations

import os
from dataclasses import fields, is_dataclass
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from joblib import hash as content_hash

from representer.rows.base import Part, Rows, Sums

CHECKPOINT_SECONDS = 60.0
"""Seconds between two writes of a checkpoint."""


class Journal:
    """The sums of a fit in an .npz file without pickled objects, renamed into place once it is complete.

    Parameters
    ----------
    path : str or path
    """

    def __init__(self, path: Any):
        self.path = Path(path)
        if not self.path.parent.is_dir():
            raise FileNotFoundError(f"There is no folder {self.path.parent} for the checkpoint {self.path}.")
        self._entries: list[tuple[str, Sums]] = []
        """The hash of the part and the sums of each pass."""
        self._next_block = 0
        """The next block of the last pass; 0 if that pass is finished."""
        self._pass, self._fingerprint, self._written = 0, "", monotonic()

    def rewind(self) -> None:
        """Start a fit: the next sum is its first."""
        self._pass = 0

    def _begin(self, rows: Rows) -> None:
        """Read the file, if there is one; raise if it is of other rows."""
        self._entries, self._pass, self._next_block = [], 0, 0
        self._fingerprint, self._written = rows.fingerprint, monotonic()
        if not self.path.exists():
            return
        found, self._entries, self._next_block = _read(self.path)
        if found != self._fingerprint:
            raise ValueError(
                f"The checkpoint {self.path} is of other rows than these; remove it to start over, or pass the rows "
                "that it was written for."
            )

    def total(self, rows: Rows, part: Part) -> Sums:
        """rows.partial(part), resumed from what is known of it."""
        number, self._pass = self._pass, self._pass + 1
        if not number:
            self._begin(rows)
            self._pass = 1
        key = digest(part)
        first, sums = 0, None
        if number < len(self._entries):
            known, sums = self._entries[number]
            if known != key:
                raise ValueError(
                    f"The checkpoint {self.path} is of another fit to these rows: its pass {number + 1} differs; "
                    "remove it to start over, or use the parameters that it was written with."
                )
            if number < len(self._entries) - 1 or not self._next_block:
                return _copy(sums)
            first = self._next_block
        self._entries[number:] = [(key, sums)]

        def after(block: int, so_far: Sums) -> None:
            self._entries[number], self._next_block = (key, so_far), block
            if monotonic() - self._written >= CHECKPOINT_SECONDS:
                self.write()

        try:
            sums = rows.partial(part, first, sums, after)
        except BaseException:  # also an interrupt: keep what is known now, not a minute ago
            self._keep_known()
            raise
        self._entries[number], self._next_block = (key, _copy(sums)), 0
        if monotonic() - self._written >= CHECKPOINT_SECONDS:
            self.write()
        return sums

    def _keep_known(self) -> None:
        """Write the sums of finished blocks, if any."""
        if self._entries[-1][1] is None:
            self._entries.pop()
        if self._entries:
            self.write()

    def write(self) -> None:
        """Write all sums to another file and rename it, so that the old file stays intact until then."""
        arrays: dict[str, Any] = {
            "fingerprint": np.array(self._fingerprint),
            "parts": np.array([key for key, _ in self._entries]),
            "lengths": np.array([-1 if sums is None else len(sums) for _, sums in self._entries]),
            "next_block": np.array(self._next_block),
        }
        for p, (_, sums) in enumerate(self._entries):
            arrays |= {f"sums_{p}_{j}": value for j, value in enumerate(sums or ()) if value is not None}
        half = self.path.with_name(f"{self.path.name}.writing")
        with half.open("wb") as file:
            np.savez(file, **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(half, self.path)
        self._written = monotonic()

    def remove(self) -> None:
        """Remove the file: the fit is done."""
        self.path.unlink(missing_ok=True)


def digest(value: Any) -> str:
    """A hash of what an object was constructed from, without what it has cached since, such as `used` of rows.

    A resumed fit skips the work that would have filled such caches.
    """
    return str(content_hash(_made_of(value)))


def _made_of(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_made_of(item) for item in value]
    if isinstance(value, dict):
        return {key: _made_of(item) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
    elif hasattr(value, "get_params") and not isinstance(value, type):
        parts = value.get_params(deep=False)
    elif type(value).__module__.split(".")[0] == __name__.split(".")[0]:
        kept = {name for kind in type(value).__mro__ for name, each in vars(kind).items() if _is_cache(each)}
        parts = {name: each for name, each in vars(value).items() if name not in kept}
    else:
        return value
    return [f"{type(value).__module__}.{type(value).__qualname__}", _made_of(parts)]


def _is_cache(attribute: Any) -> bool:
    return isinstance(attribute, cached_property)


def _read(path: Path) -> tuple[str, list[tuple[str, Sums]], int]:
    try:
        with np.load(path, allow_pickle=False) as file:
            entries: list[tuple[str, Sums]] = []
            for p, (key, length) in enumerate(zip(file["parts"], file["lengths"], strict=True)):
                names = [f"sums_{p}_{j}" for j in range(length)]
                sums = tuple(file.get(name) for name in names)
                entries.append((str(key), None if length < 0 else sums))
            return str(file["fingerprint"]), entries, int(file["next_block"])
    except (KeyError, ValueError, OSError, EOFError) as error:
        raise ValueError(f"{path} is not a checkpoint; remove it, or give another name ({error}).") from None


def _copy(sums: Sums) -> Sums:
    """A copy of the sums, which the caller may change."""
    return None if sums is None else tuple(None if value is None else np.array(value) for value in sums)
