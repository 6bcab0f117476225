"""Which posterior a Gaussian process uses, and its cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from representer.estimators.inputs import evenly_spaced, take
from representer.kernels import checks
from representer.kernels.base import Kernel
from representer.processes.gaussian import doubled
from representer.processes.posterior import CorrectedPosterior, ExactPosterior, IterativePosterior
from representer.processes.single_precision import SinglePosterior
from representer.result import Plan
from representer.solvers.cholesky import FACTOR_SECONDS
from representer.solvers.conjugate_gradient import PRODUCTS_SECONDS
from representer.solvers.memory import bytes_of_gradients, bytes_of_tiles, working_memory

CHOLESKY_UP_TO = 8000
"""Inputs up to which the posterior uses a float64 factor, and hyper-parameters are found on all of them."""
SINGLE_UP_TO = 20_000
"""Inputs up to which the posterior uses a float32 factor where that fits the memory."""
SEARCH_ROWS = 2000
"""Inputs on which hyper-parameters are found beyond CHOLESKY_UP_TO."""
SAMPLE_ROWS = 1000
"""Inputs on which the precision of a float32 factor is tried before it is computed on all of them."""
GRADIENT_SECONDS = 1.5e-11
"""Seconds / n^3 of the objective with its gradient: a factorisation, its inverse, and products of both."""
SINGLE = "with a float32 factor, which variances use, too; float64 where that is not precise enough"
WAYS_OUT = {
    "cholesky": "solver='conjugate_gradient', fewer inputs, or a larger memory=",
    "conjugate_gradient": "fewer inputs, or a larger memory=",
}


@dataclass(frozen=True)
class Asked:
    """The computations that the options of an estimator request."""

    solver: str
    evaluations: int
    """Approximate number of evaluations of the objective."""
    matrices: int
    """Number of n x n matrices that an evaluation holds at once."""
    memory: int
    tol: float
    threads: int | None

    @property
    def search_rows(self) -> int:
        """Number of inputs for the search, such that it takes at most half of the memory."""
        return int(np.clip(np.sqrt(self.memory / (16 * self.matrices)), 2, SEARCH_ROWS))

    def tiles(self, n: int) -> int:
        """Bytes of tiles in flight."""
        return bytes_of_gradients(n, n, self.threads) if self.evaluations else bytes_of_tiles(n, self.threads)

    def seconds(self, n: int) -> float:
        """Seconds for a factorisation, and for all evaluations of the objective with its gradient."""
        return GRADIENT_SECONDS * n**3 * (0.2 + self.evaluations) + 1e-8 * n * n * (1 + self.evaluations)


def plan(n: int, targets: int, inputs: int, asked: Asked) -> Plan:
    """The cheapest solver that fits, or the one requested; ``inputs`` are the bytes of the inputs."""
    free, memory, rows = asked.solver == "auto", asked.memory, min(n, asked.search_rows)
    size, seconds = inputs + 8 * asked.matrices * n * n + asked.tiles(n), asked.seconds(n)
    why = f"n is at most {CHOLESKY_UP_TO:,}" if free else "it was asked for"
    if asked.solver == "cholesky" or (free and n <= CHOLESKY_UP_TO and size <= memory):
        return Plan("cholesky", why, size, n * (n + 1) * (1 + asked.evaluations), seconds)
    size, values = SinglePosterior.cost(n, targets)
    size, values = inputs + max(size, 8 * asked.matrices * rows**2), values + asked.evaluations * rows**2
    if free and CHOLESKY_UP_TO < n <= SINGLE_UP_TO and size <= memory // 2:
        seconds = FACTOR_SECONDS * n**3 + 1e-8 * n * n + asked.seconds(rows)
        size = max(size, inputs + 8 * n * n) if fits_double(n, memory) else size  # `posterior` may take float64
        return Plan("cholesky", f"n is at most {SINGLE_UP_TO:,}", size, values, seconds, form=SINGLE)
    if free:
        why = "n is large" if n > CHOLESKY_UP_TO else "an n x n matrix is above the budget"
    size, values = IterativePosterior.cost(n, targets, working_memory(memory))
    size, values = inputs + max(size, 8 * asked.matrices * rows**2), values + asked.evaluations * rows**2
    return Plan("conjugate_gradient", why, size, values, PRODUCTS_SECONDS * n * n + asked.seconds(rows))


def fits_double(n: int, memory: int) -> bool:
    """Whether a float64 factor may replace one in float32."""
    return 8 * n * n <= memory // 2


def is_direct(plan: Plan) -> bool:
    """Whether the plan is a float64 factor."""
    return plan.solver == "cholesky" and plan.form != SINGLE


def posterior(kernel: Kernel, X: Any, noise: Any, plan: Plan, asked: Asked) -> ExactPosterior | CorrectedPosterior:
    """The posterior as planned.

    Where float32 is not precise enough, it uses a float64 factor, if that fits half of the memory; otherwise a
    corrected float32 factor if the corrections converge, or else conjugate gradients.
    """
    noise = np.broadcast_to(np.asarray(noise, np.float64), checks.number_of(X))
    options: Any = {"tol": asked.tol, "threads": asked.threads}
    memory, fits = working_memory(asked.memory), fits_double(len(noise), asked.memory)
    if plan.form == SINGLE and noise.min() > 0 and not (fits and _is_imprecise(kernel, X, noise, options)):
        single = SinglePosterior(kernel, X, noise, memory=memory, **options)
        if single.precise or (single.usable and not fits):
            return single
        del single  # before another matrix is allocated
    if is_direct(plan) or (plan.form == SINGLE and fits):
        return ExactPosterior(kernel, doubled(X), noise, **options)
    return IterativePosterior(kernel, X, noise, memory=memory, **options)


def _is_imprecise(kernel: Kernel, X: Any, noise: np.ndarray, options: dict[str, Any]) -> bool:
    """Whether some of the inputs show that a float32 factor of all of them would not be precise enough.

    Its relative error in variances grows with the square root of the number of inputs: variances fall as their inverse,
    rounding errors as that of its root.
    """
    some = evenly_spaced(len(noise), SAMPLE_ROWS)
    sample = SinglePosterior(kernel, take(X, some, kernel), noise[some], **options)
    return sample.imprecision * np.sqrt(len(noise) / len(some)) > 1.0


def advice_on(factor: Any) -> list[str]:
    """What to try where the factor, if there is one, shows that the matrix is singular or nearly so."""
    if factor and factor.jitter > 0:
        return ["the matrix was singular to rounding and got jitter: use more noise, or remove repeated inputs."]
    return ["the matrix is ill-conditioned: use more noise."] if factor and factor.condition > 1e12 else []
