"""Which model a table gets, and why: exact up to some number of rows, in the span of landmarks above it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone

from representer.estimators.kernel_classifier import KernelClassifier
from representer.estimators.kernel_regressor import KernelRegressor
from representer.estimators.kernel_ridge import KernelRidge
from representer.estimators.logistic_regression import KernelLogisticRegression
from representer.estimators.poisson_regression import KernelPoissonRegression
from representer.estimators.quantile_regression import KernelQuantileRegression
from representer.features.nystroem import Nystroem
from representer.kernels import checks
from representer.tables.reading import TableError
from representer.tables.targets import Target

EXACT_ROWS = 20_000
"""Rows up to which regressions and classifications are fitted exactly."""
EXACT_ROWS_OF_LOSSES = 3000
"""The same for counts and quantiles, which take many steps."""
ROWS_OF_SEARCH = 6000
"""Rows among which a kernel is searched where all of them are not fitted exactly."""
RATE = 1.5e10
"""Operations per second by which the number of landmarks is chosen."""
STEPS_OF_LOSSES = {"regression": 1, "classification": 20, "counts": 20, "quantiles": 60}
"""Passes over all rows that a fit in a span takes, about: one for squares, Newton steps for other losses."""
FEWEST_LANDMARKS, MOST_LANDMARKS = 200, 4000
FEWEST_SEARCHED = 300
"""Rows that a search needs at least."""
MATRICES = 6
"""Matrices of the size of the landmarks that a fit in a span holds at most, of a search of so many rows as well."""
STRENGTH_ROWS, STRENGTH_LANDMARKS = 6000, 300
"""Rows and landmarks for the choice of a strength on rows that its fit did not see."""
STRENGTHS_TRIED = 10.0 ** np.arange(-2.5, 2.0, 0.5)
CLASSES_START = 0.1
"""The strength of a logistic loss in units of alpha of squares, from which it is searched."""
SPAN_PART = 0.25
"""Of the time of a fit for all rows in the span of landmarks."""
JUDGED_PART = 0.45
"""Of the time limit of a table for the model that is judged, and again for the one of all rows."""
BAND_LEVELS = np.linspace(0.0, 1.0, 401)
"""Probabilities at which quantiles of residuals are kept."""


@dataclass(frozen=True)
class Effort:
    """How much a fit may take, and whom it tells what it does."""

    seconds: float = 300.0
    seed: int = 0
    tell: Callable[[str], None] = field(default=lambda text: None)
    memory: int | None = None
    """Bytes that it may take beside the table; the machine's if None."""


@dataclass(frozen=True)
class SearchedMachine:
    """A machine with the kernel that a search among some rows found, in the columns that the search saw."""

    searched: Any
    """The model of the search; it knows how a frame becomes rows of the kernel."""
    machine: Any
    centre: np.ndarray | None
    """What is subtracted from rows of numbers, as the search did."""
    residuals: np.ndarray | None = None
    """Quantiles of residuals at `BAND_LEVELS`, of regressions in a span."""

    @property
    def function_(self) -> Any:
        """The fitted function, of rows as `rows` gives them."""
        return self.machine.function_

    @property
    def kernel_(self) -> Any:
        """The kernel, or the one that is approximated."""
        return self.searched.kernel_

    @property
    def alpha_(self) -> float:
        """Noise of the kernel's process, by which familiar rows are told from others."""
        return float(self.searched.alpha_)

    @property
    def certificate_(self) -> Any:
        """Of the fit to all rows."""
        return self.machine.certificate_

    @property
    def classes_(self) -> Any:
        """Labels in the order of probabilities."""
        return self.machine.classes_

    def rows_of(self, frame: Any) -> Any:
        """Rows of the kernel for a frame."""
        return _centred(self.searched.rows_of(frame), self.centre)

    def predict(self, frame: Any) -> np.ndarray:
        """What the machine says."""
        return self.machine.predict(self.rows_of(frame))

    def predict_proba(self, frame: Any) -> np.ndarray:
        """Probabilities of classes."""
        return self.machine.predict_proba(self.rows_of(frame))


@dataclass(frozen=True)
class Route:
    """How many rows are fitted exactly, or searched, and how many landmarks there are."""

    n: int
    exact: bool
    searched: int
    landmarks: int
    why: str
    """Why not all rows are fitted exactly."""

    @classmethod
    def of(cls, target: Target, n: int, seconds: float, memory: int | None) -> Route:
        """The route of n rows that fits time and memory, or an error."""
        most = EXACT_ROWS_OF_LOSSES if target.task in ("counts", "quantiles") else EXACT_ROWS
        fitting = n if memory is None else int(np.sqrt(memory / (8 * MATRICES)))
        if fitting < min(n, FEWEST_SEARCHED):
            least = 8 * MATRICES * min(n, FEWEST_SEARCHED) ** 2
            raise TableError(
                f"The memory is {memory} bytes, and a fit of {n:,} rows takes {least / 1e6:.3g} MB at least; give more."
            )
        if n <= min(most, fitting):
            return cls(n, True, n, 0, "")
        m = landmarks_for(n, seconds / STEPS_OF_LOSSES[target.task])
        why = f"an exact fit is for up to {most:,} rows" if n > most else "an exact fit does not fit the memory"
        return cls(n, False, min(n, ROWS_OF_SEARCH, fitting), min(m, fitting), why)

    @property
    def words(self) -> str:
        """The fit of all rows in words."""
        if self.exact:
            return f"all {self.n:,} rows fitted exactly"
        return f"all {self.n:,} rows fitted in the span of {self.landmarks:,} landmarks (Nystroem), as {self.why}"


def fit_machine(target: Target, frame: Any, y: np.ndarray, effort: Effort, searched: Any = None) -> tuple[Any, str]:
    """The fitted model of a treated frame, and its route in words; ``searched`` has a kernel that was found before."""
    n, is_loss = len(y), target.task in ("counts", "quantiles")
    route = Route.of(target, n, SPAN_PART * effort.seconds, effort.memory)
    if route.exact and not is_loss:
        effort.tell(f"searching a kernel by leave-one-out among {n:,} rows")
        model = _searcher(target, effort, 0.8).fit(frame, y)
        return model, f"{type(model).__name__}: kernel and strength by leave-one-out, {route.words}"
    some = np.sort(np.random.default_rng(effort.seed).permutation(n)[: min(route.searched, ROWS_OF_SEARCH)])
    if searched is None:
        effort.tell(f"searching a kernel by leave-one-out among {len(some):,} of {n:,} rows")
        searched = _searcher(target, effort, 0.3).fit(checks.take(frame, some), _search_targets(target, y[some]))
    rows = searched.rows_of(frame)
    centre = np.median(rows, axis=0) if isinstance(rows, np.ndarray) else None
    rows = _centred(rows, centre)
    kernel = searched.kernel_
    if not route.exact:
        kernel = Nystroem(kernel, route.landmarks, random_state=effort.seed)
    effort.tell(route.words)
    machine = _machine(target, kernel, searched, rows, y, effort)
    residuals = None
    if isinstance(machine, KernelRidge):
        residuals = np.quantile(y - machine.predict(rows), BAND_LEVELS)
    name = type(machine).__name__
    return (
        SearchedMachine(searched, machine, centre, residuals),
        f"{name}: kernel by leave-one-out among {len(some):,} rows, {route.words}",
    )


def route_words(target: Target, n: int, seconds: float, memory: int | None = None) -> str:
    """The route that a table of n rows takes, in words."""
    route = Route.of(target, n, SPAN_PART * JUDGED_PART * seconds, memory)
    among = "" if route.exact else f" among {route.searched:,} rows"
    return f"The kernel is searched by leave-one-out{among}, and {route.words.replace(' rows', ' rows are', 1)}."


def landmarks_for(n: int, seconds: float) -> int:
    """Landmarks m whose n m^2 operations take about so long."""
    return int(np.clip(round(np.sqrt(seconds * RATE / n), -2), FEWEST_LANDMARKS, min(MOST_LANDMARKS, n // 2)))


def _searcher(target: Target, effort: Effort, share: float) -> Any:
    options: dict[str, Any] = {"time_limit": share * effort.seconds, "random_state": effort.seed}
    options["memory"] = effort.memory
    if target.is_classes:
        return KernelClassifier(**options)
    return KernelRegressor(criterion="huber" if target.loss in ("huber", "quantiles") else "squared", **options)


def _search_targets(target: Target, y: np.ndarray) -> np.ndarray:
    """What the search looks at: counts on the scale of their logarithms."""
    return np.log(y + 0.5) if target.task == "counts" else y


def _centred(rows: Any, centre: np.ndarray | None) -> Any:
    return rows if centre is None else rows - centre


def _machine(target: Target, kernel: Any, searched: Any, rows: Any, y: np.ndarray, effort: Effort) -> Any:
    """The fitted machine of a target, with a strength that unseen rows choose."""
    if target.task == "regression":
        path = searched.alpha_ * np.logspace(-3.0, 3.0, 13)
        return KernelRidge(path, kernel=kernel, fit_intercept=True).fit(rows, y)
    make: Callable[[float, Any], Any]
    if target.is_classes:
        make = lambda strength, k: KernelLogisticRegression(k, C=1.0 / strength)  # noqa: E731
    elif target.task == "counts":
        make = lambda strength, k: KernelPoissonRegression(strength, kernel=k)  # noqa: E731
    else:
        levels = list(target.quantiles)
        make = lambda strength, k: KernelQuantileRegression(levels, alpha=strength, kernel=k, non_crossing=True)  # noqa: E731
        y = np.asarray(y, np.float64)
    strength = _strength(make, target, searched, rows, y, effort)
    return make(strength, kernel).fit(rows, y)


def _strength(make: Any, target: Target, searched: Any, rows: Any, y: np.ndarray, effort: Effort) -> float:
    """Of some strengths that with the least loss on rows that its fit did not see, as far as the time reaches."""
    order = np.random.default_rng(effort.seed).permutation(len(y))[:STRENGTH_ROWS]
    folds, kernel = np.array_split(order, 4), searched.kernel_
    tested = folds if len(order) < STRENGTH_ROWS else folds[:1]
    if 0.75 * len(order) > 2 * STRENGTH_LANDMARKS:
        kernel = Nystroem(kernel, STRENGTH_LANDMARKS, random_state=effort.seed)
    unit = float(np.std(y)) if target.task == "quantiles" else 1.0
    strengths = STRENGTHS_TRIED / unit
    first = CLASSES_START * searched.alpha_ if target.is_classes else float(np.median(strengths))

    def loss(strength: float) -> float:
        losses = []
        for rest in tested:
            fit = np.setdiff1d(order, rest, assume_unique=True)
            rest = rest[np.isin(y[rest], np.unique(y[fit]))] if target.is_classes else rest
            model = make(strength, clone(kernel)).fit(checks.take(rows, fit), y[fit])
            losses.append(loss_of(target, model, checks.take(rows, rest), y[rest]))
        return float(np.mean(losses))

    start = int(np.argmin(np.abs(np.log(strengths / first))))
    return float(strengths[least(lambda i: loss(strengths[i]), len(strengths), start, 0.2 * effort.seconds)])


def least(value: Callable[[int], float], count: int, start: int, seconds: float) -> int:
    """Where a function of 0, ..., count - 1 is least: downhill from ``start`` until it rises twice, or time is over."""
    begin, best = perf_counter(), (value(start), start)
    for step in (-1, 1):
        i, rises = start + step, 0
        while 0 <= i < count and rises < 2 and perf_counter() - begin <= seconds:
            found = value(i)
            rises = rises + 1 if found > best[0] else 0
            best = min(best, (found, i))
            i += step
        if best[1] != start:
            break
    return best[1]


def loss_of(target: Target, model: Any, rows: Any, y: np.ndarray) -> float:
    """The mean loss of a machine on some rows: minus the log probability, the Poisson loss or the pinball loss."""
    if target.is_classes:
        places = np.searchsorted(model.classes_, y)
        return float(-np.log(np.maximum(model.predict_proba(rows)[np.arange(len(y)), places], 1e-15)).mean())
    found = model.predict(rows)
    if target.task == "counts":
        return float(np.mean(found - y * np.log(found)))
    off = y[:, None] - found.reshape(len(y), -1)
    levels = np.array(target.quantiles)
    return float(np.maximum(levels * off, (levels - 1.0) * off).mean())
