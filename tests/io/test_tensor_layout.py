"""Arrays come back as safetensors wrote them, and nothing that does not fit is made."""

import io
import json

import numpy as np
import pytest
from each_case import each
from safetensors.numpy import load, save

from representer.io.allowance import SPARE_BYTES, Allowance, MemoryLimitError
from representer.io.tensor_layout import PADDING, TYPE_NAMES, LayoutError, read_layout, write_layout

ARRAYS = {kind: np.arange(6).astype(dtype).reshape(2, 3) for kind, dtype in TYPE_NAMES.items()}


def read(content):
    return read_layout(io.BytesIO(content), Allowance(len(content)))


def test_files_of_safetensors_are_read():
    content = save({**ARRAYS, "none": np.zeros((0, 4)), "number": np.array(2.5)}, {"a": "b"})
    arrays, metadata = read(content)
    assert metadata == {"a": "b"}
    for kind, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[kind], array)
        assert arrays[kind].dtype == array.dtype
        assert arrays[kind].flags.aligned
        assert arrays[kind].flags.writeable
    assert arrays["none"].shape == (0, 4)
    assert arrays["number"].shape == ()


def test_safetensors_reads_what_is_written():
    file, arrays = io.BytesIO(), {**ARRAYS, "none": np.zeros((0, 4)), "number": np.array(2.5)}
    write_layout(file, arrays, {"a": "ü"})
    theirs, (ours, metadata) = load(file.getvalue()), read(file.getvalue())
    assert metadata == {"a": "ü"}
    for name, array in arrays.items():
        np.testing.assert_array_equal(theirs[name], array)
        np.testing.assert_array_equal(ours[name], array)
        assert ours[name].shape == array.shape


def packed(header, data=b"12345678"):
    text = header.encode() if isinstance(header, str) else json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return bytearray(len(text).to_bytes(8, "little") + text + data)


def entry(dtype="F64", shape=(1,), offsets=(0, 8), **more):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets), **more}


@each(
    ("content", "fault"),
    [
        (bytearray(b"123"), "incomplete"),
        (bytearray(b"\xff" * 50), "incomplete"),
        (packed("[" * 10_000), "not JSON"),
        (packed('{"ü":0}'), "not JSON"),
        (packed("[]"), "not a JSON object"),
        (packed({"__metadata__": {"a": 1}}), "metadata are not strings"),
        (packed({"x": entry("C64")}), "'C64', which no model has"),
        (packed({"x": entry(["F64"])}), "which no model has"),
        (packed({"x": entry(shape=[2**62, 2**62])}), "does not fit"),
        (packed({"x": entry(shape=[True])}), "no shape"),
        (packed({"x": entry(shape=[1] * 9)}), "no shape"),
        (packed({"x": entry(offsets=[0, 8, 8])}), "no offsets"),
        (packed({"x": entry(offsets=[8, 16])}), "does not fit"),
        (packed({"x": entry(more=1)}), "no shape"),
        (packed({"x": 3}), "no shape"),
        (packed({"x": entry(), "y": entry()}), "do not fill"),
        (packed({"x": entry()}, b"123456789"), "do not fill"),
        (packed({"x": entry("BOOL", [8])}), "booleans are not 0 or 1"),
        (packed({"padding": entry(), "y": entry(offsets=[8, 16])}, bytes(16)), "not at its end"),
        (packed({"x": entry("U8", [1], [0, 1]), "y": entry(offsets=[1, 9])}, b"123456789"), "not aligned"),
    ],
)
def test_faults(content, fault):
    with pytest.raises(LayoutError, match=fault):
        read(content)


@each("header", ["[" * 1_000_000, {f"{i}": entry("U8", [0], [0, 0]) for i in range(70_000)}])
def test_headers_that_would_take_too_much_memory(header):
    with pytest.raises(MemoryLimitError, match=r"bytes of JSON could take [0-9.]+ MB, and reading"):
        read(packed(header, b""))


def test_files_are_as_long_as_reading_them_takes_memory():
    file = io.BytesIO()
    write_layout(file, ARRAYS, {}, objects=10**8)
    content = file.getvalue()
    assert 2 * len(content) + SPARE_BYTES == pytest.approx(10**8, rel=1e-3)
    allowance = Allowance(len(content))
    arrays, _ = read_layout(io.BytesIO(content), allowance)
    assert PADDING not in arrays
    assert arrays["F64"].base.nbytes < 1000  # the padding is not read
    allowance.take(10**8, "objects")
    np.testing.assert_array_equal(load(content)["F64"], ARRAYS["F64"])
