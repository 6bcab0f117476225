"""Laws of Gram matrices, and of every matrix that solvers take."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer.gram import through_features
from representer.gram.low_rank import LowRank
from representer.gram.operator import Operator
from representer.gram.stored import Packed, Stored
from representer.gram.tiled import Gram
from representer.kernels.base import Kernel
from representer.testing.closeness import close


def check_gram(kernel: Kernel, X: Any, Y: Any = None) -> None:
    """The operator satisfies `check_operator`, sums and contracts like the dense matrix, and counts its values.

    So does the same matrix transposed, stored in both forms, and as F'F.

    Parameters
    ----------
    kernel : Kernel
    X, Y : inputs of the kernel
    """
    dense = kernel(X) if Y is None else kernel(X, Y)
    n, m = dense.shape
    rng, tolerance = np.random.default_rng(0), _rounding(dense, dense.dtype)
    for threads in (1, 2):
        K, V = Gram(kernel, X, Y, threads=threads), rng.normal(size=(m, 2))
        assert np.array_equal(K @ V, K @ V), "two products differ in their bits"
        by_features = through_features.pays(K, 2) or through_features.pays_for_a_term(K, 2)
        if not by_features:  # which counts feature values
            values = n * (n + 1) // 2 if Y is None else n * m
            assert K.evaluations == 2 * values, f"two products count {K.evaluations} values, not {2 * values}"
        assert K.T.shape == (m, n), "the transposed operator has the wrong shape"
        close(K.T @ dense[:, 0], dense.T @ dense[:, 0], tolerance * np.abs(dense).max(), "K.T @ v is not K' v")
        close(K.sum(axis=1), dense.sum(axis=1), tolerance, "sums of rows differ")
        close(K.sum(axis=0), dense.sum(axis=0), tolerance, "sums of columns differ")
        _check_contraction(K, kernel, (X, Y), tolerance)
    check_operator(K, dense)
    if Y is not None:
        check_operator(K.T, dense.T)
        return
    for stored in (Stored.of(K), Packed(K)):
        assert stored.nbytes >= 4 * n * (n + 1) // 2, f"nbytes is {stored.nbytes}, less than the stored values take"
        check_operator(stored, dense)
    if kernel.definite:
        few = dense[:20, :20].astype(np.float64)
        eigenvalues, vectors = np.linalg.eigh(few)
        check_operator(LowRank(np.sqrt(np.maximum(eigenvalues, 0.0))[:, None] * vectors.T), few)


def _check_contraction(K: Gram, kernel: Kernel, inputs: tuple[Any, Any], tolerance: float) -> None:
    rng = np.random.default_rng(1)
    U, V = rng.normal(size=(K.shape[0], 2)), rng.normal(size=(K.shape[1], 2))
    by_factors, by_array = K.contract((U, V)), K.contract(U @ V.T)
    whole = kernel.contract(inputs[0], U @ V.T, inputs[1])
    assert by_factors.keys() == by_array.keys() == whole.keys(), "contractions name different hyper-parameters"
    for name, value in whole.items():
        scale = 1e3 * tolerance * max(np.abs(value).max(), 1.0)
        close(by_factors[name], value, scale, f"contract(U, V) differs for {name}")
        close(by_array[name], value, scale, f"contract(W) differs for {name}")


def check_operator(K: Operator, dense: np.ndarray) -> None:
    """Products, diagonal, blocks, subsets and precisions are those of the dense matrix, and values are counted.

    Parameters
    ----------
    K : Operator
        Symmetric if it is square.
    dense : array of K's shape
        The matrix itself, as accurate as K.
    """
    n, m = dense.shape
    rng, tolerance, exact = np.random.default_rng(0), _rounding(dense, K.dtype), dense.astype(np.float64)
    assert (K.shape, len(K)) == ((n, m), n), f"shape is {K.shape}, not {(n, m)}"
    assert K.nbytes >= 0, "nbytes is negative"
    V, w = rng.normal(size=(m, 3)), rng.normal(size=n)
    for v in (V, V[:, 0], V[:, :0]):
        assert (K @ v).dtype == np.float64, "the product with float64 numbers is not float64"
        close(K @ v, exact @ v, tolerance, "K @ V differs from the dense product")
    close(w @ K, w @ exact, tolerance, "v @ K differs from the dense product")
    before = K.evaluations
    all_values = K.dense()
    close(all_values, dense, tolerance, "dense() differs from the matrix")
    all_values[:] = np.nan
    i, j = rng.integers(0, n, 3), rng.integers(0, m, 4)
    for rows, columns in ((i, j), (slice(0, 2), slice(None)), (i[:0], j)):
        law = "block() differs from the dense block"
        close(K.block(rows, columns), dense[rows][:, columns], tolerance, law)
    assert K.evaluations >= before, "evaluations fall"
    for dtype in (np.float32, np.float64):
        law = f"astype({dtype.__name__}) differs from the matrix"
        close(K.astype(dtype).dense(), dense, tolerance + 50 * _rounding(dense, np.float32), law)
    if n == m:
        close(K.diag(), dense.diagonal(), tolerance, "diag() differs from the diagonal")
        _check_subset(K.take(i), exact[np.ix_(i, i)], K, tolerance)
        _check_subset(K.take(i).take(slice(1, 3)), exact[np.ix_(i[1:], i[1:])], K, tolerance)
    if not isinstance(K, LowRank):
        _check_subset(K.take(i, j), exact[np.ix_(i, j)], K, tolerance)


def _check_subset(part: Operator, exact: np.ndarray, K: Operator, tolerance: float) -> None:
    """The values of a subset, and that the matrix it was taken from counts them."""
    v = np.arange(1.0, exact.shape[1] + 1.0)
    before = K.evaluations, part.evaluations
    close(part @ v, exact @ v, 10 * tolerance, "take() @ v differs from the dense product")
    close(part.dense(), exact, tolerance, "take() differs from the dense block")
    assert K.evaluations - before[0] == part.evaluations - before[1], "a subset's values are not counted by the matrix"


def _rounding(dense: np.ndarray, dtype: Any) -> float:
    """Rounding error of the product of a row with entries of size one."""
    return 20 * float(np.finfo(dtype).eps) * max(np.abs(dense).max() * max(dense.shape), np.finfo(np.float32).tiny)
