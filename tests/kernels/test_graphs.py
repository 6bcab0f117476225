from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from each_case import each
from sklearn.model_selection import GridSearchCV, cross_val_score

from representer import SVC, KernelRidge
from representer.kernels import (
    RBF,
    EdgeHistogram,
    Graphs,
    HistogramIntersection,
    Normalized,
    RandomWalk,
    ShortestPath,
    VertexHistogram,
    WeisfeilerLehman,
)
from representer.testing import check_gram, check_kernel


class Molecule:
    """A graph with the methods of networkx that are read, atoms as its labels and numbers of bonds."""

    def __init__(self, atoms, bonds, labelled=True):
        self.atoms, self.bonds, self.labelled = atoms, bonds, labelled

    def nodes(self, data):
        return [(v, {"label": atom} if self.labelled else {}) for v, atom in self.atoms.items()]

    def edges(self, data):
        return [(*sorted(pair), {"bond": bond} if self.labelled else {}) for pair, bond in self.bonds.items()]

    def is_directed(self):
        return False

    def neighbours(self, v):
        return [u for u in self.atoms if frozenset((u, v)) in self.bonds]

    def shuffled(self, rng):
        """The same molecule with other numbers."""
        names = dict(zip(self.atoms, rng.permutation(len(self.atoms)).tolist(), strict=True))
        atoms = {names[v]: atom for v, atom in self.atoms.items()}
        bonds = {frozenset(names[v] for v in pair): bond for pair, bond in reversed(self.bonds.items())}
        return Molecule({v: atoms[v] for v in rng.permutation(list(atoms)).tolist()}, bonds)


def random_molecule(rng, n, density):
    atoms = {v: str(rng.choice(list("CNO"))) for v in range(n)}
    pairs = [frozenset(pair) for pair in combinations(range(n), 2) if rng.random() < density]
    return Molecule(atoms, {pair: int(rng.integers(1, 3)) for pair in pairs})


def plain(n, pairs):
    return Molecule(dict.fromkeys(range(n)), {frozenset(pair): 1 for pair in pairs}, labelled=False)


def path(n):
    return plain(n, [(v, v + 1) for v in range(n - 1)])


def cycle(n):
    return plain(n, [(v, (v + 1) % n) for v in range(n)])


RNG = np.random.default_rng(0)
GRAPHS = [random_molecule(RNG, n, 0.4) for n in (3, 5, 6, 7, 8)]
GRAPHS += [random_molecule(RNG, 4, 0.0), random_molecule(RNG, 1, 0.0), random_molecule(RNG, 5, 0.2)]
"""One without edges, one of a single node, and one with isolated nodes."""


def histogram(graph, kernel):
    return Counter(graph.atoms.values())


def edges(graph, kernel):
    ends = [sorted(graph.atoms[v] for v in pair) if kernel.ends else () for pair in graph.bonds]
    return Counter((bond, *end) for bond, end in zip(graph.bonds.values(), ends, strict=True))


def subtrees(graph, kernel):
    """Labels written out: that of the node, and those of its neighbours in order."""
    labels, found = dict(graph.atoms), Counter()
    for level in range(kernel.rounds + 1):
        found.update((level, label) for label in labels.values())
        around = {
            v: sorted(
                (f"{graph.bonds[frozenset((u, v))]}:" if kernel.edge_labels else "") + labels[u]
                for u in graph.neighbours(v)
            )
            for v in labels
        }
        labels = {v: f"{labels[v]}({' '.join(around[v])})" for v in labels}
    return found


def paths(graph, kernel):
    found = Counter()
    for v, atom in graph.atoms.items():
        reached, steps = {v: 0}, 0
        while new := {u: 0 for w in reached for u in graph.neighbours(w) if u not in reached}:
            steps += 1
            found.update((atom, graph.atoms[u], steps) for u in new)
            reached |= new
    return found


KERNELS = each(
    ("kernel", "patterns"),
    [
        (VertexHistogram(), histogram),
        (EdgeHistogram(edge_label="bond"), edges),
        (EdgeHistogram(ends=True, edge_label="bond"), edges),
        (WeisfeilerLehman(0), subtrees),
        (WeisfeilerLehman(3), subtrees),
        (WeisfeilerLehman(2, edge_labels=True, edge_label="bond"), subtrees),
        (ShortestPath(), paths),
    ],
)


@KERNELS
def test_equal_to_the_definition(kernel, patterns):
    counted = [patterns(graph, kernel) for graph in GRAPHS]
    expected = np.array([[sum(n * b[u] for u, n in a.items()) for b in counted] for a in counted], float)
    assert np.array_equal(kernel(GRAPHS), expected)
    assert np.array_equal(kernel(GRAPHS[:3], GRAPHS[2:]), expected[:3, 2:])
    optimal = kernel.set_params(compare=HistogramIntersection())
    smallest = [[sum((a & b).values()) for b in counted] for a in counted]
    assert np.array_equal(optimal(GRAPHS), smallest)
    kernel.set_params(compare=None)


@KERNELS
def test_laws(kernel, patterns):
    check_kernel(kernel, GRAPHS)
    check_gram(kernel, Graphs.of(GRAPHS, edge_label="bond"))


@KERNELS
def test_order_of_nodes_does_not_matter(kernel, patterns):
    rng = np.random.default_rng(0)
    renamed = [graph.shuffled(rng) for graph in GRAPHS]
    assert np.array_equal(kernel(renamed), kernel(GRAPHS))
    assert np.array_equal(kernel(renamed, GRAPHS), kernel(GRAPHS))


def test_optimal_assignment_of_a_graph_to_itself():
    """k(G, G) = (rounds + 1) |V|, isolated nodes included."""
    kernel = WeisfeilerLehman(4, compare=HistogramIntersection())
    assert kernel.diag(GRAPHS).tolist() == [5.0 * len(graph.atoms) for graph in GRAPHS]


def test_weights_of_rounds():
    single = [WeisfeilerLehman(2, weights=np.eye(3)[i])(GRAPHS) for i in range(3)]
    np.testing.assert_allclose(WeisfeilerLehman(2, weights=[3.0, 0.0, 0.5])(GRAPHS), 3 * single[0] + 0.5 * single[2])
    assert np.array_equal(sum(single), WeisfeilerLehman(2)(GRAPHS))
    check_kernel(WeisfeilerLehman(2, weights=[3.0, 0.2, 0.5]), GRAPHS)
    check_kernel(WeisfeilerLehman(1, weights=[3.0, 0.5], compare=RBF(4.0)), GRAPHS)


def test_graphs_without_labels():
    """After one round a label is a degree."""
    graphs = [path(4), plain(4, [(0, 1), (0, 2), (0, 3)]), cycle(3)]
    degrees = [Counter(len(graph.neighbours(v)) for v in graph.atoms) for graph in graphs]
    expected = [[sum(n * b[d] for d, n in a.items()) for b in degrees] for a in degrees]
    assert WeisfeilerLehman(1, weights=[0.0, 1.0])(graphs).tolist() == expected
    assert EdgeHistogram()(graphs).tolist() == [[9.0] * 3] * 3


def test_directed_edges():
    there, back = (Graphs([pair], [0, 0], ["a", "b"], directed=True) for pair in ((0, 1), (1, 0)))
    assert ShortestPath()([there, back]).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert EdgeHistogram(ends=True)([there, back]).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert WeisfeilerLehman(1)([there, back])[0, 1] == 2.0


@each("ends", [False, True])
def test_directed_graphs_leave_the_edges_of_others_alone(ends):
    path = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    kernel, one_way = EdgeHistogram(ends), np.triu(path)
    assert kernel([path]).tolist() == [[4.0]]
    assert kernel([path, one_way]).tolist() == [[4.0, 4.0 * (not ends)], [4.0 * (not ends), 4.0]]
    labelled = [(path, "CNO", {(0, 1): "-", (1, 2): "="}), (one_way, "CNO", {(0, 1): "-", (1, 2): "="})]
    assert kernel(labelled)[0, 0] == kernel(labelled[:1])[0, 0] == 2.0
    assert kernel(labelled)[1, 1] == 2.0


def test_names_of_patterns():
    molecule = Graphs([(0, 1), (1, 2)], [0, 0, 0], node_labels="CCO", edge_labels=["-", "="])
    assert sorted(VertexHistogram().features(molecule)[1]) == ["C", "O"]
    assert sorted(EdgeHistogram().features(molecule)[1]) == ["-", "="]
    assert sorted(EdgeHistogram(ends=True).features(molecule)[1]) == ["- from C to C", "= from C to O"]
    names = ["C", "C(C O)", "C(C)", "O", "O(C)"]
    assert sorted(WeisfeilerLehman(1).features(molecule)[1]) == names
    assert "C(-:C =:O)" in WeisfeilerLehman(1, edge_labels=True).features(molecule)[1]
    assert sorted(ShortestPath().features(molecule)[1]) == ["C -1- C", "C -1- O", "C -2- O", "O -1- C", "O -2- C"]


def test_in_cross_validation():
    graphs = [(cycle if i % 2 else path)(4 + i % 3) for i in range(16)]
    y = np.arange(16) % 2
    model = SVC(kernel=Normalized(WeisfeilerLehman(2)), C=10.0)
    for X in (graphs, Graphs.of(graphs)):
        assert cross_val_score(model, X, y, cv=4).mean() == 1.0
    grid = GridSearchCV(model, {"kernel__kernel__rounds": [0, 2]}, cv=2).fit(Graphs.of(graphs), y)
    assert grid.best_params_ == {"kernel__kernel__rounds": 2}


def test_explanations_of_graphs_of_other_libraries():
    A = 1 - np.eye(3, dtype=int)
    graphs = Graphs.of([(A, "CCO"), (A, "CNO")])
    model = SVC(kernel=VertexHistogram()).fit(graphs, [0, 1])
    found = model.function_.explain([(A, "NNN")])
    assert found.features == [("N", pytest.approx(3.0))]


def test_labels_on_one_side_only():
    A = 1 - np.eye(3, dtype=int)
    node, edge, none = [(A, [0, 0, 1])], [(A, None, dict.fromkeys([(0, 1), (1, 2), (0, 2)], 0))], [A]
    node_kernels = VertexHistogram(), WeisfeilerLehman(1), ShortestPath(), EdgeHistogram(ends=True)
    for kernel in (*node_kernels, RandomWalk(0.01, labels=True)):
        with pytest.raises(ValueError, match=r"have no node labels|have node labels, the others have no|no labels"):
            kernel(none, node)
    for kernel in (EdgeHistogram(), WeisfeilerLehman(1, edge_labels=True)):
        with pytest.raises(ValueError, match="These graphs have edge labels, the others have no edge labels"):
            kernel(edge, none)
    with pytest.raises(ValueError, match="label all graphs or none"):
        RandomWalk(0.01, labels=True)(edge, node)
    with pytest.raises(ValueError, match="These graphs have no node labels, the others have node labels"):
        KernelRidge(kernel=WeisfeilerLehman(1)).fit(node, [1.0]).predict(none)
    assert EdgeHistogram()(none, node).tolist() == [[9.0]]  # labels that are not read
    assert EdgeHistogram()([np.zeros((2, 2))], edge).tolist() == [[0.0]]  # no edges, so nothing without a label


def test_errors():
    with pytest.raises(TypeError, match=r"X is one graph; pass \[G\]"):
        WeisfeilerLehman()(GRAPHS[3])
    with pytest.raises(ValueError, match="Graph 0 has no node attribute 'atom'; it has 'label'"):
        VertexHistogram(node_label="atom")(GRAPHS)
    with pytest.raises(ValueError, match="rounds is -1"):
        WeisfeilerLehman(-1)(GRAPHS)
    with pytest.raises(ValueError, match="WeisfeilerLehman needs 3 numbers"):
        WeisfeilerLehman(2, weights=[1.0, 1.0])(GRAPHS)
