"""What every estimator of the package keeps: fits are whole or not at all, and warnings point to the caller's line."""

import pickle
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from each_case import each
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_info

import representer
from representer import (
    GPLVM,
    SVC,
    SVR,
    ConditionalMeanEmbedding,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    KernelFisherDiscriminant,
    KernelKMeans,
    KernelLogisticRegression,
    KernelMachine,
    KernelPCA,
    KernelPoissonRegression,
    KernelQuantileRegression,
    KernelRidge,
    KernelRidgeClassifier,
    NadarayaWatson,
    NuSVC,
    NuSVR,
    OneClassSVM,
    ParzenDensity,
    RBFNetwork,
    _parallel,
)
from representer.estimators.base import KernelEstimator, atomic, own, warn_user
from representer.kernels import RBF, Kernel, Matern, On
from representer.losses import Huber

PACKAGE = str(Path(representer.__file__).parent)
NAMES = sorted(
    name
    for name, each in ((name, getattr(representer, name)) for name in representer.__all__)
    if hasattr(each, "fit") and not issubclass(each, Kernel)  # of other rooms
)
OUTSIDE = {"fit_or_restore", "fit_with_callbacks"}
"""What wraps fits, and is not interrupted itself."""
OPTIONS = {"GPLVM": {"max_iter": 3}, "KernelRegressor": {"time_limit": 1e-9}, "KernelClassifier": {"time_limit": 1e-9}}
"""So that their searches end after a first trial."""
EVERY = each("name", NAMES)


def model(name):
    """On one thread, so that each fit makes the same calls."""
    new = getattr(representer, name)(**OPTIONS.get(name, {}))
    return new.set_params(threads=1) if "threads" in new.get_params() else new


def data(seed, labels, n=24):
    """Inputs of some groups and labels that are numbers, and counts, too."""
    rng, y = np.random.default_rng(seed), np.resize(labels, n)
    return rng.normal(size=(n, 2)) + y[:, None] - y.mean(), y


def values(fitted, X):
    """What a fitted estimator says of inputs."""
    if isinstance(fitted, ConditionalMeanEmbedding):
        return fitted.expect(lambda y: y[:, 0], X)
    for method in ("predict", "transform", "score_samples"):
        if hasattr(fitted, method):
            return getattr(fitted, method)(X)
    return fitted.labels_


def quietly(work):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return work()


def calls_of(work, interrupt=None):
    """The number of calls of this library's functions; one of them may be interrupted as Ctrl-C does."""
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        if frame.f_code.co_filename.startswith(PACKAGE) and frame.f_code.co_name not in OUTSIDE:
            count += 1
            if count == interrupt:
                raise KeyboardInterrupt

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        quietly(work)
    finally:
        sys.settrace(before)
    return count


@EVERY
def test_a_fit_that_is_interrupted_leaves_the_last_one_whole(name):
    """Near its end, when most is set; what is fitted for the first time is not fitted then."""
    (X, y), (other, labels) = data(0, [0, 1, 2]), data(1, [4, 7])
    first, last = model(name), quietly(lambda: model(name).fit(X, y))
    kept, said = dict(vars(last)), values(last, X)
    calls = min(calls_of(lambda: model(name).fit(other, labels)) for _ in range(2))  # the first may fill caches
    for fitted in (first, last):
        with pytest.raises(KeyboardInterrupt):
            calls_of(lambda model=fitted: model.fit(other, labels), int(0.8 * calls))
    assert not any(key.endswith("_") for key in vars(first))
    assert vars(last).keys() == kept.keys()
    assert all(value is kept[key] for key, value in vars(last).items())
    np.testing.assert_array_equal(values(last, X), said)


@EVERY
def test_a_fit_that_fails_leaves_the_last_one_whole(name):
    X, y = data(0, [0, 1, 2])
    last = quietly(lambda: model(name).fit(X, y))
    kept, said = dict(vars(last)), values(last, X)
    with pytest.raises(ValueError, match="NaN"):
        last.fit(np.full((24, 3), np.nan), y + 5)
    assert vars(last) == kept
    np.testing.assert_array_equal(values(last, X), said)


@EVERY
def test_a_fitted_estimator_can_be_pickled(name):
    X, y = data(0, [0, 1, 2])
    fitted = quietly(lambda: model(name).fit(X, y))
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(values(again, X), values(fitted, X))


TINY, ROUGH = {"tol": 1e-14, "max_iter": 1}, Matern(0.3, nu=0.5)
WARNING = [
    KernelRidge(1e-6, kernel=ROUGH, solver="conjugate_gradient", **TINY),
    KernelRidgeClassifier(1e-6, kernel=ROUGH, solver="conjugate_gradient", **TINY),
    KernelFisherDiscriminant(0.1, kernel=ROUGH, solver="conjugate_gradient", **TINY),
    KernelPCA(10, kernel=ROUGH, solver="davidson", **TINY),
    KernelPCA(5, kernel="linear"),
    KernelLogisticRegression(**TINY),
    KernelMachine(loss=Huber(0.1), **TINY),
    KernelPoissonRegression(**TINY),
    KernelQuantileRegression(**TINY),
    SVC(C=1e6, **TINY),
    NuSVC(0.1, **TINY),
    SVR(C=1e6, **TINY),
    NuSVR(C=1e6, **TINY),
    OneClassSVM(**TINY),
    KernelKMeans(3, max_iter=1, n_init=1),
    GaussianProcessRegressor(kernel=RBF(30.0), solver="conjugate_gradient", noise=1e-12, optimizer=None),
    GaussianProcessClassifier(max_iter=1),
    GPLVM(max_iter=1),
    RBFNetwork(degree=20, alpha=0.1),
    ParzenDensity(bandwidth="loo"),
    NadarayaWatson(0.1, window="epanechnikov"),
    ConditionalMeanEmbedding(ROUGH, alpha=1e-6, solver="conjugate_gradient", tol=1e-16),
]


@each("estimator", WARNING)
def test_warnings_point_to_the_line_of_the_caller(estimator):
    """Of a fit or of the use of what it found."""
    X, y = data(0, [0, 1, 2], 120)
    if isinstance(estimator, ParzenDensity):
        X = np.repeat(X[:3], 40, axis=0)  # the best bandwidth is the smallest
    with pytest.warns((ConvergenceWarning, UserWarning)) as found:
        values(clone(estimator).fit(X, y), X[:5] + 50.0)
    assert {warning.filename for warning in found} == {__file__}


def test_warnings_of_a_search_point_to_the_line_of_the_search():
    """Frames of scikit-learn are inside, too."""
    X, y = data(0, [0, 1, 2], 120)
    search = GridSearchCV(WARNING[0], {"alpha": [1e-6]}, cv=2)
    with pytest.warns(ConvergenceWarning) as found:
        search.fit(X, y)
    assert {warning.filename for warning in found} == {__file__}


# ---- the parts ----


def test_warn_user_is_the_line_of_its_caller():
    with pytest.warns(UserWarning, match="look here") as found:
        warn_user("look here", UserWarning)
    assert found[0].filename == __file__
    assert "warn_user(" in Path(__file__).read_text().splitlines()[found[0].lineno - 1]


def test_fits_in_several_threads_are_those_of_one(rng):
    """Small ones to the bit, as BLAS has one thread in them; the switch of BLAS is that of before afterwards."""
    X = rng.normal(size=(100, 3))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=100)
    labels = np.digitize(y, [0.0, 0.5])
    models = [
        (KernelRidge(0.1), y),
        (KernelRidge(0.01, solver="conjugate_gradient"), y),
        (SVC(), labels),
        (SVR(), y),
        (KernelLogisticRegression(), labels),
        (KernelQuantileRegression(), y),
        (GaussianProcessRegressor(optimizer=None), y),
        (KernelPCA(3), y),
    ]

    def fitted(case):
        return clone(case[0]).fit(X, case[1])

    before = threadpool_info()
    names = ["eigenvectors_" if isinstance(model, KernelPCA) else "dual_coef_" for model, _ in models]
    alone = [getattr(fitted(case), name) for case, name in zip(models, names, strict=True)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(fitted, models * 3))
    for i, found in enumerate(together):
        np.testing.assert_array_equal(getattr(found, names[i % 8]), alone[i % 8], strict=True)
    assert threadpool_info() == before


ROWS = np.random.default_rng(0).normal(size=(12, 3))


@each("rows", [ROWS, sparse.csr_array(ROWS), sparse.csc_matrix(ROWS), pd.DataFrame(ROWS), ["a", "b"]])
def test_own_copies_inputs_in_memory(rows):
    kept = own(rows)
    assert type(kept) is type(rows)
    assert kept is not rows
    if sparse.issparse(rows) or isinstance(rows, np.ndarray):
        data, other = (each.data if sparse.issparse(rows) else each for each in (kept, rows))
        assert not np.shares_memory(data, other)
        np.testing.assert_array_equal(data, other)


def test_later_changes_of_sparse_rows_and_frames_have_no_effect():
    rows, frame = sparse.csr_array(ROWS), pd.DataFrame(ROWS, columns=[str(i) for i in range(ROWS.shape[1])])
    for given, kernel in ((rows, "rbf"), (frame, On(RBF(1.0), ["0"]))):
        new = given.copy()
        model = KernelRidge(kernel=kernel).fit(given, ROWS[:, 0])
        before = model.predict(new)
        if given is rows:
            rows.data[:] = 7.0
        else:
            frame.loc[:, :] = 7.0
        np.testing.assert_array_equal(model.predict(new), before)
        kept = model.X_fit_.toarray() if given is rows else model.X_fit_.to_numpy()
        np.testing.assert_array_equal(kept, ROWS)


def test_atomic_keeps_what_a_fit_returns():
    class Counter:
        def __init__(self):
            self.total = 0

        @atomic
        def fit(self, step):
            self.total += step
            if step < 0:
                raise ValueError("step")
            return self

    counter = Counter()
    assert counter.fit(2).total == 2
    with pytest.raises(ValueError, match="step"):
        counter.fit(-5)
    assert counter.total == 2


def test_budget():
    class Plain(KernelEstimator):
        kernel = "rbf"

        def __init__(self, memory=None, tol=1e-3):
            self.memory, self.tol = memory, tol

    budget = Plain(memory=10**6)._budget()
    assert (budget.memory, budget.tol, budget.max_iter, budget.threads) == (10**6, 1e-3, 1000, None)
    assert Plain()._budget().memory == _parallel.machine_memory()
    for options in ({"memory": 0}, {"tol": 0.0}, {"tol": np.nan}):
        with pytest.raises(ValueError, match=next(iter(options))):
            Plain(**options)._budget()


@pytest.mark.parametrize(
    ("model", "way"),
    [
        (SVC(), "set probability=True before fit"),
        (NuSVC(), "set probability=True before fit"),
        (KernelRidgeClassifier(), "use KernelLogisticRegression, KernelClassifier, or sklearn.calibration"),
        (KernelFisherDiscriminant(), "use KernelLogisticRegression"),
    ],
)
def test_missing_probabilities_name_the_way_to_them(model, way):
    for name in ("predict_proba", "predict_log_proba"):
        with pytest.raises(AttributeError, match=f"This {type(model).__name__} has no {name}; {way}"):
            getattr(model, name)
        assert not hasattr(model, name)
    with pytest.raises(AttributeError, match=f"'{type(model).__name__}' object has no attribute 'probably'"):
        _ = model.probably
    with pytest.raises(AttributeError, match="'KernelRidge' object has no attribute 'predict_proba'"):
        _ = KernelRidge().predict_proba
    assert hasattr(SVC(probability=True), "predict_proba")
