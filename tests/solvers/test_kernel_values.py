from itertools import combinations

import numpy as np
import pytest

from representer.kernels import RBF, Linear, Spectrum
from representer.problem import BoxProblem
from representer.solvers.kernel_values import PairMatrices, is_coarse, matrix_of, rounding_of


def problem_of(kernel, X, rows=None):
    n = len(X) if rows is None else len(rows)
    return BoxProblem(kernel, X, np.ones(n), np.zeros(n), np.ones(n), rows=rows)


def test_rounding_is_that_of_float32(rng):
    problem = problem_of(RBF(2.0), rng.normal(size=(300, 5)))
    assert 1e-9 < rounding_of(problem) < 1e-6
    assert not is_coarse(problem)
    problem.rounding = 1.0
    assert is_coarse(problem)  # what is known is not measured again


def test_inputs_that_float32_cannot_tell_apart_are_coarse(rng):
    """Points far from the origin, next to the length scale, lose digits in float32; the matrix is then from float64."""
    X = 1e4 + rng.normal(size=(50, 3))
    problem = problem_of(RBF(0.1), X)
    assert is_coarse(problem)
    np.testing.assert_allclose(matrix_of(problem), problem.kernel(X), atol=1e-7)
    assert not is_coarse(problem_of(Linear(), X))  # relative to the diagonal


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("sizes", [[5, 6, 4, 7, 5, 6], [40, 2, 3], [9, 9, 9], [270, 1, 300, 290, 280, 260]])
def test_matrices_of_pairs(sizes, exact, rng):
    """Of classes of any size, in memory that is used again; also where the whole matrix is kept."""
    codes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    order, edges = np.argsort(codes, kind="stable"), np.r_[0, np.cumsum(sizes)]
    X = rng.normal(size=(len(codes), 9))
    whole = problem_of(RBF(2.0), X, order)
    whole.rounding = 1.0 if exact else None
    matrices = PairMatrices(whole, edges, 2)
    assert matrices.bytes <= 4 * len(codes) ** 2
    assert (matrices.whole is None) == (len(sizes) == 6)
    for _ in range(2):
        for a, b in combinations(range(len(sizes)), 2):
            index = order[np.r_[edges[a] : edges[a + 1], edges[b] : edges[b + 1]]]
            problem = problem_of(whole.kernel, X, index)
            with matrices.lent_to(problem, a, b):
                columns = slice(problem.n) if problem.columns is None else problem.columns
                K = problem.matrix[columns][:, columns]
                assert K.dtype == np.float32
                np.testing.assert_allclose(K, whole.kernel(X[index]), atol=1e-7 if exact else 2e-6)
                np.testing.assert_array_equal(K, K.T)
            assert problem.matrix is None
            assert problem.columns is None


def test_pairs_of_classes_that_use_different_columns(rng):
    """No product needs columns in which one class is zero; values are those of all columns."""
    sizes, width = [130, 225, 135, 128, 131], 80
    codes, edges = np.repeat(np.arange(5), sizes), np.r_[0, np.cumsum(sizes)]
    X = rng.normal(1.0, 1.0, (len(codes), width)) * ((np.arange(width) // 16 - codes[:, None]) % 5 < 2)
    whole = problem_of(RBF(10.0), X)
    matrices = PairMatrices(whole, edges, 1)
    for a, b in combinations(range(5), 2):
        index = np.r_[edges[a] : edges[a + 1], edges[b] : edges[b + 1]]
        problem = problem_of(whole.kernel, X, index)
        assert whole.kernel.between(matrices.classes[a], matrices.classes[b])[0].values.shape[1] in (1, 16)
        with matrices.lent_to(problem, a, b):
            K = problem.matrix[: problem.n, : problem.n]
            np.testing.assert_allclose(K, whole.kernel(X[index]), atol=2e-6)


def test_matrices_of_small_pairs_are_float64(rng):
    X, edges = rng.normal(size=(30, 3)), np.array([0, 8, 13, 30])
    order = rng.permutation(30)
    matrices = PairMatrices(problem_of(RBF(2.0), X, order), edges, 2, few=True)
    for a, b in combinations(range(3), 2):
        index = order[np.r_[edges[a] : edges[a + 1], edges[b] : edges[b + 1]]]
        problem = problem_of(RBF(2.0), X, index)
        with matrices.lent_to(problem, a, b):
            places = np.ix_(problem.columns, problem.columns)
            np.testing.assert_allclose(problem.matrix[places], RBF(2.0)(X[index]), rtol=1e-14)
        assert problem.matrix is None
        assert problem.columns is None
    assert matrices.bytes == 8 * 30**2 + 2 * 12 * 25**2


def test_ten_classes_take_a_fifth_of_the_whole_matrix(rng):
    matrices = PairMatrices(problem_of(RBF(1.0), rng.normal(size=(200, 2))), np.arange(0, 201, 20), 2)
    assert matrices.bytes == 4 * (10 * 20**2 + 2 * 40**2)
    assert 4 * 200**2 / matrices.bytes > 5


def test_inputs_that_cannot_be_taken_apart_have_the_whole_matrix(rng):
    words = ["".join(rng.choice(list("ab"), 6)) for _ in range(24)]
    matrices = PairMatrices(problem_of(Spectrum(2), words), np.arange(0, 25, 4), 1)
    np.testing.assert_allclose(matrices.whole, Spectrum(2)(words), rtol=1e-6)
    assert matrices.bytes == 4 * 24**2


def test_memory_that_was_not_filled_is_filled_anew(rng, monkeypatch):
    X = rng.normal(size=(24, 2))
    matrices, problem = PairMatrices(problem_of(RBF(), X), np.arange(0, 25, 4), 1), problem_of(RBF(), X, np.arange(8))
    with monkeypatch.context() as patch:
        patch.setattr(matrices, "_fill", lambda *_: [][0])
        with pytest.raises(IndexError), matrices.lent_to(problem, 0, 1):
            pass
    with matrices.lent_to(problem, 0, 1):
        np.testing.assert_allclose(problem.matrix[:8, :8], RBF()(X[:8]), atol=2e-6)


def test_memory_is_given_back_after_an_error(rng):
    X = rng.normal(size=(24, 2))
    matrices = PairMatrices(problem_of(RBF(), X), np.arange(0, 25, 4), 1)
    for _ in range(3):
        with (
            pytest.raises(KeyError, match="a user's"),
            matrices.lent_to(problem_of(RBF(), X, np.arange(8)), 0, 1),
        ):
            raise KeyError("a user's")
    assert matrices.free.qsize() == 1
