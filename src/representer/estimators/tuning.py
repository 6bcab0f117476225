"""Kernel and regularisation strength that minimise the leave-one-out loss, by L-BFGS on their logarithms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from representer.estimators.base import warn_user
from representer.estimators.criteria import Average
from representer.estimators.hyperparameter_search import (
    IMPOSSIBLE,
    Objective,
    Search,
    accepted,
    check_priors,
    lbfgs,
    log_bounds,
    log_prior,
)
from representer.estimators.hyperparameters import LogParameters
from representer.estimators.progress import Step
from representer.kernels.base import Kernel

SEARCHED_STRENGTHS = {"alpha": (1e-10, 1e6), "strength": (1e-10, 1e6), "C": (1e-6, 1e10)}
"""Default bounds of alpha and C."""
FIRST_SUBSET, LAST_SUBSET = 500, 2000
"""Rows of the first subset, and of the last; each has twice as many as the one before."""
BLOCK_ROWS, MOST_BLOCKS = 1000, 20
"""Rows per block in the last stage on larger sets, and the largest number of blocks used."""
FEW_STEPS = 8
"""Iterations of a search that is warm-started from another one."""
FIRST_STEP = 0.5
"""Length of the first step in the logarithm of the hyper-parameter with the steepest slope."""


@dataclass(frozen=True)
class Tuning:
    """minimise over theta:  criterion(theta) + shrink / n sum_j (r_j - their mean)^2 - log prior / n.

    theta are the logarithms of the kernel's hyper-parameters and of the strength of the regulariser, and
    r_j = log l_j - log s_j those of the per-column length scales relative to usual ones: shrinkage is towards the
    ratios of the s_j.

    Parameters
    ----------
    criterion : Criterion
        Such as the logarithm of the mean leave-one-out loss.
    shrink : float
        Infinite for per-column length scales that keep their initial ratios.
    usual : Kernel, optional
        With the length scales s_j; the initial kernel when not given.
    groups : array of shape (n_columns,), optional
        Columns of the same group have length scales that keep their ratios, and count as one.
    bounds : dict, optional
        Pairs (low, high) by name of the hyper-parameter; "alpha" or "C" is one of them.
    fixed : names of hyper-parameters that stay as they are
    priors : dict, optional
        Distributions with a ``logpdf`` by name.
    max_iter : int
    """

    criterion: Any
    shrink: float = 0.0
    usual: Kernel | None = None
    groups: np.ndarray | None = None
    bounds: dict | None = None
    fixed: Sequence[str] = ()
    priors: dict | None = None
    max_iter: int = 100
    tol: float = 1e-9
    """Gain of a step, as a fraction of the objective, below which the search has converged."""

    def run(self, kernel: Kernel, strength: float, step: Step = lambda: False) -> Tuned:
        """The search from a kernel with values for all its hyper-parameters, or from the nearest within the bounds."""
        parameters, names, start = self._start(kernel, strength)
        bounds = self._bounds(parameters, names, start)
        start = np.clip(start, *bounds.T)
        check_priors(names, self.priors, start)
        free = np.flatnonzero(bounds[:, 0] < bounds[:, 1])
        Z, shrunk = self._directions([names[i] for i in free])
        usual = start if self.usual is None else self._start(self.usual, strength)[2]
        at_start = (Z.T @ (start - usual)[free] / Z.sum(axis=0))[shrunk]

        def objective(z: np.ndarray) -> tuple[float, np.ndarray]:
            theta = start.copy()
            theta[free] += Z @ z
            value, gradient = self._value(theta, parameters)
            errors.append(value)
            value, gradient = self._with_prior(theta, names, value, gradient)
            slopes = Z.T @ gradient[free]
            if 0.0 < self.shrink < np.inf and len(shrunk):
                off = z[shrunk] + at_start
                off -= off.mean()
                value += self.shrink / self.criterion.n * float(off @ off)
                slopes[shrunk] += 2.0 * self.shrink / self.criterion.n * off
            values.append(value)
            return value, slopes

        values: list[float] = []
        errors: list[float] = []
        ends = [(bounds[free] - start[free, None])[Z[:, i] > 0] for i in range(Z.shape[1])]
        box = np.array([(rows[:, 0].max(), rows[:, 1].min()) for rows in ends]).reshape(-1, 2)
        found = self._minimum(objective, box, step)
        theta = start.copy()
        theta[free] += Z @ found.x
        search = Search(names, theta, bounds, [-float(found.fun)], str(found.message), bool(found.success), found.nfev)
        kernel, strength = parameters.kernel_at(theta[:-1]), float(np.exp(theta[-1]))
        error = float(np.exp(min(errors[int(np.argmin(values))], 700.0)))
        return Tuned(kernel, strength, float(found.fun), values[0], error, search)

    def _minimum(self, objective: Objective, box: np.ndarray, step: Step) -> Any:
        """The minimum by L-BFGS from zero, until two steps in a row gain less than the tolerance.

        The first step goes along the gradient, whose length does not measure the distance to a minimum, so variables
        are scaled: a step of the length of a small gradient would gain nothing, and end the search.
        """
        at_start = objective(np.zeros(len(box)))
        if self.max_iter < 1 or not len(box):  # where L-BFGS would make one step, or fail
            x, why = np.zeros(len(box)), "no step was asked for"
            return OptimizeResult(x=x, fun=at_start[0], message=why, success=not len(box), nfev=1)
        largest_slope = float(np.abs(at_start[1]).max(initial=0.0))
        unit = float(np.sqrt(np.clip(FIRST_STEP / max(largest_slope, 1e-300), 1.0, 1e4)))
        known: list[float] = [at_start[0]]

        def scaled(u: np.ndarray) -> tuple[float, np.ndarray]:
            value, slopes = objective(unit * u) if np.any(u) else at_start
            known[-1] = min(known[-1], value)
            return value, unit * slopes

        def settled() -> bool:
            gains = -np.diff(known[-3:])
            return len(gains) == 2 and bool(gains.max() < self.tol * max(abs(known[-1]), 1.0))

        def stop() -> bool:
            if step() or settled():
                return True
            known.append(known[-1])
            return False

        options = {"maxiter": self.max_iter, "ftol": 0.0, "gtol": 1e-5 * unit}
        found = lbfgs(scaled, np.zeros(len(box)), box / unit, stop, **options)
        found.x, found.success = unit * found.x, found.success or settled()
        return found

    def _directions(self, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Z of theta = start + Z z, with one entry of z for each set of tied parameters, and which of z are shrunk."""
        scales = [name.split("[")[0].endswith("length_scale") and "[" in name for name in names]
        ties = []
        for name, is_scale in zip(names, scales, strict=True):
            family, column = name.split("[")[0], int(name.split("[")[1][:-1]) if is_scale else 0
            if is_scale and self.shrink == np.inf:
                ties.append("all length scales")
            else:
                ties.append(f"{family}, {self.groups[column]}" if is_scale and self.groups is not None else name)
        places = {tie: i for i, tie in enumerate(dict.fromkeys(ties))}
        columns = np.array([places[tie] for tie in ties], int)
        return np.eye(len(places))[columns], np.unique(columns[np.array(scales, bool)])

    def _bounds(self, parameters: LogParameters, names: list[str], start: np.ndarray) -> np.ndarray:
        given = dict(self.bounds or {})
        bounds = log_bounds(names, start, 1.0, {names[-1]: SEARCHED_STRENGTHS[names[-1]]} | given)
        bounds = accepted(bounds, start, lambda theta: parameters.kernel_at(theta[:-1]), self.criterion.X)
        known = {*names, *(name.split("[")[0] for name in names), *parameters.kernel.get_params()}
        for name in self.fixed:
            if name not in known:
                raise ValueError(f"There is no hyper-parameter {name!r} to fix; there are {', '.join(names)}.")
        for i, name in enumerate(names):
            if name in self.fixed or name.split("[")[0] in self.fixed:
                bounds[i] = start[i]
        return bounds

    def _value(self, theta: np.ndarray, parameters: LogParameters) -> tuple[float, np.ndarray]:
        try:
            found = self.criterion(parameters.kernel_at(theta[:-1]), float(np.exp(theta[-1])))
        except np.linalg.LinAlgError:
            return IMPOSSIBLE, np.zeros_like(theta)
        gradient = np.append(parameters.gradient(theta[:-1], found.gradients), found.by_log_strength)
        if not np.isfinite(found.objective) or not np.all(np.isfinite(gradient)):
            return IMPOSSIBLE, np.zeros_like(theta)
        return found.objective, gradient

    def _with_prior(
        self, theta: np.ndarray, names: list[str], value: float, gradient: np.ndarray
    ) -> tuple[float, np.ndarray]:
        if not self.priors or value >= IMPOSSIBLE:
            return value, gradient
        prior, slopes = log_prior(names, self.priors, theta)
        if not np.isfinite(prior):
            return IMPOSSIBLE, np.zeros_like(theta)
        return value - prior / self.criterion.n, gradient - slopes / self.criterion.n

    def on(self, rows: np.ndarray) -> Tuning:
        """The same tuning on a subset of the rows."""
        return replace(self, criterion=self.criterion.on(rows))

    def in_stages(self, kernel: Kernel, strength: float, step: Step = lambda: False) -> Tuned:
        """The search on growing subsets, from 500 rows to all rows, in blocks where there are many of them.

        The last stage decides: where its criterion shows no gain, the start is kept. Subsets and blocks whose targets
        are all the same are left out.
        """
        n, order = self.criterion.n, self.criterion.order(seed=0)
        parameters, names, start = self._start(kernel, strength)
        ends = dict(zip(names, np.exp(self._bounds(parameters, names, start)), strict=True))
        again = replace(self, bounds=ends, max_iter=min(self.max_iter, FEW_STEPS), tol=1e-4)
        rows, found = FIRST_SUBSET, None
        if n <= rows:
            return self.run(kernel, strength, step)
        while rows < min(n, 2 * LAST_SUBSET):
            tuning = (self if found is None else again).on(np.sort(order[:rows]))
            if not tuning.criterion.is_constant:
                found = tuning.run(*_from(found, kernel, strength), step)
            rows *= 2
        blocks = [order] if n <= LAST_SUBSET else np.array_split(order, -(-n // BLOCK_ROWS))[:MOST_BLOCKS]
        last = replace(again, criterion=self._average(blocks))
        found = last.run(*_from(found, kernel, strength), step)
        untuned = replace(last, max_iter=0).run(kernel, strength)
        kept = found if found.objective <= untuned.objective else untuned
        return replace(kept, at_start=untuned.objective, strength=again._for_all_rows(kept, order, step))

    def _average(self, blocks: list[np.ndarray]) -> Average:
        """The mean criterion of those blocks of rows whose targets differ; of the first one where none do."""
        criteria = [self.criterion.on(np.sort(block)) for block in blocks]
        return Average([criterion for criterion in criteria if not criterion.is_constant] or criteria[:1])

    def _for_all_rows(self, found: Tuned, order: np.ndarray, step: Step) -> float:
        """The strength for all rows, from the best ones for a thousand and for two thousand of them.

        See `carried_over`.
        """
        n, pairs = len(order), [order[i * LAST_SUBSET : (i + 1) * LAST_SUBSET] for i in range(2)]
        pairs = [pair for pair in pairs if len(pair) == LAST_SUBSET]
        if n <= LAST_SUBSET or self.criterion.strength in self.fixed or found.objective >= IMPOSSIBLE:
            return found.strength
        only = [*self.fixed, *self._start(found.kernel, found.strength)[1][:-1]]
        larger = self._average(pairs)
        best = replace(self, criterion=larger, fixed=only).run(found.kernel, found.strength, step).strength
        power = -1.0 if self.criterion.strength == "C" else 1.0  # alpha is one over C
        alphas = found.strength**power, best**power
        low, high = self.bounds[self.criterion.strength]  # type: ignore[index]
        return float(np.clip(carried_over(*alphas, LAST_SUBSET / BLOCK_ROWS, n / LAST_SUBSET) ** power, low, high))

    def _start(self, kernel: Kernel, strength: float) -> tuple[LogParameters, list[str], np.ndarray]:
        """Names of all hyper-parameters, and their logarithms."""
        name = self.criterion.strength
        parameters = LogParameters(kernel, kernel.prepare(self.criterion.X))
        start = np.append(parameters.start, np.log(np.clip(strength, *SEARCHED_STRENGTHS[name])))
        return parameters, [*parameters.names, name], start


@dataclass(frozen=True)
class Tuned:
    """A kernel and a strength, and their objective."""

    kernel: Kernel
    strength: float
    objective: float
    at_start: float
    """The objective where the search began."""
    error: float
    """The mean leave-one-out loss, without penalty and prior."""
    search: Search

    def at_bounds(self, given: dict | None = None) -> list[str]:
        """Hyper-parameters that ended at a bound; ``given`` are the user's bounds.

        Without per-column length scales at their default upper bound, which means that the column does not matter.
        """
        known = {*(given or {})}
        grown = [name for name in self.search.at_bounds if "length_scale[" in name and "upper" in name]
        idle = [name for name in grown if not known & {name.split(" ")[0], name.split("[")[0]}]
        return [name for name in self.search.at_bounds if name not in idle]

    def warn(self, given: dict | None) -> None:
        """Warn of hyper-parameters that ended at a bound; ``given`` are the user's bounds."""
        if names := self.at_bounds(given):
            warn_user(
                f"The search for hyper-parameters ended at a bound of {', '.join(names)}; widen bounds=, or fix them."
            )


def carried_over(smaller: float, larger: float, between: float, beyond: float) -> float:
    """The alpha, or 1 / C, for more rows, extrapolated by the power law through the best ones for two numbers of rows.

    The best alpha often grows with the number of rows, by a power of at most one, and it is extrapolated by at most a
    factor of ten. It is not extrapolated downwards: where more rows prefer a smaller alpha than fewer rows, the
    criterion is flat, and a fit to all rows would overfit.

    Parameters
    ----------
    smaller, larger : float
        The best alphas for two numbers of rows.
    between, beyond : float
        Factors from the first to the second number of rows, and from there to all. Where both numbers are equal, no
        power is known, and the second alpha is kept.
    """
    power = np.clip(np.log(larger / smaller) / np.log(between), 0.0, 1.0) if between > 1.0 else 0.0
    return float(larger * min(beyond**power, 10.0))


def _from(found: Tuned | None, kernel: Kernel, strength: float) -> tuple[Kernel, float]:
    """The start of a search: the result of the previous one, if it succeeded."""
    return (kernel, strength) if found is None or found.objective >= IMPOSSIBLE else (found.kernel, found.strength)


def evaluations(n: int) -> tuple[int, int, float]:
    """Rows of the largest matrix of a search in stages, and its approximate kernel values and seconds."""
    rows, steps = min(n, LAST_SUBSET), 25
    blocks = min(-(-n // BLOCK_ROWS), MOST_BLOCKS) if n > LAST_SUBSET else 0
    values = steps * rows**2 + FEW_STEPS * blocks * BLOCK_ROWS**2
    return rows, values, 1.5e-10 * (steps * rows**3 + FEW_STEPS * blocks * BLOCK_ROWS**3)
