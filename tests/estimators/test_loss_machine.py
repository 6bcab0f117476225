import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from representer import KernelMachine
from representer.losses import Huber, Logistic, Pinball, Poisson
from representer.regularizers import CustomRegularizer, SquaredNorm
from representer.solvers import smo


def data(n=50, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=n)


def test_what_cannot_be_fitted_is_told():
    X, y = data()
    with pytest.raises(ValueError, match="only one class"):
        KernelMachine(loss=Logistic()).fit(X, np.ones(50))
    with pytest.raises(ValueError, match="a class without any"):
        KernelMachine(loss=Logistic()).fit(X, y > 0, sample_weight=(y > 0).astype(float))
    with pytest.raises(ValueError, match="counts are zero or positive"):
        KernelMachine(loss=Poisson()).fit(X, y)
    with pytest.raises(ValueError, match="All counts are zero"):
        KernelMachine(loss=Poisson()).fit(X, 0 * y)
    with pytest.raises(TypeError, match="is not a Loss"):
        KernelMachine(loss="hinge").fit(X, y)
    with pytest.raises(TypeError, match="is not a Regularizer"):
        KernelMachine(regularizer=0.3).fit(X, y)
    with pytest.raises(ValueError, match="decreases"):
        KernelMachine(regularizer=CustomRegularizer(lambda t: -t, lambda t: -1.0)).fit(X, y)
    with pytest.raises(MemoryError, match="above the budget"):
        KernelMachine(memory=1000).fit(X, y)


def test_stopping_early_warns_with_the_gap():
    X, y = data()
    with pytest.warns(ConvergenceWarning, match=r"relative gap of .*above the tolerance"):
        model = KernelMachine(loss=Logistic(), regularizer=SquaredNorm(1e-4), max_iter=1).fit(X, y > 0)
    assert not model.certificate_.converged
    assert model.certificate_.gap > 0


def test_smo_steps_are_counted(monkeypatch):
    """A loss whose dual is a box is solved by SMO, each output by itself: with its steps and kernel values."""
    found, solve = [], smo.solve
    monkeypatch.setattr(smo, "solve", lambda *args, **more: found.append(solve(*args, **more)) or found[-1])
    X, y = data()
    model = KernelMachine(loss=Pinball([0.2, 0.7])).fit(X, y)
    steps = [result.certificate.iterations for result in found]
    assert len(found) >= 2
    assert min(steps) > 0
    assert model.certificate_.iterations == sum(steps)
    assert model.n_iter_ == -(-sum(steps) // 50) <= model.max_iter
    assert found[-1].certificate.kernel_evaluations < model.certificate_.kernel_evaluations  # of the gap, too
    assert model.certificate_.solver == "SMO"


def test_weights_that_overflow_are_refused(rng):
    X = rng.normal(size=(20, 2))
    for weight, strength in ((1e300, 1.0), (1.0, 1e-200)):
        machine = KernelMachine(loss=Huber(), regularizer=SquaredNorm(strength))
        with pytest.raises(ValueError, match=r"The largest sample_weight.* above 1e\+100: .* use smaller weights"):
            machine.fit(X, X[:, 0], sample_weight=np.full(20, weight))
    assert KernelMachine(loss=Huber()).fit(X, X[:, 0], sample_weight=np.full(20, 1e-300)).certificate_.converged
