import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from each_case import each

from representer import (
    GPLVM,
    SVC,
    SVR,
    GaussianProcessRegressor,
    KernelFisherDiscriminant,
    KernelLogisticRegression,
    KernelMachine,
    KernelNeighborsClassifier,
    KernelPCA,
    KernelPoissonRegression,
    KernelQuantileRegression,
    KernelRidge,
    KernelRidgeClassifier,
    NuSVC,
    Nystroem,
    OneClassSVM,
    rows,
)
from representer.estimators import in_span
from representer.estimators.on_rows import Passes
from representer.kernels import RBF, Jaccard, Linear, On, Spectrum
from representer.losses import Hinge, Huber
from representer.rows import checkpoint


@pytest.fixture(autouse=True)
def synchronous():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def Xy(rng):
    X = rng.normal(size=(80, 3))
    return X, np.sin(X).sum(axis=1)


def test_answers_about_dask_collections_are_lazy(Xy):
    X, y = Xy
    lazy = da.from_array(X, chunks=(30, 2))
    signs = y > 0
    machines = [
        (KernelRidge().fit(X, y), "predict"),
        (KernelPCA(2).fit(X), "transform"),
        (SVC(probability=True).fit(X, signs), "predict_proba"),
        (SVC().fit(X, signs), "decision_function"),
        (KernelLogisticRegression().fit(X, signs), "predict"),
    ]
    for model, method in machines:
        answer = getattr(model, method)(lazy)
        assert isinstance(answer, da.Array)
        assert answer.chunks[0] == (30, 30, 20)
        np.testing.assert_allclose(answer.compute(), getattr(model, method)(X), rtol=1e-9, atol=1e-12)


def test_answers_about_dask_data_frames(Xy):
    X, y = Xy
    frame = pd.DataFrame(X, columns=list("abc"))
    model = KernelRidge(kernel=On(RBF(), ["a", "b"])).fit(frame, y)
    answer = model.predict(dd.from_pandas(frame, npartitions=3))
    np.testing.assert_allclose(answer.compute(), model.predict(frame), rtol=1e-9)


def test_estimators_that_need_all_inputs_say_so(Xy):
    X, y = Xy
    lazy = da.from_array(X, chunks=(30, 3)), da.from_array(y > 0, chunks=30)
    for model, data in (
        (NuSVC(), (rows(X, target=y > 0),)),
        (GPLVM(), (rows(X),)),
        (KernelNeighborsClassifier(), lazy),
    ):
        with pytest.raises(TypeError, match=f"{type(model).__name__} needs all inputs at once, not rows"):
            model.fit(*data)
    for model, data in ((KernelPCA(), (rows(X),)), (SVC(), (rows(X, target=y > 0),))):
        with pytest.raises(TypeError, match="fitted in the span of a basis, and RBF"):
            model.fit(*data)


SPAN = Nystroem(RBF(2.0), 12)


@each(
    ("model", "targets", "methods"),
    [
        (KernelLogisticRegression(kernel=SPAN), "classes", ("predict", "predict_proba", "decision_function")),
        (KernelPoissonRegression(kernel=SPAN), "counts", ("predict",)),
        (KernelQuantileRegression([0.2, 0.8], kernel=SPAN, tol=1e-2), "numbers", ("predict",)),
        (KernelMachine(SPAN, Huber()), "numbers", ("predict",)),
        (KernelMachine(SPAN, Hinge(), tol=1e-2), "two", ("decision_function",)),
        (GaussianProcessRegressor(kernel=SPAN, noise=0.1, normalize_y=True), "numbers", ("predict",)),
        (KernelRidgeClassifier([0.1, 1.0], kernel=SPAN), "classes", ("predict",)),
        (KernelFisherDiscriminant(kernel=SPAN), "classes", ("predict", "transform")),
        (SVC(kernel=SPAN, tol=1e-2), "two", ("predict", "decision_function")),
        (SVR(kernel=SPAN, tol=1e-2), "numbers", ("predict",)),
        (OneClassSVM(kernel=SPAN, tol=1e-2), None, ("score_samples",)),
        (KernelPCA(3, kernel=SPAN), None, ("transform",)),
        (KernelRidge(kernel=Linear()), "numbers", ("predict",)),
    ],
)
def test_every_estimator_with_a_basis_takes_rows_and_dask(rng, model, targets, methods):
    X = rng.normal(size=(400, 3))
    f = np.sin(X).sum(axis=1)
    y = {
        "classes": np.digitize(f, [-0.5, 0.5]).astype(str),
        "two": np.where(f > 0, "yes", "no"),
        "counts": np.floor(np.exp(f)),
        "numbers": f,
        None: None,
    }[targets]
    expected = {name: getattr(model.fit(X, y), name)(X) for name in methods}
    data = rows(X, target=y)
    plan = model.plan(data)
    assert plan.passes > 0
    model.fit(data)
    assert model.certificate_.passes > 0
    for name in methods:
        answer = getattr(model, name)(data)
        if isinstance(model.kernel, Linear):
            np.testing.assert_allclose(answer, expected[name], rtol=1e-9)
        else:
            np.testing.assert_array_equal(answer, expected[name])
    model.fit(*(da.from_array(each, chunks=(150, *each.shape[1:])) for each in (X, y) if each is not None))
    for name in methods:
        answer = getattr(model, name)(da.from_array(X, chunks=(150, 3))).compute()
        if answer.dtype.kind == "U":
            assert np.mean(answer == expected[name]) > 0.99
        else:
            np.testing.assert_allclose(answer, expected[name], rtol=1e-4, atol=1e-6)


def test_pairs_of_classes_in_rows(rng):
    X = rng.normal(size=(300, 2))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = SVC(kernel=SPAN, tol=1e-3, decision_function_shape="ovo")
    expected = model.fit(X, y).decision_function(X)
    found = model.fit(rows(X, target=y)).decision_function(X)
    np.testing.assert_allclose(found, expected, atol=0.02)
    assert np.mean(model.predict(X) == y) > 0.95


def fails_at_the_end(X):
    if len(X) < 16384:
        raise ValueError("this is the last block")
    return X[:, 0]


def test_answers_go_to_a_file_block_by_block(rng, tmp_path):
    X = rng.normal(size=(40_000, 2))
    model = KernelRidge(kernel=SPAN).fit(X, np.sin(X).sum(axis=1))
    data = rows(X)
    assert [len(part) for part in data.apply(model.predict)] == [16384, 16384, 7232]
    answers = data.save(model.predict, tmp_path / "answers.npy")
    assert isinstance(answers, np.memmap)
    np.testing.assert_array_equal(answers, model.predict(data))
    with pytest.raises(ValueError, match=r"In the rows 32768 to 39999 .*: this is the last block"):
        data.save(fails_at_the_end, tmp_path / "more.npy")
    assert [path.name for path in tmp_path.iterdir()] == ["answers.npy"]
    frame = pd.DataFrame(X[:50], columns=["b", "a"])
    model.fit(rows(lambda: iter([frame.assign(y=1.0)]), target="y"))
    with pytest.raises(ValueError, match="the columns a, b, but the fit had b, a"):
        model.predict(rows(lambda: iter([frame[["a", "b"]]])))


def test_passes_are_shown(capsys):
    shown = Passes(1)
    for done in (0, 50, 100):
        shown(done, 100)
    shown(0, None)
    shown.__exit__(None, None, None)
    lines = capsys.readouterr().err
    assert "pass 1: 50 of 100 rows, 0 s, about 0 s left" in lines
    assert "pass 2: 0 rows" in lines
    quiet = Passes(0)
    quiet(10, 100)
    assert capsys.readouterr().err == ""


def test_the_passes_that_remain_are_those_of_the_plan(capsys, rng):
    shown = Passes(1)
    shown(0, 100)
    shown.expect(3)
    for done in (0, 50):
        shown(done, 100)
    assert "pass 2 of about 3: 50 of 100 rows" in capsys.readouterr().err
    for _ in range(2):
        shown(0, 100)
    assert capsys.readouterr().err.endswith(f"{'pass 4: 0 of 100 rows, 0 s':<77}")
    X = rng.normal(size=(300, 2))
    KernelRidge(kernel=SPAN, verbose=1).fit(rows(lambda: iter([(X, X[:, 0])])))
    assert "of about 5: 300 of 300 rows" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("model", "method", "more"),
    [
        (KernelRidge(kernel=SPAN, solver="normal_equations"), "normal_equations", 0),
        (KernelRidge(kernel=SPAN, solver="normal_equations", fit_intercept=True), "normal_equations", 0),
        (KernelRidge(kernel=SPAN, solver="conjugate_gradient", fit_intercept=True), "conjugate_gradient", None),
        (KernelRidge(kernel=Linear(), solver="normal_equations"), "normal_equations", 0),
        (KernelMachine(SPAN, Huber()), "newton", None),
        (KernelPCA(2, kernel=SPAN), "eigenvectors in the span", 0),
    ],
    ids=lambda case: "",
)
def test_certificates_and_plans_count_every_reading_of_files(rng, monkeypatch, model, method, more):
    monkeypatch.setattr(in_span, "GAP_WORK", 0.0)  # no bound on the gap to all of H, which is a pass of its own
    X, ends = rng.normal(size=(300, 2)), []

    def batches():
        yield X[:200], X[:200, 0]
        yield X[200:], X[200:, 0]
        ends.append(True)

    data = rows(batches)
    assert len(data) == 300  # one pass counts the rows
    before, plan = len(ends), model.plan(data)
    assert (plan.solver, len(ends) - before) == (method, 1)  # length scales are sampled
    ends.clear()
    certificate = model.fit(data).certificate_
    assert certificate.passes == len(ends)
    if more is not None:
        assert plan.passes == len(ends)
    memory = model.fit(rows(X, target=X[:, 0])).certificate_  # rows that are indexed
    assert certificate.passes > memory.passes >= 2


def spanned(**options):
    return KernelRidge(0.1, kernel=Nystroem(RBF(), 20), **options)


@pytest.mark.parametrize("kind", ["strings", "sets", "frames"])
def test_strings_sets_and_frames_are_fitted_on_dask(rng, kind):
    words = ["".join(word) for word in rng.choice(list("ACGT"), (60, 6))]
    y = np.array([word.count("A") for word in words], float)
    inputs, kernel = {
        "strings": (pd.Series(words), Spectrum(2)),
        "sets": (pd.Series([set(word) for word in words]), Jaccard()),
        "frames": (pd.DataFrame({"word": words, "x": y}), On(Spectrum(2), "word") + On(RBF(2.0), ["x"])),
    }[kind]
    plain = inputs if kind == "frames" else list(inputs)
    with dask.config.set({"dataframe.convert-string": kind != "sets"}):
        lazy, targets = (dd.from_pandas(each, npartitions=3) for each in (inputs, pd.Series(y)))
        model = KernelRidge(0.1, kernel=Nystroem(kernel, 12))
        expected = model.fit(plain, y).predict(plain)
        fitted = model.fit(lazy, targets)
        np.testing.assert_allclose(fitted.predict(plain), expected, rtol=1e-9)
        np.testing.assert_allclose(fitted.predict(lazy).compute(), expected, rtol=1e-9)


def test_fits_from_anywhere_have_the_same_bits(rng, tmp_path):
    X = rng.normal(size=(20_000, 3)).astype(np.float32)
    y = np.sin(X).sum(axis=1).astype(float)
    pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y}), tmp_path / "t.parquet")
    np.save(tmp_path / "X.npy", X)
    batches = [(X[a : a + 6000], y[a : a + 6000]) for a in range(0, 20_000, 6000)]
    for solver in ("normal_equations", "conjugate_gradient"):
        expected = spanned(solver=solver).fit(X, y)
        assert expected.certificate_.converged
        for data in (
            (np.load(tmp_path / "X.npy", mmap_mode="r"), y),
            (rows(tmp_path / "t.parquet", target="y"),),
            (rows(lambda: iter(batches)),),
        ):
            model = spanned(solver=solver).fit(*data)
            np.testing.assert_array_equal(model.dual_coef_, expected.dual_coef_)
    lazy = da.from_array(X, chunks=(7000, 3)), da.from_array(y, chunks=7000)
    model = spanned().fit(*lazy)
    exact = spanned().fit(X, y).predict(X[:50].astype(float))
    np.testing.assert_allclose(model.predict(X[:50].astype(float)), exact, rtol=1e-6)
    np.testing.assert_allclose(model.predict(lazy[0])[:50].compute(), exact, rtol=1e-4)


def test_fits_resume_to_the_same_bits(rng, tmp_path, monkeypatch):
    X = rng.normal(size=(40_000, 2))
    y, path = np.sin(X).sum(axis=1), tmp_path / "fit.npz"
    monkeypatch.setattr(checkpoint, "CHECKPOINT_SECONDS", 0.0)
    expected = spanned().fit(X, y)

    def interrupt(done, of):
        if done > 20_000:
            raise KeyboardInterrupt

    monkeypatch.setattr(Passes, "__call__", lambda self, *told: interrupt(*told))
    with pytest.raises(KeyboardInterrupt):
        spanned().fit(rows(X, target=y, checkpoint=path))
    assert path.exists()
    monkeypatch.setattr(Passes, "__call__", lambda self, *told: None)
    resumed = spanned().fit(rows(X, target=y, checkpoint=path))
    np.testing.assert_array_equal(resumed.dual_coef_, expected.dual_coef_)
    assert not path.exists()


def test_generators_are_refused_with_the_number_of_passes(Xy):
    with pytest.raises(ValueError, match=r"reads all rows 3 times .to choose .*landmarks .* come from a generator"):
        spanned().fit(rows(iter([Xy])))
