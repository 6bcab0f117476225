import numpy as np
import pytest
from each_case import each

from representer.kernels import HistogramIntersection, MinMax, Normalized, Spectrum, Tanimoto, WeightedDegree
from representer.testing import check_gram, check_kernel

STRINGS = ["ACGTACGT", "ACGTTCGT", "TTTTACGA", "CGTACGTA", "ACGAACGT"]


def value(s, t, kernel):
    """Word by word; words some places apart count less."""
    weights = kernel.level_weights()
    total = 0.0
    for d, weight in enumerate(weights, 1):
        for i in range(len(s) - d + 1):
            for j in range(len(t) - d + 1):
                apart = abs(i - j)
                if apart <= kernel.shift and s[i : i + d] == t[j : j + d]:
                    total += weight * (1.0 if apart == 0 else 0.5 / (apart + 1))
    return total


KERNELS = each(
    "kernel",
    [
        WeightedDegree(3),
        WeightedDegree(1),
        WeightedDegree(12),
        WeightedDegree(3, weights=[1.0, 0.5, 2.0]),
        WeightedDegree(2, shift=3),
        WeightedDegree(2, shift=1, weights=[1.0, 0.2]),
        WeightedDegree(2, shift=20),
    ],
)


@KERNELS
def test_equal_to_enumeration(kernel):
    if kernel.shift > 8:
        with pytest.raises(ValueError, match="shift is 20, but the strings have 8 letters"):
            kernel(STRINGS)
        return
    expected = [[value(s, t, kernel) for t in STRINGS] for s in STRINGS]
    np.testing.assert_allclose(kernel(STRINGS), expected, rtol=1e-14)
    check_kernel(kernel, STRINGS)


def test_weights_fall_with_the_length_of_words():
    assert WeightedDegree(3).level_weights().tolist() == [0.5, 2 / 6, 1 / 6]
    check_gram(Normalized(WeightedDegree(3)), STRINGS)


def test_features_are_words_at_places():
    kernel = WeightedDegree(3, weights=[1.0, 4.0, 9.0])
    values, names = kernel.features(STRINGS)
    np.testing.assert_allclose((values @ values.T).toarray(), kernel(STRINGS), rtol=1e-14)
    first = dict(zip(names, values.toarray()[0], strict=True))
    assert (first["A at 0"], first["CG at 1"], first["CG at 5"], first["CGT at 5"]) == (1.0, 2.0, 2.0, 3.0)
    assert first["TT at 0"] == 0.0
    with pytest.raises(TypeError, match="with a shift has no counted features"):
        WeightedDegree(2, shift=1).features(STRINGS)
    values, _ = WeightedDegree(20).features(STRINGS)
    np.testing.assert_allclose((values @ values.T).toarray(), WeightedDegree(20)(STRINGS), rtol=1e-14)


def test_lengths():
    with pytest.raises(ValueError, match="WeightedDegree needs equal lengths; strings 0 and 2 have 2 and 3"):
        WeightedDegree()(["ab", "cd", "abc"])
    with pytest.raises(ValueError, match="these strings have 1 letters, the others 2"):
        WeightedDegree()(["a"], ["ab"])
    assert WeightedDegree()(["", ""]).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    for compare in (HistogramIntersection(), MinMax(), Tanimoto()):
        with pytest.raises(ValueError, match="these strings have 5 letters, the others 4"):
            WeightedDegree(2, compare=compare)(["ACGTA"], ["ACGT"])
        empty = WeightedDegree(2, compare=compare)(["", ""])
        assert np.array_equal(empty, np.full((2, 2), compare(np.zeros((1, 1)))[0, 0]))
    assert WeightedDegree(2).features(["", ""])[0].sum() == 0.0
    assert Spectrum(2).features(["", ""])[1] == ["no feature"]


@pytest.mark.parametrize("kernel", [WeightedDegree(0), WeightedDegree(3, shift=-1), WeightedDegree(2, weights=[1.0])])
def test_bad_parameters(kernel):
    with pytest.raises(ValueError, match=r"degree is|shift is|weights is"):
        kernel(STRINGS)
