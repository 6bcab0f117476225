from inspect import Parameter, signature

import numpy as np
import pandas as pd
import pytest
from each_case import each
from scipy import sparse
from sklearn.base import ClassifierMixin, RegressorMixin, clone
from sklearn.model_selection import GridSearchCV

import representer
from representer import (
    GPLVM,
    SVC,
    ConditionalMeanEmbedding,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    KernelKMeans,
    KernelPCA,
    KernelRidge,
    NadarayaWatson,
    ParzenDensity,
    RBFNetwork,
    SpectralClustering,
)
from representer.estimators.inputs import (
    NAMES,
    check_labels,
    check_lengths,
    check_weights,
    in_precision_of,
    is_precomputed,
    take,
    to_kernel,
)
from representer.kernels import RBF, Kernel, Linear, Polynomial, Precomputed, Spectrum


@each("name", NAMES)
def test_names(name):
    kernel = to_kernel(name)
    assert isinstance(kernel, Kernel)
    assert kernel == NAMES[name]()


def test_an_object_is_itself():
    kernel = 2.0 * RBF() + Linear()
    assert to_kernel(kernel) is kernel


@pytest.mark.parametrize("wrong", ["rbff", None, 3, RBF], ids=str)
def test_what_is_not_a_kernel(wrong):
    with pytest.raises(ValueError, match=r"pass a kernel object such as RBF\(\), a function of two.*rbf, linear"):
        to_kernel(wrong)


def test_a_function_is_a_kernel_in_all_estimators():
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)

    def inner_products(X, Y):
        return X @ Y.T

    models = KernelRidge(), SVC(), KernelPCA(2), GaussianProcessRegressor(optimizer=None), KernelKMeans(2)
    for estimator in models:
        model, known = (clone(estimator).set_params(kernel=kernel).fit(X, y) for kernel in (inner_products, "linear"))
        method = "transform" if hasattr(estimator, "transform") else "predict"
        np.testing.assert_allclose(getattr(model, method)(X), getattr(known, method)(X), atol=1e-6)
    with pytest.raises(ValueError, match="return all pairs"):
        KernelRidge(kernel=lambda X, Y: X[:, 0]).fit(X, y)


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [("precomputed", True), (Precomputed(), True), ("rbf", False), (RBF(), False), (None, False)],
)
def test_is_precomputed(kernel, expected):
    assert is_precomputed(kernel) is expected


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


@each("labels", [[0, 1], [-128, 127], [3], [2, 1, 0], [5, 9, 5], [True, False]])
@each("dtype", [np.int8, np.int64, np.uint64, bool, float])
def test_classes_and_codes_are_those_of_unique(labels, dtype):
    y = np.repeat(np.array(labels).astype(dtype), 4)
    classes, codes = check_labels(KernelRidge(), y[:, None], y, least=1)
    expected = np.unique(y, return_inverse=True)
    assert np.array_equal(classes, expected[0])
    assert classes.dtype == y.dtype
    assert np.array_equal(codes, expected[1])


# ---- what holds for every estimator ----

PUBLIC = [getattr(representer, name) for name in representer.__all__]
ESTIMATORS = [E for E in PUBLIC if isinstance(E, type) and hasattr(E, "fit") and not issubclass(E, Kernel)]


def sample(Estimator):
    """Inputs and targets that an estimator takes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(14, 2))
    if issubclass(Estimator, ClassifierMixin):
        return X, np.arange(14) % 2
    return (X, X[:, :1]) if Estimator is ConditionalMeanEmbedding else (X, np.arange(14.0))


@each("Estimator", ESTIMATORS)
def test_masked_entries_are_refused(Estimator):
    X, y = sample(Estimator)
    masked = np.ma.masked_array(X, mask=np.zeros_like(X, bool))
    masked[3, 1] = np.ma.masked
    with pytest.raises(ValueError, match="X has masked entries; fill or remove them first"):
        Estimator().fit(masked, y)
    fit = signature(Estimator.fit).parameters
    if fit.get("y", fit["X"]).default is Parameter.empty:
        hidden = np.ma.masked_array(y, mask=np.arange(14) == 3)
        with pytest.raises(ValueError, match=r"[yY] has masked entries; fill or remove them first"):
            Estimator().fit(X, hidden)
    if "sample_weight" in fit:
        with pytest.raises(ValueError, match="sample_weight has masked entries; fill or remove them first"):
            Estimator().fit(X, y, sample_weight=np.ma.masked_array(np.ones(14), mask=np.arange(14) == 3))


@pytest.mark.parametrize("Estimator", [KernelRidge, RBFNetwork, GPLVM])
def test_masked_new_inputs_are_refused(Estimator):
    X, y = sample(Estimator)
    model = Estimator().fit(X, y)
    with pytest.raises(ValueError, match="X has masked entries"):
        (model.transform if Estimator is GPLVM else model.predict)(np.ma.masked_equal(X, X[0, 0]))


BOOLEANS = [
    (Estimator, name)
    for Estimator in ESTIMATORS
    for name, parameter in signature(Estimator).parameters.items()
    if isinstance(parameter.default, bool)
]


@each(("Estimator", "name"), BOOLEANS)
def test_text_is_not_a_boolean(Estimator, name):
    with pytest.raises(ValueError, match=f"{name} is 'no'; it must be True or False"):
        Estimator(**{name: "no"}).fit(*sample(Estimator))


@pytest.mark.parametrize(
    ("Estimator", "options", "message"),
    [
        (KernelRidge, {"alpha": np.broadcast_to(1.0, 10**8)}, "alpha has 100,000,000 entries .* limit of 10,000"),
        (KernelRidge, {"alpha": np.broadcast_to(1.0, (10**8, 1))}, "alpha has 100,000,000 entries .* limit of 10,000"),
        (GaussianProcessRegressor, {"n_restarts": 10**9}, "n_restarts is 1000000000, .* use at most 10,000"),
        (GaussianProcessClassifier, {"n_restarts": 10**9}, "n_restarts is 1000000000, .* use at most 10,000"),
        (KernelKMeans, {"n_init": 10**9}, "n_init is 1000000000, .* use at most 100,000"),
        (SpectralClustering, {"n_init": 10**9}, "n_init is 1000000000, .* use at most 100,000"),
        (ParzenDensity, {"bandwidth": np.ones(10**5)}, "bandwidth has 100,000 entries .* 10,000"),
    ],
)
def test_endless_work_is_refused(Estimator, options, message):
    with pytest.raises(ValueError, match=message):
        Estimator(**options).fit(*sample(Estimator))


@pytest.mark.filterwarnings("ignore:The search for hyper-parameters ended at a bound")  # the sample is noise
@each("Estimator", [E for E in ESTIMATORS if "kernel" in signature(E).parameters])
def test_parameters_of_a_kernel_by_name(Estimator):
    """A search sets them on clones of an estimator with the default kernel."""
    model = Estimator()
    names = "kernel__kernel__" if model.kernel is None else "kernel__"  # None is 1.0 * RBF()
    before = model.get_params()
    other = clone(model).set_params(**{f"{names}length_scale": 2.5})
    assert model.get_params() == before
    assert other.get_params()[f"{names}length_scale"] == 2.5
    assert clone(other).get_params()[f"{names}length_scale"] == 2.5
    assert other.fit(*sample(Estimator)).kernel_.get_params()[names[8:] + "length_scale"] > 0
    with pytest.raises(ValueError, match="Invalid parameter 'width'"):
        clone(model).set_params(kernel__width=1.0)


def test_parameters_of_several_kernels_by_name():
    model = ConditionalMeanEmbedding().set_params(kernel_y__length_scale=2.0)
    assert (model.kernel_x, model.kernel_y) == ("rbf", RBF(2.0))
    assert SVC().set_params(kernel="poly", kernel__degree=2, C=3.0).get_params()["kernel"] == Polynomial(2)
    assert SVC(kernel="linear").set_params(C=3.0).kernel == "linear"
    with pytest.raises(ValueError, match="kernel is 'rbff'; pass a kernel object"):
        SVC(kernel="rbff").set_params(kernel__length_scale=1.0)
    with pytest.raises(
        ValueError, match=r"window is 'gaussian', a name, which has no parameter 'length_scale'.*bandwidth"
    ):
        NadarayaWatson().set_params(window__length_scale=1.0)
    assert NadarayaWatson(window=RBF(1.0)).set_params(window__length_scale=0.5).window.length_scale == 0.5


def test_search_over_the_default_kernel():
    X, y = sample(SVC)
    search = GridSearchCV(SVC(), {"kernel__length_scale": [0.5, 5.0], "C": [1.0]}, cv=2).fit(X, y)
    assert search.best_estimator_.kernel == RBF(search.best_params_["kernel__length_scale"])


def test_a_mask_that_hides_nothing():
    X, y = sample(KernelRidge)
    model = KernelRidge().fit(np.ma.masked_array(X), np.ma.masked_array(y))
    np.testing.assert_array_equal(model.predict(X), KernelRidge().fit(X, y).predict(X))


@each("Estimator", ESTIMATORS)
def test_every_estimator_has_a_plan_that_leaves_no_mark(Estimator):
    X, _ = sample(Estimator)
    model = Estimator()
    before = vars(model).copy()
    plan = model.plan(X)
    assert (plan.refusal, vars(model)) == ("", before)
    assert plan.bytes >= X.nbytes
    assert plan.kernel_evaluations == 0 or plan.seconds > 0.0


@each("Estimator", ESTIMATORS)
def test_fitted_models_do_not_change_with_their_inputs(Estimator):
    X, y = (values.copy() for values in sample(Estimator))
    model = Estimator().fit(X, y)
    name = next((name for name in ("predict", "transform", "score_samples") if hasattr(model, name)), None)
    if name is None or not hasattr(model, "kernel_x_" if name is None else name):
        return
    new = X[:5].copy()
    expected = getattr(model, name)(new)
    X += 5.0
    y[:] = y[::-1].copy()
    np.testing.assert_array_equal(getattr(model, name)(new), expected)


@each("Estimator", ESTIMATORS)
def test_columns_that_are_not_numbers_are_named(Estimator):
    X, y = sample(Estimator)
    days = pd.date_range("2026-01-01", periods=14)
    frame = pd.DataFrame({"a": X[:, 0], "place": list("xy" * 7), "day": days})
    with pytest.raises(ValueError, match="X has no columns"):
        Estimator().fit(frame[[]], y)
    if Estimator.__name__ in ("KernelRegressor", "KernelClassifier"):
        return  # they take such frames
    with pytest.raises(ValueError, match=r"not numbers: place, day; choose columns with On\(kernel, names\)"):
        Estimator().fit(frame, y)
    with pytest.raises(ValueError, match="not numbers: day"):
        Estimator().fit(frame[["day"]], y)
    with pytest.raises(TypeError, match="X holds dates or times"):
        Estimator().fit(days.to_numpy()[:, None], y)


@each("Estimator", [E for E in ESTIMATORS if issubclass(E, RegressorMixin)])
def test_targets_whose_squares_are_out_of_range(Estimator):
    X, y = sample(Estimator)
    for size in (1e-155, 1e155):
        with pytest.raises(ValueError, match="whose square is out of range; divide y by it first"):
            Estimator().fit(X, size * (1.0 + y))
    with pytest.raises(TypeError, match="y holds dates or times"):
        Estimator().fit(X, pd.Series(pd.date_range("2026-01-01", periods=14)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
def test_memory_maps_stay_memory_maps_and_fit_as_arrays_do(rng, tmp_path, dtype):
    X = (100 * rng.normal(size=(300, 3))).astype(dtype)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = KernelRidge().fit(mapped, X[:, 0])
    assert isinstance(model.X_fit_, np.memmap)
    plain = KernelRidge().fit(X, X[:, 0])
    np.testing.assert_allclose(model.predict(mapped), plain.predict(X), rtol=1e-5 if dtype == np.float32 else 1e-9)


def test_memory_maps_are_checked(rng, tmp_path):
    X = rng.normal(size=(70_000, 2))
    X[66_000, 1] = np.nan
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    with pytest.raises(ValueError, match=r"In the rows of X from 65536 on .*the first at \(464, 1\)"):
        KernelRidge().fit(mapped, X[:, 0])
    model = KernelRidge().fit(X[:100], X[:100, 0])
    with pytest.raises(ValueError, match="X has 1 features, but KernelRidge is expecting 2 features"):
        model.predict(mapped[:50, :1])


def test_values_have_the_precision_of_inputs():
    values = np.ones(2)
    assert in_precision_of(np.ones((2, 1), np.float32), values).dtype == np.float32
    assert in_precision_of(np.ones((2, 1)), values) is values
    assert in_precision_of(["a", "b"], values) is values
