import numpy as np
import pytest
from each_case import each

from representer import herding, mean_embedding
from representer.kernels import RBF, Laplacian, Linear, Precomputed, Sigmoid, Spectrum


def words(rng, n):
    return ["".join(rng.choice(list("ACG"), size)) for size in rng.integers(2, 9, n)]


CASES = {
    "vectors": (RBF(1.5), lambda rng: rng.normal(size=(40, 2))),
    "uneven diagonal": (RBF(1.0) * (Linear() + 1.0) + Laplacian(2.0), lambda rng: rng.normal(size=(40, 2))),
    "float32": (RBF(1.5), lambda rng: rng.normal(size=(40, 2)).astype(np.float32)),
    "strings": (Spectrum(2), lambda rng: words(rng, 40)),
}


@each("case", CASES)
@each("weighted", [False, True])
def test_each_step_is_the_best_of_all_inputs(case, weighted, rng):
    kernel, draw = CASES[case]
    X = draw(rng)
    weights = rng.integers(0, 4, 40) if weighted else None
    herd = herding(kernel, X, 12, weights=weights)
    whole, K = mean_embedding(kernel, X, weights), kernel(X).astype(float)
    eps = np.finfo(K.dtype if case != "float32" else np.float32).eps
    for t in range(12):
        errors = []
        for i in range(40):
            coef = -whole.coef.astype(float)
            np.add.at(coef, [*herd.indices[:t], i], 1.0 / (t + 1))
            errors.append(coef @ K @ coef)
        assert errors[herd.indices[t]] <= min(errors) + 20 * eps * K.max()
        np.testing.assert_allclose(herd.errors[t] ** 2, errors[herd.indices[t]], atol=20 * eps * K.max())
    assert herd.function.kernel == whole.kernel
    distance = herd.function.distance(whole)
    np.testing.assert_allclose(distance**2, herd.errors[-1] ** 2, atol=20 * eps * K.max())


def test_the_error_falls_faster_than_that_of_random_samples(rng):
    """About as 1 / t, and not as 1 / sqrt(t)."""
    X = rng.normal(size=(2000, 2))
    herd = herding(RBF(1.0), X, 200)
    t = np.arange(1, 201)
    slope = np.polyfit(np.log(t[9:]), np.log(herd.errors[9:]), 1)[0]
    assert slope < -0.8
    whole = mean_embedding(RBF(1.0), X)
    random = [whole.distance(mean_embedding(RBF(1.0), X[rng.permutation(2000)[:200]])) for _ in range(5)]
    assert herd.errors[-1] < 0.3 * min(random)


def test_gram_matrix_and_length_scale(rng):
    X = rng.normal(size=(30, 2))
    herd = herding("rbf", X, 5)
    assert herd.function.kernel == RBF().with_default_scales(X)
    given = herding(Precomputed(), herd.function.kernel(X), 5)
    np.testing.assert_array_equal(given.indices, herd.indices)
    np.testing.assert_allclose(given.function.norm(), herd.function.norm())


@pytest.mark.parametrize(
    ("kernel", "X", "n_points", "weights", "message"),
    [
        (RBF(), np.eye(3), 0, None, "n_points"),
        (Sigmoid(), np.eye(3), 2, None, "not positive semidefinite"),
        ("rfb", np.eye(3), 2, None, "rfb"),
        (RBF(), np.full((3, 1), np.nan), 2, None, "NaN"),
        (RBF(), np.eye(3), 2, [1.0, -1.0, 1.0], "(?i)negative"),
        (RBF(), np.eye(3), 2, np.zeros(3), "zero"),
    ],
)
def test_bad_input_is_named(kernel, X, n_points, weights, message):
    with pytest.raises(ValueError, match=message):
        herding(kernel, X, n_points, weights=weights)
