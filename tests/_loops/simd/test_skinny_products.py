import numpy as np
import pytest
from each_case import each

from representer._loops.simd import skinny_products


def part_of(A, layout):
    """A as a part of a larger array, of rows or of columns, which the compiler sees as one type."""
    if layout == "columns":
        return part_of(A.T, "rows").T
    return np.concatenate([A, A[:, :1]], axis=1)[:, :-1] if layout == "rows" else np.repeat(A, 2, axis=0)[::2]


@each("dtype", [np.float32, np.float64])
@each("layout", ["rows", "columns", "apart"])
@each("shape", [(3, 5, 2), (4, 2, 1), (5, 7, 12), (8, 3, 24), (11, 20, 25), (6, 5, 50)])
def test_products_are_added(dtype, layout, shape, rng):
    """Also where rows are not a multiple of four, columns fill no group, and ``out`` is a part of an array."""
    n, m, columns = shape
    A = part_of(rng.normal(size=(n, m)).astype(dtype), layout)
    V, around = rng.normal(size=(m, columns)).astype(dtype), rng.normal(size=(n + 2, columns))
    expected = around.copy()
    expected[1:-1] += A.astype(float) @ V.astype(float)
    skinny_products.add_product(A, V, around[1:-1])
    np.testing.assert_allclose(around, expected, atol=60 * np.finfo(dtype).eps)


@pytest.mark.parametrize(("rows", "height", "width"), [(8, 4, 2), (8, 5, 3)])
def test_shapes_that_do_not_match_are_refused(rows, height, width):
    with pytest.raises(ValueError, match="shapes"):
        skinny_products.add_product(part_of(np.ones((rows, 5)), "rows"), np.ones((height, 2)), np.ones((rows, width)))


@pytest.mark.parametrize(("n", "head", "size"), [(5, 0, 8), (20, 3, 8), (16, 8, 8), (7, 9, 20), (1040, 5, 500)])
def test_symmetric_products_read_the_upper_triangle(n, head, size, rng):
    """And the squares on the diagonal; the parts of some runs add up to the whole."""
    A, V = rng.normal(size=(n, n)), rng.normal(size=(n, 13))
    A = A + A.T
    square = np.arange(n) >= head
    square = np.where(square, 1 + (np.arange(n) - head) // size, 0)
    read = np.where(square[:, None] <= square, A, np.nan)
    out = np.ones((3, n, 13))
    for first in range(3):
        skinny_products.add_symmetric(read, V, out[first], head, size, first, 3)
    np.testing.assert_allclose(out.sum(axis=0), 3.0 + A @ V, rtol=1e-11, atol=1e-10)


def test_entries_that_are_nowhere_contiguous_are_refused(rng):
    with pytest.raises(ValueError, match="contiguous"):
        skinny_products.add_product(rng.normal(size=(8, 8))[::2, ::2], np.ones((4, 2)), np.ones((4, 2)))
