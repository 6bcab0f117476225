import numpy as np
import pytest

from representer._loops import narrow


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", ["rows", "columns", "strided"])
@pytest.mark.parametrize("shape", [(4, 1, 1), (5, 7, 12), (8, 3, 24), (11, 20, 25), (6, 5, 50)])
def test_products_are_added(dtype, layout, shape, rng):
    """Also where rows are not a multiple of four, columns fill no group, and ``out`` is a part of an array."""
    n, m, columns = shape
    A = rng.normal(size=(n, m)).astype(dtype)
    A = {"rows": A, "columns": np.asfortranarray(A), "strided": np.repeat(np.repeat(A, 2, 0), 3, 1)[::2, ::3]}[layout]
    V, around = rng.normal(size=(m, columns)).astype(dtype), rng.normal(size=(n + 2, columns + 2))
    expected = around.copy()
    expected[1:-1, 1:-1] += A.astype(float) @ V.astype(float)
    narrow.add_product(A, V, around[1:-1, 1:-1])
    np.testing.assert_allclose(around, expected, atol=60 * np.finfo(dtype).eps)


@pytest.mark.parametrize(("rows", "height", "width"), [(3, 5, 2), (8, 4, 2), (8, 5, 3)])
def test_shapes_that_do_not_match_are_refused(rows, height, width):
    with pytest.raises(ValueError, match="shapes"):
        narrow.add_product(np.ones((rows, 5)), np.ones((height, 2)), np.ones((rows, width)))
