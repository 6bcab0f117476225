import naive
import numpy as np
import pandas as pd
import pytest
from each_case import each

from representer.kernels import Normalized, Spectrum
from representer.kernels.letters import Letters
from representer.kernels.strings import reverse_complement
from representer.testing import check_kernel

SHORT = ["ACGT", "ACGACG", "", "A", "TTTT", "CGA", "ACGT"]
UNICODE = [
    "größe größer",
    "größte",
    "名前は名前",
    "前は",
    "🙂🙃🙂🙃",
    "🙃🙂",
    "e\u0301",
    "\ud800a\ud800a",
    "a\x00a\x00",
    "",
]


def random_strings(n, length, letters, seed=0):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list(letters), rng.integers(0, length))) for _ in range(n)]


@each("k", [1, 2, 3, 5])
@each("X", [SHORT, UNICODE, random_strings(8, 30, "ab"), ["", "a"], ["", ""]])
def test_equal_to_enumeration(X, k):
    assert np.array_equal(Spectrum(k)(X), naive.matrix(Spectrum(k), X))


@pytest.mark.parametrize("letters", ["AC", "ACGTacgt"])
def test_long_words(letters):
    """Words of 40 letters of an alphabet of two are numbers below 2^62; of eight letters they are not."""
    base = random_strings(3, 300, letters, seed=1)
    X = [*base, base[0] + base[1], base[1] * 2, base[2][:39]]
    K = Spectrum(40)(X)
    assert np.array_equal(K, naive.matrix(Spectrum(40), X))
    assert K[0, 3] > 0
    assert np.array_equal(Spectrum(40)(X[3:], X[:3]), naive.matrix(Spectrum(40), X[3:], X[:3]))


@each("k", [3, 62, 63, 64, 66, 100, 124, 125, 299, 301, 10**9])
def test_words_of_any_length(k):
    """Up to 62 letters of two are one number; longer words are pairs, pairs of pairs, or overlap."""
    new, train = random_strings(2, 300, "ab", seed=2), random_strings(3, 300, "ab", seed=3)
    train = [*train, new[0] * 2, "c" + new[1], new[0][:250] + "c" + new[0][250:], ""]
    assert np.array_equal(Spectrum(k)(train), naive.matrix(Spectrum(k), train))
    assert np.array_equal(Spectrum(k)(new, train), naive.matrix(Spectrum(k), new, train))
    assert np.array_equal(Spectrum(k)(train, new), naive.matrix(Spectrum(k), train, new))
    pure = ["a" * 70, "b" + "a" * 69, "b" * 70]  # differ in the leading digits of their numbers
    assert np.array_equal(Spectrum(k)(pure), naive.matrix(Spectrum(k), pure))
    assert not Spectrum(k)(["c" * 70], pure).any()


def test_memory_does_not_grow_with_the_length_of_words(peak_of):
    """Of two strings that differ in the last letter; all words written out would take 180 MB."""
    s = "".join(np.random.default_rng(0).choice(list("ACGT"), 6000))
    peak, K = peak_of(lambda: Spectrum(3000)([s, s[:-1] + "x"]))
    assert K.tolist() == [[3001.0, 3000.0], [3000.0, 3001.0]]
    assert peak < 5e6


@each("k", [1, 2, 3])
@each(
    ("new", "train"),
    [
        (["ACG", "XYZ", "", "AXCG"], SHORT),
        (SHORT, ["ACG"]),
        (["zzz", "~~~"], ["aaa", "mmm"]),
        (["   ", "abc"], ["", "a"]),
        (["", "a"], ["abc", "   "]),
        (UNICODE, UNICODE[::2]),
    ],
)
def test_words_that_one_side_has_not_seen(new, train, k):
    kernel = Spectrum(k)
    assert np.array_equal(kernel(new, train), naive.matrix(kernel, new, train))
    prepared = kernel.prepare(new, like=kernel.prepare(train))
    assert np.array_equal(kernel.diagonal(prepared), naive.matrix(kernel, new).diagonal())


@pytest.mark.parametrize("k", [1, 3])
def test_laws(k):
    check_kernel(Spectrum(k), random_strings(20, 30, "ACGT"))
    check_kernel(Normalized(2.0 * Spectrum(k) + 1.0), SHORT)


@pytest.mark.parametrize(
    "kernel", [Spectrum(3, weights=[0.5, 0.1, 2.0]), Spectrum(2, both_strands=True), Spectrum(10, both_strands=True)]
)
def test_blended_words_and_both_strands(kernel):
    X = [s for s in SHORT if set(s) <= set("ACGT")] + random_strings(5, 40, "ACGT", seed=4)
    np.testing.assert_allclose(kernel(X), naive.matrix(kernel, X), rtol=1e-14)
    check_kernel(kernel, X)


def test_reverse_complement():
    letters = Letters.of(["ACGTN", "aacg", "RY"], Spectrum())
    other = reverse_complement(letters)
    assert [other.text(*other.starts[i : i + 2]) for i in range(3)] == ["NACGT", "cgtt", "RY"]
    with pytest.raises(ValueError, match="String 1 has the letter 'Z', which is not a nucleotide"):
        Spectrum(2, both_strands=True)(["ACGT", "AZ"])
    values, names = Spectrum(2, both_strands=True).features(["AAC"])
    assert dict(zip(names, values.toarray()[0], strict=True)) == {"AA": 1.0, "AC": 1.0, "GT": 1.0, "TT": 1.0}


def test_by_hand():
    assert Spectrum(2)(["banana"], ["ananas", "bandana"]).tolist() == [[2 * 2 + 2 * 2, 1 + 2 * 2 + 2]]


def test_other_lists_of_strings():
    expected = Spectrum(2)(SHORT)
    for X in (tuple(SHORT), np.array(SHORT), np.array(SHORT, object), pd.Series(SHORT, index=range(5, 12))):
        assert np.array_equal(Spectrum(2)(X), expected)


def test_no_gradients():
    assert Spectrum().contract(["abc"], np.ones((1, 1))) == {}
    with pytest.raises(TypeError, match="Spectrum has no gradient with respect to its inputs"):
        Spectrum().input_gradient(["abc"], ["abd"], np.ones((1, 1)))


@pytest.mark.parametrize(
    ("X", "place", "what"), [(["abc", 3], 1, "3"), ([b"abc"], 0, "b'abc'"), (["a", None], 1, "None")]
)
def test_not_strings(X, place, what):
    with pytest.raises(TypeError, match=f"Spectrum needs a list of str, but input {place} is {what}"):
        Spectrum()(X)


def test_a_table_is_not_a_list_of_strings():
    with pytest.raises((TypeError, ValueError), match="pick the column for Spectrum with On"):
        Spectrum(1)(pd.DataFrame({"a": ["x", "y", "z"], "b": ["p", "q", "r"]}))


@pytest.mark.parametrize("k", [0, -1, 2.0, "3", None])
def test_bad_length(k):
    with pytest.raises(ValueError, match=r"k is .* integer, at least 1"):
        Spectrum(k)(SHORT)
