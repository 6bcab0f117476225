"""The random walk kernel of graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from representer._loops import random_walks
from representer.kernels import checks
from representer.kernels.base import Gradients, Kernel
from representer.kernels.graph_inputs import Graphs, require_alike
from representer.kernels.prepared import FLOAT64, Prepared
from representer.kernels.ragged import Ragged

SAME_EIGENVALUE, NO_WEIGHT = 1e-11, 1e-26
"""Distance within which eigenvalues are merged, and weight below which they are dropped: both below rounding."""
WALK_TOL = 1e-15
"""Relative change of the numbers of walks at which the fixed-point iteration has converged."""


@dataclass
class Walks(Prepared):
    """Graphs as eigenvalues and weights, or as given, and the largest spectral radius of an adjacency matrix."""

    inputs: Any
    radius: float
    dtype: Any = FLOAT64

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, index: Any) -> Walks:
        return Walks(self.inputs[index], self.radius)


class RandomWalk(Kernel):
    """k(G, H) = sum over l of decay^l times the number of pairs of walks of l steps, one in G and one in H.

    That is 1'(I - decay A)^(-1) 1, where A is the adjacency matrix of the product graph. Without labels it is sum_ij
    u_i v_j / (1 - decay s_i t_j), with eigenvalues s and t of the two adjacency matrices and u and v the squared sums
    of their eigenvectors: one decomposition per graph. The kernel is positive semidefinite for every decay for which
    the sum converges: it counts common walks, with positive weights.

    Parameters
    ----------
    decay : float
        Below 1 / (r r'), where r is the spectral radius of an adjacency matrix (at most the largest degree); else the
        sum diverges. Close to zero the kernel hardly sees more than the numbers of nodes and edges (Sugiyama and
        Borgwardt, 2015), close to the bound it is dominated by the longest walks.
    labels : bool
        Whether two walks make a pair only if the labels of their nodes and edges agree. Values then come from a
        fixed-point iteration, or a linear solve where ``decay`` is close to its bound, which take some hundred times
        as long.
    node_label, edge_label : str, optional
        The attributes that hold the labels, see `Graphs.of`.
    """

    on_vectors = False

    def __init__(
        self, decay: float = 0.01, labels: bool = False, node_label: str | None = None, edge_label: str | None = None
    ):
        self.decay = decay
        self.labels = labels
        self.node_label = node_label
        self.edge_label = edge_label

    def prepare(self, X: Any, like: Walks | None = None) -> Walks:
        checks.positive(self.decay, "decay")
        checks.boolean(self.labels, "labels")
        graphs = Graphs.of(X, self.labels and self.node_label, self.labels and self.edge_label)
        checks.number_of(graphs)
        if self.labels and not (graphs.has_node_labels or graphs.has_edge_labels):
            raise ValueError("labels=True, but the graphs have no labels; give them some, or use labels=False.")
        if graphs.directed or self.labels:
            inputs: Any = graphs if self.labels else _unlabelled(graphs)
            radius = max((_radius(graphs.adjacency(g)) for g in range(len(graphs))), default=0.0)
        else:
            inputs = _eigenvalues(graphs)
            radius = float(np.abs(inputs.values[:, 0]).max(initial=0.0))
        return self._bounded(Walks(inputs, radius), like)

    def _bounded(self, walks: Walks, like: Walks | None) -> Walks:
        if like is not None and isinstance(walks.inputs, Graphs) != isinstance(like.inputs, Graphs):
            raise ValueError("Some graphs are directed and some are not; make all of them the same.")
        if like is not None and self.labels:
            require_alike(walks.inputs.labelled, like.inputs.labelled, (True, True))
        other = walks.radius if like is None else like.radius
        if self.decay * walks.radius * max(walks.radius, other) >= 1.0:
            bound = 1.0 / (walks.radius * max(walks.radius, other))
            raise ValueError(
                f"decay is {self.decay!r}, for which the sum over walks diverges: the adjacency matrices have "
                f"spectral radii up to {max(walks.radius, other):.4g}; use a decay below {bound:.3g}."
            )
        return walks

    def fill(self, A: Walks, B: Walks, tile: np.ndarray) -> None:
        if isinstance(A.inputs, Graphs):
            self._fill_labelled(A.inputs, B.inputs, tile, np.empty_like(tile))
        else:
            random_walks.by_eigenvalues(*_spectra(A.inputs, B.inputs), float(self.decay), False, tile)

    def _fill_labelled(self, A: Graphs, B: Graphs, tile: np.ndarray, slopes: np.ndarray) -> None:
        sides = [(side.starts, side.indptr, side.indices, side.node_labels, side.edge_labels) for side in (A, B)]
        random_walks.by_product_graphs(*sides, A is B, float(self.decay), WALK_TOL, tile, slopes)
        for i, j in np.argwhere(np.isnan(tile)):
            pointers, columns = random_walks.product_graph(*sides[0], i, *sides[1], j)
            tile[i, j], slopes[i, j] = _solved(pointers, columns, float(self.decay))

    def vjp(self, A: Walks, B: Walks, W: np.ndarray) -> Gradients:
        slopes = np.empty((len(A), len(B)))
        if isinstance(A.inputs, Graphs):
            self._fill_labelled(A.inputs, B.inputs, np.empty_like(slopes), slopes)
        else:
            random_walks.by_eigenvalues(*_spectra(A.inputs, B.inputs, True), float(self.decay), True, slopes)
        return {"decay": float(np.vdot(W, slopes))}


def _spectra(A: Ragged, B: Ragged, times_eigenvalues: bool = False) -> tuple:
    """Eigenvalues and weights of both sides; for derivatives, weights times eigenvalues."""
    mine, (values, weights) = A.values, np.ascontiguousarray(B.values.T)
    if times_eigenvalues:
        mine, weights = np.stack([mine[:, 0], mine[:, 0] * mine[:, 1]], axis=1), weights * values
    return mine, A.starts, values, weights, B.starts


def _solved(pointers: np.ndarray, columns: np.ndarray, decay: float) -> tuple[float, float]:
    """1'(I - decay A)^(-1) 1 of a product graph, and its derivative with respect to the decay, by a factorisation."""
    A = sparse.csr_array((np.ones(len(columns)), columns, pointers), shape=(len(pointers) - 1,) * 2)
    solve = splu((sparse.eye_array(A.shape[0]) - decay * A).tocsc()).solve
    z = solve(np.ones(A.shape[0]))
    return z.sum(), solve(A @ z).sum()


def _unlabelled(graphs: Graphs) -> Graphs:
    """The same graphs without labels."""
    edges = np.stack([graphs.sources, graphs.indices], axis=1)
    return Graphs(edges, graphs.owner, directed=graphs.directed, n_graphs=len(graphs))


def _radius(A: np.ndarray) -> float:
    """The spectral radius of one adjacency matrix."""
    return float(np.abs(np.linalg.eigvals(A)).max(initial=0.0))


def _eigenvalues(graphs: Graphs) -> Ragged:
    """Eigenvalues of each adjacency matrix and the squared sums of its eigenvectors, without those that are zero."""
    sizes, found = np.diff(graphs.starts), [np.empty((0, 2))] * len(graphs)
    for n in np.unique(sizes[sizes > 0]):
        same = np.flatnonzero(sizes == n)
        for part in np.array_split(same, max(len(same) * n * n // 2**20, 1)):  # a few megabytes at a time
            values, vectors = np.linalg.eigh(np.stack([graphs.adjacency(g) for g in part]))
            weights = vectors.sum(axis=1) ** 2
            for g, s, u in zip(part, values, weights, strict=True):
                found[g] = _merged(s, u)
    return Ragged.of(found, np.float64)


def _merged(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Merge equal eigenvalues, and drop those without weight, which symmetric graphs have many of."""
    new = np.diff(values, prepend=-np.inf) > SAME_EIGENVALUE * max(np.abs(values).max(), 1.0)
    first = np.flatnonzero(new)
    weights = np.add.reduceat(weights, first)
    kept = weights > NO_WEIGHT * len(values)
    return np.stack([values[first][kept], weights[kept]], axis=1)
