import itertools

import numpy as np
import pytest
from broken_kernels import Broken, ByPosition
from each_case import each

from representer.gram.low_rank import LowRank
from representer.gram.operator import Meter
from representer.kernels import RBF
from representer.testing import (
    check_gram,
    check_operator,
)


@pytest.fixture
def X(rng):
    return rng.normal(size=(12, 3))


class ByCall(Broken):
    """Another kernel each time, also as a clone."""

    calls = itertools.count()

    def fill(self, A, B, tile):
        super().fill(A, B, tile)
        tile *= 1.0 + 0.01 * next(self.calls)


class NotAdditive(Broken):
    """One per tile, however large."""

    def vjp(self, A, B, W):
        return {"length_scale": 1.0}


class ManyNames(Broken):
    def vjp(self, A, B, W):
        return {f"of {len(B)} columns": 0.0}


class OtherTiles(Broken):
    """k(X, Y) is right, the tiles that products use are not."""

    def __call__(self, X, Y=None, **more):
        return RBF(self.length_scale)(X, Y, **more)

    def fill(self, A, B, tile):
        super().fill(A, B, tile)
        tile *= 1.001


@pytest.mark.parametrize(
    ("kernel", "law"),
    [
        (ByPosition(), r"block\(\) differs from the dense block"),
        (ByCall(), "two products differ in their bits"),
        (OtherTiles(), "K.T @ v is not K' v"),
        (NotAdditive(), r"contract\(.*\) differs for length_scale"),
        (ManyNames(), "contractions name different hyper-parameters"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_check_gram_finds(rng, kernel, law):
    X, Y = rng.normal(size=(300, 2)), rng.normal(size=(270, 2))
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


def test_check_gram_finds_wrong_counts(X, monkeypatch):
    monkeypatch.setattr(Meter, "add", lambda self, count: vars(self).update(evaluations=self.evaluations + 2 * count))
    with pytest.raises(AssertionError, match="two products count 312 values, not 156"):
        check_gram(RBF(), X)


@each(
    ("method", "lie", "law"),
    [
        ("shape", property(lambda self: (8, 7)), r"shape is \(8, 7\), not \(8, 8\)"),
        ("nbytes", -1, "nbytes is negative"),
        ("__matmul__", lambda self, V: (self.factor.T @ (self.factor @ V)).astype("f4"), "product .* is not float64"),
        ("__matmul__", lambda self, V: 1.001 * self.factor.T @ (self.factor @ V), "K @ V differs"),
        ("__rmatmul__", lambda self, V: 1.001 * V @ self.factor.T @ self.factor, "v @ K differs"),
        ("dense", lambda self: 1.001 * self.factor.T @ self.factor, r"dense\(\) differs"),
        ("block", lambda self, i, j: self.factor[:, j].T @ self.factor[:, i], r"block\(\) differs"),
        ("block", lambda self, i, j: self.factor[:, i].T @ self.factor[:, j][:, :7], r"dense\(\) differs.* shapes"),
        ("evaluations", property(lambda self: -next(self.count)), "evaluations fall"),
        ("astype", lambda self, dtype: LowRank(1.001 * self.factor), r"astype\(float32\) differs"),
        ("diag", lambda self: np.ones(8), r"diag\(\) differs"),
        ("take", lambda self, i, j=None: LowRank(self.factor[:, i][:, ::-1]), r"take\(\) @ v differs"),
        ("take", lambda self, i, j=None: Counted(self.factor[:, i]), "not counted by the matrix"),
    ],
)
def test_check_operator_finds(rng, method, lie, law):
    F = rng.normal(size=(3, 8))
    check_operator(LowRank(F), F.T @ F)
    liar = type("Liar", (LowRank,), {method: lie, "count": itertools.count()})(F)
    with pytest.raises(AssertionError, match=law):
        check_operator(liar, F.T @ F)


class Counted(LowRank):
    """It counts products, for itself alone."""

    def __matmul__(self, V):
        self.meter.add(1)
        return super().__matmul__(V)


# ---- functions ----
