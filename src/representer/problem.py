"""What is to be solved, apart from how: problems, and the results with their certificates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import brentq

from representer._loops import box
from representer.gram import Gram
from representer.kernels import checks
from representer.kernels.base import Kernel
from representer.losses.base import Loss

Progress = Callable[[str, float], Any]
"""Told what is done and how far off the solution is (residual, gap or violation) after each step; true to stop."""


@dataclass(frozen=True)
class Certificate:
    """How good a fit is, how it was found, and what it took.

    The fitted f and the exact minimiser f* differ by at most ``error_bound * sqrt(k(x, x))`` at any x, up to the
    intercept; it is infinite where no bound is known.
    """

    solver: str
    reason: str
    converged: bool
    residual: float
    """What the tolerance is compared with.

    For a linear system: the largest relative residual |y - (K + alpha I) coef| / |y| over the targets, recomputed in
    float64 at the end. For other losses: the duality gap, relative to the objective, or without convexity the
    mismatch at a stationary point: of the gradient, or of the effective strength by its logarithm.
    """
    tolerance: float
    error_bound: Any
    iterations: int
    kernel_evaluations: int
    bytes: int
    seconds: float
    precision: str
    primal: float | None = None
    """The objective that was reached, where it is not a linear system that was solved."""
    dual: float | None = None
    """A lower bound of the objective of any function."""
    measure: str = ""
    """What the residual is, if neither that of a linear system nor a duality gap."""

    @property
    def gap(self) -> float | None:
        """primal - dual: the objective is at most this much above the least one."""
        return None if self.primal is None or self.dual is None else self.primal - self.dual

    def __str__(self) -> str:
        verdict = "converged" if self.converged else "NOT converged"
        measure = self.measure or ("relative residual" if self.primal is None else "relative gap")
        bound = np.max(self.error_bound)
        if self.measure and self.gap is not None:
            verdict += f" with a duality gap of {self.gap:.2g} below {self.primal:.4g}"
        return (
            f"{verdict}: {measure} {self.residual:.2g} (tolerance {self.tolerance:.2g}) by {self.solver} in "
            f"{self.iterations} iterations and {self.seconds:.3g} s, {self.kernel_evaluations:.3g} kernel values, "
            f"{self.bytes / 1e6:.4g} MB, {self.precision}. Chosen because {self.reason}."
            + (f" |f - f*|(x) <= {bound:.2g} sqrt(k(x, x))." if np.isfinite(bound) else "")
        )


@dataclass(frozen=True)
class Result:
    """Coefficients of the representers, intercepts, and the certificate."""

    coef: np.ndarray
    intercept: np.ndarray
    certificate: Certificate
    residual: np.ndarray | None = None
    """The residual r = D (y - b) - (D K D + alpha I) z in float64, where a solver has it."""
    solution: np.ndarray | None = None
    """Solutions of all right sides, from which a similar problem may start, where a solver has them."""


class _OnInputs:
    """What problems share: the inputs, prepared for the kernel once in each precision."""

    kernel: Kernel
    X: Any
    threads: int | None

    @cached_property
    def exact(self) -> Any:
        """The inputs prepared in float64."""
        return self.kernel.prepare(_cast(self.X, np.float64))

    @cached_property
    def fast(self) -> Any:
        """The inputs prepared in float32 where they are numbers."""
        return self.kernel.prepare(_cast(self.X, np.float32))

    @property
    def prepared(self) -> Any:
        """The inputs prepared in their own precision, for the solution as a function."""
        single = (sparse.issparse(self.X) or isinstance(self.X, np.ndarray)) and self.X.dtype == np.float32
        return self.fast if single else self.exact

    @property
    def gram(self) -> Gram:
        """K in float64."""
        return Gram.of(self.kernel, self.exact, threads=self.threads)


@dataclass
class RidgeProblem(_OnInputs):
    """minimise over f in H and b:  sum_i w_i (y_i - f(x_i) - b)^2 + alpha ||f||^2, for each column y of the targets.

    With D = diag(sqrt w) and coefficients coef = D z it is the linear system (D K D + alpha I) z = D (y - b).

    Parameters
    ----------
    kernel : Kernel
    X : inputs of the kernel
    targets : array of shape (n, n_targets)
    alpha : array of shape (n_targets,)
    weights : array of shape (n,) or None
    intercept : bool
        Whether there is a b, or it is 0.
    threads : int, optional
    """

    kernel: Kernel
    X: Any
    targets: np.ndarray
    alpha: np.ndarray
    weights: np.ndarray | None = None
    intercept: bool = False
    threads: int | None = None

    @property
    def n(self) -> int:
        return len(self.targets)

    @cached_property
    def root(self) -> np.ndarray:
        """The square roots of the weights, as a column."""
        return np.ones((self.n, 1)) if self.weights is None else np.sqrt(self.weights)[:, None]

    @cached_property
    def right_sides(self) -> np.ndarray:
        """D y for each target and, with an intercept, D 1."""
        ones = [self.root] if self.intercept else []
        return np.concatenate([self.root * self.targets, *ones], axis=1)

    @property
    def ridges(self) -> np.ndarray:
        """alpha for each right side. Targets with an intercept need one alpha, because they share its right side."""
        return np.append(self.alpha, self.alpha[:1]) if self.intercept else self.alpha

    @property
    def diagonal(self) -> np.ndarray:
        """w_i k(x_i, x_i), the diagonal of D K D."""
        return self.root.ravel() ** 2 * self.kernel.diagonal(self.exact)

    def apply(self, Z: np.ndarray, ridges: np.ndarray, K: Any = None) -> np.ndarray:
        """(D K D + alpha I) Z, with K in float64 unless another form of it is given."""
        return self.root * ((self.gram if K is None else K) @ (self.root * Z)) + ridges * Z

    def finish(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients and intercepts from solutions of all right sides: b = <1, D z> / <1, D u>, u that of D 1."""
        if not self.intercept:
            return self.root * Z, np.zeros(len(self.alpha))
        Z, u = Z[:, :-1], Z[:, -1:]
        total = (self.root * u).sum()
        if not total > 1e-10 * np.linalg.norm(self.root) * np.linalg.norm(u):
            # constants are outside the range of K and nothing else fits them: b is the weighted mean
            return self.root * Z, np.average(self.targets, axis=0, weights=self.weights)
        intercept = (self.root * Z).sum(axis=0) / total
        return self.root * (Z - u * intercept), intercept

    def residuals(self, coef: np.ndarray, intercept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """`judge` of the residual r = D (y - b) - (D K D + alpha I) z, computed in float64."""
        Z = np.divide(coef, self.root, out=np.zeros_like(coef), where=self.root > 0)
        return self.judge(self.root * (self.targets - intercept) - self.apply(Z, self.alpha))

    def judge(self, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Relative residual |r| / |D y| and the bound |r| / (2 sqrt(alpha)) on ||f - f*||, for each target.

        The error z - z* is -M r with 0 <= M <= I / alpha, which gives the bound.
        """
        size, norms = np.linalg.norm(self.root * self.targets, axis=0), np.linalg.norm(r, axis=0)
        relative = np.divide(norms, size, out=norms.copy(), where=size > 0)
        bound = np.divide(norms, 2.0 * np.sqrt(self.alpha), out=np.full_like(norms, np.inf), where=self.alpha > 0)
        return relative, bound


@dataclass
class EigenProblem(_OnInputs):
    """A u = lambda u, where A = P D K D P is the covariance of the k(x_i, .) in H, seen from the data.

    D = diag(d) holds the roots of the weights, and P = I - d d' / |d|^2 takes the weighted mean off; without centring P
    is I. An eigenvector u of length one stands for the function v = sum_i d_i u_i k(x_i, .) / sqrt(lambda), which has
    norm one in H. As K D u is all that a solver computes, it is called the image of u.

    Parameters
    ----------
    kernel : Kernel
    X : inputs of the kernel
    weights : array of shape (n,) or None
    center : bool
        Whether the mean of the k(x_i, .) is taken off.
    threads : int, optional
    """

    kernel: Kernel
    X: Any
    weights: np.ndarray | None = None
    center: bool = True
    threads: int | None = None

    @property
    def n(self) -> int:
        return checks.number_of(self.X)

    @cached_property
    def root(self) -> np.ndarray:
        """d, as a column."""
        return np.ones((self.n, 1)) if self.weights is None else np.sqrt(self.weights)[:, None]

    def project(self, U: np.ndarray) -> np.ndarray:
        """P U."""
        return U - self.root * (self.root.T @ U / (self.root**2).sum()) if self.center else U

    def apply(self, images: np.ndarray) -> np.ndarray:
        """A U = P D (K D U) for U with P U = U, from its images K D U."""
        return self.project(self.root * images)

    @cached_property
    def total(self) -> float:
        """The sum of w_i k(x_i, x_i), all eigenvalues of D K D."""
        return float(self.root.ravel() ** 2 @ self.kernel.diagonal(self.exact).astype(np.float64))

    def trace(self, image_of_root: np.ndarray) -> float:
        """The sum of all eigenvalues of A, from the image K D d of d."""
        mean = float(self.root.ravel() ** 2 @ image_of_root / (self.root**2).sum()) if self.center else 0.0
        return self.total - mean


@dataclass
class Problem(_OnInputs):
    """minimise over f in H and b:  P(f, b) = sum_i w_i l(y_i, f(x_i) + b) + (strength / 2) ||f||^2.

    The dual problem is to maximise D(v) = -sum_i w_i l*(y_i, v_i) - (1 / (2 strength)) (w v)' K (w v), with a free
    intercept under sum_i w_i v_i = 0. Every D(v) is at most every P(f, b), and at the solution f = sum_i coef_i k(x_i,
    .) with coef = -w v / strength.

    Parameters
    ----------
    kernel : Kernel
    X : inputs of the kernel
    y : array of shape (n, 1)
    loss : Loss
    strength : float
    weights : array of shape (n, 1)
    intercept : bool
        Whether there is a b, or it is 0.
    threads : int, optional
    """

    kernel: Kernel
    X: Any
    y: np.ndarray
    loss: Loss
    strength: float
    weights: np.ndarray
    intercept: bool = True
    threads: int | None = None

    @property
    def n(self) -> int:
        return len(self.y)

    def zero(self) -> Point:
        """f = 0 with the best intercept."""
        flat = np.zeros((self.n, self.loss.outputs(self.y)))
        return self.centred(Point(flat, np.zeros(flat.shape[1]), flat))

    def losses(self, F: np.ndarray) -> float:
        """sum_i w_i l(y_i, F_i)."""
        return float(np.sum(self.weights * self.loss.value(self.y, F)))

    def objective(self, point: Point) -> float:
        """P(f, b)."""
        return self.losses(point.values) + 0.5 * self.strength * point.square

    def image(self, point: Point) -> np.ndarray:
        """-w l'(y, f + b) / strength: equal to the coefficients at the solution, as then the gradient vanishes."""
        return -self.weights * self.loss.gradient(self.y, point.values) / self.strength

    def centred(self, point: Point) -> Point:
        """The same f with the best intercept."""
        if not self.intercept:
            return point
        parts = self.loss.parts()
        if len(parts) > 1:
            columns = zip(parts, point.columns(), strict=True)
            best = [_best_constant(replace(self, loss=loss), column) for loss, column in columns]
            return replace(point, intercept=np.concatenate(best))
        joint = point.coef.shape[1] > 1
        return replace(point, intercept=(_best_constants if joint else _best_constant)(self, point))

    def dual_point(self, point: Point) -> np.ndarray:
        """v = -strength coef / w, made feasible."""
        slope = self.loss.gradient(self.y, point.values)
        v = np.divide(-self.strength * point.coef, self.weights, out=slope, where=self.weights > 0)
        return self.feasible(v)

    def feasible(self, v: np.ndarray) -> np.ndarray:
        """v moved into the domain of the conjugate and, with an intercept, to sum_i w_i v_i = 0."""
        loss = self.loss
        return loss.balance(self.y, v, self.weights) if self.intercept else loss.project(self.y, v)

    def conjugates(self, v: np.ndarray) -> float:
        """sum_i w_i l*(y_i, v_i)."""
        return float(np.sum(self.weights * self.loss.conjugate(self.y, v)))

    def square_of(self, v: np.ndarray, point: Point, diagonal: np.ndarray) -> float:
        """At least ||f_v||^2, f_v the function of the coefficients a = -w v / strength, without a product with K.

        With d = a - coef it is <coef, K coef> + 2 <d, K coef> + <d, K d>, and the last term is at most the square of
        sum_i |d_i| sqrt(k(x_i, x_i)).
        """
        d = -self.weights * v / self.strength - point.coef
        last = np.sum((np.abs(d) * np.sqrt(diagonal)[:, None]).sum(axis=0) ** 2)
        return point.square + 2.0 * float(np.vdot(d, point.applied)) + float(last)

    def scale(self, point: Point) -> float:
        """What a gap is relative to: sum_i w_i |l(y_i, f(x_i) + b)| + (strength / 2) ||f||^2."""
        values = np.abs(self.loss.value(self.y, point.values))
        return float(np.sum(self.weights * values)) + 0.5 * self.strength * point.square


@dataclass(frozen=True)
class Point:
    """A function f = sum_i coef_i k(x_i, .), an intercept b, and the product K coef."""

    coef: np.ndarray
    intercept: np.ndarray
    applied: np.ndarray

    @property
    def values(self) -> np.ndarray:
        """f(x_i) + b."""
        return self.applied + self.intercept

    @property
    def square(self) -> float:
        """||f||^2."""
        return max(float(np.vdot(self.coef, self.applied)), 0.0)

    def columns(self) -> list[Point]:
        """One point for each output."""
        parts = zip(self.coef.T, self.intercept, self.applied.T, strict=True)
        return [Point(a[:, None], np.array([b]), c[:, None]) for a, b, c in parts]

    def towards(self, other: Point, step: float) -> Point:
        """The point that is so far on the line to another one."""
        a, b, c = ((1 - step) * getattr(self, n) + step * getattr(other, n) for n in ("coef", "intercept", "applied"))
        return Point(a, b, c)


def _best_constant(problem: Problem, point: Point) -> np.ndarray:
    """The root of sum_i w_i l'(y_i, f_i + b), which does not fall with b for a convex loss."""
    loss, y, w = problem.loss, problem.y, problem.weights

    def slope(b: float) -> float:
        return float(np.sum(w * loss.gradient(y, point.applied + b)))

    start = float(point.intercept[0])
    total = slope(start)
    if total == 0.0 or not np.isfinite(total):
        return point.intercept
    step = -np.sign(total) * max(1e-3 * abs(start), 1e-3)
    near, far = start, start + step
    for _ in range(60):
        if slope(far) * total <= 0:
            break
        near, far, step = far, far + 2 * step, 2 * step
    else:
        return point.intercept
    return np.array([far if slope(far) == 0 else brentq(slope, near, far, xtol=1e-15, rtol=1e-14, maxiter=300)])


def _best_constants(problem: Problem, point: Point) -> np.ndarray:
    """Newton's method for the intercepts of several outputs that depend on each other."""
    loss, y, w = problem.loss, problem.y, problem.weights
    b, value = point.intercept, problem.losses(point.values)
    for _ in range(50):
        F = point.applied + b
        slope = np.sum(w * loss.gradient(y, F), axis=0)
        if np.abs(slope).max() <= 1e-14 * w.sum():
            break
        H = np.sum(w[:, :, None] * loss.curvature(y, F), axis=0)
        step = np.linalg.lstsq(H, -slope, rcond=1e-12)[0]
        size = 1.0
        while size > 1e-10 and not problem.losses(F + size * step) < value + 1e-4 * size * float(slope @ step):
            size /= 2
        if size <= 1e-10:
            # so near the best that values no longer tell: one full step, as the slope still does
            shorter = np.abs(np.sum(w * loss.gradient(y, F + step), axis=0)).max() < np.abs(slope).max()
            b = b + step if shorter else b
            break
        b = b + size * step
        value = problem.losses(point.applied + b)
    return b


def _cast(X: Any, dtype: Any) -> Any:
    """Numbers in another precision; anything else as it is."""
    if sparse.issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind in "biuf"):
        return X.astype(dtype, copy=False)
    return X


@dataclass
class BoxProblem(_OnInputs):
    """minimise over c:  1/2 c'Kc - t'c + epsilon |c|_1,  lower <= c <= upper,  the sum of c over each group fixed.

    It is the dual of: minimise over f in H and b_s for each group s

        1/2 ||f||^2 + sum_i support_i(t_i - f(x_i) - b_s(i)) + sum_s b_s (sum over the group),

    where support_i(r) = max over c in its box of (c r - epsilon |c|), and f = sum_i c_i k(x_i, .). Hinge, absolute,
    epsilon-insensitive and pinball losses are such support functions.

    Parameters
    ----------
    kernel : Kernel
    X : inputs of the kernel
    targets, lower, upper : arrays of shape (n,)
        Boxes contain 0.
    epsilon : float
    groups : array of ints of shape (n,), optional
        All in one group when not given.
    threads : int, optional
    rows : array of ints of shape (n,), optional
        Which of the inputs belongs to each coefficient, if not X has one for each in order.
    matrix : array of shape (m, m), optional
        A float32 kernel matrix of these and maybe other points, which another problem may share or have next; or a
        float64 one of these points alone, if they are few.
    columns : array of ints of shape (n,), optional
        Which row and column of the matrix belongs to each coefficient, the first ones when not given; runs of
        consecutive numbers.
    rounding : float, optional
        The size of errors of float32 kernel values, if it is known (see `kernel_values.rounding_of`).
    """

    kernel: Kernel
    X: Any
    targets: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    epsilon: float = 0.0
    groups: np.ndarray | None = None
    threads: int | None = None
    rows: np.ndarray | None = None
    matrix: np.ndarray | None = None
    columns: np.ndarray | None = None
    rounding: float | None = None

    @property
    def n(self) -> int:
        return len(self.targets)

    def at(self, inputs: Any, index: np.ndarray) -> Any:
        """Of prepared inputs (`fast` or `exact`), or of an array with an entry for each, those of some coefficients."""
        return inputs[index if self.rows is None else self.rows[index]]

    @property
    def diagonal(self) -> np.ndarray:
        """k(x_i, x_i) of each coefficient, from the matrix if there is one."""
        index = np.arange(self.n)
        if self.matrix is None:
            return self.at(self.kernel.diagonal(self.exact), index)
        return self.matrix.diagonal()[index if self.columns is None else self.columns]

    @cached_property
    def group_of(self) -> np.ndarray:
        """The group of each coefficient."""
        return np.zeros(self.n, int) if self.groups is None else self.groups

    @cached_property
    def n_groups(self) -> int:
        return 1 if self.groups is None else 1 + int(self.groups.max())

    def values(self, c: np.ndarray, g: np.ndarray, intercepts: np.ndarray) -> tuple[float, float]:
        """Primal and dual value of coefficients c with g = K c - t; c is short of the best by at most their difference.

        It is sum_i support_i(r_i) + epsilon |c_i| - c_i r_i with r = t - f - b, in which no term is negative.
        """
        return box.values(
            c, g, self.targets, self.lower, self.upper, self.epsilon, self.group_of, np.asarray(intercepts)
        )
