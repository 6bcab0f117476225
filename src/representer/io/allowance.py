"""The memory that reading a file may take: twice the size of the file, and a constant.

What a step will take is summed before the step. Nothing is given back, so that the sum is a bound at any time.
"""

from __future__ import annotations

SPARE_BYTES = 2**23
"""Bytes that reading may take beyond twice the file: small models have more names than numbers."""
PARSED_BYTES = {",": 72, "[": 96, "{": 200, ":": 100}
"""Bytes that each JSON character adds when parsed: an entry with a short string, a list, an object, a key."""


class MemoryLimitError(ValueError):
    """Reading a file would take more memory than it may."""


class Allowance:
    """Counts the memory taken for a file of ``size`` bytes; ``limit`` replaces the usual bound."""

    def __init__(self, size: int, limit: int | None = None):
        self.size, self.taken = size, 0
        self.limit = 2 * size + SPARE_BYTES if limit is None else limit

    def take(self, taken: int, what: str) -> None:
        """Count so many bytes, or raise before anything of that size is made."""
        self.taken += taken
        if self.taken > self.limit:
            raise MemoryLimitError(
                f"{what} could take {taken / 1e6:.3g} MB, and reading {self.size} bytes may take "
                f"{self.limit / 1e6:.3g} MB in all"
            )


def json_bytes(text: str) -> int:
    """Bytes that a JSON text and its parsed form take; one character beyond ASCII makes its whole string wide."""
    wide = 4 if "\\u" in text else 1
    return len(text) * (1 + wide) + sum(each * text.count(sign) for sign, each in PARSED_BYTES.items())


def padding_for(size: int, taken: int) -> int:
    """Bytes by which a file must be longer, so that reading it may take ``taken`` bytes and those of the padding."""
    return max(0, -(-(taken - SPARE_BYTES) // 2) - size)
