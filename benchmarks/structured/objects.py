"""How fast are Gram matrices of series, rankings and random walks on graphs, and what do they find?

    pip install -r benchmarks/structured/requirements.txt
    python benchmarks/structured/objects.py

Times are seconds of CPU, of both libraries in one run, from the same inputs to the dense matrix; entries are compared
first. Data sets are looked for in the folder that REPRESENTER_DATA names; a row whose data or library is absent is left
out. scipy's kendalltau is timed on some pairs, and scaled to all of them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import kendalltau

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import Table, data_file, print_versions

from representer import SVC, mean_embedding, preimage
from representer.kernels import GlobalAlignment, Graphs, Kendall, RandomWalk, Subsequence

REPEATS = 3
PAIRS = 2000
KEMENY = (1, 5, 2, 4, 3)
"""The consensus of the 5,738 ballots of 1980, by trying all 120 rankings."""


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


def same(name: str, ours: np.ndarray, theirs: np.ndarray, tol: float) -> None:
    """Entries have to agree before times are compared."""
    worst = np.abs(ours - theirs).max() / np.abs(theirs).max()
    if not worst <= tol:
        raise SystemExit(f"{name}: entries differ by {worst:.1e} of the largest one")


def series(table: Table) -> None:
    """Global alignments of GunPoint, 200 series of 150 samples."""
    if (data := arrays("ts_gunpoint")) is None:
        return
    train, test = data["X_train"].astype(float), data["X_test"].astype(float)
    X, kernel = np.concatenate([train, test]), GlobalAlignment(3.87)
    kernel(X[:2])
    ours, K = cpu(lambda: kernel(X))
    model = SVC(kernel=kernel, C=10.0).fit(train, data["y_train"])
    table.row("GunPoint, global alignment: accuracy", model.score(test, data["y_test"]), ">=", 0.99, "")
    try:
        from tslearn.metrics import cdist_gak
    except ImportError:
        print("left out: tslearn, which is not installed")
        return
    cdist_gak(X[:2], sigma=3.87)
    theirs, other = cpu(lambda: cdist_gak(X, sigma=3.87), 1)
    same("global alignment", K, other, 1e-10)
    note = f"{ours:.2f} s, tslearn {theirs:.2f} s"
    table.row("GunPoint, global alignment: times faster than tslearn", theirs / ours, ">=", 4, "x", note)


def rankings(table: Table) -> None:
    """Kendall's tau of 5,000 rankings of 10 items, and the consensus of ballots."""
    rng = np.random.default_rng(0)
    X = rng.permuted(np.tile(np.arange(10.0), (5000, 1)), axis=1)
    Kendall()(X[:600])
    ours, K = cpu(lambda: Kendall()(X))
    pairs = rng.integers(0, len(X), (PAIRS, 2))
    theirs, taus = cpu(lambda: np.array([kendalltau(X[i], X[j]).statistic for i, j in pairs]), 1)
    same("Kendall", K[tuple(pairs.T)], taus, 1e-12)
    theirs *= len(X) * (len(X) - 1) / 2 / PAIRS
    note = f"{ours:.2f} s, scipy {theirs:,.0f} s"
    table.row("Kendall, 5,000 rankings: times faster than kendalltau", theirs / ours, ">=", 1000, "x", note)
    if (data := arrays("apa1980")) is not None:
        found = preimage(mean_embedding(Kendall(), data["rankings"]))
        agrees = tuple(found.x.tolist()) == KEMENY
        table.row("APA ballots: the pre-image of the mean is Kemeny's consensus", float(agrees), ">=", 1, "")


def walks(table: Table) -> None:
    """Random walks on MUTAG, 188 molecules."""
    if (data := arrays("graph_mutag")) is None:
        return
    graphs = Graphs(data["edges"], data["node_graph"], data["node_labels"])
    RandomWalk(0.01)(graphs[:2])
    ours, K = cpu(lambda: RandomWalk(0.01)(graphs))
    try:
        from grakel.kernels import RandomWalk as Walks
    except ImportError:
        print("left out: GraKeL, which is not installed")
        return
    triples = [[g.adjacency(0).astype(int), dict.fromkeys(range(g.n_nodes), 0), {}] for g in graphs]
    theirs, other = cpu(lambda: Walks(lamda=0.01, method_type="fast").fit_transform(triples), 1)
    same("random walk", K, other, 1e-8)
    note = f"{ours:.3f} s, GraKeL {theirs:.2f} s"
    table.row("MUTAG, random walks: times faster than GraKeL", theirs / ours, ">=", 20, "x", note)


def subsequences(table: Table) -> None:
    """Gap-weighted subsequences of 5 letters in 200 strings of 100 letters."""
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("ACGT"), 100)) for _ in range(200)]
    Subsequence(5)(X[:2])
    seconds, _ = cpu(lambda: Subsequence(5)(X))
    table.row("subsequences of 5 letters: a pair of 100 letters", 1e6 * seconds / 20_100, "<=", 100, "us")


if __name__ == "__main__":
    print_versions()
    results = Table()
    for part in (series, rankings, walks, subsequences):
        part(results)
    results.end()
