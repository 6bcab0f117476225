import numpy as np
import pytest

from representer.kernels import Graphs, Normalized, RandomWalk
from representer.testing import check_gram, check_kernel

EDGES = [(0, 1), (1, 2), (3, 4), (4, 5), (5, 3), (6, 7), (7, 8), (8, 9), (9, 6), (6, 8), (11, 12), (12, 13), (13, 14)]
OWNER = [0] * 3 + [1] * 3 + [2] * 4 + [3] + [4] * 4
LABELS = list("CCOCNOCCNOCCNCO")
BONDS = list("-=--=-=---=--")


def graphs(**options):
    """A path, a triangle, a square with a diagonal, a node on its own, and a longer path."""
    return Graphs(EDGES, OWNER, LABELS, BONDS, **options)


def naive(g, h, decay, labels):
    """1'(I - decay A)^(-1) 1 of the product graph, all pairs of nodes and edges one by one."""
    n, m = g.n_nodes, h.n_nodes
    A = np.zeros((n * m, n * m))
    for e, (u, x) in enumerate(zip(g.sources, g.indices, strict=True)):
        for f, (v, y) in enumerate(zip(h.sources, h.indices, strict=True)):
            A[u * m + v, x * m + y] += not labels or g.edge_labels[e] == h.edge_labels[f]
    if labels:
        kept = np.flatnonzero(g.node_labels[:, None] == h.node_labels)
        A = A[np.ix_(kept, kept)]
    return np.linalg.solve(np.eye(len(A)) - decay * A, np.ones(len(A))).sum()


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_equal_to_the_definition(labels, directed):
    G = graphs(directed=directed)
    K = RandomWalk(0.08, labels)(G)
    assert np.allclose(K, [[naive(g, h, 0.08, labels) for h in G] for g in G], rtol=1e-13)


@pytest.mark.parametrize("labels", [False, True])
def test_laws(labels):
    check_kernel(RandomWalk(0.05, labels), graphs())
    check_gram(Normalized(RandomWalk(0.05, labels)), graphs())


def test_by_hand():
    edge, node = Graphs([(0, 1)], [0, 0]), Graphs([], [0])
    # two walks of each length in an edge, so four pairs of walks: 4 / (1 - decay); one walk of no step in a node
    assert np.isclose(RandomWalk(0.5)(edge)[0, 0], 8.0)
    assert np.isclose(RandomWalk(0.5)(node)[0, 0], 1.0)
    assert np.isclose(RandomWalk(0.5)(edge, node)[0, 0], 2.0)


@pytest.mark.parametrize("labels", [False, True])
def test_the_order_of_nodes_does_not_matter(labels):
    G = graphs()
    order = np.random.default_rng(0).permutation(4)  # of the square
    edges = [(order[u - 6], order[v - 6]) for u, v in EDGES[5:10]]
    other = Graphs(edges, [0] * 4, [LABELS[6 + i] for i in np.argsort(order)], BONDS[5:10])
    assert np.allclose(RandomWalk(0.1, labels)(other, G), RandomWalk(0.1, labels)(G[2], G))


def test_decays_near_the_bound():
    """The fixed-point iteration would take 70 million steps."""
    triangle = Graphs([(0, 1), (1, 2), (2, 0)], [0] * 3, [0] * 3)
    decay = 0.25 * (1.0 - 1e-6)
    kernel = RandomWalk(decay, labels=True)
    assert kernel(triangle)[0, 0] == pytest.approx(9.0 / (1.0 - 4.0 * decay), rel=1e-9)
    slope = kernel.contract(triangle, np.ones((1, 1)))["decay"]
    assert slope == pytest.approx(36.0 / (1.0 - 4.0 * decay) ** 2, rel=1e-9)
    G = Graphs(EDGES[:10], OWNER[:10], LABELS[:10], BONDS[:10])
    assert np.allclose(RandomWalk(0.15)(G), RandomWalk(0.15, labels=True)(Graphs(EDGES[:10], OWNER[:10], [0] * 10)))


def test_graphs_without_nodes():
    G = Graphs(EDGES, OWNER, n_graphs=6)
    assert np.all(RandomWalk(0.05)(G)[5] == 0.0)


def test_sums_that_do_not_end_are_refused():
    triangle = Graphs([(0, 1), (1, 2), (2, 0)], [0, 0, 0])
    with pytest.raises(ValueError, match=r"spectral radii up to 2; use a decay below 0.25"):
        RandomWalk(0.25)(triangle)
    with pytest.raises(ValueError, match="the sum over walks diverges"):
        RandomWalk(0.4)(triangle, Graphs([(0, 1)], [0, 0]))
    with pytest.raises(ValueError, match="no labels"):
        RandomWalk(0.1, labels=True)(triangle)
    with pytest.raises(ValueError, match="labels is 'yes'"):
        RandomWalk(0.1, labels="yes")(triangle)
    with pytest.raises(ValueError, match="Some graphs are directed"):
        RandomWalk(0.1)(triangle, graphs(directed=True))
