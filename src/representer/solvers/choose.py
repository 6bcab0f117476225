"""Which solver, and what it will take: one readable ladder, which can be asked without solving."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from representer._loops.products import NARROW
from representer._loops.registers import BYTES, VECTORS
from representer.losses.base import Loss
from representer.solvers.box import FEW_BELOW, FEW_BYTES, FEW_SHARED
from representer.solvers.working_set import FLAT_UP_TO, MAX_SIZE, SET_SIZE

DIRECT_UP_TO = 6000
"""Rows up to which a Cholesky factorisation is faster than conjugate gradients; measured by benchmarks/ridge."""
TINY = 0.01 * float(np.finfo(np.float32).eps)
"""alpha / trace(K) below which conjugate gradients need float64 products and hundreds of iterations."""

BAND_FROM = 2000
"""Rows from which alphas go by band reduction. On one thread, with 50 alphas, an eigendecomposition took 0.7 of its
time at 1,000 rows, 1.15 at 2,000 and 1.5 at 3,000."""
ROWS_FOR_EACH_ALPHA = 40
"""Rows for each alpha of a path that a band reduction needs, because every alpha costs it more."""

TOGETHER = VECTORS * BYTES // 4
"""Columns that a product of float32 tiles finds together."""

DENSE_UP_TO = 1000
"""Rows up to which all of a matrix is decomposed; beyond, iterations on a block of vectors are faster."""


def iterative_memory(memory: int) -> int:
    """The part of the memory that conjugate gradients may use."""
    return min(memory // 2, 4 * 10**9)


def stores_matrix(n: int, memory: int) -> bool:
    """Whether a float32 kernel matrix takes less than a quarter of the memory; products with it are twice as fast."""
    return 4 * n * n <= memory // 4


def stores_tiles(n: int, memory: int) -> bool:
    """Whether the float32 tiles of a lower triangle take less than a quarter of the memory."""
    return 2 * n * n <= memory // 4


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


def choose_ridge(
    n: int, alphas: np.ndarray, *, path: bool, memory: int, scale: float = 1.0, solver: str = "auto"
) -> Plan:
    """The solver for a ridge problem with n rows and the given alphas (one for each target, or a path to choose from).

    =====================  ==========================================  ==========================================
    solver                 when                                        takes
    =====================  ==========================================  ==========================================
    band reduction         alpha is chosen from several, n >= 2,000    3 n^2 doubles, 8/3 n^3 + 48 n^2 operations
                           and 40 rows or more for each                for each alpha
    eigendecomposition     alpha is chosen from several, otherwise     3 n^2 doubles, 10 n^3 operations
    Cholesky               n <= 6,000, or alpha = 0                    n^2 floats, n^3 / 3 operations
    Cholesky               alpha < eps trace(K) / 100 and n^2 doubles  n^2 doubles, n^3 / 3 operations
                           take less than half of the memory
    conjugate gradients    otherwise                                   rank x n floats, some dozens of products
    =====================  ==========================================  ==========================================

    eps = 1.2e-7 is the rounding of float32 and trace(K) = n ``scale``, the mean of w_i k(x_i, x_i). Products in float32
    have errors of eps |K| <= eps trace(K), and a ridge that is much smaller drowns in them.
    """
    tiny = alphas.min() < TINY * n * scale and 8 * n * n <= memory // 2
    if path:
        different = np.unique(alphas, axis=1).size  # targets with the same path share it
        banded = n >= max(BAND_FROM, ROWS_FOR_EACH_ALPHA * different) and alphas.min() > 0
        name = "band_reduction" if banded else "eigendecomposition"
        plan = Plan(name, "alpha is chosen from several by leave-one-out", 24 * n * n, n * (n + 1) // 2)
    elif solver == "conjugate_gradient" and alphas.min() == 0:
        raise ValueError("Conjugate gradients need a positive alpha; use solver='cholesky' for alpha = 0.")
    elif solver == "cholesky" or (solver == "auto" and (n <= DIRECT_UP_TO or alphas.min() == 0)):
        why = "it was asked for" if solver != "auto" else "n is small" if n <= DIRECT_UP_TO else "alpha is 0"
        plan = Plan("cholesky", why, (4 if n >= 1500 else 8) * n * n, n * (n + 1) // 2 * 4)
    elif solver == "auto" and tiny:
        plan = Plan("cholesky", "alpha is tiny against the kernel's scale", 8 * n * n, n * (n + 1) // 2 * 4)
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


def choose_box(n: int, *, memory: int, n_classes: int = 2, probability: bool = False, threads: int = 1) -> Plan:
    """The plan for a box-constrained dual with n coefficients, or one for each pair of classes.

    ====================================  ====================================  =================================
    kernel matrix in memory               when                                  takes
    ====================================  ====================================  =================================
    whole, or of each pair of classes     n <= 6,000, or several classes and    n^2 floats at most; a fifth for ten
                                          it takes less than a quarter of it    equal classes on two threads; up to
                                                                                3/2 n^2 doubles for two if n < 700;
                                                                                n^2 doubles and these for each thread
                                                                                for such pairs if n <= 3,000
    of a working set                      otherwise                             8,192^2 floats, or 10,240^2 where there
                                                                                is room, and up to 16,384^2 if more
                                                                                coefficients are free
    ====================================  ====================================  =================================

    Probabilities need a matrix of the free support vectors in doubles, too: up to 8,192^2, more if more are free.
    """
    whole = n <= FLAT_UP_TO or (n_classes > 2 and stores_matrix(n, memory))
    some = min(n, SET_SIZE)
    least = 4 * (n if whole else some) ** 2 + (8 * some**2 if probability else 0)
    most = 4 * (n if whole else min(n, MAX_SIZE)) ** 2
    if n < FEW_BELOW or (n_classes > 2 and n <= FEW_SHARED):
        pair = FEW_BYTES * min(n, FEW_BELOW) ** 2
        most = pair if n_classes == 2 else 8 * n**2 + threads * pair
    most += 8 * some**2 if probability else 0
    why = "all kernel values fit the memory" if whole else "n is large, so only a working set's matrix is kept"
    if least > memory:
        raise MemoryError(
            f"A fit on {n} rows needs {least / 1e9:.3g} GB, above the budget of {memory / 1e9:.3g} GB; "
            "use fewer rows, or a larger memory=."
        )
    return Plan("pair steps", why, min(most, memory), n * (n + 1) // 2 if whole else n * n)


def choose_eigen(n: int, n_components: int | None, *, memory: int, solver: str = "auto") -> Plan:
    """The solver for the leading eigenpairs of an n x n Gram matrix; None asks for all of them.

    ========  ====================================================  ==============================================
    solver    when                                                  takes
    ========  ====================================================  ==============================================
    dense     n <= 1,000, or more than a tenth of all components    3 n^2 doubles, some n^3 operations
    davidson  otherwise                                             a factor of rank about sqrt(n n_components),
                                                                    some block products; n^2 / 2 floats if they fit
    ========  ====================================================  ==============================================
    """
    wanted = n if n_components is None else min(n_components, n)
    few = wanted <= n // 10
    if solver == "davidson" and not few:
        raise ValueError(
            f"solver='davidson' finds at most a tenth of all components, here {n // 10}, but {wanted} are wanted; "
            "use fewer n_components or solver='dense'."
        )
    if solver == "dense" or (solver == "auto" and (n <= DENSE_UP_TO or not few)):
        why = "it was asked for" if solver != "auto" else "n is small" if n <= DENSE_UP_TO else "many are wanted"
        plan = Plan("dense", why, 24 * n * n, n * (n + 1) // 2)
    else:
        stored = stores_tiles(n, iterative_memory(memory))
        why = "it was asked for" if solver != "auto" else "n is large"
        why += ", with float32 tiles in memory" if stored else ", without an n x n matrix"
        rank = start_rank(n, wanted, iterative_memory(memory))
        size = 2 * n * n * stored + 4 * n * rank + 16 * n * 8 * block_size(wanted)
        plan = Plan("davidson", why, size, (2 if stored else 6) * n * (n + 1) // 2 + n * rank)
    if plan.bytes > memory:
        raise MemoryError(
            f"The eigenvectors by the solver {plan.solver!r} need {plan.bytes / 1e9:.3g} GB, above the budget of "
            f"{memory / 1e9:.3g} GB; use fewer n_components (at most a tenth of the rows), fewer rows, or a larger "
            "memory=."
        )
    return plan


def start_rank(n: int, n_components: int, memory: int) -> int:
    """Rank of the factor that starts the iterations, about as costly as a block product, which stored tiles make cheap.

    At least two blocks, and beyond that at most 2,000 and a quarter of the memory.
    """
    least = 2 * block_size(n_components)
    wanted = np.sqrt((1.0 if stores_tiles(n, memory) else 2.0) * n * n_components)
    return int(min(n, max(least, 100, min(wanted, 2000.0, memory // (16 * n)))))


def block_size(n_components: int) -> int:
    """Columns of a block: some more than wanted, so that the last wanted one converges as fast as the first.

    One less than the width of a fast product, as one more column comes along; BLAS likes eights.
    """
    if n_components + 4 <= NARROW[1]:
        return -(-(n_components + 4) // TOGETHER) * TOGETHER - 1
    return -(-(n_components + n_components // 2 + 1) // 8) * 8 - 1


def matrix_form(n: int, memory: int) -> str:
    """How a solver with many products holds the kernel matrix: in float64, in float32, or not at all."""
    if 8 * n * n <= memory // 8:
        return "float64"
    return "float32" if stores_tiles(n, memory) else "operator"


def choose_machine(n: int, loss: Loss, *, memory: int, outputs: int = 1) -> Plan:
    """The solver for a loss and the squared norm; other norms need some ten such solutions.

    ==================  ================================  =====================================================
    solver              when                              takes
    ==================  ================================  =====================================================
    newton              the loss has a curvature          K in float64 up to an eighth of the memory, its half in
                                                          float32 up to a quarter, beyond that only its products
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
    size = {"float64": 8, "float32": 2, "operator": 0}[form] * n * n
    stored = "without an n x n matrix" if form == "operator" else f"with a {form} matrix in memory"
    if not loss.complete or not loss.convex:
        why = "only value and gradient of the loss are known" if loss.convex else "the loss is not convex"
        plan = Plan("lbfgs", why, size + 8 * n * n, n * (n + 1))
    else:
        name, why = ("newton", "the loss has a curvature") if loss.smooth else ("smoothed newton", "the loss has kinks")
        # a step by Cholesky needs a copy of the matrix, and conjugate gradients a factor of low rank
        extra = 8 * n * min(n, 2500) + 8 * 12 * n * outputs
        if not loss.smooth:  # pair steps come before them, on a matrix of their own
            extra = max(extra, (FEW_BYTES if n < FEW_BELOW else 4) * min(n, SET_SIZE) ** 2)
        products = 1 if form != "operator" else 40 if loss.smooth else 200
        plan = Plan(name, f"{why}, {stored}", size + extra, products * n * (n + 1) // 2)
    if plan.bytes > memory:
        raise MemoryError(
            f"A fit by {plan.solver} needs {plan.bytes / 1e9:.3g} GB, above the budget of {memory / 1e9:.3g} GB; "
            "use fewer rows, a loss with a curvature, or a larger memory=."
        )
    return plan
