"""Budget, plan, certificate and result of a fit, and the one function that certifies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from representer.gram import through_features

Progress = Callable[[str, float], Any]
"""Called after each step with the current phase and the error so far (residual, gap or violation); true stops."""


class Stopping:
    """A `Progress` that goes on asking to stop once its callback has: solves that consist of several end at once."""

    def __init__(self, progress: Progress | None):
        self.progress, self.stopped = progress, False

    def __call__(self, what: str, error: float) -> bool:
        self.stopped = self.stopped or (self.progress is not None and bool(self.progress(what, error)))
        return self.stopped


@dataclass(frozen=True)
class Budget:
    """The resources a solver may use, and the accuracy it must reach."""

    memory: int
    """Bytes."""
    tol: float = 1e-6
    max_iter: int = 1000
    threads: int | None = None
    random_state: Any = 0
    progress: Any = None
    """A `Progress`, or None."""


@dataclass(frozen=True)
class Plan:
    """The solver that a fit will use, why, and its cost."""

    solver: str
    why: str
    """Why this solver."""
    bytes: int
    kernel_evaluations: int
    seconds: float = 0.0
    """A rough estimate, on two cores of a laptop."""
    refusal: str = ""
    """Why the fit would be refused, and what to do instead; empty if it would not be."""
    form: str = ""
    """How the kernel matrix is held, where that depends on the memory."""
    error: type[Exception] = MemoryError
    """The exception that a refused fit raises; not a MemoryError where more memory would not help."""
    passes: int = 0
    """Number of passes over all rows, where they are read in blocks."""

    @property
    def reason(self) -> str:
        """Why this solver, and how it holds the kernel matrix."""
        return f"{self.why}, {self.form}" if self.form else self.why

    def __str__(self) -> str:
        text = (
            f"{self.solver}, because {self.reason}: about {self.bytes / 1e6:.4g} MB, {self.kernel_evaluations:.3g} "
            f"kernel values and {self.seconds:.2g} s{f' in {self.passes} passes' if self.passes else ''}."
        )
        return f"{text} It would be refused: {self.refusal}" if self.refusal else text

    def within(self, memory: int, way_out: str) -> Plan:
        """The same plan, refused if it takes more than these bytes."""
        if self.bytes <= memory or self.refusal:
            return self
        return replace(
            self,
            refusal=f"A fit by {self.solver} needs {self.bytes / 1e9:.3g} GB, above the budget of {memory / 1e9:.3g} "
            f"GB; {way_out}.",
        )

    def require(self) -> None:
        """Raise if the fit would be refused."""
        if self.refusal:
            raise self.error(self.refusal)


def plan_of_products(what: str, gram: Any, more: int, products: int) -> Plan:
    """The plan of ``products`` products with K, which is stored if it takes at most a quarter of the memory."""
    n, size, fewer = len(gram), len(gram) ** 2 * gram.dtype.itemsize, through_features.are_fewer(gram)
    stored = size <= gram.memory // 4 and not fewer
    reason = "the kernel matrix fits the memory" if stored else "the kernel matrix is computed anew in each product"
    values = n * (n + 1) // 2 * (1 if stored else products)
    seconds = 2e-9 * values + 1e-10 * n * n * products
    if fewer:
        values = 2 * n * int(through_features.numbers_in_a_row(gram.kernel, gram.column_inputs) or 1) * products
        reason, seconds = "products go through the features of the kernel", 1e-9 * values
    plan = Plan(what, reason, size * stored + gram.nbytes + more, values, seconds)
    return plan.within(gram.memory, "use fewer rows, or a larger memory=")


@dataclass(frozen=True)
class Work:
    """What a solver did: the part of a certificate that needs no verification."""

    solver: str
    reason: str
    iterations: int
    bytes: int
    seconds: float
    precision: str
    passes: int = 0
    """Number of passes over all rows, where they were read in blocks."""


@dataclass(frozen=True)
class Certificate:
    """How accurate a fit is, how it was found, and what it cost.

    The fitted f and the exact minimiser f* differ by at most ``error_bound * sqrt(k(x, x))`` at any x, up to the
    intercept; the bound is infinite where none is known.
    """

    solver: str
    reason: str
    converged: bool
    """Whether all residuals are within the tolerance."""
    residuals: np.ndarray
    """The quantities compared with the tolerance, computed from the returned coefficients.

    Products are float64, or the error of float32 ones is included, as `precision` says.
    For a linear system |y - (K + alpha I) coef| / |y| for each target. For eigenpairs |A u - lambda u| / lambda_1 for
    each. For support vector machines the KKT violation for each pair of classes. For other losses the duality gap,
    relative to the objective, or without convexity the remaining gradient.
    """
    measure: str
    """What the residuals are, in words."""
    tolerance: float
    error_bound: Any
    iterations: int
    kernel_evaluations: int
    bytes: int
    seconds: float
    precision: str
    passes: int = 0
    """Number of passes over all rows, where they were read in blocks."""
    primal: float | None = None
    """The objective at the returned coefficients, except where a linear system was solved."""
    dual: float | None = None
    """A lower bound on the objective over all functions; over the span only, where the kernel is an approximation."""
    approximation: Any = None
    """How far the kernel is from the one it approximates, an `Approximation`; None where the kernel is exact."""

    @property
    def residual(self) -> float:
        """The largest of the residuals."""
        return float(np.max(self.residuals, initial=0.0))

    @property
    def gap(self) -> float | None:
        """primal - dual: the objective is at most this much above its minimum."""
        return None if self.primal is None or self.dual is None else self.primal - self.dual

    def __str__(self) -> str:
        verdict = "converged" if self.converged else "NOT converged"
        bound = np.max(self.error_bound, initial=0.0)
        if self.measure == "KKT violation" and self.gap is not None:
            verdict += f" with a duality gap of {self.gap:.2g} below {self.primal:.4g}"
            if not self.gap <= abs(self.primal or 0.0):
                verdict += ", no digit of which survives rounding"
        return (
            f"{verdict}: {self.measure} {self.residual:.2g} (tolerance {self.tolerance:.2g}) by {self.solver} in "
            f"{self.iterations} iterations and {self.seconds:.3g} s, {self.kernel_evaluations:.3g} kernel values, "
            f"{self.bytes / 1e6:.4g} MB, {self.precision}. Chosen because {self.reason}."
            + (f" |f - f*|(x) <= {bound:.2g} sqrt(k(x, x))." if 0.0 < bound < np.inf else "")
            + (f" Approximation: {self.approximation}." if self.approximation is not None else "")
        )


@dataclass(frozen=True)
class Result:
    """Coefficients of the representers, intercepts, and the certificate of both."""

    coef: np.ndarray
    intercept: np.ndarray
    certificate: Certificate
    eigenvalues: np.ndarray | None = None
    """Of an eigenproblem, whose eigenvectors are the coefficients."""
    trace: float | None = None
    """The sum of all eigenvalues of an eigenproblem."""
    applied: np.ndarray | None = None
    """K coef in float64, where the solver has computed it."""
    strength: float | None = None
    """The effective strength R'(||f||) / ||f|| of a regulariser; infinite for f = 0."""
    residual: np.ndarray | None = None
    """D (y - b) - (D K D + alpha I) z of a ridge problem in float64, where the solver has computed it."""
    warm_start: Any = None
    """A warm start for a similar problem."""
    n_iter: int = 0
    """Iterations limited by ``max_iter``, where the certificate counts others as well."""


def certify(problem: Any, coef: np.ndarray, intercept: np.ndarray, work: Work, tol: float, **known: Any) -> Certificate:
    """The certificate of these coefficients, judged by their problem.

    ``known`` is what the solver has already computed for the judgement, such as a dual point or a float64 product.
    """
    return certificate_of([problem.judge(coef, intercept, **known)], work, tol, problem.gram.evaluations)


def certificate_of(judgements: Sequence[Any], work: Work, tol: float, evaluations: int) -> Certificate:
    """One certificate for the parts of a fit, such as all pairs of classes: bounds side by side, objectives summed.

    Parts are judgements, which only problems make, or certificates of them. All certificates are built here.
    """
    residuals = np.concatenate([j.residuals for j in judgements])
    primals, duals = [j.primal for j in judgements], [j.dual for j in judgements]
    return Certificate(
        **vars(work),
        converged=bool(np.all(residuals <= tol)),
        residuals=residuals,
        measure=judgements[0].measure,
        tolerance=tol,
        error_bound=np.concatenate([np.atleast_1d(j.error_bound) for j in judgements]),
        kernel_evaluations=evaluations,
        primal=None if None in primals else sum(primals),
        dual=None if None in duals else sum(duals),
    )
