import builtins
import importlib.util
import inspect
import io
import pickle

import numpy as np
import pytest
from each_case import each
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from representer import (
    SVC,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    KernelFisherDiscriminant,
    KernelLogisticRegression,
    KernelPCA,
    KernelRidge,
    KernelRidgeClassifier,
)
from representer.estimators import base
from representer.estimators import progress as module
from representer.estimators.progress import Progress


def test_silence(capsys):
    with Progress(0, 1e-6) as progress:
        progress("work", 0.1)
    assert progress.steps == 1
    assert capsys.readouterr() == ("", "")


def test_one_line_on_standard_error(capsys):
    with Progress(1, 1e-6) as progress:
        for residual in (1.0, 1e-3, 1e-6):
            progress("work", residual)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\r") == 3
    assert err.count("\n") == 1
    assert err.endswith("\n")
    assert "work: [" in err
    assert "step 3, residual 1.0e-06 (to 1e-06), 0 s" in err


@pytest.mark.parametrize(("residual", "length"), [(5.0, 0), (1.0, 0), (1e-3, 15), (1e-6, 30), (1e-9, 30), (0.0, 30)])
def test_bar(capsys, residual, length):
    with Progress(1, 1e-6) as progress:
        progress("work", residual)
    assert f"[{'#' * length:<30}]" in capsys.readouterr().err


def test_nothing_to_end(capsys):
    with Progress(1, 1e-6):
        pass
    assert capsys.readouterr().err == ""


def test_line_ends_after_an_error(capsys):
    def interrupted():
        with Progress(1, 1e-6) as progress:
            progress("work", 0.5)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert capsys.readouterr().err.endswith("\n")


@pytest.mark.parametrize("answer", [True, False])
def test_who_wants_to_stop(answer):
    with Progress(0, 1e-6, lambda: answer) as progress:
        assert progress("work", 0.1) is answer


# ---- what is shown without being asked for ----


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A time that passes when it is told to."""
    now = [0.0]
    monkeypatch.setattr(module, "perf_counter", lambda: now[0])
    return now


def shown(monkeypatch, stream):
    monkeypatch.setattr(module.sys, "stderr", stream)
    return stream


def test_a_terminal_is_told_after_some_seconds_and_how_long_it_takes(monkeypatch, clock):
    terminal = shown(monkeypatch, Terminal())
    with Progress(0, 1e-6) as progress:
        for clock[0] in (0.5, 2.9):
            progress("work", 0.1)
        assert terminal.getvalue() == ""
        clock[0] = 4.0
        progress("work", 1e-3)
        assert terminal.getvalue().endswith("step 3, residual 1.0e-03 (to 1e-06), 4 s, about 4 s left")
        clock[0] = 4.01
        progress("work", 1e-4)  # too soon for another line
        assert terminal.getvalue().count("\r") == 1
        clock[0] = 300.0
        progress.count("parts", 1, 4)
        assert "1 of 4, 300 s, about 15 min left" in terminal.getvalue()
    assert terminal.getvalue().endswith("\n")


def test_a_long_plan_is_shown_at_once(monkeypatch, clock):
    terminal = shown(monkeypatch, Terminal())
    with Progress(0, 1e-6) as progress:
        progress.expect("a short one", 2.0)
        assert terminal.getvalue() == ""
        progress.expect("Cholesky of 20,000 rows", 20.0)
        assert terminal.getvalue() == "\rCholesky of 20,000 rows: about 20 s"
        clock[0] = 5.0
        progress.iterate("search", -12.5)
        assert "search: iteration 1, -12.5, 5 s of about 20 s" in terminal.getvalue()
    with Progress(0, 1e-6) as progress:
        progress.expect("hours", 8000.0)
    assert "hours: about 2.2 h" in terminal.getvalue()


@pytest.mark.parametrize(("stream", "verbose"), [(io.StringIO, 0), (Terminal, -1)], ids=["a file", "silence"])
def test_nobody_else_is_told(monkeypatch, clock, stream, verbose):
    silent = shown(monkeypatch, stream())
    with Progress(verbose, 1e-6) as progress:
        progress.expect("work", 100.0)
        clock[0] = 50.0
        progress("work", 0.1)
        progress.count("parts", 1, 4)
        progress.iterate("search", 1.0)
    assert silent.getvalue() == ""
    assert progress.steps == 2


LONG = {
    "Cholesky": KernelRidge(0.1),
    "path": KernelRidge([0.1, 1.0]),
    "conjugate gradients": KernelRidge(0.1, solver="conjugate_gradient"),
    "search": KernelRidge(0.1, tune="loo", max_iter=2),
    "components": KernelPCA(2),
    "classes": SVC(),
    "pairs of classes": SVC(C=2.0),
    "logistic": KernelLogisticRegression(),
    "discriminant": KernelFisherDiscriminant(),
    "process": GaussianProcessRegressor(noise=0.1, optimizer=None),
    "process with a search": GaussianProcessRegressor(),
    "classifier": GaussianProcessClassifier(max_iter=30),
}


@pytest.mark.filterwarnings("ignore:The search for hyper-parameters")
@pytest.mark.parametrize("case", LONG)
def test_no_long_fit_is_silent(monkeypatch, case):
    """All are long here; then a terminal is told about each, and nothing if it is to be silent."""
    monkeypatch.setattr(module, "QUIET_SECONDS", 0.0)
    X, y = data(60)
    regression = isinstance(LONG[case], (KernelRidge, GaussianProcessRegressor))
    y = y if regression else np.digitize(y, [0.0] if case != "pairs of classes" else [-0.5, 0.5])
    terminal = shown(monkeypatch, Terminal())
    clone(LONG[case]).fit(X, y)
    assert ": " in terminal.getvalue()
    assert terminal.getvalue().endswith("\n")
    if "verbose" in LONG[case].get_params():
        terminal = shown(monkeypatch, Terminal())
        clone(LONG[case]).set_params(verbose=-1).fit(X, y)
        assert terminal.getvalue() == ""


# ---- callbacks of scikit-learn ----


class Record:
    """A callback that writes down what it is told, and stops after some steps."""

    def __init__(self, stop_after=np.inf):
        self.begun, self.ended, self.told, self.stop_after = [], [], [], stop_after

    def setup(self, estimator, context):
        self.told.append("setup")

    def teardown(self, estimator, context):
        self.told.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None):
        self.begun.append((context.task_name, X is not None))

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.ended.append((context.task_name, fitted_estimator is not None))
        return self.steps >= self.stop_after

    @property
    def steps(self):
        return sum(name == "step" for name, _ in self.ended)


def data(n=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=n)


ITERATIVE = each(
    ("model", "tasks"),
    [
        (KernelRidge(0.01, solver="conjugate_gradient"), ["conjugate gradients"]),
        (KernelRidge(0.1, tune="loo"), ["search for hyper-parameters"]),
        (KernelRidgeClassifier(0.01, solver="conjugate_gradient"), ["conjugate gradients"]),
        (GaussianProcessRegressor(), ["search for hyper-parameters"]),
        (
            GaussianProcessRegressor(solver="conjugate_gradient", n_restarts=1, random_state=0),
            ["search for hyper-parameters", "conjugate gradients"],
        ),
        (KernelRidge(0.1), []),
        (KernelRidge([0.1, 1.0]), []),
    ],
)


@ITERATIVE
def test_callbacks_follow_a_fit(model, tasks):
    X, y = data()
    y = y > 0 if isinstance(model, KernelRidgeClassifier) else y
    record = Record()
    seen = clone(model).set_callbacks(record)
    assert seen.fit(X, y) is seen
    assert record.told == ["setup", "teardown"]
    assert [name for name, _ in record.begun if name != "step"] == ["fit", *tasks]
    assert [name for name, _ in record.ended if name != "step"] == [*tasks, "fit"]
    assert record.begun[0] == ("fit", True)
    assert record.ended[-1] == ("fit", True)
    assert (record.steps > 1) == bool(tasks)
    if tasks == ["conjugate gradients"]:
        assert record.steps == seen.n_iter_
    np.testing.assert_array_equal(seen.predict(X), clone(model).fit(X, y).predict(X))
    assert record.told == ["setup", "teardown"]  # a clone has no callbacks
    assert pickle.loads(pickle.dumps(seen)).n_features_in_ == 2


def test_callbacks_stop_conjugate_gradients():
    model = KernelRidge(1e-4, solver="conjugate_gradient", tol=1e-10).set_callbacks(Record(stop_after=3))
    with pytest.warns(ConvergenceWarning, match="above the tolerance"):
        model.fit(*data())
    assert model.n_iter_ == 3


def test_callbacks_stop_the_search():
    X, y = data(60)
    model = GaussianProcessRegressor().set_callbacks(record := Record(stop_after=2))
    with pytest.warns(ConvergenceWarning, match="stopped early") as told:
        model.fit(X, y)
    assert told[0].filename == __file__
    assert record.steps == 2
    assert np.all(np.isfinite(model.predict(X)))
    KernelRidge(tune="loo").set_callbacks(record := Record(stop_after=2)).fit(X, y)
    assert record.steps == 2


def test_errors_reach_the_user_and_callbacks_end():
    model = KernelRidge(-1.0).set_callbacks(record := Record())
    with pytest.raises(ValueError, match="alpha is -1"):
        model.fit(*data(10))
    assert record.told == ["setup", "teardown"]
    assert not hasattr(model, "_callback_fit_ctx")


def test_callbacks_of_a_grid_search():
    """The task of the search is that of the fit inside it."""

    class Everywhere(Record):
        max_propagation_depth = None

    record = Everywhere()
    grid = {"alpha": [0.01, 0.1]}
    GridSearchCV(KernelRidge(solver="conjugate_gradient"), grid, cv=2).set_callbacks(record).fit(*data(100))
    assert sum(name == "conjugate gradients" for name, _ in record.ended) == 5


def test_signature_is_that_of_the_method():
    assert list(inspect.signature(KernelRidge.fit).parameters) == ["self", "X", "y", "sample_weight"]
    assert KernelRidge.fit.__doc__.startswith("Fit to inputs X")
    with pytest.raises(ValueError, match="requires y to be passed"):
        KernelRidge().fit(np.ones((2, 2)))


def test_scikit_learn_without_callbacks(monkeypatch):
    """The module then has an empty mixin, and fits are atomic but unobserved."""
    real = builtins.__import__

    def without(name, *args, **options):
        if name == "sklearn.callback":
            raise ImportError(name)
        return real(name, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(builtins, "__import__", without)
        spec = importlib.util.spec_from_file_location("old_progress", module.__file__)
        old = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(old)
    monkeypatch.setattr(base, "with_callbacks", old.with_callbacks)
    fit = base.observed(lambda self, X: X)
    assert fit(KernelRidge(), 1.0) == 1.0
    assert not hasattr(old.CallbackSupportMixin, "set_callbacks")
    with old.task(KernelRidge(), "work") as step:
        assert step() is False


def test_progress_bar_of_scikit_learn(capsys):
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar

    KernelRidge(0.01, solver="conjugate_gradient").set_callbacks(ProgressBar()).fit(*data())
    out = capsys.readouterr().out
    assert "KernelRidge - fit" in out
    assert "conjugate gradients" in out
