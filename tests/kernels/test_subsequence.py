import numpy as np
import pytest

from representer import SVC
from representer.kernels import Normalized, Subsequence
from representer.testing import check_gram, check_kernel

WORDS = ["cat", "car", "", "c", "banana", "bandana", "cabana", "æther", "ether"] * 2


def test_values_by_hand():
    K = Subsequence(2, 0.5)(["cat", "car"])
    assert K[0, 1] == 0.5**4
    assert K[0, 0] == 2 * 0.5**4 + 0.5**6


def test_laws():
    check_kernel(Subsequence(2, 0.6), WORDS)
    check_gram(Normalized(Subsequence(3, 0.9)), WORDS)


def test_lists_of_tokens():
    tokens = [list(word) for word in WORDS]
    assert np.allclose(Subsequence(2)(tokens), Subsequence(2)(WORDS))
    numbers = [np.array([ord(letter) - 98 for letter in word], int) for word in WORDS]  # with -1 and -2
    assert np.allclose(Subsequence(2)(numbers), Subsequence(2)(WORDS))
    sentences = [["a", "good", "day"], ["a", "very", "good", "day"]]
    assert np.isclose(Subsequence(3, 0.5)(sentences)[0, 1], 0.5 ** (3 + 4))


def test_tables_of_one_column():
    for kind in (str, object):
        assert np.array_equal(Subsequence(2)(np.array(WORDS, kind)[:, None]), Subsequence(2)(WORDS))
    letters = np.array([list(b"cat"), list(b"car")], np.uint8)  # and strings as rows of bytes
    assert np.array_equal(Subsequence(2)(letters), Subsequence(2)(["cat", "car"]))


def test_in_an_estimator():
    assert SVC(kernel=Normalized(Subsequence(2))).fit(WORDS[:7], [0, 0, 1, 0, 1, 1, 1]).predict(["cart"]) == [0]


@pytest.mark.parametrize(
    ("kernel", "X", "message"),
    [
        (Subsequence(), [None, "a"], "input 0 is None; .* Missing"),
        (Subsequence(0), ["a"], "length is 0"),
        (Subsequence(2, 1.5), ["a"], "decay is 1.5; it must be above 0 and at most 1"),
        (Subsequence(1000, 0.5), ["a"], "underflows"),
        (Subsequence(200, 1.0), ["a" * 700], "overflow"),
        (Subsequence(), "abc", "X is a single str"),
    ],
)
def test_bad_input_is_refused(kernel, X, message):
    with pytest.raises((TypeError, ValueError), match=message):
        kernel(X)
