"""Textbook formulas for one pair of inputs, slow and plain, to compare the library with.

Where a formula is analytic it takes complex inputs and hyper-parameters, too, so that a derivative is
Im f(theta + ih) / h with h = 1e-30: the complex step, which loses no digits.
"""

from itertools import combinations

import mpmath
import numpy as np
from scipy import sparse

STEP = 1e-30


# ---- vectors ----


def squared_distance(x, y, length_scale=1.0):
    return np.sum(((x - y) / length_scale) ** 2)


def absolute(t):
    """|t|, continued to complex numbers."""
    return t * np.sign(np.real(t))


def power(s, exponent):
    """s^exponent with 0^exponent = 0."""
    return np.exp(exponent * np.log(s)) if s != 0 else 0.0 * s


def rbf(x, y, length_scale=1.0):
    return np.exp(-0.5 * squared_distance(x, y, length_scale))


def laplacian(x, y, length_scale=1.0):
    return np.exp(-np.sum(absolute(x - y) / length_scale))


def matern(x, y, length_scale=1.0, nu=1.5):
    s = squared_distance(x, y, length_scale)
    if nu == np.inf:
        return np.exp(-0.5 * s)
    r = np.sqrt(2.0 * nu * s)
    if nu == 0.5:
        return np.exp(-r)
    if nu == 1.5:
        return (1.0 + r) * np.exp(-r)
    if nu == 2.5:
        return (1.0 + r + r * r / 3.0) * np.exp(-r)
    return bessel(r, nu)


def bessel(r, nu):
    """2^(1 - nu) / Gamma(nu) r^nu K_nu(r), with so many digits that a complex step is not lost among them."""
    if r == 0:
        return 1.0 + 0.0 * r
    with mpmath.workdps(50):
        z = mpmath.mpmathify(complex(r) if np.iscomplexobj(r) else float(r))
        value = mpmath.mpf(2) ** (1 - nu) / mpmath.gamma(nu) * z**nu * mpmath.besselk(nu, z)
        return complex(value) if np.iscomplexobj(r) else float(value)


def rational_quadratic(x, y, length_scale=1.0, mixture=1.0):
    return np.exp(-mixture * np.log(1.0 + squared_distance(x, y, length_scale) / (2.0 * mixture)))


def periodic(x, y, length_scale=1.0, period=1.0):
    return np.exp(-2.0 * np.sum((np.sin(np.pi * (x - y) / period) / length_scale) ** 2))


def polyharmonic(x, y, power=3, length_scale=1.0):
    s = squared_distance(x, y, length_scale)
    sign = (-1.0) ** (power // 2 + 1)
    if s == 0:
        return 0.0
    return sign * np.sqrt(s) ** power * (1.0 if power % 2 else 0.5 * np.log(s))


def thin_plate(x, y, length_scale=1.0):
    return polyharmonic(x, y, 2, length_scale)


def multiquadric(x, y, length_scale=1.0):
    return -np.sqrt(1.0 + squared_distance(x, y, length_scale))


def linear(x, y, length_scale=1.0):
    return np.sum(x * y / np.asarray(length_scale) ** 2)


def polynomial(x, y, degree=3, offset=1.0, length_scale=1.0):
    value = 1.0
    for _ in range(degree):
        value = value * (offset + linear(x, y, length_scale))
    return value


def sigmoid(x, y, scale=1.0, offset=0.0):
    return np.tanh(scale * np.sum(x * y) + offset)


def norm(x):
    return np.sqrt(np.sum(x * x))


def cosine(x, y):
    return np.sum(x * y) / (norm(x) * norm(y)) if np.any(x) and np.any(y) else 0.0


def angle(x, y):
    """Kahan's formula, which keeps its digits at all angles; a right angle where there is none."""
    if not (np.any(x) and np.any(y)):
        return np.pi / 2
    x, y = x / norm(x), y / norm(y)
    return 2.0 * np.arctan(norm(x - y) / norm(x + y)) if np.any(x + y) else np.pi


def arc_cosine(x, y, order=1):
    theta, size = angle(x, y), norm(x) * norm(y)
    sin, cos = np.sin(theta), np.cos(theta)
    rest = np.pi - theta
    return size**order * [rest, sin + rest * cos, 3.0 * sin * cos + rest * (1.0 + 2.0 * cos**2)][order] / np.pi


def histogram_intersection(x, y):
    return np.sum(np.where(np.real(x) < np.real(y), x, y))


def chi2(x, y, length_scale=1.0):
    length_scale = np.broadcast_to(length_scale, np.shape(x))
    filled = (x + y) != 0
    x, y = x[filled], y[filled]
    return np.exp(-np.sum((x - y) ** 2 / ((x + y) * length_scale[filled])))


def tanimoto(x, y, packed=False):
    whole = np.sum(x * x) + np.sum(y * y) - np.sum(x * y)
    return np.sum(x * y) / whole if whole else 1.0


def min_max(x, y, packed=False):
    return np.minimum(x, y).sum() / np.maximum(x, y).sum() if np.any(x + y) else 1.0


def brownian(x, y, hurst=0.5):
    return 0.5 * (power(np.sum(x * x), hurst) + power(np.sum(y * y), hurst) - power(squared_distance(x, y), hurst))


# ---- sets and strings ----


def subsets(items):
    items = sorted(items)
    return [frozenset(chosen) for size in range(len(items) + 1) for chosen in combinations(items, size)]


def common_subsets(a, b):
    """The number of sets that are subsets of both, one by one."""
    return float(sum(part <= set(b) for part in subsets(a)))


def intersection(a, b):
    return float(sum(item in b for item in a))


def jaccard(a, b):
    return intersection(a, b) / len(set(a) | set(b)) if a or b else 1.0


def spectrum(s, t, k=3, weights=1.0, both_strands=False, compare=1.0):
    """Every substring of k letters, or of 1 to k with weights, counted in a dictionary."""
    if np.ndim(weights):
        return sum(w * spectrum(s, t, j + 1, 1.0, both_strands) for j, w in enumerate(weights))
    counts, sides = {}, [[s], [t]]
    if both_strands:
        sides = [[x, x[::-1].translate(str.maketrans("ACGT", "TGCA"))] for x in (s, t)]
    for word in (x[start : start + k] for x in sides[0] for start in range(len(x) - k + 1)):
        counts[word] = counts.get(word, 0) + 1
    return float(sum(counts.get(x[start : start + k], 0) for x in sides[1] for start in range(len(x) - k + 1)))


# ---- matrices and derivatives ----


def gram(k, X, Y=None):
    """The matrix k(x_i, y_j) by two loops."""
    return np.array([[k(x, y) for y in (X if Y is None else Y)] for x in X])


def complex_step(f, theta):
    """df / dtheta for a function of one number or of an array, in the shape of theta."""
    theta = np.asarray(theta, complex)
    gradient = np.empty(theta.shape)
    for index in np.ndindex(theta.shape):
        moved = theta.copy()
        moved[index] += STEP * 1j
        gradient[index] = np.imag(f(moved[()])) / STEP
    return gradient[()]


# ---- kernels as objects ----

FORMULAS = {
    "RBF": rbf,
    "Laplacian": laplacian,
    "Matern": matern,
    "RationalQuadratic": rational_quadratic,
    "Periodic": periodic,
    "Polyharmonic": polyharmonic,
    "ThinPlate": thin_plate,
    "Multiquadric": multiquadric,
    "Linear": linear,
    "Polynomial": polynomial,
    "Sigmoid": sigmoid,
    "Cosine": cosine,
    "ArcCosine": arc_cosine,
    "HistogramIntersection": histogram_intersection,
    "Chi2": chi2,
    "Brownian": brownian,
    "Tanimoto": tanimoto,
    "MinMax": min_max,
    "Intersection": intersection,
    "Subset": common_subsets,
    "Jaccard": jaccard,
    "Spectrum": spectrum,
    "Constant": lambda x, y, value: value,
}


def evaluate(kernel, x, y, **changes):
    """k(x, y) of a kernel object, nested to any depth; changes are hyper-parameters by their names in get_params."""
    kind = type(kernel).__name__
    own = kernel.get_params(deep=False) | {name: value for name, value in changes.items() if "__" not in name}

    def child(name, x, y):
        prefix = f"{name}__"
        inner = {key.removeprefix(prefix): value for key, value in changes.items() if key.startswith(prefix)}
        return evaluate(own[name], x, y, **inner)

    if kind in FORMULAS:
        numbers = {name: _number(value) for name, value in own.items()}
        return FORMULAS[kind](x, y, **numbers)
    if kind == "Sum":
        return child("left", x, y) + child("right", x, y)
    if kind == "Product":
        return child("left", x, y) * child("right", x, y)
    if kind == "Scaled":
        return own["factor"] * child("kernel", x, y)
    if kind == "Power":
        return np.prod([child("kernel", x, y)] * own["exponent"])
    if kind == "Exp":
        return np.exp(child("kernel", x, y))
    if kind == "PowerSeries":
        value = child("kernel", x, y)
        return sum(c * np.prod([value] * p) for p, c in enumerate(own["coefficients"]))
    if kind == "Normalized":
        size = child("kernel", x, x) * child("kernel", y, y)
        return child("kernel", x, y) / np.sqrt(size) if size != 0 else 0.0
    if kind == "Pairwise":
        return sum(child("kernel", x, z) * child("kernel", z, y) for z in own["Z"])
    if kind == "On":
        return child("kernel", *(np.asarray(row)[np.atleast_1d(own["columns"])] for row in (x, y)))
    if kind == "FeatureMap":
        return np.sum(own["function"](x[None]) * own["function"](y[None]))
    raise TypeError(f"no formula for {kind}")


def _number(value):
    if value is None:
        return 1.0
    return np.asarray(value) if isinstance(value, list | tuple) else value


def matrix(kernel, X, Y=None, **changes):
    """`gram` of a kernel object."""
    return gram(lambda x, y: evaluate(kernel, x, y, **changes), X, Y)


def contract(kernel, X, W, Y=None):
    """sum_ij W_ij dk(x_i, y_j) / dtheta by complex steps, for all hyper-parameters that `kernel.contract` names."""
    gradients = {}
    for name in kernel.contract(X, W, Y):
        value = kernel.get_params()[name]
        gradients[name] = complex_step(
            lambda theta, name=name: np.sum(W * matrix(kernel, X, Y, **{name: theta})), 1.0 if value is None else value
        )
    return gradients


def input_gradient(kernel, X, Y, W):
    """sum_j W_ij dk(x_i, y_j) / dx_i by complex steps."""
    return np.array(
        [
            complex_step(lambda z, w=w: sum(c * evaluate(kernel, z, y) for c, y in zip(w, Y, strict=True)), x)
            for x, w in zip(X, W, strict=True)
        ]
    )


# ---- checks that many files share ----

HYPER_PARAMETERS = {
    "length_scale",
    "mixture",
    "period",
    "offset",
    "scale",
    "hurst",
    "factor",
    "value",
    "coefficients",
}


def close(actual, expected, rtol):
    """Equal up to rtol of each entry, and a hundredth of that of the largest, where entries cancel."""
    expected = np.asarray(expected)
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=0.01 * rtol * np.abs(expected).max(initial=0.0))


def check_formulas(kernel, X, Y, low_dtype=np.float32):
    """Values in float64 and float32 (which come in low_dtype), and both gradients, equal those of the textbook."""
    W = np.random.default_rng(5).normal(size=(len(X), len(Y)))
    close(kernel(X, Y), matrix(kernel, X, Y), 1e-12)
    close(kernel(X), matrix(kernel, X), 1e-12)

    X32, Y32 = X.astype(np.float32), Y.astype(np.float32)
    low = kernel(X32, Y32)
    assert low.dtype == kernel.diag(X32).dtype == low_dtype
    size = np.abs(low).max()
    np.testing.assert_allclose(low, matrix(kernel, X32.astype(float), Y32.astype(float)), rtol=1e-5, atol=1e-5 * size)

    gradients = kernel.contract(X, W, Y)
    wanted = {name for name in kernel.get_params() if name.split("__")[-1] in HYPER_PARAMETERS}
    assert gradients.keys() == wanted, f"gradients by {gradients.keys()}; HYPER_PARAMETERS has {wanted}"
    for name, expected in contract(kernel, X, W, Y).items():
        close(gradients[name], expected, 1e-10)
    close(kernel.input_gradient(X, Y, W), input_gradient(kernel, X, Y, W), 1e-10)


def check_sparse(kernel, X, Y, low_dtype=np.float32):
    """Sparse rows of both kinds give the values and gradients of dense ones."""
    W = np.random.default_rng(6).normal(size=(len(X), len(Y)))
    for kind in (sparse.csr_matrix, sparse.csr_array):
        thin, other = kind(X), kind(Y)
        close(kernel(thin), kernel(X), 1e-12)
        close(kernel(thin, other), kernel(X, Y), 1e-12)
        close(kernel(thin, Y), kernel(X, Y), 1e-12)
        close(kernel(X, other), kernel(X, Y), 1e-12)
        close(kernel.diag(thin), kernel.diag(X), 1e-12)
        dense_gradients, gradients = kernel.contract(X, W, Y), kernel.contract(thin, W, other)
        assert gradients.keys() == dense_gradients.keys()
        for name, gradient in gradients.items():
            close(gradient, dense_gradients[name], 1e-10)
        close(kernel.input_gradient(thin, other, W), kernel.input_gradient(X, Y, W), 1e-10)
    low = kernel(sparse.csr_array(X.astype(np.float32)))
    assert low.dtype == low_dtype
    np.testing.assert_allclose(low, kernel(X), rtol=1e-5, atol=1e-5)
