"""From a table to a model and an honest assessment of it: rows are set aside first, and all is chosen without them."""

from __future__ import annotations

import platform
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from time import perf_counter
from typing import Any, TypedDict, Unpack

import numpy as np

from representer.estimators.searched_model import FEWEST
from representer.tables.column_plan import ColumnPlan
from representer.tables.column_types import TIMES_OF_DAY, ColumnType, column_types
from representer.tables.doctor import examine
from representer.tables.judged_rows import JudgedRows, suspicions
from representer.tables.machines import JUDGED_PART, Effort, fit_machine, route_words
from representer.tables.notebook import notebook_html
from representer.tables.outcome import Finding, Outcome
from representer.tables.reading import Table, TableError, nearest, read_table
from representer.tables.scales import chosen_scales, least_values
from representer.tables.splits import FOLDS, Split, random_rows, split_rows
from representer.tables.table_model import FittedRows, TableModel
from representer.tables.targets import Target, target_of
from representer.tables.verdict import STOPPED, verdict

FEWEST_ROWS, ROWS_AT_FIRST = 20, 200
MOST_SEED = 2**31
QUICK_ROWS, QUICK_JUDGED, QUICK_SECONDS = 800, 2000, 0.5
"""Rows of the first model, rows it is judged on, and its time: it is returned if the fit is interrupted."""
FOLDS_SHARE, LAST_SHARE = 0.65, 0.35
"""Fractions of the time for all folds together, and for the fit to all rows after them."""
SEARCH_STOPPED = "The search stopped at its time_limit"
"""Beginning of the warning of a search that did not try all candidates."""
PACKAGES = ("representer", "numpy", "scipy", "scikit-learn", "numba", "polars")


@dataclass(frozen=True)
class TableFit:
    """A model of a table, and the outcome of its assessment on rows set aside."""

    model: TableModel
    outcome: Outcome
    stopped: bool = False
    """Whether the fit was stopped by the user."""

    def predict(self, source: Any) -> Any:
        """prediction, std, lower, upper and unfamiliar for each row of a file or frame."""
        return self.model.predict(source)

    def __str__(self) -> str:
        return str(self.outcome)

    def _repr_html_(self) -> str:
        """A summary of the outcome, for notebooks."""
        return notebook_html(self.outcome)


@dataclass(frozen=True)
class Job:
    """A table with a target, the rows where the target is known, and how they are split."""

    table: Table
    types: dict[str, ColumnType]
    target: Target
    frame: Any
    """Raw columns of the rows that have a target."""
    rows: np.ndarray
    """Their indices in the table."""
    y: np.ndarray
    split: Split
    group: str | None
    seed: int

    @property
    def plan(self) -> ColumnPlan:
        """All usable columns as they are."""
        return ColumnPlan.of(self.types, self.target.name, (self.group,) if self.group else ())

    @cached_property
    def least(self) -> dict[str, float]:
        """The least values of all rows: zeros among few of them must not meet a logarithm in the last fit."""
        return least_values(self.plan, self.target, self.frame, self.y, self.table.source)


class JobOptions(TypedDict, total=False):
    """Options for a table and its target."""

    loss: str | None
    types: dict[str, str] | None
    group: str | None
    seed: int
    encoding: str | None


def table_job(
    source: Any,
    target: str,
    *,
    loss: str | None = None,
    types: dict[str, str] | None = None,
    group: str | None = None,
    seed: int = 0,
    encoding: str | None = None,
) -> Job:
    """Read a table, determine the types of its columns, and set rows aside; nothing is fitted."""
    table = read_table(source, encoding)
    names = table.frame.columns
    for name, what in ((target, "target"), (group, "group")):
        if name is not None and name not in names:
            raise TableError(f"{table.source} has no column {name!r} for the {what}; " + nearest(str(name), names))
    if group == target:
        raise TableError(f"{target!r} is the target and the group; name another column for the group.")
    if not 0 <= seed < MOST_SEED:
        raise TableError(f"The seed is {seed}; give an integer from 0 to {MOST_SEED - 1}.")
    seen = column_types(table, types)
    found, y, rows = target_of(table, target, seen[target], loss)
    if len(rows) < FEWEST_ROWS:
        raise TableError(f"{len(rows)} rows have a target, and at least {FEWEST_ROWS} are needed to judge a model.")
    frame = table.frame[rows.tolist()] if len(rows) < len(table) else table.frame
    groups = None
    if group is not None:
        groups = np.unique(np.array([str(value) for value in frame[group].to_list()]), return_inverse=True)[1]
        if groups.max() == 0:
            raise TableError(f"The column {group!r} has one group only; name a column that distinguishes groups.")
    plan = ColumnPlan.of(seen, target, (group,) if group else ())
    plan.treated(frame.head(1), table.source)  # a column that cannot be read is said before anything else
    split = split_rows(y, seed, order=_order(plan, frame, table.source), groups=groups)
    if found.is_classes and any(len(np.unique(y[train])) < 2 for train, _ in split.pairs):
        raise TableError(f"Only one class of {target!r} is left when rows are set aside; give more rows of the others.")
    job = Job(table, seen, found, frame, rows, y, split, group, seed)
    for train, _ in split.pairs:
        _require_variety(job, train)
    return job


def _require_variety(job: Job, rows: np.ndarray) -> None:
    """Raise unless some rows are different enough to compare kernels by leaving them out."""
    for part in (rows[:ROWS_AT_FIRST], rows):  # a few rows usually suffice
        treated = job.plan.treated(job.frame[part.tolist()], job.table.source)
        distinct = len(np.unique(np.column_stack([treated.hash_rows().to_numpy(), _codes(job.y[part])]), axis=0))
        if distinct >= FEWEST:
            return
    names = ", ".join(repr(each.name) for each in job.plan.treatments)
    raise TableError(
        f"Only {distinct} rows are different in {names} and {job.target.name!r}, which a table of them shows better "
        f"than a model; add columns, or rows that differ."
    )


def _codes(y: np.ndarray) -> np.ndarray:
    return np.unique(y, return_inverse=True)[1]


def _order(plan: ColumnPlan, frame: Any, source: str) -> tuple[str, np.ndarray] | None:
    """The first column of dates without missing values, and its values."""
    for each in plan.treatments:
        if each.type == "date" and each.format not in TIMES_OF_DAY:
            moments = each.cells(frame[each.name], source)
            if moments.null_count() == 0:
                return each.name, moments.to_physical().to_numpy()
    return None


def fit_table(
    source: Any,
    target: str,
    *,
    time_limit: float = 300.0,
    memory: int | None = None,
    tell: Callable[[str], None] | None = None,
    **options: Unpack[JobOptions],
) -> TableFit:
    """A model of a column of a table, judged by rows that were set aside first, and fitted to all rows afterwards.

    Parameters
    ----------
    source : path of a CSV or Parquet file, or a frame of pandas or polars
    target : str
        The column to predict. Words and columns with two values are classes, other numbers are numeric targets.
    time_limit : float
        Seconds that all searches together may take; there is a model after the first of them.
    memory : int, optional
        Bytes that the fit may take in addition to the table; fewer rows are then searched and fitted exactly.
    loss : {"squared", "huber", "poisson", "quantiles"}, optional
        For numeric targets; "quantiles:0.1,0.5,0.9" gives the levels.
    types : dict, optional
        Column types that override the detected ones: "number", "category", "date", "text", "sequence" or "skipped".
    group : str, optional
        A column whose groups are set aside as a whole; it is not used to predict.
    seed : int
        Seed of everything random; 0 when not given.
    encoding : str, optional
        Of a CSV file, such as "latin-1"; recognised when not given.
    tell : function of a string, optional
        Called with a description of each step.

    Returns
    -------
    TableFit
        With ``model``, ``outcome`` and ``predict``. An interrupt returns the best model so far, if there is one.

    Examples
    --------
    >>> import numpy as np, polars as pl
    >>> from representer import fit_table
    >>> rng = np.random.default_rng(0)
    >>> size, city = rng.uniform(30, 150, 120), rng.choice(["Oslo", "Rome"], 120)
    >>> price = 2000 * size + 90_000 * (city == "Oslo") + rng.normal(scale=5000, size=120)
    >>> houses = pl.DataFrame({"size": size, "city": city, "price": price})
    >>> fit = fit_table(houses, "price", time_limit=2)
    >>> fit.outcome.scores[0].value > 0.9, fit.predict(houses.head(2)).columns
    (True, ['prediction', 'std', 'lower', 'upper', 'unfamiliar'])
    """
    if not time_limit > 0:
        raise TableError(f"time_limit is {time_limit}; give a number of seconds above zero.")
    job = table_job(source, target, **options)
    return Fitting(job, Effort(float(time_limit), job.seed, tell or _silent, memory)).run()


class Fitting:
    """The steps of a fit; after each of them `best` is a model with its assessment."""

    def __init__(self, job: Job, effort: Effort):
        self.job, self.effort, self.time_limit, self.tell = job, effort, effort.seconds, effort.tell
        self.begin = perf_counter()
        self.best: TableFit | None = None
        self.judged = JudgedRows(job)
        self.findings: list[Finding] = []

    def run(self) -> TableFit:
        """All steps, or those until an interrupt."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                self._all_steps()
            except KeyboardInterrupt:
                if self.best is None:
                    raise
                outcome = self.best.outcome
                outcome = replace(outcome, verdict=(*outcome.verdict, STOPPED))
                self.best = replace(self.best, outcome=outcome, stopped=True)
        others = {str(each.message): each for each in caught}
        stopped = [message for message in others if message.startswith(SEARCH_STOPPED)]
        if stopped:
            self.tell(
                f"the search was cut off by the time limit of {self.time_limit:g} s; more may find a better model"
            )
        for message in others.keys() - set(stopped):
            each = others[message]
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
        assert self.best is not None
        return replace(self.best, model=replace(self.best.model, outcome=self.best.outcome.without_rows()))

    def _all_steps(self) -> None:
        job, pairs = self.job, self.job.split.pairs
        plan = job.plan
        self.tell("looking for leaks, copies and shifts")
        treated = plan.treated(job.frame, job.table.source)
        self.findings = examine(
            job.types, job.target, treated, job.y, pairs[0], job.seed, job.split.time, len(job.table)
        )
        self.tell("a first model")
        train, test = pairs[0]
        some = np.sort(train[random_rows(job.y[train], QUICK_ROWS, job.seed)])
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", SEARCH_STOPPED)  # its short time limit is intended
            quick = self._fitted(some, replace(self.effort, seconds=QUICK_SECONDS, tell=_silent))
        few = np.sort(np.random.default_rng(job.seed).permutation(test)[:QUICK_JUDGED])
        self.judged.add(quick, (some, few))
        self._keep(quick, f"the model was fitted to {len(some):,} other rows")
        self.judged = JudgedRows(job)
        self._judge_all()
        self.tell(f"fitting all {len(job.y):,} rows")
        share = LAST_SHARE if job.split.is_folds else JUDGED_PART
        effort = replace(self.effort, seconds=share * self.time_limit)
        last = self._fitted(np.arange(len(job.y)), effort, self._searched_before())
        self._keep(last, "models that had not seen them were judged, and this one then fitted to all")
        self.tell("looking for suspicious targets")
        outcome = self.best.outcome  # type: ignore[union-attr]
        found, among = suspicions(last, outcome)
        self.best = TableFit(last, replace(outcome, suspicious=found, suspicious_among=among))

    def _judge_all(self) -> None:
        """Models of the training rows of all pairs, as far as time allows, each judged on its test rows."""
        job, pairs = self.job, self.job.split.pairs
        share = FOLDS_SHARE / len(pairs) if job.split.is_folds else JUDGED_PART
        for i, pair in enumerate(pairs):
            if job.split.is_folds:
                part = FOLDS_SHARE if i >= FOLDS else 1.0  # the first repetition may use all the time
                if i and perf_counter() - self.begin > part * self.time_limit:
                    break
                self.tell(f"fold {i + 1} of {len(pairs)}")
            tell = _silent if job.split.is_folds else self.tell
            model = self._fitted(pair[0], replace(self.effort, seconds=share * self.time_limit, tell=tell))
            self.judged.add(model, pair)
            self.judged.shuffle(model, pair[1])
            self._keep(model, "the model was fitted to the other rows")

    def _searched_before(self) -> TableModel | None:
        """The judged model, where its search used a subset of rows: another such search would find no better one."""
        model = self.best.model if self.best is not None else None
        many = model is not None and hasattr(model.estimator, "searched") and not self.job.split.is_folds
        return model if many else None

    def _fitted(self, rows: np.ndarray, effort: Effort, like: TableModel | None = None) -> TableModel:
        """A model of some rows; scales and kernel are chosen on them, or taken from another model."""
        job = self.job
        frame, y = job.frame[rows.tolist()], job.y[rows]
        if like is None:
            plan, target = chosen_scales(job.plan, job.target, frame, y, job.table.source, job.seed, job.least)
        else:
            plan, target = like.columns, like.target
        searched = None if like is None else like.estimator.searched
        treated = plan.treated(frame, job.table.source)
        estimator, route = fit_machine(target, treated, target.fitted_scale(y), effort, searched, plan.strings)
        if target.logarithm:
            target = replace(target, smear=smear_of(estimator, target.fitted_scale(y)))
        return TableModel(plan, target, estimator, route, None, FittedRows(job.rows[rows], y))

    def _keep(self, model: TableModel, protocol: str) -> None:
        self.best = TableFit(model, self._outcome(model, protocol))

    def _outcome(self, model: TableModel, protocol: str) -> Outcome:
        job, certificate = self.job, model.estimator.certificate_
        done, folds = len(self.judged.folds), len(job.split.pairs)
        reached = f", and the time was enough for {done} of these {folds} folds" if done < folds else ""
        found, comparisons = self.judged.scores(model.target)
        held_out = self.judged.held_out()
        sentences, use_linear = verdict(model.target, len(held_out.rows), found, comparisons, self.findings)
        return Outcome(
            task=model.target.task,
            target=model.target.name,
            classes=model.target.classes,
            verdict=sentences,
            use_linear=use_linear,
            rows=len(job.table),
            fitted_rows=len(job.split.pairs[0][0]),
            judged_rows=len(held_out.rows),
            protocol=f"{job.split.words}{reached}; {protocol}",
            columns=model.columns.notes(job.types),
            target_treatment=model.target.why,
            scores=tuple(found),
            comparisons=tuple(comparisons),
            coverage=self.judged.coverage(),
            findings=tuple(self.findings),
            model=model.route,
            kernel_words=model.kernel_words(),
            kernel_formula=repr(model.estimator.kernel_),
            plan=route_words(model.target, len(job.y), self.time_limit, self.effort.memory),
            certificate=str(certificate),
            converged=bool(certificate.converged),
            held_out=held_out,
            unfamiliar_share=float(np.mean(held_out.unfamiliar)),
            seconds=perf_counter() - self.begin,
            reproduce=self._reproduce(),
            importance=self.judged.importance(),
        )

    def _reproduce(self) -> dict[str, Any]:
        job = self.job
        return {
            "command": f"representer.fit_table({job.table.source!r}, {job.target.name!r}, seed={job.seed})",
            "seed": job.seed,
            "time_limit": self.time_limit,
            "data": job.table.source,
            "data_sha256": job.table.digest,
            "versions": {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}},
            "settings": {"loss": job.target.loss, "group": job.group or "", "split": job.split.words},
        }


def _silent(text: str) -> None:
    """Report nothing."""


def smear_of(estimator: Any, y: np.ndarray) -> float:
    """The mean of exp(residual): for normal residuals with the leave-one-out deviation, or empirical in a span."""
    residuals = getattr(estimator, "residuals", None)
    if residuals is not None:
        return float(np.mean(np.exp(residuals)))
    return float(np.exp(0.5 * (1.0 - estimator.loo_score_) * np.var(y)))


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
