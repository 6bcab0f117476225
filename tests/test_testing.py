"""The public laws can fail: each one is broken on purpose, once."""

import itertools

import numpy as np
import pytest

from representer import Function, testing
from representer.kernels import RBF, Laplacian, Sigmoid, Stationary
from representer.losses import Absolute, Squared
from representer.testing import check_function, check_gram, check_kernel, check_loss, check_representer_theorem


@pytest.fixture
def X(rng):
    return rng.normal(size=(12, 3))


class Broken(RBF):
    def __init__(self, length_scale=1.0):
        self.length_scale = length_scale


class WrongShape(Broken):
    def __call__(self, X, Y=None, **more):
        return super().__call__(X[1:] if Y is None else X, Y, **more)


class NotMirrored(Broken):
    def fill_symmetric(self, A, tile):
        self.fill(A, A, tile)
        tile[0, -1] += 1e-15


class AsymmetricFill(Broken):
    def fill(self, A, B, tile):
        super().fill(A, B, tile)
        tile += 0.01 * (A.values[:, :1] - B.values[:, 0])


class WrongDiag(Broken):
    def diag(self, X):
        return 1.001 * super().diag(X)


class WrongDiagonal(Broken):
    def diagonal(self, A):
        return 1.001 * super().diagonal(A)


class Indefinite(Sigmoid):
    definite = True

    def __init__(self, scale=2.0, offset=-1.0):
        super().__init__(scale, offset)


class ByPosition(Broken):
    """Larger away from the diagonal of each tile."""

    definite = False

    def fill(self, A, B, tile):
        super().fill(A, B, tile)
        tile += 0.1 * np.abs(np.arange(len(A))[:, None] - np.arange(len(B)))


class BySize(Broken):
    """Right on the whole, wrong on parts of it."""

    def fill(self, A, B, tile):
        super().fill(A, B, tile)
        if len(A) < 12:
            tile *= 1.01


class NeverEqual(Broken):
    def __eq__(self, other):
        return False

    __hash__ = None


class WrongContract(Broken):
    def pull(self, A, B, W):
        return {name: 1.001 * value for name, value in super().pull(A, B, W).items()}


class WrongShapeOfContract(Broken):
    def pull(self, A, B, W):
        return {name: np.full(2, value) for name, value in super().pull(A, B, W).items()}


class WrongInputGradient(Broken):
    def pull_input(self, A, B, W):
        return 1.001 * super().pull_input(A, B, W)


class WrongShapeOfInputGradient(Broken):
    def pull_input(self, A, B, W):
        return super().pull_input(A, B, W)[:, :2]


class WrongSquares(Broken):
    def squares_from(self, distances):
        return 1.001 * super().squares_from(distances)


class FallsAndRises(Stationary):
    """sin(r) / r, which is positive definite in three dimensions."""

    length_scale = 0.2
    of_distance = True

    def phi(self, s):
        s[...] = np.sinc(np.sqrt(s) / np.pi)


class NotANumber(Broken):
    def diag(self, X):
        return np.full(len(X), np.nan)


@pytest.mark.parametrize(
    ("kernel", "law"),
    [
        (WrongShape(), r"k\(X\) has shape \(11, 11\) for 12 inputs"),
        (NotMirrored(), "not exactly symmetric"),
        (AsymmetricFill(), r"k\(X, X\) differs from k\(X\): off by"),
        (WrongDiag(), r"diag\(X\) is not the diagonal"),
        (NotANumber(), r"diag\(X\) is not the diagonal"),
        (WrongDiagonal(), r"k\(X, X\) differs from k\(X\)"),
        (Indefinite(), "a positive semidefinite kernel has the eigenvalue -"),
        (ByPosition(), "the order of the inputs matters"),
        (BySize(), "a block differs from the whole"),
        (NeverEqual(), "clone.kernel. is not equal"),
        (WrongSquares(), r"squares_from\(\) is not the squared distance"),
        (FallsAndRises(), "does not rise with that of inputs"),
        (WrongContract(), r"contract\(\) is not the derivative of length_scale"),
        (WrongShapeOfContract(), r"the gradient of length_scale has shape \(2,\), its value \(\)"),
        (WrongInputGradient(), r"input_gradient\(\) is not the derivative"),
        (WrongShapeOfInputGradient(), r"input_gradient has shape \(6, 2\) for inputs of shape \(6, 3\)"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_check_kernel_finds(X, kernel, law):
    with pytest.raises(AssertionError, match=law):
        check_kernel(kernel, X)


def test_check_kernel_passes_what_is_right(X):
    check_kernel(Broken(), X)
    check_kernel(Laplacian(), X)
    check_kernel(RBF(), X.astype("f4"))
    check_kernel(WrongContract(), X, gradients=False)
    check_kernel(Sigmoid(2.0, -1.0), X)  # indefinite, and it says so


# ---- Gram ----


class ByCall(Broken):
    """Another kernel each time, also as a clone."""

    calls = itertools.count()

    def fill(self, A, B, tile):
        super().fill(A, B, tile)
        tile *= 1.0 + 0.01 * next(self.calls)


class NotAdditive(Broken):
    """One per tile, however large."""

    def pull(self, A, B, W):
        return {"length_scale": 1.0}


class ManyNames(Broken):
    def pull(self, A, B, W):
        return {f"of {len(B)} columns": 0.0}


class OtherBlocks(Broken):
    """Dense blocks are right, the tiles that products use are not."""

    def block(self, A, B=None, **more):
        return RBF(self.length_scale).block(A, B, **more)

    def fill(self, A, B, tile):
        super().fill(A, B, tile)
        tile *= 1.001


@pytest.mark.parametrize(
    ("kernel", "law"),
    [
        (ByPosition(), r"rows\(\) differs from the dense rows"),
        (ByCall(), r"dense\(\) differs from k\(X, Y\)"),
        (OtherBlocks(), "K @ V differs from the dense product"),
        (NotAdditive(), r"contract\(.*\) differs for length_scale"),
        (ManyNames(), "contractions name different hyper-parameters"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_check_gram_finds(rng, kernel, law):
    X, Y = rng.normal(size=(600, 2)), rng.normal(size=(300, 2))
    check_gram(RBF(), X, Y)
    with pytest.raises(AssertionError, match=law):
        check_gram(kernel, X, Y)


class WrongDiagonalOnce(Broken):
    """The diagonal of the whole is wrong, that of each tile is right."""

    def diagonal(self, A):
        return np.full(len(A), 1.0 if len(A) <= 256 else 1.001)


def test_check_gram_finds_a_wrong_diagonal(rng):
    with pytest.raises(AssertionError, match=r"diag\(\) differs from the diagonal"):
        check_gram(WrongDiagonalOnce(), rng.normal(size=(1100, 2)))


# ---- functions ----


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
    monkeypatch.setattr(testing, "project", wrong)
    monkeypatch.setattr(Lying, "norm", lambda self: 1.01 * Function.norm(self))
    with pytest.raises(AssertionError, match=law):
        check_representer_theorem(f, X[:3], lambda values: 0.0, lambda r: r)


class Shifted(Squared):
    """A conjugate that is wrong by a constant."""

    def conjugate(self, y, v):
        return super().conjugate(y, v) + 0.1


class Steep(Squared):
    """A curvature that is wrong."""

    def curvature(self, y, f):
        return 2.0 * np.ones_like(f)


class Kinked(Absolute):
    """An envelope that is above the loss."""

    def envelope(self, y, f, mu):
        value, v, h = super().envelope(y, f, mu)
        return value + mu, v, h


@pytest.mark.parametrize(
    ("loss", "law"), [(Shifted(), "not v f"), (Steep(), "curvature"), (Kinked(), "envelope is above")]
)
def test_broken_losses_are_found(loss, law, rng):
    with pytest.raises(AssertionError, match=law):
        check_loss(loss, rng.normal(size=20), rng.normal(size=20))
