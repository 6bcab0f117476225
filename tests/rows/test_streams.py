import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from representer.rows.arrays import ArrayRows
from representer.rows.layout import Layout
from representer.rows.streams import Generated, Opened, StreamRows

N = 40_000


@pytest.fixture
def X(rng):
    return rng.normal(size=(N, 3))


def batches(X, size=7000):
    for start in range(0, len(X), size):
        yield X[start : start + size], X[start : start + size, 0]


def moments(X, y, w):
    return X.T @ X, X.T @ y, np.sin(X).sum()


def same(ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("size", [999, 16384, N])
def test_a_stream_has_the_bits_of_the_array(X, size):
    stream, array = StreamRows(Opened(lambda: batches(X, size)), Layout()), ArrayRows(X, X[:, 0])
    same(stream.total(moments), array.total(moments))
    same(stream.sample(100, 3)[:2], array.sample(100, 3)[:2])
    assert (stream.n_rows, stream.n_columns, stream.dtype, stream.names) == (N, 3, np.float64, None)
    (last,) = stream.blocks(first=2)
    same(last[:2], list(array.blocks())[2][:2])


def test_rows_are_counted_when_that_is_asked_first(X):
    stream = StreamRows(Opened(lambda: batches(X)), Layout())
    assert (len(stream), stream.n_blocks) == (N, 3)


def test_arrow_readers_and_data_frames(X):
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "t": X[:, 2]})
    stream = StreamRows(Opened(lambda: table.to_reader(max_chunksize=5000)), Layout("t"))
    array = ArrayRows(X[:, :2], X[:, 2])
    same(stream.total(moments), array.total(moments))
    assert stream.names == ["a", "b"]
    frames = StreamRows(Opened(lambda: [table.to_pandas()]), Layout("t"))
    same(frames.total(moments), array.total(moments))


def test_a_generator_is_read_once(X):
    stream = StreamRows(Generated(batches(X)), Layout())
    stream.require(1, "sums")
    with pytest.raises(ValueError, match=r"reads all rows 17 times \(16 steps and a check\), but they come from a gen"):
        stream.require(17, "16 steps and a check")
    with pytest.raises(ValueError, match="how many rows"):
        len(stream)
    same(stream.total(moments), ArrayRows(X, X[:, 0]).total(moments))
    assert len(stream) == N
    with pytest.raises(ValueError, match="exhausted after one pass, and a second pass was asked for"):
        stream.total(moments)


def test_an_exhausted_generator_is_an_error(X):
    used = batches(X)
    list(used)
    with pytest.raises(ValueError, match="The generator is exhausted or has no rows"):
        StreamRows(Generated(used), Layout())


def test_unequal_batches_are_named(X):
    def unequal():
        yield X[:10]
        yield X[10:20, :2]

    with pytest.raises(ValueError, match="Batch 1 has different columns from those before it: 2 where they have 3"):
        StreamRows(Opened(unequal), Layout()).total(lambda X, y, w: (X.sum(),))
    with pytest.raises(ValueError, match="Batch 1 has no targets, unlike those before it"):
        StreamRows(Opened(lambda: [(X, X[:, 0]), (X,)]), Layout()).map(lambda X, y, w: 0)


def test_empty_batches_are_skipped_with_a_warning(X):
    stream = StreamRows(Opened(lambda: [X[:10], X[:0], X[10:]]), Layout())
    with pytest.warns(UserWarning, match="Batch 1 has no rows and is skipped"):
        (n,) = stream.total(lambda X, y, w: (len(X),))
    assert n == N


@pytest.mark.parametrize(
    "wrap", [lambda batches: Opened(lambda: iter(batches)), lambda batches: Generated(iter(batches))]
)
def test_an_empty_first_batch_is_skipped_too(X, wrap):
    pairs = [(X[:0], X[:0, 0]), (X, X[:, 0])]
    stream = StreamRows(wrap(pairs), Layout())
    assert len(stream.beginning()[0]) == N
    with pytest.warns(UserWarning, match="Batch 0 has no rows and is skipped"):
        same(stream.total(moments), ArrayRows(*pairs[1]).total(moments))
    with pytest.raises(ValueError, match="has no rows; give it at least one"):
        StreamRows(wrap(pairs[:1]), Layout())


@pytest.mark.parametrize("counted", [True, False])
def test_a_pass_may_begin_at_its_end(X, counted):
    for n in (N, 2**15):
        stream = StreamRows(Opened(lambda n=n: batches(X[:n])), Layout())
        if counted:
            assert len(stream) == n
        assert list(stream.blocks(first=-(-n // 2**14))) == []
        assert len(stream) == n


def test_errors_of_a_part_name_the_rows(X):
    def part(X, y, w):
        if len(X) != 16384:
            raise ValueError("this is odd")

    with pytest.raises(ValueError, match=r"In the rows 32768 to 39999 \(counted from there\): this is odd"):
        StreamRows(Opened(lambda: batches(X)), Layout()).total(part)


def test_fingerprints(X):
    def of(*frames, **layout):
        return StreamRows(Opened(lambda: list(frames)), Layout(**layout)).fingerprint

    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    assert of(frame) == of(frame.copy())
    assert len({of(frame), of(frame, target="a"), of(frame + 1), of(frame[["a", "b"]])}) == 4


def test_watchers_hear_of_each_block(X):
    heard = []
    StreamRows(Opened(lambda: batches(X)), Layout()).watched(lambda *told: heard.append(told)).total(moments)
    assert heard == [(0, None), (16384, None), (32768, None), (49152, None)]
    heard.clear()
    ArrayRows(X, X[:, 0]).watched(lambda *told: heard.append(told)).total(moments)
    assert heard == [(0, N), (16384, N), (32768, N), (N, N)]


def test_a_stream_that_is_shorter_when_it_is_opened_again():
    opened = []

    def batches():
        opened.append(True)
        for i in range(3 if len(opened) < 3 else 2):
            yield np.full((4, 2), i), np.arange(4.0)

    data = StreamRows(Opened(batches), Layout())
    assert len(data) == 12
    with pytest.raises(ValueError, match=r"8 came in this pass, and 12 were known; a stream must be the same"):
        data.total(lambda X, y, w: y.sum())
