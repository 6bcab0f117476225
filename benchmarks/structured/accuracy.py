"""How good models on strings, texts and graphs are, by the protocols of the published figures."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import Table
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import LeaveOneOut, StratifiedKFold, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC
from sources import arrays, graphs_of, lines_of, news

from representer import SVC
from representer.kernels import (
    HistogramIntersection,
    Normalized,
    Precomputed,
    WeightedDegree,
    WeisfeilerLehman,
    Words,
)

COSTS = [10.0**power for power in range(-3, 4)]
PUBLISHED = {
    ("mutag", "WL"): (84.1, 1.9),
    ("mutag", "WL-OA"): (84.5, 1.7),
    ("nci1", "WL"): (84.5, 0.5),
    ("nci1", "WL-OA"): (86.1, 0.2),
}
"""Means and standard deviations of 10-fold accuracies, of Kriege et al. 2016 as collected by Gao et al. 2019."""


def nested(matrices: list[np.ndarray], y: np.ndarray, costs: list[float], inner: int, seed: int) -> float:
    """The 10-fold accuracy in per cent, with the matrix and C chosen by inner folds of each training part."""
    right = []
    for train, test in StratifiedKFold(10, shuffle=True, random_state=seed).split(y, y):
        folds = StratifiedKFold(inner, shuffle=True, random_state=seed)
        scores = {
            (m, C): cross_val_score(SVC(kernel=Precomputed(), C=C), K[np.ix_(train, train)], y[train], cv=folds).mean()
            for m, K in enumerate(matrices)
            for C in costs
        }
        m, C = max(scores, key=lambda chosen: scores[chosen])
        model = SVC(kernel=Precomputed(), C=C).fit(matrices[m][np.ix_(train, train)], y[train])
        right.append(model.score(matrices[m][np.ix_(test, train)], y[test]))
    return 100.0 * float(np.mean(right))


def on_graphs(table: Table, name: str, what: str) -> None:
    """10-fold accuracies against published ones less a standard deviation; the large set has a part of the grid."""
    if (data := graphs_of(name)) is None:
        return
    graphs, y = data
    compare = HistogramIntersection() if what == "WL-OA" else None
    rounds, costs, inner, repeats = range(8), COSTS, 5, 3
    if name == "nci1":
        rounds, costs, inner, repeats = range(5, 8), COSTS[1:4] if compare else COSTS[3:6], 3, 1
    kernels = [WeisfeilerLehman(number, compare=compare) for number in rounds]
    matrices = [(kernel if compare else Normalized(kernel))(graphs) for kernel in kernels]
    scores = [nested(matrices, y, costs, inner, seed) for seed in range(repeats)]
    published, deviation = PUBLISHED[name, what]
    note = f"+- {np.std(scores):.1f} over {repeats} repeats; published {published} +- {deviation}"
    table.row(f"{name.upper()}, {what}, 10-fold", float(np.mean(scores)), ">=", published - deviation, "%", note)


def on_texts(table: Table) -> None:
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
    model = OneVsRestClassifier(SVC(kernel=Normalized(Words()))).fit(*train)  # as LinearSVC does
    mine = 100.0 * model.score(*test)
    table.row(f"{name}, Words()", mine, ">=", theirs - 0.3, "%", f"LinearSVC on tf-idf {theirs:.2f} %")


def on_strings(table: Table) -> None:
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
    if (data := arrays("celegans_acc_train")) is not None:
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
