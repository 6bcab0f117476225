"""CPU seconds of Gram matrices, of this library and of others in one run, from the same inputs."""

from __future__ import annotations

import numpy as np
from common import Table
from scipy.stats import kendalltau
from sklearn.feature_extraction.text import CountVectorizer
from sources import arrays, as_printed, cpu, graphs_of, news, same

from representer import SVC, Gram, mean_embedding, preimage
from representer.kernels import (
    Characters,
    GappedKmer,
    GlobalAlignment,
    Graphs,
    HistogramIntersection,
    Kendall,
    Kernel,
    RandomWalk,
    ShortestPath,
    Spectrum,
    Subsequence,
    Tanimoto,
    VertexHistogram,
    WeisfeilerLehman,
)

PAIRS, SOME_ROWS = 2000, 20
"""Of how many pairs of rankings, and rows of fingerprints, entries are compared."""
SOME_GRAPHS = 500
"""On which GraKeL's optimal assignment is timed, whose time grows with the square of their number."""
KEMENY = (1, 5, 2, 4, 3)
"""The consensus of the 5,738 ballots of 1980, by trying all 120 rankings."""


def triples(graphs: Graphs) -> list[tuple[dict, dict]]:
    """The same graphs as GraKeL takes them: neighbours of each node, and labels."""
    found = []
    for g in range(len(graphs)):
        nodes = range(graphs.starts[g], graphs.starts[g + 1])
        around = {int(v): graphs.indices[graphs.indptr[v] : graphs.indptr[v + 1]].tolist() for v in nodes}
        found.append((around, {v: int(graphs.node_labels[v]) for v in around}))
    return found


def matrices(graphs: Graphs) -> list[tuple[np.ndarray, dict]]:
    """The same with matrices, as isolated nodes have no shortest paths there otherwise."""
    return [(g.adjacency(0).astype(int), dict(enumerate(map(int, g.node_labels)))) for g in graphs]


def on_graphs(table: Table, what: str) -> None:
    """One kernel on NCI1 against GraKeL, entry by entry.

    The target holds from `Graphs`, the layout of the data set, to the matrix; the note has the ratio from GraKeL's own
    lists of dictionaries or matrices as well.
    """
    kernel, target = {
        "vertex histogram": (VertexHistogram(), 5),
        "Weisfeiler-Lehman, 5 rounds": (WeisfeilerLehman(5), 20),
        "shortest path": (ShortestPath(), 20),
        "optimal assignment, 5 rounds": (WeisfeilerLehman(5, compare=HistogramIntersection()), 200),
    }[what]
    if (small := graphs_of("mutag")) is not None:
        as_printed("mutag", what, kernel(small[0]))
    if (data := graphs_of("nci1")) is None:
        return
    graphs, _ = data
    mine, K = cpu(lambda: kernel(graphs))
    as_printed("nci1", what, K)
    lists = (matrices if what == "shortest path" else triples)(graphs)
    listed, again = cpu(lambda: kernel(lists))
    same(what, again, K, 0.0)
    try:
        spent, number = by_grakel(what, K, graphs, lists)
    except ImportError:
        print(f"left out: NCI1, {what}, as GraKeL is not installed; {mine:.3f} s, from lists {listed:.3f} s")
        return
    note = f"{mine:.3f} s, GraKeL {spent:.2f} s; from its own lists {listed:.3f} s, {spent / listed:.1f} x"
    note += f"; from {number} graphs" if number < len(graphs) else ""
    table.row(f"NCI1, {what}", spent / mine, ">=", target, note=note)


def by_grakel(what: str, K: np.ndarray, graphs: Graphs, lists: list) -> tuple[float, int]:
    """GraKeL's seconds for all graphs, and the number of graphs they were measured on, once entries are equal."""
    from grakel import kernels as peers

    other, number = {
        "vertex histogram": (peers.VertexHistogram, len(graphs)),
        "Weisfeiler-Lehman, 5 rounds": (
            lambda: peers.WeisfeilerLehman(n_iter=5, base_graph_kernel=peers.VertexHistogram),
            len(graphs),
        ),
        "shortest path": (peers.ShortestPath, len(graphs)),
        "optimal assignment, 5 rounds": (
            lambda: peers.WeisfeilerLehmanOptimalAssignment(n_iter=5),
            SOME_GRAPHS,
        ),
    }[what]
    spent, expected = cpu(lambda: np.asarray(other().fit_transform(lists[:number])))
    compared = np.arange(number)
    if what.startswith("optimal assignment"):  # GraKeL's leaves isolated nodes out
        isolated = np.bincount(graphs.owner[np.diff(graphs.indptr) == 0], minlength=len(graphs))
        compared = compared[isolated[:number] == 0]
    same(what, K[np.ix_(compared, compared)], expected[np.ix_(compared, compared)], 1e-12)
    return spent * (len(graphs) / number) ** 2, number


def vectorised(texts: list[str], length: int) -> np.ndarray:
    """The Gram matrix of letters in a row by scikit-learn and scipy."""
    F = CountVectorizer(analyzer="char", ngram_range=(length, length), lowercase=False, dtype=np.float64).fit_transform(
        texts
    )
    return (F @ F.T).toarray()


def words_of_six(table: Table) -> None:
    """Words of splice sites against CountVectorizer, a sparse product and toarray."""
    if (data := arrays("celegans_acc_train")) is not None:
        sites = [row.tobytes().decode() for row in data["X"][:2000]]
        _compare(table, "2,000 splice sites of 398 letters, words of 6", Spectrum(6), sites, 6)


def trigrams(table: Table) -> None:
    """Words of three letters of texts against the same."""
    if (texts := news("train")) is not None:
        _compare(table, "3,000 R8 texts, words of 3 letters", Characters(3, lowercase=False), texts[0][:3000], 3)


def _compare(table: Table, what: str, kernel: Kernel, texts: list[str], length: int) -> None:
    kernel(texts[:10])
    mine, K = cpu(lambda: kernel(texts))
    theirs, expected = cpu(lambda: vectorised(texts, length))
    same(what, K, expected, 0.0)
    note = f"{mine:.3f} s, CountVectorizer {theirs:.2f} s"
    table.row(what, theirs / mine, ">=", 5, note=note)


def gapped_words(table: Table) -> None:
    """Gapped words, for which no peer can be installed."""
    rng = np.random.default_rng(0)
    strings = ["".join(row) for row in rng.choice(list("ACGT"), (1000, 200))]
    one, both = GappedKmer(10, 6), GappedKmer(10, 6, both_strands=True)
    one(strings[:5]), both(strings[:5])
    (spent, _), (longer, _) = (cpu(lambda kernel=kernel: kernel(strings), 1) for kernel in (one, both))
    note = f"both strands {longer:.1f} s"
    table.row("GappedKmer(10, 6), 1,000 strings of 200 letters", spent, "<=", 8, "s", note)


def fingerprints(table: Table) -> None:
    """Products with a matrix of Tanimoto's kernel, whose values are computed anew.

    The target is held against a computed pair, of which there are n (n + 1) / 2, as the matrix is symmetric: twice as
    much as the time by the n^2 pairs of the product.
    """
    rng = np.random.default_rng(0)
    for share in (0.02, 0.5):
        bits = rng.random((20_000, 2048), np.float32) < share
        K, v = Gram(Tanimoto(), bits), rng.normal(size=20_000)
        Gram(Tanimoto(), bits[:300]) @ v[:300]
        spent, found = cpu(lambda K=K, v=v: K @ v, 2)
        some = bits[:SOME_ROWS].astype(np.float32)
        common, sizes = some @ bits.T.astype(np.float32), bits.sum(axis=1)
        same("Tanimoto", found[:SOME_ROWS], common / (sizes[:SOME_ROWS, None] + sizes - common) @ v, 1e-10)
        pairs = len(K) * (len(K) + 1) / 2
        what = f"Tanimoto, 20,000 x 20,000 product, 2,048 bits, {100 * share:.0f} % ones"
        note = f"a computed pair; {1e9 * spent / len(K) ** 2:.2f} ns a pair of the product"
        table.row(what, 1e9 * spent / pairs, "<=", 10, "ns", note)


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
    theirs, other = cpu(lambda: cdist_gak(X, sigma=3.87))
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
    theirs, taus = cpu(lambda: np.array([kendalltau(X[i], X[j]).statistic for i, j in pairs]))
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
    if (data := graphs_of("mutag")) is None:
        return
    graphs, _ = data
    ours, K = cpu(lambda: RandomWalk(0.01)(graphs))
    as_printed("mutag", "random walks", K)
    try:
        from grakel.kernels import RandomWalk as Walks
    except ImportError:
        print("left out: GraKeL, which is not installed")
        return
    triples = [[g.adjacency(0).astype(int), dict.fromkeys(range(g.n_nodes), 0), {}] for g in graphs]
    theirs, other = cpu(lambda: Walks(lamda=0.01, method_type="fast").fit_transform(triples))
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
