import numpy as np
import pytest

from representer import mean_embedding, preimage
from representer.kernels import Graphs, Normalized, ShortestPath, WeisfeilerLehman
from representer.kernels.graph_edits import graph_candidates


def described(graph):
    """Labels of nodes and of edges, as they are numbered."""
    pairs = zip(graph.sources.tolist(), graph.indices.tolist(), graph.edge_labels, strict=True)
    edges = {(u, v, graph.name(key)) for u, v, key in pairs if graph.directed or u < v}
    return tuple(graph.name(key) for key in graph.node_labels), frozenset(edges)


def test_all_small_changes_of_a_graph():
    """The path C-O beside a single N: labels, edges, leaves, and nodes with at most one edge."""
    graphs = Graphs([(0, 1)], [0, 0, 0], node_labels="CON")
    found = [described(graph) for graph in graph_candidates(graphs).neighbours(graphs)]
    assert len(found) == len(set(found))
    no = 0  # the key of edges without a label
    assert (("N", "O", "N"), frozenset({(0, 1, no)})) in found
    assert (("C", "O", "N"), frozenset()) in found
    assert (("C", "O", "N"), frozenset({(0, 1, no), (1, 2, no)})) in found
    assert (("C", "O", "N", "C"), frozenset({(0, 1, no), (2, 3, no)})) in found
    assert (("O", "N"), frozenset()) in found
    assert (("C", "O"), frozenset({(0, 1, no)})) in found
    assert len(found) == 3 * 2 + 1 + 2 + 3 * 3 + 3


def test_labels_of_edges_and_directions():
    bonds = Graphs([(0, 1), (2, 3)], [0, 0, 1, 1], edge_labels=["-", "="])
    assert [described(graph)[1] for graph in graph_candidates(bonds).neighbours(bonds[0])][:2] == [
        frozenset(),
        frozenset({(0, 1, "=")}),
    ]
    arrows = Graphs([(0, 1)], [0, 0], directed=True)
    assert ((0, 0), frozenset({(0, 1, 0), (1, 0, 0)})) in [
        described(g) for g in graph_candidates(arrows).neighbours(arrows)
    ]
    single = Graphs(np.empty((0, 2), int), [0])
    assert [len(graph.node_labels) for graph in graph_candidates(single).neighbours(single)] == [2]


@pytest.mark.parametrize("kernel", [WeisfeilerLehman(2), Normalized(ShortestPath())], ids=repr)
def test_the_mean_of_graphs(kernel):
    """Of a ring in which another atom is replaced in each, it is the ring."""
    rings = Graphs(
        [(5 * g + i, 5 * g + (i + 1) % 5) for g in range(5) for i in range(5)],
        np.repeat(range(5), 5),
        node_labels=[atom for g in range(5) for atom in ("CC" + "NO"[g % 2] + "CC")],
    )
    found = preimage(mean_embedding(kernel, rings))
    assert found.method == "search"
    assert found.distance <= found.nearest_distance
    mean = mean_embedding(kernel, rings)
    assert found.distance == pytest.approx(
        np.sqrt(mean.norm() ** 2 - 2.0 * mean(found.x)[0] + kernel.diag(found.x)[0]), abs=1e-7
    )
    listed = preimage(mean_embedding(kernel, [rings[i] for i in range(5)]))
    assert listed.distance == pytest.approx(found.distance)


def test_a_graph_between_two():
    """Half way between a path of three and one of five there is the path of four."""

    def path(n):
        return Graphs([(i, i + 1) for i in range(n - 1)], [0] * n)

    found = preimage(mean_embedding(ShortestPath(), [path(3), path(5)]))
    assert found.distance < found.nearest_distance
    assert np.array_equal(ShortestPath()(found.x, [path(4)]), ShortestPath()([path(4)]))
