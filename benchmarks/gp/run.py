"""How fast are the marginal likelihood and its gradient?

    python benchmarks/gp/run.py

One length scale per column, float64, kin8nm where the data are at hand and Friedman's function otherwise. Ratios of two
things timed in one run; GPyTorch (exact, with Cholesky) takes part where it is installed.
"""

from __future__ import annotations

import importlib.util
import sys
import tracemalloc
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor as Other
from sklearn.gaussian_process.kernels import RBF as OtherRBF
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import Table, friedman, load, median_seconds, print_versions

from representer.kernels import RBF
from representer.solvers.likelihood import Value, log_marginal_likelihood

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


if __name__ == "__main__":
    print_versions()
    X, y = load("kin8nm") or friedman(8192)
    table = Table()
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
    table.row("n = 5000: peak memory in units of n^2 doubles", peak, "<=", 3, "")
    table.end()
