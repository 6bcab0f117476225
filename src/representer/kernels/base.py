"""The kernel, and what + * ** build from kernels.

A kernel k(x, x') lays its inputs out once (`prepare`), fills tiles of values (`fill`) and differentiates them in
reverse mode (`pull`, `pull_input`). All the rest is written here, once for all kernels.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from representer import _tiles
from representer._loops import symmetric
from representer.kernels import checks
from representer.kernels.parameters import Parameters
from representer.kernels.prepared import Prepared, Vectors

Gradients = dict[str, Any]


class Kernel(Parameters):
    """A positive semidefinite function k(x, x').

    Subclasses give `prepare`, `fill`, `pull` and, on vectors, `pull_input`; they may give a faster `diagonal`.
    """

    definite: bool = True
    """Whether every Gram matrix is positive semidefinite. Nodes of the algebra ask their children."""

    @property
    def conditional_order(self) -> int | None:
        """The least m with c' K c >= 0 for all c that are orthogonal to polynomials of degree below m; None if none is.

        It is 0 for a positive semidefinite kernel, and more for a conditionally positive definite one.
        """
        return 0 if self.definite else None

    sliced: bool = True
    """Whether preparing some rows alone is the same as preparing all and taking those rows."""

    on_vectors: bool = True
    """Whether inputs are rows of numbers, as scikit-learn has them."""

    of_distance: bool = False
    """Whether ||k(x, .) - k(y, .)|| rises with a distance of x and y, which `fill_distances` gives."""

    # ---- the user's face ----

    def __call__(self, X: Any, Y: Any = None, *, threads: int | None = None) -> np.ndarray:
        """k(x_i, y_j) as a dense block; exactly symmetric when Y is None."""
        if Y is None:
            return self.block(self.prepare(X), threads=threads)
        A, B = self.prepare_pair(X, Y)
        return self.block(A, B, threads=threads)

    def diag(self, X: Any) -> np.ndarray:
        """k(x_i, x_i)."""
        return self.diagonal(self.prepare(X))

    def distance(self, X: Any, Y: Any = None) -> np.ndarray:
        """The distance of representers, d(x, y)^2 = ||k(x, .) - k(y, .)||^2 = k(x, x) + k(y, y) - 2 k(x, y)."""
        require_definite(self, "a distance")
        A, B = (self.prepare(X), None) if Y is None else self.prepare_pair(X, Y)
        squares = -2.0 * self.block(A, B)
        squares += self.diagonal(A)[:, None]
        squares += self.diagonal(A if B is None else B)
        return np.sqrt(np.maximum(squares, 0.0, out=squares), out=squares)

    def contract(self, X: Any, W: np.ndarray, Y: Any = None) -> Gradients:
        """sum_ij W_ij dk(x_i, y_j) / dtheta for each hyper-parameter theta, by name.

        The names are those of `get_params`, so `left__length_scale` is the length scale of a sum's left part. No array
        larger than W is made, however many hyper-parameters there are. Y is X when not given.
        """
        A, B = (self.prepare(X), None) if Y is None else self.prepare_pair(X, Y)
        B = A if B is None else B
        W = _weights(W, len(A), len(B))
        total: Gradients = {}
        for rows in _tiles.split(len(A), 256):
            add_gradients(total, self.pull(A[rows], B, W[rows].astype(A.dtype, copy=False)))
        return total

    def input_gradient(self, X: Any, Y: Any, W: np.ndarray) -> np.ndarray:
        """sum_j W_ij dk(x_i, y_j) / dx_i, a row of numbers for each x_i."""
        A, B = self.prepare_pair(X, Y)
        W = _weights(W, len(A), len(B))
        parts = [self.pull_input(A[i], B, W[i].astype(A.dtype, copy=False)) for i in _tiles.split(len(A), 256)]
        return np.concatenate(parts)

    def fitted_to(self, X: Any, weights: np.ndarray | None = None) -> Kernel:
        """A copy in which length scales that were not given are chosen from X.

        The rule is the typical distance of an input from the mean, in the kernel's own sense of distance: the root of
        the mean squared distance for Euclidean ones. A weight of two is the same as an input given twice. Zero becomes
        one.
        """
        return clone(self)

    # ---- what a kernel gives ----

    def prepare(self, X: Any, like: Any = None) -> Any:
        """Validate X and lay it out for speed; in the same way as ``like``, prepared inputs to be paired with these."""
        raise NotImplementedError

    def fill(self, A: Any, B: Any, tile: np.ndarray) -> None:
        """tile_ij <- k(a_i, b_j), for slices of prepared inputs; the tile is C-contiguous and of A's dtype."""
        raise NotImplementedError

    def between(self, A: Any, B: Any) -> tuple[Any, Any]:
        """Prepared inputs of two sides without what `fill` does not need for values between them."""
        return A, B

    def _fills_as(self, family: type[Kernel], *more: str) -> bool:
        """Whether tiles are filled as the family does it, and no class below it has a way of its own."""
        names = ("fill", "fill_symmetric", "fill_tile", *more)
        return all(getattr(type(self), name) is getattr(family, name) for name in names)

    def pull(self, A: Any, B: Any, W: np.ndarray) -> Gradients:
        """sum_ij W_ij dk(a_i, b_j) / dtheta for slices of prepared inputs."""
        raise NotImplementedError

    def pull_input(self, A: Any, B: Any, W: np.ndarray) -> np.ndarray:
        """sum_j W_ij dk(a_i, b_j) / da_i for slices of prepared inputs, on vectors."""
        raise TypeError(
            f"{type(self).__name__} has no gradient with respect to its inputs, because they are not vectors."
        )

    def diagonal(self, A: Any) -> np.ndarray:
        """k(a_i, a_i), by default from small blocks along the diagonal."""
        return np.concatenate([self._tile(A[i], A[i]).diagonal() for i in _tiles.split(len(A), 16)])

    def fill_distances(self, A: Any, B: Any, tile: np.ndarray) -> None:
        """tile_ij <- the distance of inputs, or its square, that ||k(a_i, .) - k(b_j, .)|| rises with.

        It tells who is nearer also where kernel values underflow or are equal up to rounding.
        """
        raise TypeError(f"{self!r} is not a function of a distance of its inputs.")

    def squares_from(self, distances: np.ndarray) -> np.ndarray:
        """||k(x, .) - k(y, .)||^2 from what `fill_distances` gives."""
        raise TypeError(f"{self!r} is not a function of a distance of its inputs.")

    def logs_from(self, distances: np.ndarray) -> np.ndarray | None:
        """log k(x, y) from what `fill_distances` gives, also where k(x, y) underflows; None where that is not known."""
        return None

    # ---- shared by kernels, Gram and Function ----

    def prepare_pair(self, X: Any, Y: Any) -> tuple[Any, Any]:
        """X and Y prepared for each other, in the more precise of their two dtypes."""
        X, Y = same_precision(X, Y)
        B = self.prepare(Y)
        return self.prepare(X, like=B), B

    def block(
        self, A: Any, B: Any = None, *, threads: int | None = None, out: np.ndarray | None = None, known: int = 0
    ) -> np.ndarray:
        """The dense matrix of prepared inputs, tile by tile on all cores; B is A when not given.

        It is written to the first columns of ``out``, where those of a symmetric matrix between its first ``known``
        inputs may be already.
        """
        same = B is None
        A, B = self.between(A, A if same else B)
        if out is None:
            out = np.empty((len(A), len(B)), A.dtype)
        shape = _tiles.tile_shape(A.dtype)
        in_place = out.dtype == A.dtype and out.flags.c_contiguous and out.shape == (len(A), len(B))
        if same and not known and self._is_one_tile(A):
            if in_place:
                self.fill_tile(A, A, out, diagonal=True)
                return out
            shape = len(A), len(A)
        tiles = _tiles.pairs(len(A), len(B), shape, same, known)
        if len(tiles) == 1 and not known and in_place:
            with _tiles.one_blas_thread():
                self.fill_tile(A, B, out, diagonal=same)
            return out
        part_a, part_b = _tiles.parts(A), _tiles.parts(B)

        def visit(run: list[_tiles.Tile]) -> None:
            tile_of = _tiles.buffer(A.dtype, shape)
            for rows, columns in run:
                tile = tile_of((rows, columns))
                self.fill_tile(part_a(rows), part_b(columns), tile, diagonal=same and rows == columns)
                if same and rows != columns:
                    symmetric.write_both(tile, out, rows.start, columns.start)
                else:
                    out[rows, columns] = tile

        # handing over a run takes as long as a tile
        runs = min(_tiles.RUNS, max(2 * (threads or _tiles.default_threads()), len(tiles) // 8))
        for _ in _tiles.walk(tiles, visit, threads=threads, runs=runs):
            pass
        return out

    def half_block(self, A: Any, *, threads: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Half of the dense matrix: k(a_i, a_j) for j < i, row after row, and the diagonal k(a_i, a_i)."""
        K = self.block(A, threads=threads)
        return symmetric.half(K, np.arange(len(K))), K.diagonal().copy()

    def fill_tile(self, A: Any, B: Any, tile: np.ndarray, *, diagonal: bool) -> None:
        """Fill a tile; one on the diagonal of a Gram matrix is made exactly symmetric, with exact values k(x, x)."""
        if diagonal:
            self.fill_symmetric(A, tile)
        else:
            self.fill(A, B, tile)

    def _is_one_tile(self, A: Any) -> bool:
        """Whether the matrix of some inputs is filled as one tile, by one of the threads."""
        return isinstance(A, Vectors) and 0 < len(A) <= 384  # some values twice are cheaper than two more tiles

    def fill_symmetric(self, A: Any, tile: np.ndarray) -> None:
        """tile_ij <- k(a_i, a_j), exactly symmetric, with exact values k(a_i, a_i)."""
        with _tiles.one_blas_thread():
            self.fill(A, A, tile)
        symmetric.mirror(tile, self.diagonal(A).astype(tile.dtype, copy=False))

    def _tile(self, A: Any, B: Any, dtype: Any = None) -> np.ndarray:
        """A new array with k(a_i, b_j), converted when this kernel computes in another dtype than asked for."""
        tile = np.empty((len(A), len(B)), A.dtype)
        self.fill(A, B, tile)
        return tile if dtype is None else tile.astype(dtype, copy=False)

    # ---- the algebra ----

    def __add__(self, other: Any) -> Kernel:
        return _node(Sum, self, other)

    def __radd__(self, other: Any) -> Kernel:
        return _node(Sum, other, self)

    def __mul__(self, other: Any) -> Kernel:
        return Scaled(self, float(other)) if isinstance(other, Real) else _node(Product, self, other)

    def __rmul__(self, other: Any) -> Kernel:
        return Scaled(self, float(other)) if isinstance(other, Real) else _node(Product, other, self)

    def __pow__(self, exponent: Any) -> Kernel:
        return Power(self, exponent)

    __array_ufunc__ = None  # numpy scalars and arrays leave `*` and `+` to this class
    _strength: ClassVar[int] = 4  # how tightly the printed form binds: sums 1, products 2, powers 3

    def _printed_inside(self, strength: int) -> str:
        return repr(self) if self._strength >= strength else f"({self!r})"


def _node(node: type, left: Any, right: Any) -> Kernel:
    left, right = (Constant(float(part)) if isinstance(part, Real) else part for part in (left, right))
    if not (isinstance(left, Kernel) and isinstance(right, Kernel)):
        return NotImplemented
    return node(left, right)


class OfOneNumber(Kernel):
    """phi(s) for one number s of two inputs. Families give s, such as a squared distance; kernels give phi."""

    def phi(self, s: np.ndarray) -> None:
        """s <- phi(s), in place."""
        raise NotImplementedError

    def slope(self, s: np.ndarray) -> None:
        """s <- phi'(s), in place; anything finite where phi has no derivative."""
        raise NotImplementedError

    def shape_gradients(self, s: np.ndarray, W: np.ndarray) -> Gradients:
        """sum_ij W_ij dphi(s_ij) / dtheta for hyper-parameters other than the length scale."""
        return {}

    def check(self) -> None:
        """Raise if a parameter other than the length scale is out of its range."""

    def _without_zeros(self, family: type[Kernel], A: Any, B: Any) -> tuple[Any, Any]:
        """Both sides without columns that products do not need, if nobody asks for more than the family does."""
        plain = type(A) is type(B) is Vectors and self._fills_as(family, "diagonal")
        return A.meeting(B) if plain else (A, B)


def same_precision(X: Any, Y: Any) -> tuple[Any, Any]:
    """X and Y, float32 numbers in them as float64 if the other one is not float32 there, too."""
    return (X, Y) if _is_single(X) == _is_single(Y) else (_widened(X), _widened(Y))


def _is_single(X: Any) -> Any:
    """Whether X is float32: true, false, or one answer for each column of a data frame with both."""
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
    # pandas says astype and polars says cast, and both take float for float64
    return (X.astype if hasattr(X, "astype") else X.cast)(dict.fromkeys(names, float))


def _weights(W: Any, n: int, m: int) -> np.ndarray:
    W = np.asarray(W)
    if W.shape != (n, m):
        raise ValueError(f"W has shape {W.shape}, but the kernel matrix has shape {(n, m)}; give one weight per pair.")
    return W


def add_gradients(total: Gradients, part: Gradients, prefix: str = "") -> Gradients:
    """Add the numbers of ``part`` to ``total`` in place, under their names behind a prefix."""
    for name, value in part.items():
        total[prefix + name] = total.get(prefix + name, 0.0) + np.asarray(value, np.float64)[()]
    return total


def require_kernel(kernel: Any) -> Kernel:
    """The kernel itself; raise if it is something else, such as a name or a class."""
    if not isinstance(kernel, Kernel):
        raise TypeError(
            f"{kernel!r} is not a kernel; pass an object such as RBF(), or wrap a function as Callable(function)."
        )
    return kernel


def require_definite(kernel: Kernel, purpose: str) -> None:
    """Raise if the kernel is not positive semidefinite: then there is no space H for ``purpose`` to be taken in."""
    if not kernel.definite:
        raise ValueError(
            f"{kernel!r} is not positive semidefinite, so {purpose} in its space does not exist; "
            "representer.psd.report says how far it is from one, and representer.psd.repair makes a matrix that is."
        )


# ---- nodes ----


@dataclass
class Pair(Prepared):
    """The same inputs prepared by two kernels."""

    left: Any
    right: Any

    def __len__(self) -> int:
        return len(self.left)

    def __getitem__(self, index: Any) -> Pair:
        return Pair(self.left[index], self.right[index])

    @property
    def dtype(self) -> np.dtype:
        return np.result_type(self.left.dtype, self.right.dtype)


class _Binary(Kernel):
    """A node with two children, which prepare the inputs each in its own way."""

    def __init__(self, left: Kernel, right: Kernel):
        self.left = require_kernel(left)
        self.right = require_kernel(right)

    @property
    def definite(self) -> bool:  # type: ignore[override]
        return self.left.definite and self.right.definite

    @property
    def sliced(self) -> bool:  # type: ignore[override]
        return self.left.sliced and self.right.sliced

    def prepare(self, X: Any, like: Pair | None = None) -> Pair:
        left, right = (None, None) if like is None else (like.left, like.right)
        return Pair(self.left.prepare(X, like=left), self.right.prepare(X, like=right))

    @property
    def on_vectors(self) -> bool:  # type: ignore[override]
        return self.left.on_vectors and self.right.on_vectors

    def fitted_to(self, X: Any, weights: np.ndarray | None = None) -> Kernel:
        return type(self)(self.left.fitted_to(X, weights), self.right.fitted_to(X, weights))

    def _fill_left(self, A: Pair, B: Pair, tile: np.ndarray) -> np.ndarray:
        """The left values into the tile, and the right values in a new array."""
        if A.left.dtype == tile.dtype:
            self.left.fill(A.left, B.left, tile)
        else:
            tile[...] = self.left._tile(A.left, B.left)
        return self.right._tile(A.right, B.right, tile.dtype)


class Sum(_Binary):
    """(k + l)(x, y) = k(x, y) + l(x, y), written ``k + l``."""

    _strength = 1

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{self.left._printed_inside(1)} + {self.right._printed_inside(2)}"

    @property
    def conditional_order(self) -> int | None:
        orders = self.left.conditional_order, self.right.conditional_order
        return None if orders[0] is None or orders[1] is None else max(orders[0], orders[1])

    def fill(self, A: Pair, B: Pair, tile: np.ndarray) -> None:
        tile += self._fill_left(A, B, tile)

    def diagonal(self, A: Pair) -> np.ndarray:
        return self.left.diagonal(A.left) + self.right.diagonal(A.right)

    def pull(self, A: Pair, B: Pair, W: np.ndarray) -> Gradients:
        total = add_gradients({}, self.left.pull(A.left, B.left, W.astype(A.left.dtype, copy=False)), "left__")
        return add_gradients(total, self.right.pull(A.right, B.right, W.astype(A.right.dtype, copy=False)), "right__")

    def pull_input(self, A: Pair, B: Pair, W: np.ndarray) -> np.ndarray:
        return self.left.pull_input(A.left, B.left, W) + self.right.pull_input(A.right, B.right, W)


class Product(_Binary):
    """(k l)(x, y) = k(x, y) l(x, y), written ``k * l``; its Gram matrix is the Hadamard product."""

    _strength = 2

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{self.left._printed_inside(2)} * {self.right._printed_inside(3)}"

    def fill(self, A: Pair, B: Pair, tile: np.ndarray) -> None:
        tile *= self._fill_left(A, B, tile)

    def diagonal(self, A: Pair) -> np.ndarray:
        return self.left.diagonal(A.left) * self.right.diagonal(A.right)

    def _pass_on(self, A: Pair, B: Pair, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """W times the other child's values, for the left and for the right child."""
        for_left = self.right._tile(A.right, B.right, A.left.dtype)
        for_right = self.left._tile(A.left, B.left, A.right.dtype)
        for_left *= W
        for_right *= W
        return for_left, for_right

    def pull(self, A: Pair, B: Pair, W: np.ndarray) -> Gradients:
        for_left, for_right = self._pass_on(A, B, W)
        total = add_gradients({}, self.left.pull(A.left, B.left, for_left), "left__")
        return add_gradients(total, self.right.pull(A.right, B.right, for_right), "right__")

    def pull_input(self, A: Pair, B: Pair, W: np.ndarray) -> np.ndarray:
        for_left, for_right = self._pass_on(A, B, W)
        return self.left.pull_input(A.left, B.left, for_left) + self.right.pull_input(A.right, B.right, for_right)


class Wrapper(Kernel):
    """A node with one child, whose facts it shares."""

    kernel: Kernel

    @property
    def definite(self) -> bool:  # type: ignore[override]
        return self.kernel.definite

    @property
    def sliced(self) -> bool:  # type: ignore[override]
        return self.kernel.sliced

    @property
    def on_vectors(self) -> bool:  # type: ignore[override]
        return self.kernel.on_vectors

    def fitted_to(self, X: Any, weights: np.ndarray | None = None) -> Kernel:
        return clone(self).set_params(kernel=self.kernel.fitted_to(X, weights))


class Unary(Wrapper):
    """g(k(x, y)) for a function g of one number. Subclasses give g and its derivative on a tile."""

    def outer(self, values: np.ndarray) -> None:
        """k <- g(k), in place."""
        raise NotImplementedError

    def outer_slope(self, values: np.ndarray) -> None:
        """k <- g'(k), in place."""
        raise NotImplementedError

    def outer_gradients(self, values: np.ndarray, W: np.ndarray) -> Gradients:
        """sum_ij W_ij dg(k_ij) / dtheta for g's own hyper-parameters."""
        return {}

    def prepare(self, X: Any, like: Any = None) -> Any:
        self.check()
        return self.kernel.prepare(X, like=like)

    def check(self) -> None:
        """Raise if a parameter is out of its range."""

    def fill(self, A: Any, B: Any, tile: np.ndarray) -> None:
        self.kernel.fill(A, B, tile)
        self.outer(tile)

    def between(self, A: Any, B: Any) -> tuple[Any, Any]:
        return self.kernel.between(A, B) if self._fills_as(Unary, "diagonal") else (A, B)

    def diagonal(self, A: Any) -> np.ndarray:
        values = self.kernel.diagonal(A).copy()  # a child may hand out what it has stored
        self.outer(values)
        return values

    def pull(self, A: Any, B: Any, W: np.ndarray) -> Gradients:
        values = self.kernel._tile(A, B)
        total = dict(self.outer_gradients(values, W))
        self.outer_slope(values)
        values *= W
        return add_gradients(total, self.kernel.pull(A, B, values), "kernel__")

    def pull_input(self, A: Any, B: Any, W: np.ndarray) -> np.ndarray:
        values = self.kernel._tile(A, B)
        self.outer_slope(values)
        values *= W
        return self.kernel.pull_input(A, B, values)


class Scaled(Unary):
    """factor k(x, y), written ``2.0 * k``."""

    _strength = 2

    def __init__(self, kernel: Kernel, factor: float = 1.0):
        self.kernel = require_kernel(kernel)
        self.factor = factor

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{self.factor!r} * {self.kernel._printed_inside(3)}"

    @property
    def definite(self) -> bool:  # type: ignore[override]
        return self.kernel.definite and self.factor >= 0

    @property
    def conditional_order(self) -> int | None:
        return self.kernel.conditional_order if self.factor >= 0 else None

    def check(self) -> None:
        checks.real(self.factor, "factor")

    def outer(self, values: np.ndarray) -> None:
        values *= self.factor

    @property
    def of_distance(self) -> bool:  # type: ignore[override]
        return self.kernel.of_distance and self.factor > 0

    def fill_distances(self, A: Any, B: Any, tile: np.ndarray) -> None:
        self.kernel.fill_distances(A, B, tile)

    def squares_from(self, distances: np.ndarray) -> np.ndarray:
        return self.factor * self.kernel.squares_from(distances)

    def logs_from(self, distances: np.ndarray) -> np.ndarray | None:
        logs = self.kernel.logs_from(distances) if self.factor > 0 else None
        return None if logs is None else logs + np.log(self.factor)

    def outer_slope(self, values: np.ndarray) -> None:
        values[...] = self.factor

    def outer_gradients(self, values: np.ndarray, W: np.ndarray) -> Gradients:
        return {"factor": np.vdot(W, values)}


class Power(Unary):
    """k(x, y)^exponent for a whole exponent, written ``k ** 3``."""

    _strength = 3

    def __init__(self, kernel: Kernel, exponent: int = 2):
        self.kernel = require_kernel(kernel)
        self.exponent = exponent

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{self.kernel._printed_inside(4)} ** {self.exponent!r}"

    def check(self) -> None:
        checks.whole(self.exponent, "exponent")

    def outer(self, values: np.ndarray) -> None:
        raise_to(values, self.exponent)

    def outer_slope(self, values: np.ndarray) -> None:
        raise_to(values, self.exponent - 1)
        values *= self.exponent


def raise_to(values: np.ndarray, exponent: int) -> None:
    """values <- values^exponent in place, by squaring: a few passes where numpy's power takes a slow call per entry."""
    if exponent == 1:
        return
    base, bits = values.copy(), bin(exponent)[3:]
    if exponent == 0:
        values[...] = 1.0
    for bit in bits:
        values *= values
        if bit == "1":
            values *= base


@dataclass
class Count(Prepared):
    """Inputs of which only the number matters."""

    rows: np.ndarray
    dtype: Any
    n_columns: int | None
    per_row: ClassVar[tuple[str, ...]] = ("rows",)


class Constant(Kernel):
    """k(x, y) = value, on inputs of any type; ``k + 1.0`` is ``k + Constant(1.0)``."""

    def __init__(self, value: float = 1.0):
        self.value = value

    @property
    def definite(self) -> bool:  # type: ignore[override]
        return self.value >= 0

    def prepare(self, X: Any, like: Count | None = None) -> Count:
        checks.real(self.value, "value")
        shape: tuple = getattr(X, "shape", ())
        dtype = np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64
        return Count(np.empty(checks.number_of(X), bool), np.dtype(dtype), shape[1] if len(shape) == 2 else None)

    def fill(self, A: Count, B: Count, tile: np.ndarray) -> None:
        tile[...] = self.value

    def diagonal(self, A: Count) -> np.ndarray:
        return np.full(len(A), self.value, A.dtype)

    def pull(self, A: Count, B: Count, W: np.ndarray) -> Gradients:
        return {"value": W.sum()}

    def pull_input(self, A: Count, B: Count, W: np.ndarray) -> np.ndarray:
        if A.n_columns is None:
            return super().pull_input(A, B, W)
        return np.zeros((len(A), A.n_columns), A.dtype)
