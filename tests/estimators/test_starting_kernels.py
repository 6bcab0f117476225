import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from representer.estimators.starting_kernels import (
    FAMILIES,
    column_scales,
    for_frame,
    for_given,
    for_numbers,
    for_sparse,
)
from representer.estimators.table_encoding import TableEncoding
from representer.kernels import RBF, Linear, Matern


def test_scales_of_columns_are_robust(rng):
    X = np.column_stack([3.0 * rng.normal(size=500), rng.integers(0, 2, 500), np.ones(500), np.zeros(500)])
    X[0, 0] = 1e9
    X[:5, 3] = [1.0, 2.0, 3.0, 4.0, 5.0]
    found = column_scales(X)
    assert found[0] == pytest.approx(3.0, rel=0.15)
    assert found[1:3].tolist() == [0.5, 1.0]
    assert found[3] == pytest.approx(X[:, 3].std())


def test_scales_do_not_depend_on_the_order_of_rows(rng):
    """Sorted, the first thousand rows of a count have two values."""
    X = rng.poisson(2.0, size=(9000, 2)).astype(float)
    np.testing.assert_array_equal(column_scales(X[np.argsort(X[:, 0])]), column_scales(X))
    assert column_scales(X)[0] == pytest.approx(2.0 / 1.349)


def test_kernels_of_numbers_are_the_families_plus_a_linear_part(rng):
    X = rng.normal(size=(50, 3)) * [1.0, 10.0, 0.1]
    start, scales = for_numbers(X), column_scales(X) * np.sqrt(3.0)
    assert list(start.kernels) == list(FAMILIES)
    np.testing.assert_allclose(
        start.kernels["Matern-1/2"](X), Matern(scales, nu=0.5)(X) + 0.1 * Linear(scales)(X), rtol=1e-12
    )
    assert start.has_columns
    assert not for_numbers(X[:, :1]).has_columns


def test_ratios_of_length_scales_are_those_of_the_start_again(rng):
    X = rng.normal(size=(50, 2))
    start = for_numbers(X)
    known = start.kernels["RBF"].get_params()["left__length_scale"]
    moved = for_numbers(X).kernels["RBF"].set_params(left__length_scale=known * [2.0, 8.0])
    np.testing.assert_allclose(start.relative(moved, "RBF")["left__length_scale"], [2.0, 8.0])
    np.testing.assert_allclose(start.untied(moved, "RBF").get_params()["left__length_scale"], 4.0 * known)


def test_sparse_rows_have_one_length_scale(rng):
    X = sparse.random(40, 30, 0.2, format="csr", random_state=0)
    start = for_sparse(X)
    assert not start.has_columns
    spread = np.sqrt(X.toarray().var(axis=0).sum())
    assert start.kernels["RBF"].get_params()["left__length_scale"] == pytest.approx(spread)


def test_kernel_of_a_frame_is_a_product_of_sums():
    """(1 + k)(1 + w l), k on numbers and levels, l on texts; levels are columns that share a length scale."""
    texts = [f"x y z {chr(97 + i)}" for i in range(22)]
    frame = pd.DataFrame({"age": np.arange(22.0), "city": list("ab" * 11), "text": texts})
    encoding = TableEncoding.of(frame)
    rows = encoding.rows(frame)
    start = for_frame(rows, encoding)
    numbers = rows[["age", "city = a", "city = b"]].to_numpy()
    k = for_numbers(numbers, encoding).kernels["RBF"](numbers)
    np.testing.assert_allclose(start.kernels["RBF"](rows), (1.0 + k) * (1.0 + encoding.own["text"](rows)))
    assert start.groups.tolist() == [0, 1, 1]
    words = TableEncoding.of(frame[["text"]])
    assert list(for_frame(words.rows(frame), words).kernels) == ["sum of parts"]


def test_a_given_kernel_is_the_only_one(rng):
    X = rng.normal(size=(20, 2))
    start = for_given(RBF(), X, None)
    assert list(start.kernels) == ["RBF"]
    assert start.kernels["RBF"].length_scale == RBF().with_default_scales(X).length_scale
    assert for_given(RBF([1.0, 2.0]), X, None).has_columns
