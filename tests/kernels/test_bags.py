import numpy as np
import pandas as pd
import pytest

from representer import KernelRidge
from representer.kernels import RBF, Bags, Linear, On, Spectrum, bags
from representer.testing import check_gram, check_kernel

RNG = np.random.default_rng(0)
TABLES = [RNG.normal(size=(n, 2)) for n in (3, 1, 5, 2, 4, 1)]
WORDS = [["abab", "ba"], ["ab"], [], ["b", "aba", "bb"], ["bba"]]


def test_means_over_all_pairs():
    K = Bags(RBF(0.7))(TABLES)
    assert np.allclose(K, [[RBF(0.7)(X, Y).mean() for Y in TABLES] for X in TABLES])
    assert np.allclose(Bags(Linear())(TABLES), Linear()(np.array([X.mean(axis=0) for X in TABLES])))


def test_laws(monkeypatch):
    check_kernel(Bags(RBF(0.7)), TABLES)
    check_kernel(Bags(Spectrum(2)), WORDS)
    monkeypatch.setattr(bags, "PIECE_INPUTS", 4)  # several pieces of bags
    check_kernel(Bags(RBF([0.7, 2.0])), TABLES)
    check_gram(Bags(Spectrum(2)), WORDS)


def test_empty_bags_are_zero():
    assert np.all(Bags(Spectrum(2))(WORDS)[2] == 0.0)


def test_frames_in_bags():
    frames = [pd.DataFrame(X, columns=["a", "b"]) for X in TABLES]
    assert np.allclose(Bags(On(RBF(), ["a", "b"]))(frames), Bags(RBF())(TABLES))


def test_scales_come_from_all_inputs():
    assert Bags(RBF()).with_default_scales(TABLES).kernel == RBF().with_default_scales(np.concatenate(TABLES))
    twice = Bags(RBF()).with_default_scales(TABLES[:2], np.array([2.0, 1.0])).kernel.length_scale
    assert twice == pytest.approx(Bags(RBF()).with_default_scales([*TABLES[:2], TABLES[0]]).kernel.length_scale)


def test_the_mean_of_a_bag_is_learned():
    X = [RNG.normal(m, 1.0, size=(20, 1)) for m in np.linspace(-2, 2, 40)]
    y = [x.mean() for x in X]
    assert KernelRidge(1e-3, kernel=Bags(RBF())).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.95


@pytest.mark.parametrize(
    ("X", "message"),
    [(["ab", "ba"], "Bag 0 is 'ab'"), ([1.0, 2.0], "Bag 0 is 1.0"), ([[], []], "All bags are empty")],
)
def test_bad_bags_are_refused(X, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Bags(RBF())(X)
