import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from representer import KernelRidge
from representer.estimators.inputs import (
    NAMES,
    check_inputs,
    check_labels,
    check_lengths,
    check_weights,
    forget,
    is_precomputed,
    take,
    to_kernel,
)
from representer.kernels import RBF, Kernel, Linear, On, Precomputed, Spectrum


@pytest.mark.parametrize("name", NAMES)
def test_names(name):
    kernel = to_kernel(name)
    assert isinstance(kernel, Kernel)
    assert kernel == NAMES[name]()


def test_an_object_is_itself():
    kernel = 2.0 * RBF() + Linear()
    assert to_kernel(kernel) is kernel


@pytest.mark.parametrize("wrong", ["rbff", None, 3, RBF, np.dot], ids=str)
def test_what_is_not_a_kernel(wrong):
    with pytest.raises(ValueError, match=r"pass a kernel object such as RBF\(\).*Callable\(function\).*rbf, linear"):
        to_kernel(wrong)


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [("precomputed", True), (Precomputed(), True), ("rbf", False), (RBF(), False), (None, False)],
)
def test_is_precomputed(kernel, expected):
    assert is_precomputed(kernel) is expected


@pytest.mark.parametrize(
    ("X", "dtype"),
    [
        ([[1, 2], [3, 4]], np.float64),
        (np.array([[1, 2], [3, 4]], np.float32), np.float32),
        (pd.DataFrame({"a": [1, 3], "b": [2.0, 4.0]}), np.float64),
        (sparse.coo_array(np.array([[1.0, 2.0], [3.0, 4.0]])), np.float64),
    ],
    ids=["list", "float32", "frame", "sparse"],
)
def test_rows_of_numbers(X, dtype):
    model = KernelRidge()
    checked = check_inputs(model, X, RBF(), reset=True)
    assert checked.dtype == dtype
    assert model.n_features_in_ == 2
    if sparse.issparse(checked):
        assert checked.format == "csr"
        checked = checked.toarray()
    np.testing.assert_array_equal(checked, [[1, 2], [3, 4]])


def test_number_of_columns():
    model = KernelRidge()
    check_inputs(model, np.ones((4, 2)), RBF(), reset=True)
    with pytest.raises(ValueError, match="X has 3 features, but KernelRidge is expecting 2"):
        check_inputs(model, np.ones((1, 3)), RBF(), reset=False)


def test_arrays_after_frames():
    model, X = KernelRidge(), np.ones((4, 2))
    check_inputs(model, pd.DataFrame(X, columns=["a", "b"]), RBF(), reset=True)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        check_inputs(model, X, RBF(), reset=False)
    assert check_inputs(model, X, RBF(), reset=True) is X
    assert not hasattr(model, "feature_names_in_")
    assert check_inputs(model, X, RBF(), reset=False) is X


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.array([[1.0, np.nan]]), "contains NaN"),
        (np.array([[1.0, -np.inf]]), "contains infinity"),
        (np.ones(3), "Expected 2D array, got 1D"),
        (np.ones((0, 2)), "minimum of 1 is required"),
        (np.ones((2, 0)), "minimum of 1 is required"),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_with_faults(X, message, dtype):
    with pytest.raises(ValueError, match=message):
        check_inputs(KernelRidge(), X.astype(dtype), RBF(), reset=True)


def test_large_numbers_are_finite():
    X = np.full((3, 2), np.finfo(np.float64).max)  # their sum is not
    assert np.array_equal(check_inputs(KernelRidge(), X, RBF(), reset=True), X)


def test_other_inputs_stay_as_they_are():
    words = ["abc", "bcd"]
    assert check_inputs(KernelRidge(), words, Spectrum(), reset=True) is words
    table = pd.DataFrame({"a": [1.0], "s": ["x"]})
    assert check_inputs(KernelRidge(), table, On(RBF(), ["a"]), reset=True) is table
    with pytest.raises(TypeError, match="single str; pass a list"):
        check_inputs(KernelRidge(), "abc", Spectrum(), reset=True)
    with pytest.raises(ValueError, match="empty"):
        check_inputs(KernelRidge(), [], Spectrum(), reset=True)


def test_weights():
    X = ["a", "b", "c"]
    assert check_weights(None, X) is None
    np.testing.assert_array_equal(check_weights([1, 0, 2], X), [1.0, 0.0, 2.0])
    assert check_weights([1, 0, 2], X).dtype == np.float64
    np.testing.assert_array_equal(check_weights(3.0, X), [3.0, 3.0, 3.0])
    for wrong in ([0, 0, 0], [1, -1, 1], [1, 2], [1, np.nan, 1]):
        with pytest.raises(ValueError, match=r"(?i)weight"):
            check_weights(wrong, X)


def test_lengths():
    check_lengths(["a", "b"], np.ones(2))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        check_lengths(["a", "b"], np.ones(3))


def test_take_cuts_a_gram_matrix_on_both_sides_and_other_inputs_on_one():
    K, rows = np.arange(16.0).reshape(4, 4), np.array([0, 2])
    np.testing.assert_array_equal(take(K, rows, 2.0 * Precomputed()), [[0.0, 2.0], [8.0, 10.0]])
    np.testing.assert_array_equal(take(K, rows, RBF()), K[[0, 2]])
    assert take(["a", "b", "c"], rows, Spectrum(1)) == ["a", "c"]


def test_take_cuts_precomputed_frames_on_both_sides():
    K = pd.DataFrame(np.arange(16.0).reshape(4, 4))
    assert take(K, np.array([0, 2]), "precomputed").to_numpy().tolist() == [[0.0, 2.0], [8.0, 10.0]]
    assert take(sparse.coo_matrix(np.eye(3)), np.array([1]), "rbf").toarray().tolist() == [[0.0, 1.0, 0.0]]


def test_forget():
    class Model:
        pass

    model = Model()
    model.loo_scores_ = 1
    forget(model, "loo_scores_", "gcv_")
    assert not hasattr(model, "loo_scores_")


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed"),
        ([0.0, np.nan, 1.0], "NaN"),
        ([0.1, 0.2, 0.3], "continuous"),
        ([1, 2], "inconsistent"),
        (["a", "a", "a"], "only one class, 'a'"),
    ],
)
def test_labels_that_are_none(y, message):
    with pytest.raises(ValueError, match=message):
        check_labels(KernelRidge(), np.zeros((3, 1)), y)


def test_labels():
    classes, codes = check_labels(KernelRidge(), ["x", "y", "z"], ["b", "a", "b"])
    assert (classes.tolist(), codes.tolist()) == (["a", "b"], [1, 0, 1])
    assert check_labels(KernelRidge(), ["x"], ["b"], least=1)[0].tolist() == ["b"]


def test_labels_that_hardly_repeat_are_told():
    with pytest.warns(UserWarning, match="greater than 50%"):
        check_labels(KernelRidge(), np.zeros((30, 1)), np.arange(30))


@pytest.mark.parametrize(
    "labels",
    [[0, 1], [-128, 127], [3], [2, 1, 0], [5, 9, 5], [True, False]],
    ids=str,
)
@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint64, bool, float])
def test_classes_and_codes_are_those_of_unique(labels, dtype):
    y = np.repeat(np.array(labels).astype(dtype), 4)
    classes, codes = check_labels(KernelRidge(), y[:, None], y, least=1)
    expected = np.unique(y, return_inverse=True)
    assert np.array_equal(classes, expected[0])
    assert classes.dtype == y.dtype
    assert np.array_equal(codes, expected[1])
