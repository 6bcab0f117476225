"""Fits to chunks of rows that are seen once: pushed by `partial_fit`, or pulled from a generator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from representer.estimators.in_span import design_of, is_approximation, with_approximation
from representer.estimators.inputs import check_targets, check_weights
from representer.estimators.ridge_in_span import CHOOSING, RidgeInSpan
from representer.estimators.row_targets import numbers
from representer.kernels.base import Kernel
from representer.problems.finite import columns_of
from representer.rows.arrays import ArrayRows
from representer.rows.base import Rows
from representer.rows.validation import check_inputs, reset_fitted
from representer.solvers.one_pass import Accumulated

KNOWN_BASIS = "the kernel has a basis that does not depend on the rows"


def takes_chunks(model: Any) -> bool:
    """Whether a model has `partial_fit`: if its kernel has a basis."""
    return model._given_kernel().basis is not None


def unsettled(kernel: Kernel, X: Any) -> list[str]:
    """The parameters of a kernel that a fit would choose from the data."""
    before = {name: value for name, value in kernel.get_params().items() if value is None or isinstance(value, str)}
    after = kernel.with_default_scales(X).get_params()
    # the number of given landmarks is not a choice
    names = [name for name, value in before.items() if name.split("__")[-1] != "n_components" and name in after]
    return [name for name in names if after[name] is not before[name] and not _same(after[name], before[name])]


def _same(a: Any, b: Any) -> bool:
    return isinstance(a, str) and a == b


def absorb(model: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """Add a chunk to the sums of a ridge model, and solve with the totals."""
    so_far = getattr(model, "_chunks", None)  # plain arrays, which a model file can hold
    if so_far is None and hasattr(model, "function_"):
        raise ValueError(
            "This model was fitted by `fit`, which keeps no sums; call partial_fit on a new one, such as clone(model)."
        )
    if isinstance(X, Rows):
        rows, single = numbers(model, X, y, sample_weight, several=True), np.ndim(X.beginning()[1]) == 1
    else:
        X = check_inputs(model, X, model._given_kernel(), reset=so_far is None)
        y = check_targets(model, X, y)
        rows, single = ArrayRows(X, y, check_weights(sample_weight, X)), y.ndim == 1
    if so_far is None:
        model._single_output = single
        return fit_once(model, rows)
    shift, sums, n = so_far
    some, y, _ = rows.beginning()
    if (targets := columns_of(y).shape[1]) != len(shift):
        raise ValueError(f"This chunk has {targets} targets, but those before it had {len(shift)}.")
    design = design_of(model.kernel_.basis(some), model.threads)
    return _solved(model, model.kernel_, rows, Accumulated.going_on(design, shift, sums, n))


def fit_once(model: Any, rows: Rows) -> Any:
    """Fit to rows that can be read once; raise, naming the passes needed, if anything is chosen from all of them."""
    X, y, w = rows.beginning()
    kernel = model._given_kernel()
    _require_settled(kernel, rows, X)
    kernel = kernel.with_default_scales(X)
    assert kernel.basis is not None
    design = design_of(kernel.basis(X), model.threads)
    return _solved(model, kernel, rows, Accumulated.empty(design, y, w, model.fit_intercept))


def _solved(model: Any, kernel: Kernel, rows: Rows, so_far: Accumulated) -> Any:
    """The model fitted to the sums so far plus those of these rows."""
    budget, (alphas, path) = model._budget(), model._alphas(len(so_far.shift))
    spanned = RidgeInSpan(model, kernel, so_far.design.basis, rows, alphas)
    so_far = so_far.plus(rows)
    sums, alpha = so_far.totals(model.fit_intercept), alphas[0]
    reset_fitted(model, *CHOOSING)
    if path:
        model.gcv_ = sums.gcv(alphas)
        scores = model.gcv_ if model.alpha_per_target else model.gcv_.mean(axis=1, keepdims=True)
        alpha = alphas[np.broadcast_to(scores.argmin(axis=0), alphas.shape[1:]), np.arange(alphas.shape[1])]
    result = so_far.solve(replace(spanned.problem, alpha=alpha), budget, KNOWN_BASIS, sums)
    measured = ArrayRows(rows.beginning()[0])
    spanned.keep(alpha, result, with_approximation(result.certificate, spanned.basis, measured, None))
    model._chunks = so_far.shift, so_far.sums, so_far.rows
    model._warn_unless_converged(model.certificate_, "use a larger alpha or tol, or fit, which reads all rows again")
    return model


def _require_settled(kernel: Kernel, rows: Rows, first: Any) -> None:
    names = unsettled(kernel, first)
    if not names:
        return
    rows.require(3, f"to choose {', '.join(names)} of {kernel!r}, for sums, and for a residual")
    given = "Nystroem(RBF(1.0), landmarks=inputs)" if is_approximation(kernel) else "a kernel with all of them"
    raise ValueError(
        f"Chunks are seen one at a time, but {', '.join(names)} of {kernel!r} would be chosen from all rows; give "
        f"{'them' if len(names) > 1 else 'it'}, such as {given}, or use fit."
    )
