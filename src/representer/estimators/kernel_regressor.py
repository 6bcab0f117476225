"""The regression to start with: kernel, length scales and alpha are found by leave-one-out."""

from __future__ import annotations

import sys
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from representer import _parallel
from representer.estimators.base import KernelEstimator, atomic, own, warn_user
from representer.estimators.criteria import RidgeErrors, robust
from representer.estimators.hyperparameters import deviation
from representer.estimators.inputs import check_inputs, check_targets, check_weights, evenly_spaced
from representer.estimators.model_search import MOST_ROWS, SETTLED, ModelSearch, Trial
from representer.functions import Function
from representer.gram.tiled import Gram
from representer.kernels import checks
from representer.kernels.stationary import RBF
from representer.losses.base import Loss
from representer.problems.ridge import RidgeProblem
from representer.processes.posterior import ExactPosterior, IterativePosterior
from representer.result import Plan, Result
from representer.solvers import choose
from representer.solvers.leave_one_out import LeaveOneOut, leave_one_out, loo_bytes

LOO_ROWS = 2000
"""Rows whose leave-one-out residuals are computed; evenly spaced over all."""
FACTOR_ROWS = 12_000
"""Rows up to which bands come from a factor in float64."""
COVERED, DEVIATIONS_OF_BAND = 0.96, 1.96
"""Share of the leave-one-out residuals that are within so many standard deviations: one in a hundred more than of new
measurements, as the tuning has seen them."""
FAR_OFF = 15.0
"""Times the median of leave-one-out residuals: ten standard deviations of a normal law."""
FEWEST = 5
"""Rows that leave-one-out needs at least to compare kernels."""


class SearchedModel(KernelEstimator):
    """What the models to start with share: the search, the exact fit of all rows, and the report."""

    kernel = None
    _posterior: Any
    _outlying: int
    """Rows whose leave-one-out residual is far beyond the others."""
    time_limit: float
    verbose: int
    random_state: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.pairwise = False
        return tags

    def _rows(self, X: Any) -> np.ndarray:
        """Rows of numbers, copied; sparse ones are refused, as length scales of columns need their quartiles."""
        if sparse.issparse(X):
            raise TypeError(
                f"X is sparse, which {type(self).__name__} does not take; use X.toarray(), or a model with tune='loo', "
                "such as KernelRidge or SVC, which take sparse rows."
            )
        return own(check_inputs(self, X, RBF(), reset=True)).astype(np.float64, copy=False)

    def _searched(self, X: np.ndarray, targets: np.ndarray, weights: np.ndarray | None, loss: Loss | None) -> Trial:
        """The best trial on rows that have a weight."""
        checks.positive(self.time_limit, "time_limit")
        deadline = perf_counter() + self.time_limit
        rows = np.arange(len(X)) if weights is None else np.flatnonzero(weights)
        if len(rows) < FEWEST:
            raise ValueError(
                f"There are n_samples = {len(rows)} rows; choosing a kernel by leave-one-out needs at least {FEWEST}."
            )
        some = None if weights is None else weights[rows]
        errors = RidgeErrors(X[rows], targets[rows], some, True, loss, threads=self.threads)
        search = ModelSearch(errors, deadline, checks.integer(self.random_state, "random_state", 0), self._tell)
        with _parallel.one_blas_thread():
            best = search.run()
        self._tell("")
        self.trials_ = search.trials
        if perf_counter() > deadline:
            warn_user(f"The search stopped at its time_limit of {self.time_limit:g} s; the best so far is fitted.")
        return best

    def _tell(self, text: str) -> None:
        if self.verbose:
            print(f"\r{text:<79}", end="" if text else "\r", file=sys.stderr, flush=True)

    def _found(
        self, X: np.ndarray, targets: np.ndarray, weights: np.ndarray | None, loss: Loss | None
    ) -> tuple[RidgeProblem, Result]:
        """The problem with the best kernel and alpha for all rows, and its exact solution.

        Columns are centred, which changes nothing but the intercept: values of the linear part, whose coefficients have
        the sum zero, are small differences of large ones otherwise.
        """
        self._centre, self._outlying = np.median(X, axis=0), 0
        X = X - self._centre
        best = self._searched(X, targets, weights, loss)
        self.kernel_, self.alpha_ = best.tuned.kernel, best.tuned.strength
        self._scales = np.asarray(self.kernel_.get_params()["right__kernel__length_scale"])
        alphas = np.full(targets.shape[1], self.alpha_)
        problem = RidgeProblem(self._gram(self.kernel_, X), targets, alphas, weights, True)
        result = choose.solve_ridge(problem, self._budget())
        self.certificate_ = result.certificate
        return problem, result

    def _function(self, X: np.ndarray, coef: np.ndarray, intercept: np.ndarray, shift: Any, single: bool) -> Function:
        """f in the units of the columns, from coefficients and intercept for centred ones, plus a constant."""
        centred = Function(self.kernel_, X - self._centre, coef)(X[:1] - self._centre)
        here = Function(self.kernel_, X, coef)(X[:1])
        constant = shift + intercept + (centred - here)[0]
        return Function(
            self.kernel_,
            X,
            coef[:, 0] if single else coef,
            constant[0] if single else constant,
            threads=self.threads,
        )

    def _left_out(self, problem: RidgeProblem) -> tuple[np.ndarray, LeaveOneOut]:
        """Rows with a weight, evenly spaced over all, and what leaving out each of them gives."""
        rows = np.arange(problem.n) if problem.weights is None else np.flatnonzero(problem.weights)
        rows = rows[evenly_spaced(len(rows), LOO_ROWS)]
        weights = None if problem.weights is None else problem.weights[rows]
        part = RidgeProblem(problem.gram.take(rows), problem.targets[rows], problem.alpha, weights, True)
        return rows, leave_one_out(part)

    def plan(self, X: Any, y: Any = None) -> Plan:
        """How the chosen kernel would be fitted to all rows, and the memory and time with that of the search."""
        n = checks.number_of(X)
        gram = self._gram(RBF().with_default_scales(X), X)
        problem = RidgeProblem(gram, np.zeros((n, 1)), np.array([1e-2]), None, True)
        budget = self._budget()
        plan = choose.ridge(problem, budget)[1]
        rows = min(n, MOST_ROWS)
        seconds = plan.seconds + min(self.time_limit, 1e-9 * rows**3 + 1e-5 * rows)
        bytes_ = max(plan.bytes, loo_bytes(max(rows, min(n, LOO_ROWS)), 1, self.threads))
        values = plan.kernel_evaluations + 200 * rows**2
        return Plan(
            plan.solver, "leave-one-out chooses the kernel first", bytes_, values, seconds, plan.refusal
        ).within(budget.memory, "use fewer rows, or a larger memory=")

    def report(self) -> str:
        """What was tried, with the mean loss of unseen rows, what was chosen, and what to try next."""
        check_is_fitted(self)
        lines = [f"{'kernel':12}{'length scales':40}{'rows':>7}{'leave-one-out':>15}{'unseen rows':>13}{'s':>7}"]
        for trial in self.trials_:
            unseen = f"{trial.score:.4g}" if trial.unseen.size else "-"
            lines.append(
                f"{trial.family:12}{trial.form:40}{trial.rows:>7,}{trial.loo:>15.4g}{unseen:>13}{trial.seconds:>7.1f}"
            )
        lines += [f"chosen: {self.kernel_!r} with alpha = {self.alpha_:.3g}", str(self.certificate_), *self._advice()]
        return "\n".join(lines)

    def _advice(self) -> list[str]:
        known = np.atleast_1d(self.kernel_.get_params()["left__length_scale"])
        spread = known / self._scales
        names = getattr(self, "feature_names_in_", np.arange(len(known)))
        idle = [str(name) for name, ratio in zip(names, spread, strict=True) if ratio > 30.0 * np.median(spread)]
        last, advice = self.trials_[-1], []
        if idle:
            advice.append(f"try without the columns {', '.join(idle)}, which hardly matter.")
        if last.rows >= MOST_ROWS and last.tuned.at_start - last.tuned.objective >= SETTLED:
            advice.append("more rows still changed the kernel: try KernelRidge(kernel=model.kernel_, tune='loo').")
        if self._outlying > 0:
            advice.append(f"{self._outlying} rows are far off when left out: look at them, or try criterion='huber'.")
        if last.form == "one length scale" and len(known) > 1:
            advice.append("unseen rows could not tell columns apart: more rows, or fewer columns, may do.")
        return advice or ["nothing stands out: more rows or better columns will help more than another kernel."]


class KernelRegressor(MultiOutputMixin, RegressorMixin, SearchedModel):
    r"""minimise over f in H and b:  sum_i w_i (y_i - f(x_i) - b)^2 + alpha ||f||^2, kernel and alpha by leave-one-out.

    Matern-1/2, 3/2, 5/2 and RBF kernels plus a linear part are compared on some hundred rows, with one length scale and
    with a length scale per column. Those of columns are shrunk to one by a penalty whose strength is chosen on rows
    that the tuning did not see. The best is tuned on more rows as long as that pays, and fitted to all of them exactly.

    Parameters
    ----------
    criterion : {"squared", "huber"}
        What leave-one-out errors are compared by; "huber" counts large ones by their size, and cuts targets off at four
        robust deviations from their median, so that a few corrupt rows do not decide.
    time_limit : float
        Seconds after which no step of the search begins.
    random_state : int
        Seed of the subsets.
    tol : float
        Relative residual of the fit.
    memory : int, optional
        Bytes that a fit may take.
    threads : int, optional
    verbose : int
        1 for a line of progress.

    Attributes
    ----------
    kernel_ : Kernel
        In the units of the columns.
    alpha_ : float
    function_ : Function
        The fitted function, intercept included.
    loo_score_ : float
        R^2 of the leave-one-out predictions.
    noise_ : float or array of shape (n_targets,)
        The standard deviation of a measurement about f, in the units of y.
    trials_ : list of Trial
        What was tried.
    certificate_ : Certificate

    Notes
    -----
    A weight is a repeated row for the fit of a kernel, but not for its choice: a repeated row is seen when one of its
    copies is left out.

    Examples
    --------
    >>> import numpy as np
    >>> from representer import KernelRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=200)
    >>> model = KernelRegressor().fit(X, y)
    >>> bool(model.loo_score_ > 0.95)
    True
    """

    def __init__(
        self,
        *,
        criterion: str = "squared",
        time_limit: float = 300.0,
        random_state: int = 0,
        tol: float = 1e-6,
        memory: int | None = None,
        threads: int | None = None,
        verbose: int = 0,
    ):
        self.criterion = criterion
        self.time_limit = time_limit
        self.random_state = random_state
        self.tol = tol
        self.memory = memory
        self.threads = threads
        self.verbose = verbose

    @atomic
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelRegressor:
        """Fit to rows X and targets y of shape (n,) or (n, n_targets)."""
        X = self._rows(X)
        y = check_targets(self, X, y)
        weights = check_weights(sample_weight, X)
        if self.criterion not in ("squared", "huber"):
            raise ValueError(f"criterion is {self.criterion!r}; use 'squared' or 'huber'.")
        Y = y.reshape(len(y), -1)
        centre, units = np.average(Y, axis=0, weights=weights), deviation(Y)
        targets = (Y - centre) / units
        targets, loss = robust(targets) if self.criterion == "huber" else (targets, None)
        problem, result = self._found(X, targets, weights, loss)
        single = y.ndim == 1
        self.function_ = self._function(X, units * result.coef, units * result.intercept, centre, single)
        self._set_bands(problem, units, single)
        self._warn_unless_converged(result.certificate, "use a larger tol")
        return self

    def _set_bands(self, problem: RidgeProblem, units: np.ndarray, single: bool) -> None:
        """The units in which variances of the process cover the leave-one-out residuals; R^2 of their predictions."""
        rows, left_out = self._left_out(problem)
        truth = problem.targets[rows]
        errors = truth - left_out.predictions
        scores = np.abs(errors) / np.sqrt(left_out.variances)[:, None]
        far = FAR_OFF * np.median(scores, axis=0)
        self._outlying = 0 if self.criterion == "huber" else int(np.count_nonzero(np.any(scores > far, axis=1)))
        amplitude = np.quantile(scores, COVERED, axis=0) / DEVIATIONS_OF_BAND
        self._amplitude, self._posterior = units * np.maximum(amplitude, 1e-300), None
        self._weights = np.ones(problem.n) if problem.weights is None else problem.weights
        noise = self._amplitude * np.sqrt(self.alpha_)
        self.noise_ = float(noise[0]) if single else noise
        variance = np.average((truth - np.average(truth, axis=0)) ** 2)
        self.loo_score_ = 1.0 - float(np.mean(errors**2) / max(variance, 1e-300))

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """f(x) + b for each x in X, and with ``return_std`` the standard deviation of a new measurement there.

        It has the units of y: 96 % of the leave-one-out residuals are within 1.96 of it, and about 95 % of new ones.
        """
        values = self._values(X)
        if not return_std:
            return values
        rows = check_inputs(self, X, self.kernel_, reset=False).astype(np.float64, copy=False)
        deviations = np.sqrt(self._variances(rows) + self.alpha_)
        single = self.function_.coef.ndim == 1
        return values, deviations * self._amplitude[0] if single else deviations[:, None] * self._amplitude

    def _variances(self, X: np.ndarray) -> np.ndarray:
        """k(x, x) - k' (K + alpha W^(-1))^(-1) k for new rows, with the factor kept from the first use on."""
        kept = np.flatnonzero(self._weights)
        fitted, X = self.function_.X[kept] - self._centre, X - self._centre
        if self._posterior is None:
            kind: Any = ExactPosterior if len(kept) <= FACTOR_ROWS else IterativePosterior
            self._posterior = kind(self.kernel_, fitted, self.alpha_ / self._weights[kept], threads=self.threads)
        posterior, own_values, out = self._posterior, self.kernel_.diag(X), np.empty(len(X))
        for i in range(0, len(X), posterior.at_once):
            part = slice(i, i + posterior.at_once)
            columns = Gram(self.kernel_, fitted, X[part], threads=self.threads).dense()
            out[part] = own_values[part] - posterior.explained(np.asfortranarray(columns))
        return np.maximum(out, 0.0)
