"""Support vector machines against scikit-learn, scikit-learn-intelex and LIBSVM: time to the same tolerance.

    python benchmarks/svm/run.py [rows of the table, such as "a9a" "usps"]

Each fit runs to LIBSVM's tolerance of 1e-3 with an RBF kernel, on the data below $REPRESENTER_DATA where available,
and on generated data of the same size otherwise. Dual objectives (lower is better) and test errors are printed too.
scikit-learn-intelex and LIBSVM through its own interface (libsvm-official) are timed when they are installed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.svm import SVC as LibSVC

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import Table, data_file, print_versions

from representer import SVC
from representer.kernels import RBF

try:
    from sklearnex.svm import SVC as IntelSVC
except ImportError:
    IntelSVC = None
try:
    from libsvm import svmutil
except ImportError:
    svmutil = None

FORM = {True: "generated", False: "generated as they come"}
Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def generated(n: int, d: int, classes: int = 2, standardised: bool = True) -> Split:
    """Rows of make_classification; as they come they are so far apart that with gamma = 1/20 nearly all support."""
    X, y = make_classification(
        n + 2000, d, n_informative=min(12, d), n_classes=classes, flip_y=0.05, class_sep=0.8, random_state=0
    )
    if standardised:
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X[:n], y[:n], X[n:], y[n:]


def stored(name: str, n: int, d: int, classes: int = 2, scale: float = 1.0) -> Split:
    """A data set of that name with its own test rows, or generated data of its size."""
    file = data_file(name)
    if file is None:
        return generated(n, d, classes)
    with np.load(file) as data:
        parts = [data[key] for key in ("X_train", "y_train", "X_test", "y_test")]
    flat = [parts[i].reshape(len(parts[i]), -1) / scale for i in (0, 2)]
    return flat[0][:n], parts[1][:n].astype(int), flat[1], parts[3].astype(int)


def in_parts(name: str, n: int, d: int) -> Split:
    """n and 5,000 rows of a data set that has no test rows of its own, or generated data of its size."""
    file = data_file(name)
    if file is None:
        return generated(n, d)
    with np.load(file) as data:
        rows = np.random.default_rng(0).permutation(len(data["y"]))[: n + 5000]
        X, y = data["X"][rows].astype(np.float64), data["y"][rows].astype(int)
    return X[:n], y[:n], X[n:], y[n:]


def splice() -> Split:
    """Windows of 60 bases around splice sites of two kinds or none, as a column for each base at each place."""
    file = data_file("splice", "tsv")
    if file is None:
        return generated(2500, 240, 3)
    lines = [line.split("\t") for line in file.read_text().splitlines()[1:]]
    bases = np.array([list(sequence) for _, sequence in lines])
    X = (bases[:, :, None] == np.array(list("ACGT"))).reshape(len(lines), -1).astype(np.float64)
    y = np.unique([label for label, _ in lines], return_inverse=True)[1]
    rows = np.random.default_rng(0).permutation(len(y))
    return X[rows[:2500]], y[rows[:2500]], X[rows[2500:]], y[rows[2500:]]


def covtype() -> Split:
    """20,000 and 5,000 rows of covtype, standardised, class 2 against the rest."""
    file = data_file("covtype")
    if file is None:
        return generated(20_000, 54)
    with np.load(file) as data:
        rows = np.random.default_rng(0).permutation(len(data["y"]))[:25_000]
        X, y = data["X"][rows].astype(np.float64), (data["y"][rows] == 2).astype(int)
    X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    return X[:20_000], y[:20_000], X[20_000:], y[20_000:]


class LibSVM:
    """LIBSVM by its own Python interface, to the same tolerance, on a problem that it has read before.

    Its classes are those of the labels in the order in which they come, so labels are numbered like that.
    """

    def __init__(self, X: np.ndarray, y: np.ndarray, C: float, gamma: float):
        labels, first, codes = np.unique(y, return_index=True, return_inverse=True)
        self.y = np.argsort(np.argsort(first))[codes]
        self.classes_ = np.arange(len(labels))
        self.problem = svmutil.svm_problem(self.y.astype(float), X)
        self.parameter = svmutil.svm_parameter(f"-s 0 -t 2 -c {C} -g {gamma} -m 2000 -e 0.001 -q")

    def fit(self) -> LibSVM:
        self.model = svmutil.svm_train(self.problem, self.parameter)
        return self

    @property
    def support_(self) -> np.ndarray:
        return np.array(self.model.get_sv_indices()) - 1

    @property
    def dual_coef_(self) -> np.ndarray:
        return np.array(self.model.get_sv_coef()).T


def seconds_of(fits: list[Callable[[], Any]], repeats: list[int], rounds: int) -> tuple[list[float], list[Any]]:
    """Median times of several libraries' fits, and the fitted models.

    They take turns, so that a machine that slows down does so for all. Before each turn is a fit that is not timed: it
    compiles, and gets memory that the system may take long to give.
    """
    times: list[list[float]] = [[] for _ in fits]
    models: list[Any] = [None] * len(fits)
    for _ in range(rounds):
        for s, fit in enumerate(fits):
            fit()
            for _ in range(repeats[s]):
                start = perf_counter()
                models[s] = fit()
                times[s].append(perf_counter() - start)
    return [float(np.median(each)) for each in times], models


def dual_objective(model: Any, X: np.ndarray, y: np.ndarray, gamma: float) -> float:
    """1/2 c'Kc - sum |c| over all pairs of classes, from the support vectors of any model with LIBSVM's layout."""
    total = 0.0
    coef, support = np.asarray(model.dual_coef_), np.asarray(model.support_)
    codes = np.searchsorted(model.classes_, y[support])
    V = X[support]
    squares = (V**2).sum(axis=1)
    for a in range(len(model.classes_)):
        for b in range(a + 1, len(model.classes_)):
            pair = np.flatnonzero((codes == a) | (codes == b))
            c = np.where(codes[pair] == a, coef[b - 1, pair], coef[a, pair])
            kept = pair[c != 0.0]
            c = c[c != 0.0]
            K = V[kept] @ V[kept].T
            K = np.exp(-gamma * np.maximum(squares[kept][:, None] + squares[kept] - 2.0 * K, 0.0))
            total += 0.5 * c @ (K @ c) - np.abs(c).sum()
    return total


def compare(
    table: Table, name: str, data: Split, C: float, gamma: float, targets: tuple[float, float], predict: float = 0.0
) -> None:
    """One problem: our fits and the others', their ratios, objectives and errors."""
    X, y, X_test, y_test = (part.astype(np.float64) if part.dtype.kind == "f" else part for part in data)
    kernel = RBF(length_scale=float(np.sqrt(0.5 / gamma)))
    machines = [SVC(C=C, kernel=kernel), LibSVC(C=C, gamma=gamma, cache_size=2000)]
    machines += [] if IntelSVC is None else [IntelSVC(C=C, gamma=gamma, cache_size=2000)]
    repeats, rounds = ([5, 5, 5], 15) if len(y) <= 1000 else ([2, 2, 2], 3) if len(y) <= 7500 else ([3, 1, 3], 1)
    fits = [lambda machine=machine: machine.fit(X, y) for machine in machines]
    if svmutil is not None:
        fits, repeats = [*fits, LibSVM(X, y, C, gamma).fit], [*repeats[: len(machines)], repeats[1]]
    (ours, theirs, *more), models = seconds_of(fits, repeats, rounds)
    model, other, last = models[0], models[1], models[-1]
    objectives = dual_objective(model, X, y, gamma), dual_objective(other, X, y, gamma)
    excess = (objectives[0] - objectives[1]) / abs(objectives[1])
    errors = f"errors {1 - model.score(X_test, y_test):.4f} {1 - other.score(X_test, y_test):.4f}"
    note = f"{ours:.3g} s; violation {model.certificate_.residual:.1e}, {errors}"
    table.row(f"{name}: against scikit-learn", theirs / ours, ">=", targets[0], note=note)
    table.row(f"{name}: objective above LIBSVM's, relative", excess, "<=", 1e-6, "", f"{objectives[0]:.6f}")
    if IntelSVC is not None:
        table.row(f"{name}: against scikit-learn-intelex", more[0] / ours, ">=", targets[1])
    if svmutil is not None:
        note = f"objective {dual_objective(last, X, last.y, gamma):.6f}"
        table.row(f"{name}: against LIBSVM itself", more[-1] / ours, ">=", 1, note=note)
    if predict:
        predictions = [lambda: model.predict(X_test), lambda: other.predict(X_test)]
        (mine, theirs), _ = seconds_of(predictions, [3, 1], 1)
        table.row(f"{name}: prediction against scikit-learn", theirs / mine, ">=", predict, note=f"{mine:.3g} s")


def main(only: list[str]) -> None:
    print_versions()
    table = Table()
    jobs: list[tuple[str, Callable[[], None]]] = [
        ("a9a", lambda: compare(table, "a9a C=1", stored("a9a", 32_561, 123), 1.0, 0.05, (30, 3.5), 10)),
        ("covtype", lambda: compare(table, "covtype C=1", covtype(), 1.0, 0.1, (10, 3))),
        ("covtype", lambda: compare(table, "covtype C=100", covtype(), 100.0, 0.1, (5, 4))),
        *(
            (
                "generated",
                lambda C=C, t=t, s=s: compare(
                    table, f"20,000 {FORM[s]} C={C}", generated(20_000, 20, 2, s), C, 0.05, t
                ),
            )
            for s in (True, False)
            for C, t in ((1.0, (10, 4)), (100.0, (6, 6)))
        ),
        ("usps", lambda: compare(table, "usps", stored("usps", 7291, 256, 10, 1e3), 10.0, 1 / 128, (3.5, 7))),
        ("mnist", lambda: compare(table, "mnist", stored("mnist", 10_000, 784, 10, 255.0), 10.0, 0.02, (7, 7))),
        (
            "pendigits",
            lambda: compare(table, "pendigits", stored("pendigits", 7494, 16, 10, 100.0), 10.0, 1.0, (1, 1)),
        ),
        ("w8a", lambda: compare(table, "20,000 rows of w8a", in_parts("w8a_train", 20_000, 300), 1.0, 0.05, (1, 1))),
        ("splice", lambda: compare(table, "splice", splice(), 10.0, 0.02, (1, 1))),
        *(
            (
                "small",
                lambda n=n, C=C, s=s: compare(table, f"{n} {FORM[s]} C={C}", generated(n, 20, 2, s), C, 0.05, (4, 3)),
            )
            for s in (True, False)
            for n in (300, 1000, 3000, 6000)
            for C in (1.0, 100.0)
        ),
    ]
    for name, job in jobs:
        if not only or name in only:
            job()
    table.end()


if __name__ == "__main__":
    main(sys.argv[1:])
