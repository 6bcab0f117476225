"""Prefetching by one thread, and batches of any length cut at fixed row numbers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from queue import Empty, Full, Queue
from typing import Any, TypeVar

from representer.rows import tables

Item = TypeVar("Item")
WAIT_SECONDS = 0.1
"""How long the reader waits before it checks whether the consumer has stopped."""


def ahead(items: Callable[[], Iterator[Item]]) -> Iterator[Item]:
    """Prefetch items: another thread reads each one while the one before is in use.

    An error of the reader is raised in its turn. A consumer that stops early ends the reader.
    """
    queue: Queue[tuple[str, Any]] = Queue(maxsize=1)
    stopped = threading.Event()

    def put(kind: str, item: Any = None) -> bool:
        while not stopped.is_set():
            try:
                queue.put((kind, item), timeout=WAIT_SECONDS)
                return True
            except Full:
                continue
        return False

    def read() -> None:
        try:
            for item in items():
                if not put("item", item):
                    return
            put("end")
        except BaseException as error:
            put("error", error)

    thread = threading.Thread(target=read, name="representer-reader", daemon=True)
    thread.start()
    try:
        while True:
            try:  # with a timeout, so that interrupts get through
                kind, item = queue.get(timeout=WAIT_SECONDS)
            except Empty:
                continue
            if kind == "end":
                return
            if kind == "error":
                raise item
            yield item
    finally:
        stopped.set()
        thread.join()


def recut(batches: Iterator[tuple[Any, ...]], size: int, skip: int = 0) -> Iterator[tuple[Any, ...]]:
    """Blocks of ``size`` rows, except the last, from batches of any length, after the first ``skip`` rows.

    A batch is a tuple of tables with the same number of rows; entries may be None.
    """
    waiting: list[tuple[Any, ...]] = []
    held = 0
    for batch in batches:
        n, start = tables.number_of_rows(batch[0]), 0
        if skip:
            start = min(skip, n)
            skip -= start
        while start < n:
            stop = min(n, start + size - held)
            waiting.append(_cut(batch, start, stop) if (start, stop) != (0, n) else batch)
            held, start = held + stop - start, stop
            if held == size:
                yield _merged(waiting)
                waiting, held = [], 0
    if held:
        yield _merged(waiting)


def _cut(batch: tuple[Any, ...], start: int, stop: int) -> tuple[Any, ...]:
    return tuple(None if values is None else tables.part(values, start, stop) for values in batch)


def _merged(parts: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    return parts[0] if len(parts) == 1 else tuple(tables.stacked(list(column)) for column in zip(*parts, strict=True))
