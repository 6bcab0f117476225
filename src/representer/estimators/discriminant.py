"""The kernel Fisher discriminant: directions of H along which classes are compact and far apart."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.linalg import eigh, null_space
from sklearn.base import ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from representer import _parallel
from representer.estimators.base import KernelEstimator, atomic, own
from representer.estimators.discriminant_in_span import DiscriminantInSpan
from representer.estimators.in_span import basis_for, function_of, kernel_for_rows, with_approximation
from representer.estimators.inputs import check_labels, check_weights, to_kernel
from representer.estimators.row_targets import labels
from representer.functions import Function
from representer.kernels import checks
from representer.kernels.base import Kernel
from representer.problems.ridge import RidgeProblem
from representer.result import Budget, Plan, Result
from representer.rows.arrays import ArrayRows
from representer.rows.base import Rows
from representer.rows.validation import check_inputs, reset_fitted
from representer.solvers import choose

ENTRIES_LEFT_OUT = 10**6
"""Entries of the small leave-one-out matrices, one matrix per input, that are computed at a time."""


class KernelFisherDiscriminant(ClassNamePrefixFeaturesOutMixin, ClassifierMixin, TransformerMixin, KernelEstimator):
    r"""maximise over f in H:  <f, B f> / (<f, S f> + alpha ||f||^2), B and S the scatter between and within classes.

    The maximisers, at most one fewer than there are classes, span the discriminant space. They come from one ridge
    regression on the class indicators and an eigenproblem of the size of the number of classes: no n x n eigenvectors
    are computed. They are scaled such that (S + alpha) / n is the identity; a new input is assigned to the class with
    the nearest mean in that space, taking the log priors into account. With the linear kernel and a small alpha this is
    linear discriminant analysis. With a kernel that has a basis, such as `Nystroem`, the problem is solved in its span
    from sums over rows, which may lie in files or on a cluster.

    Parameters
    ----------
    alpha : float or array of shape (n_alphas,)
        Strength of the regulariser, above zero. From a list, the one with the best exact leave-one-out accuracy is
        taken, and the largest among ties; all come from one eigendecomposition.
    kernel : Kernel or str
        A kernel object on inputs of any type, or a name such as "rbf" or "precomputed".
    n_components : int, optional
        Columns of `transform`; all discriminants when not given. Predictions use all of them.
    priors : array of shape (n_classes,), optional
        Class probabilities; their shares of the (weighted) training inputs when not given.
    solver : {"auto", "cholesky", "conjugate_gradient"}
    tol, max_iter, memory, threads, random_state, verbose
        Those of `KernelRidge`.

    Attributes
    ----------
    function_ : Function
        The discriminants, one output each.
    means_ : array of shape (n_classes, n_discriminants)
        The class means in the discriminant space.
    eigenvalues_ : array of shape (n_discriminants,)
        The ratios that were maximised.
    explained_variance_ratio_ : array of shape (n_discriminants,)
        The eigenvalues as shares of their sum.
    classes_, priors_, alpha_, kernel_, certificate_, n_iter_
    loo_scores_ : array of shape (n_alphas,)
        With several alphas: leave-one-out accuracy for each.

    References
    ----------
    Mika, Raetsch, Weston, Schoelkopf and Mueller, Fisher discriminant analysis with kernels, 1999. Hastie, Buja and
    Tibshirani, Penalized discriminant analysis, Annals of Statistics 1995.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from representer import KernelFisherDiscriminant
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelFisherDiscriminant(alpha=[0.01, 0.1, 1.0]).fit(X, y)
    >>> model.transform(X).shape, bool(model.score(X, y) > 0.95)
    ((150, 2), True)
    """

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        kernel: Any = "rbf",
        n_components: int | None = None,
        priors: Any = None,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 1000,
        memory: int | None = None,
        threads: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ):
        self.alpha = alpha
        self.kernel = kernel
        self.n_components = n_components
        self.priors = priors
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.threads = threads
        self.random_state = random_state
        self.verbose = verbose

    takes_rows = True

    @atomic
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelFisherDiscriminant:
        """Fit to inputs X and labels y, or to rows that bring their labels."""
        reset_fitted(self, "loo_scores_")
        alphas = self._alphas()
        if isinstance(X, Rows):
            labelled = labels(self, X, y, sample_weight)
            self._check_classes(labelled.masses)
            rows = labelled.indicators()
            kernel = kernel_for_rows(self._given_kernel(), rows)
            return self._fit_in_span(kernel, self._span_of(kernel, X, rows, labelled.masses))
        X = own(check_inputs(self, X, to_kernel(self.kernel), reset=True))
        self.classes_, label = check_labels(self, X, y)
        weights = check_weights(sample_weight, X)
        indicators = np.eye(len(self.classes_))[label]
        sizes = indicators.sum(axis=0) if weights is None else weights @ indicators
        self._check_classes(sizes)
        kernel = self._kernel_for(X, weights)
        span = self._span_of(kernel, X, ArrayRows(X, indicators, weights), sizes)
        if span is not None:
            return self._fit_in_span(kernel, span)
        gram, budget = self._gram(kernel, X), self._budget()
        problem = RidgeProblem(gram, indicators, np.full(len(sizes), alphas[0]), weights, True)
        with budget.progress, _parallel.blas_threads_for(problem.n):
            if np.ndim(self.alpha):
                problem, result = self._choose(problem, alphas, budget)
            else:
                solver, plan = choose.solver_of(problem, budget, self.solver)
                plan.require()
                budget.progress.expect(plan.solver, plan.seconds)
                result = solver.solve(problem, budget, plan.reason)
        self.alpha_, self.kernel_, self.X_fit_ = float(problem.alpha[0]), gram.kernel, X
        fitted = gram.astype(np.float64) @ result.coef + result.intercept - sizes / sizes.sum()
        between = indicators.T @ (fitted if weights is None else weights[:, None] * fitted)
        scalings, constant = self._keep(between, self.alpha_ * indicators.T @ result.coef, result, sizes)
        self.function_ = Function(
            gram.kernel, gram.X, result.coef @ scalings, constant, prepared=gram.inputs, threads=self.threads
        )
        return self

    def _span_of(self, kernel: Kernel, X: Any, rows: Rows, sizes: np.ndarray) -> Any:
        """The discriminant in the span of the kernel's basis; None without one, or with another solver."""
        basis = basis_for(kernel, X) if self.solver == "auto" or isinstance(X, Rows) else None
        return None if basis is None else DiscriminantInSpan(basis, rows, sizes, self._alphas(), self.threads)

    def _fit_in_span(self, kernel: Kernel, span: DiscriminantInSpan) -> KernelFisherDiscriminant:
        budget = self._budget()
        plan = span.plan(budget)
        plan.require()
        with budget.progress:
            budget.progress.expect(plan.solver, plan.seconds)
            path, alpha = span.path(budget), float(span.alphas[0])
            if np.ndim(self.alpha):
                Y, w, fits, predictions = span.left_out(path)
                problem = SimpleNamespace(n=len(Y), targets=Y, weights=w)
                pairs = zip(predictions, (w[:, None] * (Y - F) for F in fits), strict=True)
                alpha = self._best(span.alphas, [self._accuracy(problem, p, R, Y.T @ R) for p, R in pairs])
            result = path.solve(np.full(len(span.sizes), alpha), plan.reason)
            between, within = span.scatter(path, result)
        self.alpha_, self.kernel_ = alpha, kernel
        result = replace(result, certificate=with_approximation(result.certificate, span.basis, span.rows, None))
        scalings, constant = self._keep(between, within, result, span.sizes)
        self.function_ = function_of(span.basis, result.coef @ scalings, constant, self.threads)
        self.X_fit_ = self.function_.X
        return self

    def plan(self, X: Any, y: Any = None) -> Plan:
        """The solver that `fit` would use for these inputs, why, and the memory and time it takes."""
        n_classes, alphas, elsewhere = 2 if y is None else len(np.unique(y)), self._alphas(), isinstance(X, Rows)
        kernel = kernel_for_rows(self._given_kernel(), X) if elsewhere else self._kernel_for(X)
        rows = X if elsewhere else ArrayRows(X, np.zeros((checks.number_of(X), n_classes)))
        if (span := self._span_of(kernel, X, rows, np.ones(n_classes))) is not None:
            return span.plan(self._budget())
        gram = self._gram(kernel, X)
        problem = RidgeProblem(gram, np.zeros((len(gram), n_classes)), np.full(n_classes, alphas[0]), None, True)
        if np.ndim(self.alpha):
            return choose.path_plan(problem, self._budget(), _repeated(alphas, n_classes))
        return choose.plan(problem, self._budget(), self.solver)

    def _alphas(self) -> np.ndarray:
        """alpha as an array, after it and the solver are checked."""
        try:
            alphas = np.atleast_1d(np.asarray(self.alpha, np.float64))
        except (TypeError, ValueError):
            alphas = np.array([np.nan])
        if alphas.ndim > 1 or not alphas.size or not np.all((alphas > 0) & (alphas < np.inf)):
            raise ValueError(f"alpha is {self.alpha!r}; it must be a positive number, or a list of them.")
        choose.check_name(self.solver, RidgeProblem)
        if np.ndim(self.alpha) and self.solver != "auto":
            raise ValueError(
                f"solver is {self.solver!r}, but a list of alphas needs a decomposition of the whole matrix; "
                "use solver='auto', or a single alpha."
            )
        return alphas

    def _check_classes(self, sizes: np.ndarray) -> None:
        """Raise if the options do not suit classes of these sizes. Sets priors_."""
        n_classes = len(sizes)
        if n_classes < 2:
            raise ValueError(f"y has only one class, {self.classes_.tolist()[0]!r}; a classifier needs at least two.")
        if np.any(sizes == 0):
            empty = self.classes_[sizes == 0].tolist()
            raise ValueError(f"All weights of the classes {empty} are zero; leave their rows out.")
        if self.n_components is not None and checks.integer(self.n_components, "n_components") >= n_classes:
            raise ValueError(
                f"n_components is {self.n_components}, but {n_classes} classes have {n_classes - 1} discriminants."
            )
        self.priors_ = sizes / sizes.sum()
        if self.priors is not None:
            try:
                priors = np.asarray(self.priors, np.float64)
            except (TypeError, ValueError):
                priors = np.array(np.nan)
            if priors.shape != sizes.shape or np.any(priors < 0) or abs(priors.sum() - 1.0) > 1e-5:
                raise ValueError(
                    f"priors is {self.priors!r}; give {n_classes} probabilities, one for each class, with sum 1."
                )
            self.priors_ = priors / priors.sum()

    def _choose(self, problem: RidgeProblem, alphas: np.ndarray, budget: Budget) -> tuple[RidgeProblem, Result]:
        """The problem with the alpha that has the best leave-one-out accuracy, and its solution. Sets loo_scores_."""
        n_classes = problem.targets.shape[1]
        every = _repeated(alphas, n_classes)
        plan = choose.path_plan(problem, budget, every)
        plan.require()
        decomposition, path = choose.decompose(problem, every, plan, budget)
        scores = []
        for alpha, predictions in zip(alphas, path.predictions, strict=True):
            coef = problem.finish(decomposition.solve(np.full(n_classes + 1, alpha)))[0]
            within = alpha * problem.targets.T @ coef
            scores.append(self._accuracy(problem, predictions, alpha * coef, within))
        problem = replace(problem, alpha=np.full(n_classes, self._best(alphas, scores)))
        return problem, choose.solve_decomposed(decomposition, problem, plan, budget)

    def _accuracy(self, problem: Any, predictions: np.ndarray, scaled: np.ndarray, within: np.ndarray) -> float:
        """The leave-one-out accuracy; see `_leave_out`."""
        guess = [
            _leave_out(rows, predictions, scaled, within, problem, self.priors).argmax(axis=1)
            for rows in _parallel.split(problem.n, max(1, ENTRIES_LEFT_OUT // len(within) ** 2))
        ]
        return float(np.average(np.concatenate(guess) == problem.targets.argmax(axis=1), weights=problem.weights))

    def _best(self, alphas: np.ndarray, scores: list[float]) -> float:
        """The largest of the alphas with the best score. Sets loo_scores_."""
        self.loo_scores_ = np.array(scores)
        return float(alphas[self.loo_scores_ == self.loo_scores_.max()].max())

    def _keep(
        self, between: np.ndarray, within: np.ndarray, ridge: Result, sizes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The discriminants as combinations of the ridge fit F = Y - W^(-1) alpha A of the indicators Y, and constants.

        With N = diag(sizes) and Q a basis of the vectors orthogonal to sqrt(sizes), the eigenproblem is
        Q' N^(-1/2) Y'W (F - mean) N^(-1/2) Q v = ratio Q' N^(-1/2) (alpha Y'A) N^(-1/2) Q v. Its left-hand side is the
        scatter between classes, its right-hand side the scatter within, and neither is a difference of large numbers.
        """
        total, root = sizes.sum(), np.sqrt(sizes)
        basis = null_space(root[None]) / root[:, None]
        between, within = (basis.T @ (S + S.T) @ basis / 2 for S in (between, within))
        try:
            ratios, vectors = eigh(between, within)
        except np.linalg.LinAlgError:
            raise np.linalg.LinAlgError(
                f"With a relative residual of {ridge.certificate.residual:.2g} the within-class scatter is not "
                "positive definite; use a larger alpha or max_iter, a smaller tol, or a positive semidefinite kernel."
            ) from None
        ratios, vectors = ratios[::-1], basis @ vectors[:, ::-1]
        shares = ratios / (1.0 + ratios)
        keep = shares > max(10 * self.tol * shares[0], 1e-12)
        keep[0] = True  # where nothing separates the classes, this direction is zero
        ratios, vectors, shares = (part[..., keep] for part in (ratios, vectors, np.maximum(shares, 0.0)))
        vectors = vectors * np.where(vectors[np.abs(vectors).argmax(axis=0), np.arange(len(ratios))] < 0, -1.0, 1.0)
        scale = np.divide(np.sqrt(total), np.sqrt(shares), out=np.zeros_like(shares), where=shares > 1e-12)
        scalings = vectors * scale
        self.means_ = vectors * np.sqrt(total * shares)
        self.eigenvalues_ = np.maximum(ratios, 0.0)
        self.explained_variance_ratio_ = self.eigenvalues_ / max(self.eigenvalues_.sum(), np.finfo(float).tiny)
        self._n_features_out = min(len(ratios), self.n_components or len(ratios))
        self.certificate_, self.n_iter_ = ridge.certificate, max(1, ridge.certificate.iterations)
        self._warn_unless_converged(ridge.certificate, "use a larger alpha, tol or max_iter")
        return scalings, (ridge.intercept - sizes / total) @ scalings

    def transform(self, X: Any) -> np.ndarray:
        """The values of the discriminants at X, shape (n, n_components)."""
        return self._values(X)[:, : self._n_features_out]

    def _decision(self, X: Any) -> np.ndarray:
        """Log posterior of each class, up to a term shared by all classes."""
        values = self._values(X)
        with np.errstate(divide="ignore"):
            constant = np.log(self.priors_) - 0.5 * (self.means_**2).sum(axis=1)
        return values @ self.means_.T.astype(values.dtype) + constant.astype(values.dtype)

    def decision_function(self, X: Any) -> np.ndarray:
        """Log posterior of each class up to a constant; for two classes, that of the second minus that of the first."""
        values = self._decision(X)
        return values[:, 1] - values[:, 0] if values.shape[1] == 2 else values

    def predict(self, X: Any) -> np.ndarray:
        """The class with the nearest mean in the discriminant space, taking priors into account."""
        best = self._decision(X).argmax(axis=1)
        return self.classes_[best]


def _repeated(alphas: np.ndarray, n_classes: int) -> np.ndarray:
    """The alphas in a column for each class."""
    return np.repeat(alphas[:, None], n_classes, axis=1)


def _leave_out(
    rows: slice, predictions: np.ndarray, scaled: np.ndarray, within: np.ndarray, problem: RidgeProblem, priors: Any
) -> np.ndarray:
    """Exact leave-one-out log posteriors of some inputs.

    With L = alpha Y'A and sizes N, the log posterior of class c is n (f(x) - N / n)' R e_c - n / 2 (R_cc - 1 / N_c) +
    log prior_c, R = (N N' / n + L)^(-1). Without input i, f(x_i) becomes its leave-one-out prediction p_i, N becomes
    N - w_i y_i, and L becomes L - alpha a_i (y_i - p_i)'.

    Parameters
    ----------
    rows : slice
        The inputs to leave out, one at a time.
    predictions : array of shape (n, n_classes)
        Leave-one-out predictions of the indicators.
    scaled : array of shape (n, n_classes)
        alpha A.
    within : array of shape (n_classes, n_classes)
        L.
    problem : RidgeProblem
    priors : array of shape (n_classes,) or None
    """
    weights = np.ones(problem.n) if problem.weights is None else problem.weights
    Y, p = problem.targets[rows], predictions[rows]
    sizes = weights @ problem.targets - weights[rows, None] * Y
    gone = sizes <= 1e-12 * weights.sum()  # classes of which i is the only member
    total = sizes.sum(axis=1)
    L = within - scaled[rows, :, None] * (Y - p)[:, None, :]
    L = (L + L.transpose(0, 2, 1)) / 2
    L += sizes[:, :, None] * sizes[:, None, :] / total[:, None, None]
    here = ~(gone[:, :, None] | gone[:, None, :])
    R = np.linalg.inv(np.where(here, L, np.eye(Y.shape[1])))
    linear = np.einsum("ic,icd->id", p - sizes / total[:, None], R)
    own = np.einsum("icc->ic", R) - 1.0 / np.where(gone, 1.0, sizes)
    with np.errstate(divide="ignore"):
        logs = np.log(sizes / total[:, None] if priors is None else np.broadcast_to(priors, sizes.shape))
    return np.where(gone, -np.inf, total[:, None] * (linear - 0.5 * own) + logs)
