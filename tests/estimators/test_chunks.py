"""Chunks and generators: the fit of all rows, or a sentence on what would have to be given."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from representer import KernelRidge, Nystroem, RandomFeatures, load, rows, save
from representer.estimators.chunks import unsettled
from representer.kernels import RBF, Linear, Spectrum

rng = np.random.default_rng(0)
X = rng.normal(size=(500, 3))
Y = np.sin(X) + 3.0
y, w = Y.sum(axis=1), rng.uniform(size=500)
SPAN = Nystroem(RBF(2.0), landmarks=X[:20])
PARTS = [slice(a, a + 120) for a in range(0, 500, 120)]


@pytest.mark.parametrize(
    ("kernel", "targets", "alpha"),
    [(SPAN, y, 0.1), (SPAN, Y, [[0.1, 0.2, 0.3]]), (RandomFeatures(RBF(2.0), 32), y, 0.1), (Linear(), y, 0.1)],
)
def test_chunks_and_generators_are_the_fit_of_all_rows(kernel, targets, alpha):
    model = KernelRidge(alpha, kernel=kernel, fit_intercept=np.ndim(alpha) == 0)
    expected = clone(model).fit(X, targets, sample_weight=w).predict(X)
    chunked = clone(model)
    for part in PARTS:
        chunked.partial_fit(X[part], targets[part], sample_weight=w[part])
    np.testing.assert_allclose(chunked.predict(X), expected, rtol=1e-9)
    pulled = clone(model).fit(rows((X[part], targets[part], w[part]) for part in PARTS))
    np.testing.assert_allclose(pulled.predict(X), expected, rtol=1e-9)
    assert pulled.certificate_.passes == 1


def test_paths_files_and_rows(tmp_path):
    model = KernelRidge(np.logspace(-3, 1, 5), kernel=SPAN).partial_fit(rows(X[:200], target=y[:200]))
    save(model, tmp_path / "model")
    for each in (model, load(tmp_path / "model")):
        each.partial_fit(X[200:], y[200:])
    fit = clone(model).fit(X, y)
    np.testing.assert_allclose(each.gcv_, fit.gcv_, rtol=1e-6)
    np.testing.assert_array_equal(each.predict(X), model.predict(X))
    assert model.alpha_ == model.alpha[model.gcv_.argmin()]


def test_nothing_of_another_fit_is_left():
    model = KernelRidge([0.1, 1.0], kernel=SPAN).fit(X, y)
    assert hasattr(model, "loo_scores_")
    model.fit(rows((X[part], y[part]) for part in PARTS))
    assert hasattr(model, "gcv_")
    assert not hasattr(model, "loo_scores_")
    assert not hasattr(model.set_params(alpha=0.1).partial_fit(X, y), "gcv_")


def test_chunks_warn_of_a_tolerance_that_they_do_not_reach():
    with pytest.warns(ConvergenceWarning, match=r"above the tolerance 1e-30; use a larger alpha or tol, or fit"):
        KernelRidge(1e-6, kernel=SPAN, tol=1e-30).partial_fit(X, y)


def test_what_chunks_do_not_know_has_to_be_given():
    assert unsettled(Nystroem(RBF(), 5), X) == ["kernel__length_scale", "landmarks"]
    assert unsettled(Nystroem(Spectrum(2), landmarks=["ab", "ba"]), ["abab"]) == []
    with pytest.raises(ValueError, match=r"landmarks of Nystroem\(.* would be chosen from all rows; give it"):
        KernelRidge(kernel=Nystroem(RBF(1.0), 5)).partial_fit(X, y)
    with pytest.raises(AttributeError, match="partial_fit with kernels whose basis is given"):
        KernelRidge().partial_fit(X, y)
    with pytest.raises(ValueError, match="fitted by `fit`, which keeps no sums"):
        KernelRidge(kernel=SPAN).fit(X, y).partial_fit(X, y)
    model = KernelRidge(kernel=SPAN).partial_fit(X, y)
    with pytest.raises(ValueError, match="This chunk has 3 targets, but those before it had 1"):
        model.partial_fit(X, Y)
    with pytest.raises(ValueError, match="X has 2 features, but KernelRidge is expecting 3"):
        model.partial_fit(X[:, :2], y)
