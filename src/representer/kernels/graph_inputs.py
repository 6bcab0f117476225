"""Many graphs in one sparse matrix: the inputs of all kernels of graphs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from representer.kernels.graph_formats import RawGraph, Wanted, is_graph, read
from representer.kernels.labels import keys_of, name_of
from representer.kernels.ragged import gathered

EDGES_AT_A_TIME = 2**15
"""Edges that are checked at a time when graphs are restored."""


class Graphs:
    """n graphs, stored as one CSR matrix of all their nodes.

    Whatever slices arrays slices graphs as well: ``graphs[rows]`` is a `Graphs` again, so cross-validation works. A
    single graph is a `Graphs` of length one.

    Parameters
    ----------
    edges : array of shape (n_edges, 2)
        Pairs of nodes, which are numbered from 0 across all graphs.
    node_graph : array of shape (n_nodes,)
        The graph of each node, counted from 0 and in ascending order.
    node_labels : sequence of n_nodes hashable labels, optional
    edge_labels : sequence of n_edges hashable labels, optional
    directed : bool
        Otherwise edges may be given in one direction or in both, to the same effect.
    n_graphs : int, optional
        The number of graphs, needed where the last ones have no nodes.

    Attributes
    ----------
    starts : array of shape (n_graphs + 1,)
        Graph g has nodes ``starts[g]`` to ``starts[g + 1]``.
    indptr, indices : arrays
        The successors of node v (its neighbours, unless directed) are ``indices[indptr[v] : indptr[v + 1]]``, in
        ascending order.
    node_labels, edge_labels : arrays of uint64
        A key for each node and for each entry of ``indices``: equal labels have equal keys, in every process. Zero
        where there are no labels.
    has_node_labels, has_edge_labels, directed : bool

    Examples
    --------
    >>> from representer.kernels import Graphs
    >>> two = Graphs([(0, 1), (1, 2), (3, 4)], [0, 0, 0, 1, 1], node_labels="CCOCO")
    >>> two
    Graphs(2 graphs, 5 nodes, 3 edges)
    >>> two[1:]
    Graphs(1 graph, 2 nodes, 1 edge)
    """

    def __init__(
        self,
        edges: Any,
        node_graph: Any,
        node_labels: Any = None,
        edge_labels: Any = None,
        *,
        directed: bool = False,
        n_graphs: int | None = None,
    ):
        owner = _owners(node_graph, n_graphs)
        pairs = _pairs(edges, owner)
        count = (int(owner[-1]) + 1 if len(owner) else 0) if n_graphs is None else n_graphs
        self.starts = np.searchsorted(owner, np.arange(count + 1))
        self.directed = directed
        self.has_node_labels, self.has_edge_labels = node_labels is not None, edge_labels is not None
        self.names: dict[int, Any] = {}
        self.node_labels = self._keys(node_labels, len(owner), "node")
        keys = self._keys(edge_labels, len(pairs), "edge")
        if self.has_edge_labels:
            self.indptr, self.indices, self.edge_labels = _labelled_csr(pairs, keys, len(owner), directed)
        else:
            self.indptr, self.indices = _csr(pairs, len(owner), directed)
            self.edge_labels = np.zeros(len(self.indices), np.uint64)

    def _keys(self, labels: Any, n: int, what: str) -> np.ndarray:
        if labels is None:
            return np.zeros(n, np.uint64)
        keys, names = keys_of(labels, f"{what} labels")
        if len(keys) != n:
            raise ValueError(f"There are {len(keys)} {what} labels for {n} {what}s; give one for each.")
        self.names |= names
        return keys

    @classmethod
    def of(cls, X: Any, node_label: Wanted = None, edge_label: Wanted = None) -> Graphs:
        """Graphs from a list of graphs of other libraries, which are recognised by their attributes.

        These are networkx and igraph graphs, `Data` of PyTorch Geometric, molecules of RDKit, matrices, pairs
        (adjacency, node labels), and GraKeL's triples (edges or adjacency, node labels, edge labels).

        Parameters
        ----------
        X : Graphs, or a list of graphs
        node_label, edge_label : str or False, optional
            The attribute that holds the labels, in libraries whose nodes and edges have attributes. By default "label"
            if there is one; `x` and `edge_attr` of PyTorch Geometric; atom symbols and bond types of molecules. With
            False no labels are read.
        """
        if isinstance(X, Graphs):
            return X
        if is_graph(X):
            raise TypeError("X is one graph; pass [G].")
        items = list(_items(X))
        if not items:
            raise ValueError("X is empty; a kernel needs at least one input.")
        if not any(isinstance(x, Graphs) for x in items):
            return _assembled([read(x, i, node_label, edge_label) for i, x in enumerate(items)])
        parts = [
            x if isinstance(x, Graphs) else _assembled([read(x, i, node_label, edge_label)])
            for i, x in enumerate(items)
        ]
        return _concatenated(parts, {"node": node_label, "edge": edge_label})

    @classmethod
    def _with(cls, **parts: Any) -> Graphs:
        """Graphs from these attributes."""
        self = object.__new__(cls)
        self.__dict__.update(parts)
        return self

    @classmethod
    def restored(cls, **parts: Any) -> Graphs:
        """Graphs from these attributes, after a check that no loop can index out of bounds."""
        self = cls._with(**parts)
        starts, indptr, indices = self.starts, self.indptr, self.indices
        rising = all(
            e.dtype.kind == "i" and e.ndim == 1 and e[0] == 0 and np.all(np.diff(e) >= 0) for e in (starts, indptr)
        )
        shapes = [indptr.shape, self.node_labels.shape, indices.shape, self.edge_labels.shape]
        keys = indices.dtype.kind == "i" and self.node_labels.dtype == self.edge_labels.dtype == np.uint64
        if not (rising and keys and shapes == [(starts[-1] + 1,), (starts[-1],), (indptr[-1],), (indptr[-1],)]):
            raise ValueError("The parts of these graphs do not fit together.")
        for begin in range(
            0, len(indices), EDGES_AT_A_TIME
        ):  # all at once would take three times the memory of the edges
            some = indices[begin : begin + EDGES_AT_A_TIME]
            places = np.arange(begin, begin + len(some), dtype=indptr.dtype)
            sources = (np.searchsorted(indptr, places, "right") - 1).astype(starts.dtype)
            owners = np.searchsorted(starts, sources, "right") - 1
            if np.any((some < starts[owners]) | (some >= starts[owners + 1])):
                raise ValueError("Edges of these graphs point outside their graph.")
        return self

    # ---- slicing ----

    @property
    def shape(self) -> tuple[int]:
        """(n_graphs,), from which scikit-learn sees that these can be sliced."""
        return (len(self),)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, index: Any) -> Graphs:
        if isinstance(index, tuple):  # scikit-learn writes X[rows, ...]
            index = index[0]
        rows = np.atleast_1d(np.arange(len(self))[index])
        starts, nodes = gathered(self.starts, rows)
        indptr, entries = gathered(self.indptr, nodes)
        moved = np.repeat(np.arange(len(nodes)) - nodes, np.diff(indptr))
        return self._with(
            **{name: getattr(self, name) for name in ("directed", "has_node_labels", "has_edge_labels", "names")},
            starts=starts,
            indptr=indptr,
            indices=(self.indices[entries] + moved).astype(self.indices.dtype),
            node_labels=self.node_labels[nodes],
            edge_labels=self.edge_labels[entries],
        )

    def __iter__(self) -> Iterator[Graphs]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        loops = np.count_nonzero(self.indices == self.sources)
        edges = len(self.indices) if self.directed else (len(self.indices) + loops) // 2
        counts = [(n, f"{n} {what}") for n, what in ((len(self), "graph"), (self.n_nodes, "node"), (edges, "edge"))]
        return f"Graphs({', '.join(what if n == 1 else what + 's' for n, what in counts)})"

    # ---- what kernels read ----

    @property
    def n_nodes(self) -> int:
        """The number of nodes of all graphs."""
        return int(self.starts[-1] - self.starts[0])

    @cached_property
    def owner(self) -> np.ndarray:
        """The graph of each node."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @cached_property
    def sources(self) -> np.ndarray:
        """The node from which each entry of ``indices`` starts."""
        return np.repeat(np.arange(self.n_nodes, dtype=self.indices.dtype), np.diff(self.indptr))

    def adjacency(self, graph: int) -> np.ndarray:
        """The dense adjacency matrix of one graph, with nodes numbered from 0; parallel edges add up."""
        nodes = slice(self.starts[graph], self.starts[graph + 1])
        n, first = nodes.stop - nodes.start, nodes.start
        entries = slice(self.indptr[nodes.start], self.indptr[nodes.stop])
        A = np.zeros((n, n))
        np.add.at(A, (self.sources[entries] - first, self.indices[entries] - first), 1.0)
        return A

    @property
    def labelled(self) -> dict[str, bool]:
        """Whether nodes and edges have labels; without an entry where there are none of them."""
        facts = ("node", self.n_nodes, self.has_node_labels), ("edge", len(self.indices), self.has_edge_labels)
        return {what: has for what, number, has in facts if number}

    def name(self, key: int) -> Any:
        """The label that a key stands for."""
        return name_of(key, self.names)


def require_alike(mine: dict[str, bool], others: dict[str, bool], reads: tuple[bool, bool]) -> None:
    """Raise if graphs have labels that a kernel reads and the others have none, or the other way round."""
    for what, matters in zip(("node", "edge"), reads, strict=True):
        if matters and what in mine and what in others and mine[what] != others[what]:
            one, other = ("", "no ") if mine[what] else ("no ", "")
            raise ValueError(
                f"These graphs have {one}{what} labels, the others have {other}{what} labels; label all graphs or none."
            )


def _owners(node_graph: Any, n_graphs: int | None) -> np.ndarray:
    owner = np.asarray(node_graph)
    if owner.ndim != 1 or (len(owner) and owner.dtype.kind not in "iu"):
        raise ValueError("node_graph must hold the number of its graph for each node.")
    if len(owner) and (np.any(np.diff(owner) < 0) or owner[0] < 0 or (n_graphs is None and owner[0] > 0)):
        raise ValueError("node_graph must begin with 0 and rise; sort the nodes by graph, and count graphs from 0.")
    if n_graphs is not None and len(owner) and owner[-1] >= n_graphs:
        raise ValueError(f"node_graph has the graph {owner[-1]}, but n_graphs is {n_graphs}; count graphs from 0.")
    return owner.astype(np.int64)


def _pairs(edges: Any, owner: np.ndarray) -> np.ndarray:
    """Edges as integers, after checking that each stays within a graph."""
    pairs = np.asarray(edges)
    pairs = pairs.reshape(-1, 2) if pairs.size == 0 else pairs
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(f"edges has shape {pairs.shape}; give two nodes for each edge, shape (n_edges, 2).")
    if pairs.size and (pairs.dtype.kind not in "iu" or pairs.min() < 0 or pairs.max() >= len(owner)):
        raise ValueError(f"edges must hold numbers of nodes, from 0 to {len(owner) - 1}.")
    pairs = pairs.astype(np.int64)
    graphs = owner[pairs]
    if (across := np.flatnonzero(graphs[:, 0] != graphs[:, 1])).size:
        (a, b), (g, h) = pairs[across[0]], graphs[across[0]]
        raise ValueError(
            f"Edge {across[0]} joins nodes {a} and {b} of graphs {g} and {h}; an edge stays within a graph."
        )
    return pairs


def _csr(pairs: np.ndarray, n: int, directed: bool) -> tuple[np.ndarray, np.ndarray]:
    """Distinct successors of each node in ascending order; in both directions unless directed."""
    ones = np.ones(len(pairs), np.int32)
    A = sparse.csr_array((ones, (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    A.sum_duplicates()
    if not directed:
        other = A.T.tocsr()
        other.sort_indices()
        if not (np.array_equal(A.indptr, other.indptr) and np.array_equal(A.indices, other.indices)):
            A = A + other
            A.sort_indices()
    return A.indptr.astype(np.int64), A.indices.astype(np.int32)


def _labelled_csr(
    pairs: np.ndarray, keys: np.ndarray, n: int, directed: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same with a label for each entry; parallel edges stay separate where their labels differ."""
    if not directed:
        pairs, keys = np.concatenate([pairs, pairs[:, ::-1]]), np.concatenate([keys, keys])
    order = np.lexsort((keys, pairs[:, 1], pairs[:, 0]))
    pairs, keys = pairs[order], keys[order]
    new = np.ones(len(pairs), bool)
    new[1:] = np.any(pairs[1:] != pairs[:-1], axis=1) | (keys[1:] != keys[:-1])
    pairs = pairs[new]
    return np.searchsorted(pairs[:, 0], np.arange(n + 1)), pairs[:, 1].astype(np.int32), keys[new]


def _items(X: Any) -> Any:
    if hasattr(X, "columns"):
        raise TypeError("X is a data frame; pick the column with the graphs by On(kernel, column).")
    if isinstance(X, np.ndarray) and X.ndim == 2:
        raise TypeError("X is a table of numbers; pass a list of graphs, or [X] if it is the adjacency matrix of one.")
    if not np.iterable(X) or isinstance(X, str | bytes):
        raise TypeError(f"X is {X!r}; pass a list of graphs.")
    return X


def _assembled(raw: list[RawGraph]) -> Graphs:
    """One container of graphs that were read one by one."""
    sizes = np.array([graph.n_nodes for graph in raw], np.int64)
    first = np.cumsum(sizes) - sizes
    directed = any(graph.directed for graph in raw)
    edges, labels = [], []
    for graph, shift in zip(raw, first, strict=True):
        pairs, both = graph.edges + shift, directed and not graph.directed
        edges.append(np.concatenate([pairs, pairs[:, ::-1]]) if both else pairs)
        labels.append(None if graph.edge_labels is None else graph.edge_labels * (1 + both))
    return Graphs(
        np.concatenate(edges) if edges else np.empty((0, 2), int),
        np.repeat(np.arange(len(raw)), sizes),
        _all_or_none([graph.node_labels for graph in raw], [graph.n_nodes for graph in raw], "node"),
        _all_or_none(labels, [len(graph.edges) for graph in raw], "edge"),
        directed=directed,
        n_graphs=len(raw),
    )


def _all_or_none(labels: list[list | None], sizes: list[int], what: str) -> list | None:
    """The labels of all graphs; None if no graph has any. Graphs without nodes or edges need none."""
    labelled = [i for i, part in enumerate(labels) if part is not None and sizes[i]]
    if not labelled:
        return None
    for i, part in enumerate(labels):
        if part is None and sizes[i]:
            raise ValueError(f"Graph {i} has no {what} labels, but graph {labelled[0]} has; label all graphs or none.")
    return [label for part in labels if part is not None for label in part]


def _concatenated(parts: list[Graphs], wanted: dict[str, Wanted]) -> Graphs:
    """The graphs of several containers, concatenated."""
    facts, labels = {}, {}
    for what, size in (("node", "node_labels"), ("edge", "indices")):
        labelled = [getattr(part, f"has_{what}_labels") for part in parts if len(getattr(part, size))]
        if any(labelled) and not all(labelled) and wanted[what] is not False:
            raise ValueError(f"Some graphs have {what} labels, and some have none; label all graphs or none.")
        facts[f"has_{what}_labels"] = any(labelled) and all(labelled)
        keys = np.concatenate([getattr(part, f"{what}_labels") for part in parts])
        labels[f"{what}_labels"] = keys if facts[f"has_{what}_labels"] else np.zeros_like(keys)
    sizes = np.array([part.n_nodes for part in parts])
    first = np.cumsum(sizes) - sizes
    moved = [part.indices + shift for part, shift in zip(parts, first, strict=True)]
    return Graphs._with(
        **facts,
        **labels,
        directed=any(part.directed for part in parts),
        starts=np.concatenate([[0], np.cumsum(np.concatenate([np.diff(part.starts) for part in parts]))]),
        indptr=np.concatenate([[0], np.cumsum(np.concatenate([np.diff(part.indptr) for part in parts]))]),
        indices=np.concatenate(moved).astype(np.int32),
        names={key: label for part in parts for key, label in part.names.items()},
    )
