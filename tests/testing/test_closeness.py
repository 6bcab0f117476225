import numpy as np
import pytest

from representer.testing.closeness import close


@pytest.mark.parametrize(
    ("actual", "expected", "words"),
    [
        ([1.0, 2.1], [1.0, 2.0], "a law"),
        ([1.0, np.nan], [1.0, 2.0], "a law"),
        ([1.0, 2.0], [[1.0, 2.0]], r"a law: shapes \(2,\) and \(1, 2\)"),
    ],
)
def test_what_differs_breaks_the_law(actual, expected, words):
    with pytest.raises(AssertionError, match=words):
        close(actual, expected, 0.01, "a law")


def test_what_is_near_keeps_it():
    close([1.0, 2.001], [1.0, 2.0], 0.01, "a law")
    close([3.0, 3.0], 3.0, 0.0, "a law")
