import numpy as np
import pandas as pd
import pytest
from each_case import each
from scipy import sparse

from representer.kernels import (
    RBF,
    ArcCosine,
    Brownian,
    Chi2,
    Constant,
    Cosine,
    HistogramIntersection,
    Laplacian,
    Linear,
    Matern,
    Normalized,
    Periodic,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    Sigmoid,
    Spectrum,
    Subset,
    checks,
)

ON_VECTORS = [
    RBF(),
    Laplacian(),
    Matern(),
    RationalQuadratic(),
    Periodic(),
    Linear(),
    Polynomial(),
    Sigmoid(),
    Cosine(),
    ArcCosine(),
    HistogramIntersection(),
    Chi2(),
    Brownian(),
]
EVERY = [*ON_VECTORS, Normalized(2.0 * RBF() + Linear())]
VECTOR_KERNELS = each("kernel", EVERY)
GOOD = np.ones((3, 2))


def name_of(kernel):
    return "RBF" if isinstance(kernel, Normalized) else type(kernel).__name__


def with_entry(value):
    X = np.ones((3, 2))
    X[1, 0] = value
    return X


@VECTOR_KERNELS
def test_not_finite(kernel):
    message = r"X has 1 entries that are NaN or infinite, the first at \(1, 0\); remove or impute"
    for value, dtype in ((np.nan, np.float32), (np.inf, np.float64), (-np.inf, np.float64)):
        X = with_entry(value).astype(dtype)
        for call in (
            lambda X: kernel(X),
            lambda X: kernel(X, GOOD),
            lambda X: kernel(GOOD, X),
            lambda X: kernel.diag(X),
            lambda X: kernel.contract(X, np.ones((3, 3))),
            lambda X: kernel.input_gradient(X, GOOD, np.ones((3, 3))),
        ):
            with pytest.raises(ValueError, match=message):
                call(X)


@pytest.mark.parametrize("kernel", [RBF(), Linear(), Laplacian(), Cosine(), Chi2()], ids=repr)
def test_not_finite_in_sparse(kernel):
    with pytest.raises(ValueError, match="X has 1 entries that are NaN or infinite"):
        kernel(sparse.csr_array(with_entry(np.nan)))


@VECTOR_KERNELS
def test_wrong_number_of_columns(kernel):
    with pytest.raises(ValueError, match=f"X has 3 columns where the other inputs of {name_of(kernel)} have 2"):
        kernel(np.ones((4, 3)), GOOD)


@VECTOR_KERNELS
def test_empty(kernel):
    for X in ([], np.empty((0, 2))):
        with pytest.raises(ValueError, match="X is empty"):
            kernel(X)


@VECTOR_KERNELS
def test_no_columns(kernel):
    with pytest.raises(ValueError, match=f"X has no columns; {name_of(kernel)} needs at least one"):
        kernel(np.empty((3, 0)))


@pytest.mark.parametrize(
    ("X", "what"),
    [
        ([["a", "b"], ["c", "d"]], "strings"),
        (["abc", "abd"], "strings"),
        (np.array([[1.0, "a"]], object), "objects"),
        ([[{1}], [{2}]], "objects"),
        (np.ones((2, 2)) * 1j, "complex128"),
        (np.array([["2020-01-01"]], "datetime64[D]"), "datetime64"),
        (pd.DataFrame({"a": [1.0, 2.0], "b": ["u", "v"]}), "objects"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_not_numbers(X, what):
    for kernel in EVERY:
        with pytest.raises(TypeError, match=rf"{name_of(kernel)} needs numbers, but X holds {what}.*On\("):
            kernel(X)


@VECTOR_KERNELS
def test_one_dimension(kernel):
    with pytest.raises(ValueError, match=rf"X has 1 dimension where {name_of(kernel)} needs rows.*reshape\(-1, 1\)"):
        kernel(np.ones(4))


@VECTOR_KERNELS
def test_three_dimensions(kernel):
    with pytest.raises(ValueError, match=f"X has 3 dimensions where {name_of(kernel)} needs rows and columns"):
        kernel(np.ones((2, 2, 2)))


@VECTOR_KERNELS
def test_ragged_rows(kernel):
    with pytest.raises(ValueError, match=f"rows of X have unequal lengths; {name_of(kernel)} needs one number"):
        kernel([[1.0, 2.0], [3.0]])


@each("kernel", [RBF(), Spectrum(), Subset(), Constant(), Precomputed()])
@each(("X", "kind"), [("ACGT", "str"), (b"ACGT", "bytes"), ({"a": [1.0]}, "dict")])
def test_a_single_input_instead_of_a_list(kernel, X, kind):
    with pytest.raises(TypeError, match=f"X is a single {kind}; pass a list of inputs"):
        kernel(X)


def test_complex_sparse_is_refused():
    with pytest.raises(TypeError, match="RBF needs numbers, but X holds complex"):
        RBF()(sparse.csr_array(np.ones((2, 2)) * 1j))


@each(
    "X",
    [
        [[1, 2], [3, 4]],
        np.array([[1, 2], [3, 4]]),
        np.array([[1, 2], [3, 4]], np.uint8),
        np.array([[1, 2], [3, 4]], np.float16),
        np.array([[1, 2], [3, 4]], np.longdouble),
        np.array([[1, 2], [3, 4]], object),
        pd.DataFrame({"a": [1, 3], "b": [2.0, 4.0]}),
        sparse.csr_array(np.array([[1, 2], [3, 4]])),
        sparse.coo_array(np.array([[1.0, 2.0], [3.0, 4.0]])),
    ],
)
def test_other_numbers_become_float64(X):
    K = Linear()(X)
    assert K.dtype == np.float64
    assert K.tolist() == [[5.0, 11.0], [11.0, 25.0]]


def test_vectors_follow_what_they_are_paired_with():
    X = np.ones((2, 3))
    thin, low = sparse.csr_array(X), X.astype(np.float32)
    assert sparse.issparse(checks.vectors(X, "RBF", like=thin))
    assert isinstance(checks.vectors(thin, "RBF", like=X), np.ndarray)
    assert checks.vectors(X, "RBF", like=low).dtype == np.float32
    assert checks.vectors(low, "RBF") is low


@pytest.mark.parametrize("scale", ["1", ["1", "2"], True, [True, False]], ids=str)
def test_length_scales_are_numbers(scale):
    with pytest.raises(ValueError, match="must be a positive number, or one positive number per column"):
        RBF(scale)(np.ones((2, 2)))


def test_loops_see_few_types_of_arrays():
    """Small read-only arrays are copied, large ones are not, and indices of sparse rows are int32."""
    frozen = np.ones((2, 3))
    frozen.flags.writeable = False
    assert checks.vectors(frozen, "RBF").flags.writeable
    large = np.broadcast_to(frozen[0], (checks.COPIED_BYTES // 24 + 1, 3))
    assert not checks.vectors(large, "RBF").flags.writeable
    rows = sparse.csr_array(np.eye(3))
    wide = sparse.csr_array((rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64)), rows.shape)
    found = checks.vectors(wide, "RBF")
    assert found.indices.dtype == found.indptr.dtype == np.int32
    assert np.array_equal(found.toarray(), np.eye(3))


def test_large_finite_numbers_are_finite():
    checks.finite(np.full((3, 3), 1e308), "X")
    checks.finite(np.full((3000, 4), 1e308), "X")  # the sum overflows
    checks.finite(np.array([np.finfo(np.float32).max] * 3), "X")


@pytest.mark.parametrize("bad", [[np.nan], [np.inf], [np.inf, -np.inf]], ids=str)
@pytest.mark.parametrize("n", [100, 12_000])
def test_numbers_that_are_not_finite_are_told(n, bad):
    values = np.ones(n)
    values[5 : 5 + len(bad)] = bad
    assert not checks.are_finite(values)
    with pytest.raises(ValueError, match=rf"{len(bad)} entries .* first at \(5,\)"):
        checks.finite(values, "X")


def test_number_of():
    assert checks.number_of([1, 2, 3]) == 3
    assert checks.number_of(sparse.csr_array(GOOD)) == 3
    assert checks.number_of(pd.DataFrame(GOOD)) == 3
    assert checks.number_of(pd.Series(["a", "b"])) == 2


@pytest.mark.parametrize(("check", "good"), [(checks.positive, 2), (checks.integer, np.int64(2)), (checks.real, -2.0)])
def test_good_numbers(check, good):
    assert check(good, "x") == good
    assert type(check(good, "x")) in (int, float)


def test_integers_have_limits():
    assert checks.integer(5, "n", most=5) == 5
    with pytest.raises(ValueError, match="n is 6, which would take too long or too much memory; use at most 5"):
        checks.integer(6, "n", most=5)


def test_booleans_are_no_numbers():
    with pytest.raises(ValueError, match="n is True; it must be an integer"):
        checks.integer(True, "n")
    with pytest.raises(ValueError, match="a is True; it must be a positive number"):
        checks.positive(True, "a")


@pytest.mark.parametrize("value", [True, False, np.True_])
def test_booleans(value):
    assert checks.boolean(value, "b") is bool(value)


@pytest.mark.parametrize("value", ["no", "False", 0, 1, None, np.array([True])], ids=repr)
def test_what_is_not_a_boolean(value):
    with pytest.raises(ValueError, match=r"b is .*; it must be True or False"):
        checks.boolean(value, "b")


def test_default_scale():
    assert checks.default_scale(2.5) == 2.5
    assert checks.default_scale(0.0) == 1.0
    with pytest.raises(ValueError, match=r"No width can be chosen from X, because squares .* overflow.* give a width"):
        checks.default_scale(np.inf, "width")


def test_length_scale():
    assert checks.length_scale(None, 3) == 1.0
    assert checks.length_scale(2, 3).shape == ()
    assert checks.length_scale([1, 2, 3], 3).tolist() == [1.0, 2.0, 3.0]
