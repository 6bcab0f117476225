import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from representer import KernelRidge
from representer.kernels import Linear, On, Spectrum
from representer.rows.distributed.lazy import lazily


class Model:
    calls = 0

    @lazily
    def predict(self, X, power=1):
        type(self).calls += 1
        return np.asarray(X)[:, 0] ** power

    @lazily
    def transform(self, X):
        return np.column_stack([np.asarray(X, float)[:, 0], np.asarray(X, float)[:, 1]]).astype(np.float32)


def frame_of(X):
    return dd.from_pandas(pd.DataFrame(X, columns=list("abc")), npartitions=3)


@pytest.mark.parametrize("wrap", [lambda X: da.from_array(X, chunks=(30, 2)), frame_of])
def test_answers_are_collections_that_compute_later(rng, wrap):
    X = rng.normal(size=(100, 3))
    lazy = (
        wrap(X) if wrap is not dd.from_pandas else dd.from_pandas(pd.DataFrame(X, columns=list("abc")), npartitions=3)
    )
    Model.calls = 0
    y, Z = Model().predict(lazy, power=2), Model().transform(lazy)
    assert isinstance(y, da.Array)
    assert Model.calls == 1  # on two rows, to learn the type
    assert (y.ndim, Z.ndim, Z.shape[1], Z.dtype) == (1, 2, 2, np.float32)
    with dask.config.set(scheduler="synchronous"):
        np.testing.assert_array_equal(y.compute(), X[:, 0] ** 2)
        np.testing.assert_array_equal(Z.compute(), X[:, :2].astype(np.float32))
    np.testing.assert_array_equal(Model().predict(X), X[:, 0])


def test_options_are_given_by_name(rng):
    with pytest.raises(TypeError, match="predict of a Dask collection takes options by name"):
        Model().predict(da.ones((4, 2)), 2)


def test_trials_have_no_gaps_that_dask_makes_up():
    frame = pd.DataFrame({"word": ["ab", "ba", "aa", "bb"], "size": [1.0, 2.0, 3.0, 4.0]})
    collection = dd.from_pandas(frame, npartitions=2)
    model = KernelRidge(0.1, kernel=On(Spectrum(1), "word") + On(Linear(), ["size"])).fit(frame, [1.0, 2.0, 3.0, 4.0])
    words = KernelRidge(0.1, kernel=Spectrum(1)).fit(list(frame["word"]), [1.0, 2.0, 3.0, 4.0])
    with dask.config.set(scheduler="synchronous"):
        np.testing.assert_allclose(model.predict(collection).compute(), model.predict(frame))
        np.testing.assert_allclose(words.predict(collection["word"]).compute(), words.predict(list(frame["word"])))
