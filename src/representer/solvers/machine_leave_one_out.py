"""The approximate leave-one-out loss of a kernel machine and its gradient, for tuning kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from representer import _parallel
from representer.kernels.base import Gradients
from representer.problems.loss import LossProblem
from representer.problems.points import Point
from representer.result import Budget
from representer.solvers import newton
from representer.solvers.leave_one_out import by_kernel, inverse_of, without_constants
from representer.solvers.workspace import Workspace

FLAT = 1e7
"""Noise of inputs with hardly any curvature, in units of the mean of k(x, x): as good as infinite."""
SOLVED = Budget(memory=2**50, tol=1e-15, max_iter=200)
"""Machines are solved to rounding, as the error of the losses is of the order of the square root of the gap."""


@dataclass(frozen=True)
class MachineLoss:
    """The sum of leave-one-out losses, and its derivatives by hyper-parameters and by the logarithm of the strength."""

    total: float
    gradients: Gradients
    by_log_strength: float
    predictions: np.ndarray
    point: Point
    """The solution, a warm start for a similar problem."""


def machine_loss(problem: LossProblem, matrix: Workspace, start: Point | None = None) -> MachineLoss:
    """sum_i w_i (l(y_i, p_i) - min l(y_i, .)), p_i the value at x_i of the machine without i, by one Newton step.

    With g, h the derivatives of the losses at the solution F = K a + b, where a = -w g / strength, the machine is the
    ridge regression of its Newton step, with noise N_i = strength / (w_i h_i), and with M = (K + N)^(-1) minus the part
    along the intercept, p_i = F_i - a_i v_i with v_i = 1 / M_ii - N_i. When K, the strength and, through F, the
    curvatures change,

        da = -M (dK a + N a dlog strength),   dF = -N (da + a dlog strength),   dN = -N (h' / h dF - dlog strength)

    and dM = -M (dK + dN) M. For a smooth loss with one output and the squared norm, and positive weights.
    """
    with _parallel.one_blas_thread():
        point = newton.solve(problem, matrix, SOLVED, start).point
        return _at_solution(problem, matrix, point)


def _at_solution(problem: LossProblem, matrix: Workspace, point: Point) -> MachineLoss:
    y, loss, w, F = problem.y, problem.loss, problem.weights[:, 0], point.values
    a, h = problem.stationary_coef(point)[:, 0], loss.curvature(y, F)[:, 0]
    most = FLAT * float(np.abs(problem.diagonal).mean())
    N = problem.strength / np.maximum(w * h, problem.strength / most)
    relative_third = np.where(most > N, loss.third(y, F)[:, 0] / np.where(h > 0.0, h, 1.0), 0.0)
    M = matrix.block(np.arange(problem.n))
    M.ravel()[:: len(M) + 1] += N
    M = inverse_of(M)
    if problem.intercept:
        M = without_constants(M)
    diagonal = M.diagonal().copy()
    v = np.maximum(1.0 / diagonal - N, 0.0)
    p = F - (a * v)[:, None]
    above = loss.value(y, p) + loss.conjugate(y, loss.project(y, np.zeros_like(p)))
    c = w * loss.gradient(y, p)[:, 0]
    # the derivatives of the sum by K, by N, by F and by a
    q = c * a / diagonal**2
    by_noise = c * a - q @ M**2
    by_values = c - by_noise * N * relative_third
    u = M @ (-c * v - by_values * N)
    by_strength = float(((by_noise - (u + by_values) * a) * N).sum())
    gradients = by_kernel(problem.gram, M, u[:, None], a[:, None], q)
    return MachineLoss(float((w[:, None] * above).sum()), gradients, by_strength, p, point)


def machine_bytes(n: int, threads: int | None) -> Any:
    """K, the matrix of a Newton step or its inverse, and those of the gradient."""
    return 8 * 4 * n * n
