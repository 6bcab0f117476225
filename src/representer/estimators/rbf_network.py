"""Networks of radial basis functions with a polynomial part: interpolation and smoothing by thin plates and more."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin, clone
from sklearn.cluster import kmeans_plusplus
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from representer import _parallel
from representer.estimators.base import KernelEstimator, atomic, warn_user
from representer.estimators.inputs import (
    NAMES,
    check_targets,
    check_weights,
    in_precision_of,
    is_precomputed,
    to_kernel,
)
from representer.functions import Function
from representer.gram.tiled import Gram
from representer.kernels import checks
from representer.kernels.base import Kernel
from representer.kernels.conditional import Multiquadric, Polyharmonic, ThinPlate
from representer.kernels.stationary import RationalQuadratic
from representer.problems.network import NetworkProblem
from representer.result import Budget, Certificate, Plan, Work, certificate_of
from representer.rows.validation import require_numbers, reset_fitted
from representer.solvers.saddle import Polynomials, Restricted, Saddle

RADIAL: dict[str, Kernel] = {
    "thin_plate": ThinPlate(),
    "linear_spline": Polyharmonic(1),
    "cubic": Polyharmonic(3),
    "quintic": Polyharmonic(5),
    "multiquadric": Multiquadric(),
    "inverse_multiquadric": RationalQuadratic(mixture=0.5),
}


@dataclass(frozen=True, eq=False, repr=False)
class Network:
    """f(x) = sum_j a_j k(z_j, x) + sum_j b_j p_j(x): a sum of kernel functions on centres, and a polynomial.

    Parameters
    ----------
    radial : Function
        The first sum, with one output or several.
    polynomials : Polynomials
    coef : array of shape (n_polynomials,) or (n_polynomials, n_outputs)
        The coefficients b.
    """

    radial: Function
    polynomials: Polynomials
    coef: np.ndarray

    def __repr__(self) -> str:
        return f"Network({self.radial!r}, polynomials of degree {self.polynomials.degree})"

    def __call__(self, X: Any) -> np.ndarray:
        """f(x) for each x in X: shape (n,), or (n, n_outputs) for several outputs."""
        X = np.asarray(X, np.float64)
        return self.radial(X) + self.polynomials(X) @ self.coef

    def gradient(self, X: Any) -> np.ndarray:
        """df / dx at each x in X: shape (n, n_columns), or (n, n_outputs, n_columns) for several outputs."""
        X = np.asarray(X, np.float64)
        along = np.tensordot(self.polynomials.gradient(X), self.coef, axes=(1, 0))
        return self.radial.gradient(X) + (along if self.coef.ndim == 1 else np.swapaxes(along, 1, 2))

    def energy(self) -> Any:
        """a'Ka for each output: the bending energy of f, zero for polynomials of the network's degree."""
        f = self.radial
        applied = Gram.of(f.kernel, f.inputs, threads=f.threads) @ f.coef
        return np.maximum(np.einsum("i...,i...->...", f.coef, applied), 0.0)[()]


class RBFNetwork(MultiOutputMixin, RegressorMixin, KernelEstimator):
    r"""f(x) = sum_j a_j k(z_j, x) + polynomial(x) with sum_j a_j p(z_j) = 0 for all polynomials p of that degree.

    It minimises sum_i w_i (y_i - f(x_i))^2 + alpha a'Ka. For alpha = 0 and centres z at the data it interpolates, and
    reproduces polynomials up to the degree exactly. The kernel may be conditionally positive definite, such as the thin
    plate r^2 log r, whose a'Ka is its bending energy: the polynomials, which do not bend, are then not penalised.
    Where the points do not determine the polynomial, it warns and takes the one with the smallest coefficients.

    Parameters
    ----------
    kernel : Kernel or str
        A kernel object on vectors, or one of "thin_plate", "linear_spline" (-r), "cubic" (r^3), "quintic" (-r^5),
        "multiquadric", "inverse_multiquadric", "rbf" and the other names of KernelRidge.
    degree : int, optional
        Degree of the polynomial; -1 for none. At least the order of the kernel minus one, which is the default (but at
        least 0).
    alpha : float or array
        0 interpolates, larger values smooth. A list is a path of positive numbers, from which exact leave-one-out
        chooses.
    centers : int or array of shape (n_centers, n_columns), optional
        The data when not given. An integer picks at most that many distinct data points, far apart (k-means++).
    memory : int, optional
        Bytes that a fit may use; more is refused before work starts. The machine's memory when not given.
    threads : int, optional
    random_state : int, RandomState or None
        Seed of the choice of centres.

    Attributes
    ----------
    function_ : Network
        The fitted f, with its gradient and energy.
    kernel_ : Kernel
        The kernel used, with all length scales.
    X_fit_ : array of shape (n_points, n_columns)
        The data points used by the fit: those with nonzero weight and, when alpha = 0, repeated ones once.
    centers_ : array of shape (n_centers, n_columns)
    dual_coef_ : array of shape (n_centers,) or (n_centers, n_targets)
        The coefficients a.
    degree_ : int
    alpha_ : float
    certificate_ : Certificate
        Of the coefficients a and b: the residual of their linear system.
    loo_scores_ : array of shape (n_alphas,)
        With a path: minus the weighted mean squared leave-one-out error for each alpha.
    loo_predictions_ : array of shape (n,) or (n, n_targets)
        With a path: the prediction of each y_i by the fit without it, at the chosen alpha. A point with weight zero is
        not in the fit, so this is the prediction itself.

    Examples
    --------
    >>> import numpy as np
    >>> from representer import RBFNetwork
    >>> X = np.random.default_rng(0).uniform(size=(50, 2))
    >>> y = np.sin(3 * X[:, 0]) + X[:, 1]
    >>> plate = RBFNetwork().fit(X, y)
    >>> bool(np.abs(plate.predict(X) - y).max() < 1e-12)
    True
    >>> u = plate.dual_basis(3)
    >>> u(X[2:5]).round(6) + 0.0
    array([0., 1., 0.])
    """

    def __init__(
        self,
        kernel: Any = "thin_plate",
        *,
        degree: int | None = None,
        alpha: Any = 0.0,
        centers: Any = None,
        memory: int | None = None,
        threads: int | None = None,
        random_state: Any = 0,
    ):
        self.kernel = kernel
        self.degree = degree
        self.alpha = alpha
        self.centers = centers
        self.memory = memory
        self.threads = threads
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.pairwise = False
        return tags

    # ---- fit ----

    @atomic
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RBFNetwork:
        """Fit to inputs X and targets y of shape (n,) or (n, n_targets)."""
        reset_fitted(self, "loo_scores_", "loo_predictions_")
        (kernel, self.degree_), alphas, budget = self._kernel(), self._alphas(), self._budget()
        require_numbers(X)
        X = validate_data(self, X, dtype=[np.float64, np.float32]).astype(np.float64, copy=False)
        y = check_targets(self, X, y)
        weights = check_weights(sample_weight, X)
        weights = np.ones(len(X)) if weights is None else weights
        self._single_output = y.ndim == 1
        # points with weight zero are ignored
        rows = np.flatnonzero(weights) if alphas[0] > 0 or len(alphas) > 1 else _distinct(X, y, weights)
        every, X, Y, weights = X, X[rows], y.reshape(len(y), -1)[rows], weights[rows]
        self.kernel_, self.X_fit_, self.alpha_ = kernel.with_default_scales(X, weights), X, float(alphas[0])
        self.centers_ = X if self.centers is None else self._centers(X, weights)
        begin, plan = perf_counter(), self._plan_of(len(X), len(self.centers_), budget)
        plan.require()
        with _parallel.blas_threads_for(len(X)):
            problem, self._weights = self._problem(Y, weights), weights
            self._solver = self._system(problem, len(alphas) > 1)
            left_out = self._choose(alphas, Y, weights) if len(alphas) > 1 else None
            self.function_ = self._network(Y)
            self.certificate_ = self._certificate(replace(problem, alpha=self.alpha_), plan, budget.tol, begin)
        self._warn_unless_converged(self.certificate_, "use a larger alpha, fewer centers, or a less smooth kernel")
        self.dual_coef_ = self.function_.radial.coef
        if left_out is not None:
            self.loo_predictions_ = left_out if len(rows) == len(every) else self.function_(every)
            self.loo_predictions_[rows] = left_out
        return self

    def _named_kernel(self, name: str | None) -> Kernel:
        return clone(RADIAL[name]) if name in RADIAL else super()._named_kernel(name)

    def plan(self, X: Any, y: Any = None) -> Plan:
        """The solver that `fit` would use for these inputs, why, and the memory and time that it takes."""
        self._kernel()
        n, given = checks.number_of(X), np.ndim(self.centers)
        m = n if self.centers is None else len(self.centers) if given else min(self._most_centers(), n)
        return self._plan_of(n, m, self._budget())

    def _plan_of(self, n: int, m: int, budget: Budget) -> Plan:
        path = len(self._alphas()) > 1
        return Saddle.cost(n, path, budget) if self.centers is None else Restricted.cost(n, m, budget)

    def _kernel(self) -> tuple[Kernel, int]:
        """The kernel, and the degree of the polynomial part."""
        if isinstance(self.kernel, str) and self.kernel not in {*RADIAL, *NAMES} - {"precomputed"}:
            raise ValueError(
                f"kernel is {self.kernel!r}; pass a kernel object such as ThinPlate(), or one of the names "
                f"{', '.join(RADIAL)}, {', '.join(name for name in NAMES if name != 'precomputed')}."
            )
        kernel = self._named_kernel(self.kernel) if isinstance(self.kernel, str) else to_kernel(self.kernel)
        if not kernel.on_vectors or is_precomputed(kernel):
            raise ValueError(f"{kernel!r} is not a kernel on vectors, which the polynomial part of a network needs.")
        order = kernel.conditional_order
        if order is None:
            raise ValueError(
                f"{kernel!r} is not even conditionally positive definite, so a network of it has no unique fit; use "
                "ThinPlate(), Polyharmonic(), Multiquadric() or a positive definite kernel."
            )
        degree = max(order - 1, 0) if self.degree is None else checks.integer(self.degree, "degree", -1)
        if degree < order - 1:
            raise ValueError(
                f"degree is {self.degree}, but {kernel!r} is conditionally positive definite of order {order} and "
                f"needs polynomials of degree {order - 1} or more."
            )
        return kernel, degree

    def _alphas(self) -> np.ndarray:
        try:
            alphas = np.atleast_1d(np.asarray(self.alpha, np.float64))
        except (TypeError, ValueError):
            alphas = np.array([np.nan])
        if alphas.ndim > 1 or not alphas.size or not np.all(np.isfinite(alphas)) or np.any(alphas < 0):
            raise ValueError(
                f"alpha is {self.alpha!r}; it must be a number that is zero or positive, or a list of positive ones."
            )
        if len(alphas) > 1 and np.any(alphas == 0):
            raise ValueError("A path of alphas has a 0 in it; give positive numbers, or alpha=0 alone to interpolate.")
        return alphas

    def _problem(self, Y: np.ndarray, weights: np.ndarray) -> NetworkProblem:
        """The problem for these targets; sets the polynomials."""
        X, centers = self.X_fit_, self._gram(self.kernel_, self.centers_)
        self._polynomials = Polynomials.on(X, self.degree_)
        P = self._polynomials(X)
        if self.centers is None:
            return NetworkProblem(centers, centers, P, P, Y, weights, self.alpha_)
        both = self._gram(self.kernel_, X, Y=self.centers_)
        return NetworkProblem(both, centers, P, self._polynomials(self.centers_), Y, weights, self.alpha_)

    def _system(self, problem: NetworkProblem, path: bool) -> Saddle | Restricted:
        """The solver for these inputs."""
        X, P, weights = self.X_fit_, problem.P, problem.weights
        if problem.at_data:
            solver: Saddle | Restricted = Saddle(problem.gram, P, weights)
        else:
            solver = Restricted(problem.gram, problem.centers, P, problem.P_centers, weights)
        rank = solver.outer.rank
        if path and len(X) <= rank:
            raise ValueError(
                f"Leave-one-out chooses among several alphas, and leave-one-out needs more than the {rank} "
                f"points that the polynomials up to degree {self.degree_} use up; give one alpha."
            )
        if rank < P.shape[1]:
            self._warn_undetermined(X, P.shape[1])
        return solver

    @cached_property
    def _solver(self) -> Saddle | Restricted:
        """Set by `fit`; a model loaded from a file factorises its matrix again, for dual basis functions."""
        with _parallel.blas_threads_for(len(self.X_fit_)):
            return self._system(self._problem(np.zeros((len(self.X_fit_), 1)), self._weights), False)

    def _certificate(self, problem: NetworkProblem, plan: Plan, tol: float, begin: float) -> Certificate:
        """The certificate of the fitted coefficients."""
        targets = problem.targets.shape[1]
        a, b = (coef.reshape(len(coef), targets) for coef in (self.function_.radial.coef, self.function_.coef))
        judgement = problem.judge(a, b)
        work = Work(plan.solver, plan.reason, 1, plan.bytes, perf_counter() - begin, "float64")
        evaluations = sum(gram.evaluations for gram in {problem.gram, problem.centers})
        return certificate_of([judgement], work, tol, evaluations)

    def _most_centers(self) -> int:
        if isinstance(self.centers, Integral):
            return checks.integer(self.centers, "centers")
        raise ValueError(f"centers is {self.centers!r}; use an integer, or an array of points.")

    def _centers(self, X: np.ndarray, weights: np.ndarray) -> np.ndarray:
        if np.ndim(self.centers) == 0:
            number, rng = min(self._most_centers(), len(X)), check_random_state(self.random_state)
            # a point is picked twice only where there are no others
            return np.unique(kmeans_plusplus(X, number, sample_weight=weights, random_state=rng)[0], axis=0)
        centers = check_array(self.centers, dtype=np.float64, input_name="centers", copy=True)
        if centers.shape[1] != X.shape[1]:
            raise ValueError(f"centers has {centers.shape[1]} columns, but X has {X.shape[1]}.")
        if len(np.unique(centers, axis=0)) < len(centers):
            raise ValueError("centers has equal rows; give each point once.")
        return centers

    def _warn_undetermined(self, X: np.ndarray, polynomials: int) -> None:
        constant = np.flatnonzero((X.max(axis=0) == X.min(axis=0)) & (len(X) > 1))
        warn_user(
            f"{len(X)} points in {X.shape[1]} columns do not determine the {polynomials} polynomials up to degree "
            f"{self.degree_}, so the one with the smallest coefficients is taken"
            + (f"; column {constant[0]} of X is constant: leave it out." if len(constant) else ".")
            + " Use more points, fewer columns, or a kernel of lower order, such as Polyharmonic(1) or RBF().",
            UserWarning,
        )

    def _choose(self, alphas: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Choose the alpha with the smallest leave-one-out error; returns the leave-one-out predictions."""
        errors = self._solver.leave_one_out(alphas, Y)
        self.loo_scores_ = -np.average((errors**2).mean(axis=2), axis=1, weights=weights)
        best = int(self.loo_scores_.argmax())
        self.alpha_, predictions = float(alphas[best]), Y - errors[best]
        return predictions[:, 0] if self._single_output else predictions

    def _network(self, Y: np.ndarray, single: bool | None = None) -> Network:
        a, b = self._solver.solve(self.alpha_, Y)
        if self._single_output if single is None else single:
            a, b = a[:, 0], b[:, 0]
        prepared = self._solver.centers.inputs
        radial = Function(self.kernel_, self.centers_, a, prepared=prepared, threads=self.threads)
        return Network(radial, self._polynomials, b)

    # ---- use ----

    def predict(self, X: Any) -> np.ndarray:
        """f(x) for each x in X."""
        check_is_fitted(self)
        require_numbers(X)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        values = self.function_(X)
        return in_precision_of(X, values)

    def dual_basis(self, index: Any = None) -> Network:
        """The functions u_i with f(x) = sum_i y_i u_i(x), for one data point, for several, or for all of them.

        They show how far the influence of a data point reaches. With alpha = 0 they are the cardinal functions: u_i is
        one at x_i and zero at all other data points. Indices are those of ``X_fit_``.
        """
        check_is_fitted(self)
        rows = np.arange(len(self.X_fit_))[slice(None) if index is None else index]
        unit = np.zeros((len(self.X_fit_), rows.size))
        unit[rows.ravel(), np.arange(rows.size)] = 1.0
        return self._network(unit, single=rows.ndim == 0)


def _distinct(X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The first of each group of equal rows with nonzero weight; raise if equal rows have different targets."""
    rows = np.flatnonzero(weights)
    _, first, group = np.unique(X[rows], axis=0, return_index=True, return_inverse=True)
    same = rows[first[group.ravel()]]
    different = np.flatnonzero((y[same] != y[rows]).reshape(len(rows), -1).any(axis=1))
    if len(different):
        i = different[0]
        raise ValueError(
            f"Rows {same[i]} and {rows[i]} of X are equal and their targets are not, so no function interpolates them; "
            "use alpha > 0."
        )
    return np.sort(rows[first])
