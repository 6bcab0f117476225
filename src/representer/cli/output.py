"""Files that are complete or not there, and progress on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from representer.tables.reading import TableError


def write_by_rename(path: Path, write: Callable[[Path], object]) -> None:
    """Have a file written beside its place, and put it there when it is complete."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        write(beside)
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """A file of text, complete or not there."""
    write_by_rename(path, lambda beside: beside.write_text(text, encoding="utf-8"))


def require_folder(folder: Path) -> None:
    """Refuse a folder in which no file can be written, before any work; it is made when there is something for it."""
    there = folder
    while not there.exists() and there != there.parent:
        there = there.parent
    if not there.is_dir():
        raise TableError(f"{there} is a file, and no folder in which files could be written; choose another place.")
    if not os.access(there, os.W_OK | os.X_OK):
        raise TableError(f"You may not write in {there}; choose another place, or change its permissions.")


def require_free(paths: list[Path], force: bool) -> None:
    """Refuse to replace files unless that was asked for, before any work."""
    taken = [path for path in paths if path.exists()]
    if taken and not force:
        raise TableError(f"{taken[0]} is there already; choose another place, or give --force to replace it.")
    if taken and any(path.is_dir() for path in taken):
        raise TableError(f"{taken[0]} is a folder; choose another place.")


def teller(quiet: bool) -> Callable[[str], None]:
    """A function that prints what is done, and since when, to stderr."""
    begin = perf_counter()

    def tell(text: str) -> None:
        print(f"[{perf_counter() - begin:5.1f} s] {text}", file=sys.stderr, flush=True)

    return (lambda text: None) if quiet else tell
