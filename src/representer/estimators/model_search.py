"""The search for the kernel of a table: families, length scales of columns and alpha, on growing subsets of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone

from representer import _parallel
from representer.estimators.criteria import Average, RidgeErrors
from representer.estimators.starting_kernels import Start
from representer.estimators.tuning import Tuned, Tuning, carried_over
from representer.features.pivoted_cholesky import pivoted_cholesky
from representer.functions import Function
from representer.kernels import checks
from representer.kernels.base import Kernel
from representer.problems.ridge import RidgeProblem
from representer.result import Budget, Result
from representer.solvers import cholesky, conjugate_gradient

FIRST_ROWS = 400
"""Rows on which families and forms of length scales are compared."""
MOST_ROWS = 1600
"""Largest number of rows in a search: one value of the objective takes a multiple of n^3 operations."""
UNSEEN_ROWS = 2000
"""Held-out rows on which a kernel is judged."""
SHRINK = 4.0, 20.0, 100.0
"""Candidate strengths of the penalty on differences of per-column length scales; held-out rows choose."""
SHORT = 0.5
"""Fraction of the usual length scales at which a second search for per-column ones starts."""
FIRST_ALPHA = 0.1
"""Initial alpha of the search."""
FINALISTS = 2
"""Families whose per-column length scales are searched."""
STANDARD_ERRORS = 2.0
"""Standard errors by which a trial's held-out loss must exceed another's to count as worse."""
SETTLED = 0.01
"""Gain in the log error from tuning on twice as many rows, below which no further rows are used."""
SMALL_ALPHA = 0.02
"""Fraction of the mean k(x, x) below which alpha is compared on more rows: ALPHA_ROWS, with ALPHA_FACTORS."""
ALPHA_ROWS, ALPHA_FACTORS = 2800, (1.0, 3.0, 10.0, 30.0, 100.0)
COMPARED_TOL = 1e-4
"""Relative residual of fits whose losses are compared: its square is what it may change of them."""
MANY_SCALES = 30
"""Length scales beyond which they start from the mean squared slopes of the fit with a single one."""

Job = tuple[str, int, float, Kernel, float]
"""Family, rows, shrinkage, and the initial kernel and alpha."""


@dataclass(frozen=True)
class Trial:
    """One tuned kernel, and its losses."""

    family: str
    form: str
    rows: int
    tuned: Tuned
    shrink: float
    unseen: np.ndarray = field(repr=False)
    """The loss of each held-out row; empty if there are too few rows for that."""
    seconds: float = 0.0

    @property
    def loo(self) -> float:
        """The mean leave-one-out loss on its rows, or one over the geometric mean of probabilities, with penalty."""
        return float(np.exp(min(self.tuned.objective, 700.0)))

    @property
    def score(self) -> float:
        """The mean loss on held-out rows, or the leave-one-out loss where there are none."""
        return float(self.unseen.mean()) if self.unseen.size else self.loo


def is_worse(trial: Trial, other: Trial) -> bool:
    """Whether the mean difference of held-out losses exceeds two of its standard errors; not where there are none."""
    if not trial.unseen.size or not other.unseen.size:
        return False
    off = trial.unseen - other.unseen
    return bool(off.mean() > STANDARD_ERRORS * off.std() / np.sqrt(off.size))


def steadiest(trials: list[Trial]) -> Trial:
    """Among trials not significantly worse than the best on held-out rows, the one with the strongest shrinkage.

    A trial is significantly worse if the mean difference of losses exceeds two of its standard errors: the best of
    several is the one that noise favoured most.
    """
    best = min(trials, key=lambda trial: trial.score)
    if not best.unseen.size:
        return best
    alike = [trial for trial in trials if not is_worse(trial, best)]
    most = max(trial.shrink for trial in alike)
    return min((trial for trial in alike if trial.shrink == most), key=lambda trial: trial.score)


class SharedFactor:
    """Fits with several alphas on the same rows.

    One low-rank factor serves all alphas that are no smaller than the first, where it is complete for that one.
    """

    def __init__(self, problem: RidgeProblem):
        self.problem, stop = problem, conjugate_gradient.LITTLE_LEFT * float(problem.alpha.min())
        weights = None if problem.weights is None else problem.sqrt_weights.ravel()
        self.low_rank = pivoted_cholesky(problem.gram, problem.n // 5, stop=stop, weights=weights)

    def function(self, alpha: float) -> Function:
        """The fit with one alpha."""
        problem = replace(self.problem, alpha=np.full_like(self.problem.alpha, alpha))
        if conjugate_gradient.is_complete(self.low_rank, problem):
            return function_of(problem, conjugate_gradient.solve(problem, _budget(problem), "", low_rank=self.low_rank))
        return function_of(problem, cholesky.solve(problem, _budget(problem), ""))


def function_of(problem: RidgeProblem, result: Result) -> Function:
    """The function with the coefficients of a fit."""
    gram = problem.gram
    return Function(gram.kernel, gram.X, result.coef, result.intercept, prepared=gram.inputs, threads=gram.threads)


def _budget(problem: RidgeProblem) -> Budget:
    """For fits whose losses are compared."""
    return Budget(2**34, COMPARED_TOL, threads=problem.gram.threads)


class ModelSearch:
    """Families of kernels with one length scale, then a length scale per column, then more rows.

    `stopped` tells whether a step was left out, or cut short, because of the deadline.

    Parameters
    ----------
    errors : RidgeErrors
        On all rows.
    start : Start
        The kernels that are compared.
    deadline : float
        The time of `perf_counter` after which no further step begins.
    seed : int
    tell : function of a text
        Called before each trial.
    """

    def __init__(self, errors: RidgeErrors, start: Start, deadline: float, seed: int, tell: Callable[[str], None]):
        self.errors, self.start, self.deadline, self.tell = errors, start, deadline, tell
        self.n = errors.n
        self.order = errors.order(seed)
        self.trials: list[Trial] = []
        self.stopped = False

    def run(self) -> Trial:
        """The best trial; the first one is run regardless of the deadline."""
        rows = min(self.n, FIRST_ROWS)
        starts = [(name, rows, np.inf, kernel, FIRST_ALPHA) for name, kernel in self.start.kernels.items()]
        self._try_all(starts, judged=len(self._others(rows)) > 0)
        best = self._columns(sorted(self.trials, key=lambda trial: trial.score)[:FINALISTS], rows)
        while rows < min(self.n, MOST_ROWS) and not self._late(8.0 * best.seconds):
            rows = min(2 * rows, self.n, MOST_ROWS)
            tuned = best.tuned
            found = self._try((best.family, rows, best.shrink, tuned.kernel, tuned.strength), max_iter=6)
            if found is None:
                break
            best = found
            if found.tuned.at_start - found.tuned.objective < SETTLED:
                break
        return self._for_all_rows(best)

    def _for_all_rows(self, best: Trial) -> Trial:
        """The trial with alpha for all rows.

        It is extrapolated from the best alphas for the rows of the trial and for halves of them. Where alpha is small,
        the criterion is flat, and alpha may be far too small for more rows: then fits to more rows are compared on
        held-out ones, and the power law is that between both numbers of rows.
        """
        if self.n < 2 * best.rows or self._late(best.seconds):
            return best
        self.tell("alpha for all rows")
        kernel, alpha, rows = best.tuned.kernel, best.tuned.strength, self.order[: best.rows]
        if alpha < SMALL_ALPHA * self.errors.problem(kernel, alpha).diagonal.mean():
            larger, most = self._of_unseen(best, alpha), min(ALPHA_ROWS, self.n // 2)
            alpha = carried_over(alpha, larger, most / best.rows, self.n / most)
        else:
            halves = Average([self.errors.on(half) for half in np.array_split(rows, 2)])
            half = Tuning(halves, fixed=list(kernel.get_params()), tol=1e-4, max_iter=8).run(kernel, alpha, self._late)
            alpha = carried_over(half.strength, alpha, 2.0, self.n / best.rows)
        return replace(best, tuned=replace(best.tuned, strength=alpha))

    def _of_unseen(self, best: Trial, alpha: float) -> float:
        """The largest alpha, with more rows, that is not significantly worse than the best on held-out rows.

        Losses fall and then rise with alpha, so the first alpha that is worse is the last one tried.
        """
        most = min(ALPHA_ROWS, self.n // 2)
        rows, unseen = self.order[:most], self.order[most : most + UNSEEN_ROWS]
        chosen, least, fits = alpha, np.empty(0), SharedFactor(self.errors.on(rows).problem(best.tuned.kernel, alpha))
        for factor in ALPHA_FACTORS:
            losses = self._losses(fits.function(factor * alpha), unseen)
            if not least.size or losses.mean() < least.mean():
                least = losses
            off = losses - least
            if off.mean() > off.std() / np.sqrt(off.size):
                break
            chosen = factor * alpha
            if self._late():
                break
        return chosen

    def _columns(self, finalists: list[Trial], rows: int) -> Trial:
        """The best on held-out rows among trials with one length scale and those with a length scale per column.

        The least shrunk are searched first, from the best common length scale and from a short one: where few columns
        matter, the best common one is too long to reveal them. Stronger shrinkage starts from their results.
        """
        if not self.start.has_columns:
            return finalists[0]
        freest = [
            (trial.family, rows, SHRINK[0], *start)
            for trial in finalists
            for start in ((self._spread(trial), trial.tuned.strength), (self._short(trial.family), FIRST_ALPHA))
        ]
        found = self._try_all(freest, judged=False)
        families = [[trial for trial in found if trial.family == other.family] for other in finalists]
        ends = [min(trials, key=lambda trial: trial.loo) for trials in families if trials]
        judged = self._judge([*finalists, *ends])
        return steadiest([*judged, *self._shrunk(judged[len(finalists) :])])

    def _shrunk(self, trials: list[Trial]) -> list[Trial]:
        """Trials with stronger and stronger shrinkage, for each family as long as that may help.

        It stops where the loss is worse than with less shrinkage, or no lower and worse than that of another trial.
        """
        found: list[Trial] = []
        ends = last = {trial.family: trial for trial in trials}
        for shrink in SHRINK[1:]:
            starts = [ends[family] for family in last]
            if not starts:
                break
            tried = self._try_all([(t.family, t.rows, shrink, t.tuned.kernel, t.tuned.strength) for t in starts])
            found += tried
            best = min([*trials, *found], key=lambda trial: trial.score)
            promising = [t for t in tried if t.score < last[t.family].score or not is_worse(t, best)]
            last = {t.family: t for t in promising if not is_worse(t, last[t.family])}
        return found

    def _judge(self, trials: list[Trial]) -> list[Trial]:
        """The trials with losses on held-out rows, which takes a search in each fold where there are few rows."""
        judged = self._at_once(trials, lambda trial: replace(trial, unseen=self._unseen(trial)))
        known = {id(trial): other for trial, other in zip(trials, judged, strict=True)}
        self.trials = [known.get(id(trial), trial) for trial in self.trials]
        return judged

    def _spread(self, trial: Trial) -> Kernel:
        """The kernel of a trial with one length scale, or with scales from slopes where there are many columns."""
        return self._with_slopes(trial) if self._has_slopes else trial.tuned.kernel

    def _short(self, family: str) -> Kernel:
        """The initial kernel of a family, with shorter length scales."""
        kernel = clone(self.start.kernels[family])
        known = kernel.get_params()
        return kernel.set_params(**{name: SHORT * np.asarray(known[name]) for name in self.start.scales})

    def _late(self, seconds: float = 0.0) -> bool:
        """Whether a step that takes ``seconds`` would end after the deadline, so that it is left out."""
        late = perf_counter() + seconds > self.deadline
        self.stopped |= late
        return late

    def _on(self, rows: np.ndarray, family: str, shrink: float, max_iter: int) -> Tuning:
        """The search on some rows; a coarse one if a search on more rows follows."""
        return Tuning(
            self.errors.on(rows),
            shrink=shrink,
            usual=self.start.kernels[family],
            groups=self.start.groups,
            fixed=self.start.fixed,
            tol=1e-3 if len(rows) < min(self.n // 2, MOST_ROWS) else 1e-4,
            max_iter=max_iter,
        )

    def _at_once(self, items: list[Any], visit: Callable[[Any], Any]) -> list[Any]:
        """visit(item) for each item; several at once, each on one thread."""

        def one_by_one(run: Any) -> list[Any]:
            with _parallel.one_thread():
                return [visit(item) for item in run]

        runs = _parallel.map_tiles(items, one_by_one, threads=self.errors.threads, runs=len(items))
        return [found for run in runs for found in run]

    def _try_all(self, jobs: list[Job], judged: bool = True) -> list[Trial]:
        """The trials for which there is time."""
        first = jobs[0] if not self.trials else None
        tried = self._at_once(jobs, lambda job: self._tried(job, job is first, judged=judged))
        found = [trial for trial in tried if trial is not None]
        self.trials += found
        return found

    def _try(self, job: Job, max_iter: int) -> Trial | None:
        """A trial on all threads, unless it is too late for another one."""
        found = self._tried(job, False, max_iter)
        if found is not None:
            self.trials.append(found)
        return found

    def _tried(self, job: Job, at_once: bool, max_iter: int = 25, judged: bool = True) -> Trial | None:
        family, rows, shrink, kernel, alpha = job
        if not at_once and self._late(self.trials[-1].seconds if self.trials else 0.0):
            return None
        form = "one length scale" if shrink == np.inf else f"a length scale per column, shrink {shrink:g}"
        self.tell(f"{family}, {form}, {rows:,} rows")
        begin = perf_counter()
        tuned = self._on(self.order[:rows], family, shrink, max_iter).run(kernel, alpha, self._late)
        trial = Trial(family, form, rows, tuned, shrink, np.empty(0))
        return replace(trial, unseen=self._unseen(trial) if judged else trial.unseen, seconds=perf_counter() - begin)

    def _others(self, rows: int) -> np.ndarray:
        """Rows outside those of a trial; none where there are too few of them."""
        left = self.order[rows : rows + UNSEEN_ROWS]
        return left if len(left) >= min(rows // 2, 250) else left[:0]

    def _unseen(self, trial: Trial) -> np.ndarray:
        """Losses on rows outside the trial; where there are few, on folds whose tuning did not see them."""
        left = self._others(trial.rows)
        if len(left):
            return self._losses(self.function(trial.tuned, self.order[: trial.rows]), left)
        if trial.rows > FIRST_ROWS:
            return np.empty(0)
        losses, untied = [], self.start.untied(trial.tuned.kernel, trial.family)  # so that nothing is known of the fold
        for fold in np.array_split(np.arange(trial.rows), 3):
            rest = np.setdiff1d(np.arange(trial.rows), fold)
            some = self.order[rest]
            kernel = trial.tuned.kernel if trial.shrink == np.inf else untied
            tuned = self._on(some, trial.family, trial.shrink, 20).run(kernel, trial.tuned.strength, self._late)
            losses.append(self._losses(self.function(tuned, some), self.order[fold]))
        return np.concatenate(losses)

    def _losses(self, function: Function, unseen: np.ndarray) -> np.ndarray:
        errors = self.errors
        truth, found = errors.targets[unseen], function(checks.take(errors.X, unseen))
        losses = ((truth - found) ** 2 if errors.loss is None else errors.loss.value(truth, found)).mean(axis=1)
        if errors.weights is None:
            return losses
        weights = errors.weights[unseen]
        return losses * weights / weights.mean()

    def function(self, tuned: Tuned, rows: np.ndarray) -> Function:
        """The fit to some rows."""
        problem: RidgeProblem = self.errors.on(rows).problem(tuned.kernel, tuned.strength)
        return function_of(problem, cholesky.solve(problem, _budget(problem), ""))

    @property
    def _has_slopes(self) -> bool:
        """Whether there are so many numeric columns that length scales start from the slopes along them."""
        one = len(self.start.scales) == 1 and isinstance(self.errors.X, np.ndarray)
        return one and len(np.unique(self._groups)) > MANY_SCALES

    @property
    def _groups(self) -> np.ndarray:
        """For each column, the group that shares its length scale."""
        return np.arange(self.errors.X.shape[1]) if self.start.groups is None else self.start.groups

    def _with_slopes(self, trial: Trial) -> Kernel:
        """The kernel with length scales that decrease with the function's root mean squared slope along each column.

        Columns that share a length scale have that of their mean square.
        """
        rows, [name] = self.order[: trial.rows], self.start.scales
        scales = np.asarray(self.start.kernels[trial.family].get_params()[name])
        slopes = self.function(trial.tuned, rows).gradient(self.errors.X[rows[:200]])
        squares = np.mean(slopes.reshape(-1, len(scales)) ** 2, axis=0) * scales**2
        groups = self._groups
        squares = (np.bincount(groups, squares) / np.maximum(np.bincount(groups), 1))[groups]
        factors = (squares + 1e-3 * squares.mean()) ** -0.25
        factors = np.clip(factors / np.exp(np.log(factors).mean()), 0.2, 5.0)
        kernel = clone(trial.tuned.kernel)
        return kernel.set_params(**{name: factors * kernel.get_params()[name]})
