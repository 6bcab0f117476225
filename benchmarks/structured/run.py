"""How fast are Gram matrices of graphs, strings, texts and fingerprints, and how good are models on them?

    pip install -r benchmarks/structured/requirements.txt
    python benchmarks/structured/run.py [speed | accuracy]

Times are seconds of CPU, of both libraries in one run, from the same inputs to the dense matrix; entries are compared
first. Data sets are looked for in the folder that REPRESENTER_DATA names; a row whose data or library is absent is left
out. Accuracies follow the protocols of the published figures that they are held against.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, LeaveOneOut, StratifiedKFold, cross_val_score
from sklearn.svm import LinearSVC

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import Table, data_file, print_versions

from representer import SVC, Gram
from representer.kernels import (
    Characters,
    GappedKmer,
    Graphs,
    HistogramIntersection,
    Kernel,
    Normalized,
    Precomputed,
    ShortestPath,
    Spectrum,
    Tanimoto,
    VertexHistogram,
    WeightedDegree,
    WeisfeilerLehman,
    Words,
)

REPEATS = 3
COSTS = [10.0**power for power in range(-3, 4)]
PUBLISHED = {
    ("mutag", "WL"): (84.1, 1.9),
    ("mutag", "WL-OA"): (84.5, 1.7),
    ("nci1", "WL"): (84.5, 0.5),
    ("nci1", "WL-OA"): (86.1, 0.2),
}
"""Means and standard deviations of 10-fold accuracies, of Kriege et al. 2016 as collected by Gao et al. 2019."""


def cpu(function: Callable[[], Any], repeats: int = REPEATS) -> tuple[float, Any]:
    """The least seconds of CPU of some calls, and the last result."""
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        result = function()
        best = min(best, time.process_time() - start)
    return best, result


def graphs_of(name: str) -> tuple[Graphs, np.ndarray] | None:
    """Graphs with labels of nodes, and their classes."""
    if (file := data_file(f"graph_{name}")) is None:
        return None
    with np.load(file) as data:
        return Graphs(data["edges"], data["node_graph"], data["node_labels"]), data["y"]


def triples(graphs: Graphs) -> list[tuple[dict, dict]]:
    """The same graphs as GraKeL takes them: neighbours of each node, and labels."""
    found = []
    for g in range(len(graphs)):
        nodes = range(graphs.starts[g], graphs.starts[g + 1])
        around = {int(v): graphs.indices[graphs.indptr[v] : graphs.indptr[v + 1]].tolist() for v in nodes}
        found.append((around, {v: int(graphs.node_labels[v]) for v in around}))
    return found


def speed_on_graphs(table: Table) -> None:
    """NCI1 against GraKeL, entry by entry."""
    data = graphs_of("nci1")
    try:
        from grakel.kernels import ShortestPath as Paths
        from grakel.kernels import VertexHistogram as Histogram
        from grakel.kernels import WeisfeilerLehman as Subtrees
        from grakel.kernels import WeisfeilerLehmanOptimalAssignment as Assignment
    except ImportError:
        print("left out: graphs, as GraKeL is not installed")
        return
    if data is None:
        print("left out: graphs, as the data are not at hand")
        return
    graphs, _ = data
    theirs = triples(graphs)
    some = 500
    rows: list[tuple[str, Kernel, Any, int, float]] = [
        ("vertex histogram", VertexHistogram(), Histogram(), len(graphs), 5),
        ("Weisfeiler-Lehman, 5 rounds", WeisfeilerLehman(5), Subtrees(n_iter=5, base_graph_kernel=Histogram), 0, 20),
        ("shortest path", ShortestPath(), Paths(), 0, 20),
        (
            "optimal assignment, 5 rounds",
            WeisfeilerLehman(5, compare=HistogramIntersection()),
            Assignment(n_iter=5),
            some,
            200,
        ),
    ]
    for what, kernel, other, number, target in rows:
        number = number or len(graphs)
        kernel(graphs[:20])
        mine, K = cpu(lambda kernel=kernel: kernel(graphs))
        start = time.process_time()
        expected = np.asarray(other.fit_transform(theirs[:number]))
        spent = (time.process_time() - start) * (len(graphs) / number) ** 2
        # GraKeL's optimal assignment leaves isolated nodes out
        equal = np.isclose(K[:number, :number], expected).mean()
        note = f"{mine:.3f} s, GraKeL {spent:.2f} s, {100 * equal:.2f} % of entries equal"
        table.row(
            f"NCI1, {what}", spent / mine, ">=", target, note=note + (", from 500 graphs" if number == some else "")
        )


def vectorised(texts: list[str], length: int) -> np.ndarray:
    """The Gram matrix of letters in a row by scikit-learn and scipy."""
    F = CountVectorizer(analyzer="char", ngram_range=(length, length), lowercase=False, dtype=np.float64).fit_transform(
        texts
    )
    return (F @ F.T).toarray()


def speed_on_strings(table: Table) -> None:
    """Words of strings against CountVectorizer, a sparse product and toarray."""
    if (file := data_file("celegans_acc_train")) is not None:
        with np.load(file) as data:
            sites = [row.tobytes().decode() for row in data["X"][:2000]]
        _compare(table, "2,000 splice sites of 398 letters, words of 6", Spectrum(6), sites, 6)
    if (texts := news("train")) is not None:
        _compare(table, "3,000 R8 texts, words of 3 letters", Characters(3, lowercase=False), texts[0][:3000], 3)


def _compare(table: Table, what: str, kernel: Kernel, texts: list[str], length: int) -> None:
    kernel(texts[:10])
    mine, K = cpu(lambda: kernel(texts))
    theirs, expected = cpu(lambda: vectorised(texts, length), 1)
    note = f"{mine:.3f} s, CountVectorizer {theirs:.2f} s, {100 * (expected == K).mean():.2f} % of entries equal"
    table.row(what, theirs / mine, ">=", 5, note=note)


def speed_alone(table: Table) -> None:
    """Gapped words and fingerprints, for which no peer can be installed: seconds, and nanoseconds a pair."""
    rng = np.random.default_rng(0)
    strings = ["".join(row) for row in rng.choice(list("ACGT"), (1000, 200))]
    kernel = GappedKmer(10, 6, both_strands=True)
    kernel(strings[:5])
    spent, _ = cpu(lambda: kernel(strings), 1)
    table.row("GappedKmer(10, 6), 1,000 strings of 200 letters, both strands", spent, "<=", 8, "s")
    bits = rng.random((20_000, 2048)) < 0.02
    K, v = Gram(Tanimoto(), bits), rng.normal(size=20_000)
    Gram(Tanimoto(), bits[:300]) @ v[:300]
    spent, _ = cpu(lambda: K @ v, 1)
    pairs = len(K) * (len(K) + 1) / 2
    table.row("Tanimoto, 20,000 x 20,000 product, 2,048 bits", 1e9 * spent / pairs, "<=", 10, "ns", "a computed pair")


def nested(K: np.ndarray, y: np.ndarray, repeats: int) -> tuple[float, float]:
    """Mean and deviation over repeats of the 10-fold accuracy, with C chosen within each training part."""
    scores = []
    for seed in range(repeats):
        search = GridSearchCV(
            SVC(kernel=Precomputed()), {"C": COSTS}, cv=StratifiedKFold(5, shuffle=True, random_state=seed)
        )
        folds = StratifiedKFold(10, shuffle=True, random_state=seed)
        scores.append(100.0 * cross_val_score(search, K, y, cv=folds).mean())
    return float(np.mean(scores)), float(np.std(scores))


def accuracy_on_graphs(table: Table) -> None:
    """10-fold accuracies against published ones less a standard deviation."""
    for name, repeats in (("mutag", 5), ("nci1", 1)):
        if (data := graphs_of(name)) is None:
            continue
        graphs, y = data
        for what, compare in (("WL", None), ("WL-OA", HistogramIntersection())):
            best = max(
                (nested(Normalized(WeisfeilerLehman(rounds, compare=compare))(graphs), y, repeats), rounds)
                for rounds in (5,)
            )
            published, deviation = PUBLISHED[name, what]
            note = f"+- {best[0][1]:.1f} over {repeats} repeats; published {published} +- {deviation}"
            table.row(f"{name.upper()}, {what}, 10-fold", best[0][0], ">=", published - deviation, "%", note)


def lines_of(name: str, header: bool = True) -> list[list[str]] | None:
    """Fields of a file of tab-separated values."""
    if (file := data_file(name, "tsv")) is None:
        return None
    return [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()[header:]]


def news(split: str) -> tuple[list[str], np.ndarray] | None:
    """Texts and topics of the R8 part of Reuters-21578."""
    if (lines := lines_of("r8_reuters")) is None:
        return None
    chosen = [line for line in lines if line[0] == split]
    return [line[2] for line in chosen], np.array([line[1] for line in chosen])


def accuracy_on_texts(table: Table) -> None:
    """Words() against LinearSVC on tf-idf."""
    if (train := news("train")) is not None and (test := news("test")) is not None:
        _score_texts(table, "R8", train, test)
    if (lines := lines_of("sms_spam", header=False)) is not None:
        order = np.random.default_rng(0).permutation(len(lines))
        parts = [
            ([lines[i][1] for i in part], np.array([lines[i][0] for i in part])) for part in np.split(order, [4000])
        ]
        _score_texts(table, "SMS", parts[0], parts[1])


def _score_texts(table: Table, name: str, train: Any, test: Any) -> None:
    vectorizer = TfidfVectorizer()
    linear = LinearSVC().fit(vectorizer.fit_transform(train[0]), train[1])
    theirs = 100.0 * linear.score(vectorizer.transform(test[0]), test[1])
    model = SVC(kernel=Normalized(Words()), C=10.0).fit(*train)
    mine = 100.0 * model.score(*test)
    table.row(f"{name}, Words()", mine, ">=", theirs - 0.3, "%", f"LinearSVC on tf-idf {theirs:.2f} %")


def accuracy_on_strings(table: Table) -> None:
    """WeightedDegree on promoters, splice junctions and acceptor sites."""
    if (lines := lines_of("promoters")) is not None:
        y, X = np.array([line[0] for line in lines]), [line[2] for line in lines]
        K = Normalized(WeightedDegree(3))(X)
        right = cross_val_score(SVC(kernel=Precomputed(), C=10.0), K, y, cv=LeaveOneOut())
        table.row("promoters, degree 3, leave-one-out errors of 106", float(len(y) - right.sum()), "<=", 5, "")
    if (lines := lines_of("splice")) is not None:
        y, X = np.array([line[0] for line in lines]), [line[1] for line in lines]
        K = Normalized(WeightedDegree(3))(X)
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        score = cross_val_score(SVC(kernel=Precomputed(), C=1.0), K, y, cv=folds).mean()
        table.row("splice junctions, degree 3, 5-fold accuracy", float(score), ">=", 0.965, "", "prototype .968")
    if (file := data_file("celegans_acc_train")) is not None:
        with np.load(file) as data:
            X, y = data["X"], data["y"]
        rng = np.random.default_rng(0)
        part = np.concatenate([rng.choice(np.flatnonzero(y == label), n, False) for label, n in ((1, 600), (-1, 5400))])
        part = rng.permutation(part)
        model = SVC(kernel=Normalized(WeightedDegree(20))).fit(X[part[:3000]], y[part[:3000]])
        scores = model.decision_function(X[part[3000:]])
        table.row(
            "acceptor sites, degree 20, area under ROC",
            roc_auc_score(y[part[3000:]], scores),
            ">=",
            0.985,
            "",
            "prototype .990",
        )
        area = average_precision_score(y[part[3000:]] == 1, scores)
        table.row("acceptor sites, degree 20, average precision", area, ">=", 0.92, "", "prototype .941")


def main() -> None:
    """Print the table."""
    wanted = sys.argv[1:] or ["speed", "accuracy"]
    print_versions()
    table = Table()
    if "speed" in wanted:
        speed_on_graphs(table)
        speed_on_strings(table)
        speed_alone(table)
    if "accuracy" in wanted:
        accuracy_on_strings(table)
        accuracy_on_texts(table)
        accuracy_on_graphs(table)
    table.end()


if __name__ == "__main__":
    main()
