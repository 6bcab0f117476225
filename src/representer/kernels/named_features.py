"""Feature weights of functions in H: f(x) = <w, phi(x)> for kernels k(x, y) = <phi(x), phi(y)> with named features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from representer.kernels import checks
from representer.kernels.tiles import block

LinearForm = Callable[[Any], np.ndarray]


@dataclass(frozen=True)
class NamedFeatures:
    """phi(x) of some inputs as a CSR matrix, and the names of its columns, which are computed on demand."""

    values: Any
    names: Callable[[np.ndarray], list[str]]

    def scaled(self, factors: Any) -> NamedFeatures:
        """All features times a number, or those of each input times its own factor."""
        rows = np.broadcast_to(np.asarray(factors, np.float64), (self.values.shape[0],))
        values = sparse.csr_array(self.values.multiply(rows[:, None]))
        values.eliminate_zeros()
        return NamedFeatures(values, self.names)

    def renamed(self, rename: Callable[[str], str]) -> NamedFeatures:
        """The same features under other names."""
        return NamedFeatures(self.values, lambda columns: [rename(name) for name in self.names(columns)])

    def beside(self, other: NamedFeatures) -> NamedFeatures:
        """These features followed by others."""
        width = self.values.shape[1]

        def names(columns: np.ndarray) -> list[str]:
            own = columns < width
            found = np.empty(len(columns), object)
            found[own], found[~own] = self.names(columns[own]), other.names(columns[~own] - width)
            return found.tolist()

        return NamedFeatures(sparse.hstack([self.values, other.values], format="csr"), names)


@dataclass(frozen=True)
class Features:
    """phi with k(x, y) = <phi(x), phi(y)>: ``kernel.features(X)`` is a CSR matrix and the names of its columns."""

    named: Callable[[Any], NamedFeatures]
    """Maps inputs to phi(x), with names computed on demand; raises if there is no such phi."""
    linear_form: Callable[[Any, np.ndarray], LinearForm | None] = lambda A, C: None
    """Maps prepared a_i and C to b_j -> sum_i C_fi k(a_i, b_j), shape (m, n), by weights w_f = sum_i C_fi phi(a_i).

    It takes as long as the features of the b_j, however many a_i there are. None where phi or w is not available.
    """

    window: int | None = None
    """For strings: phi sums over substrings of up to this many letters, so that changing one letter changes few
    terms."""
    undivided: Features | None = None
    """The features before each input's were divided by their norm, if they were."""

    def __call__(self, X: Any) -> tuple[Any, list[str]]:
        found = self.named(X)
        return found.values, found.names(np.arange(found.values.shape[1]))

    def beside(self, other: Features) -> Features:
        """The features of a sum of two kernels, whose prepared inputs have a left and a right part."""

        def linear_form(A: Any, C: np.ndarray) -> LinearForm | None:
            left, right = self.linear_form(A.left, C), other.linear_form(A.right, C)
            return None if left is None or right is None else lambda B: left(B.left) + right(B.right)

        windows = self.window, other.window
        window = None if None in windows else max(windows)  # type: ignore[type-var]
        return Features(lambda X: self.named(X).beside(other.named(X)), linear_form, window)


def no_features(kernel: Any) -> Features:
    """The features of a kernel whose functions are not linear in named features: asking for them raises an error."""

    def named(X: Any) -> NamedFeatures:
        raise TypeError(f"{kernel!r} has no features with names, in which its functions would be linear.")

    return Features(named)


@dataclass(frozen=True)
class Explanation:
    """Additive explanation of a function's value at one input.

    The value is the constant plus the contributions of all features; also the constant plus the contributions of all
    inputs of the function. The largest contributions, of either sign, come first.
    """

    value: float
    constant: float
    features: list[tuple[str, float]]
    """Names of features of the input, and their contributions."""
    inputs: list[tuple[int, float]]
    """Indices of inputs of the function, and their contributions coef_i k(x_i, x).

    They index the function's own inputs, ``function.X``, which may be a subset of the training inputs in another order,
    where others have no coefficient: for a support vector machine, the support vectors.
    """

    def __str__(self) -> str:
        lines = [f"{self.value:.4g} = {self.constant:.4g}"]
        lines += [f"  {added:+.4g} by {name!r}" for name, added in self.features]
        rest = self.value - self.constant - sum(added for _, added in self.features)
        return "\n".join([*lines, f"  {rest:+.4g} by all other features"])


def weights(kernel: Any, X: Any, coef: np.ndarray, n: int) -> list:
    """The n largest weights of w = sum_i coef_i phi(x_i) by absolute value, with names of features, for each output."""
    checks.integer(n, "n")
    features = kernel.features.named(X)
    W = np.asarray(features.values.T @ coef)
    found = [_largest(w, n, features.names) for w in np.atleast_2d(W.T)]
    return found[0] if coef.ndim == 1 else found


def explain(kernel: Any, X: Any, coef: np.ndarray, constant: float, x: Any, n: int) -> Explanation:
    """Contributions of features and inputs to f(x) = constant + sum_i coef_i k(x_i, x), for a single input x."""
    checks.integer(n, "n")
    if checks.number_of(x) != 1:
        raise ValueError(f"x holds {checks.number_of(x)} inputs; a single one is explained, so pass a list of one.")
    features = kernel.features.named(checks.concatenate(X, x))
    old, new = features.values[:-1], features.values[[-1]].toarray().ravel()
    added = np.asarray(old.T @ coef) * new
    B = kernel.prepare(X)
    by_input = coef * block(kernel, kernel.prepare(x, like=B), B)[0]
    order = np.argsort(-np.abs(by_input), kind="stable")[:n]
    inputs = [(int(i), float(by_input[i])) for i in order if by_input[i] != 0.0]
    return Explanation(float(constant + by_input.sum()), float(constant), _largest(added, n, features.names), inputs)


def _largest(values: np.ndarray, n: int, names: Callable[[np.ndarray], list[str]]) -> list[tuple[str, float]]:
    """The n largest nonzero numbers by absolute value, with names."""
    columns = np.argsort(-np.abs(values), kind="stable")[:n]
    columns = columns[values[columns] != 0.0]
    return list(zip(names(columns), values[columns].tolist(), strict=True))
