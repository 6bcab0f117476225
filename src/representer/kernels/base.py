"""The interface of a kernel k(x, x').

A kernel prepares its inputs once (`prepare`), fills tiles of values (`fill`) and differentiates them in reverse mode
(`vjp`, `input_vjp`). `kernels.tiles` and `Gram` do the rest, once for all kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from representer import _parallel
from representer._loops import powers
from representer.kernels import checks, tiles
from representer.kernels.basis import Basis
from representer.kernels.named_features import Features, no_features
from representer.kernels.parameters import Parameters
from representer.kernels.separated import Term

Gradients = dict[str, Any]
CountSlopes = tuple[np.ndarray, np.ndarray | None, np.ndarray | None]

MOST_NESTED = 100
"""Deepest nesting of kernels: every method recurses once per level, and Python allows some 250 such levels."""


@dataclass(frozen=True)
class Radial:
    """A kernel that decreases with a distance of its inputs, so that neighbours in H are neighbours in input space.

    The distance tells which of two inputs is nearer even where kernel values underflow or agree up to rounding.
    """

    fill: Callable[[Any, Any, np.ndarray], None]
    """tile_ij <- the distance of prepared inputs a_i and b_j, or its square."""
    squared: Callable[[np.ndarray], np.ndarray]
    """||k(x, .) - k(y, .)||^2 from that distance."""
    log: Callable[[np.ndarray], np.ndarray] | None = None
    """log k(x, y) from that distance, also where k(x, y) underflows; None where it is not known."""


class Kernel(Parameters):
    """A kernel function k(x, x'), positive semidefinite if `definite`.

    Subclasses define `prepare`, `fill`, `vjp` and, on vectors, `input_vjp`; they may define a faster `diagonal`.
    """

    definite: bool = True
    """Whether every Gram matrix is positive semidefinite. Nodes of the algebra ask their children."""

    @property
    def conditional_order(self) -> int | None:
        """The least m with c' K c >= 0 for all c orthogonal to polynomials of degree below m; None if there is none.

        0 for a positive semidefinite kernel, and positive for a conditionally positive definite one.
        """
        return 0 if self.definite else None

    rowwise: bool = True
    """Whether preparing some rows is the same as preparing all and taking those rows."""

    on_vectors: bool = True
    """Whether inputs are rows of numbers, as in scikit-learn."""

    takes_missing: bool = False
    """Whether inputs may be missing: None or NaN."""

    precomputed: bool = False
    """Whether inputs are Gram matrices, which cross-validation must slice on both sides."""

    cheap: bool = False
    """Whether a value takes only about a nanosecond on top of its distance or product."""

    of_squared_distance: bool = False
    """Whether k(x, y) = phi(s), s the squared distance of rows over length scales, with `phi` and `dphi`."""

    of_inner_product: bool = False
    """Whether k(x, y) = phi(s), s the inner product of rows over length scales, with `phi` and `dphi`."""

    linear: bool = False
    """Whether k(x, y) is linear in the rows x and y, so that f(x) = <w, x>."""

    isotropic: bool = False
    """Whether k(x, y) depends on |x - y| / length_scale alone, for one length scale."""

    compares_by: str | None = None
    """All that the kernel depends on of two rows: "products", "distances" or "minima". Then it can compare counts, too.

    Besides the product or the minima of two rows, s, it may depend on those of each row with itself, a and b. For the
    gradient of weights of counts it defines ``count_slopes(A, B, W)``: W dk / ds for each row of A and of B, and the
    sums over pairs of W dk / da and of W dk / db, None where k does not depend on a and b.
    """

    residuals: Callable[[Any, Any], Any] | None = None
    """Maps prepared inputs a_i and b_j to a loop over many rows, or to None for inputs without one.

    The loop takes (rows, coef, R, weights, tile, out), a slice of the inputs first: R_it <- weights_i (R_it - sum_j
    coef_tj k(a_i, b_j)), and out_tj += sum_i R_it k(a_i, b_j) with these; ``tile`` is memory for values.
    """

    radial: Radial | None = None
    """How k decreases with a distance of its inputs, if it does."""

    law: Any = None
    """How random features of the kernel are drawn, one of `kernels.laws`; None if there are none."""

    @property
    def normalized(self) -> Kernel | None:
        """k(x, y) / sqrt(k(x, x) k(y, y)) as a separate kernel, for kernels whose own values may be out of range."""
        return None

    @property
    def unscaled(self) -> tuple[Kernel, float]:
        """The kernel without constant factors, and their product."""
        return self, 1.0

    @property
    def original(self) -> Kernel:
        """The kernel that this one approximates; itself if it is not an approximation."""
        return self

    projects: bool = False
    """Whether k^ is k between projections onto a span in the space of the original, so that k - k^ is semidefinite."""

    basis: Callable[[Any], Basis] | None = None
    """Functions psi_1, ..., psi_m that span H, if H is finite-dimensional by construction.

    A function of some inputs, of which one is enough, as a kernel may have one psi for each column.
    """

    summands: tuple[str, ...] = ()
    """Names of the kernels whose sum this is, and of their parts of prepared inputs."""

    feature_rows: Callable[[Any], Any] | None = None
    """Maps prepared inputs to phi(x) as rows, an array or a CSR matrix, with k(x, y) = <phi(x), phi(y)>."""

    candidates: Any = None
    """Maps inputs to the `Candidates` near them, among which pre-images are sought; None if there are none."""

    separated: Callable[[Any, Any], Iterator[Term]] | None = None
    """Maps rows x_i and a row x to k(x_i, x) as a sum of products over columns; None if k does not separate."""

    @property
    def features(self) -> Features:
        """phi with k(x, y) = <phi(x), phi(y)>: ``kernel.features(X)`` is a CSR matrix and the names of its columns.

        Defined for kernels of counted features, linear ones, and sums, multiples and columns of these, normalised or
        not.
        """
        return no_features(self)

    # ---- public interface ----

    def __call__(self, X: Any, Y: Any = None, *, threads: int | None = None) -> np.ndarray:
        """k(x_i, y_j) as a dense block; exactly symmetric when Y is None."""
        if Y is None:
            return tiles.block(self, self.prepare(X), threads=threads)
        A, B = prepare_pair(self, X, Y)
        return tiles.block(self, A, B, threads=threads)

    def diag(self, X: Any) -> np.ndarray:
        """k(x_i, x_i)."""
        return self.diagonal(self.prepare(X))

    def distance(self, X: Any, Y: Any = None) -> np.ndarray:
        """The distance of representers, d(x, y)^2 = ||k(x, .) - k(y, .)||^2 = k(x, x) + k(y, y) - 2 k(x, y)."""
        require_definite(self, "a distance")
        A, B = (self.prepare(X), None) if Y is None else prepare_pair(self, X, Y)
        squares = -2.0 * tiles.block(self, A, B)
        squares += self.diagonal(A)[:, None]
        squares += self.diagonal(A if B is None else B)
        return np.sqrt(np.maximum(squares, 0.0, out=squares), out=squares)

    def contract(self, X: Any, W: np.ndarray, Y: Any = None) -> Gradients:
        """sum_ij W_ij dk(x_i, y_j) / dtheta for each hyper-parameter theta, by name.

        The names are those of `get_params`, so `left__length_scale` is the length scale of a sum's left part. No array
        larger than W is allocated, however many hyper-parameters there are. Y is X when not given.
        """
        A, B = (self.prepare(X), None) if Y is None else prepare_pair(self, X, Y)
        B = A if B is None else B
        W = _weights(W, len(A), len(B))
        total: Gradients = {}
        for rows in _parallel.split(len(A), 256):
            add_gradients(total, self.vjp(A[rows], B, W[rows].astype(A.dtype, copy=False)))
        return total

    def input_gradient(self, X: Any, Y: Any, W: np.ndarray) -> np.ndarray:
        """sum_j W_ij dk(x_i, y_j) / dx_i, one row for each x_i."""
        A, B = prepare_pair(self, X, Y)
        W = _weights(W, len(A), len(B))
        parts = [self.input_vjp(A[i], B, W[i].astype(A.dtype, copy=False)) for i in _parallel.split(len(A), 256)]
        return np.concatenate(parts)

    def with_default_scales(self, X: Any, weights: np.ndarray | None = None) -> Kernel:
        """A copy in which length scales that were not given are chosen from X.

        The rule is the typical distance of an input from the mean, in the kernel's own metric: the root mean squared
        distance for Euclidean ones. A weight of two is the same as an input given twice. A scale of zero becomes one.
        """
        return clone(self)

    # ---- what a kernel defines ----

    def prepare(self, X: Any, like: Any = None) -> Any:
        """Validate X and lay it out for speed, in the same way as ``like``, prepared inputs to pair it with."""
        raise NotImplementedError

    def fill(self, A: Any, B: Any, tile: np.ndarray) -> None:
        """tile_ij <- k(a_i, b_j), for slices of prepared inputs; the tile is C-contiguous and of A's dtype.

        Where A is B, values may be computed once for each pair.
        """
        raise NotImplementedError

    def diagonal(self, A: Any) -> np.ndarray:
        """k(a_i, a_i), by default from small blocks along the diagonal."""
        blocks = [tiles.new_tile(self, A[i], A[i]) for i in _parallel.split(len(A), 16)]
        return np.concatenate([block.diagonal() for block in blocks])

    def vjp(self, A: Any, B: Any, W: np.ndarray) -> Gradients:
        """sum_ij W_ij dk(a_i, b_j) / dtheta for slices of prepared inputs."""
        raise NotImplementedError

    def input_vjp(self, A: Any, B: Any, W: np.ndarray) -> np.ndarray:
        """sum_j W_ij dk(a_i, b_j) / da_i for slices of prepared inputs, on vectors."""
        raise TypeError(
            f"{type(self).__name__} has no gradient with respect to its inputs, because they are not vectors."
        )

    # ---- the algebra: kernels.algebra defines the nodes ----

    _node: ClassVar[Any]

    def __add__(self, other: Any) -> Kernel:
        return self._node("+", self, other)

    def __radd__(self, other: Any) -> Kernel:
        return self._node("+", other, self)

    def __mul__(self, other: Any) -> Kernel:
        return self._node("*", self, other)

    def __rmul__(self, other: Any) -> Kernel:
        return self._node("*", other, self)

    def __pow__(self, exponent: Any) -> Kernel:
        return self._node("**", self, exponent)

    __array_ufunc__ = None  # NumPy scalars and arrays defer `*` and `+` to this class
    _precedence: ClassVar[int] = 4  # of the printed form: sums 1, products 2, powers 3

    def _printed_inside(self, precedence: int) -> str:
        return repr(self) if self._precedence >= precedence else f"({self!r})"


class ScalarForm:
    """phi(s) for a scalar s of two inputs. Families define s, such as a squared distance; kernels define phi."""

    def phi(self, s: np.ndarray) -> None:
        """s <- phi(s), in place."""
        raise NotImplementedError

    def dphi(self, s: np.ndarray) -> None:
        """s <- phi'(s), in place; any finite value where phi has no derivative."""
        raise NotImplementedError

    def shape_gradients(self, s: np.ndarray, W: np.ndarray) -> Gradients:
        """sum_ij W_ij dphi(s_ij) / dtheta for hyper-parameters other than the length scale."""
        return {}

    def _weighted_dphi(self, A: Any, B: Any, W: np.ndarray) -> tuple:
        """W phi'(s), and further arrays."""
        raise NotImplementedError

    def count_slopes(self, A: Any, B: Any, W: np.ndarray) -> CountSlopes:
        """See `Kernel.compares_by`."""
        return (
            self._weighted_dphi(A, B, W)[0] / checks.length_scale(getattr(self, "length_scale", None), 1) ** 2,
            None,
            None,
        )

    def check(self) -> None:
        """Raise if a parameter other than the length scale is out of its range."""


def prepare_pair(kernel: Kernel, X: Any, Y: Any) -> tuple[Any, Any]:
    """X and Y prepared for each other, in the more precise of their two dtypes."""
    X, Y = same_precision(X, Y)
    B = kernel.prepare(Y)
    return kernel.prepare(X, like=B), B


def same_precision(X: Any, Y: Any) -> tuple[Any, Any]:
    """X and Y in the same precision: float32 becomes float64 unless both are float32."""
    return (X, Y) if _is_single(X) == _is_single(Y) else (_widened(X), _widened(Y))


def _is_single(X: Any) -> Any:
    """Whether X is float32: True, False, or one flag per column of a data frame with both."""
    if not hasattr(X, "dtypes") or not hasattr(X, "columns"):
        return getattr(X, "dtype", None) == np.float32
    each = tuple(str(dtype).lower() == "float32" for dtype in X.dtypes)
    return each[0] if len(set(each)) == 1 else each


def _widened(X: Any) -> Any:
    """X with float64 instead of float32."""
    if not np.any(_is_single(X)):
        return X
    if not hasattr(X, "columns"):
        return X.astype(np.float64)
    names = [name for name, dtype in zip(X.columns, X.dtypes, strict=True) if str(dtype).lower() == "float32"]
    # pandas has astype and polars has cast, and both take float for float64
    return (X.astype if hasattr(X, "astype") else X.cast)(dict.fromkeys(names, float))


def _weights(W: Any, n: int, m: int) -> np.ndarray:
    W = np.asarray(W)
    if W.shape != (n, m):
        raise ValueError(f"W has shape {W.shape}, but the kernel matrix has shape {(n, m)}; give one weight per pair.")
    return W


def add_gradients(total: Gradients, part: Gradients, prefix: str = "") -> Gradients:
    """Add the gradients of ``part`` to ``total`` in place, with a prefix before their names."""
    for name, value in part.items():
        total[prefix + name] = total.get(prefix + name, 0.0) + np.asarray(value, np.float64)[()]
    return total


def raise_to(values: np.ndarray, exponent: int, offset: float = 0.0) -> None:
    """values <- (values + offset)^exponent in place, by repeated squaring: NumPy's power is a slow call per entry."""
    if values.ndim == 2 and values.flags.c_contiguous and exponent >= 1:
        powers.raise_rows(values, values.dtype.type(offset), int(exponent))
        return
    values += offset
    base, bits = values.copy(), bin(exponent)[3:]
    if exponent == 0:
        values[...] = 1.0
    for bit in bits:
        values *= values
        if bit == "1":
            values *= base


def require_kernel(kernel: Any) -> Kernel:
    """The kernel itself; raise if it is not a kernel object, such as a name or a class, or is nested too deeply."""
    if not isinstance(kernel, Kernel):
        # the text of anything else may be endless
        given = repr(kernel) if isinstance(kernel, str | type) else f"A value of type {type(kernel).__name__}"
        raise TypeError(
            f"{given} is not a kernel; pass an object such as RBF(), or wrap a function as Callable(function)."
        )
    if _depth(kernel) >= MOST_NESTED:
        raise ValueError(
            f"Kernels can be nested {MOST_NESTED} levels deep, and this expression is deeper; "
            "add or multiply many kernels in pairs, and the pairs in pairs: (a + b) + (c + d)."
        )
    return kernel


def _depth(kernel: Kernel) -> int:
    """Depth of the expression; 1 for a kernel without parts."""
    depth, level = 0, [kernel]
    while level:
        parts = (part for node in level for part in vars(node).values() if isinstance(part, Kernel))
        depth, level = depth + 1, list({id(part): part for part in parts}.values())
    return depth


def require_definite(kernel: Kernel, purpose: str) -> None:
    """Raise if the kernel is not positive semidefinite: then it has no RKHS H, which ``purpose`` requires."""
    if not kernel.definite:
        raise ValueError(
            f"{kernel!r} is not positive semidefinite, so {purpose} in its space does not exist; "
            "representer.psd.report says how far it is from one, and representer.psd.repair makes a matrix that is."
        )
