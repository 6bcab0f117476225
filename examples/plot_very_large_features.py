"""How do 300,000 rows with 309 million features each fit on a laptop?

The kernel (1 + <x, y>)^5 is the inner product of all monomials of x and y up to degree 5, each with a weight. In the
small example, 12 columns have 6,188 monomials, few enough to write out explicitly: ridge regression on them and on the
kernel give the same function, up to rounding. With 127 columns there are 309,319,296 of them. For 300,000 rows they
would fill 371 terabytes; the kernel never forms them.

    python examples/plot_very_large_features.py flights WAY FILE

fits the large one to all flights from New York in 2013, where FILE is nycflights13.npz with arrays X, y and names:
carrier, origin and destination as 123 indicators, and day of the year, day of the week, hour and distance. WAY is
"exact", "nystroem" (5,000 landmarks) or "sketch" (4,096 features of a tensor sketch).
"""

import sys
import time
from itertools import combinations_with_replacement
from math import comb, factorial
from resource import RUSAGE_SELF, getrusage

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import normalize

from representer import KernelRidge, Nystroem, RandomFeatures
from representer.kernels import Normalized, Polynomial

DEGREE = 5


def monomials(X):
    """All monomials up to the degree, with weights that make their inner product (1 + <x, y>)^degree."""
    ones = np.column_stack([np.ones(len(X)), X])  # homogeneous: a one may stand for each factor that is missing
    columns = []
    for choice in combinations_with_replacement(range(ones.shape[1]), DEGREE):
        repeats = np.bincount(choice)
        weight = factorial(DEGREE) / np.prod([factorial(n) for n in repeats])
        columns.append(np.sqrt(weight) * ones[:, choice].prod(axis=1))
    return np.column_stack(columns)


def flights(file):
    """Training set of 300,000 rows, and test set: inputs, and arrival delays in minutes."""
    with np.load(file) as data:
        table, y = dict(zip(data["names"].tolist(), data["X"].T, strict=True)), data["y"].astype(float)
    numbers = np.column_stack([table[name] for name in ("yday", "dow", "sched_dep_min", "distance")])
    numbers = 0.5 * (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    codes = [table[name].astype(int) for name in ("dest_id", "carrier_id", "origin_id")]
    X = np.column_stack([numbers, *(np.eye(code.max() + 1)[code] for code in codes)]).astype(np.float32)
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[:300_000], order[300_000:]
    # rows of the same destination side by side: most indicators are zero in a whole tile of the matrix, and left out
    train = train[np.lexsort([code[train] for code in reversed(codes)])]
    return X[train], y[train], X[test], y[test]


def very_large(way, file, rows=300_000):
    X, y, X_test, y_test = flights(file)
    some = np.sort(np.random.default_rng(1).permutation(len(X))[:rows])
    X, y = X[some], y[some]
    print(f"{len(X):,} rows, {X.shape[1]} columns, {comb(X.shape[1] + DEGREE, DEGREE):,} monomials, {way}")
    kernel = Normalized(Polynomial(DEGREE, offset=1.0))
    if way == "nystroem":
        kernel = Nystroem(kernel, len(X) // 60)
    if way == "sketch":  # the same kernel is <u, v>^5 of rows u = (1, x) of length one
        X, X_test = (normalize(np.column_stack([np.ones(len(Z), Z.dtype), Z])) for Z in (X, X_test))
        kernel = RandomFeatures(Polynomial(DEGREE, offset=0.0), 4096)
    start = time.perf_counter()
    solver = "normal_equations" if way == "sketch" else "auto"
    options = {"fit_intercept": True, "tol": 1e-5, "memory": 2 * 10**9, "solver": solver, "verbose": 1}
    model = KernelRidge(1e-3 * len(X), kernel=kernel, **options)
    model.fit(X, y)
    seconds, memory = time.perf_counter() - start, getrusage(RUSAGE_SELF).ru_maxrss / 1e6
    score = model.score(X_test, y_test)
    print(f"{seconds:.0f} s, {memory:.1f} GB, R^2 = {score:.4f} on {len(X_test):,} others")
    print(model.certificate_)


if "flights" in sys.argv:
    very_large(sys.argv[2], sys.argv[3], *map(int, sys.argv[4:]))
    sys.exit()

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(300, 12))
y = np.sin(X.sum(axis=1)) + X[:, 0] * X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=300)
phi = monomials(X)
assert phi.shape[1] == comb(12 + DEGREE, DEGREE) == 6188

model = KernelRidge(1.0, kernel=Polynomial(DEGREE, offset=1.0)).fit(X[:200], y[:200])
# the same in 6,188 dimensions: w minimises |y - phi w|^2 + |w|^2
U, s, V = np.linalg.svd(phi[:200], full_matrices=False)
w = V.T @ (s / (s**2 + 1.0) * (U.T @ y[:200]))
explicit, implicit = phi[200:] @ w, model.predict(X[200:])
difference = np.abs(explicit - implicit).max() / np.abs(explicit).max()
assert difference < 1e-8, difference

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
left.plot(explicit, implicit, ".")
left.plot([-2, 2], [-2, 2], "k:", zorder=0)
left.set(title=f"12 columns, 6,188 monomials: equal to {difference:.0e}", xlabel="explicit features", ylabel="kernel")
degrees = np.arange(1, 8)
for columns in (12, 127):
    terabytes = [4e-12 * 300_000 * comb(columns + int(d), int(d)) for d in degrees]
    right.semilogy(degrees, terabytes, "o-", label=f"features of {columns} columns")
right.axhline(4e-12 * 300_000 * 127, color="k", linestyle=":", label="what the kernel sees")
right.set(title="300,000 rows in float32", xlabel="degree", ylabel="terabytes")
right.legend()
plt.show()
