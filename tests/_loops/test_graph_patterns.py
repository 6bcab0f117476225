from collections import Counter

import numpy as np
from scipy.sparse.csgraph import shortest_path

from representer._loops import graph_patterns
from representer.kernels import Graphs

NONE = np.empty(0, np.uint64)


def test_new_labels_stand_for_a_node_and_its_neighbours():
    """A path of five nodes: the ends are alike, then their neighbours, and the middle."""
    path = Graphs([(0, 1), (1, 2), (2, 3), (3, 4)], [0] * 5)
    labels = graph_patterns.refine(np.ones(5, np.uint64), path.indptr, path.indices, NONE)
    assert labels[0] == labels[4] != labels[1] == labels[2] == labels[3]
    labels = graph_patterns.refine(labels, path.indptr, path.indices, NONE)
    assert labels[1] == labels[3] != labels[2]
    bonds = np.array([1, 1, 2, 2, 1, 1, 2, 2], np.uint64)
    labels = graph_patterns.refine(np.ones(5, np.uint64), path.indptr, path.indices, bonds)
    assert labels[0] != labels[4]
    assert labels[1] == labels[2] == labels[3]


def test_distances_of_all_pairs(rng):
    """Against scipy, with parts that are not connected, more than 32 different features, and isolated nodes."""
    sizes = [40, 1, 0, 12]
    owner = np.repeat(range(4), sizes)
    first = np.cumsum([0, *sizes])
    edges = [first[g] + rng.integers(0, sizes[g], (sizes[g] + 5, 2)) for g in (0, 3)]
    graphs = Graphs(np.concatenate(edges), owner, rng.integers(0, 9, len(owner)))
    owners, keys, amounts, sources, targets = graph_patterns.distances(
        graphs.node_labels, graphs.starts, graphs.indptr, graphs.indices
    )
    found, expected = Counter(), Counter()
    examples = dict(zip(keys.tolist(), zip(sources, targets, strict=True), strict=True))
    steps = {g: shortest_path(graphs.adjacency(g), unweighted=True) for g in range(4)}

    def feature(s, t):
        g = owner[s]
        return (*graphs.node_labels[[s, t]].tolist(), int(steps[g][s - first[g], t - first[g]]))

    for g, key, amount in zip(owners, keys.tolist(), amounts, strict=True):
        found[int(g), *feature(*examples[key])] += amount
    for g in range(4):
        for s, t in np.argwhere(np.isfinite(steps[g])):
            if s != t:
                expected[g, *feature(first[g] + s, first[g] + t)] += 1
    assert found == expected
    assert len(found) > 64
