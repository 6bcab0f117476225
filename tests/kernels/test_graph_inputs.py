import pickle

import numpy as np
import pytest
from each_case import each
from sklearn.model_selection import KFold
from sklearn.utils import _safe_indexing

from representer.kernels import Graphs, VertexHistogram, WeisfeilerLehman

PATH, TRIANGLE = [(0, 1), (1, 2)], [(0, 1), (1, 2), (2, 0)]


def three():
    """A path C-C-O, a node N on its own, a triangle with a loop, and a graph without nodes."""
    edges = [*PATH, (4, 5), (5, 6), (6, 4), (5, 5)]
    return Graphs(edges, [0, 0, 0, 1, 2, 2, 2], "CCONCCC", ["-", "=", "-", "-", "-", "o"], n_graphs=4)


def neighbours(graphs, g):
    """Neighbours of each node of graph g with labels, counted from 0, the slow way."""
    start, end = graphs.starts[g], graphs.starts[g + 1]
    return [
        [
            (int(graphs.indices[e] - start), graphs.name(graphs.edge_labels[e]))
            for e in range(graphs.indptr[v], graphs.indptr[v + 1])
        ]
        for v in range(start, end)
    ]


def test_layout_by_hand():
    graphs = three()
    assert repr(graphs) == "Graphs(4 graphs, 7 nodes, 6 edges)"
    assert graphs.starts.tolist() == [0, 3, 4, 7, 7]
    assert neighbours(graphs, 0) == [[(1, "-")], [(0, "-"), (2, "=")], [(1, "=")]]
    assert neighbours(graphs, 1) == [[]]
    assert neighbours(graphs, 2) == [[(1, "-"), (2, "-")], [(0, "-"), (1, "o"), (2, "-")], [(0, "-"), (1, "-")]]
    assert [graphs.name(key) for key in graphs.node_labels] == list("CCONCCC")
    assert graphs.owner.tolist() == [0, 0, 0, 1, 2, 2, 2]
    assert graphs.adjacency(2).tolist() == [[0, 1, 1], [1, 1, 1], [1, 1, 0]]


@pytest.mark.parametrize(
    "index", [slice(1, 3), [2, 0, 2], np.array([True, False, True, False]), 2, -1, (np.array([3, 1]), ...), []]
)
def test_slices_are_the_graphs_themselves(index):
    graphs = three()
    rows = np.atleast_1d(np.arange(4)[index[0] if isinstance(index, tuple) else index])
    part = graphs[index]
    assert part.shape == (len(rows),)
    for place, g in enumerate(rows):
        assert neighbours(part, place) == neighbours(graphs, g)
        assert np.array_equal(part.node_labels[part.owner == place], graphs.node_labels[graphs.owner == g])


def test_scikit_learn_slices_graphs():
    graphs = three()
    for train, test in KFold(2).split(graphs):
        part = _safe_indexing(graphs, train)
        assert isinstance(part, Graphs)
        assert len(part) + len(_safe_indexing(graphs, test)) == 4


def test_lists_of_single_graphs_are_graphs():
    graphs = three()
    again = Graphs.of(list(graphs))
    for name, value in vars(graphs).items():
        assert np.array_equal(getattr(again, name), value), name
    assert Graphs.of(graphs) is graphs
    assert repr(pickle.loads(pickle.dumps(graphs))) == repr(graphs)


def test_graphs_in_lists_with_those_of_other_libraries():
    A = np.array([[0, 1], [1, 0]])
    graph = Graphs([(0, 1)], [0, 0], "CO", "=")
    mixed = Graphs.of([graph, (A, "NC", {(0, 1): "-"})])
    assert [[mixed.name(key) for key in g.node_labels] for g in mixed] == [["C", "O"], ["N", "C"]]
    assert [[mixed.name(key) for key in g.edge_labels] for g in mixed] == [["=", "="], ["-", "-"]]
    with pytest.raises(ValueError, match="Some graphs have edge labels, and some have none"):
        Graphs.of([graph, (A, "NC")])
    assert not Graphs.of([graph, (A, "NC")], edge_label=False).has_edge_labels
    assert WeisfeilerLehman(1)([graph, (A, "CO")]).tolist() == [[4.0, 4.0], [4.0, 4.0]]


def test_direction_and_repetition_of_edges_do_not_matter():
    labels = [7, 8, 9]
    once = Graphs(TRIANGLE, [0] * 3, edge_labels=labels)
    twice = Graphs([*TRIANGLE, *(pair[::-1] for pair in TRIANGLE)], [0] * 3, edge_labels=labels * 2)
    assert np.array_equal(once.edge_labels, twice.edge_labels)
    for doubled in (twice, Graphs([*TRIANGLE, (1, 0), (0, 1)], [0] * 3)):
        assert np.array_equal(once.indices, doubled.indices)
        assert np.array_equal(once.indptr, doubled.indptr)
    parallel = Graphs([(0, 1), (0, 1)], [0, 0], edge_labels=["-", "="])
    assert parallel.adjacency(0)[0, 1] == 2.0
    arrows = Graphs(PATH, [0] * 3, directed=True)
    assert arrows.adjacency(0).tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    assert repr(arrows) == "Graphs(1 graph, 3 nodes, 2 edges)"


def test_no_edges_and_no_nodes():
    empty = Graphs([], [0, 0, 1])
    assert repr(empty) == "Graphs(2 graphs, 3 nodes, 0 edges)"
    assert repr(Graphs([], [], n_graphs=2)[:1]) == "Graphs(1 graph, 0 nodes, 0 edges)"


@each(
    ("arguments", "message"),
    [
        (([(0, 3)], [0, 0, 0, 1]), "Edge 0 joins nodes 0 and 3 of graphs 0 and 1"),
        (([(0, 9)], [0, 0]), "from 0 to 1"),
        (([(0.5, 1.0)], [0, 0]), "must hold numbers of nodes"),
        (([0, 1], [0, 0]), r"shape \(2,\)"),
        (([(0, 1)], [1, 1]), "begin with 0"),
        (([(0, 1)], [-1, 1]), "begin with 0"),
        (([(0, 1)], [0, 1, 0]), "rise"),
        (([(0, 1)], ["a", "a"]), "number of its graph"),
        (([(0, 1)], [0, 0], "C"), "There are 1 node labels for 2 nodes"),
        (([(0, 1)], [0, 0], None, [1, 2]), "There are 2 edge labels for 1 edges"),
        (([(0, 1)], [0, 0], [[1], [2]]), "cannot be a label"),
    ],
)
def test_bad_arrays_are_refused(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Graphs(*arguments)


def test_labels_of_all_or_of_none():
    with pytest.raises(ValueError, match="Some graphs have node labels"):
        Graphs.of([Graphs(PATH, [0] * 3), Graphs(PATH, [0] * 3, "CCO")])
    with pytest.raises(ValueError, match="empty"):
        Graphs.of([])


def parts_of(graphs):
    return {name: value for name, value in vars(graphs).items() if name not in ("owner", "sources")}


def test_restored_graphs_are_the_same():
    graphs = Graphs([(0, 1), (1, 2), (3, 4)], [0, 0, 0, 1, 1], node_labels="CCOCO", edge_labels=[1, 2, 1])
    found = Graphs.restored(**parts_of(graphs))
    assert repr(found) == repr(graphs)
    np.testing.assert_array_equal(found.adjacency(1), graphs.adjacency(1))


@each(
    ("name", "value"),
    [
        ("indices", np.array([3, 0, 2, 1, 4, 3])),
        ("indices", np.array([-1, 0, 2, 1, 4, 3])),
        ("indices", np.array([1, 0, 2, 1, 4])),
        ("indptr", np.array([0, 1, 3, 4, 5, 900])),
        ("indptr", np.array([0, 5, 3, 4, 5, 6])),
        ("starts", np.array([0, 3, 500])),
        ("starts", np.array([0.0, 3.0, 5.0])),
        ("node_labels", np.zeros(4, np.uint64)),
    ],
)
def test_parts_that_would_leave_their_arrays_are_refused(name, value):
    parts = parts_of(Graphs([(0, 1), (1, 2), (3, 4)], [0, 0, 0, 1, 1]))
    with pytest.raises(ValueError, match=r"do not fit together|point outside"):
        Graphs.restored(**parts | {name: value})


@pytest.mark.parametrize("empty", [(np.empty((0, 0)), []), (np.empty((0, 0)), None), ([], [])])
def test_graphs_without_nodes_may_come_first(empty):
    graphs = Graphs.of([empty, empty, (np.ones((2, 2)) - np.eye(2), [7, 7])])
    assert graphs.starts.tolist() == [0, 0, 0, 2]
    assert VertexHistogram()(graphs).tolist() == [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 4.0]]
    assert Graphs.of([empty]).starts.tolist() == [0, 0]


def test_graphs_counted_from_one():
    with pytest.raises(ValueError, match="node_graph has the graph 2, but n_graphs is 2; count graphs from 0"):
        Graphs([(0, 1)], [1, 1, 2], n_graphs=2)
