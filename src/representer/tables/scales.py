"""The scale on which columns and target are fitted: their own, logarithms or quantiles, chosen by leave-one-out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import skew

from representer.estimators.kernel_ridge import KernelRidge
from representer.kernels.stationary import RBF
from representer.tables.column_plan import ColumnPlan, Treatment, logarithm, quantiles
from representer.tables.numeric_design import NumericDesign
from representer.tables.splits import random_rows
from representer.tables.targets import Target

ROWS_FOR_SCALES, PART_FOR_SCALES, MOST_FOR_SCALES = 500, 5, 1000
"""Rows on which scales are compared: the first number, or one in five where there are many, up to the last number."""
SKEWED, SKEWED_TARGET = 2.0, 1.0
"""Skewness above which another scale is tried, for columns and for the target."""
WORTH = 0.01
"""Relative gain in the leave-one-out error above which another scale is chosen."""
MOST_COLUMNS_TRIED = 12
"""Largest number of columns tried, the most skewed ones."""
ALPHAS = np.logspace(-4, 1.5, 12)


def least_values(plan: ColumnPlan, target: Target, frame: Any, y: np.ndarray, source: str) -> dict[str, float]:
    """The least value of each numeric column and of a numeric target, on which it depends which have logarithms."""
    numbers = {each.name: each for each in plan.treatments if each.type == "number"}
    found = {name: each.cells(frame[name], source).min() for name, each in numbers.items()}
    found |= {} if target.is_classes else {target.name: float(y.min())}
    return {name: value for name, value in found.items() if value is not None}


def chosen_scales(
    plan: ColumnPlan,
    target: Target,
    frame: Any,
    y: np.ndarray,
    source: str,
    seed: int,
    least: dict[str, float] | None = None,
) -> tuple[ColumnPlan, Target]:
    """The plan with columns, and the target, on the scales with the smallest leave-one-out error on some rows.

    ``least`` are the `least_values` of all rows to which the scales will be applied, of these rows when not given.
    """
    least = least_values(plan, target, frame, y, source) if least is None else least
    count = max(ROWS_FOR_SCALES, min(len(y) // PART_FOR_SCALES, MOST_FOR_SCALES))
    some = np.sort(random_rows(y, count, seed))
    part, y = frame[some.tolist()], y[some]
    if target.task == "regression" and least[target.name] > 0.0:
        target = _target_scale(plan, target, part, y, source)
    targets = _targets(target, y)
    best = _error(plan, part, targets, source)
    for treatment, values in _skewed(plan, part, source, least):
        log = logarithm(treatment, values, least[treatment.name])
        tried = [each for each in (log, quantiles(treatment, values)) if each is not None]
        for candidate in tried:
            changed = plan.with_treatment(candidate)
            error = _error(changed, part, targets, source)
            if error < (1.0 - WORTH) * best:
                plan, best = changed, error
    for treatment in plan.treatments:
        if treatment.transform == "quantiles":  # those of all rows
            plan = plan.with_treatment(quantiles(treatment, _values(treatment, frame, source)))
    return plan, target


def _values(treatment: Treatment, frame: Any, source: str) -> np.ndarray:
    return treatment.cells(frame[treatment.name], source).to_numpy().astype(np.float64)


def _skewed(plan: ColumnPlan, frame: Any, source: str, least: dict[str, float]) -> list[tuple[Treatment, np.ndarray]]:
    """Nonnegative numeric columns with a long tail, the longest first."""
    found = []
    for treatment in plan.treatments:
        if treatment.type == "number" and least.get(treatment.name, -1.0) >= 0.0:
            values = _values(treatment, frame, source)
            there = values[~np.isnan(values)]
            if len(there) > 20 and np.ptp(there) > 0.0 and skew(there) > SKEWED:
                found.append((float(skew(there)), treatment, values))
    found.sort(key=lambda each: -each[0])
    return [(treatment, values) for _, treatment, values in found[:MOST_COLUMNS_TRIED]]


def _targets(target: Target, y: np.ndarray) -> np.ndarray:
    """Targets for a squared loss: numbers on the fitted scale, or class indicators."""
    if target.is_classes:
        columns = (y[:, None] == np.array(target.classes)).astype(np.float64)
        return columns[:, columns.std(axis=0) > 0.0]
    values = np.log(y + 0.5) if target.task == "counts" else target.fitted_scale(y)
    return values[:, None]


def _rows(plan: ColumnPlan, frame: Any, source: str) -> np.ndarray:
    treated = plan.treated(frame, source)
    return np.asarray(NumericDesign.of(treated).rows(treated), np.float64)


def _quick(X: np.ndarray, targets: np.ndarray) -> KernelRidge:
    return KernelRidge(ALPHAS, kernel=RBF(), fit_intercept=True, verbose=-1).fit(X, targets)


def _error(plan: ColumnPlan, frame: Any, targets: np.ndarray, source: str) -> float:
    return float(np.mean(_quick(_rows(plan, frame, source), targets).loo_residuals_ ** 2))


def _target_scale(plan: ColumnPlan, target: Target, frame: Any, y: np.ndarray, source: str) -> Target:
    """The target with its logarithm where that predicts the target itself better."""
    if not skew(y) > SKEWED_TARGET:
        return target
    X = _rows(plan, frame, source)
    plain = float(np.mean(_quick(X, y).loo_residuals_ ** 2))
    fitted = _quick(X, np.log(y)).loo_predictions_.ravel()
    smear = float(np.mean(np.exp(np.log(y) - fitted)))
    error = float(np.mean((y - smear * np.exp(fitted)) ** 2))
    if error >= (1.0 - WORTH) * plain:
        return replace(target, why="as it is: its logarithm has no smaller leave-one-out error")
    gain = 1.0 - np.sqrt(error / plain)
    why = f"by its logarithm: it lowers the leave-one-out error by {100 * gain:.0f} %"
    return replace(target, logarithm=True, why=why)
