"""Kernels as sums of products over columns, and the contribution of each column to a value: exact Shapley values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, reduce
from itertools import islice, repeat
from typing import Any

import numpy as np

from representer.kernels import checks
from representer.kernels.tiles import block

LOG_STEP = 0.25
"""Step of the trapezoidal rule in log u; its error is about exp(-pi^2 / step)."""
NEGLIGIBLE = 1e-17
Key = tuple[Any, ...]


@dataclass(frozen=True)
class Term:
    """weight * prod_c present_c, a number for each row x_i; a removed column has absent_c instead of present_c.

    Columns that the kernel does not separate are one factor.
    """

    weight: float
    factors: dict[Key, tuple[np.ndarray, Any]]
    """present and absent, by the columns of a factor: their indices in the inputs, or their names."""

    def times(self, other: Term) -> Term:
        """The product of two terms; factors of the same columns are merged."""
        factors = dict(self.factors)
        for columns, (present, absent) in other.factors.items():
            before = factors.get(columns, (1.0, 1.0))
            factors[columns] = before[0] * present, before[1] * absent
        return Term(self.weight * other.weight, factors)

    def renamed(self, columns: list) -> Term:
        """The same with names in place of column indices."""
        return Term(self.weight, {tuple(columns[c] for c in key): pair for key, pair in self.factors.items()})


def terms_of(kernel: Any, X: Any, x: Any) -> Iterator[Term]:
    """Terms whose sum is k(x_i, x) for all x_i; a kernel that does not separate is one factor of all its columns."""
    if kernel.separated is not None:
        yield from kernel.separated(X, x)
        return
    yield whole(kernel, X, x)


def whole(kernel: Any, X: Any, x: Any) -> Term:
    """A term with one factor of all columns, which is 1 where they are removed."""
    shape: tuple[int, ...] = getattr(X, "shape", (0,))
    inputs = kernel.prepare(X)
    values = block(kernel, kernel.prepare(x, like=inputs), inputs)[0].astype(np.float64)
    return Term(1.0, {tuple(range(shape[1] if len(shape) == 2 else 1)): (values, 1.0)})


# ---- how each kernel separates: used as methods of the kernels ----


def of_sum(kernel: Any, X: Any, x: Any) -> Iterator[Term]:
    """The terms of both parts."""
    yield from terms_of(kernel.left, X, x)
    yield from terms_of(kernel.right, X, x)


def of_product(kernel: Any, X: Any, x: Any) -> Iterator[Term]:
    """Each term of one part with each of the other."""
    right = list(terms_of(kernel.right, X, x))
    return (left.times(other) for left in terms_of(kernel.left, X, x) for other in right)


def of_multiple(kernel: Any, X: Any, x: Any) -> Iterator[Term]:
    """The terms times a factor."""
    return (Term(kernel.factor * term.weight, term.factors) for term in terms_of(kernel.kernel, X, x))


def of_power(kernel: Any, X: Any, x: Any) -> Iterator[Term]:
    """The power of a single term; a power of several would have too many terms."""
    terms = list(islice(terms_of(kernel.kernel, X, x), 2))
    yield reduce(Term.times, kernel.exponent * terms) if len(terms) == 1 else whole(kernel, X, x)


def of_constant(kernel: Any, X: Any, x: Any) -> Iterator[Term]:
    """A term of no columns."""
    yield Term(kernel.value, {})


def of_columns(kernel: Any, X: Any, x: Any) -> Iterator[Term]:
    """The terms of a kernel on some columns."""
    names = kernel.columns
    names = [*names] if np.iterable(names) and not isinstance(names, str) else [names]
    return (term.renamed(names) for term in terms_of(kernel.kernel, kernel.pick(X), kernel.pick(x)))


def of_linear(kernel: Any, X: Any, x: Any) -> Iterator[Term]:
    """A term for each column; removing the column moves x to the mean of the rows."""
    rows, one, scale = _numbers(kernel, X, x)
    means, slopes = rows.mean(axis=0), rows / scale**2
    for c, slope in enumerate(slopes.T):
        yield Term(1.0, {(c,): (slope * one[c], slope * means[c])})


def of_categories(kernel: Any, X: Any, x: Any) -> Iterator[Term]:
    """exp(-[x_c != y_c] / l_c) for each column."""
    A = kernel.prepare(X)
    differ = A.codes != kernel.prepare(x, like=A).codes
    return _mixture(differ / checks.length_scale(kernel.length_scale, A.codes.shape[1]), [1.0], [1.0])


def of_rbf(kernel: Any, X: Any, x: Any) -> Iterator[Term]:
    """exp(-s_c / 2) for each column, s the squared distance over length scales."""
    return _mixture(_squares(kernel, X, x), [0.5], [1.0])


def of_laplacian(kernel: Any, X: Any, x: Any) -> Iterator[Term]:
    """exp(-|x_c - y_c| / l_c) for each column."""
    return _mixture(np.sqrt(_squares(kernel, X, x)), [1.0], [1.0])


def of_periodic(kernel: Any, X: Any, x: Any) -> Iterator[Term]:
    """exp(-2 sin^2(pi (x_c - y_c) / p_c) / l_c^2) for each column."""
    rows, one, scale = _numbers(kernel, X, x)
    turns = (rows - one) / checks.length_scale(kernel.period, len(one), "period")
    return _mixture((np.sin(np.pi * turns) / scale) ** 2, [2.0], [1.0])


def of_matern(kernel: Any, X: Any, x: Any) -> Iterator[Term]:
    """E exp(-nu s / (2 u)) for Gamma-distributed u with shape nu: a mixture of RBF kernels."""
    if kernel.nu == np.inf:
        return of_rbf(kernel, X, x)
    nodes, weights = gamma_nodes(float(kernel.nu))
    return _mixture(_squares(kernel, X, x), kernel.nu / (2.0 * nodes), weights)


def of_rational_quadratic(kernel: Any, X: Any, x: Any) -> Iterator[Term]:
    """E exp(-s u / (2 a)) for Gamma-distributed u with shape a, the kernel's ``mixture``."""
    nodes, weights = gamma_nodes(float(kernel.mixture))
    return _mixture(_squares(kernel, X, x), nodes / (2.0 * kernel.mixture), weights)


def _numbers(kernel: Any, X: Any, x: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows X and the row x in float64, and the length scales."""
    rows, one = checks.vectors(X, kernel), checks.vectors(x, kernel)
    if not isinstance(rows, np.ndarray) or not isinstance(one, np.ndarray):
        raise TypeError("Sparse rows have too many columns to separate; fit to X.toarray().")
    return rows.astype(np.float64), one.astype(np.float64)[0], checks.length_scale(kernel.length_scale, rows.shape[1])


def _squares(kernel: Any, X: Any, x: Any) -> np.ndarray:
    """(x_ic - x_c)^2 / l_c^2."""
    rows, one, scale = _numbers(kernel, X, x)
    return ((rows - one) / scale) ** 2


def _mixture(distances: np.ndarray, rates: Any, weights: Any) -> Iterator[Term]:
    """sum_q w_q prod_c exp(-rate_q d_ic), for distances d of shape (n, columns)."""
    for rate, weight in zip(rates, weights, strict=True):
        values = np.exp(-rate * distances)
        yield Term(float(weight), {(c,): (values[:, c], 1.0) for c in range(values.shape[1])})


def gamma_nodes(shape: float) -> tuple[np.ndarray, np.ndarray]:
    """sum_q w_q g(u_q) = E g(u) for Gamma-distributed u: nodes and weights of the trapezoidal rule in log u.

    g must be analytic in log u, as exp(-s u) and exp(-s / u) are; the rule then converges geometrically.
    """
    step = min(LOG_STEP, 0.6 / np.sqrt(shape))
    x = np.arange(np.log(shape) - 45.0 / min(shape, np.sqrt(shape)), np.log(shape + 12.0 * np.sqrt(shape) + 45.0), step)
    logs = shape * x - np.exp(x)
    weights = np.exp(logs - logs.max())
    kept = weights > NEGLIGIBLE * weights.sum()
    return np.exp(x[kept]), weights[kept] / weights[kept].sum()


# ---- shares of columns ----


@dataclass(frozen=True)
class ColumnShares:
    """Contributions of columns to f(x) = base + the sum of all shares: Shapley values of removing columns.

    A column is removed from a product of kernels by replacing its factor with 1, as if all rows agreed with x in it;
    from a linear part by moving x to the mean of the rows in it; with reference inputs by giving x their values there.
    Columns that a kernel does not separate share one value.
    """

    base: float
    """f with all columns removed."""
    shares: dict[Key, float]


def column_shares(f: Any, x: Any, owners: dict[Any, Any], reference: Any = None) -> ColumnShares:
    r"""phi_c = sum_i a_i (z_ic - r_ic) \int_0^1 prod_{l != c} (r_il + t (z_il - r_il)) dt, summed over terms.

    f has a kernel, inputs X, coefficients coef and a constant. z is the factor of a column and r its replacement. The
    integrand is a polynomial of degree d - 1, so that ceil(d / 2) Gauss-Legendre nodes are exact. Columns with the same
    owner are one player. With a reference, an input, r is the factor of its column instead.
    """
    groups: dict[Any, tuple] = {}
    for term in terms_of(f.kernel, x, x):  # any rows show which columns go together
        for key in term.factors:
            _join(groups, [owners.get(c, c) for c in key])
    coef = np.asarray(f.coef, np.float64)
    base, shares = float(f.constant), dict.fromkeys(groups.values(), 0.0)
    others = repeat(None) if reference is None else terms_of(f.kernel, f.X, reference)
    for term, other in zip(terms_of(f.kernel, f.X, x), others, strict=False):
        players: dict[tuple, tuple[Any, Any]] = {}
        for key, (present, absent) in term.factors.items():
            absent = absent if other is None else other.factors[key][0]
            player = groups[owners.get(key[0], key[0])]
            before = players.get(player, (1.0, 1.0))
            players[player] = before[0] * present, before[1] * absent
        empty, parts = _term_shares(list(players.values()), coef)
        base += term.weight * empty
        for player, part in zip(players, parts, strict=True):
            shares[player] += term.weight * float(part)
    return ColumnShares(base, shares)


def _join(groups: dict[Any, tuple], columns: list) -> None:
    """Merge the groups of these columns into one."""
    members = dict.fromkeys(member for column in columns for member in groups.get(column, (column,)))
    for member in members:
        groups[member] = tuple(members)


@cache
def _gauss_legendre(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights on [-1, 1]; cached, as a mixture has hundreds of terms of the same degree."""
    return np.polynomial.legendre.leggauss(n)


def _term_shares(factors: list[tuple[Any, Any]], coef: np.ndarray) -> tuple[float, np.ndarray]:
    """sum_i a_i prod_c r_ic, and the share of each factor in sum_i a_i prod_c z_ic."""
    n, d = len(coef), len(factors)
    if not d:
        return float(coef.sum()), np.zeros(0)
    absent, change, parts = np.empty((d, n)), np.empty((d, n)), np.zeros(d)
    for c, (present, replaced) in enumerate(factors):
        absent[c], change[c] = replaced, present
    change -= absent
    nodes, weights = _gauss_legendre((d + 1) // 2)
    for t, weight in zip(0.5 * (nodes + 1.0), 0.5 * weights, strict=True):
        mixed = absent + t * change
        before, after = np.ones((d, n)), np.ones((d, n))  # products of the others without division by zeros
        np.cumprod(mixed[:-1], axis=0, out=before[1:])
        after[:-1] = np.cumprod(mixed[:0:-1], axis=0)[::-1]
        parts += weight * np.einsum("cn,cn,cn,n->c", change, before, after, coef)
    return float(coef @ absent.prod(axis=0)), parts
