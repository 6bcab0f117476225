"""Accuracy of models on strings, texts and graphs, by the protocols of the published results."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import Table
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, LeaveOneOut, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sources import arrays, graphs_of, lines_of, news

from representer import SVC, KernelMachine, SVCPath
from representer.kernels import (
    HistogramIntersection,
    Normalized,
    Precomputed,
    WeightedDegree,
    WeisfeilerLehman,
    Words,
)
from representer.losses import SquaredHinge
from representer.regularizers import SquaredNorm

COSTS = [10.0**power for power in range(-3, 4)]
SPLITS = 5
"""Random ones, where the anchor names none."""
ACCEPTORS = ((1, 300), (-1, 2700))
"""Labels of acceptor sites and of what looks like them, and how many of each."""
PUBLISHED = {
    ("mutag", "WL"): (84.1, 1.9),
    ("mutag", "WL-OA"): (84.5, 1.7),
    ("nci1", "WL"): (84.5, 0.5),
    ("nci1", "WL-OA"): (86.1, 0.2),
}
"""Means and standard deviations of 10-fold accuracies, of Kriege et al. 2016 as collected by Gao et al. 2019."""


def nested(kernels: list, graphs: Any, y: np.ndarray, inner: int, seed: int) -> list[float]:
    """10-fold accuracies in per cent; kernel and C are chosen by inner folds of each training part."""
    right = []
    for train, test in StratifiedKFold(10, shuffle=True, random_state=seed).split(y, y):
        folds = StratifiedKFold(inner, shuffle=True, random_state=seed)
        model = SVCPath(COSTS, kernels=kernels, cv=folds).fit(graphs[train], y[train])
        right.append(100.0 * model.score(graphs[test], y[test]))
    return right


def on_graphs(table: Table, name: str, what: str) -> None:
    """10-fold accuracies against published ones less a standard deviation.

    As Kriege et al. do, the training part of each fold chooses C, the number of rounds, and whether the kernel is
    normalised.
    """
    if (data := graphs_of(name)) is None:
        return
    graphs, y = data
    subtrees = [WeisfeilerLehman(h, compare=HistogramIntersection() if what == "WL-OA" else None) for h in range(8)]
    kernels = [*subtrees, *map(Normalized, subtrees)]
    inner, repeats = (3, 1) if name == "nci1" else (5, 3)
    scores = [np.mean(nested(kernels, graphs, y, inner, seed)) for seed in range(repeats)]
    published, deviation = PUBLISHED[name, what]
    note = f"+- {np.std(scores):.1f} over {repeats} repeats; published {published} +- {deviation}"
    table.row(f"{name.upper()}, {what}, 10-fold", float(np.mean(scores)), ">=", published - deviation, "%", note)


def on_texts(table: Table) -> None:
    """Words() against LinearSVC on tf-idf, C of both chosen by five folds of the training texts.

    Normalized(Words()) is the inner product of tf-idf vectors. LinearSVC has the squared hinge loss, one machine for
    each class against the rest, and an intercept that counts in the norm: the constant kernel here. The note has
    the accuracy of one-versus-one machines with the hinge loss, as SVC and SVCPath fit them.
    """
    if (train := news("train")) is not None and (test := news("test")) is not None:
        _compare_texts(table, "R8", [(train, test)])
    if (lines := lines_of("sms_spam", header=False)) is not None:
        texts, y = [line[1] for line in lines], np.array([line[0] for line in lines])
        splits = []
        for seed in range(SPLITS):
            parts = np.split(np.random.default_rng(seed).permutation(len(lines)), [4000])
            splits.append(tuple(([texts[i] for i in part], y[part]) for part in parts))
        _compare_texts(table, f"SMS, mean of {SPLITS} splits", splits)


def _compare_texts(table: Table, name: str, splits: list) -> None:
    machine = KernelMachine(Normalized(Words()) + 1, SquaredHinge(), fit_intercept=False)
    strengths = [SquaredNorm(0.5 / C) for C in COSTS]  # LinearSVC's loss has no factor 1/2
    searches = [
        GridSearchCV(make_pipeline(TfidfVectorizer(), LinearSVC()), {"linearsvc__C": COSTS}, cv=5),
        GridSearchCV(OneVsRestClassifier(machine), {"estimator__regularizer": strengths}, cv=5),
        SVCPath(COSTS, kernels=[Normalized(Words())], cv=5),
    ]
    scores = [[100.0 * search.fit(*train).score(*test) for search in searches] for train, test in splits]
    theirs, mine, pairs = np.mean(scores, axis=0)
    note = f"LinearSVC on tf-idf {theirs:.2f} %; one-versus-one machines with the hinge loss {pairs:.2f} %"
    table.row(f"{name}, Words()", float(mine), ">=", float(theirs) - 0.3, "%", note)


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
        table.row("splice junctions, degree 3, 5-fold accuracy", float(score), ">=", 0.968, "")
    if (data := arrays("celegans_acc_train")) is not None:
        X, y = data["X"], data["y"]
        first = np.concatenate([np.flatnonzero(y == label)[:n] for label, n in ACCEPTORS])
        drawn = [np.random.default_rng(0).choice(np.flatnonzero(y == label), n, False) for label, n in ACCEPTORS]
        others = _acceptor_sites(X, y, np.concatenate(drawn)).mean(axis=0)
        areas = _acceptor_sites(X, y, first)
        for s, (what, anchor) in enumerate((("area under ROC", 0.990), ("average precision", 0.941))):
            area = areas[:, s]
            note = f"{area.min():.4f} to {area.max():.4f}; rows drawn from all of the file: {others[s]:.3f}"
            table.row(f"acceptor sites, degree 20, {what}", float(area.mean()), ">=", anchor, "", note)


def _acceptor_sites(X: np.ndarray, y: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Areas under the two curves, of values in five folds that were shuffled several times."""
    K, signs, areas = Normalized(WeightedDegree(20))(X[rows]), y[rows], []
    for seed in range(SPLITS):
        folds, model = StratifiedKFold(5, shuffle=True, random_state=seed), SVC(kernel=Precomputed(), C=10.0)
        scores = cross_val_predict(model, K, signs, cv=folds, method="decision_function")
        areas.append((roc_auc_score(signs, scores), average_precision_score(signs == 1, scores)))
    return np.array(areas)
