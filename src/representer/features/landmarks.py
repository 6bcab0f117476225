"""Landmarks: which inputs, or points between them, span a good subspace of H."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import eigh

from representer.features.pivoted_cholesky import pivoted_cholesky
from representer.gram.tiled import Gram
from representer.kernels import checks
from representer.kernels.base import Kernel, require_definite, require_kernel
from representer.kernels.basis import root_of, widened
from representer.rows import tables

CANDIDATES = 59
"""The best of this many random candidates is among the best 5 % with probability 0.95 (Smola and Schoelkopf)."""
MOST_GREEDY = 10_000
"""Largest number of rows for the rule "greedy", which takes 59 columns of the kernel matrix for each landmark."""


@dataclass(frozen=True)
class Landmarks:
    """Landmarks z_1, ..., z_m and how much of the kernel matrix their span leaves out."""

    inputs: Any
    """The landmarks."""
    indices: np.ndarray | None
    """Their indices among the inputs; None where they are not inputs (k-means)."""
    trace_error: float
    """trace(K - K^) / trace(K), where K^ is the kernel matrix of the span."""
    errors: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """The same after each landmark, where landmarks are chosen one by one ("greedy")."""


def landmarks(
    kernel: Kernel, X: Any, n: int, rule: str = "rpcholesky", y: Any = None, *, random_state: Any = 0
) -> Landmarks:
    """n landmarks for inputs X, and the fraction of the trace of the kernel matrix that their span leaves out.

    Parameters
    ----------
    kernel : Kernel
        Length scales that were not given are chosen from X.
    X : inputs of the kernel
    n : int
        Largest number of landmarks; fewer are chosen where fewer span all of the data.
    rule : {"rpcholesky", "uniform", "leverage", "kmeans", "greedy"}
        Randomly pivoted Cholesky; a uniform sample; a sample by ridge leverage scores; centres of k-means, on vectors;
        or the best of 59 random candidates, one by one (sparse greedy approximation).
    y : array of shape (n_samples,), optional
        For "greedy": each landmark is where the residual of y is largest (f-greedy).
    random_state : int or numpy Generator

    Returns
    -------
    Landmarks
        With ``inputs``, ``indices``, ``trace_error`` and, for "greedy", ``errors`` after each landmark.

    Examples
    --------
    >>> import numpy as np
    >>> from representer import landmarks
    >>> from representer.kernels import RBF
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> found = landmarks(RBF(), X, 30)
    >>> found.indices.shape, bool(found.trace_error < 0.05)
    ((30,), True)

    References
    ----------
    Chen, Epperly, Tropp and Webber, Randomly pivoted Cholesky, CPAM 2025. Smola and Schoelkopf, Sparse greedy matrix
    approximation, ICML 2000. Wirtz and Haasdonk, A vectorial kernel orthogonal greedy algorithm, 2013.
    """
    kernel = require_kernel(kernel).with_default_scales(X)
    require_definite(kernel, "a subspace")
    n = min(checks.integer(n, "n"), checks.number_of(X))
    check_rule(rule)
    if y is not None and rule != "greedy":
        raise ValueError(f"y is used by the rule 'greedy' alone, and the rule is {rule!r}; leave y out.")
    rng = np.random.default_rng(random_state)
    if rule == "kmeans":
        return _with_error(kernel, X, k_means(kernel, X, n, rng))
    gram = Gram(kernel, X)
    if rule == "greedy":
        indices, errors = _greedy(gram, n, y, rng)
    else:
        indices, errors = RULES[rule](gram, n, rng), np.zeros(0)
    inputs = tables.at(tables.sliceable(X), indices)
    error = float(errors[-1]) if len(errors) else trace_error(gram, gram.take(indices).astype(np.float64), indices)
    return Landmarks(inputs, indices, error, errors)


def chosen(kernel: Kernel, X: Any, n: int, rule: str, random_state: Any) -> Any:
    """The landmarks alone, without their error, which takes longer to compute than they take to choose."""
    rng, n = np.random.default_rng(random_state), min(checks.integer(n, "n"), checks.number_of(X))
    if rule == "kmeans":
        return k_means(kernel, X, n, rng)
    gram = Gram(kernel, X)
    indices = _greedy(gram, n, None, rng)[0] if rule == "greedy" else RULES[rule](gram, n, rng)
    return tables.at(tables.sliceable(X), indices)


def check_rule(rule: Any) -> None:
    """Raise unless a rule is known."""
    known = (*RULES, "kmeans", "greedy")
    if not isinstance(rule, str) or rule not in known:
        raise ValueError(f"The rule for landmarks is {rule!r}; use one of {', '.join(map(repr, known))}, or inputs.")


def trace_error(gram: Gram, own: Any, indices: np.ndarray) -> float:
    """trace(K - K^) / trace(K) for the span of some of the inputs."""
    return _left_out(gram, own.dense().astype(np.float64), lambda rows: gram.block(rows, indices))


def _left_out(gram: Gram, metric: np.ndarray, block: Callable[[slice], np.ndarray]) -> float:
    R, total, n = root_of(metric), float(gram.diag().astype(np.float64).sum()), len(gram)
    inside = 0.0
    for start in range(0, n, 4096):
        inside += float(np.sum((block(slice(start, min(start + 4096, n))) @ R.astype(gram.dtype)).astype(float) ** 2))
    return max(total - inside, 0.0) / total if total > 0.0 else 0.0


def _uniform(gram: Gram, n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.choice(len(gram), n, replace=False)


def _rpcholesky(gram: Gram, n: int, rng: np.random.Generator) -> np.ndarray:
    pivots = pivoted_cholesky(gram, n, random_state=rng).pivots
    return pivots if len(pivots) else np.zeros(1, int)


def _leverage(gram: Gram, n: int, rng: np.random.Generator) -> np.ndarray:
    """Without replacement, by the scores diag(K (K + ridge I)^-1), from a factor F'F of K with n rows.

    The ridge is the median of its eigenvalues, so that about half of them count.
    """
    F = pivoted_cholesky(gram, n, random_state=rng).factor.astype(np.float64)
    values, U = eigh(F @ F.T)
    ridge = max(float(values[len(values) // 2]), np.finfo(np.float64).tiny)
    scores = np.einsum("ij,ij->j", (U / (values + ridge)).T @ F, U.T @ F)
    scores = np.maximum(scores, 1e-12 * scores.max())
    return rng.choice(len(gram), n, replace=False, p=scores / scores.sum())


RULES: dict[str, Callable[[Gram, int, np.random.Generator], np.ndarray]] = {
    "rpcholesky": _rpcholesky,
    "uniform": _uniform,
    "leverage": _leverage,
}


def _greedy(gram: Gram, n: int, y: Any, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Choose one by one the best of 59 random inputs, which leaves the least trace, or that of y's largest residual."""
    if len(gram) > MOST_GREEDY and y is None:
        raise ValueError(
            f"The rule 'greedy' takes 59 columns of the kernel matrix for each landmark, too many for {len(gram):,} "
            f"inputs; use at most {MOST_GREEDY:,} of them, or the rule 'rpcholesky'."
        )
    total = gram.diag().astype(np.float64)
    left, F, chosen, errors = total.copy(), np.empty((n, len(gram))), [], []
    rest = None if y is None else np.asarray(y, np.float64).reshape(len(gram), -1).copy()
    for k in range(n):
        possible = np.flatnonzero(left > 1e-12 * total.max())
        if not len(possible):
            break
        if rest is None:
            some = rng.choice(possible, min(CANDIDATES, len(possible)), replace=False)
            columns = gram.block(some, slice(None)).astype(np.float64) - F[:k, some].T @ F[:k]
            best = int(np.argmax(np.einsum("ij,ij->i", columns, columns) / left[some]))
            new, column = int(some[best]), columns[best]
        else:
            new = int(possible[np.argmax(np.abs(rest[possible]).max(axis=1))])
            column = gram.block(np.array([new]), slice(None))[0].astype(np.float64) - F[:k, new] @ F[:k]
        F[k] = column / np.sqrt(left[new])
        if rest is not None:  # Newton basis: the next function takes off what it explains at the new landmark
            rest -= np.multiply.outer(F[k], rest[new] / F[k, new])
        left = np.maximum(left - F[k] ** 2, 0.0)
        left[new] = 0.0
        chosen.append(new)
        errors.append(left.sum() / total.sum())
    return np.array(chosen), np.array(errors)


def k_means(kernel: Kernel, X: Any, n: int, rng: np.random.Generator) -> np.ndarray:
    """Centres of clusters, which need not be inputs."""
    if not kernel.on_vectors:
        raise TypeError("The rule 'kmeans' needs rows of numbers, whose means are inputs again; use 'rpcholesky'.")
    X = checks.vectors(X, kernel)
    if hasattr(X, "toarray"):
        raise TypeError("The rule 'kmeans' would make sparse rows dense; use 'rpcholesky', or X.toarray().")
    from sklearn.cluster import MiniBatchKMeans  # which imports half of scikit-learn

    model = MiniBatchKMeans(n, n_init=1, batch_size=4096, random_state=int(rng.integers(2**31))).fit(X)
    return model.cluster_centers_.astype(X.dtype)


def _with_error(kernel: Kernel, X: Any, centres: np.ndarray) -> Landmarks:
    """Landmarks that are not inputs, with their error."""
    gram, cross = Gram(kernel, X), Gram(kernel, X, centres)
    error = _left_out(gram, kernel(widened(centres)), lambda rows: cross.block(rows, slice(None)))
    return Landmarks(centres, None, error)
