"""Model files with one fault each: flipped bits, lost ends, forged documents whose hash fits, impossible arrays, and
JSON that takes many times its text when it is parsed."""

import json
from hashlib import sha256

import numpy as np

from representer.io.tensor_layout import PADDING, TYPE_NAMES

STRANGE = [
    *(None, True, -1, 0, 3, 10**40, 1e308, "", "RBF", "object", "C", "F", "O"),
    *([0], [5], [10**9], [], {}, [[]], {"a": [0]}),
]
DEEP = "[" * 300 + "]" * 300
SWELLING = [
    *("[]", "{}", "1000", "1.5", '"a"', '"#"', '[["#"]]', '{"#":0}', '{"a":{"a":[0]}}', '"#":0', "[" * 90 + "]" * 90),
    *('["set",[]]', '["float","nan"]', '["dtype","<f8"]', '["object","estimators.GaussianProcessRegressor",{},{}]'),
    *('"\\ud83d\\ude00"', f'"{"a" * 100}\\ud83d\\ude00"', '["list",[]]', '["object","kernels.RBF",{},{}]'),
]
"""Parts of JSON, of which there are many; # is another number in each."""

UNPACKED = [
    *(
        ["numbers", [0]],
        ["scalars", [0]],
        ["mixed", [[1]], [0]],
        ["dates", [0], "<M8[D]"],
        ["csr", [0], [0], [0], [9, 9]],
    ),
    *(["split", [1], [0], kind] for kind in ("list", "tuple", "set", "frozenset", "dict", "array")),
    *(["frame", "pandas", [["x", kind, [0], None]]] for kind in ("", "Int64", "boolean", "str")),
    *(["frame", "polars", [["x", "", [0], None]]], ["frame", "pandas", [["x", "category", [0], [0]]]]),
    *(["frame", library, [["x", "Int64", [0], [0]]]] for library in ("pandas", "polars")),
]
"""Nodes that make objects of array 0."""


class Damages:
    """Damaged copies of one file; what is parsed is parsed once."""

    def __init__(self, content, seed):
        length = int.from_bytes(content[:8], "little")
        self.content, self.data = content, content[8 + length :]
        self.header = content[8 : 8 + length].decode()
        entries = json.loads(self.header)
        self.metadata = entries.pop("__metadata__")
        self.document = self.metadata["document"]
        self.arrays = json.dumps(entries)
        self.names = sorted(entries)
        self.paths = list(_paths(json.loads(self.document)))
        self.rng = np.random.default_rng(seed)
        self.drawn = iter(())
        self.rest = b""  # of the hash: all arrays behind the document
        for name in self.names:
            if name == PADDING:  # which is not read
                continue
            start, stop = entries[name]["data_offsets"]
            kind, shape = TYPE_NAMES[entries[name]["dtype"]], tuple(entries[name]["shape"])
            self.rest += f"{name} {kind} {shape}".encode() + self.data[start:stop]

    def draw(self, below):
        """A random number, of which many are drawn at a time."""
        number = next(self.drawn, None)
        if number is None:
            self.drawn = iter(self.rng.random(1000).tolist())
            number = next(self.drawn)
        return int(number * below)

    def flipped(self):
        data = bytearray(self.content)
        for _ in range(1 + self.draw(3)):
            data[self.draw(len(data))] ^= 1 << self.draw(8)
        return bytes(data)

    def cut(self):
        return self.content[: self.draw(len(self.content))] + bytes(7 * self.draw(3))

    def resized(self):
        """An array of another shape, type or place than its bytes."""
        entries = json.loads(self.header)
        entry = entries[self.names[self.draw(len(self.names))]]
        change = self.draw(3)
        if change == 0:
            entry["shape"] = [(0, 1, 2**40, 2**62, 10**400, -1)[self.draw(6)]] * (1 + self.draw(3))
        elif change == 1:
            entry["dtype"] = ("F64", "F32", "I8", "BF16", "BOOL", "C64", "F8_E5M2", "X")[self.draw(8)]
        else:
            entry["data_offsets"] = sorted(self.draw(2 * len(self.data) + 1) for _ in range(2))
        return _joined(json.dumps(entries), self.data)

    def forged(self):
        """A document in which one value was exchanged for a strange one, or for one from elsewhere in it."""
        document = json.loads(self.document)
        holder, key = _at(document, self.paths[self.draw(len(self.paths))])
        if self.draw(2):
            holder[key] = STRANGE[self.draw(len(STRANGE))]
            return self._signed(json.dumps(document))
        other, name = _at(document, self.paths[self.draw(len(self.paths))])
        holder[key] = None if other[name] is holder or self.draw(50) == 0 else other[name]
        try:
            text = json.dumps(document)
        except ValueError:  # a value inside itself
            text = self.document.replace("[", DEEP, 1)
        return self._signed(text)

    def swollen(self):
        """Many small parts in the header, in the document or among its values."""
        return self.swollen_by(SWELLING[self.draw(len(SWELLING))], 10 ** (3 + self.draw(3)), self.draw(3))

    def swollen_by(self, part, letters, place):
        """About so many letters of such parts; places are 0, 1 and 2."""
        count = letters // len(part)
        parts = ",".join([part] * count if "#" not in part else [part.replace("#", f"{i}") for i in range(count)])
        more = f'"more":{{{parts}}},' if part.startswith('"#":') else f'"more":[{parts}],'
        if place == 0:
            return _joined("{" + more + self.header[1:], self.data)
        if place == 1 or part.startswith('"#":'):
            return self._signed("{" + more + self.document[1:])
        return self._signed(self.document.replace('"values":[', f'"values":[{parts},', 1))

    def unpacked(self):
        """A long array of zeros that is unpacked into many objects."""
        kind, node = list(TYPE_NAMES)[self.draw(len(TYPE_NAMES))], UNPACKED[self.draw(len(UNPACKED))]
        return self.unpacked_by(kind, node, 10 ** (3 + self.draw(3)))

    def unpacked_by(self, kind, node, count):
        """So many zeros of this type, in place of all other arrays, unpacked by this node."""
        data = bytes(count * np.dtype(TYPE_NAMES[kind]).itemsize)
        text = json.dumps({"root": [2], "values": [["array", "0", "C"], ["list", []], node]})
        digest = sha256(text.encode() + f"0 {TYPE_NAMES[kind]} {(count,)}".encode() + data).hexdigest()
        entry = {"dtype": kind, "shape": [count], "data_offsets": [0, len(data)]}
        return _joined(
            json.dumps({"__metadata__": self.metadata | {"document": text, "sha256": digest}, "0": entry}), data
        )

    def _signed(self, document):
        digest = sha256(document.encode() + self.rest).hexdigest()
        metadata = json.dumps(self.metadata | {"document": document, "sha256": digest})
        return _joined(f'{{"__metadata__":{metadata},{self.arrays[1:]}', self.data)


def damages(content, count, seed):
    """So many damaged copies of a file."""
    made = Damages(content, seed)
    kinds = made.flipped, made.cut, made.forged, made.forged, made.resized
    for i in range(count):
        yield made.swollen() if i % 100 == 99 else made.unpacked() if i % 100 == 49 else kinds[i % 5]()


def _joined(header, data):
    text = header.encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data


def _paths(value, path=()):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield (*path, key)
        yield from _paths(part, (*path, key))


def _at(document, path):
    for key in path[:-1]:
        document = document[key]
    return document, path[-1]
