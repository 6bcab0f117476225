import numpy as np

from representer._loops.jit import loop
from representer._loops.simd.decaying_rows import add_matches, advance


@loop
def compiled(x, i, y, before, row, out):
    advance(x, i, y, before, row, 0.7)
    add_matches(x, i, y, before, out)


def test_vector_code_equals_its_plain_twin(rng):
    x, y, before = rng.integers(0, 3, 64), rng.integers(0, 3, 80), rng.normal(size=96)
    row, out = rng.normal(size=96), rng.normal(size=16)
    expected = row.copy(), out.copy()
    advance(x, 2, y, before, expected[0], 0.7)
    add_matches(x, 2, y, before, expected[1])
    assert np.abs(expected[0] - row).max() > 0.1
    compiled(x, 2, y, before, row, out)
    np.testing.assert_allclose(row, expected[0], rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(out, expected[1], rtol=1e-13, atol=1e-14)
