import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from representer import KernelRegressor, KernelRidge

REPEATED = {
    f"check_sample_weight_equivalence_on_{kind}_data": "a row that is left out is seen if it is repeated"
    for kind in ("dense", "sparse")
}


@parametrize_with_checks([KernelRegressor(time_limit=1e-3)], expected_failed_checks=lambda _: REPEATED)
def test_estimator_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The search stopped at its time_limit")
        check(estimator)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(500, 4)) * [1.0, 20.0, 0.1, 1.0], columns=["a", "b", "c", "d"])
    y = 100.0 + 10.0 * np.sin(2.0 * X["a"]) + 0.5 * X["b"] + 2.0 * rng.normal(size=500)
    return X, y.to_numpy()


@pytest.fixture(scope="module")
def model(table):
    X, y = table
    return KernelRegressor(random_state=1).fit(X[:350], y[:350])


def test_better_than_a_default_kernel(table, model):
    X, y = table
    assert model.score(X[350:], y[350:]) > 0.93 > KernelRidge().fit(X[:350], y[:350]).score(X[350:], y[350:])
    np.testing.assert_allclose(model.predict(X[:5]), model.function_(X[:5].to_numpy()))
    assert model.certificate_.converged


def test_leave_one_out_score_is_that_of_n_fits(table, model):
    X, y = table
    ridge = KernelRidge(model.alpha_, kernel=model.kernel_, fit_intercept=True)
    rows, errors = np.arange(0, 350, 10), []
    for i in rows:
        rest = np.delete(np.arange(350), i)
        errors.append(y[i] - ridge.fit(X.iloc[rest], y[rest]).predict(X.iloc[[i]])[0])
    problem, _ = model._solved(model.kernel_, model.alpha_, X[:350].to_numpy(), y[:350, None], None)
    left_out = model._left_out(problem)[1]
    np.testing.assert_allclose(y[rows] - left_out.predictions[rows, 0], errors, rtol=1e-6)
    assert model.loo_score_ == pytest.approx(1.0 - np.mean((y[:350] - left_out.predictions[:, 0]) ** 2) / y[:350].var())


def test_bands_cover_new_measurements(table, model):
    X, y = table
    mean, std = model.predict(X[350:], return_std=True)
    np.testing.assert_array_equal(mean, model.predict(X[350:]))
    assert 0.88 <= np.mean(np.abs(y[350:] - mean) < 1.96 * std) <= 0.99
    assert model.noise_ == pytest.approx(2.0, rel=0.3)
    far = X[:1] + 1e3
    assert model.predict(far, return_std=True)[1][0] > 2.0 * std.max()


def test_several_targets_have_bands_of_their_own(table):
    X, y = table
    Y = np.column_stack([y, 1e-3 * y[::-1]])
    model = KernelRegressor(time_limit=2.0).fit(X[:120], Y[:120])
    mean, std = model.predict(X[120:130], return_std=True)
    assert mean.shape == std.shape == (10, 2)
    assert model.noise_.shape == (2,)
    assert np.all(std[:, 0] > 10.0 * std[:, 1])


def test_a_corrupt_row_does_not_spoil_the_choice(table):
    X, y = table
    spoilt = y[:120].copy()
    spoilt[7] = 1e5
    scores = {
        criterion: KernelRegressor(criterion=criterion).fit(X[:120], spoilt).score(X[350:], y[350:])
        for criterion in ("squared", "huber")
    }
    assert scores["huber"] > scores["squared"]


def test_report_says_what_was_tried(model):
    text = model.report()
    for words in ("Matern-1/2", "RBF", "one length scale", "a length scale per column", "unseen rows", "chosen: "):
        assert words in text
    assert text.count("\n") >= len(model.trials_)


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


def test_zero_weights_are_rows_that_are_not_there(table):
    X, y = table
    weights = (np.arange(80) < 60).astype(float)
    with_zeros = KernelRegressor(random_state=3).fit(X[:80], y[:80], sample_weight=weights)
    without = KernelRegressor(random_state=3).fit(X[:60], y[:60])
    np.testing.assert_allclose(with_zeros.predict(X[80:]), without.predict(X[80:]), rtol=0.05)
    assert np.all(np.isfinite(with_zeros.predict(X[80:], return_std=True)[1]))


def test_messages(table):
    X, y = table
    with pytest.raises(ValueError, match="criterion is 'mean'; use 'squared' or 'huber'"):
        KernelRegressor(criterion="mean").fit(X, y)
    with pytest.raises(ValueError, match="needs at least 5"):
        KernelRegressor().fit(X[:4], y[:4])
    with pytest.warns(ConvergenceWarning, match=r"stopped at its time_limit of 1e-06 s; the best so far"):
        KernelRegressor(time_limit=1e-6).fit(X, y)
