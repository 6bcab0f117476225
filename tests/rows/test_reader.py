import threading
import time

import numpy as np
import pytest
from each_case import each

from representer.rows.reader import ahead, recut


def readers():
    return [thread for thread in threading.enumerate() if thread.name == "representer-reader"]


def test_items_come_in_order_and_the_reader_is_one_ahead():
    read = []

    def items():
        for i in range(5):
            read.append(i)
            yield i

    got = []
    for item in ahead(items):
        got.append(item)
        if item == 1:
            for _ in range(100):  # 3 waits for the consumer: 2 is in the queue
                if len(read) == 4:
                    break
                time.sleep(0.01)
            assert read == [0, 1, 2, 3]
    assert got == list(range(5))
    assert not readers()


def test_errors_come_in_their_turn():
    def items():
        yield 1
        raise KeyError("second")

    read = ahead(items)
    assert next(read) == 1
    with pytest.raises(KeyError, match="second"):
        next(read)
    assert not readers()


def test_a_consumer_that_stops_ends_the_reader():
    read = ahead(lambda: iter(range(10**9)))
    assert next(read) == 0
    read.close()
    assert not readers()


@each("lengths", [[10], [1] * 10, [3, 0, 7], [4, 4, 2], [9, 1]])
@each("skip", [0, 4, 10])
def test_blocks_do_not_depend_on_the_lengths_of_batches(lengths, skip):
    X, ends = np.arange(20.0).reshape(10, 2), np.cumsum(lengths)
    batches = ((X[end - n : end], None, X[end - n : end, 0]) for n, end in zip(lengths, ends, strict=True))
    blocks = list(recut(batches, 4, skip))
    assert [len(block[0]) for block in blocks] == [min(4, 10 - start) for start in range(skip, 10, 4)]
    for number, (part, nothing, w) in enumerate(blocks):
        expected = X[skip + 4 * number :][:4]
        np.testing.assert_array_equal(part, expected)
        np.testing.assert_array_equal(w, expected[:, 0])
        assert nothing is None
