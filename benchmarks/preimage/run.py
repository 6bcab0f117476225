"""How well and how fast do pre-images denoise digits?

    python benchmarks/preimage/run.py [n_train]

Digits of the US postal service (16 x 16, grey values from -1 to 1) where the data are available, otherwise
scikit-learn's 8 x 8 digits scaled to the same range. Gaussian noise of standard deviation 0.5 is added to N_TEST of the
test digits (more would only take time, most of it in the L-BFGS of "gradient"). They are projected onto the first 256
kernel principal components (64 for the small digits) of clean training digits, and the pre-image of the projection is
compared with the clean digit. All methods, and scikit-learn's KernelPCA(fit_inverse_transform=True), share training
digits, noise, components and the RBF kernel, whose squared length scale is the total variance of the digits times
WIDTH. scikit-learn's ridge strength is the best of ALPHAS on the test digits themselves, which favours it.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from scipy.linalg import eigh
from sklearn.datasets import load_digits
from sklearn.decomposition import KernelPCA

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import Table, data_file, print_versions

from representer import Function, preimage
from representer.kernels import RBF

NOISE = 0.5
WIDTH = 1.0
ALPHAS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
METHODS = ("fixed_point", "gradient", "distances", "learned", "auto")
N_TEST = 1000


def digits(n_train: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Training digits, test digits and the number of components."""
    if (file := data_file("usps")) is not None:
        with np.load(file) as data:
            train, test = data["X_train"] / 1000.0, data["X_test"] / 1000.0
        components = 256
    else:
        X = load_digits().data / 8.0 - 1.0
        train, test, components = X[:1200], X[1200:], 64
    some = np.random.default_rng(0).permutation(len(train))[:n_train]
    return train[some], test[:N_TEST], components


def projections(kernel: RBF, X: np.ndarray, noisy: np.ndarray, components: int) -> Function:
    """The noisy inputs projected onto the mean and the first principal components of centred kernel PCA."""
    n = len(X)
    K = kernel(X)
    means = K.mean(axis=0)
    values, vectors = eigh(K - means - means[:, None] + K.mean(), subset_by_index=[n - components, n - 1])
    vectors /= np.sqrt(values)
    scores = (kernel(noisy, X) - means) @ (vectors - vectors.mean(axis=0))
    coef = vectors @ scores.T
    return Function(kernel, X, coef - coef.mean(axis=0) + 1.0 / n)


def error(found: np.ndarray, clean: np.ndarray) -> float:
    return float(((found - clean) ** 2).mean())


def scikit_learn(X: np.ndarray, noisy: np.ndarray, clean: np.ndarray, scale: float, components: int) -> tuple:
    """The lowest error over ALPHAS, and the seconds of one fit of the inverse map and of inverse_transform."""
    model = KernelPCA(components, kernel="rbf", gamma=0.5 / scale**2, eigen_solver="arpack", random_state=0)
    scores, results = model.fit(X).transform(X), []
    model.fit_inverse_transform = True
    for alpha in ALPHAS:
        start = time.perf_counter()
        model.alpha = alpha
        model._fit_inverse_transform(scores, X)  # timed apart from the eigenvectors, which all methods need
        found = model.inverse_transform(model.transform(noisy))
        results.append((error(found, clean), time.perf_counter() - start, alpha))
    return min(results)


if __name__ == "__main__":
    print_versions()
    X, clean, components = digits(int(sys.argv[1]) if len(sys.argv) > 1 else 3000)
    noisy = clean + NOISE * np.random.default_rng(1).normal(size=clean.shape)
    scale = float(np.sqrt(WIDTH * X.var(axis=0).sum()))
    theirs, seconds, alpha = scikit_learn(X, noisy, clean, scale, components)
    print(f"{len(X)} training and {len(clean)} test digits, {components} components, RBF({scale:.3g}), noise {NOISE}")
    print(f"mean squared errors: noisy {error(noisy, clean):.4f}, scikit-learn {theirs:.4f} (alpha {alpha:g})")
    f = projections(RBF(scale), X, noisy, components)
    preimage(Function(f.kernel, X[:20], f.coef[:20, :2]))  # compile
    print(f"scikit-learn takes {seconds:.2f} s for its inverse map and the test digits\n")
    table, errors = Table(), {}
    for method in METHODS:
        start = time.perf_counter()
        found = preimage(f, method)
        own = time.perf_counter() - start
        errors[method] = error(found.x, clean)
        note = f"mse {errors[method]:.4f}, {own:.2f} s, mean distance {found.distance.mean():.4f}"
        table.row(f"{method}: error / scikit-learn's", errors[method] / theirs, "<=", 1.0, note=note)
    table.row("best method: error / scikit-learn's", min(errors.values()) / theirs, "<=", 0.9)
    table.end()
