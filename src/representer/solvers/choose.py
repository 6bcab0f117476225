"""Which solver, and what it will take: one readable ladder, which can be asked without solving."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from representer.losses.base import Loss

DIRECT_UP_TO = 6000
"""Rows up to which a Cholesky factorisation is faster than conjugate gradients; measured by benchmarks/ridge."""


def iterative_memory(memory: int) -> int:
    """The part of the memory that conjugate gradients may use."""
    return min(memory // 2, 4 * 10**9)


def stores_matrix(n: int, memory: int) -> bool:
    """Whether a float32 kernel matrix takes less than a quarter of the memory; products with it are twice as fast."""
    return 4 * n * n <= memory // 4


@dataclass(frozen=True)
class Plan:
    """The solver that a fit will use, why, and what it takes."""

    solver: str
    reason: str
    bytes: int
    kernel_evaluations: int

    def __str__(self) -> str:
        return (
            f"{self.solver}, because {self.reason}: about {self.bytes / 1e6:.4g} MB "
            f"and {self.kernel_evaluations:.3g} kernel values."
        )


def choose_ridge(n: int, alphas: np.ndarray, *, path: bool, memory: int, solver: str = "auto") -> Plan:
    """The solver for a ridge problem with n rows and the given alphas (one for each target, or a path to choose from).

    =====================  ==========================================  ==========================================
    solver                 when                                        takes
    =====================  ==========================================  ==========================================
    eigendecomposition     alpha is chosen from several                3 n^2 doubles, 10 n^3 operations
    Cholesky               n <= 6,000, or alpha = 0                    n^2 floats, n^3 / 3 operations
    conjugate gradients    otherwise                                   rank x n floats, some dozens of products
    =====================  ==========================================  ==========================================
    """
    if path:
        plan = Plan("eigendecomposition", "alpha is chosen from several by leave-one-out", 24 * n * n, n * (n + 1) // 2)
    elif solver == "conjugate_gradient" and alphas.min() == 0:
        raise ValueError("Conjugate gradients need a positive alpha; use solver='cholesky' for alpha = 0.")
    elif solver == "cholesky" or (solver == "auto" and (n <= DIRECT_UP_TO or alphas.min() == 0)):
        why = "it was asked for" if solver != "auto" else "n is small" if n <= DIRECT_UP_TO else "alpha is 0"
        plan = Plan("cholesky", why, (4 if n >= 1500 else 8) * n * n, n * (n + 1) // 2 * 4)
    else:
        stored = stores_matrix(n, iterative_memory(memory))
        why = "it was asked for" if solver != "auto" else "n is large"
        why += ", with a float32 matrix in memory" if stored else ", without an n x n matrix"
        size = 4 * n * n if stored else 4 * min(2000, max(100, n // 12)) * n
        plan = Plan("conjugate_gradient", why, size, (4 if stored else 40) * n * n // 2)
    if plan.bytes > memory:
        raise MemoryError(
            f"A fit by {plan.solver} needs {plan.bytes / 1e9:.3g} GB, above the budget of {memory / 1e9:.3g} GB; "
            "use a single alpha with solver='conjugate_gradient', fewer rows, or a larger memory=."
        )
    return plan


def matrix_form(n: int, memory: int) -> str:
    """How a solver with many products holds the kernel matrix: in float64, in float32, or not at all."""
    if 8 * n * n <= memory // 8:
        return "float64"
    return "float32" if 4 * n * n <= memory // 4 else "operator"


def choose_machine(n: int, loss: Loss, *, memory: int, outputs: int = 1) -> Plan:
    """The solver for a loss and the squared norm; other norms need some ten such solutions.

    ==================  ================================  =====================================================
    solver              when                              takes
    ==================  ================================  =====================================================
    newton              the loss has a curvature          K in float64 up to an eighth of the memory, in float32 up
                                                          to a quarter, and beyond that no matrix but its products
    smoothed newton     the loss has kinks                the same, more often
    lbfgs               only value and gradient are       a factor of K, n^2 doubles unless its rank is low
                        known
    ==================  ================================  =====================================================
    """
    if not loss.smooth and not loss.complete:
        raise ValueError(
            f"{loss!r} has kinks and gives only value and gradient; give curvature, conjugate, domain and envelope and "
            "set complete = True, or use a smooth loss."
        )
    form = matrix_form(n, memory)
    size = {"float64": 8, "float32": 4, "operator": 0}[form] * n * n
    stored = "without an n x n matrix" if form == "operator" else f"with a {form} matrix in memory"
    if not loss.complete or not loss.convex:
        why = "only value and gradient of the loss are known" if loss.convex else "the loss is not convex"
        plan = Plan("lbfgs", why, size + 8 * n * n, n * (n + 1))
    else:
        name, why = ("newton", "the loss has a curvature") if loss.smooth else ("smoothed newton", "the loss has kinks")
        # a step by Cholesky needs a copy of the matrix, and conjugate gradients a factor of low rank
        extra = 8 * n * min(n, 2500) + 8 * 12 * n * outputs
        products = 1 if form != "operator" else 40 if loss.smooth else 200
        plan = Plan(name, f"{why}, {stored}", size + extra, products * n * (n + 1) // 2)
    if plan.bytes > memory:
        raise MemoryError(
            f"A fit by {plan.solver} needs {plan.bytes / 1e9:.3g} GB, above the budget of {memory / 1e9:.3g} GB; "
            "use fewer rows, a loss with a curvature, or a larger memory=."
        )
    return plan
