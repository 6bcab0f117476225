"""How fast are the marginal likelihood and its gradient, and how accurate are fitted processes?

    python benchmarks/gp/run.py [data] [coverage] [variances] [search] [likelihoods]

Arguments select parts: accuracy on several data sets, coverage of 95 % prediction intervals on the regression sets,
times of variances below and above 8,000 rows, evaluations of the search on the Mauna Loa carbon dioxide data, and
likelihoods; all parts by default. One length scale per column, float64, kin8nm where the data are available and
Friedman's function otherwise. Ratios of two things timed in one run; GPyTorch (exact, with Cholesky) is included where
it is installed.
"""

from __future__ import annotations

import importlib.util
import sys
import tracemalloc
import warnings
from functools import partial
from pathlib import Path
from time import process_time

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor as Other
from sklearn.gaussian_process.kernels import RBF as OtherRBF
from sklearn.gaussian_process.kernels import ConstantKernel, ExpSineSquared, WhiteKernel
from sklearn.gaussian_process.kernels import RationalQuadratic as OtherRationalQuadratic

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import (
    DATA_SETS,
    Table,
    data_file,
    friedman,
    held_out,
    load,
    median_seconds,
    print_versions,
    relative_error,
    seconds_of,
)

from representer import GaussianProcessRegressor
from representer.kernels import RBF, Matern, Periodic, RationalQuadratic
from representer.processes.likelihood import Value, log_marginal_likelihood

NOISE = 0.1
COVERED = "concrete", "energy", "airfoil", "bike_hourly", "power", "kin8nm", "naval", "wine_red", "sml", "yacht"


def own_value(X: np.ndarray, y: np.ndarray) -> Value:
    """Likelihood and gradient."""
    kernel = 1.0 * RBF(length_scale=np.full(X.shape[1], 2.0))
    return log_marginal_likelihood(kernel, kernel.prepare(X), y[:, None], np.full(len(y), NOISE))


def gpytorch_seconds(X: np.ndarray, y: np.ndarray) -> float:
    """GPyTorch's exact marginal likelihood with Cholesky, forward and backward."""
    import gpytorch
    import torch

    A, b = torch.from_numpy(X), torch.from_numpy(y)
    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()

    class Model(gpytorch.models.ExactGP):
        def __init__(self) -> None:
            super().__init__(A, b, likelihood)
            self.mean_module = gpytorch.means.ZeroMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=A.shape[1]))

        def forward(self, x: torch.Tensor) -> object:
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    model = Model().double()
    model.train()
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)

    def step() -> None:
        with gpytorch.settings.fast_computations(log_prob=False, covar_root_decomposition=False, solves=False):
            loss = -objective(model(A), b)
            loss.backward()

    return median_seconds(step, 3)


def likelihoods(table: Table, X: np.ndarray, y: np.ndarray) -> None:
    """Value and gradient at n = 2,000 and 5,000."""
    for n in (2000, 5000):
        A, b = X[:n], y[:n]
        own = median_seconds(lambda A=A, b=b: own_value(A, b), 3)
        kernel = ConstantKernel(1.0) * OtherRBF(np.full(A.shape[1], 2.0)) + WhiteKernel(NOISE)
        other = Other(kernel, optimizer=None).fit(A[:50], b[:50])
        other.X_train_, other.y_train_ = A, b
        both = partial(other.log_marginal_likelihood, other.kernel_.theta, eval_gradient=True)
        theirs = median_seconds(both, 1)
        value, gradient = both()
        table.row(f"n = {n}: scikit-learn / own", theirs / own, ">=", 3.5, note=f"{own:.2f} s")
        if importlib.util.find_spec("gpytorch"):
            table.row(f"n = {n}: GPyTorch with Cholesky / own", gpytorch_seconds(A, b) / own, ">=", 2.5)
        mine = own_value(A, b)
        found = np.concatenate([[mine.gradients["factor"]], 2.0 * mine.gradients["kernel__length_scale"]])
        table.row(f"n = {n}: relative difference of values", abs(mine.value - value) / abs(value), "<=", 1e-8, "")
        error = np.abs(found - gradient[:-1]).max() / np.abs(gradient).max()
        table.row(f"n = {n}: relative difference of gradients", error, "<=", 1e-8, "")
    tracemalloc.start()
    own_value(A, b)
    peak = tracemalloc.get_traced_memory()[1] / (8 * n * n)
    tracemalloc.stop()
    table.row("n = 5000: peak memory in units of n^2 doubles", peak, "<=", 3, "")


def data_sets(table: Table, rows: int = 600, all_rows: int = 7_000) -> None:
    """Accuracy, likelihood and time of fitted processes on several data sets, one length scale per column.

    Few rows for both libraries, because scikit-learn holds n x n x columns numbers for its gradient, then all rows.
    """
    for name in DATA_SETS:
        X, y, new, truth = held_out(name)
        A, b, scales = X[:rows], y[:rows], np.full(X.shape[1], np.sqrt(X.shape[1]))
        wide = {"length_scale_bounds": (1e-3 * scales[0], 1e3 * scales[0])}
        kernel = ConstantKernel(1.0, (1e-3, 1e3)) * OtherRBF(scales, **wide) + WhiteKernel(0.1, (1e-6, 10.0))
        other, own = Other(kernel), GaussianProcessRegressor(1.0 * RBF(scales))
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # of scikit-learn: length scales of columns that do not matter at their bounds
            theirs = seconds_of(lambda other=other, A=A, b=b: other.fit(A, b))
        seconds = seconds_of(lambda own=own, A=A, b=b: own.fit(A, b))
        error, theirs_error = relative_error(own, new, truth), relative_error(other, new, truth)
        values = own.log_marginal_likelihood_, other.log_marginal_likelihood_value_
        print(f"       {name}, {rows} rows, RMSE / sd: scikit-learn {theirs_error:.4f} in {theirs:.1f} s")
        print(f"       own {error:.4f} in {seconds:.1f} s, {own.certificate_}")
        table.row(f"{name}: test error, own / scikit-learn", error / theirs_error, "<=", 1.05)
        table.row(f"{name}: log likelihood per row, scikit-learn - own", (values[1] - values[0]) / rows, "<=", 0.01, "")
        table.row(f"{name}: seconds, scikit-learn / own", theirs / seconds, ">=", 2)
        everything = GaussianProcessRegressor(1.0 * RBF(scales), solver="conjugate_gradient")
        seconds = seconds_of(lambda e=everything, X=X, y=y: e.fit(X[:all_rows], y[:all_rows]))
        error_all = relative_error(everything, new, truth)
        print(f"       on {min(all_rows, len(X))} rows {error_all:.4f} in {seconds:.1f} s, {everything.certificate_}")
        table.row(f"{name}: test error, all rows / {rows} rows", error_all / error, "<=", 1.0)


def coverage(table: Table, rows: int = 1200) -> None:
    """The part of new measurements that is within bands of 95 %, one length scale per column."""
    for name in COVERED:
        found = load(name)
        if found is None:
            print(f"       {name} is not in the data folder")
            continue
        X, y = found
        n = min(rows, 4 * len(y) // 5)
        gp = GaussianProcessRegressor(1.0 * Matern(np.full(X.shape[1], np.sqrt(X.shape[1])), nu=1.5))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # of columns that do not matter
            gp.fit(X[:n], y[:n])
        new = slice(n, n + 3000)
        mean, std = gp.predict(X[new], return_std=True, noise=True)
        inside, error = np.mean(np.abs(y[new] - mean) <= 1.96 * std), relative_error(gp, X[new], y[new])
        table.row(f"{name}: part within 95 % bands", inside, ">=", 0.9, "", note=f"{n} rows, RMSE / sd {error:.3f}")
        table.row(f"{name}: part within 95 % bands", inside, "<=", 0.98, "")


def variances(table: Table, points: int = 1000) -> None:
    """CPU seconds of variances at the same number of points, beyond 8,000 rows and below."""
    X, y = load("kin40k") or friedman(20_000)
    new, seconds = X[-points:], {}
    for n in (7900, 8500, 14_000):
        gp = GaussianProcessRegressor(RBF(2.0), noise=0.05, optimizer=None).fit(X[:n], y[:n])
        gp.predict(new[:10], return_std=True)
        begin = process_time()
        gp.predict(new, return_std=True)
        seconds[n] = process_time() - begin
        low, high = gp.variance_bounds(new[:64])
        note = f"{seconds[n]:.2f} s of CPU, {gp.certificate_.precision}, bounds within {np.max(high / low - 1.0):.1e}"
        table.row(f"variances of {points} points, {n} / 7900 rows", seconds[n] / seconds[7900], "<=", 2, note=note)


def mauna_loa() -> tuple[np.ndarray, np.ndarray]:
    """Monthly means, as in scikit-learn's example; a series like it where the data are not at hand."""
    file = data_file("co2_weekly")
    if file is None:
        x = np.arange(0.0, 40.0, 1 / 12)
        y = 0.012 * x**2 + 0.8 * x + 3.0 * np.sin(2 * np.pi * x) + 0.2 * np.random.default_rng(0).normal(size=len(x))
        return x[:, None], y - y.mean()
    with np.load(file) as data:
        month = np.floor(12 * data["X"].ravel() + 1e-9)
        months = np.unique(month)
        y = np.array([data["y"][month == m].mean() for m in months])
    return (months / 12)[:, None], y - y.mean()


def search(table: Table) -> None:
    """Evaluations to the optimum with the kernel of scikit-learn's example, its period held as there, and free."""
    X, y = mauna_loa()
    season = ExpSineSquared(1.0, 1.0, periodicity_bounds="fixed")
    theirs = 50.0**2 * OtherRBF(50.0) + 2.0**2 * OtherRBF(100.0) * season + 0.5**2 * OtherRationalQuadratic(1.0)
    other = Other(theirs + 0.1**2 * OtherRBF(0.1) + WhiteKernel(0.1**2, (1e-5, 1e5)))
    calls, real = [], Other.log_marginal_likelihood
    Other.log_marginal_likelihood = lambda *args, **options: calls.append(1) or real(*args, **options)
    other.fit(X, y)
    Other.log_marginal_likelihood = real
    kernel = 50.0**2 * RBF(50.0) + 2.0**2 * RBF(100.0) * Periodic(1.0, 1.0) + 0.5**2 * RationalQuadratic(1.0)
    held = {"left__left__right__right__period": (1.0, 1.0)}
    for what, bounds, most in (("held", held, 1.0), ("free", None, 1.1)):
        gp = GaussianProcessRegressor(kernel + 0.1**2 * RBF(0.1), bounds=bounds).fit(X, y)
        lost = other.log_marginal_likelihood_value_ - gp.log_marginal_likelihood_
        note = f"{gp.search_.evaluations} against {len(calls)}"
        ratio = gp.search_.evaluations / len(calls)
        table.row(f"Mauna Loa, period {what}: evaluations, own / scikit-learn", ratio, "<=", most, note=note)
        table.row(f"Mauna Loa, period {what}: log likelihood, scikit-learn - own", lost, "<=", 0.01, "")


PARTS = {
    "data": data_sets,
    "coverage": coverage,
    "variances": variances,
    "search": search,
    "likelihoods": lambda table: likelihoods(table, *(load("kin8nm") or friedman(8192))),
}

if __name__ == "__main__":
    print_versions()
    table = Table()
    GaussianProcessRegressor(noise=0.1).fit(np.eye(30), np.sin(np.arange(30.0)))  # loads compiled code
    for part in sys.argv[1:] or PARTS:
        PARTS[part](table)
    table.end()
