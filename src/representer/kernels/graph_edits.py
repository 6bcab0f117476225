"""Graphs that differ little from a given one: candidates for pre-images."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any

import numpy as np

from representer.kernels.candidates import Candidates
from representer.kernels.graph_inputs import Graphs


def graph_candidates(graphs: Graphs) -> Candidates:
    """Graphs by small changes, with labels that occur in the given graphs only."""
    nodes = [graphs.name(key) for key in np.unique(graphs.node_labels)] if graphs.has_node_labels else [None]
    edges = [graphs.name(key) for key in np.unique(graphs.edge_labels)] if graphs.has_edge_labels else [None]

    def neighbours(graph: Graphs) -> list[Graphs]:
        labels, bonds = _parts(graph)
        changed = [*_relabelled(labels, bonds, nodes), *_rewired(labels, bonds, edges, graph.directed)]
        changed += _with_leaf(labels, bonds, nodes, edges)
        changed += _without_node(labels, bonds)
        return [_built(part, graph) for part in changed]

    return Candidates([graphs[i] for i in range(len(graphs))], neighbours, None)


Parts = tuple[list, dict[tuple[int, int], Any]]
"""The labels of the nodes, and those of the edges by pair of nodes; the smaller node first unless directed."""


def _parts(graph: Graphs) -> Parts:
    pairs = zip(graph.sources.tolist(), graph.indices.tolist(), graph.edge_labels, strict=True)
    bonds = {
        (u, v): graph.name(key) if graph.has_edge_labels else None for u, v, key in pairs if graph.directed or u <= v
    }
    return [graph.name(key) if graph.has_node_labels else None for key in graph.node_labels], bonds


def _built(parts: Parts, like: Graphs) -> Graphs:
    labels, bonds = parts
    return Graphs(
        np.array(list(bonds), int).reshape(-1, 2),
        np.zeros(len(labels), int),
        labels if like.has_node_labels else None,
        list(bonds.values()) if like.has_edge_labels else None,
        directed=like.directed,
        n_graphs=1,
    )


def _relabelled(labels: list, bonds: dict, known: list) -> list[Parts]:
    """One node with another label."""
    return [
        ([*labels[:v], label, *labels[v + 1 :]], bonds)
        for v in range(len(labels))
        for label in known
        if label != labels[v]
    ]


def _rewired(labels: list, bonds: dict, known: list, directed: bool) -> list[Parts]:
    """One edge removed, added, or relabelled."""
    pairs = (permutations if directed else combinations)(range(len(labels)), 2)
    removed = [{other: label for other, label in bonds.items() if other != pair} for pair in bonds]
    changed = [{**bonds, pair: label} for pair in pairs for label in known if bonds.get(pair, ABSENT) != label]
    return [(labels, part) for part in (*removed, *changed)]


ABSENT = object()
"""The label of an absent edge."""


def _with_leaf(labels: list, bonds: dict, nodes: list, edges: list) -> list[Parts]:
    """One node added, joined to one of the others."""
    new = len(labels)
    return [([*labels, node], {**bonds, (v, new): edge}) for v in range(new) for node in nodes for edge in edges]


def _without_node(labels: list, bonds: dict) -> list[Parts]:
    """One node removed, among those with at most one edge; a graph keeps at least one node."""
    degree = np.bincount(np.array(list(bonds), int).ravel(), minlength=len(labels))
    found = []
    for v in np.flatnonzero(degree <= 1).tolist() if len(labels) > 1 else []:
        kept = {(a - (a > v), b - (b > v)): label for (a, b), label in bonds.items() if v not in (a, b)}
        found.append(([*labels[:v], *labels[v + 1 :]], kept))
    return found
