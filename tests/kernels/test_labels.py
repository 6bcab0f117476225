import numpy as np
import pytest

from representer.kernels.labels import key_of, keys_of, name_of


def test_whole_numbers_are_their_own_keys():
    keys, names = keys_of(np.array([3, -1, 0], np.int8))
    assert keys.tolist() == [3, 2**64 - 1, 0]
    assert not names
    assert [name_of(key, names) for key in keys] == [3, -1, 0]


def test_equal_labels_have_equal_keys_and_others_have_other_keys():
    labels = [1, 1.0, True, np.int8(1), "1", b"1", 1.5, None, (1, "a"), ("a", 1), frozenset("ab"), frozenset("ba"), -7]
    keys, names = keys_of(labels)
    assert len(set(keys[:4].tolist())) == 1
    assert len(set(keys[4:].tolist())) == len(labels) - 5  # the two frozensets are equal
    assert [name_of(key, names) for key in keys] == [1, 1, 1, 1, *labels[4:]]
    assert name_of(key_of("é"), keys_of(["é"])[1]) == "é"


def test_keys_are_the_same_in_every_process():
    assert key_of("carbon") == 3015260766126572957
    assert key_of((0.5, "x")) == 10891571773077127064


@pytest.mark.parametrize("label", [float("nan"), [1], object()])
def test_labels_without_a_key_are_refused(label):
    with pytest.raises(TypeError, match=r"node labels hold .* cannot be a label"):
        keys_of(["a", label], "node labels")
