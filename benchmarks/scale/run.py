"""How fast are fits in the span of a basis, how exact, and how much memory do they take?

    python benchmarks/scale/run.py [quick] [features] [ridge] [machine]

Friedman's function of ten columns in float32. The floor of a ridge fit is one float32 product psi' psi of that size and
filling all values once, timed in the same run. scikit-learn's Nystroem and RBFSampler with Ridge run next to ours.
``quick`` takes a tenth of the rows; names of parts run these parts alone.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from sklearn.kernel_approximation import Nystroem as OtherNystroem
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import Table, friedman, in_new_process, load, print_versions, relative_error, seconds_of

from representer import (
    KernelKMeans,
    KernelLogisticRegression,
    KernelPCA,
    KernelRidge,
    Nystroem,
    RandomFeatures,
    landmarks,
)
from representer.gram.design import SLAB_ROWS, Design
from representer.kernels import RBF

SCALE = 3.0
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
KernelRidge({alpha}, kernel={kernel}).fit(X, y)"""
THEIRS = """from sklearn.kernel_approximation import *
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
make_pipeline({kernel}, Ridge(1.0, fit_intercept=False)).fit(X, y)"""


def floor_seconds(X: np.ndarray, m: int) -> float:
    """A float32 product of columns of n x m values, and filling these once, by blocks of rows."""
    block = np.random.default_rng(0).normal(size=(SLAB_ROWS, m)).astype(np.float32)
    some = max(len(X) // 10, 2 * SLAB_ROWS)
    product = seconds_of(lambda: [block.T @ block for _ in range(some // SLAB_ROWS)]) * len(X) / some / 2.0
    basis = Nystroem(RBF(SCALE), landmarks=X[:m]).basis(X)
    design = Design(basis)
    fill = seconds_of(lambda: [None for _ in design.strips(X[:some], lambda _, V: None)]) * len(X) / some
    return product + fill


def ridge(table: Table, tenth: int) -> None:
    """Paths of alphas, and scikit-learn's pipeline."""
    X, y = friedman(1_000_000 // tenth)
    X, alphas = X.astype(np.float32), np.logspace(-6, 2, 30)
    kernel = Nystroem(RBF(SCALE), 2000)
    KernelRidge(1.0, kernel=Nystroem(RBF(SCALE), 100)).fit(X[:10_000], y[:10_000])  # compiles
    floor = floor_seconds(X, 2000)
    start = time.perf_counter()
    model = KernelRidge(alphas, kernel=kernel).fit(X, y)
    seconds = time.perf_counter() - start
    note = f"{seconds:.0f} s, floor {floor:.0f} s, residual {model.certificate_.residual:.1g}, alpha {model.alpha_:.2g}"
    table.row(
        f"Nystrom ridge, {len(X):,} x 10, m = 2,000, 30 alphas, over floor", seconds / floor, "<=", 1.5, "x", note
    )
    fit = OURS.format(alpha="np.logspace(-6, 2, 30)", kernel=f"Nystroem(RBF({SCALE}), 2000)")
    used = in_new_process(MEMORY.format(n=len(X), fit=fit))
    table.row("the same, peak memory beyond the data", used / 1000, "<=", 1.0, "GB")

    n = 200_000 // tenth
    X, y = friedman(n + 20_000)
    X = X.astype(np.float32)
    train, test = (X[20_000:], y[20_000:]), (X[:20_000], y[:20_000])
    gamma = 0.5 / SCALE**2
    for name, ours, theirs in (
        ("Nystroem", Nystroem(RBF(SCALE), 1000), OtherNystroem(gamma=gamma, n_components=1000, random_state=0)),
        (
            "RandomFeatures",
            RandomFeatures(RBF(SCALE), 1024),
            RBFSampler(gamma=gamma, n_components=1024, random_state=0),
        ),
    ):
        mine, other = KernelRidge(1.0, kernel=ours), make_pipeline(theirs, Ridge(1.0, fit_intercept=False))
        seconds = [seconds_of(lambda model=model: model.fit(*train)) for model in (mine, other, mine, other)]
        errors = [relative_error(model, *test) for model in (mine, other)]
        least = 4.0 if name == "Nystroem" else 1.5
        ratio = (seconds[1] + seconds[3]) / (seconds[0] + seconds[2])
        table.row(f"{name}, {n:,} x 10, scikit-learn's time over ours", ratio, ">=", least, "x", f"{seconds[0]:.2f} s")
        table.row(f"{name}, error over scikit-learn's", errors[0] / errors[1], "<=", 1.0 if least == 4.0 else 1.02)
        printed = "Nystroem(RBF({s}), 1000)" if least == 4.0 else "RandomFeatures(RBF({s}), 1024)"
        their = "Nystroem(gamma={g}, n_components=1000)" if least == 4.0 else "RBFSampler(gamma={g}, n_components=1024)"
        memory = [
            in_new_process(MEMORY.format(n=n, fit=text))
            for text in (
                OURS.format(alpha=1.0, kernel=printed.format(s=SCALE)),
                THEIRS.format(kernel=their.format(g=gamma)),
            )
        ]
        table.row(f"{name}, memory over scikit-learn's", memory[0] / memory[1], "<=", 0.25, "x", f"{memory[0]:.0f} MB")


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


def machine(table: Table, tenth: int) -> None:
    """Logistic regression, components and clusters."""
    X, y = friedman(1_000_000 // tenth)
    X = X.astype(np.float32)
    model = KernelLogisticRegression(kernel=Nystroem(RBF(SCALE), 500))
    seconds = seconds_of(lambda: model.fit(X, y > 0))
    certificate = model.certificate_
    note = f"{seconds:.0f} s, gap {certificate.residual:.1g}"
    table.row(f"logistic, {len(X):,} rows, m = 500, passes", certificate.passes, "<=", 20, "", note)
    X = X[: 20_000 // tenth]
    exact = KernelPCA(20, kernel=RBF(SCALE)).fit(X)
    spanned = KernelPCA(20, kernel=Nystroem(RBF(SCALE), 1000 // tenth)).fit(X)
    worst = float(np.abs(spanned.eigenvalues_ / exact.eigenvalues_ - 1.0).max())
    table.row(f"KernelPCA, {len(X):,} rows, 20 eigenvalues, worst error", 100 * worst, "<=", 1.0, "%")
    inertia = [
        KernelKMeans(8, kernel=kernel, random_state=0, n_init=1).fit(X[:5000]).inertia_
        for kernel in (Nystroem(RBF(SCALE), 1000 // tenth), RBF(SCALE))
    ]
    table.row(
        "KernelKMeans, inertia over the exact one, error", 100 * abs(inertia[0] / inertia[1] - 1.0), "<=", 1.0, "%"
    )


def main() -> None:
    """All parts, or those that are named."""
    tenth = 10 if "quick" in sys.argv else 1
    wanted = [part for part in (features, ridge, machine) if part.__name__ in sys.argv] or [features, ridge, machine]
    print_versions()
    table = Table()
    for part in wanted:
        part(table, tenth)
    table.end()


if __name__ == "__main__":
    main()
