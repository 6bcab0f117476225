"""From a public call to the compiled loop there are few frames."""

import traceback
from pathlib import Path

import numpy as np
import pytest

import representer
from representer import SVC, Function, KernelRidge
from representer.kernels import RBF
from representer.kernels.prepared import Vectors
from representer.solvers.smo import small, working_set

SOURCE = str(Path(representer.__file__).parent)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))


def walks(monkeypatch, places, work):
    """The library's frames down to these functions, which call compiled loops, without the wrappers of fits."""
    found = set()

    def noted(original):
        def call(*inputs, **options):
            frames = [frame.name for frame in traceback.extract_stack()[:-1] if frame.filename.startswith(SOURCE)]
            found.add((*(frame for frame in frames if not frame.startswith("fit_")), original.__name__))
            return original(*inputs, **options)

        return call

    for owner, name in places:
        monkeypatch.setattr(owner, name, noted(getattr(owner, name)))
    work()
    return found


@pytest.mark.parametrize("memory", [2 * 10**9, 3 * 10**6])
def test_products_of_a_ridge_fit(memory, monkeypatch):
    """With and without stored tiles."""
    model = KernelRidge(kernel=RBF(1.0), solver="conjugate_gradient", memory=memory, threads=1)
    found = walks(monkeypatch, [(Vectors, "squared_distances")], lambda: model.fit(X, X.sum(axis=1)))
    products = [walk for walk in found if "__matmul__" in walk and "fill_symmetric" not in walk]
    assert products
    assert all(walk[0] == "fit" and len(walk) <= 10 for walk in products), products


def test_steps_of_support_vector_machines():
    for classes in (2, 10):
        with pytest.MonkeyPatch.context() as patch:
            steps = [(small, "take_steps"), (working_set, "take_steps")]
            model = SVC(threads=1)
            found = walks(patch, steps, lambda model=model, k=classes: model.fit(X, np.arange(len(X)) % k))
        assert found
        assert max(map(len, found)) <= 10, found


def test_values_of_a_function(monkeypatch):
    f = Function(RBF(1.0), X, X.sum(axis=1), threads=1)
    found = walks(monkeypatch, [(Vectors, "squared_distances")], lambda: f(X[:50]))
    assert found
    assert max(map(len, found)) <= 7, found
