"""Graphs of other libraries, recognised by their attributes: none of those libraries is imported."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from numbers import Real
from typing import Any, Literal

import numpy as np
from scipy import sparse

LABEL = "label"
"""The default attribute for labels."""
Wanted = str | None | Literal[False]
"""The attribute that holds labels: a name, the default one, or False where labels are not to be read."""


@dataclass
class RawGraph:
    """One graph: nodes from 0 on, edges as pairs of them, and labels in their order."""

    n_nodes: int
    edges: np.ndarray
    node_labels: list | None
    edge_labels: list | None
    directed: bool


def is_graph(x: Any) -> bool:
    """Whether x is one graph in a format that `read` knows."""
    return any(recognises(x) for recognises, _ in FORMATS)


def is_graph_object(x: Any) -> bool:
    """Whether x is a graph of another library; matrices and lists of edges may be other things."""
    return any(recognises(x) for recognises, _ in OBJECTS)


def is_listed_graph(x: Any) -> bool:
    """Whether an item of a list is a graph: of another library, or a tuple of a matrix or edges, with labels or not."""
    return is_graph_object(x) or (isinstance(x, tuple) and is_graph(x))


def read(x: Any, i: int, node_label: Wanted, edge_label: Wanted) -> RawGraph:
    """The i-th graph of a list, from any known format."""
    x = tuple(x) if isinstance(x, list) and len(x) == 1 else x  # GraKeL's triples may have one part
    for recognises, reader in FORMATS:
        if recognises(x):
            return reader(x, i, node_label, edge_label)
    raise TypeError(
        f"Input {i} is {x!r:.80}, which is not a graph; pass graphs of networkx, igraph, PyTorch Geometric or RDKit, "
        "pairs (adjacency matrix, node labels), triples (edges, node labels, edge labels), or Graphs(...)."
    )


def _edges(pairs: Any) -> np.ndarray:
    pairs = list(pairs)
    return np.array(pairs, np.int64) if pairs else np.empty((0, 2), np.int64)


def _attributes(rows: list[dict], wanted: Wanted, i: int, what: str) -> list | None:
    """One attribute of all nodes or edges of graph i; None where none was asked for and none has a label."""
    if wanted is False:
        return None
    name = LABEL if wanted is None else wanted
    without = [row for row in rows if name not in row]
    if not without:
        return [row[name] for row in rows]
    if wanted is None and len(without) == len(rows):
        return None
    subject = f"Graph {i}" if len(without) == len(rows) else f"A{'n' * (what == 'edge')} {what} of graph {i}"
    raise _lacking(subject, what, name, without[0])


def _lacking(subject: str, what: str, name: str, has: Any) -> ValueError:
    others = f"it has {', '.join(map(repr, has))}" if has else "it has none"
    return ValueError(f"{subject} has no {what} attribute {name!r}; {others}.")


# ---- networkx ----


def _is_networkx(x: Any) -> bool:
    return hasattr(x, "nodes") and hasattr(x, "edges") and hasattr(x, "is_directed")


def _networkx(x: Any, i: int, node_label: Wanted, edge_label: Wanted) -> RawGraph:
    nodes, edges = list(x.nodes(data=True)), list(x.edges(data=True))
    number = {node: n for n, (node, _) in enumerate(nodes)}
    return RawGraph(
        len(nodes),
        _edges((number[u], number[v]) for u, v, _ in edges),
        _attributes([row for _, row in nodes], node_label, i, "node"),
        _attributes([row for *_, row in edges], edge_label, i, "edge"),
        x.is_directed(),
    )


# ---- igraph ----


def _is_igraph(x: Any) -> bool:
    return hasattr(x, "vs") and hasattr(x, "es") and hasattr(x, "get_edgelist")


def _igraph(x: Any, i: int, node_label: Wanted, edge_label: Wanted) -> RawGraph:
    def column(sequence: Any, wanted: Wanted, what: str) -> list | None:
        if wanted is False:
            return None
        name, names = wanted or LABEL, sequence.attributes()
        if name in names:
            return list(sequence[name])
        if wanted is None:
            return None
        raise _lacking(f"Graph {i}", what, name, names)

    return RawGraph(
        x.vcount(),
        _edges(x.get_edgelist()),
        column(x.vs, node_label, "node"),
        column(x.es, edge_label, "edge"),
        x.is_directed(),
    )


# ---- PyTorch Geometric ----


def _is_geometric(x: Any) -> bool:
    return hasattr(x, "edge_index")


def _array(tensor: Any) -> np.ndarray:
    return np.asarray(tensor.detach().cpu() if hasattr(tensor, "detach") else tensor)


def _geometric(x: Any, i: int, node_label: Wanted, edge_label: Wanted) -> RawGraph:
    pairs = _array(x.edge_index).T.astype(np.int64)
    node_rows = _feature_labels(x, node_label, "x", i, "node")
    edge_rows = _feature_labels(x, edge_label, "edge_attr", i, "edge")
    n = getattr(x, "num_nodes", None)
    if n is None:
        n = len(x.x) if getattr(x, "x", None) is not None else pairs.max(initial=-1) + 1
    n = int(n)
    return RawGraph(n, pairs, node_rows, edge_rows, not _is_symmetric(pairs, n))


def _feature_labels(x: Any, wanted: Wanted, default: str, i: int, what: str) -> list | None:
    """Labels from rows of features: for each row a number, the index of the one if it is one-hot, or a tuple."""
    values = getattr(x, wanted or default, None)
    if values is None and wanted:
        raise ValueError(f"Graph {i} has no {what} attribute {wanted!r}; pass a graph that has it.")
    if values is None or wanted is False:
        return None
    rows = _array(values)
    if rows.shape[1:] == (0,):
        return None
    rows = rows[:, 0] if rows.ndim == 2 and rows.shape[1] == 1 else rows
    if np.any(rows != np.round(rows)):
        raise ValueError(
            f"The {what} attribute {wanted or default!r} of graph {i} holds real numbers, which are not labels; "
            f"name an attribute with labels by {what}_label, or round them first."
        )
    if rows.ndim == 1:
        return rows.astype(np.int64).tolist()
    hot = np.all((rows == 0) | (rows == 1), axis=1) & (rows.sum(axis=1) == 1)  # whatever the other rows are
    pairs = zip(hot, rows.argmax(axis=1).tolist(), rows.astype(np.int64).tolist(), strict=True)
    return [place if single else tuple(row) for single, place, row in pairs]


# ---- RDKit ----


def _is_molecule(x: Any) -> bool:
    return hasattr(x, "GetAtoms") and hasattr(x, "GetBonds")


def _molecule(x: Any, i: int, node_label: Wanted, edge_label: Wanted) -> RawGraph:
    def labels(parts: list, wanted: Wanted, default: str, what: str) -> list | None:
        if wanted is False:
            return None
        if wanted is None:
            return [str(getattr(part, default)()) for part in parts]
        if any(not part.HasProp(wanted) for part in parts):
            raise ValueError(f"Graph {i} has no {what} attribute {wanted!r}; set it with SetProp.")
        return [part.GetProp(wanted) for part in parts]

    atoms, bonds = list(x.GetAtoms()), list(x.GetBonds())
    return RawGraph(
        len(atoms),
        _edges((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in bonds),
        labels(atoms, node_label, "GetSymbol", "node"),
        labels(bonds, edge_label, "GetBondType", "edge"),
        False,
    )


# ---- matrices, pairs and GraKeL's triples ----


def _is_matrix(x: Any) -> bool:
    return (sparse.issparse(x) or isinstance(x, np.ndarray)) and x.ndim == 2 and x.shape[0] == x.shape[1]


def _is_edges(x: Any) -> bool:
    """Whether x lists edges: pairs in a set or a list, or a dictionary of pairs or of neighbours."""
    if isinstance(x, dict):
        return True
    return isinstance(x, set | frozenset | list) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in x)


def _is_triple(x: Any) -> bool:
    if _is_matrix(x):
        return True
    if not isinstance(x, list | tuple) or not 1 + isinstance(x, list) <= len(x) <= 3:  # [A] is a list of one graph
        return False
    labelled = all(part is None or isinstance(part, dict) or _is_labels(part) for part in x[1:])
    return labelled and (_is_matrix(x[0]) or _is_edges(x[0]))


def _is_labels(x: Any) -> bool:
    return isinstance(x, str | list) or getattr(x, "ndim", None) == 1


def _triple(x: Any, i: int, node_label: Wanted, edge_label: Wanted) -> RawGraph:
    if node_label or edge_label:
        raise ValueError(f"Graph {i} is a matrix or a list of edges, which has no attributes; give its labels with it.")
    what, node_labels, edge_labels = (*((x,) if _is_matrix(x) else x), None, None)[:3]
    if _is_matrix(what):
        pairs, nodes = _matrix_pairs(what, i), list(range(what.shape[0]))
    else:
        listed, pairs = _listed(what, i)
        named = node_labels if isinstance(node_labels, dict) else {}
        nodes = list(dict.fromkeys(chain(named, listed, chain.from_iterable(pairs))))
        if not isinstance(node_labels, dict | None):  # labels in the order of nodes 0, 1, ...
            nodes = list(range(len(node_labels)))
    number = dict(zip(nodes, range(len(nodes)), strict=True))
    try:
        ends = [number[node] for node in chain.from_iterable(pairs)]
    except KeyError as lost:
        raise ValueError(f"Graph {i} has an edge at node {lost.args[0]!r}, for which there is no label.") from None
    edges = np.array(ends, np.int64).reshape(-1, 2)
    return RawGraph(
        len(nodes),
        edges,
        None if node_label is False else _labels_of_nodes(node_labels, nodes, i),
        None if edge_label is False else _labels_of_edges(edge_labels, pairs, i),
        not _is_symmetric(edges, len(nodes)),
    )


def _matrix_pairs(A: Any, i: int) -> list:
    if sparse.issparse(A):
        A = sparse.coo_array(A)
        stored = A.data != 0
        rows, columns, values = A.row[stored], A.col[stored], A.data[stored]
    else:
        rows, columns = np.nonzero(A)
        values = A[rows, columns]
    if np.any(values != 1):
        raise ValueError(
            f"The adjacency matrix of graph {i} has entries other than 0 and 1; kernels of graphs use no weights, so "
            "pass (A != 0), or give weights as labels of edges."
        )
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


def _listed(edges: Any, i: int) -> tuple[list, list]:
    """Nodes and pairs from {(u, v): weight}, {u: [v, ...]}, {u: {v: weight}} or a list of pairs."""
    if not isinstance(edges, dict):
        return [], list(edges)
    if all(isinstance(pair, tuple) and len(pair) == 2 for pair in edges):
        _require_ones(edges, i)
        return [], list(edges)
    for neighbours in edges.values():
        if isinstance(neighbours, dict):
            _require_ones(neighbours, i)
    return list(edges), [(u, v) for u, neighbours in edges.items() for v in neighbours]


def _require_ones(weights: dict, i: int) -> None:
    for end, weight in weights.items():
        if isinstance(weight, Real) and weight != 1:
            raise ValueError(
                f"The edge {end!r} of graph {i} has the weight {weight!r}; kernels of graphs use no weights, so "
                "give 1, or give weights as labels of edges."
            )


def _labels_of_nodes(labels: Any, nodes: list, i: int) -> list | None:
    if labels is None or (isinstance(labels, dict) and not labels):
        return None
    if not isinstance(labels, dict):
        if len(labels) != len(nodes):
            raise ValueError(f"Graph {i} has {len(nodes)} nodes and {len(labels)} node labels; give one for each.")
        return labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    try:
        return [labels[node] for node in nodes]
    except KeyError as lost:
        raise ValueError(f"Node {lost.args[0]!r} of graph {i} has no label; label all nodes or none.") from None


def _labels_of_edges(labels: Any, pairs: list, i: int) -> list | None:
    """From {(u, v): label}, one direction being enough, or a list in the order of the edges."""
    if labels is None or (isinstance(labels, dict) and not labels):
        return None
    if not isinstance(labels, dict):
        if len(labels) != len(pairs):
            raise ValueError(f"Graph {i} has {len(pairs)} edges and {len(labels)} edge labels; give one for each.")
        return list(labels)
    found = [labels.get((u, v), labels.get((v, u), _NONE)) for u, v in pairs]
    if _NONE in found:
        raise ValueError(f"The edge {pairs[found.index(_NONE)]!r} of graph {i} has no label; label all edges or none.")
    return found


_NONE = object()


def _is_symmetric(edges: np.ndarray, n: int) -> bool:
    """Whether each edge is present in both directions."""
    u, v = edges.T
    forth, back = np.sort(n * u + v), np.sort(n * v + u)
    return np.array_equal(forth, back) or np.array_equal(np.unique(forth), np.unique(back))  # edges may repeat


OBJECTS = ((_is_networkx, _networkx), (_is_igraph, _igraph), (_is_geometric, _geometric), (_is_molecule, _molecule))
FORMATS = (*OBJECTS, (_is_triple, _triple))
