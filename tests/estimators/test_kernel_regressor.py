import warnings

import numpy as np
import pandas as pd
import pytest
from quick_tables import try_one_family
from sklearn.exceptions import ConvergenceWarning
from sklearn_contract import faults

from representer import Gram, KernelRegressor, KernelRidge, _parallel
from representer.estimators.criteria import RidgeErrors
from representer.kernels import RBF
from representer.problems.ridge import RidgeProblem
from representer.solvers.leave_one_out import leave_one_out


def test_estimator_checks():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The search stopped at its time_limit")
        assert faults(KernelRegressor(time_limit=1e-9)) == []


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(350, 4)) * [1.0, 20.0, 0.1, 1.0], columns=["a", "b", "c", "d"])
    y = 100.0 + 10.0 * np.sin(2.0 * X["a"]) + 0.5 * X["b"] + 2.0 * rng.normal(size=350)
    return X, y.to_numpy()


@pytest.fixture
def one_family(monkeypatch):
    try_one_family(monkeypatch)


@pytest.fixture(scope="module")
def model(table):
    X, y = table
    return KernelRegressor(random_state=1).fit(X[:200], y[:200])


def test_better_than_a_default_kernel(table, model):
    X, y = table
    assert model.score(X[200:], y[200:]) > 0.93 > KernelRidge().fit(X[:200], y[:200]).score(X[200:], y[200:])
    np.testing.assert_allclose(model.predict(X[:5]), model.function_(X[:5].to_numpy()))
    assert model.certificate_.converged


def test_leave_one_out_score_is_that_of_n_fits(table, model):
    X, y = table
    ridge = KernelRidge(model.alpha_, kernel=model.kernel_, fit_intercept=True)
    rows, errors = np.arange(0, 200, 20), []
    for i in rows:
        rest = np.delete(np.arange(200), i)
        errors.append(y[i] - ridge.fit(X.iloc[rest], y[rest]).predict(X.iloc[[i]])[0])
    gram = Gram(model.kernel_, X[:200].to_numpy())
    left_out = leave_one_out(RidgeProblem(gram, y[:200, None], np.array([model.alpha_]), None, True))
    np.testing.assert_allclose(y[rows] - left_out.predictions[rows, 0], errors, rtol=1e-6)
    assert model.loo_score_ == pytest.approx(1.0 - np.mean((y[:200] - left_out.predictions[:, 0]) ** 2) / y[:200].var())


def test_bands_cover_new_measurements(table, model):
    X, y = table
    mean, std = model.predict(X[200:], return_std=True)
    np.testing.assert_array_equal(mean, model.predict(X[200:]))
    assert 0.88 <= np.mean(np.abs(y[200:] - mean) < 1.96 * std) <= 0.99
    assert model.noise_ == pytest.approx(2.0, rel=0.3)
    far = X[:1] + 1e3
    assert model.predict(far, return_std=True)[1][0] > 2.0 * std.max()


def test_bands_of_small_tables_need_one_thread_of_blas(table, model, monkeypatch):
    """For the factor of the first call, and for the variances."""
    asked, limit = [], _parallel.blas_threads_for
    monkeypatch.setattr(_parallel, "blas_threads_for", lambda n: asked.append(n) or limit(n))
    vars(model).pop("_process", None)
    model.predict(table[0][:3], return_std=True)
    assert asked == [200, 200]


@pytest.mark.usefixtures("one_family")
def test_several_targets_have_bands_of_their_own(table):
    X, y = table
    Y = np.column_stack([y, 1e-3 * y[::-1]])
    model = KernelRegressor().fit(X[:120], Y[:120])
    mean, std = model.predict(X[120:130], return_std=True)
    assert mean.shape == std.shape == (10, 2)
    assert model.noise_.shape == (2,)
    assert np.all(std[:, 0] > 10.0 * std[:, 1])


@pytest.mark.usefixtures("one_family")
def test_by_predictive_likelihood(table):
    """No other kernel and alpha near those that were found gives the targets a higher probability."""
    X, y = table
    model = KernelRegressor(criterion="likelihood", kernel=RBF([1.0, 20.0])).fit(X[["a", "b"]][:120], y[:120])
    errors = RidgeErrors(X[["a", "b"]][:120].to_numpy(), (y[:120, None] - 100.0) / 10.0, None, True, likelihood=True)
    best = next(trial for trial in model.trials_ if trial.form == "one length scale").tuned
    for factor in (0.8, 1.25):
        assert errors(best.kernel, best.strength).objective < errors(best.kernel, factor * best.strength).objective
        other = RBF(factor * np.asarray(best.kernel.length_scale))
        assert errors(best.kernel, best.strength).objective < errors(other, best.strength).objective
    assert model.score(X[["a", "b"]][200:], y[200:]) > 0.9


@pytest.mark.usefixtures("one_family")
def test_a_corrupt_row_does_not_spoil_the_choice(table):
    X, y = table
    spoilt = y[:120].copy()
    spoilt[7] = 1e5
    clean, huber, squared = (
        KernelRegressor(criterion=criterion).fit(X[:120], targets).score(X[200:], y[200:])
        for criterion, targets in (("huber", y[:120]), ("huber", spoilt), ("squared", spoilt))
    )
    assert huber > squared
    assert huber > clean - 0.02


def test_report_says_what_was_tried(model):
    text = model.report()
    for words in ("Matern-1/2", "RBF", "one length scale", "a length scale per column", "unseen rows", "chosen: "):
        assert words in text
    assert text.count("\n") >= len(model.trials_)


@pytest.mark.usefixtures("one_family")
def test_report_says_what_to_try_next(table, model):
    """Columns that do not matter, rows that are far off, or that nothing stands out."""
    X, y = table
    assert "try without the columns" in model.report() or "will help more than another kernel" in model.report()
    spoilt = y[:80].copy()
    spoilt[7] += 300.0
    assert "rows are far off when left out: look at them, or try criterion='huber'" in (
        KernelRegressor().fit(X[:80], spoilt).report()
    )


@pytest.mark.usefixtures("one_family")
def test_report_lists_bounds(table):
    """Of a search on targets without noise, and of others."""
    X = table[0][["a"]].to_numpy()[:60]
    model = KernelRegressor().fit(X, np.sin(X[:, 0]))
    assert model._at_bounds == ["alpha (lower)"]
    assert "alpha fell to its bound: the targets look free of noise" in model.report()
    model._at_bounds = ["alpha (upper)", "period (lower)"]
    assert "alpha grew to its bound: these columns hardly predict the targets" in model.report()
    assert "the search ended at a bound of period (lower): give a kernel= with other values" in model.report()


def test_plan_and_progress(table, capsys):
    X, y = table
    model = KernelRegressor(verbose=1, time_limit=1.0)
    plan = model.plan(X, y)
    assert plan.bytes > 0
    assert plan.seconds > 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[:100], y[:100])
    assert "Matern-1/2, one length scale, 100 rows" in capsys.readouterr().err


@pytest.mark.usefixtures("one_family")
def test_zero_weights_are_rows_that_are_not_there(table):
    X, y = table
    weights = (np.arange(80) < 60).astype(float)
    with_zeros = KernelRegressor(random_state=3).fit(X[:80], y[:80], sample_weight=weights)
    without = KernelRegressor(random_state=3).fit(X[:60], y[:60])
    np.testing.assert_allclose(with_zeros.predict(X[80:]), without.predict(X[80:]), rtol=0.05)
    assert np.all(np.isfinite(with_zeros.predict(X[80:], return_std=True)[1]))


def test_messages(table):
    X, y = table
    with pytest.raises(ValueError, match="criterion is 'mean'; use 'squared', 'huber' or 'likelihood'"):
        KernelRegressor(criterion="mean").fit(X, y)
    with pytest.raises(ValueError, match="use KernelRidge or SVC with a precomputed one"):
        KernelRegressor(kernel="precomputed").fit(np.eye(9), y[:9])
    with pytest.raises(ValueError, match="needs at least 4"):
        KernelRegressor().fit(X[:3], y[:3])
    with pytest.warns(ConvergenceWarning, match=r"stopped at its time_limit of 1e-06 s; the best so far"):
        KernelRegressor(time_limit=1e-6).fit(X, y)


@pytest.mark.usefixtures("one_family")
def test_columns_far_from_zero_change_nothing(table):
    """The fit is that of centred columns; the function is in the units of the columns."""
    X, y = table
    near, far = (KernelRegressor(random_state=1).fit(X[:80] + shift, y[:80]) for shift in (0.0, 1e4))
    (mean, std), (also, spread) = (m.predict(X[200:] + c, return_std=True) for m, c in ((near, 0.0), (far, 1e4)))
    np.testing.assert_allclose(also, mean, rtol=1e-3)
    np.testing.assert_allclose(spread, std, rtol=1e-2)


@pytest.mark.usefixtures("one_family")
@pytest.mark.parametrize("seed", range(4))
def test_a_length_scale_per_column_loses_no_more_than_noise(seed):
    """To the best kernel with one length scale, where there are ten rows for each of many columns that matter alike.

    Leave-one-out on the same rows would take the freest trial, which does lose to it.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(700, 12))
    y = np.sin(X.sum(axis=1) / 2.0) + 0.3 * rng.normal(size=700)
    model = KernelRegressor().fit(X[:120], y[:120])

    def lost(values):
        """The mean of the losses above those of the best kernel with one length scale, in standard errors."""
        off = (y[120:] - values) ** 2 - plain
        return off.mean() / (off.std() / np.sqrt(len(off)) + 1e-9)

    def predicted(tuned):
        ridge = KernelRidge(tuned.strength, kernel=tuned.kernel, fit_intercept=True)
        return ridge.fit(X[:120], y[:120]).predict(X[120:])

    common = [trial for trial in model.trials_ if trial.shrink == np.inf]
    plain = (y[120:] - predicted(min(common, key=lambda trial: trial.loo).tuned)) ** 2
    assert "unseen rows did not support a length scale per column" in model.report()
    freest = min(model.trials_, key=lambda trial: trial.loo)
    assert freest.shrink < np.inf
    assert lost(predicted(freest.tuned)) > 1.0
    assert lost(model.predict(X[120:])) <= 1.0
