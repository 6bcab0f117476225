import numpy as np
import pytest

from representer import Function
from representer.kernels import RBF
from representer.testing import (
    check_function,
    check_representer_theorem,
    function_laws,
)


@pytest.fixture
def X(rng):
    return rng.normal(size=(12, 3))


class Lying(Function):
    """A function with one method that is wrong."""

    def __init__(self, *args, lie=None):
        super().__init__(*args)
        self.lie = lie

    def __call__(self, X):
        return super().__call__(X) * (1.001 if self.lie == "value" else 1.0)

    def inner(self, other):
        to_a_fellow = {"symmetric": type(other) is Lying and other is not self, "linear": other is self}
        return super().inner(other) + (1.0 if to_a_fellow.get(self.lie) else 0.0)

    def norm(self):
        return super().norm() * (0.001 if self.lie == "norm" else 1.0)

    def __add__(self, other):
        return super().__add__(other) + (0.001 if self.lie == "sum" else 0.0)


@pytest.mark.parametrize(
    ("lie", "law"),
    [
        ("value", r"f\(x\) is not <f, k\(x, .\)>"),
        ("symmetric", "the inner product is not symmetric"),
        ("linear", "the inner product is not linear"),
        ("norm", "Cauchy-Schwarz does not hold"),
        ("sum", r"\(f \+ g\)\(x\) is not f\(x\) \+ g\(x\)"),
    ],
)
def test_check_function_finds(X, rng, lie, law):
    coef = rng.normal(size=(2, 12))
    good = [Lying(RBF(), X, c) for c in coef]
    check_function(*good, X)
    with pytest.raises(AssertionError, match=law):
        check_function(Lying(RBF(), X, coef[0], lie=lie), good[1], X)


def test_check_function_finds_a_function_too_steep_for_its_norm(X, rng):
    f = Lying(RBF(), X, rng.normal(size=12), lie="norm")
    with pytest.raises(AssertionError, match=r"exceeds \|\|f\|\| d"):
        check_function(f, Function(RBF(), X, np.zeros(12)), X)


# ---- the theorem ----


def test_theorem_fails_for_a_decreasing_regularizer(X, rng):
    f = Function(RBF(), X, rng.normal(size=12))
    check_representer_theorem(f, X[:3], lambda values: 0.0, lambda r: r)
    with pytest.raises(AssertionError, match=r"J\(Pf\) = .* is above J\(f\)"):
        check_representer_theorem(f, X[:3], lambda values: 0.0, lambda r: -r)


def test_theorem_fails_for_a_loss_that_looks_elsewhere(X, rng):
    f = Function(RBF(), X, rng.normal(size=12))
    outcomes = iter([0.0, 1.0])
    with pytest.raises(AssertionError, match="is above"):
        check_representer_theorem(f, X[:3], lambda values: next(outcomes), lambda r: 0.0)


@pytest.mark.parametrize(
    ("wrong", "law"),
    [
        (lambda f, X: 1.01 * f, "Pf and f differ on X"),
        (lambda f, X: Lying(f.kernel, f.X, f.coef, lie="long"), "the projection is longer"),
    ],
)
def test_theorem_finds_a_wrong_projection(X, rng, monkeypatch, wrong, law):
    f = Function(RBF(), X, rng.normal(size=12))
    monkeypatch.setattr(function_laws, "project", wrong)
    monkeypatch.setattr(Lying, "norm", lambda self: 1.01 * Function.norm(self))
    with pytest.raises(AssertionError, match=law):
        check_representer_theorem(f, X[:3], lambda values: 0.0, lambda r: r)
