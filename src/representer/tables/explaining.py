"""Why a model predicts what it does for one row: contributions of training rows and columns, and its familiarity."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from representer.estimators.inputs import evenly_spaced
from representer.functions import Function
from representer.kernels import checks
from representer.rows.validation import check_inputs
from representer.tables.familiarity import Familiarity
from representer.tables.outcome import short_number
from representer.tables.reading import read_table
from representer.tables.row_shares import BY_DIFFERENCES, BY_REPRESENTERS, RowShare, row_shares
from representer.tables.table_model import target_level

REFERENCE_WORK, MOST_REFERENCES = 3e5, 16
"""Largest number of training rows times references, and of references, whose values removed columns take."""
REMOVED = "A removed column takes the values of some training rows; the shares are averaged over those."


@dataclass(frozen=True)
class RowExplanation:
    """f(x) = start + what each training row adds = base + what each column adds; both sums are exact."""

    row: int
    what: str
    """What f is: the prediction, its logarithm, or the score of a class."""
    value: float
    start: float
    """The value to which training rows add: the mean target, the mean of a process, or the intercept."""
    up: tuple[RowShare, ...]
    """Training rows with the largest contributions: row, target, weight and contribution."""
    down: tuple[RowShare, ...]
    """Training rows with the most negative contributions."""
    other_rows: float
    """The sum of the contributions of all other rows."""
    formula: str
    """The contribution of a row, as a formula."""
    rows_are: str
    """What row numbers refer to: "training row", or for a fit in the span of some rows "landmark row".

    Where it is not known which rows those are, "landmark" with its number.
    """
    base: float
    """f with all columns removed: the mean of f over some training rows."""
    columns: tuple[tuple[str, str, float], ...]
    """Name, cell, and exact Shapley value of each column; columns that the kernel does not separate are together."""
    unfamiliar: bool
    """Whether the training rows carry almost no information about this one."""
    extrapolated: tuple[str, ...]
    """Columns in which the row is outside the range of the training rows."""

    def counted_from_1(self) -> RowExplanation:
        """The same with rows counted from 1, as readers of tables do."""
        up, down = (tuple(replace(share, row=share.row + 1) for share in rows) for rows in (self.up, self.down))
        return replace(self, row=self.row + 1, up=up, down=down)

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, as plain numbers and strings."""
        return asdict(self) | {"removed": REMOVED}

    def __str__(self) -> str:
        lines = [f"row {self.row}: {self.what} = {self.value:.5g}", f"  {self.base:+.4g} on average"]
        lines += [f"  {share:+.4g} by {name} = {cell}" for name, cell, share in self.columns]
        begin = "intercept" if self.formula in (BY_REPRESENTERS, BY_DIFFERENCES) else "to start from"
        lines += ["or, by rows:", f"  {self.start:+.4g} {begin}"]
        lines += [f"  {share.words(self.rows_are)}" for share in (*self.up, *self.down)]
        lines += [f"  {self.other_rows:+.4g} by all others"]
        if self.unfamiliar:
            lines.append("The training rows say next to nothing about this row: do not trust the prediction.")
        if self.extrapolated:
            lines.append(f"Outside the range of the training rows: {', '.join(self.extrapolated)}.")
        return "\n".join([*lines, REMOVED])

    __repr__ = __str__


def explain(model: Any, X: Any, row: int = 0, *, output: Any = None, n: int = 5) -> RowExplanation:
    """The contributions of training rows and of columns to the prediction for one row of X.

    Parameters
    ----------
    model : fitted estimator with one function, such as KernelRegressor, KernelClassifier, KernelRidge,
        GaussianProcessRegressor or SVC, or the model of `fit_table`
    X : inputs of the model
    row : int
        The row of X, from 0.
    output : label of a class, or number of a target, optional
        Which of several functions is explained; the predicted class where none is given.
    n : int
        How many rows are listed in each direction.

    Examples
    --------
    >>> import numpy as np
    >>> from representer import KernelRidge, explain
    >>> X = np.array([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0]])
    >>> found = explain(KernelRidge(alpha=0.1).fit(X, [0.0, 1.0, 2.0]), X, row=2)
    >>> [name for name, _, share in found.columns if abs(share) > 1e-12]
    ['x0']
    """
    model = getattr(model, "model", model)  # of a TableFit
    estimator = getattr(model, "estimator", model)
    machine = getattr(estimator, "machine", estimator)
    check_is_fitted(machine)
    if not isinstance(getattr(machine, "function_", None), Function):
        raise TypeError(f"{type(machine).__name__} has no single fitted function to explain.")
    X = read_table(X).frame if hasattr(model, "kernel_rows") else X
    rows = _rows(model, estimator, X)
    checks.integer(n, "n")
    count = checks.number_of(rows)
    if not -count <= checks.integer(row, "row", -count) < count:
        raise ValueError(f"row is {row}, but there are {count} rows; give a number from 0 to {count - 1}.")
    one = checks.take(rows, np.array([row % count]))
    number, what = _one_output(machine, one, output, getattr(model, "target", None))
    f = machine.function_ if machine.function_.coef.ndim == 1 else machine.function_[number]
    unfamiliar = _is_unfamiliar(model, machine, f, one)
    f, one = _centred(estimator, f, one)
    rows_of_fit = row_shares(machine, f, one, number)
    labels = _Labels(model, estimator, machine, number)
    up, down, others = rows_of_fit.listed(n, labels)
    owners, size = _owners(estimator, model), len(f.coef)
    wanted = int(np.clip(REFERENCE_WORK / size, 1, MOST_REFERENCES))
    shares = f.column_shares(one, owners, checks.take(f.X, evenly_spaced(size, wanted)))
    cells = _cells(X, row % count)
    return RowExplanation(
        row=row % count,
        what=what,
        value=float(f(one)[0]),
        start=rows_of_fit.start,
        up=up,
        down=down,
        other_rows=others,
        formula=rows_of_fit.formula,
        rows_are=labels.rows_are,
        base=shares.base,
        columns=_named(shares.shares, estimator, X, cells),
        unfamiliar=unfamiliar,
        extrapolated=_extrapolated(f.X, one, owners, _names(estimator, X)),
    )


def _rows(model: Any, estimator: Any, X: Any) -> Any:
    """X as the kernel takes it."""
    if hasattr(model, "kernel_rows"):
        return model.kernel_rows(X)
    return estimator.rows_of(X) if hasattr(estimator, "rows_of") else check_inputs(model, X, model.kernel_, reset=False)


def _one_output(machine: Any, one: Any, output: Any, target: Any) -> tuple[int, str]:
    """The index of the function that is explained, and what it is."""
    f, classes = machine.function_, getattr(machine, "classes_", None)
    if f.coef.ndim == 1:
        if classes is not None:
            return 0, f"score of {classes[-1]!s} (positive speaks for it, negative for {classes[0]!s})"
        if target is None or not (target.logarithm or target.task == "counts"):
            return 0, "prediction"
        value = target.smear * np.exp(float(f(one)[0]))
        return 0, f"logarithm of {target.name}, of which {short_number(value)} is predicted"
    outputs = list(range(f.coef.shape[1])) if classes is None or len(classes) != f.coef.shape[1] else list(classes)
    if target is not None and target.task == "quantiles":
        number = outputs.index(output) if output in outputs else target_level(target.quantiles)
        return number, f"quantile {target.quantiles[number]:g} of {target.name}"
    if output is None and (classes is None or len(classes) != f.coef.shape[1]):
        raise ValueError(f"The model has {len(outputs)} functions; choose one by output=, from 0 to {outputs[-1]}.")
    if output is None:
        output = outputs[int(np.argmax(f(one)[0]))]
    if output not in outputs:
        raise ValueError(f"output is {output!r}; it may be one of {', '.join(map(str, outputs))}.")
    return outputs.index(output), f"score of {output!s}"


class _Labels:
    """Row numbers and targets of training rows as the user knows them: those of the table, else of the fit."""

    def __init__(self, model: Any, estimator: Any, machine: Any, number: int):
        self.machine, self.number = machine, number
        in_span = machine.kernel_.original is not machine.kernel_
        fitted, places = getattr(model, "fitted_rows", None), getattr(estimator, "landmarks", None)
        self.landmarks = fitted.numbers[places] if in_span and fitted is not None and places is not None else None
        self.fitted = None if in_span else fitted
        of_span = "landmark" if self.landmarks is None else "landmark row"
        self.rows_are = of_span if in_span else "training row"

    def __call__(self, i: int, target: float | None) -> tuple[int, Any]:
        if self.landmarks is not None:
            return int(self.landmarks[i]), target
        if self.fitted is not None and len(self.fitted.targets) == len(self.machine.function_.coef):
            return int(self.fitted.numbers[i]), self.fitted.targets[i].item()
        support, classes = getattr(self.machine, "support_", None), getattr(self.machine, "classes_", None)
        number = i if support is None or len(support) != len(self.machine.function_.coef) else int(support[i])
        if target is None or classes is None or self.machine.kernel_.original is not self.machine.kernel_:
            return number, target
        if self.machine.function_.coef.ndim == 1:
            return number, str(classes[int(target > 0.0)])
        name = str(classes[self.number])
        return number, name if target > 0.0 else f"not {name}"


def _centred(estimator: Any, f: Function, one: Any) -> tuple[Function, Any]:
    """The same function of columns minus their medians, as in the fit: its coefficients sum to zero there."""
    centre = getattr(estimator, "_centre", None)
    if centre is None:
        return f, one
    moved = Function(f.kernel, f.X - centre, f.coef)
    constant = float((f(one) - moved(one - centre))[0])
    return moved.with_coef(f.coef, constant), one - centre


def _encoding(estimator: Any) -> Any:
    return getattr(getattr(estimator, "searched", estimator), "_encoding", None)


def _owners(estimator: Any, model: Any) -> dict[Any, Any]:
    """The table column behind each numeric column, such as the level of a category or a daily wave."""
    raw: dict[Any, Any] = getattr(getattr(model, "columns", None), "owners", {})
    encoding = _encoding(estimator)
    if encoding is None:
        names = _names(estimator, None)
        return raw | {i: raw[name] for i, name in enumerate(names) if name in raw}
    named = [(name, raw.get(code.name, code.name)) for code in encoding.codes for name in code.names]
    return dict(named) | {i: owner for i, (_, owner) in enumerate(named)}


def _names(estimator: Any, X: Any) -> list[str]:
    """Names of the columns in order, where they have names."""
    fitted = getattr(estimator, "searched", estimator)
    if hasattr(fitted, "feature_names_in_"):
        return [str(name) for name in fitted.feature_names_in_]
    return [str(name) for name in X.columns] if hasattr(X, "columns") else []


def _cells(X: Any, row: int) -> dict[str, Any]:
    if not hasattr(X, "columns"):
        return {f"x{c}": value for c, value in enumerate(X[row])} if isinstance(X, np.ndarray) and X.ndim == 2 else {}
    return {str(name): X[name].iloc[row] if hasattr(X, "iloc") else X[name][row] for name in X.columns}


def _named(shares: dict, estimator: Any, X: Any, cells: dict[str, Any]) -> tuple[tuple[str, str, float], ...]:
    """Names, cells and shares, the largest first."""
    names = _names(estimator, X)

    def name_of(column: Any) -> str:
        if isinstance(column, int | np.integer):
            return names[column] if column < len(names) else f"x{column}"
        return str(column)

    found = []
    for player, share in shares.items():
        labels = [name_of(column) for column in player]
        found.append((" and ".join(labels), ", ".join(_cell(cells.get(label, "?")) for label in labels), share))
    return tuple(sorted(found, key=lambda each: -abs(each[2])))


def _cell(value: Any) -> str:
    if value is None:
        return "missing"
    return f"{value:.5g}" if isinstance(value, float | np.floating) else str(value).strip()


def _is_unfamiliar(model: Any, machine: Any, f: Function, one: Any) -> bool:
    if hasattr(model, "familiarity"):
        return bool(model.familiarity.unfamiliar(one)[0])
    alpha = np.mean(getattr(machine, "alpha_", 0.0))
    return bool(Familiarity.of(f.kernel, f.X, float(alpha)).unfamiliar(one)[0])


def _extrapolated(X: Any, one: Any, owners: dict[Any, Any], names: list[str]) -> tuple[str, ...]:
    """Numeric columns in which a row is outside the range of the others."""
    if isinstance(X, np.ndarray) and X.ndim == 2:
        pairs = [(c, X[:, c], one[0, c]) for c in range(X.shape[1])]
    elif hasattr(X, "columns"):
        pairs = [(c, np.asarray(X[c]), np.asarray(one[c])[0]) for c in X.columns]
    else:
        return ()
    outside = [
        c for c, column, value in pairs if column.dtype.kind in "iuf" and not column.min() <= value <= column.max()
    ]
    found = [owners.get(c, names[c] if isinstance(c, int) and c < len(names) else c) for c in outside]
    return tuple(dict.fromkeys(f"x{c}" if isinstance(c, int) else str(c) for c in found))
