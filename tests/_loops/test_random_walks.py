import numpy as np

from representer._loops.random_walks import by_eigenvalues, product_graph, total_walks


def test_sums_over_eigenvalues():
    rng = np.random.default_rng(0)
    a, b, starts, others = rng.random((5, 2)), rng.random((4, 2)), np.array([0, 2, 5]), np.array([0, 1, 4])
    values, weights = np.ascontiguousarray(b.T)
    tile, slopes = np.empty((2, 2)), np.empty((2, 2))
    by_eigenvalues(a, starts, values, weights, others, 0.5, False, tile)
    times = np.stack([a[:, 0], a[:, 0] * a[:, 1]], axis=1)
    by_eigenvalues(times, starts, values, weights * values, others, 0.5, True, slopes)
    for i in range(2):
        for j in range(2):
            s, u = a[starts[i] : starts[i + 1]].T
            t, v = b[others[j] : others[j + 1]].T
            st = np.outer(s, t)
            assert np.isclose(tile[i, j], u @ (1 / (1 - 0.5 * st)) @ v)
            assert np.isclose(slopes[i, j], u @ (st / (1 - 0.5 * st) ** 2) @ v)


def test_product_of_two_edges():
    edge = np.array([0, 2]), np.array([0, 1, 2]), np.array([1, 0], np.int32)
    labels, bonds = np.array([1, 2], np.uint64), np.array([7, 7], np.uint64)
    pointers, columns = product_graph(*edge, labels, bonds, 0, *edge, labels, bonds, 0)
    assert pointers.tolist() == [0, 1, 2]
    assert columns.tolist() == [1, 0]
    assert np.allclose(total_walks(pointers, columns, 0.5, 1e-15), (2 / (1 - 0.5), 2 / (1 - 0.5) ** 2))
