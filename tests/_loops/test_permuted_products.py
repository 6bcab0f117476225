import numpy as np
from each_case import each

from representer._loops import permuted_products


@each("dtype", [np.float32, np.float64])
@each("n", [1, 2, 17, 60])
def test_inner_products(dtype, n, rng):
    K, L = rng.normal(size=(2, n, n))
    K, L = (K + K.T).astype(dtype), (L + L.T).astype(dtype)
    permutations = np.array([rng.permutation(n) for _ in range(5)], np.int32)
    out = np.full(5, np.nan)
    permuted_products.inner_products(K, L, permutations, out)
    for value, p in zip(out, permutations, strict=True):
        expected = sum(float(K[i, j]) * float(L[p[i], p[j]]) for i in range(n) for j in range(i))
        np.testing.assert_allclose(value, expected, atol=20 * n * np.finfo(dtype).eps)
