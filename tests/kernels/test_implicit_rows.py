import numpy as np
import pytest
from each_case import each

from representer import SVC
from representer.kernels import (
    RBF,
    Cosine,
    GappedKmer,
    HistogramIntersection,
    Linear,
    MinMax,
    Mismatch,
    Polynomial,
    Tanimoto,
    WeightedDegree,
)
from representer.testing import check_gram, check_kernel

STRINGS = ["ACGTACGT", "ACGTTCGT", "TTTTACGA", "CGTACGTA", "ACGAACGT"]
COMPARISONS = [Linear(2.0), RBF(3.0), Polynomial(2, length_scale=4.0), Cosine(), Tanimoto(), MinMax()]
KERNELS = [GappedKmer(4, 2), Mismatch(3, 1, both_strands=True), WeightedDegree(3)]


@each("compare", [*COMPARISONS, HistogramIntersection()])
@each("kernel", KERNELS)
def test_equal_to_a_comparison_of_the_counts(kernel, compare):
    if compare.compares_by == "minima":  # whose features are weighted themselves, not by the root of their weights
        kernel = WeightedDegree(3, weights=np.ones(3)) if isinstance(kernel, WeightedDegree) else kernel
    rows = kernel.features(STRINGS)[0].toarray()
    compared = type(kernel)(**{**kernel.get_params(), "compare": compare})
    np.testing.assert_allclose(compared(STRINGS), compare(rows), rtol=1e-13)
    np.testing.assert_allclose(compared(STRINGS[:2], STRINGS[1:]), compare(rows[:2], rows[1:]), rtol=1e-13)
    np.testing.assert_allclose(compared.diag(STRINGS), compare.diag(rows), rtol=1e-13)


@pytest.mark.parametrize(
    "kernel",
    [
        GappedKmer(4, 2, compare=RBF(3.0)),
        Mismatch(3, compare=Tanimoto()),
        WeightedDegree(3, weights=[1.0, 0.5, 2.0], compare=RBF(2.0)),
        WeightedDegree(2, weights=[1.0, 0.5], compare=MinMax()),
        WeightedDegree(2, shift=2, weights=[1.0, 0.2], compare=Tanimoto()),
        WeightedDegree(2, shift=1, weights=[1.0, 0.2], compare=Polynomial(2)),
    ],
    ids=repr,
)
def test_laws_and_gradients(kernel):
    check_kernel(kernel, STRINGS)


def test_length_scales_come_from_the_counts():
    kernel = GappedKmer(4, 2, compare=RBF())
    rows, weights = kernel.set_params(compare=None).features(STRINGS)[0].toarray(), np.array([1.0, 2.0, 0.0, 1.0, 3.0])
    kernel.set_params(compare=RBF())
    for share in (None, weights):
        found = kernel.with_default_scales(STRINGS, share).compare.length_scale
        assert found == pytest.approx(RBF().with_default_scales(rows, share).length_scale, rel=1e-12)
    assert kernel.with_default_scales(STRINGS[:1]).compare.length_scale == 1.0
    model = SVC(kernel=kernel).fit(STRINGS, [0, 0, 1, 1, 0])
    assert model.kernel_.compare.length_scale == kernel.with_default_scales(STRINGS).compare.length_scale


def test_in_tiles():
    rng = np.random.default_rng(0)
    strings = ["".join(row) for row in rng.choice(list("ACGT"), (300, 8))]
    kernel = WeightedDegree(2, compare=RBF(2.0))
    check_gram(kernel, strings[:9])
    K = kernel(strings)
    assert np.array_equal(K[:40, 40:], kernel(strings[:40], strings[40:]))
    assert kernel.with_default_scales(strings).compare.length_scale == 2.0


def test_what_cannot_be_compared():
    with pytest.raises(ValueError, match="counts are compared by Linear"):
        GappedKmer(4, 2, compare=RBF([1.0, 2.0]))(STRINGS)
    with pytest.raises(TypeError, match="which names and sums of minima need; use shift=0"):
        WeightedDegree(2, shift=1, compare=MinMax())(STRINGS)
    with pytest.raises(TypeError, match="compares counts by another kernel"):
        GappedKmer(4, 2, compare=RBF()).features(STRINGS)
    with pytest.raises(ValueError, match=r"equal lengths; these strings have 2 letters, the others 8"):
        WeightedDegree(compare=RBF())(["AC"], STRINGS)
    assert GappedKmer(4, 2, compare=Cosine())(["AC", "ACGT"]).tolist() == [[0.0, 0.0], [0.0, 1.0]]
