import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from representer import SVC, KernelLogisticRegression, KernelPCA, KernelRidge, rows
from representer.estimators.on_rows import Passes
from representer.kernels import RBF, On


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
    for data in (rows(Xy[0], target=Xy[1]), rows(Xy[0])):
        with pytest.raises(TypeError, match=r"KernelPCA with this kernel needs all inputs at once"):
            KernelPCA().fit(data)


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
