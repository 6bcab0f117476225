"""Criteria for tuning hyper-parameters: leave-one-out losses of ridge regression and of kernel machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from representer.estimators.inputs import take
from representer.gram.tiled import Gram
from representer.kernels.base import Gradients, Kernel
from representer.losses.base import Loss
from representer.losses.huber import Huber
from representer.losses.logistic import Logistic
from representer.losses.softened import Softened
from representer.problems.loss import LossProblem
from representer.problems.points import Point
from representer.problems.ridge import RidgeProblem
from representer.regularizers import SquaredNorm
from representer.solvers.leave_one_out import loo_error, predictive_likelihood
from representer.solvers.machine_leave_one_out import machine_loss
from representer.solvers.workspace import Workspace

MIXED_UP_TO = 50
"""Number of different targets up to which they are mixed evenly, as classes are."""
OUTLYING = 4.0
"""Robust standard deviations at which targets are clipped, so that extremes do not dominate."""
MARGIN_WIDTH, RESIDUAL_WIDTH = 0.2, 0.05
"""Smoothing widths of kinks: in margins, and in residuals as a fraction of the targets' robust deviation."""


class Value(NamedTuple):
    """An objective, and its derivatives by hyper-parameters of the kernel and by the logarithm of the strength."""

    objective: float
    gradients: Gradients
    by_log_strength: float


class Criterion(Protocol):
    """What a search minimises over kernels and the strength of the regulariser, on some rows."""

    strength: str
    """Name of the strength: alpha or C."""
    X: Any

    @property
    def n(self) -> int:
        """Number of rows."""

    def __call__(self, kernel: Kernel, strength: float) -> Value:
        """The logarithm of the mean loss, or another objective of order one."""

    @property
    def is_constant(self) -> bool:
        """Whether all targets are the same, so that nothing can be learned."""

    def order(self, seed: int) -> np.ndarray:
        """A random order of the rows, as in `mixed`."""

    def on(self, rows: np.ndarray) -> Any:
        """The same criterion on a subset of the rows."""


def mixed(targets: np.ndarray, seed: int) -> np.ndarray:
    """A random order in which r rows from anywhere hold r n_c / n of the n_c rows of a class, to within one.

    The first r hold no fewer than that: so there is one of the rarest class among them. Targets with many values are
    in plain random order.
    """
    n = len(targets)
    order = np.random.default_rng(seed).permutation(n)
    _, codes, counts = np.unique(targets[order], axis=0, return_inverse=True, return_counts=True)
    if len(counts) > MIXED_UP_TO:
        return order
    codes = codes.ravel()
    ranks = np.empty(n)
    ranks[np.argsort(codes, kind="stable")] = np.arange(n) - np.repeat(np.cumsum(counts) - counts, counts)
    return order[np.argsort(ranks / counts[codes], kind="stable")]


def robust_deviation(targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Medians of columns, and standard deviations from their median absolute deviations, as for normal data."""
    middle = np.median(targets, axis=0)
    size = 1.4826 * np.median(np.abs(targets - middle), axis=0)
    return middle, np.where(size > 0.0, size, targets.std(axis=0))


def robust(targets: np.ndarray) -> tuple[np.ndarray, Huber]:
    """Clipped targets, and a Huber loss that is linear beyond one robust deviation.

    Targets are clipped at four robust deviations: a corrupt one would spoil its neighbours' predictions, too, whatever
    the loss. Several targets are scaled to the same robust deviation, the geometric mean of theirs, as the loss has a
    single width.
    """
    middle, size = robust_deviation(targets)
    size = np.where(size > 0.0, size, 1.0)
    common = float(np.exp(np.log(size).mean())) if len(size) > 1 else float(size[0])
    clipped = np.clip(targets, middle - OUTLYING * size, middle + OUTLYING * size)
    return clipped * (common / size), Huber(common)


@dataclass(frozen=True)
class RidgeErrors:
    """The logarithm of the mean leave-one-out loss of ridge regression, or minus its predictive log likelihood.

    Parameters
    ----------
    X : inputs of the kernel
    targets : array of shape (n, n_targets)
    weights : array of shape (n,) or None
        All nonzero.
    intercept : bool
    loss : Loss, optional
        The squared error when not given.
    likelihood : bool
        Whether targets are judged by their probability given all others, with the amplitude that maximises it.
    precomputed : bool
        Whether X is a kernel matrix.
    threads : int, optional
    """

    X: Any
    targets: np.ndarray
    weights: np.ndarray | None = None
    intercept: bool = False
    loss: Loss | None = None
    likelihood: bool = False
    precomputed: bool = False
    threads: int | None = None
    strength = "alpha"

    @property
    def n(self) -> int:
        return len(self.targets)

    @property
    def is_constant(self) -> bool:
        return not np.any(np.ptp(self.targets, axis=0))

    def order(self, seed: int) -> np.ndarray:
        return mixed(self.targets, seed)

    def problem(self, kernel: Kernel, alpha: float) -> RidgeProblem:
        """The ridge problem of one kernel and alpha."""
        gram = Gram(kernel, self.X, threads=self.threads)
        return RidgeProblem(gram, self.targets, np.full(self.targets.shape[1], alpha), self.weights, self.intercept)

    def __call__(self, kernel: Kernel, strength: float) -> Value:
        problem = self.problem(kernel, strength)
        if self.likelihood:
            value, gradients, by_alpha = predictive_likelihood(problem)
            return Value(-value, {name: -part for name, part in gradients.items()}, -strength * by_alpha)
        value, gradients, by_alpha = loo_error(problem, self.loss)
        return _logarithm(value, gradients, strength * by_alpha)

    def on(self, rows: np.ndarray) -> RidgeErrors:
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, X=taken(self.X, rows, self.precomputed), targets=self.targets[rows], weights=weights)


@dataclass(frozen=True)
class Part:
    """One function of a machine: for a pair of classes, a class against the rest, a quantile, or the only one."""

    y: np.ndarray
    loss: Loss
    weights: np.ndarray
    """All nonzero."""
    rows: np.ndarray | None = None
    """Which of the inputs it is fitted to; all of them when not given."""

    def on(self, rows: np.ndarray, n: int) -> Part | None:
        """The same part on some of n inputs; None where nothing can be learned from them."""
        if self.rows is None:
            part = replace(self, y=self.y[rows], weights=self.weights[rows])
        else:
            places = np.full(n, -1)
            places[rows] = np.arange(len(rows))
            kept = places[self.rows] >= 0
            part = Part(self.y[kept], self.loss, self.weights[kept], places[self.rows[kept]])
        return part if len(part.y) > 1 and np.ptp(part.y) > 0.0 else None


@dataclass(frozen=True)
class MachineErrors:
    """The logarithm of the mean leave-one-out loss of machines that share kernel and strength.

    Losses are measured from the smallest value that the targets allow.

    Parameters
    ----------
    X : inputs of the kernel
    parts : sequence of Part
        With smooth losses of one output.
    intercept : bool
    strength : {"alpha", "C", "strength"}
        Name of the strength of the squared norm, which for C is one over C.
    precomputed : bool
        Whether X is a kernel matrix.
    threads : int, optional
    """

    X: Any
    n: int
    parts: Sequence[Part]
    intercept: bool = True
    strength: str = "alpha"
    precomputed: bool = False
    threads: int | None = None
    _known: dict[int, tuple[Point, float]] = field(default_factory=dict, compare=False, repr=False)

    def __call__(self, kernel: Kernel, strength: float) -> Value:
        if not self.parts:
            raise np.linalg.LinAlgError("all rows are of one class, so there is no machine to judge")
        inverse = self.strength == "C"
        squared_norm = SquaredNorm(1.0 / strength if inverse else strength)
        gram = Gram(kernel, self.X, threads=self.threads)
        whole, total, weight, by_log = Workspace(gram, 2**50), 0.0, 0.0, 0.0
        gradients: Gradients = {}
        for i, part in enumerate(self.parts):
            matrix = whole if part.rows is None else Workspace(gram.take(part.rows), 2**50)
            problem = LossProblem(
                matrix.gram, part.y[:, None], part.loss, squared_norm, part.weights[:, None], self.intercept
            )
            found = machine_loss(problem, matrix, self._start(i, matrix, squared_norm.strength))
            self._known[i] = found.point, squared_norm.strength
            total, weight = total + found.total, weight + float(part.weights.sum())
            by_log += found.by_log_strength
            for name, gradient in found.gradients.items():
                gradients[name] = gradients.get(name, 0.0) + gradient
        share = {name: gradient / weight for name, gradient in gradients.items()}
        return _logarithm(total / weight, share, (-by_log if inverse else by_log) / weight)

    def _start(self, i: int, matrix: Workspace, strength: float) -> Point | None:
        """Warm start: the last solution, with coefficients rescaled in proportion to one over the strength."""
        if i not in self._known:
            return None
        point, before = self._known[i]
        coef = point.coef * (before / strength)
        return Point(coef, point.intercept, matrix @ coef)

    @property
    def is_constant(self) -> bool:
        return not any(np.ptp(part.y) for part in self.parts)

    def order(self, seed: int) -> np.ndarray:
        targets = np.zeros((self.n, len(self.parts)))
        for column, part in zip(targets.T, self.parts, strict=True):
            column[slice(None) if part.rows is None else part.rows] = part.y
        return mixed(targets, seed)

    def on(self, rows: np.ndarray) -> MachineErrors:
        parts = [part.on(rows, self.n) for part in self.parts]
        kept = [part for part in parts if part is not None]
        X = taken(self.X, rows, self.precomputed)
        return replace(self, X=X, n=len(rows), parts=kept, _known={})


@dataclass(frozen=True)
class Average:
    """The mean of an objective over several sets of rows."""

    criteria: Sequence[Any]

    @property
    def strength(self) -> str:
        return self.criteria[0].strength

    @property
    def X(self) -> Any:
        return self.criteria[0].X

    @property
    def n(self) -> int:
        return sum(criterion.n for criterion in self.criteria)

    def __call__(self, kernel: Kernel, strength: float) -> Value:
        values = [criterion(kernel, strength) for criterion in self.criteria]
        gradients = {name: np.mean([v.gradients[name] for v in values], axis=0) for name in values[0].gradients}
        objective, by_log = (float(np.mean([v[i] for v in values])) for i in (0, 2))
        return Value(objective, gradients, by_log)


def softened(loss: Loss, y: np.ndarray) -> Loss:
    """The loss itself if it is smooth; otherwise with smoothed kinks, their width relative to margin or targets."""
    if loss.smooth:
        return loss
    box = loss.box(y)
    if box is None:
        raise ValueError(f"The loss {loss!r} has kinks that cannot be smoothed; use tune=None.")
    if loss.targets == "signs":
        return Softened(loss, MARGIN_WIDTH)
    size = float(robust_deviation(y[:, None])[1][0])
    return Softened(loss, max(RESIDUAL_WIDTH * size, 0.1 * box[2]) or 1.0)


def taken(X: Any, rows: np.ndarray, precomputed: bool) -> Any:
    """A subset of the inputs; rows and columns of a kernel matrix."""
    return take(X, rows, "precomputed" if precomputed else None)


def _logarithm(value: float, gradients: Gradients, by_log_strength: float) -> Value:
    """The logarithm of a mean loss; raises where the loss is zero or infinite, as there is nothing to tune."""
    if not 0.0 < value < np.inf:
        raise np.linalg.LinAlgError("a mean loss of zero, or beyond all bounds")
    return Value(
        float(np.log(value)), {name: part / value for name, part in gradients.items()}, by_log_strength / value
    )


def functions_of(loss: Loss, y: np.ndarray) -> list[tuple[np.ndarray, Loss]]:
    """Targets and smooth losses of one output: of each quantile, or of each class against all others."""
    if not (loss.complete and loss.convex):
        raise ValueError(f"The loss {loss!r} has no curvature and conjugate, which tune='loo' needs; use tune=None.")
    if loss.targets == "classes":
        return [(np.where(y == c, 1.0, -1.0), Logistic()) for c in np.unique(y)]
    return [(y, softened(part, y)) for part in loss.parts()]
