"""The search for hyper-parameters: bounds, priors, starts, and L-BFGS on logarithms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, minimize
from sklearn.utils import check_random_state

from representer.estimators.base import warn_user
from representer.estimators.progress import Step
from representer.kernels.base import Kernel

IMPOSSIBLE = 1e100
"""Objective where hyper-parameters have no value; finite, so that a line search can step back."""

BISECTIONS = 10
"""Halvings of the distance from the start to a bound that a kernel refuses."""
MEMORY_OF_LBFGS = 20
"""Correction pairs kept: with a dozen hyper-parameters, 20 take a quarter fewer evaluations than 10."""
STOPPED_EARLY = "scale inputs and targets to variance one, give bounds= that leave out extremes, or a larger max_iter=."
"""What to try when L-BFGS stopped early."""

Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]


def negative(function: Objective) -> Objective:
    """Minus a function and its gradient, with a finite value where the function has none."""

    def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
        try:
            value, gradient = function(theta)
        except np.linalg.LinAlgError:
            return IMPOSSIBLE, np.zeros_like(theta)
        good = np.isfinite(value) and np.all(np.isfinite(gradient))
        return (-value, -gradient) if good else (IMPOSSIBLE, np.zeros_like(theta))

    return objective


@dataclass(frozen=True)
class Search:
    """How the hyper-parameters were found; one value of the objective for each start."""

    names: list[str]
    theta: np.ndarray
    bounds: np.ndarray
    values: list[float]
    message: str
    success: bool
    evaluations: int
    iterations: int = 0
    """Of L-BFGS, from all starts."""

    def advice(self) -> list[str]:
        """What to try, given hyper-parameters at their bounds and how the search ended."""
        advice = []
        for name in self.at_bounds:
            if "length_scale[" in name and "upper" in name:
                advice.append(f"{name} grew to its bound: the column may not matter; leave it out, or widen bounds=.")
            elif name == "noise (lower)":
                advice.append("the noise fell to its bound: the data look noise-free; fix noise= at a small variance.")
            else:
                advice.append(f"widen bounds= of {name}, or fix it.")
        if len(self.values) == 1 and self.evaluations > 1:
            advice.append("other starts with n_restarts=5, as the objective may have several maxima.")
        if not self.success:
            advice.append(STOPPED_EARLY)
        return advice

    def warn(self, given: dict | None = None) -> None:
        """Warn if the search stopped early or ended at a bound; ``given`` are the user's bounds.

        Two default bounds are findings rather than problems: a length scale at its upper bound means that its column
        does not matter, and noise at its lower bound that there is none.
        """
        if not self.success:
            warn_user(f"The search for hyper-parameters stopped early ({self.message}); {STOPPED_EARLY}")
        known = {*(given or {})}
        found = [n for n in self.at_bounds if n == "noise (lower)" or ("length_scale[" in n and "upper" in n)]
        found = [name for name in found if not known & {name.split(" ")[0], name.split("[")[0]}]
        if names := [name for name in self.at_bounds if name not in found]:
            warn_user(
                f"The search for hyper-parameters ended at a bound of {', '.join(names)}; widen bounds=, or fix it."
            )

    @property
    def at_bounds(self) -> list[str]:
        """Names of hyper-parameters that stopped at a bound, with the side."""
        free = self.bounds[:, 0] < self.bounds[:, 1] if self.evaluations else np.zeros(len(self.names), bool)
        low, high = (free & np.isclose(self.theta, side) for side in self.bounds.T)
        return [f"{n} ({'lower' if a else 'upper'})" for n, a, b in zip(self.names, low, high, strict=True) if a or b]


def log_bounds(names: list[str], start: np.ndarray, variance: float, given: dict | None) -> np.ndarray:
    """Lower and upper bounds of theta: as given, or a factor of 1,000 either way from the start.

    Amplitudes may also take the units of the targets, whose ``variance`` is given, and the noise lies between 1e-6 and
    10 times that variance.
    """
    wide, given = np.log(1000.0), _by_name(given, "bounds", "pairs (low, high)")
    bounds = np.stack([start - wide, start + wide], axis=1)
    for i, name in enumerate(names):
        if is_amplitude(name):
            bounds[i] = min(bounds[i, 0], np.log(1e-3 * variance)), max(bounds[i, 1], np.log(1e3 * variance))
        if name == "noise":
            bounds[i] = np.log([1e-6 * variance, 10.0 * variance])
        key = name if name in given else name.split("[")[0]
        if key in given:
            bounds[i] = np.log(_pair(key, given[key]))
    unknown = set(given) - {name.split("[")[0] for name in names} - set(names)
    if unknown:
        raise ValueError(f"There is no hyper-parameter {sorted(unknown)[0]!r} to bound; there are {', '.join(names)}.")
    return bounds


def accepted(bounds: np.ndarray, start: np.ndarray, kernel_at: Callable[[np.ndarray], Kernel], X: Any) -> np.ndarray:
    """The bounds, narrowed to values that the kernel accepts: some hyper-parameters have a largest one.

    A bound that is refused for these inputs X is moved towards the start by bisection.
    """

    def accepts(theta: np.ndarray) -> bool:
        try:
            kernel_at(theta).prepare(X)
        except ValueError:
            return False
        return True

    bounds, start = bounds.copy(), np.clip(start, *bounds.T)
    for side in (0, 1):
        if accepts(bounds[:, side]):
            continue
        for i in range(len(start)):
            theta, inside, outside = start.copy(), start[i], bounds[i, side]
            theta[i] = outside
            if accepts(theta):
                continue
            for _ in range(BISECTIONS):
                theta[i] = 0.5 * (inside + outside)
                inside, outside = (theta[i], outside) if accepts(theta) else (inside, theta[i])
            bounds[i, side] = inside
    return bounds


def _by_name(given: Any, option: str, values: str) -> dict:
    """The option as a dictionary, empty for None."""
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f"{option} is {given!r}; give a dictionary from names of hyper-parameters to {values}.")
    return dict(given or {})


def _pair(name: str, value: Any) -> np.ndarray:
    pair = np.asarray(value, dtype=object)
    if pair.shape != (2,) or not all(isinstance(p, Real) for p in pair) or not 0 < pair[0] <= pair[1] < np.inf:
        raise ValueError(f"The bounds of {name} are {value!r}; give two positive numbers (low, high).")
    return pair.astype(np.float64)


def is_amplitude(name: str) -> bool:
    """Whether a hyper-parameter multiplies kernel values, and so has the units of y squared."""
    return name.split("__")[-1] in ("factor", "value")


def check_priors(names: list[str], priors: dict | None, start: np.ndarray) -> None:
    """Raise if a prior is for no hyper-parameter, has no logpdf, or has zero density at the start."""
    known = set(names) | {name.split("[")[0] for name in names}
    for name, prior in _by_name(priors, "priors", "distributions with a logpdf").items():
        if name not in known:
            raise ValueError(f"There is no hyper-parameter {name!r} for a prior; there are {', '.join(names)}.")
        if not hasattr(prior, "logpdf"):
            raise TypeError(f"The prior of {name} is {prior!r}; give a distribution with a logpdf, as in scipy.stats.")
    if not np.isfinite(log_prior(names, priors, start)[0]):
        raise ValueError(
            "A prior has zero density where the search starts; start inside its support, by the kernel's own values, "
            "or use a prior that is positive everywhere."
        )


def log_prior(names: list[str], priors: dict | None, theta: np.ndarray) -> tuple[float, np.ndarray]:
    """The sum of log prior densities of the values exp(theta), and its gradient by central differences in theta."""
    total, gradient, step = 0.0, np.zeros_like(theta), 1e-5
    for i, name in enumerate(names):
        prior = (priors or {}).get(name, (priors or {}).get(name.split("[")[0]))
        if prior is not None:
            here, low, high = map(float, prior.logpdf(np.exp(theta[i] + np.array([0.0, -step, step]))))
            slope = high - low if np.isfinite(high) and np.isfinite(low) else 0.0
            total, gradient[i] = total + here, slope / (2.0 * step)
    return total, gradient


def inside(theta: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """theta moved to just inside its bounds, as the support of a prior may end there."""
    margin = 1e-9 * (bounds[:, 1] - bounds[:, 0])
    return np.clip(theta, bounds[:, 0] + margin, bounds[:, 1] - margin)


def starts(
    objective: Objective,
    names: list[str],
    start: np.ndarray,
    bounds: np.ndarray,
    variance: float,
    n_restarts: int,
    rng: np.random.RandomState,
) -> list[np.ndarray]:
    """The start as given, or with amplitudes in units of y where that is better, then random ones within the bounds."""
    scaled = start + np.log(variance) * np.array([is_amplitude(name) for name in names])
    first = best_of(objective, [start, np.clip(scaled, *bounds.T)])
    return [first] + [rng.uniform(*bounds.T) for _ in range(n_restarts)]


def best_of(objective: Objective, candidates: list[np.ndarray]) -> np.ndarray:
    """The candidate with the smallest objective, the first among ties; duplicates are evaluated once."""
    different = [theta for i, theta in enumerate(candidates) if not any(np.all(theta == c) for c in candidates[:i])]
    return different[0] if len(different) == 1 else min(different, key=lambda theta: objective(theta)[0])


def lbfgs(objective: Objective, start: np.ndarray, bounds: Any, step: Step = lambda: False, **options: Any) -> Any:
    """A minimum by L-BFGS within bounds; ``step`` is called after each iteration and may stop it."""

    def after(_: np.ndarray) -> None:
        if step():
            raise StopIteration

    return minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, callback=after, options=options)


def by_slopes(objective: Objective, start: np.ndarray) -> Objective:
    """x -> f(start) + (g(x) + g(start))'(x - start) / 2, which is f near the start without its rounding, and g(x).

    Covariances with tiny noise leave f fewer digits than its gradient g, so that line searches on f stop too early.
    """
    value, slopes = objective(start)

    def near(x: np.ndarray) -> tuple[float, np.ndarray]:
        own, there = objective(x)
        return (own if own >= IMPOSSIBLE else value + 0.5 * float((there + slopes) @ (x - start))), there

    return near


@dataclass(frozen=True)
class Guide:
    """Options of a search, and what is known before it."""

    variance: float = 1.0
    """Variance of the targets."""
    n_restarts: int = 0
    random_state: Any = None
    max_iter: int = 1000
    """Iterations from each start."""
    step: Callable[[float], bool] = lambda value: False
    """Called with the highest value after each iteration; returns whether to stop."""
    units: np.ndarray | None = None
    """Inverse of how far each entry of theta moves before the objective changes much; 1 when not given."""
    others: tuple[np.ndarray, ...] = ()
    """Candidates for the first start besides the given one."""


def maximum(
    function: Objective, names: list[str], start: np.ndarray, bounds: np.ndarray, guide: Guide | None = None
) -> Search:
    """The highest of the maxima that L-BFGS finds from each of the `starts`."""
    guide, evaluations = guide or Guide(), 0
    negated = negative(function)

    def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal evaluations
        evaluations += 1
        return negated(theta)

    rng = check_random_state(guide.random_state)
    at = starts(objective, names, start, bounds, guide.variance, guide.n_restarts, rng)
    # other candidates have their amplitudes in the units of y, too, if the first one has
    scaled = at[0] - start
    at[0] = best_of(objective, [at[0], *(np.clip(other + scaled, *bounds.T) for other in guide.others)])
    return replace(minimum(objective, names, at, bounds, guide), evaluations=evaluations)


def minimum(
    objective: Objective, names: list[str], at: list[np.ndarray], bounds: np.ndarray, guide: Guide | None = None
) -> Search:
    """The lowest of the minima that L-BFGS finds from each start; the record holds the negated objectives."""
    guide = guide or Guide()
    runs = [_run(objective, start, bounds, guide) for start in at]
    best = min(runs, key=lambda run: run.fun)
    if best.fun >= IMPOSSIBLE:
        raise np.linalg.LinAlgError(
            "No hyper-parameters with a positive definite covariance were found; use more noise."
        )
    values = [-float(run.fun) for run in runs]
    evaluations = sum(run.nfev for run in runs)
    iterations = sum(run.nit for run in runs)
    return Search(names, best.x, bounds, values, str(best.message), bool(best.success), evaluations, iterations)


def _run(objective: Objective, start: np.ndarray, bounds: np.ndarray, guide: Guide) -> Any:
    """L-BFGS on the free entries, rescaled by `Guide.units`: it takes many more steps otherwise."""
    free = bounds[:, 0] < bounds[:, 1]
    units = np.ones(len(start)) if guide.units is None else guide.units

    def inside(moved: np.ndarray) -> np.ndarray:
        theta = np.where(free, start, bounds[:, 0])
        theta[free] = moved / units[free]
        return theta

    def reduced(moved: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = objective(inside(moved))
        values.append(value)
        return value, (gradient / units)[free]

    def step() -> bool:
        return guide.step(-min(values))

    values: list[float] = []

    if not free.any():
        value = objective(theta := inside(np.empty(0)))[0]
        return OptimizeResult(x=theta, fun=value, message="nothing is free to move", success=True, nfev=1, nit=0)
    box = bounds[free] * units[free, None]
    at = np.clip(start[free] * units[free], *box.T)
    run = lbfgs(reduced, at, box, step, maxiter=guide.max_iter, maxcor=MEMORY_OF_LBFGS)
    run.x = np.clip(inside(run.x), *bounds.T)
    return run
