"""Which model is fitted to a table, and why: exact up to some number of rows, in the span of landmarks above it."""

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
from representer.tables.splits import random_rows
from representer.tables.targets import Target

EXACT_ROWS = 20_000
"""Rows up to which regressions and classifications are fitted exactly."""
EXACT_ROWS_OF_LOSSES = 3000
"""The same for counts and quantiles, which take many steps."""
EXACT_RATE = 3.6e11
"""Assumed cubes of rows per second of exact fits, a third of which are operations of a Cholesky factorisation."""
ROWS_OF_SEARCH = 6000
"""Rows on which a kernel is searched where not all rows are fitted exactly."""
RATE = 1.5e10
"""Operations per second assumed when choosing the number of landmarks."""
STEPS_OF_LOSSES = {"regression": 1, "classification": 20, "counts": 20, "quantiles": 60}
"""Approximate passes over all rows of a fit in a span: one for squared losses, Newton steps for others."""
FEWEST_LANDMARKS, MOST_LANDMARKS = 200, 4000
FEWEST_SEARCHED = 300
"""Smallest number of rows for a search."""
MATRICES = 6
"""Largest number of m x m matrices that a fit in a span of m landmarks holds, or a search on m rows."""
STRENGTH_ROWS, STRENGTH_LANDMARKS = 6000, 300
"""Rows and landmarks for the choice of a strength on held-out rows."""
STRENGTHS_TRIED = 10.0 ** np.arange(-2.5, 2.0, 0.5)
CLASSES_START = 0.1
"""Initial strength of a logistic loss, in units of the alpha of squared losses."""
SPAN_PART = 0.25
"""Fraction of a fit's time for the fit to all rows in the span of landmarks."""
JUDGED_PART = 0.45
"""Fraction of a table's time limit for the model that is judged, and again for the one fitted to all rows."""
BAND_LEVELS = np.linspace(0.0, 1.0, 401)
"""Probabilities at which quantiles of residuals are stored."""


@dataclass(frozen=True)
class Effort:
    """The resources a fit may use, and where it reports its progress."""

    seconds: float = 300.0
    seed: int = 0
    tell: Callable[[str], None] = field(default=lambda text: None)
    memory: int | None = None
    """Bytes that it may take in addition to the table; the machine's memory if None."""


@dataclass(frozen=True)
class SearchedMachine:
    """A machine with the kernel found by a search on some rows, on the same columns as the search."""

    searched: Any
    """The model of the search, which encodes frames as rows of the kernel."""
    machine: Any
    centre: np.ndarray | None
    """Subtracted from numeric rows, as in the search."""
    residuals: np.ndarray | None = None
    """Quantiles of leave-one-out residuals at `BAND_LEVELS`, for regressions in a span."""
    landmarks: np.ndarray | None = None
    """Which rows of the fit the landmarks are, for fits in their span."""

    @property
    def function_(self) -> Any:
        """The fitted function, on rows as `rows_of` returns them."""
        return self.machine.function_

    @property
    def kernel_(self) -> Any:
        """The kernel, or the one that is approximated."""
        return self.searched.kernel_

    @property
    def alpha_(self) -> float:
        """Noise of the kernel's process, by which unfamiliar rows are recognised."""
        return float(self.searched.alpha_)

    @property
    def certificate_(self) -> Any:
        """Certificate of the fit to all rows."""
        return self.machine.certificate_

    @property
    def classes_(self) -> Any:
        """Labels in the order of probabilities."""
        return self.machine.classes_

    def rows_of(self, frame: Any) -> Any:
        """Rows of the kernel for a frame."""
        return _centred(self.searched.rows_of(frame), self.centre)

    def predict(self, frame: Any) -> np.ndarray:
        """Predictions of the machine."""
        return self.machine.predict(self.rows_of(frame))

    def predict_proba(self, frame: Any) -> np.ndarray:
        """Probabilities of classes."""
        return self.machine.predict_proba(self.rows_of(frame))


@dataclass(frozen=True)
class Route:
    """The numbers of rows fitted exactly or searched, and of landmarks."""

    n: int
    exact: bool
    searched: int
    landmarks: int
    why: str
    """Why not all rows are fitted exactly."""

    @classmethod
    def of(cls, target: Target, n: int, seconds: float, memory: int | None) -> Route:
        """The route of n rows that fits memory and so many seconds for the fit to all rows, or an error."""
        most = EXACT_ROWS_OF_LOSSES if target.task in ("counts", "quantiles") else EXACT_ROWS
        fitting = n if memory is None else int(np.sqrt(memory / (8 * MATRICES)))
        if fitting < min(n, FEWEST_SEARCHED):
            least = 8 * MATRICES * min(n, FEWEST_SEARCHED) ** 2
            raise TableError(
                f"The memory is {memory} bytes, and a fit of {n:,} rows takes {least / 1e6:.3g} MB at least; give more."
            )
        in_time = int(np.cbrt(EXACT_RATE * seconds))
        if n <= min(most, fitting, in_time):
            return cls(n, True, n, 0, "")
        m = landmarks_for(n, seconds / STEPS_OF_LOSSES[target.task])
        if n > most:
            why = f"an exact fit is for up to {most:,} rows"
        else:
            why = f"an exact fit {'does not fit the memory' if n > fitting else 'may exceed the time limit'}"
        return cls(n, False, min(n, ROWS_OF_SEARCH, fitting), min(m, fitting), why)

    @property
    def words(self) -> str:
        """The fit to all rows in words."""
        if self.exact:
            return f"all {self.n:,} rows fitted exactly"
        return f"all {self.n:,} rows fitted in the span of {self.landmarks:,} landmarks (Nystroem), as {self.why}"


def fit_machine(
    target: Target,
    frame: Any,
    y: np.ndarray,
    effort: Effort,
    searched: Any = None,
    declared: dict[str, str] | None = None,
) -> tuple[Any, str]:
    """The fitted model of a treated frame, and its route in words; ``searched`` holds a kernel found before.

    ``declared`` are the columns of texts and sequences.
    """
    n, is_loss = len(y), target.task in ("counts", "quantiles")
    route = Route.of(target, n, SPAN_PART * effort.seconds, effort.memory)
    if route.exact and not is_loss:
        effort.tell(f"searching for a kernel by leave-one-out on {n:,} rows")
        model = _searcher(target, effort, 0.8).fit(frame, y, declared=declared)
        return model, f"{type(model).__name__}: kernel and strength by leave-one-out, {route.words}"
    some = np.sort(random_rows(y, min(route.searched, ROWS_OF_SEARCH), effort.seed))
    if searched is None:
        effort.tell(f"searching for a kernel by leave-one-out on {f'{len(some):,} of ' * (len(some) < n)}{n:,} rows")
        targets = _search_targets(target, y[some])
        searched = _searcher(target, effort, 0.3).fit(checks.take(frame, some), targets, declared=declared)
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
        residuals = np.quantile(left_out_residuals(machine, rows, y), BAND_LEVELS)
    name = type(machine).__name__
    places = None if route.exact else places_of(machine.function_.X, rows)
    return (
        SearchedMachine(searched, machine, centre, residuals, places),
        f"{name}: kernel by leave-one-out among {len(some):,} rows, {route.words}",
    )


def left_out_residuals(machine: KernelRidge, rows: Any, y: np.ndarray) -> np.ndarray:
    """Residuals of rows that are left out, as those of the fit are too small.

    Where leaving out takes too long, those of the fit times n / tr(I - H), which is their mean factor.
    """
    if hasattr(machine, "loo_residuals_"):
        return machine.loo_residuals_
    residuals = y - machine.predict(rows)
    squares = float(np.mean(residuals**2))
    return residuals * np.sqrt(machine.gcv_.min() / squares) if squares > 0.0 else residuals


def places_of(some: Any, rows: Any) -> np.ndarray | None:
    """The number of a row equal to each of some rows; None if one of them is not among the rows."""
    keys = _keys(some)
    wanted, known = set(keys), dict[Any, int]()
    for number, key in enumerate(_keys(rows)):
        if key in wanted:
            known.setdefault(key, number)
    return np.array([known[key] for key in keys]) if len(known) == len(wanted) else None


def _keys(rows: Any) -> list[Any]:
    if isinstance(rows, np.ndarray):
        return [row.tobytes() for row in np.ascontiguousarray(rows)]
    return list(rows.hash_rows().to_list())


def route_words(target: Target, n: int, seconds: float, memory: int | None = None) -> str:
    """The route that a table of n rows takes, in words."""
    route = Route.of(target, n, SPAN_PART * JUDGED_PART * seconds, memory)
    among = "" if route.exact else f" among {route.searched:,} rows"
    return f"The kernel is searched by leave-one-out{among}, and {route.words.replace(' rows', ' rows are', 1)}."


def landmarks_for(n: int, seconds: float) -> int:
    """The number of landmarks m whose n m^2 operations take about this many seconds."""
    return int(np.clip(round(np.sqrt(seconds * RATE / n), -2), FEWEST_LANDMARKS, min(MOST_LANDMARKS, n // 2)))


def _searcher(target: Target, effort: Effort, share: float) -> Any:
    options: dict[str, Any] = {"time_limit": share * effort.seconds, "random_state": effort.seed}
    options["memory"] = effort.memory
    if target.is_classes:
        return KernelClassifier(**options)
    return KernelRegressor(criterion="huber" if target.loss in ("huber", "quantiles") else "squared", **options)


def _search_targets(target: Target, y: np.ndarray) -> np.ndarray:
    """Targets of the search: counts on a log scale."""
    return np.log(y + 0.5) if target.task == "counts" else y


def _centred(rows: Any, centre: np.ndarray | None) -> Any:
    return rows if centre is None else rows - centre


def _machine(target: Target, kernel: Any, searched: Any, rows: Any, y: np.ndarray, effort: Effort) -> Any:
    """The fitted machine of a target, with a strength chosen on held-out rows."""
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
    """The strength with the smallest loss on held-out rows, as far as time allows."""
    order, kernel = random_rows(y, STRENGTH_ROWS, effort.seed), searched.kernel_
    tested = _folds(order, y)
    tested = tested if len(order) < STRENGTH_ROWS else tested[:1]
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


def _folds(order: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
    """Four folds with the classes in proportion; folds without which only one class would remain are left out."""
    if y.dtype.kind not in "OU":
        return np.array_split(order, 4)
    order = order[np.argsort(y[order], kind="stable")]
    quarters = [order[start::4] for start in range(4)]
    return [part for part in quarters if len(np.unique(y[np.setdiff1d(order, part)])) > 1]


def least(value: Callable[[int], float], count: int, start: int, seconds: float) -> int:
    """Minimiser of a function of 0, ..., count - 1: downhill from ``start`` until it rises twice, or time runs out."""
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
