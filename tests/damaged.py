"""Model files with one fault each: flipped bits, lost ends, and forged documents whose hash fits."""

import json
from hashlib import sha256

import numpy as np

STRANGE = [
    None,
    True,
    -1,
    0,
    3,
    10**40,
    1e308,
    "",
    "RBF",
    "object",
    [0],
    [5],
    [10**9],
    [],
    {},
    [[]],
    {"a": [0]},
    "C",
    "F",
    "O",
]


def damages(content, count, seed):
    """So many damaged copies of a file."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        yield (_flipped, _cut, _forged, _forged, _resized)[i % 5](content, rng)


def _flipped(content, rng):
    data = bytearray(content)
    for place in rng.integers(len(data), size=rng.integers(1, 4)):
        data[place] ^= 1 << int(rng.integers(8))
    return bytes(data)


def _cut(content, rng):
    return content[: int(rng.integers(len(content)))] + bytes(int(rng.integers(3)) * 7)


def _parts(content):
    length = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def _joined(header, data):
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def _resized(content, rng):
    """An array of another shape or type than its bytes."""
    header, data = _parts(content)
    name = str(rng.choice([name for name in header if name != "__metadata__"]))
    entry = header[name]
    change = int(rng.integers(3))
    if change == 0:
        entry["shape"] = [int(rng.choice([0, 1, 2**40, 2**62]))] * int(rng.integers(1, 4))
    elif change == 1:
        entry["dtype"] = str(rng.choice(["F64", "F32", "I8", "BF16", "BOOL", "C64", "F8_E5M2", "X"]))
    else:
        entry["data_offsets"] = sorted(map(int, rng.integers(0, 2 * len(data) + 1, 2)))
    return _joined(header, data)


def _forged(content, rng):
    """A document in which one value was exchanged, with a hash that fits."""
    header, data = _parts(content)
    metadata = header["__metadata__"]
    document = json.loads(metadata["document"])
    places = list(_places(document))
    holder, key = places[int(rng.integers(len(places)))]
    other, name = places[int(rng.integers(len(places)))]
    holder[key] = (
        STRANGE[int(rng.integers(len(STRANGE)))] if rng.random() < 0.5 else json.loads(json.dumps(other[name]))
    )
    metadata["document"] = json.dumps(document)
    metadata["sha256"] = _digest(metadata["document"], header, data)
    return _joined(header, data)


def _places(value):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield value, key
        yield from _places(part)


TYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U8": "|u1", "BOOL": "|b1"}


def _digest(document, header, data):
    digest = sha256(document.encode())
    for name in sorted(name for name in header if name != "__metadata__"):
        start, stop = header[name]["data_offsets"]
        digest.update(
            f"{name} {TYPES[header[name]['dtype']]} {tuple(header[name]['shape'])}".encode() + data[start:stop]
        )
    return digest.hexdigest()
