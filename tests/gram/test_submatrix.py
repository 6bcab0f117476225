from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from representer.gram.stored import Stored
from representer.gram.submatrix import ClassPairs, Submatrix, _width, precise_enough, shared_bytes
from representer.gram.tiled import Gram
from representer.kernels import RBF, Linear, Precomputed, Spectrum

WORDS = ["".join(letters) for letters in np.random.default_rng(0).choice(list("abc"), (60, 6))]
INPUTS = {"vectors": (RBF(1.5), np.random.default_rng(0).normal(size=(60, 3))), "words": (Spectrum(2), WORDS)}


def single(kernel, X):
    return Gram(kernel, X).astype(np.float32)


# ---- a growing and shrinking matrix ----


@given(st.sampled_from(sorted(INPUTS)), st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2**32 - 1)), max_size=8))
def test_values_are_always_those_of_the_index(kind, changes):
    """After any sequence of restarts, growth and shrinking; and no pair that is there is computed again."""
    gram, n = single(*INPUTS[kind]), 60
    K, most, part = gram.kernel(gram.X), 40, Submatrix(gram)
    part.restart(np.arange(7), most)
    for change, seed in changes:
        rng, before, known = np.random.default_rng(seed), gram.evaluations, len(part.index)
        if change == 0:
            part.restart(rng.permutation(n)[: rng.integers(1, most + 1)], most)
        elif change == 1:
            part.shrink(np.sort(rng.permutation(known)[: rng.integers(1, known + 1)]))
            assert gram.evaluations == before
        else:
            new = rng.permutation(np.setdiff1d(np.arange(n), part.index))[: rng.integers(0, 1 + known // 3)]
            if part.has_room_for(len(new)):
                part.grow(new)
                m = len(part.index)
                assert gram.evaluations - before == m * (m + 1) // 2 - known * (known + 1) // 2
        m = len(part.index)
        np.testing.assert_allclose(part.values[:m, :m], K[np.ix_(part.index, part.index)], atol=1e-6)
        assert part.values.nbytes <= part.peak <= 4 * most**2
        assert part.columns.tolist() == list(range(m))
        assert part.owned


def test_memory_that_the_system_does_not_promise():
    """The largest matrix has no place from the beginning, so each one has its own."""
    part = Submatrix(single(*INPUTS["vectors"]))
    part.restart(np.arange(5), 10**8)
    np.testing.assert_allclose(part.values[:, :5], RBF(1.5)(INPUTS["vectors"][1][:5]), atol=1e-6)


def test_a_stored_matrix_is_used_as_it_is():
    kernel, X = INPUTS["vectors"]
    values, index = kernel(X).astype(np.float32), np.r_[3:9, 20:31]
    part = Submatrix(Stored(Gram(kernel, X[index]), values, index))
    part.restart(np.arange(17), 17)
    assert part.values is values
    assert part.columns.tolist() == index.tolist()
    assert not part.owned
    assert part.peak == 0
    part.use(single(kernel, X[index]))
    assert not len(part.index)
    part.restart(np.arange(17), 17)
    np.testing.assert_allclose(part.values[:, :17], values[np.ix_(index, index)], atol=1e-6)


@pytest.mark.parametrize(("n", "most"), [(1, 1), (10, 10), (100, 120), (910, 2000), (8192, 16384), (16000, 16384)])
def test_room_for_more_inputs_is_within_the_memory(n, most):
    width = _width(n, most)
    assert n <= width <= 1.25 * n + 16
    assert n * width <= most**2
    assert width >= int(1.25 * n) or n * (width + 1) > most**2
    assert width % 1024 >= 16 or width == n


def test_inputs_that_float32_does_not_resolve_stay_float64(rng):
    """Far from the origin, next to the length scale; an error relative to the diagonal does not matter."""
    X = 1e4 + rng.normal(size=(50, 3))
    assert precise_enough(Gram(RBF(0.1), X)).dtype == np.float64
    assert precise_enough(Gram(Linear(), X)).dtype == np.float32
    assert precise_enough(Gram(RBF(2.0), X - 1e4)).dtype == np.float32


# ---- pairs of classes ----


def classes(rng, sizes, kernel=None, X=None):
    """The Gram matrix of inputs in any order, their order by classes, and where classes begin and end."""
    codes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    X = rng.normal(size=(len(codes), 9)) if X is None else X
    return Gram(kernel or RBF(2.0), X), np.argsort(codes, kind="stable"), np.r_[0, np.cumsum(sizes)]


@pytest.mark.parametrize("doubles", [False, True])
@pytest.mark.parametrize("sizes", [[5, 6, 4, 7, 5, 6], [40, 2, 3], [270, 1, 300, 290, 280, 260]])
def test_pairs_of_classes_are_dense_blocks(sizes, doubles, rng):
    """Of classes of any size, on several threads, in memory that is used again."""
    gram, order, edges = classes(rng, sizes)
    K, matrices = gram.kernel(gram.X[order]), ClassPairs(gram.take(order), edges, 2, doubles)
    pairs = list(combinations(range(len(sizes)), 2)) * 2

    def check(pair):
        a, b = pair
        index = np.r_[edges[a] : edges[a + 1], edges[b] : edges[b + 1]]
        with matrices.lent(a, b) as part:
            found = part.block(slice(None), slice(None))
            assert part.dtype == (np.float64 if doubles else np.float32)
            np.testing.assert_allclose(found, K[np.ix_(index, index)], atol=1e-14 if doubles else 2e-6)
            np.testing.assert_array_equal(found, found.T)
            np.testing.assert_allclose(part.gram.dense(), K[np.ix_(index, index)], atol=1e-14)
            return id(part.values)

    with ThreadPoolExecutor(4) as pool:  # more than matrices
        memory = set(pool.map(check, pairs))
    apart = len(sizes) == 6 and not doubles
    assert (matrices.whole is None) == apart
    assert doubles or len(memory) <= (2 if apart else 1)
    n = len(order)
    assert gram.evaluations >= n * (n + 1) // 2
    assert matrices.nbytes == (8 * n * n if doubles else shared_bytes(gram, np.array(sizes), 2)) <= 8 * n * n


def test_pairs_of_classes_compute_no_value_twice(rng):
    gram, order, edges = classes(rng, [20] * 10)
    matrices = ClassPairs(gram.take(order), edges, 2)
    error = gram.evaluations - 10 * 20 * 21 // 2  # measuring the rounding of float32
    for a, b in combinations(range(10), 2):
        with matrices.lent(a, b):
            pass
    assert gram.evaluations - error == 200 * 201 // 2
    assert matrices.nbytes == 4 * (10 * 20**2 + 2 * 40**2) < 4 * 200**2 / 5  # a fifth of the whole matrix


def test_pairs_of_classes_that_use_different_columns(rng):
    """No product needs columns in which one class is zero; values are those of all columns."""
    sizes, width = [130, 225, 135, 128, 131], 80
    codes = np.repeat(np.arange(5), sizes)
    X = rng.normal(1.0, 1.0, (len(codes), width)) * ((np.arange(width) // 16 - codes[:, None]) % 5 < 2)
    edges, K = np.r_[0, np.cumsum(sizes)], RBF(10.0)(X)
    matrices = ClassPairs(Gram(RBF(10.0), X), edges, 1)
    for a, b in combinations(range(5), 2):
        index = np.r_[edges[a] : edges[a + 1], edges[b] : edges[b + 1]]
        with matrices.lent(a, b) as part:
            np.testing.assert_allclose(part.values[: len(index), : len(index)], K[np.ix_(index, index)], atol=2e-6)


def test_inputs_that_cannot_be_taken_apart_have_the_whole_matrix(rng):
    K = Spectrum(2)(WORDS)
    matrices = ClassPairs(Gram(Precomputed(), K), np.arange(0, 61, 10), 1)
    np.testing.assert_allclose(matrices.whole, K, rtol=1e-6)
    assert matrices.nbytes == 4 * 60**2


def test_memory_is_given_back_and_filled_anew_after_an_error(rng, monkeypatch):
    gram, order, edges = classes(rng, [4] * 6)
    matrices, K = ClassPairs(gram.take(order), edges, 1), gram.kernel(gram.X[order[:8]])
    with monkeypatch.context() as patch:
        patch.setattr(matrices, "_fill", lambda *_: [][0])
        with pytest.raises(IndexError), matrices.lent(0, 1):
            pass
    for _ in range(2):  # would wait forever for memory that is not given back
        with pytest.raises(KeyError, match="a user's"), matrices.lent(0, 1) as part:
            raise KeyError("a user's", np.testing.assert_allclose(part.values[:8, :8], K, atol=2e-6))
