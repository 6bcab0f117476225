"""What KernelRegressor and KernelClassifier share: the kernel search, the exact fit to all rows, and the report."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted, validate_data

from representer import _parallel
from representer.estimators import starting_kernels
from representer.estimators.base import KernelEstimator, own, warn_user
from representer.estimators.criteria import RidgeErrors
from representer.estimators.inputs import in_precision_of, is_precomputed, to_kernel
from representer.estimators.left_out import LOO_ROWS, LeftOutFit
from representer.estimators.model_search import FINALISTS, MOST_ROWS, SETTLED, SHRINK, ModelSearch, Trial
from representer.estimators.progress import Progress
from representer.estimators.starting_kernels import Start
from representer.estimators.table_encoding import TableEncoding, needs_encoding
from representer.functions import Function
from representer.kernels import checks
from representer.kernels.stationary import RBF
from representer.problems.ridge import RidgeProblem
from representer.result import Plan, Result
from representer.rows.validation import check_inputs
from representer.solvers import choose
from representer.solvers.leave_one_out import loo_bytes

FEWEST = 4
"""Smallest number of rows with which leave-one-out can compare kernels."""


class SearchedModel(KernelEstimator):
    """What KernelRegressor and KernelClassifier share: the search, the exact fit to all rows, and the report."""

    _encoding: TableEncoding | None
    _centre: np.ndarray | None
    _chosen: str
    """Family and form of the kernel."""
    _at_bounds: list[str]
    """Hyper-parameters of the kernel that the search could not move further."""
    _outlying: int
    """Rows whose leave-one-out residual is far beyond the others."""
    time_limit: float
    verbose: int
    random_state: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = False
        return tags

    def _rows(self, X: Any, declared: dict[str, str] | None) -> Any:
        """Inputs of the kernel: a copy of numeric rows, sparse rows, data frames with other columns, or any inputs."""
        self._encoding = self._centre = None
        if is_precomputed(self.kernel):
            raise ValueError(
                f"{type(self).__name__} searches among kernels of rows; use KernelRidge or SVC with a precomputed one."
            )
        if self.kernel is not None:
            rows = check_inputs(self, X, to_kernel(self.kernel), reset=True)
        elif needs_encoding(X):
            validate_data(self, X, skip_check_array=True)
            self._encoding = TableEncoding.of(X, declared)
            return self._encoding.rows(X)
        else:
            rows = check_inputs(self, X, RBF(), reset=True)
        rows = own(rows)
        is_numbers = isinstance(rows, np.ndarray) and rows.dtype.kind == "f"
        return rows.astype(np.float64, copy=False) if is_numbers or sparse.issparse(rows) else rows

    def rows_of(self, X: Any) -> Any:
        """The inputs as the kernel takes them: ``function_(rows_of(X))`` predicts."""
        if self._encoding is not None:
            validate_data(self, X, skip_check_array=True, reset=False)
            return self._encoding.rows(X)
        return check_inputs(self, X, self.kernel_, reset=False)

    def _values(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        rows = self.rows_of(X)
        values = self.function_(rows)
        return in_precision_of(rows, values)

    def _start(self, X: Any, weights: np.ndarray | None) -> Start:
        """The kernels that are compared on these rows."""
        if self.kernel is not None:
            return starting_kernels.for_given(to_kernel(self.kernel), X, weights)
        if self._encoding is not None and self._encoding.own:
            return starting_kernels.for_frame(X, self._encoding)
        if sparse.issparse(X):
            return starting_kernels.for_sparse(X)
        return starting_kernels.for_numbers(X, self._encoding)

    def _searched(self, errors: RidgeErrors, progress: Progress) -> Trial:
        """The best trial."""
        checks.positive(self.time_limit, "time_limit")
        deadline = perf_counter() + self.time_limit
        if errors.n < FEWEST:
            raise ValueError(
                f"There are n_samples = {errors.n} distinct rows; choosing a kernel by leave-one-out needs at "
                f"least {FEWEST}."
            )
        seed = checks.integer(self.random_state, "random_state", 0)
        start = self._start(errors.X, errors.weights)
        expected = len(start.kernels) + FINALISTS * (len(SHRINK) + 1) + 3

        def tell(text: str) -> None:
            progress.count(text, progress.steps + 1, max(expected, progress.steps + 1))

        search = ModelSearch(errors, start, deadline, seed, tell)
        with _parallel.one_blas_thread():
            best = search.run()
        self.trials_, self._relative = search.trials, search.start.relative(best.tuned.kernel, best.family)
        self._chosen, self._at_bounds = f"{best.family} kernel with {best.form}", best.tuned.at_bounds()
        if search.stopped:
            warn_user(
                f"The search stopped at its time_limit of {self.time_limit:g} s; the best so far is fitted, without "
                "the steps that would have ended later."
            )
        return best

    def _found(self, errors: RidgeErrors) -> tuple[LeftOutFit, Result]:
        """The fit to all rows of the criterion, which are distinct, with the best kernel and alpha, solved exactly.

        Columns are centred unless the kernel was given, which changes only the intercept: otherwise values of the
        linear part, whose coefficients sum to zero, are small differences of large ones.
        """
        self._outlying = 0
        if self.kernel is None and isinstance(errors.X, np.ndarray):
            self._centre = np.median(errors.X, axis=0)
        errors = replace(errors, X=self._centred(errors.X), threads=self.threads)
        budget = self._budget()
        self._plan_of(errors.n, errors.targets.shape[1]).require()  # before long work
        with Progress(self.verbose, self.tol) as progress:
            best = self._searched(errors, progress)
        self.kernel_, self.alpha_ = best.tuned.kernel, best.tuned.strength
        fit = LeftOutFit(self._gram(self.kernel_, errors.X), errors.targets, self.alpha_, errors.weights)
        with Progress(self.verbose, self.tol) as progress:
            progress.expect("fit to all rows", choose.plan(fit.problem, budget).seconds)
            result = fit.solve(replace(budget, progress=progress))
        self.certificate_ = result.certificate
        return fit, result

    def _centred(self, X: Any) -> Any:
        return X if self._centre is None else X - self._centre

    def _function(self, X: Any, coef: np.ndarray, constant: np.ndarray, single: bool) -> Function:
        """f in the units of the columns, from the coefficients and constant for centred columns."""
        if self._centre is not None:
            one = self._centred(X[:1])
            centred, here = Function(self.kernel_, self._centred(X), coef)(one), Function(self.kernel_, X, coef)(X[:1])
            constant = constant + (centred - here)[0]
        return Function(
            self.kernel_,
            X,
            coef[:, 0] if single else coef,
            constant[0] if single else constant,
            threads=self.threads,
        )

    def plan(self, X: Any, y: Any = None) -> Plan:
        """How the chosen kernel would be fitted to all rows, and the memory and time, including those of the search."""
        return self._plan_of(checks.number_of(X), 1 if y is None else self._count_targets(y))

    def _count_targets(self, y: Any) -> int:
        """The number of functions that are fitted to y."""
        raise NotImplementedError

    def _plan_of(self, n: int, targets: int) -> Plan:
        gram = self._gram(RBF(), np.zeros((n, 1)))
        problem = RidgeProblem(gram, np.zeros((n, targets)), np.full(targets, 1e-2), None, True)
        budget = self._budget()
        plan = choose.plan(problem, budget)
        rows = min(n, MOST_ROWS)
        seconds = plan.seconds + min(self.time_limit, 1e-9 * rows**3 + 1e-5 * rows)
        bytes_ = max(plan.bytes, loo_bytes(max(rows, min(n, LOO_ROWS)), targets, self.threads))
        values = plan.kernel_evaluations + 200 * rows**2
        return Plan(
            plan.solver, "leave-one-out chooses the kernel first", bytes_, values, seconds, plan.refusal
        ).within(budget.memory, "use fewer rows, or a larger memory=")

    def report(self) -> str:
        """What was tried, with the mean loss on unseen rows, what was chosen, and what to try next."""
        check_is_fitted(self)
        lines = [f"{'kernel':12}{'length scales':40}{'rows':>7}{'leave-one-out':>15}{'unseen rows':>13}{'s':>7}"]
        for trial in self.trials_:
            unseen = f"{trial.score:.4g}" if trial.unseen.size else "-"
            lines.append(
                f"{trial.family:12}{trial.form:40}{trial.rows:>7,}{trial.loo:>15.4g}{unseen:>13}{trial.seconds:>7.1f}"
            )
        if self._encoding is not None:
            lines.append(str(self._encoding))
        lines += [f"chosen: {self.kernel_!r} with alpha = {self.alpha_:.3g}", str(self.certificate_), *self._advice()]
        return "\n".join(lines)

    def _advice(self) -> list[str]:
        """What stands out in the search and the leave-one-out residuals."""
        last, advice = self.trials_[-1], []
        if idle := self._idle_columns():
            advice.append(f"try without the columns {', '.join(idle)}, which hardly matter.")
        if last.rows >= MOST_ROWS and last.tuned.at_start - last.tuned.objective >= SETTLED:
            advice.append("more rows still changed the kernel: try KernelRidge(kernel=model.kernel_, tune='loo').")
        if "alpha (lower)" in self._at_bounds:
            advice.append("alpha fell to its bound: the targets look free of noise.")
        if "alpha (upper)" in self._at_bounds:
            advice.append("alpha grew to its bound: these columns hardly predict the targets.")
        if names := [name for name in self._at_bounds if not name.startswith("alpha ")]:
            advice.append(f"the search ended at a bound of {', '.join(names)}: give a kernel= with other values.")
        if self._outlying > 0:
            advice.append(f"{self._outlying} rows are far off when left out: look at them, or try criterion='huber'.")
        if self._chosen.endswith("one length scale") and sum(map(np.size, self._relative.values())) > 1:
            advice.append("unseen rows did not support a length scale per column: more rows, or fewer columns, may.")
        return advice or ["nothing stands out: more rows or better columns will help more than another kernel."]

    @property
    def row_names(self) -> list[str]:
        """The names of the numeric columns of `rows_of`; empty where there are none."""
        if self._encoding is not None:
            return self._encoding.names
        return [str(name) for name in getattr(self, "feature_names_in_", range(getattr(self, "n_features_in_", 0)))]

    def kernel_words(self) -> list[str]:
        """The chosen kernel in words, and its length scale for each column, shortest relative one first."""
        check_is_fitted(self)
        lines = [f"{self._chosen}, alpha = {self.alpha_:.3g}"]
        if len(self._relative) == 1:
            [(name, spread)] = self._relative.items()
            scales = np.broadcast_to(self.kernel_.get_params()[name], np.shape(spread))
            if np.ndim(spread) == 1 and len(spread) == len(self.row_names):
                order = np.argsort(spread, kind="stable")
                lines += [f"{self.row_names[i]}: length scale {scales[i]:.3g}" for i in order]
        return lines

    def _idle_columns(self) -> list[str]:
        """Columns whose length scale is far above the others'."""
        if len(self._relative) != 1:
            return []
        [spread] = self._relative.values()
        names = self.row_names
        if len(names) != len(spread):  # of a given kernel on some columns
            return []
        return [str(name) for name, ratio in zip(names, spread, strict=True) if ratio > 30.0 * np.median(spread)]
