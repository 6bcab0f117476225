"""How fast are the marginal likelihood and its gradient, and how good are fitted processes?

    python benchmarks/gp/run.py [data]

``data`` leaves out all but accuracy on several data sets. One length scale per column, float64, kin8nm where the data
are at hand and Friedman's function otherwise. Ratios of two things timed in one run; GPyTorch (exact, with Cholesky)
takes part where it is installed.
"""

from __future__ import annotations

import importlib.util
import sys
import tracemalloc
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor as Other
from sklearn.gaussian_process.kernels import RBF as OtherRBF
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import (
    DATA_SETS,
    Table,
    friedman,
    held_out,
    load,
    median_seconds,
    print_versions,
    relative_error,
    seconds_of,
)

from representer import GaussianProcessRegressor
from representer.kernels import RBF
from representer.processes.likelihood import Value, log_marginal_likelihood

NOISE = 0.1


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


if __name__ == "__main__":
    print_versions()
    table = Table()
    GaussianProcessRegressor().fit(np.eye(30), np.arange(30.0))  # loads compiled code
    data_sets(table)
    if "data" not in sys.argv:
        likelihoods(table, *(load("kin8nm") or friedman(8192)))
    table.end()
