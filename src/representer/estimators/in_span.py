"""Fits in the span of a basis: which kernels have one, rows from anywhere, and functions from coefficients."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from representer.features.approximation import MEASURED, approximation, residual_diagonal
from representer.features.span import seed_of
from representer.functions import Function
from representer.gram.design import Design
from representer.kernels import checks
from representer.kernels.base import Kernel
from representer.kernels.basis import Basis
from representer.result import Certificate, Plan
from representer.rows.arrays import ArrayRows
from representer.rows.base import Rows

MANY_ROWS_FROM, ROWS_FOR_EACH = 2000, 4
"""Rows in total, and rows per basis function, from which an exact kernel of finite rank is solved in its span."""
SCALE_ROWS = 40_000
"""Rows sampled to choose length scales and landmarks of an approximation, unless the kernel says how many."""
GAP_WORK = 2e10
"""n m^2 up to which the gap to the whole space of the approximated kernel is computed."""


def is_approximation(kernel: Kernel) -> bool:
    """Whether a kernel approximates another one in a span; products and powers of approximations have no basis."""
    return kernel.original is not kernel and kernel.basis is not None


def refuse(kernel: Kernel, what: str, instead: str) -> None:
    """Raise if a kernel has an approximation in it, which an estimator cannot use."""
    if kernel.original is not kernel:
        raise ValueError(f"{what} has no form in the span of a basis, so it cannot use {kernel!r}; use {instead}.")


def may_span(kernel: Kernel, X: Any) -> bool:
    """Whether a kernel has a basis, before anything is chosen from the data."""
    return isinstance(X, Rows) or is_approximation(kernel) or kernel.basis is not None


def basis_for(kernel: Kernel, X: Any) -> Basis | None:
    """The basis in which a fit is solved: of an approximation always, of other kernels for many rows."""
    if isinstance(X, Rows):
        if kernel.basis is None:
            raise TypeError(
                f"Rows in files, streams or on a cluster are fitted in the span of a basis, and {kernel!r} has none; "
                "use Nystroem(kernel, n_components), RandomFeatures(kernel, n_components), or arrays."
            )
        return kernel.basis(X.beginning()[0])
    if kernel.basis is None:
        return None
    basis, n = kernel.basis(X), checks.number_of(X)
    if kernel.original is not kernel:
        return basis
    return basis if n >= MANY_ROWS_FROM and n >= ROWS_FOR_EACH * basis.size else None


def kernel_for_rows(kernel: Kernel, rows: Rows) -> Kernel:
    """The kernel with its data-dependent parameters, from a sample that does not depend on where rows are stored."""
    n = rows.n_rows
    if (wanted := _rows_wanted(kernel, n)) < n:
        X, _, w = rows.sample(wanted, seed_of(getattr(kernel, "random_state", 0)))
    else:
        X, w = rows.gathered()
    return kernel.with_default_scales(X, w)


def kernel_for(kernel: Kernel, X: Any, weights: np.ndarray | None = None) -> Kernel:
    """The kernel with its data-dependent parameters: an approximation's are chosen as for the same rows elsewhere."""
    if is_approximation(kernel) and _rows_wanted(kernel, n := checks.number_of(X)) < n:
        return kernel_for_rows(kernel, ArrayRows(X, None, weights))
    return kernel.with_default_scales(X, weights)


def _rows_wanted(kernel: Kernel, n: int) -> int:
    """How many of n rows length scales and landmarks are chosen from."""
    return int(getattr(kernel, "sample_rows", lambda n: min(n, SCALE_ROWS))(n))


def design_of(basis: Basis, threads: int | None) -> Design:
    """The design matrix of a basis."""
    return Design(basis, threads)


def function_of(basis: Basis, w: np.ndarray, intercept: Any, threads: int | None) -> Function:
    """f = <w, phi(.)> + b, on representers of the original kernel where there are some."""
    kernel, X, coef = basis.representers(w)
    return Function(kernel, X, coef, intercept, threads=threads)


def rows_of(X: Any, y: Any = None, weights: Any = None) -> Rows:
    """Rows in memory, or those that were given."""
    return X if isinstance(X, Rows) else ArrayRows(X, y, weights)


def with_approximation(certificate: Certificate, basis: Basis, rows: Rows, full_gap: float | None) -> Certificate:
    """The certificate with the error of the approximation beside that of the solver, and passes that only sampled."""
    if basis.kernel.original is not basis.kernel:
        measured = approximation(basis, rows.sample(min(rows.n_rows, MEASURED), 5)[0])
        certificate = replace(certificate, approximation=replace(measured, full_gap=full_gap))
    return replace(certificate, passes=certificate.passes + rows.sampled())


def with_samples(plan: Plan, basis: Basis, rows: Rows, gap: bool = False) -> Plan:
    """The plan with the passes that sample rows for the kernel and for the errors of an approximation, and its gap."""
    samples = 1 + (basis.kernel.original is not basis.kernel)
    return replace(plan, passes=plan.passes + samples * rows.sample_passes + (gap and has_full_gap(basis, rows)))


class Gaps:
    """sum_i |v_i| sqrt(k(x_i, x_i) - k^(x_i, x_i)) for the slopes v of a fit."""

    def __init__(self, design: Design, kernel: Kernel, w: np.ndarray, intercept: Any, slopes: Any):
        self.design, self.kernel, self.w, self.intercept, self.slopes = design, kernel, w, intercept, slopes

    def __call__(self, X: Any, y: Any, weights: Any) -> tuple:
        phi = self.design.features(X).astype(np.float64)
        left = residual_diagonal(self.kernel, X, np.einsum("ij,ij->i", phi, phi))
        v = self.slopes(np.asarray(y, np.float64).reshape(len(phi), -1), phi @ self.w + self.intercept)
        v = v if weights is None else np.asarray(weights, np.float64)[:, None] * v
        return (np.sqrt(left) @ np.abs(v),)


def has_full_gap(basis: Basis, rows: Rows) -> bool:
    """Whether the gap to the space of the approximated kernel is computed, by one more pass."""
    return basis.kernel.original is not basis.kernel and float(rows.n_rows) * basis.size**2 <= GAP_WORK


def distance_to_all(part: Gaps, rows: Rows, strength: Any) -> float | None:
    """By how much the dual value with k may be below that with k^: (sum_i |v_i| sqrt(gap_i))^2 / (2 strength).

    For any v, v'Kv <= v'K^v + (sum_i |v_i| sqrt(gap_i))^2. None where it takes too long.
    """
    if not has_full_gap(part.design.basis, rows):
        return None
    (sums,) = rows.total(part)
    rows.counted()
    return float(np.sum(np.atleast_1d(sums) ** 2 / (2.0 * np.asarray(strength))))
