"""Graphs of other libraries. Those that are not installed have stand-ins with the methods that are read."""

from types import SimpleNamespace

import numpy as np
import pytest
from each_case import each
from scipy import sparse

from representer import SVC
from representer.kernels import (
    Callable,
    EdgeHistogram,
    Graphs,
    RandomWalk,
    ShortestPath,
    VertexHistogram,
    WeisfeilerLehman,
)

EDGES, ATOMS, BONDS = [(0, 1), (1, 2), (1, 3)], ["C", "N", "C", "O"], ["-", "=", "-"]


class NetworkX:
    """The methods of networkx.Graph that are read."""

    def __init__(self, edges, atoms=None, bonds=None, directed=False, name="label"):
        n = 1 + max((max(pair) for pair in edges), default=-1)
        self._nodes = [(f"n{i}", {} if atoms is None else {name: atoms[i]}) for i in range(n)]
        self._edges = [(f"n{u}", f"n{v}", {} if bonds is None else {name: bonds[e]}) for e, (u, v) in enumerate(edges)]
        self._directed = directed

    def nodes(self, data):
        return self._nodes

    def edges(self, data):
        return self._edges

    def is_directed(self):
        return self._directed

    def __len__(self):
        return len(self._nodes)


class Sequence(dict):
    """Attributes of igraph's vertices or edges."""

    def attributes(self):
        return list(self)


class IGraph:
    def __init__(self, vertices, edges):
        self.vs, self.es = Sequence(vertices), Sequence(edges)

    def vcount(self):
        return 4

    def get_edgelist(self):
        return EDGES

    def is_directed(self):
        return False


class Atom:
    def __init__(self, symbol):
        self.GetSymbol = lambda: symbol
        self.HasProp = lambda name: name == "element"
        self.GetProp = lambda name: symbol


class Bond:
    def __init__(self, pair, kind):
        self.GetBeginAtomIdx, self.GetEndAtomIdx = (lambda: pair[0]), (lambda: pair[1])
        self.GetBondType = lambda: kind
        self.HasProp, self.GetProp = (lambda name: False), None


def molecule():
    bonds = [Bond(pair, kind) for pair, kind in zip(EDGES, BONDS, strict=True)]
    return SimpleNamespace(GetAtoms=lambda: [Atom(a) for a in ATOMS], GetBonds=lambda: bonds)


def both(pairs):
    return [*pairs, *((v, u) for u, v in pairs)]


def adjacency():
    A = np.zeros((4, 4))
    A[tuple(np.transpose(both(EDGES)))] = 1
    return A


PAIRED = dict(zip(EDGES, BONDS, strict=True))
WHOLE = {
    "networkx": NetworkX(EDGES, ATOMS, BONDS),
    "igraph": IGraph({"label": ATOMS}, {"label": BONDS}),
    "molecule": molecule(),
    "triple of an array": (adjacency(), np.array(ATOMS), PAIRED),
    "triple of a sparse matrix": (sparse.csr_matrix(adjacency()), dict(enumerate(ATOMS)), PAIRED),
    "GraKeL with a set": [set(both(EDGES)), dict(enumerate(ATOMS)), PAIRED],
    "GraKeL with neighbours": [{0: [1], 1: [0, 2, 3], 2: [1], 3: [1]}, dict(enumerate(ATOMS)), PAIRED],
    "GraKeL with weights": [dict.fromkeys(both(EDGES), 1.0), dict(enumerate(ATOMS)), PAIRED],
}


@each("name", WHOLE)
def test_all_formats_give_the_same_graph(name):
    expected = Graphs(EDGES, [0] * 4, ATOMS, BONDS)
    found = Graphs.of([WHOLE[name], WHOLE[name]])[0]
    assert not found.directed
    for array in ("starts", "indptr", "indices", "node_labels", "edge_labels"):
        assert np.array_equal(getattr(found, array), getattr(expected, array)), array


def test_features_of_pytorch_geometric_are_labels():
    index = np.array(both(EDGES)).T
    hot = np.eye(3)[[0, 1, 0, 2]]
    for x in (hot, np.array([0, 1, 0, 2]), np.array([[0.0], [1.0], [0.0], [2.0]])):
        data = SimpleNamespace(edge_index=index, x=x, edge_attr=None, num_nodes=4)
        found = Graphs.of([data])
        assert found.node_labels.tolist() == [0, 1, 0, 2]
        assert not found.directed
        assert not found.has_edge_labels
    pairs = SimpleNamespace(edge_index=index[:, :3], x=np.array([[1, 2], [1, 2], [2, 1], [0, 0]]), edge_attr=None)
    found = Graphs.of([pairs])
    assert found.directed
    assert found.name(found.node_labels[0]) == (1, 2)
    mixed = SimpleNamespace(edge_index=index, x=np.array([[1, 1], [1, 0], [0, 1], [0, 0]]))
    found = Graphs.of([mixed])
    assert list(map(found.name, found.node_labels)) == [(1, 1), 0, 1, (0, 0)]  # each row by itself
    unlabelled = SimpleNamespace(edge_index=index, num_nodes=5)
    assert Graphs.of([unlabelled]).n_nodes == 5
    with pytest.raises(ValueError, match="'x' of graph 0 holds real numbers"):
        Graphs.of([SimpleNamespace(edge_index=index, x=np.full((4, 1), 0.5))])
    with pytest.raises(ValueError, match="no node attribute 'z'"):
        Graphs.of([unlabelled], node_label="z")


@each("name", WHOLE)
def test_labels_that_are_not_read(name):
    found = Graphs.of([WHOLE[name]], False, False)
    assert not found.has_node_labels
    assert not found.has_edge_labels
    assert np.array_equal(found.indices, Graphs.of([WHOLE[name]]).indices)


def test_kernels_read_the_labels_that_they_use():
    half = NetworkX(EDGES, ATOMS, BONDS)
    del half._edges[1][2]["label"]
    real = SimpleNamespace(edge_index=np.array(both(EDGES)).T, x=np.eye(4), edge_attr=np.full((6, 1), 0.5))
    for kernel in (VertexHistogram(), WeisfeilerLehman(1), ShortestPath()):
        assert kernel([half])[0, 0] > 0.0
        assert kernel([real])[0, 0] > 0.0
    assert RandomWalk(0.01)([half, real])[0, 1] > 0.0  # the same path without its labels
    for kernel in (EdgeHistogram(), WeisfeilerLehman(1, edge_labels=True), RandomWalk(0.01, labels=True)):
        with pytest.raises(ValueError, match="An edge of graph 0 has no edge attribute 'label'"):
            kernel([half])
        with pytest.raises(ValueError, match="'edge_attr' of graph 0 holds real numbers"):
            kernel([real])


def test_graphs_without_labels():
    for G in (NetworkX(EDGES), adjacency(), sparse.csr_array(adjacency()), (both(EDGES), None), [set(both(EDGES))]):
        found = Graphs.of([G])
        assert found.indices.tolist() == [1, 0, 2, 3, 1, 1]
        assert not found.has_node_labels
    assert Graphs.of([([], "CO")]).n_nodes == 2  # isolated nodes count
    assert Graphs.of([[{}, {7: "C"}, {}]]).n_nodes == 1
    assert Graphs.of([[{0: [1], 1: [0], 2: []}]]).n_nodes == 3


def test_directed_graphs_stay_directed():
    found = Graphs.of([NetworkX(EDGES, directed=True), NetworkX(EDGES)])
    assert found.directed
    assert np.diff(found.indptr).tolist() == [1, 2, 0, 0, 1, 3, 1, 1]
    assert Graphs.of([np.triu(adjacency())]).directed


def test_attributes_by_name():
    named = NetworkX(EDGES, ATOMS, BONDS, name="kind")
    assert not Graphs.of([named]).has_node_labels
    assert Graphs.of([named], "kind", "kind").has_edge_labels
    with pytest.raises(ValueError, match=r"Graph 1 has no node attribute 'atom'; it has 'label'\."):
        Graphs.of([NetworkX(EDGES, ATOMS, name="atom"), NetworkX(EDGES, ATOMS)], "atom")
    with pytest.raises(ValueError, match=r"Graph 0 has no edge attribute 'kind'; it has none\."):
        Graphs.of([NetworkX(EDGES)], None, "kind")
    with pytest.raises(ValueError, match=r"Graph 0 has no node attribute 'atom'; it has 'label'\."):
        Graphs.of([IGraph({"label": ATOMS}, {})], "atom")
    assert Graphs.of([molecule()], "element").name(Graphs.of([molecule()]).node_labels[1]) == "N"
    with pytest.raises(ValueError, match="set it with SetProp"):
        Graphs.of([molecule()], None, "kind")
    half = NetworkX(EDGES, ATOMS)
    del half._nodes[2][1]["label"]
    with pytest.raises(ValueError, match="A node of graph 0 has no node attribute 'label'"):
        Graphs.of([half])


@each("one", [*(name for name in WHOLE), "matrix"])
def test_one_graph_is_not_a_list(one):
    with pytest.raises(TypeError, match=r"^X is one graph; pass \[G\]\.$"):
        Graphs.of(WHOLE.get(one, sparse.csr_array(adjacency())))


@each(
    ("graphs", "message"),
    [
        (["CCO"], "Input 0 is 'CCO', which is not a graph"),
        ([2.0 * adjacency()], "entries other than 0 and 1"),
        ([[{0: {1: 1.0}, 1: {0: 2.0}}]], "The edge 0 of graph 0 has the weight 2.0"),
        ([[{(0, 1): 0.5}]], r"The edge \(0, 1\) of graph 0 has the weight 0.5"),
        ([(adjacency(), "CC")], "Graph 0 has 4 nodes and 2 node labels"),
        ([(adjacency(), {0: "C"})], "Node 1 of graph 0 has no label"),
        ([(EDGES, "CC")], "an edge at node 2, for which there is no label"),
        ([(EDGES, None, {(0, 1): "-"})], r"The edge \(1, 2\) of graph 0 has no label"),
        ([(EDGES, None, "--")], "Graph 0 has 3 edges and 2 edge labels"),
        ([adjacency(), (adjacency(), "CNCO")], "Graph 0 has no node labels, but graph 1 has"),
        ("CCO", "pass a list of graphs"),
        (np.zeros((3, 4)), "X is a table of numbers"),
    ],
)
def test_bad_graphs_are_refused(graphs, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Graphs.of(graphs)


def test_matrices_have_no_attributes():
    with pytest.raises(ValueError, match="has no attributes"):
        Graphs.of([adjacency()], "atom")


def test_estimators_say_so_as_well():
    with pytest.raises(TypeError, match=r"^X is one graph; pass \[G\]\.$"):
        SVC(kernel=Callable(len)).fit(WHOLE["networkx"], [0, 1, 0, 1])
