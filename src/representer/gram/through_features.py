"""K V = Phi (Phi' V) where a kernel has features: n m products instead of n^2, and no tile of K."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from representer import _parallel
from representer.gram.sides import Term

FEATURE_ROWS = 1024
"""Rows whose features a thread computes and multiplies at a time."""
SAMPLED_ROWS = 64
"""Rows sampled for the number of features of an input."""


def features_of(kernel: Any, inputs: Any) -> Any:
    """phi(x) of some prepared inputs as rows in their precision."""
    return kernel.feature_rows(inputs).astype(inputs.dtype, copy=False)


def numbers_in_a_row(kernel: Any, inputs: Any) -> float | None:
    """Features of an input, or the mean number of nonzero ones where they are sparse; None if there are no features."""
    if kernel.feature_rows is None:
        return None
    some = kernel.feature_rows(inputs.like[: min(len(inputs.like), SAMPLED_ROWS)])
    return some.nnz / some.shape[0] if sparse.issparse(some) else float(some.shape[1])


def pays(gram: Any, columns: int) -> bool:
    """Whether features take fewer operations than tiles in a product with this many columns."""
    size = numbers_in_a_row(gram.kernel, gram.column_inputs)
    if size is None:
        return False
    rows, others = gram.shape
    return (rows + others) * size * columns < rows * others * (size + columns) / (1 + gram.symmetric)


def pays_for_a_term(gram: Any, columns: int) -> bool:
    """Whether features take fewer operations than tiles for a term of a sum of kernels."""
    return any(pays(part, columns) or pays_for_a_term(part, columns) for part in _terms(gram))


def sum_of_terms(gram: Any, V: np.ndarray) -> np.ndarray:
    """K V as the sum of the products with each term of a sum of kernels, in float64."""
    total: Any = sum((part @ V).astype(np.float64, copy=False) for part in _terms(gram))
    return total


def _terms(gram: Any) -> list[Any]:
    """The matrix of each term of a sum of kernels, with evaluations counted by the whole."""
    parts = []
    for name in gram.kernel.summands:
        kernel = getattr(gram.kernel, name)
        columns = Term(gram.column_inputs, kernel, name)
        rows = columns if gram.symmetric else Term(gram.row_inputs, kernel, name)
        parts.append(gram.alike(kernel=kernel, _whole=None, column_inputs=columns, row_inputs=rows))
    return parts


def are_fewer(gram: Any) -> bool:
    """Whether a symmetric matrix has more entries than its features, so that it is better not stored."""
    size = numbers_in_a_row(gram.kernel, gram.column_inputs)
    return size is not None and 2.0 * size < len(gram)


def fewer_features(gram: Any) -> np.ndarray | None:
    """phi(x_i) as rows of an array with K = Phi Phi', for a symmetric matrix; None where these are not fewer."""
    if not are_fewer(gram) or gram.inputs is None:
        return None
    found = features_of(gram.kernel, gram.inputs)
    return found.toarray() if sparse.issparse(found) else found


def product(gram: Any, V: np.ndarray) -> np.ndarray:
    """K V in float64: strips are multiplied in the precision of K; Phi' V is summed in float64 in a fixed order."""
    ours, theirs = (gram.column_inputs, gram.row_inputs) if gram.transposed else (gram.row_inputs, gram.column_inputs)
    U: Any = 0.0
    for b in theirs.chunks:
        for part in _strips(gram, theirs.chunk(b), lambda rows, phi, b=b: phi.T @ V[b][rows]):
            U = U + part.astype(np.float64)
    small = U.astype(gram.dtype)
    out = np.empty((gram.shape[0], *V.shape[1:]))
    for a in ours.chunks:
        out[a] = np.concatenate(list(_strips(gram, ours.chunk(a), lambda rows, phi: phi @ small)))
    gram.meter.add(sum(gram.shape) * len(small))
    return out


def _strips(gram: Any, inputs: Any, visit: Any) -> Any:
    """Yield visit(rows, features) for strips of prepared inputs, computed on all threads, in order."""

    def run(strips: Any) -> list[Any]:
        return [visit(rows, features_of(gram.kernel, inputs[rows])) for rows in strips]

    for found in _parallel.map_tiles(_parallel.split(len(inputs), FEATURE_ROWS), run, threads=gram.threads):
        yield from found
