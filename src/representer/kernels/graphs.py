"""Graph kernels by counted patterns: nodes, edges, subtrees, and pairs of nodes with their distance."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer._loops import graph_patterns, words
from representer.kernels import checks
from representer.kernels.candidates import Candidates
from representer.kernels.counts import Counted, Counts, Tallied
from representer.kernels.graph_edits import graph_candidates
from representer.kernels.graph_inputs import Graphs, require_alike

NO_LABELS = np.empty(0, np.uint64)


class GraphKernel:
    """Mixin of graph kernels, besides `Counts`: how they read graphs, and candidates for pre-images."""

    node_label: str | None = None
    edge_label: str | None = None

    @property
    def reads(self) -> tuple[bool, bool]:
        """Whether labels of nodes and those of edges matter; others are not read, and may be anything."""
        return True, False

    def _graphs(self, X: Any) -> Graphs:
        nodes, edges = self.reads
        return Graphs.of(X, nodes and self.node_label, edges and self.edge_label)

    def prepare(self, X: Any, like: Tallied | None = None) -> Tallied:
        self.check()  # type: ignore[attr-defined]
        graphs = self._graphs(X)
        inputs = Counts.prepare(self, graphs, like)  # type: ignore[arg-type]
        inputs.shared = graphs.labelled
        if like is not None:
            require_alike(inputs.shared, like.shared, self.reads)
        return inputs

    def candidates(self, X: Any) -> Candidates:
        """Graphs with an edge, a leaf or a label changed, as `Graphs` of one."""
        return graph_candidates(self._graphs(X))


class VertexHistogram(GraphKernel, Counts):
    """k(G, H) = sum_u (nodes of G with the label u) (nodes of H with the label u).

    It is positive semidefinite, and with a ``compare`` that is.

    Parameters
    ----------
    compare : Kernel, optional
        How counts are compared, such as HistogramIntersection() or RBF(); by the inner product when not given.
    node_label : str, optional
        The attribute with the labels of nodes, in libraries whose nodes have several.
    """

    def __init__(self, compare: Any = None, node_label: str | None = None):
        self.compare = compare
        self.node_label = node_label

    def count(self, X: Any) -> Counted:
        graphs = self._graphs(X)
        return Counted(graphs.owner, graphs.node_labels)

    def names(self, X: Any, places: np.ndarray) -> list[str]:
        graphs = self._graphs(X)
        return [str(graphs.name(key)) for key in graphs.node_labels[places]]


class EdgeHistogram(GraphKernel, Counts):
    """k(G, H) = sum_u (edges of G with the label u) (edges of H with the label u); edges without labels are all alike.

    An edge that is there in both directions, with the same label, counts once, as one of a graph that is not directed.
    The kernel is positive semidefinite, and with a ``compare`` that is.

    Parameters
    ----------
    ends : bool
        Whether the labels of the two nodes of an edge are part of its label.
    compare : Kernel, optional
        How counts are compared, such as HistogramIntersection() or RBF(); by the inner product when not given.
    node_label, edge_label : str, optional
        The attributes with the labels, in libraries whose nodes and edges have several.
    """

    def __init__(
        self, ends: bool = False, compare: Any = None, node_label: str | None = None, edge_label: str | None = None
    ):
        self.ends = ends
        self.compare = compare
        self.node_label = node_label
        self.edge_label = edge_label

    def check(self) -> None:
        checks.boolean(self.ends, "ends")

    @property
    def reads(self) -> tuple[bool, bool]:
        return self.ends, True

    def _edges(self, X: Any) -> tuple[Graphs, np.ndarray, np.ndarray]:
        """The graphs, the entries that are edges (of two directions the one from the smaller node), and which are.

        Each edge is looked at by itself: what others a list holds, directed or not, does not matter.
        """
        graphs = self._graphs(X)
        back = _both_directions(graphs) if graphs.directed else np.ones(len(graphs.indices), bool)
        edges = np.flatnonzero(~back | (graphs.sources <= graphs.indices))
        return graphs, edges, back[edges]

    def count(self, X: Any) -> Counted:
        graphs, edges, back = self._edges(X)
        keys = words.scattered(graphs.edge_labels[edges])
        sources = graphs.sources[edges]
        if self.ends:
            first, last = (words.scattered(graphs.node_labels[nodes]) for nodes in (sources, graphs.indices[edges]))
            turned = back & (last < first)
            both = _pairs(np.where(turned, last, first), np.where(turned, first, last))
            keys = _pairs(both, keys + ~back)  # an edge of one direction is none of both
        return Counted(graphs.owner[sources], keys)

    def names(self, X: Any, places: np.ndarray) -> list[str]:
        graphs, edges, _ = self._edges(X)
        names = []
        for edge in edges[places]:
            label = str(graphs.name(graphs.edge_labels[edge])) if graphs.has_edge_labels else "edge"
            nodes = [str(graphs.name(graphs.node_labels[v])) for v in (graphs.sources[edge], graphs.indices[edge])]
            names.append(f"{label} from {nodes[0]} to {nodes[1]}" if self.ends else label)
        return names


def _both_directions(graphs: Graphs) -> np.ndarray:
    """Whether each edge is there in the other direction, too, with the same label."""
    nodes = graphs.sources.astype(np.uint64), graphs.indices.astype(np.uint64)
    there, back = (_pairs(_pairs(a, b), graphs.edge_labels) for a, b in (nodes, nodes[::-1]))
    return np.isin(there, back)


def _pairs(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """A hash of each pair of numbers."""
    return words.paired(np.stack([first, second], axis=1).ravel(), 1)[::2]


class WeisfeilerLehman(GraphKernel, Counts):
    """k(G, H) = sum_i w_i sum_u (nodes of G with the label u in round i) (those of H), i = 0, ..., rounds.

    In each round the new label of a node combines its old one and those of its neighbours, so a label of round i
    represents a subtree of depth i. ``compare=HistogramIntersection()`` makes it the optimal assignment kernel. The
    kernel is positive semidefinite for all rounds and weights, and with a ``compare`` that is, such as this one.

    Parameters
    ----------
    rounds : int
        Rounds of relabelling; 0 gives the `VertexHistogram`.
    weights : array of shape (rounds + 1,), optional
        A weight for each round, none negative; it has a gradient.
    compare : Kernel, optional
        How counts are compared; by the inner product when not given.
    edge_labels : bool
        Whether the labels of edges are part of the new labels.
    node_label, edge_label : str, optional
        The attributes with the labels, in libraries whose nodes and edges have several.

    References
    ----------
    Shervashidze et al., Weisfeiler-Lehman graph kernels, JMLR 2011. Kriege et al., On valid optimal assignment kernels
    and applications to graph classification, NeurIPS 2016.

    Examples
    --------
    >>> from representer.kernels import Graphs, WeisfeilerLehman
    >>> two = Graphs([(0, 1), (1, 2), (3, 4)], [0, 0, 0, 1, 1], node_labels="CCOCO")
    >>> WeisfeilerLehman(1)(two)
    array([[8., 4.],
           [4., 4.]])
    """

    def __init__(
        self,
        rounds: int = 5,
        weights: Any = None,
        compare: Any = None,
        edge_labels: bool = False,
        node_label: str | None = None,
        edge_label: str | None = None,
    ):
        self.rounds = rounds
        self.weights = weights
        self.compare = compare
        self.edge_labels = edge_labels
        self.node_label = node_label
        self.edge_label = edge_label

    def check(self) -> None:
        checks.integer(self.rounds, "rounds", least=0)
        checks.boolean(self.edge_labels, "edge_labels")

    @property
    def reads(self) -> tuple[bool, bool]:
        return True, self.edge_labels

    @property
    def n_levels(self) -> int:
        return self.rounds + 1

    def count(self, X: Any) -> Counted:
        graphs = self._graphs(X)
        labels = [words.scattered(graphs.node_labels)]
        on_edges = graphs.edge_labels if self.edge_labels else NO_LABELS
        for _ in range(self.rounds):
            labels.append(graph_patterns.refine(labels[-1], graphs.indptr, graphs.indices, on_edges))
        owners = np.tile(graphs.owner, self.n_levels)
        return Counted(owners, np.concatenate(labels), level=np.repeat(np.arange(self.n_levels), graphs.n_nodes))

    def names(self, X: Any, places: np.ndarray) -> list[str]:
        graphs = self._graphs(X)
        levels, nodes = np.divmod(places, max(graphs.n_nodes, 1))
        return [self._subtree(graphs, int(v), int(level)) for v, level in zip(nodes, levels, strict=True)]

    def _subtree(self, graphs: Graphs, node: int, depth: int) -> str:
        """The label of a node and, in brackets, the subtrees of its neighbours in the order of their names."""
        label = str(graphs.name(graphs.node_labels[node]))
        if depth == 0:
            return label
        entries = range(graphs.indptr[node], graphs.indptr[node + 1])
        around = []
        for e in entries:
            bond = f"{graphs.name(graphs.edge_labels[e])}:" if self.edge_labels and graphs.has_edge_labels else ""
            around.append(bond + self._subtree(graphs, int(graphs.indices[e]), depth - 1))
        return f"{label}({' '.join(sorted(around))})"


class ShortestPath(GraphKernel, Counts):
    """k(G, H) = sum_u (pairs of nodes of G with the pattern u) (those of H), u two labels and their distance.

    The distance is the number of steps of a shortest path. Pairs count in both directions; unconnected pairs do not
    count. The kernel is positive semidefinite, and with a ``compare`` that is.

    Parameters
    ----------
    compare : Kernel, optional
        How counts are compared, such as HistogramIntersection() or RBF(); by the inner product when not given.
    node_label : str, optional
        The attribute with the labels of nodes, in libraries whose nodes have several.

    References
    ----------
    Borgwardt and Kriegel, Shortest-path kernels on graphs, ICDM 2005.
    """

    def __init__(self, compare: Any = None, node_label: str | None = None):
        self.compare = compare
        self.node_label = node_label

    def _pairs(self, X: Any) -> tuple[Graphs, tuple[np.ndarray, ...]]:
        graphs = self._graphs(X)
        return graphs, graph_patterns.distances(graphs.node_labels, graphs.starts, graphs.indptr, graphs.indices)

    def count(self, X: Any) -> Counted:
        owner, key, amount, _, _ = self._pairs(X)[1]
        return Counted(owner, key, amount)

    def names(self, X: Any, places: np.ndarray) -> list[str]:
        graphs, (_, _, _, sources, targets) = self._pairs(X)
        names = []
        for source, target in zip(sources[places], targets[places], strict=True):
            ends = [graphs.name(graphs.node_labels[v]) for v in (source, target)]
            names.append(f"{ends[0]} -{_steps(graphs, source, target)}- {ends[1]}")
        return names


def _steps(graphs: Graphs, source: int, target: int) -> int:
    """The number of edges on a shortest path between two nodes."""
    reached, steps = {source}, 0
    while target not in reached:
        edges = (range(graphs.indptr[v], graphs.indptr[v + 1]) for v in reached)
        reached = reached | {int(graphs.indices[e]) for part in edges for e in part}
        steps += 1
    return steps
