import numpy as np

from representer.kernels import RBF, Bags, Categorical, Kendall, Mallows, Missing, Normalized, On, candidates

NAN = np.nan


def as_tuples(found):
    return {tuple(x) for x in found}


def test_rankings_of_few_items_are_all_there():
    known = Kendall().candidates([[1, 2, 3], [3, 1, 2]])
    assert len(known.every) == len(as_tuples(known.every)) == 6
    assert known.every[0].dtype == np.int64
    assert Kendall().candidates(np.random.default_rng(0).normal(size=(2, 9))).every is None


def test_neighbours_of_a_ranking_move_one_item():
    known = candidates.rankings(np.array([[1.0, 2.0, 3.0]]), True)
    expected = {(2, 1, 3), (1, 3, 2), (3, 1, 2), (2, 3, 1)}
    found = known.neighbours(np.array([1.0, 2.0, 3.0]))
    assert as_tuples(found) == expected
    assert len(found) == 4
    assert as_tuples(known.neighbours(np.array([10.0, 20.0, 30.0]))) == expected
    assert (1, 2, 3) in as_tuples(known.neighbours(np.array([1.0, NAN, 3.0])))  # completed
    assert (1, 2, 3) in as_tuples(known.neighbours(np.array([NAN, NAN, NAN])))


def test_categories():
    known = Categorical().candidates([["red", 1], ["blue", 2], ["red", 2]])
    assert as_tuples(known.every) == {("red", 1), ("red", 2), ("blue", 1), ("blue", 2)}
    assert as_tuples(known.neighbours(["red", 1])) == {("blue", 1), ("red", 2)}
    assert Categorical().candidates(["a", "b"]).every == ["a", "b"]
    assert Categorical().candidates(["a", "b"]).neighbours("a") == ["b"]
    rows = np.array([["a", "b"], ["c", "d"]], object)
    assert all(isinstance(x, np.ndarray) for x in Categorical().candidates(rows).every)


def test_many_combinations_are_not_listed(monkeypatch):
    monkeypatch.setattr(candidates, "MOST_CANDIDATES", 3)
    assert Categorical().candidates([["red", 1], ["blue", 2]]).every is None


def test_kernels_of_the_same_inputs_pass_it_on():
    table = [[1, 2, 3], [3, 1, 2]]
    for kernel in (Normalized(Kendall()), 2.0 * Mallows(), Kendall() + 1.0, RBF() * Kendall()):
        assert len(kernel.candidates(table).every) == 6
    for kernel in (RBF(), On(Kendall(), [0, 1]), Bags(Categorical()), Missing(Kendall())):
        assert kernel.candidates is None
