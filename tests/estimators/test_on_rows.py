import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from representer import SVC, KernelLogisticRegression, KernelPCA, KernelRidge, Nystroem, rows
from representer.estimators.on_rows import Passes
from representer.kernels import RBF, On
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
    lazy = da.from_array(X, chunks=(30, 3)), da.from_array(y, chunks=30)
    for model, data in ((KernelPCA(), (rows(X),)), (SVC(), (rows(X, target=y > 0),)), (KernelPCA(), lazy)):
        with pytest.raises(TypeError, match=f"{type(model).__name__} needs all inputs at once, not rows"):
            model.fit(*data)


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


def spanned(**options):
    return KernelRidge(0.1, kernel=Nystroem(RBF(), 20), **options)


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
    with pytest.raises(ValueError, match=r"reads all rows 2 times .* come from a generator"):
        spanned().fit(rows(iter([Xy])))
