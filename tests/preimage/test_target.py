from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from each_case import each
from preimage_cases import NESTED, RADIAL, inputs, random_function
from scipy import sparse

from representer import Function, preimage
from representer.kernels import (
    RBF,
    Callable,
    Characters,
    Linear,
    Normalized,
    On,
    Periodic,
    Precomputed,
    Sigmoid,
    Spectrum,
)
from representer.preimage.target import Target, dense_rows, differing, strips


def naive_square(function, output, x):
    """||f - k(x, .)||^2 = a' K a for the coefficients of the difference."""
    K = function.kernel(np.concatenate([function.X, x[None]]))
    a = np.append(function.coef[:, output], -1.0)
    return a @ K @ a


@pytest.mark.parametrize("kernel", [RBF(1.5), NESTED["product"], Linear()], ids=repr)
def test_distances_equal_norms_of_differences(kernel, rng):
    f = random_function(kernel, rng)
    target, Z, numbers = Target(f), rng.normal(size=(8, 3)), np.array([0, 5, 1, 1, 2, 3, 4, 0])
    wanted = [naive_square(f, o, z) for o, z in zip(numbers, Z, strict=True)]
    np.testing.assert_allclose(target.squared_distances(Z, numbers), wanted, rtol=1e-10)
    np.testing.assert_allclose(target.with_gradients(Z, numbers)[0], wanted, rtol=1e-10)
    every = [[naive_square(f, o, x) for x in f.X] for o in range(6)]
    np.testing.assert_allclose(target.to_training(), every, rtol=1e-9, atol=1e-12)


@each("kernel", [*RADIAL.values(), *NESTED.values(), Linear()])
def test_gradients_are_derivatives(kernel, rng):
    target = Target(random_function(kernel, rng))
    Z, numbers, step = rng.normal(size=(5, 3)), np.arange(5), 1e-5
    gradients = target.with_gradients(Z, numbers)[1]
    for f in range(3):
        shift = step * np.eye(3)[f]
        difference = target.squared_distances(Z + shift, numbers) - target.squared_distances(Z - shift, numbers)
        np.testing.assert_allclose(gradients[:, f], difference / (2 * step), rtol=1e-5, atol=1e-7)


def test_distance_ignores_the_constant(rng):
    f = random_function(RBF(), rng)
    Z = rng.normal(size=(6, 3))
    with_constant = Target(f + 3.0).squared_distances(Z, np.arange(6))
    np.testing.assert_array_equal(with_constant, Target(f).squared_distances(Z, np.arange(6)))


def test_nearest_are_sorted_and_the_first_of_equals(rng):
    X = np.array([[0.0], [3.0], [1.0], [1.0], [2.0]])
    target = Target(Function(RBF(), X, np.eye(5)[:, [0, 3]]))
    np.testing.assert_array_equal(target.nearest(3), [[0, 2, 3], [2, 3, 0]])
    np.testing.assert_array_equal(target.nearest(), [[0], [2]])
    assert target.nearest(99).shape == (2, 5)


def test_many_functions_are_the_same_as_one_by_one(rng):
    f = Function(RBF(), rng.normal(size=(20, 3)), rng.normal(size=(20, 700)))
    target, Z = Target(f), rng.normal(size=(700, 3))
    together = target.squared_distances(Z, np.arange(700))
    for o in (0, 63, 64, 699):
        assert together[o] == pytest.approx(
            Target(f[o]).squared_distances(Z[o : o + 1], np.zeros(1, int))[0], rel=1e-12
        )
    np.testing.assert_array_equal(target.nearest()[:, 0], target.to_training().argmin(axis=1))


def test_float32_stays_near_float64(rng):
    X = inputs()
    coef = rng.normal(size=(60, 4))
    single, double = Target(Function(RBF(), X.astype(np.float32), coef)), Target(Function(RBF(), X, coef))
    Z = rng.normal(size=(4, 3)).astype(np.float32)
    np.testing.assert_allclose(
        single.squared_distances(Z, np.arange(4)), double.squared_distances(Z, np.arange(4)), rtol=1e-5
    )


def test_what_kernels_allow(rng):
    X, names = inputs(), ["banana", "apple"]
    assert Target(Function(3.0 * (2.0 * RBF()), X, np.ones(60))).plain == (RBF(), 6.0)
    assert Target(Function(RBF(), X, np.ones(60))).radial
    assert not Target(Function(Periodic(), X, np.ones(60))).radial
    assert not Target(Function(Spectrum(2), names, np.ones(2))).has_gradient
    assert not Target(Function(Spectrum(2), names, np.ones(2))).on_rows
    assert Target(Function(On(RBF(), [0]), X, np.ones(60))).has_gradient
    table = pd.DataFrame(X, columns=list("abc"))
    assert not Target(Function(On(RBF(), ["a"]), table, np.ones(60))).has_gradient
    assert Target(Function(RBF(), table, np.ones(60))).has_gradient
    assert Target(Function(RBF(), sparse.csr_array(X), np.ones(60))).on_rows
    assert Target(Function(2.0 * Precomputed(), np.eye(2), np.ones(2))).precomputed
    pairs = Callable(lambda x, y: float(len(x & y)), pairs=True)
    target = Target(Function(pairs, [{1}, {1, 2}], np.ones(2)))
    assert isinstance(target.X, list)
    assert not target.on_rows


def test_indefinite_kernel_is_refused():
    with pytest.raises(ValueError, match=r"a pre-image in its space does not exist"):
        Target(Function(Sigmoid(), inputs(), np.ones(60)))


def test_strips_cover_all_rows_in_order():
    found = strips(1000, lambda rows: (rows.start, rows.stop), None)
    assert found[0][0] == 0
    assert found[-1][1] == 1000
    assert all(left[1] == right[0] for left, right in pairwise(found))


def test_dense_rows():
    X = np.arange(6).reshape(3, 2)
    np.testing.assert_array_equal(dense_rows(sparse.csr_array(X), [2, 0]), [[4.0, 5.0], [0.0, 1.0]])
    assert dense_rows(X, [0]).dtype == np.float64
    assert dense_rows(X.astype(np.float32), [0]).dtype == np.float32


@pytest.mark.parametrize(
    "kernel",
    [
        Spectrum(3),
        2.0 * Spectrum(2, both_strands=True),
        Spectrum(3, weights=[1.0, 0.5, 2.0]) + Spectrum(1),
        Normalized(Spectrum(3, weights=[0.1, 0.5, 2.0])),
        Characters((2, 3), lowercase=False, weights=[0.5, 2.0]),
        Normalized(Characters(3, idf=True, lowercase=False)).with_default_scales(["ACGT", "TTACG"]),
    ],
    ids=repr,
)
def test_edited_strings_are_scored_by_what_differs(kernel, rng):
    x, edited = "ACGTTACGA", ["ACGTTACGA"[:i] + "T" + "ACGTTACGA"[i + j :] for i in range(10) for j in range(2)]
    target = Target(Function(kernel, ["ACGT", "TTACG", "GGGACGT"], rng.normal(size=(3, 2))))
    edited += ["", "A", "CAGTTACGA", "TTTTTTT", "ACGTTACGAACGTTACGA"]
    for f in range(2):
        found = target.edited_distances(x, edited, f)
        np.testing.assert_allclose(found, target.squared_distances(edited, np.full(len(edited), f)), atol=1e-12)
    assert target.edited_distances("", ["A", "ACG"], 0).shape == (2,)
    assert max(map(len, differing(x, "ACGTTTACGA", target.window))) <= 2 * target.window
    assert Target(Function(Normalized(kernel) + kernel, ["ACGT"], [1.0])).window is None


def test_small_letters_depend_on_what_follows():
    """A capital sigma becomes one of two small letters."""
    found = preimage(Function(Characters(2), ["ΑΣΑ", "ΑΣ"], [0.5, 0.5]), "search")
    assert Target(Function(Characters(2), ["ΑΣΑ"], [1.0])).window is None
    f = Function(Characters(2), ["ΑΣΑ", "ΑΣ"], [0.5, 0.5])
    square = f.norm() ** 2 - 2.0 * f([found.x])[0] + Characters(2).diag([found.x])[0]
    assert found.distance == pytest.approx(np.sqrt(square))


def test_stretches_that_differ():
    assert differing("abcdefgh", "abcXefgh", 3) == ("bcdef", "bcXef")
    assert differing("aaaa", "aaa", 2) == ("aa", "a")
    assert differing("ab", "ab", 1) == ("", "")
