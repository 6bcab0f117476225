"""Atomic file writes, and progress on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from representer.tables.reading import TableError


def write_by_rename(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file under a temporary name, and rename it when it is complete."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        write(beside)
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def write_all(folder: Path, contents: dict[str, str | Callable[[Path], object]]) -> None:
    """Write files of text, or by functions of a path, under temporary names; rename them when all are complete."""
    folder.mkdir(parents=True, exist_ok=True)
    beside = {folder / name: folder / f".{name}.{os.getpid()}" for name in contents}
    try:
        for path, content in zip(beside.values(), contents.values(), strict=True):
            if isinstance(content, str):
                path.write_text(content, encoding="utf-8")
            else:
                content(path)
        for name, path in beside.items():
            os.replace(path, name)
    except BaseException:
        for path in beside.values():
            path.unlink(missing_ok=True)
        raise


def require_folder(folder: Path) -> None:
    """Raise before any work if no file can be written in a folder, which is created when first needed."""
    there = folder
    while not there.exists() and there != there.parent:
        there = there.parent
    if not there.is_dir():
        raise TableError(f"{there} is a file, not a folder in which files could be written; choose another place.")
    if not os.access(there, os.W_OK | os.X_OK):
        raise TableError(f"You may not write in {there}; choose another place, or change its permissions.")


def require_free(paths: list[Path], force: bool) -> None:
    """Raise before any work if files would be replaced without --force."""
    taken = [path for path in paths if path.exists()]
    if taken and not force:
        raise TableError(f"{taken[0]} exists already; choose another place, or give --force to replace it.")
    if taken and any(path.is_dir() for path in taken):
        raise TableError(f"{taken[0]} is a folder; choose another place.")


def teller(quiet: bool) -> Callable[[str], None]:
    """A function that prints progress and the elapsed time to stderr."""
    begin = perf_counter()

    def tell(text: str) -> None:
        print(f"[{perf_counter() - begin:5.1f} s] {text}", file=sys.stderr, flush=True)

    return (lambda text: None) if quiet else tell
