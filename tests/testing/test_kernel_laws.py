import numpy as np
import pytest
from broken_kernels import Broken, ByPosition

from representer.kernels import RBF, Laplacian, Sigmoid, Spectrum, Stationary
from representer.testing import (
    check_kernel,
)


@pytest.fixture
def X(rng):
    return rng.normal(size=(12, 3))


class WrongShape(Broken):
    def __call__(self, X, Y=None, **more):
        return super().__call__(X[1:] if Y is None else X, Y, **more)


class NotMirrored(Broken):
    def __call__(self, X, Y=None, **more):
        K = super().__call__(X, Y, **more)
        K[0, -1] += 1e-15
        return K


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
    def vjp(self, A, B, W):
        return {name: 1.001 * value for name, value in super().vjp(A, B, W).items()}


class WrongShapeOfContract(Broken):
    def vjp(self, A, B, W):
        return {name: np.full(2, value) for name, value in super().vjp(A, B, W).items()}


class WrongInputGradient(Broken):
    def input_vjp(self, A, B, W):
        return 1.001 * super().input_vjp(A, B, W)


class WrongShapeOfInputGradient(Broken):
    def input_vjp(self, A, B, W):
        return super().input_vjp(A, B, W)[:, :2]


class WrongSquares(Broken):
    def squared_distance_in_H(self, s):
        return 1.001 * super().squared_distance_in_H(s)


class WrongLogarithm(Broken):
    def log_phi(self, s):
        return 1.001 * super().log_phi(s)


class FallsAndRises(Stationary):
    """sin(r) / r, which is positive definite in three dimensions."""

    length_scale = 0.2
    decreasing = True

    def phi(self, s):
        s[...] = np.sinc(np.sqrt(s) / np.pi)


class NotANumber(Broken):
    def diag(self, X):
        return np.full(len(X), np.nan)


class LosesUnseen(Spectrum):
    """Words that the other side does not have are forgotten."""

    rowwise = False

    def prepare(self, X, like=None):
        kept = None if like is None else like.letters
        inputs = super().prepare(X if kept is None else ["".join(c for c in x if c in kept) for x in X])
        inputs.letters = set("".join(X))
        return inputs


class DiagOfParts(Broken):
    def diag(self, X):
        return super().diag(X) * (1.0 if len(X) == 12 else 1.01)


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
        (DiagOfParts(), r"k\(x, x\) depends on the other inputs"),
        (NeverEqual(), "clone.kernel. is not equal"),
        (WrongSquares(), r"radial.squared\(\) is not the squared distance"),
        (WrongLogarithm(), r"radial.log\(\) is not the logarithm"),
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


def test_check_kernel_finds_what_is_lost_of_objects():
    words = ["ab", "aba", "cd", "dcd"]
    check_kernel(Spectrum(1), words)
    with pytest.raises(AssertionError, match=r"k\(x, x\) depends on what x is paired with"):
        check_kernel(LosesUnseen(1), words)


def test_check_kernel_passes_what_is_right(X):
    check_kernel(Broken(), X)
    check_kernel(Laplacian(), X)
    check_kernel(RBF(), X.astype("f4"))
    check_kernel(WrongContract(), X, gradients=False)
    check_kernel(Sigmoid(2.0, -1.0), X)  # indefinite, and it says so


# ---- Gram ----
