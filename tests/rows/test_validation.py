import numpy as np
import pandas as pd
import pytest
from each_case import each
from scipy import sparse

from representer import KernelRidge, NadarayaWatson, ParzenDensity, RBFNetwork, SVCPath
from representer.kernels import RBF, On, Spectrum
from representer.rows.validation import check_inputs, reset_fitted


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


@each(
    ("X", "message"),
    [
        (np.array([[1.0, np.nan]]), "contains NaN"),
        (np.array([[1.0, -np.inf]]), "contains infinity"),
        (np.ones(3), "Expected 2D array, got 1D"),
        (np.ones((0, 2)), "minimum of 1 is required"),
        (np.ones((2, 0)), "minimum of 1 is required"),
    ],
)
@each("dtype", [np.float32, np.float64])
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


GOOD = np.random.default_rng(0).normal(size=(6, 2))


class Graph:
    """What numpy reads of a graph of networkx: the names of its nodes."""

    nodes, edges, is_directed = ((), (), bool)

    def __len__(self):
        return 2

    def __getitem__(self, node):
        return [0, 1][node]


OBJECTS = [
    (["ab", "cd"], "strings", r"Words\(\) or Spectrum"),
    (pd.Series(["ab", "cd"]), "strings", r"Words\(\)"),
    ([{1, 2}, {3}], "sets", r"Jaccard\(\)"),
    ([Graph(), Graph()], "graphs", r"WeisfeilerLehman\(\)"),
    ([(np.eye(2), [0, 1]), (np.eye(3), [0, 1, 0])], "graphs", r"WeisfeilerLehman\(\)"),
]


@pytest.mark.parametrize(("X", "what", "kernels"), OBJECTS)
@pytest.mark.parametrize("model", [KernelRidge(), SVCPath([1.0]), NadarayaWatson(), ParzenDensity(), RBFNetwork()])
def test_objects_for_kernels_on_numbers(model, X, what, kernels):
    message = f"needs numbers, but X holds {what}; use a kernel of {what}, such as {kernels}"
    with pytest.raises(TypeError, match=message):
        model.fit(X, [0.0, 1.0])
    with pytest.raises(TypeError, match=f"RBF {message}"):
        RBF()(X)


@pytest.mark.parametrize("model", [KernelRidge(), NadarayaWatson(), RBFNetwork()])
def test_predicting_objects_for_kernels_on_numbers(model):
    model.fit(GOOD, GOOD[:, 0])
    with pytest.raises(TypeError, match="needs numbers, but X holds graphs"):
        model.predict([Graph(), Graph()])


def test_one_graph_for_a_kernel_on_numbers():
    with pytest.raises(TypeError, match=r"X is one graph; pass \[G\]"):
        KernelRidge().fit(Graph(), [0.0, 1.0])


def test_forget():
    class Model:
        pass

    model = Model()
    model.loo_scores_ = 1
    reset_fitted(model, "loo_scores_", "gcv_")
    assert not hasattr(model, "loo_scores_")
