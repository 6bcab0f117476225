import numpy as np
import pandas as pd
import pytest

from representer import Gram
from representer.kernels import Spectrum, Tanimoto, WeightedDegree
from representer.kernels.letters import Letters

STRINGS = ["größe", "", "ab", "🙂ab"]


def test_words_and_where_they_begin():
    letters = Letters.of(STRINGS, Spectrum())
    assert len(letters) == 4
    assert letters.lengths.tolist() == [5, 0, 2, 3]
    owners, keys = letters.words(2)
    assert owners.tolist() == [0, 0, 0, 0, 2, 3, 3]
    words = [letters.text(begin, begin + 2) for begin in letters.begins(2)]
    assert words == ["gr", "rö", "öß", "ße", "ab", "🙂a", "ab"]
    assert keys[4] == keys[6]
    assert len(set(keys.tolist())) == 6


@pytest.mark.parametrize("length", [1, 3, 8, 9, 20])
def test_keys_depend_on_the_word_alone(length):
    """Whatever stands before it, and whether other strings have letters that do not fit a packed key."""
    word = "abcdefghijklmnopqrstuvwxyz"[:length]
    alone, among = Letters.of([word], Spectrum()), Letters.of(["xyß", "qq" + word + "ß"], Spectrum())
    places = among.begins(length)
    key = among.words(length)[1][np.flatnonzero(places == 5)]
    assert key == alone.words(length)[1]


def test_tables_of_bytes_and_columns():
    rows = np.frombuffer(b"ACGTAC", np.uint8).reshape(2, 3)
    expected = Spectrum(2)(["ACG", "TAC"])
    for X in (rows, np.array([["ACG"], ["TAC"]]), pd.Series(["ACG", "TAC"])):
        assert np.array_equal(Spectrum(2)(X), expected)


def test_bytes_are_not_rounded():
    """Solvers ask for float32 values first; letters stay what they are."""
    rows = np.frombuffer(b"ACGTAC", np.uint8).reshape(2, 3)
    for kernel in (Spectrum(2), WeightedDegree(2), Tanimoto(packed=True)):
        K = Gram(kernel, rows)
        assert np.array_equal(K.astype(np.float32).dense(), K.dense())


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
def test_missing_strings(missing):
    with pytest.raises(TypeError, match=r"input 1 is .*; use Missing\(Spectrum\(k=2\)\) or drop it"):
        Spectrum(2)(["a", missing])
