"""Labels of any hashable kind as 64-bit keys.

Keys need no table: equal labels get equal keys in different calls and processes. Integers are their own keys; other
labels are hashed, so that two of n labels collide with probability about n^2 / 2^65.
"""

from __future__ import annotations

from hashlib import blake2b
from numbers import Integral, Real
from struct import pack
from typing import Any

import numpy as np


def keys_of(labels: Any, what: str = "labels") -> tuple[np.ndarray, dict[int, Any]]:
    """A key (uint64) for each label, and a dictionary from keys to labels, except integers."""
    if isinstance(labels, np.ndarray) and labels.ndim == 1 and labels.dtype.kind in "biu":
        if labels.dtype == np.uint64:
            return labels.copy(), {}
        return labels.astype(np.int64).view(np.uint64), {}
    known: dict[Any, int] = {}
    keys, names = np.empty(len(labels), np.uint64), {}
    for i, label in enumerate(labels):
        try:
            if label not in known:
                known[label] = key_of(label)
                if not isinstance(label, Integral):
                    names[known[label]] = label
            keys[i] = known[label]
        except TypeError:
            raise TypeError(
                f"The {what} hold {label!r}, which cannot be a label; use numbers, strings, or tuples of them."
            ) from None
    return keys, names


def key_of(label: Any) -> int:
    """The key of one label; equal labels, such as 1 and 1.0, have equal keys."""
    label = label.item() if isinstance(label, np.generic) else label
    whole = _whole(label)
    if whole is not None and abs(whole) < 2**63:
        return whole % 2**64
    return int.from_bytes(blake2b(_bytes(label), digest_size=8).digest(), "little")


def _whole(label: Any) -> int | None:
    """An integral number as an int; None for anything else."""
    if isinstance(label, Integral):
        return int(label)
    return int(float(label)) if isinstance(label, Real) and float(label).is_integer() else None


def _bytes(label: Any) -> bytes:
    """The bytes to hash for a label; raise TypeError for labels of other types."""
    if isinstance(label, str):
        return b"s" + label.encode("utf-8", "surrogatepass")
    if isinstance(label, bytes):
        return b"b" + label
    if label is None:
        return b"n"
    if isinstance(label, Real):
        if label != label:  # NaN does not equal itself
            raise TypeError
        whole = _whole(label)
        return b"f" + (pack("<d", float(label)) if whole is None else str(whole).encode())
    if isinstance(label, tuple | frozenset):
        parts = [key_of(part) for part in label]
        parts = sorted(parts) if isinstance(label, frozenset) else parts
        return b"t" + b"".join(part.to_bytes(8, "little") for part in parts)
    raise TypeError


def name_of(key: int, names: dict[int, Any]) -> Any:
    """The label of a key: from ``names``, else an integer."""
    key = int(key)
    return names[key] if key in names else key - 2**64 * (key >= 2**63)
