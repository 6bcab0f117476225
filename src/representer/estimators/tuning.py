"""The kernel and alpha of least leave-one-out error of ridge regression, by L-BFGS on their logarithms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from representer.estimators.base import warn_user
from representer.estimators.hyperparameter_search import IMPOSSIBLE, Search, check_priors, lbfgs, log_bounds, log_prior
from representer.estimators.hyperparameters import LogParameters
from representer.estimators.progress import Step
from representer.gram.tiled import Gram
from representer.kernels.base import Kernel
from representer.losses.base import Loss
from representer.losses.huber import Huber
from representer.problems.ridge import RidgeProblem
from representer.solvers.leave_one_out import loo_error

OUTLYING = 4.0
"""Robust deviations at which targets end where extremes are not to decide."""
ALPHAS = 1e-10, 1e6
"""Where alpha is searched unless bounds are given."""


def robust(targets: np.ndarray) -> tuple[np.ndarray, Huber]:
    """Targets without extremes, and a loss that counts errors beyond a deviation by their size, not by their square.

    The deviation is that of a normal law with their median absolute deviation; targets end at four of them. A corrupt
    one would spoil its neighbours' predictions, too, whatever they are compared by.
    """
    middle = np.median(targets, axis=0)
    size = 1.4826 * np.median(np.abs(targets - middle), axis=0)
    size = np.where(size > 0.0, size, targets.std(axis=0))
    return np.clip(targets, middle - OUTLYING * size, middle + OUTLYING * size), Huber(float(size.mean()) or 1.0)


@dataclass(frozen=True)
class Tuning:
    """minimise over theta:  log of the mean leave-one-out loss + shrink / n sum_j (r_j - their mean)^2 - log prior / n.

    theta are the logarithms of the kernel's hyper-parameters and of alpha, and r_j = log l_j - log s_j those of the
    length scales of columns relative to where they start: shrinking keeps the ratios of the s_j.

    Parameters
    ----------
    X : inputs of the kernel
    targets : array of shape (n, n_targets)
    weights : array of shape (n,) or None
        None of them zero.
    intercept : bool
    loss : Loss, optional
        The squared error when not given.
    shrink : float
        Infinite for length scales of columns that keep their ratios.
    bounds : dict, optional
        Pairs (low, high) by name of the hyper-parameter; "alpha" is one of them.
    fixed : names of hyper-parameters that stay as they are
    priors : dict, optional
        Distributions with a ``logpdf`` by name.
    max_iter : int
    threads : int, optional
    """

    X: Any
    targets: np.ndarray
    weights: np.ndarray | None = None
    intercept: bool = False
    loss: Loss | None = None
    shrink: float = 0.0
    bounds: dict | None = None
    fixed: Sequence[str] = ()
    priors: dict | None = None
    max_iter: int = 100
    tol: float = 1e-9
    """Gain of a step, as a part of the objective, below which the search ends."""
    threads: int | None = None

    def problem(self, kernel: Kernel, alpha: float) -> RidgeProblem:
        """The ridge problem of one kernel and alpha."""
        gram = Gram(kernel, self.X, threads=self.threads)
        return RidgeProblem(gram, self.targets, np.full(self.targets.shape[1], alpha), self.weights, self.intercept)

    def run(self, kernel: Kernel, alpha: float, step: Step = lambda: False) -> Tuned:
        """From a kernel all of whose hyper-parameters have values."""
        parameters = LogParameters(kernel, kernel.prepare(self.X))
        names = [*parameters.names, "alpha"]
        start = np.append(parameters.start, np.log(np.clip(alpha, *ALPHAS)))
        check_priors(names, self.priors, start)
        bounds = self._bounds(names, start, kernel)
        scales = np.array([name.split("[")[0].endswith("length_scale") and "[" in name for name in names])
        free = np.flatnonzero(bounds[:, 0] < bounds[:, 1])
        shrunk = np.intersect1d(np.flatnonzero(scales), free)
        tied = np.flatnonzero(scales[free]) if self.shrink == np.inf else np.empty(0, int)
        Z = np.eye(len(free))  # theta[free] = start + Z z
        if len(tied) > 1:
            Z[tied, tied[0]] = 1.0
            Z = np.delete(Z, tied[1:], axis=1)

        def objective(z: np.ndarray) -> tuple[float, np.ndarray]:
            theta = start.copy()
            theta[free] += Z @ z
            value, gradient = self._value(theta, parameters)
            errors.append(value)
            value, gradient = self._with_prior(theta, names, value, gradient)
            if 0.0 < self.shrink < np.inf and len(shrunk):
                off = (theta - start)[shrunk] - (theta - start)[shrunk].mean()
                value += self.shrink / len(self.targets) * float(off @ off)
                gradient[shrunk] += 2.0 * self.shrink / len(self.targets) * off
            values.append(value)
            return value, Z.T @ gradient[free]

        values: list[float] = []
        errors: list[float] = []
        ends = [(bounds[free] - start[free, None])[Z[:, i] > 0] for i in range(Z.shape[1])]
        box = [(rows[:, 0].max(), rows[:, 1].min()) for rows in ends]
        found = lbfgs(objective, np.zeros(Z.shape[1]), box, step, maxiter=self.max_iter, ftol=self.tol, gtol=1e-5)
        theta = start.copy()
        theta[free] += Z @ found.x
        search = Search(names, theta, bounds, [-float(found.fun)], str(found.message), bool(found.success), found.nfev)
        kernel, alpha = parameters.kernel_at(theta[:-1]), float(np.exp(theta[-1]))
        error = float(np.exp(min(errors[int(np.argmin(values))], 700.0)))
        return Tuned(kernel, alpha, float(found.fun), values[0], error, search)

    def _bounds(self, names: list[str], start: np.ndarray, kernel: Kernel) -> np.ndarray:
        given = dict(self.bounds or {})
        bounds = log_bounds(names, start, 1.0, {"alpha": ALPHAS} | given)
        known = {*names, *(name.split("[")[0] for name in names), *kernel.get_params()}
        for name in self.fixed:
            if name not in known:
                raise ValueError(f"There is no hyper-parameter {name!r} to fix; there are {', '.join(names)}.")
        for i, name in enumerate(names):
            if name in self.fixed or name.split("[")[0] in self.fixed:
                bounds[i] = start[i]
        return bounds

    def _value(self, theta: np.ndarray, parameters: LogParameters) -> tuple[float, np.ndarray]:
        kernel, alpha = parameters.kernel_at(theta[:-1]), float(np.exp(theta[-1]))
        try:
            value, gradients, by_alpha = loo_error(self.problem(kernel, alpha), self.loss)
        except np.linalg.LinAlgError:
            return IMPOSSIBLE, np.zeros_like(theta)
        gradient = np.append(parameters.gradient(theta[:-1], gradients), alpha * by_alpha)
        if not value > 0 or not np.all(np.isfinite(gradient)):
            return IMPOSSIBLE, np.zeros_like(theta)
        return float(np.log(value)), gradient / value

    def _with_prior(
        self, theta: np.ndarray, names: list[str], value: float, gradient: np.ndarray
    ) -> tuple[float, np.ndarray]:
        if not self.priors or value >= IMPOSSIBLE:
            return value, gradient
        prior, slopes = log_prior(names, self.priors, theta)
        if not np.isfinite(prior):
            return IMPOSSIBLE, np.zeros_like(theta)
        return value - prior / len(self.targets), gradient - slopes / len(self.targets)

    def on(self, rows: np.ndarray, X: Any) -> Tuning:
        """The same on some rows of the inputs, which are given."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, X=X, targets=self.targets[rows], weights=weights)


@dataclass(frozen=True)
class Tuned:
    """A kernel and alpha, and the objective that they have."""

    kernel: Kernel
    alpha: float
    objective: float
    at_start: float
    """The objective where the search began."""
    error: float
    """The mean leave-one-out loss, without penalty and prior."""
    search: Search

    def warn(self, given: dict | None) -> None:
        """Warn of hyper-parameters that ended at a bound, of which some are given.

        A length scale of a column that grew as far as the search goes says that the column does not matter.
        """
        known = {*(given or {})}
        grown = [name for name in self.search.at_bounds if "length_scale[" in name and "upper" in name]
        idle = [name for name in grown if not known & {name.split(" ")[0], name.split("[")[0]}]
        if names := [name for name in self.search.at_bounds if name not in idle]:
            warn_user(
                f"The search for hyper-parameters ended at a bound of {', '.join(names)}; widen bounds=, or fix them."
            )
