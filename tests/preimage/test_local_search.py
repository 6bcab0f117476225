from itertools import combinations, permutations, product

import numpy as np
import pytest
from scipy import sparse

from representer import Function, mean_embedding, preimage
from representer.kernels import (
    RBF,
    Callable,
    Categorical,
    Intersection,
    Jaccard,
    Kendall,
    Mallows,
    Normalized,
    Spectrum,
    Subset,
)
from representer.preimage import local_search
from representer.preimage.local_search import search
from representer.preimage.target import Target


def mean(kernel, X):
    return Function(kernel, X, np.full(len(X), 1.0 / len(X)))


def kendall(x, y):
    """Agreeing less disagreeing pairs, as a share of all pairs, for items listed by rank."""
    x, y = list(x), list(y)
    pairs = list(combinations(sorted(x), 2))
    return sum(1 if (x.index(i) < x.index(j)) == (y.index(i) < y.index(j)) else -1 for i, j in pairs) / len(pairs)


def all_strings(alphabet, longest):
    return ["".join(letters) for n in range(longest + 1) for letters in product(alphabet, repeat=n)]


@pytest.mark.parametrize("kernel", [Spectrum(2), Normalized(Spectrum(1) + Spectrum(2))], ids=repr)
def test_best_of_all_short_strings(kernel, rng):
    """Local search against all 2^0 + ... + 2^7 strings of two letters; at most one of ten may miss the best."""
    every = all_strings("ab", 7)
    missed = 0
    for _ in range(10):
        X = ["".join(rng.choice(["a", "b"], size)) for size in rng.integers(2, 6, 5)]
        target = Target(mean(kernel, X))
        wanted = target.squared_distances(every, np.zeros(len(every), int)).min()
        found = search(target)
        missed += target.squared_distances(found, np.zeros(1, int))[0] > wanted + 1e-9
    assert missed <= 1


@pytest.mark.parametrize("kernel", [Jaccard(), Intersection(), Subset()], ids=repr)
def test_best_of_all_sets(kernel, rng):
    every = [set(c) for n in range(6) for c in combinations(range(5), n)]
    for _ in range(10):
        X = [set(rng.choice(5, size, replace=False).tolist()) for size in rng.integers(1, 5, 6)]
        target = Target(mean(kernel, [*X, set(range(5))]))
        wanted = target.squared_distances(every, np.zeros(len(every), int)).min()
        assert target.squared_distances(search(target), np.zeros(1, int))[0] == pytest.approx(wanted, abs=1e-9)


def test_best_of_all_rankings(rng):
    """The mean ranking under Kendall's kernel is Kemeny's consensus."""
    every = list(permutations(range(5)))
    kernel = Callable(kendall, pairs=True)
    for _ in range(3):
        X = [tuple(rng.permutation(5).tolist()) for _ in range(4)]
        target = Target(mean(kernel, X))
        wanted = target.squared_distances(every, np.zeros(len(every), int)).min()
        assert target.squared_distances(search(target), np.zeros(1, int))[0] == pytest.approx(wanted, abs=1e-9)


def test_intersection_mean_is_the_majority(rng):
    """For k = |A & B| the distance is that of indicator vectors, so the pre-image of a mean is the majority vote."""
    X = [set(np.flatnonzero(rng.uniform(size=12) < 0.5).tolist()) for _ in range(9)]
    majority = {i for i in range(12) if sum(i in x for x in X) >= 5}
    assert search(Target(mean(Intersection(), X))) == [majority]


def test_own_neighbours_of_graphs():
    """Graphs as frozen sets of edges inside a tuple with the number of nodes: an input type that nothing knows."""

    def edges(g, h):
        return float(len(g[1] & h[1]))

    def neighbours(g):
        every = [frozenset(pair) for pair in combinations(range(g[0]), 2)]
        return [(g[0], g[1] ^ {edge}) for edge in every]

    path, star = [(0, 1), (1, 2), (2, 3)], [(0, 1), (0, 2), (0, 3)]
    X = [(4, frozenset(map(frozenset, edges))) for edges in (path, star, [(0, 1), (2, 3), (0, 3)])]
    (found,) = search(Target(mean(Callable(edges, pairs=True), X)), neighbours=neighbours)
    assert found == (4, frozenset(map(frozenset, [(0, 1), (2, 3), (0, 3)])))


def test_rows_of_an_array():
    X = np.array([[0, 1, 2], [1, 0, 2], [0, 2, 1]])
    kernel = Callable(lambda A, B: A @ B.T)
    found = search(Target(mean(kernel, X)))
    np.testing.assert_array_equal(found, [[0, 1, 2]])


def test_one_round_is_one_change():
    target = Target(mean(Spectrum(1), ["aaaa", "bbbb"]))
    (once,) = search(target, max_iter=1, n_starts=1)
    assert sorted([once.count("a"), once.count("b")]) in ([1, 3], [1, 4], [0, 3])
    (many,) = search(target, n_starts=1)
    assert (many.count("a"), many.count("b")) == (2, 2)


@pytest.mark.parametrize("answer", ["abc", None])
def test_neighbours_must_be_a_list(answer):
    with pytest.raises(TypeError, match=r"for 'ab'; it must return a list"):
        search(Target(mean(Spectrum(1), ["ab"])), neighbours=lambda x: answer)


def test_mutable_objects_are_not_changed():
    X = [[2, 1, 0], [1, 2, 0]]
    search(Target(mean(Callable(kendall, pairs=True), X)))
    assert X == [[2, 1, 0], [1, 2, 0]]


@pytest.mark.parametrize(
    ("kernel", "X", "message"),
    [
        (RBF(), np.eye(3) * [1.0, 2.0, 3.0], r"pass neighbours="),
        (RBF(), sparse.csr_array(np.eye(3)), r"csr_array cannot be searched"),
        (Callable(lambda x, y: 1.0, pairs=True), [(1, 2), (2, 3)], r"rankings, categories and graphs"),
    ],
)
def test_errors_say_what_to_do(kernel, X, message):
    with pytest.raises(TypeError, match=message):
        search(Target(Function(kernel, X, np.ones(len(X) if isinstance(X, list) else X.shape[0]))))


BALLOTS = np.array([[1, 2, 3, 4], [1, 3, 2, 4], [2, 1, 3, 4], [1, 2, 4, 3], [4, 3, 2, 1]])


def all_rankings(p):
    return np.array(list(permutations(range(1, p + 1))))


@pytest.mark.parametrize("kernel", [Kendall(), 0.5 * Mallows(0.4), Normalized(Kendall())])
def test_the_best_ranking_of_all(kernel):
    f = mean_embedding(kernel, BALLOTS)
    found = preimage(f)
    every = all_rankings(4)
    squares = f.norm() ** 2 - 2.0 * f(every) + kernel.diag(every)
    assert found.method == "search"
    assert found.distance == pytest.approx(np.sqrt(squares.min()))
    assert f(found.x[None])[0] == pytest.approx(f(every[squares.argmin()][None])[0])
    assert found.distance <= found.nearest_distance


def test_rankings_of_many_items_are_searched():
    rng = np.random.default_rng(0)
    truth = rng.permutation(10) + 1.0
    X = truth + rng.normal(size=(30, 10)) * 2.0
    rounds = []
    found = preimage(mean_embedding(Kendall(), X), progress=lambda *now: rounds.append(now))
    assert found.distance < found.nearest_distance
    assert np.array_equal(np.sort(found.x), np.arange(1, 11))
    assert Kendall()(found.x[None], truth[None])[0, 0] > 0.9
    assert [number for number, _, _ in rounds] == list(range(1, len(rounds) + 1))
    assert rounds[-1][1] == pytest.approx(found.distance)
    stopped = preimage(mean_embedding(Kendall(), X), progress=lambda number, *_: number == 1)
    assert found.distance < stopped.distance < stopped.nearest_distance


def test_categories_are_mixed():
    X = [["red", "small", "a"], ["red", "large", "b"], ["blue", "small", "b"]]
    found = preimage(mean_embedding(Categorical(3.0), X))
    assert found.x == ["red", "small", "b"]  # the majority of each column, which no input has
    assert found.distance < found.nearest_distance
    assert preimage(mean_embedding(Categorical(), ["u", "v", "v"])).x == "v"


def test_progress_where_all_are_tried(monkeypatch):
    monkeypatch.setattr(local_search, "ENUMERATED", 6)
    rounds = []
    found = preimage(mean_embedding(Kendall(), BALLOTS), progress=lambda *now: rounds.append(now))
    assert [(number, tried) for number, _, tried in rounds] == [(1, 6), (2, 12), (3, 18), (4, 24)]
    assert rounds[-1][1] == pytest.approx(found.distance)
    rounds = []
    preimage(mean_embedding(Kendall(), BALLOTS), progress=lambda *now: rounds.append(now) or len(rounds) == 2)
    assert len(rounds) == 2


def test_progress_is_a_function():
    with pytest.raises(TypeError, match="progress is True; pass a function of three numbers"):
        preimage(mean_embedding(Kendall(), BALLOTS), progress=True)
