from concurrent.futures import ThreadPoolExecutor
from threading import current_thread, main_thread

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, make_classification
from sklearn.exceptions import ConvergenceWarning

from representer import SVC, SVR, KernelRidge, NuSVC, NuSVR, OneClassSVM
from representer.estimators.support_vectors import filled, in_order
from representer.kernels import RBF, On
from representer.problem import BoxProblem
from representer.solvers import working_set

KERNEL = RBF(length_scale=float(np.sqrt(10.0)))
ALL = [SVC(), NuSVC(nu=0.3), SVR(), NuSVR(), OneClassSVM()]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600] / 16.0, y[:600]


@pytest.mark.parametrize("estimator", ALL, ids=lambda e: type(e).__name__)
def test_weights_are_repetition(estimator):
    rng = np.random.default_rng(0)
    X, y = make_classification(80, 4, random_state=3)
    weights = rng.integers(0, 4, 80)
    estimator = estimator.set_params(tol=1e-9)
    values = "decision_function" if hasattr(estimator, "decision_function") else "predict"
    weighted = getattr(estimator.fit(X, y, sample_weight=weights), values)(X)
    repeated = getattr(estimator.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights)), values)(X)
    assert weighted == pytest.approx(repeated, abs=1e-6)


def test_stops_and_tells_what_was_reached():
    X, y = make_classification(300, 5, flip_y=0.3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="violation of .* gap of"):
        model = SVC(C=1e6, max_iter=20).fit(X, y)
    assert not model.certificate_.converged
    assert model.certificate_.gap > 0


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (SVC(C=0.0), "C is 0.0; it must be a positive number"),
        (SVC(tol=-1.0), "tol is -1.0"),
        (SVC(decision_function_shape="one"), "use 'ovr' or 'ovo'"),
        (SVC(kernel="rbg"), "kernel is 'rbg'"),
        (SVC(memory=10), "above the budget"),
        (SVC(kernel="sigmoid"), "support vector machine"),
        (NuSVC(nu=0.0), "nu is 0.0"),
        (NuSVC(nu=1.0), "infeasible"),
        (SVR(epsilon=-0.1), "epsilon is -0.1"),
        (NuSVR(nu=2.0), "nu is 2.0"),
        (OneClassSVM(nu="half"), "nu is 'half'"),
    ],
)
def test_clear_errors(estimator, message):
    X, y = make_classification(40, 4, weights=[0.8], random_state=0)
    with pytest.raises((ValueError, MemoryError, TypeError), match=message):
        estimator.fit(X, y)


def test_plan_tells_the_memory(digits):
    assert SVC(threads=1).plan(*digits).bytes == (8 + 12) * 600**2
    assert SVC(threads=3).plan(*digits).bytes == (8 + 3 * 12) * 600**2  # for pairs at the same time
    # and a matrix of free support vectors
    assert SVC(probability=True, threads=1).plan(*digits).bytes == (8 + 12 + 8) * 600**2
    assert SVC().plan(np.zeros((10**5, 2)), np.arange(10**5) % 2).bytes == 4 * 16384**2
    assert "pair steps" in str(SVR().plan(digits[0]))
    model, X = NuSVR(), digits[0][:100]
    assert model.plan(X).bytes == model.fit(X, X[:, 20]).certificate_.bytes == 12 * 200**2  # two coefficients a sample


def test_same_space_as_ridge(digits):
    """All estimators keep Functions: those of one kernel can be combined."""
    X, y = digits[0][:100], (digits[1][:100] > 4) * 2.0 - 1.0
    svm, ridge = SVC(kernel=KERNEL).fit(X, y), KernelRidge(kernel=KERNEL).fit(X, y)
    assert 0.0 < (svm.function_ - ridge.function_).norm() < svm.function_.norm() + ridge.function_.norm()


def test_certificate_in_words():
    X, y = make_classification(100, 4, random_state=0)
    assert "violation" in str(SVC().fit(X, y).certificate_)
    assert np.isinf(NuSVC(nu=0.2).fit(X, y).certificate_.error_bound).all()


@pytest.mark.parametrize("estimator", ALL, ids=lambda e: type(e).__name__)
def test_progress_is_shown_when_asked_for(estimator, capsys):
    X, y = make_classification(200, 4, random_state=0)
    assert estimator.set_params(verbose=0).fit(X, y).certificate_.converged
    assert capsys.readouterr() == ("", "")
    estimator.set_params(verbose=1).fit(X, y)
    assert "pair steps" in capsys.readouterr().err


@pytest.mark.parametrize("total", [0.0, 0.5, 2.0, 3.5, 6.0])
def test_filled_sums_up(total):
    most = np.array([1.0, 0.0, 2.0, 3.0])
    found = filled(most, total)
    assert found.sum() == pytest.approx(total)
    assert np.all((found >= 0.0) & (found <= most))


def test_inputs_without_a_float32_form_are_checked_in_float64():
    """Kernel values of a data frame are rounded for steps only, so nothing but the steps tells how far they drift."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1500, 2))
    y = np.sign(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=1500))
    kernel = On(RBF(0.5), ["a", "b"])
    model = SVC(C=1e3, kernel=kernel).fit(pd.DataFrame(X, columns=["a", "b"]), y)
    coef = np.zeros(1500)
    coef[model.support_] = model.dual_coef_[0]
    g, C = RBF(0.5)(X) @ coef - y, 1e3
    violation = g[coef > np.where(y > 0, 0.0, -C)].max() - g[coef < np.where(y > 0, C, 0.0)].min()
    assert model.certificate_.residual == pytest.approx(violation, abs=1e-6)
    assert violation <= 1e-3


def test_memory_below_what_the_free_coefficients_take():
    """Half of a working set are violators, so that it is never one of free coefficients alone."""
    rng = np.random.default_rng(0)
    problem = BoxProblem(RBF(0.3), rng.normal(size=(600, 4)), np.sign(rng.normal(size=600)), *np.zeros((2, 600)))
    problem.lower, problem.upper = np.minimum(10.0 * problem.targets, 0.0), np.maximum(10.0 * problem.targets, 0.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(working_set, "FLAT_UP_TO", 0)
        assert working_set.solve(problem, memory=4 * 300**2).converged


def test_all_of_a_class_at_their_bound():
    X = np.random.default_rng(0).normal(size=(1000, 2))
    assert NuSVC(nu=0.6, kernel=RBF(0.15)).fit(X, np.arange(1000) < 300).certificate_.converged


def test_certificate_of_several_classes_counts_the_shared_matrix(digits):
    certificate = SVC(threads=2).fit(*digits).certificate_
    assert certificate.kernel_evaluations == 600 * 601 // 2
    pair = np.sort(np.bincount(digits[1]))[-2:].sum()
    assert certificate.bytes == 8 * 600**2 + 2 * 12 * pair**2


def test_progress_of_several_classes_counts_pairs(digits, capsys):
    SVC(verbose=1).fit(*digits)
    assert "45 of 45" in capsys.readouterr().err


@pytest.mark.parametrize("n", [300, 800])
def test_stop_is_heard_once(n):
    X, y = make_classification(n, 4, flip_y=0.3, random_state=0)
    t = np.where(y == 1, 1.0, -1.0)
    problem = BoxProblem(RBF(1.0), X, t, np.minimum(9.0 * t, 0.0), np.maximum(9.0 * t, 0.0))
    asked = []

    def once(what, violation):
        asked.append(violation)
        return len(asked) == 1

    result = working_set.solve(problem, progress=once)
    assert not result.converged
    assert result.steps == 0


@pytest.mark.parametrize(("quick", "names"), [(0.0, 0), (1e-9, 1), (60.0, 3)])
def test_quick_tasks_stay_in_the_caller(quick, names):
    """All of them if the first one is quick, otherwise at most that one; results are in order."""
    with ThreadPoolExecutor(2) as pool:
        found = list(in_order(lambda task: (task, current_thread() is main_thread()), [1, 2, 3], pool, quick))
    assert [task for task, _ in found] == [1, 2, 3]
    assert sum(here for _, here in found) == names
