"""Functions in the reproducing-kernel Hilbert space H of a kernel."""

from __future__ import annotations

from functools import cached_property
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.base import clone

from representer.gram.tiled import Gram
from representer.kernels import checks, named_features
from representer.kernels.base import Kernel, require_definite, require_kernel
from representer.kernels.named_features import Explanation
from representer.kernels.separated import ColumnShares, column_shares


class Function:
    """f = constant + sum_i coef_i k(x_i, .), an element of H plus a constant, with one output or several.

    Norms, inner products and distances are those of H and ignore the constant; they are a number for one output, and
    an array with one number per output for several.

    Parameters
    ----------
    kernel : Kernel
    X : inputs of the kernel
        The points x_i whose representers k(x_i, .) span the function; they must not be modified afterwards.
    coef : array of shape (n,) or (n, n_outputs)
    constant : float or array of shape (n_outputs,)
    prepared : prepared inputs, optional
        The result of ``kernel.prepare(X)``, if it has been computed already.
    threads : int, optional
        The number of cores when not given.

    Examples
    --------
    >>> import numpy as np
    >>> from representer import Function
    >>> from representer.kernels import RBF
    >>> f = Function(RBF(), np.array([[0.0], [1.0]]), np.array([1.0, -1.0]))
    >>> f(np.array([[0.5]]))
    array([0.])
    >>> round(float(f.norm()), 4)
    0.8871
    """

    __array_ufunc__ = None  # numpy scalars leave `*` to this class

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        coef: Any,
        constant: Any = 0.0,
        *,
        prepared: Any = None,
        threads: int | None = None,
    ):
        if not isinstance(kernel, Kernel):
            raise TypeError(
                f"kernel is {kernel!r}; pass a kernel object such as RBF(), or wrap a function as Callable(function)."
            )
        self.kernel, self.X, self.threads = clone(kernel), X, threads
        self._set(coef, constant)
        self.inputs = kernel.prepare(X) if prepared is None else prepared

    @classmethod
    def restored(cls, kernel: Kernel, X: Any, coef: Any, constant: Any, threads: int | None = None) -> Function:
        """The function from parts that have been checked already; its inputs are prepared when first needed."""
        self = cls.__new__(cls)
        self.kernel, self.X, self.threads = require_kernel(kernel), X, threads
        self._set(coef, constant)
        return self

    @cached_property
    def inputs(self) -> Any:
        """The result of ``kernel.prepare(X)``."""
        return self.kernel.prepare(self.X)

    def with_coef(self, coef: Any, constant: Any = 0.0) -> Function:
        """sum_i coef_i k(x_i, .) + constant on the same inputs, which are not prepared again."""
        other = Function.restored(self.kernel, self.X, coef, constant, self.threads)
        other.inputs = self.inputs
        return other

    def _set(self, coef: Any, constant: Any) -> None:
        self.coef = np.asarray(coef)
        if self.coef.dtype.kind not in "biuf":
            raise TypeError(f"coef holds {self.coef.dtype}; it needs one number per input in X.")
        n = checks.number_of(self.X)
        if self.coef.ndim not in (1, 2) or self.coef.shape[0] != n:
            raise ValueError(
                f"coef has shape {self.coef.shape}, but X has {n} inputs; "
                "give one coefficient, or one row of them, per input."
            )
        checks.finite(self.coef, "coef")
        self.constant = np.asarray(constant, np.float64)[()]
        if not (isinstance(self.constant, float) and isfinite(self.constant)):
            checks.finite(np.asarray(self.constant), "constant")
        if np.shape(self.constant) not in ((), self.coef.shape[1:]):
            raise ValueError(
                f"constant has shape {np.shape(self.constant)}, but there are {self.coef.shape[1:] or 1} outputs; "
                "give one per output."
            )

    def __repr__(self) -> str:
        outputs = "" if self.coef.ndim == 1 else f", {self.coef.shape[1]} outputs"
        return f"Function({self.kernel!r}, {len(self.inputs)} representers{outputs})"

    def __call__(self, X: Any) -> np.ndarray:
        """f(x) for each x in X: shape (n,), or (n, n_outputs) for several outputs."""
        values = self._gram(X) @ self.coef
        return values + np.asarray(self.constant, values.dtype)

    def _gram(self, X: Any) -> Gram:
        """k(x, x_i) for new x and the x_i of this function."""
        A = self.kernel.prepare(X, like=self.inputs)
        return Gram.of(self.kernel, A, self.inputs, threads=self.threads)

    def gradient(self, X: Any) -> np.ndarray:
        """df / dx at each x in X: shape (n, n_columns), or (n, n_outputs, n_columns) for several outputs."""
        A = self.kernel.prepare(X, like=self.inputs)
        columns = np.atleast_2d(self.coef.T).astype(A.dtype, copy=False)
        weights = [np.broadcast_to(c, (min(len(A), 256), len(c))) for c in columns]
        parts = [
            np.stack([self.kernel.input_vjp(A[i : i + 256], self.inputs, w[: len(A) - i]) for w in weights], axis=1)
            for i in range(0, len(A), 256)
        ]
        gradient = np.concatenate(parts)
        return gradient[:, 0] if self.coef.ndim == 1 else gradient

    # ---- explanations ----

    def features(self, n: int = 20) -> list:
        """The n features with the largest weights, as (name, weight): entries of w in f(x) = constant + <w, phi(x)>.

        w = sum_i coef_i phi(x_i) is exact, for kernels whose features have names: counted ones such as words and
        subtrees, linear ones, and their sums, factors and columns, normalised or not. Several outputs have a list each.
        """
        return named_features.weights(self.kernel, self.X, self.coef.astype(np.float64), n)

    def explain(self, x: Any, n: int = 10) -> Explanation:
        """The contributions to f(x) at a single input: those of its features, and those of the inputs of f.

        Parameters
        ----------
        x : inputs of the kernel, one of them
        n : int
            How many features and inputs are listed.
        """
        if self.coef.ndim == 2:
            raise ValueError(f"This function has {self.coef.shape[1]} outputs; pick one, such as f[0].explain(x).")
        coef = self.coef.astype(np.float64)
        return named_features.explain(self.kernel, self.X, coef, float(self.constant), x, n)

    def column_shares(self, x: Any, owners: dict[Any, Any] | None = None, reference: Any = None) -> ColumnShares:
        """The contribution of each column to f(x) at a single input: exact Shapley values, for products and sums.

        A column is removed from a product of kernels, such as RBF, by replacing its factor with 1, as if all inputs
        agreed with x in it; from a linear part by moving x to the mean of the inputs in it. Columns that the kernel
        does not separate share one value.

        Parameters
        ----------
        x : inputs of the kernel, one of them
        owners : dict, optional
            Columns with the same owner, such as the levels of a category, are removed together.
        reference : inputs of the kernel, optional
            Removed columns take the values of these inputs instead; shares are averaged over them, and the base is the
            mean of f at them.
        """
        if self.coef.ndim == 2:
            raise ValueError(f"This function has {self.coef.shape[1]} outputs; pick one, such as f[0].")
        if checks.number_of(x) != 1:
            raise ValueError(f"x holds {checks.number_of(x)} inputs; a single one is explained, so pass one row.")
        owners = owners or {}
        if reference is None:
            return column_shares(self, x, owners)
        each = [checks.take(reference, np.array([i])) for i in range(checks.number_of(reference))]
        found = [column_shares(self, x, owners, one) for one in each]
        shares = {key: float(np.mean([part.shares[key] for part in found])) for key in found[0].shares}
        return ColumnShares(float(np.mean([part.base for part in found])), shares)

    # ---- the Hilbert space ----

    def inner(self, other: Function) -> Any:
        """<f, g> = sum_ij a_i b_j k(x_i, y_j), for each output."""
        self._same_space(other)
        require_definite(self.kernel, "an inner product")
        if other.X is self.X:
            applied = Gram.of(self.kernel, self.inputs, threads=self.threads) @ other.coef.astype(np.float64)
        else:
            self._combinable()
            applied = Gram(self.kernel, self.X, other.X, threads=self.threads) @ other.coef.astype(np.float64)
        return np.einsum("i...,i...->...", self.coef, applied)[()]

    def norm(self) -> Any:
        """||f|| = sqrt(a' K a), for each output."""
        return np.sqrt(np.maximum(self.inner(self), 0.0))[()]

    def distance(self, other: Function) -> Any:
        """||f - g||, for each output."""
        return (self - other).norm()

    def _same_space(self, other: Function) -> None:
        if not isinstance(other, Function):
            raise TypeError(f"{other!r} is not a Function; only functions of one space can be combined.")
        if self.kernel != other.kernel:
            raise ValueError(
                f"The functions have different kernels, {self.kernel!r} and {other.kernel!r}, so they live in "
                "different spaces; give both the same one, such as kernel.with_default_scales(inputs) for length "
                "scales of your choice."
            )
        if self.coef.shape[1:] != other.coef.shape[1:]:
            raise ValueError(
                f"The functions have coefficients of shapes {self.coef.shape} and {other.coef.shape}; "
                "they need equally many outputs."
            )

    def _combinable(self) -> None:
        if self.kernel.precomputed:
            raise ValueError("Functions of a precomputed kernel can be combined only if they share one Gram matrix X.")

    def __add__(self, other: Any) -> Function:
        if isinstance(other, Real):
            return self.with_coef(self.coef, self.constant + float(other))
        self._same_space(other)
        constant = self.constant + other.constant
        if other.X is self.X:
            return self.with_coef(self.coef + other.coef, constant)
        self._combinable()
        X, coef = checks.concatenate(self.X, other.X), np.concatenate([self.coef, other.coef])
        return Function(self.kernel, X, coef, constant, threads=self.threads)

    __radd__ = __add__

    def __mul__(self, factor: Any) -> Function:
        if not isinstance(factor, Real):
            return NotImplemented
        return self.with_coef(self.coef * float(factor), self.constant * float(factor))

    __rmul__ = __mul__

    def __truediv__(self, factor: Any) -> Function:
        return self * (1.0 / factor)

    def __neg__(self) -> Function:
        return self * -1.0

    def __sub__(self, other: Any) -> Function:
        return self + (-other)

    def __rsub__(self, other: Any) -> Function:
        return -self + other

    def __getitem__(self, output: int) -> Function:
        """One of several outputs, as a Function of its own."""
        if self.coef.ndim == 1:
            raise TypeError("This function has a single output, so there is none to pick.")
        return self.with_coef(self.coef[:, output], np.broadcast_to(self.constant, self.coef.shape[1:])[output])


def mean_embedding(kernel: Kernel, X: Any, weights: Any = None) -> Function:
    """mu = sum_i w_i k(x_i, .) / sum_i w_i, the mean of the representers of a sample; all w_i = 1 when not given.

    <f, mu> is the mean of f over the sample, for every f in H. The distance between two mean embeddings is the maximum
    mean discrepancy, and their difference the witness function. Length scales that were not given are chosen from X;
    means to be compared need the same kernel, so set its length scales first.

    Parameters
    ----------
    kernel : Kernel
    X : inputs of the kernel
    weights : array of shape (n,), optional
        Nonnegative. A weight of two is the same as an input given twice.

    Examples
    --------
    >>> import numpy as np
    >>> from representer import mean_embedding
    >>> from representer.kernels import RBF
    >>> X, Y = np.array([[0.0], [1.0]]), np.array([[0.0], [3.0]])
    >>> k = RBF(1.0)
    >>> round(float((mean_embedding(k, X) - mean_embedding(k, Y)).norm()), 4)
    0.6575
    """
    kernel = require_kernel(kernel)
    n = checks.number_of(X)
    w = np.ones(n) if weights is None else np.asarray(weights)
    if w.dtype.kind not in "biuf" or w.shape != (n,):
        raise ValueError(f"weights are {w.dtype} of shape {w.shape}; give one number for each of the {n} inputs.")
    checks.finite(w, "weights")
    w = w.astype(np.float64)
    if np.any(w < 0) or not np.any(w > 0):
        raise ValueError(
            "Weights of a mean must not be negative, nor all zero; for other sums build a Function(kernel, X, coef)."
        )
    return Function(kernel.with_default_scales(X, None if weights is None else w), X, w / w.sum())


def project(f: Function, X: Any, memory: int | None = None) -> Function:
    """Pf, the orthogonal projection of f onto the span of the representers k(x, .), x in X.

    Pf is the function in the span with the values of f on X: coef = K^+ f(X), where K^+ ignores eigenvalues that are
    zero to rounding. The constant of f is kept. K and its eigenvectors, 16 n^2 bytes, must fit ``memory``, which is the
    machine's when not given.
    """
    require_definite(f.kernel, "a projection")
    gram = Gram(f.kernel, X, threads=f.threads, memory=memory)
    n = len(gram)
    if 16 * n * n > gram.memory:
        raise MemoryError(
            f"A projection onto {n} representers needs {16e-9 * n * n:.3g} GB, above the budget of "
            f"{gram.memory / 1e9:.3g} GB; use fewer inputs, or a larger memory=."
        )
    values = f(X).astype(np.float64) - f.constant
    K = gram.dense().astype(np.float64, copy=False)
    # the transposed view is the same matrix, in LAPACK's column-major order
    eigenvalues, vectors = linalg.eigh(K.T, overwrite_a=True)
    keep = eigenvalues > n * np.finfo(gram.dtype).eps * max(eigenvalues[-1], 0.0)
    inverse = np.divide(1.0, eigenvalues, out=np.zeros(n), where=keep)
    return Function(f.kernel, X, vectors @ (inverse * (vectors.T @ values).T).T, f.constant)
