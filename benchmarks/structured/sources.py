"""Data sets and timing for the benchmark of structured inputs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from common import data_file

from representer.kernels import Graphs

REPEATS = 3


def cpu(function: Callable[[], Any], repeats: int = REPEATS) -> tuple[float, Any]:
    """The least seconds of CPU of some calls, and the last result."""
    best, result = np.inf, None
    for _ in range(repeats):
        start = time.process_time()
        result = function()
        best = min(best, time.process_time() - start)
    return best, result


def arrays(name: str) -> dict[str, np.ndarray] | None:
    """The arrays of a data set; None where it is absent, which is printed."""
    if (file := data_file(name)) is None:
        print(f"left out: {name}, which is not at hand")
        return None
    with np.load(file) as data:
        return dict(data)


def graphs_of(name: str) -> tuple[Graphs, np.ndarray] | None:
    """Graphs with labels of nodes, and their classes."""
    if (data := arrays(f"graph_{name}")) is None:
        return None
    return Graphs(data["edges"], data["node_graph"], data["node_labels"]), data["y"]


def lines_of(name: str, header: bool = True) -> list[list[str]] | None:
    """Fields of a file of tab-separated values."""
    if (file := data_file(name, "tsv")) is None:
        print(f"left out: {name}, which is not at hand")
        return None
    return [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()[header:]]


def news(split: str) -> tuple[list[str], np.ndarray] | None:
    """Texts and topics of the R8 part of Reuters-21578."""
    if (lines := lines_of("r8_reuters")) is None:
        return None
    chosen = [line for line in lines if line[0] == split]
    return [line[2] for line in chosen], np.array([line[1] for line in chosen])


def same(name: str, ours: np.ndarray, theirs: np.ndarray, tol: float) -> None:
    """Entries have to agree before times are compared, so that these are times of equal work."""
    worst = np.abs(ours - theirs).max() / np.abs(theirs).max()
    if not worst <= tol:
        raise SystemExit(f"{name}: entries differ by {worst:.1e} of the largest one")


PRINTED = {
    ("nci1", "Weisfeiler-Lehman, 5 rounds"): ((342, 267), 10_508_907_614),
    ("nci1", "shortest path"): ((3258, 4682), 408_380_864_374),
    ("mutag", "Weisfeiler-Lehman, 5 rounds"): ((412, 210), None),
    ("mutag", "shortest path"): ((6660, 2950), None),
    ("mutag", "random walks"): ((304.338, 232.283), None),
}
"""The first two entries that GraKeL 0.1.11 printed, and the sum of all."""


def as_printed(data: str, what: str, K: np.ndarray) -> None:
    """Entries have to be those that the peer printed, also where it is not at hand."""
    if (data, what) not in PRINTED:
        return
    first, total = PRINTED[data, what]
    if not np.allclose(K[0, :2], first, rtol=2e-6) or (total is not None and K.sum() != total):
        raise SystemExit(f"{what} of {data}: {K[0, :2]} and the sum {K.sum():,.0f} are not {first} and {total}")
