"""The gap-weighted subsequence kernel of strings."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer._loops import alignment, subsequences
from representer.kernels import checks
from representer.kernels.base import Gradients, Kernel
from representer.kernels.labels import keys_of
from representer.kernels.letters import unwrapped
from representer.kernels.ragged import Lanes, Ragged, fill_by_lanes

FILLED = -1
"""The padding letter of strings that are interleaved with longer ones. All other letters are nonnegative."""


class Subsequence(Kernel):
    """k(s, t) = the sum of decay^l over words u of p letters and all occurrences of u as a subsequence of s and of t.

    l is the total length of the substrings of s and t that the occurrences span, from the first letter to the last, so
    that gaps are penalised (Lodhi et al., 2002). p is ``length``. The kernel is positive semidefinite for every length
    and decay.

    Parameters
    ----------
    length : int
        Letters of the words. A string that is shorter has none, and its kernel values are zero.
    decay : float
        Between 0 and 1: 1 counts all subsequences equally, and small values favour those without gaps.

    Notes
    -----
    Inputs are strings, or lists of tokens such as words. A value takes O(length |s| |t|) time.

    Examples
    --------
    >>> from representer.kernels import Subsequence
    >>> Subsequence(2, 0.5)(["cat", "car"])
    array([[0.140625, 0.0625  ],
           [0.0625  , 0.140625]])
    """

    on_vectors = False

    def __init__(self, length: int = 3, decay: float = 0.5):
        self.length = length
        self.decay = decay

    def check(self) -> None:
        """Raise if a parameter is out of its range."""
        checks.integer(self.length, "length")
        if not checks.positive(self.decay, "decay") <= 1.0:
            raise ValueError(f"decay is {self.decay!r}; it must be above 0 and at most 1.")
        if self.decay ** (2 * self.length) < np.finfo(np.float64).tiny:
            raise ValueError(f"decay ** {2 * self.length} underflows; use a larger decay or shorter subsequences.")

    def prepare(self, X: Any, like: Ragged | None = None) -> Ragged:
        self.check()
        letters = [_letters(x, i) for i, x in enumerate(checks.objects(unwrapped(X), "Subsequence"))]
        inputs = Ragged.of(letters, np.int64, FILLED)
        with np.errstate(over="ignore"):
            inputs.own = inputs.on_lanes(lambda group: self._values(group, group)[0])
        checks.no_overflow(inputs.own, self)
        return inputs

    def _arguments(self, x: Lanes, y: Lanes) -> tuple:
        # the padding of x must not match that of y
        letters = np.where(x.values == FILLED, FILLED - 1, x.values) if x is y else x.values
        return letters, x.longest, y.values, y.longest, self.length, float(self.decay)

    def _values(self, x: Lanes, y: Lanes) -> tuple[np.ndarray]:
        out = np.empty(alignment.LANES)
        subsequences.lanes(*self._arguments(x, y), out)
        return (out * self.decay ** (2 * self.length),)

    def _slopes(self, x: Lanes, y: Lanes) -> tuple[np.ndarray]:
        out, slopes = np.empty(alignment.LANES), np.empty(alignment.LANES)
        subsequences.lanes_with_slopes(*self._arguments(x, y), out, slopes)
        return (self.decay ** (2 * self.length) * (slopes + 2 * self.length / self.decay * out),)

    def fill(self, A: Ragged, B: Ragged, tile: np.ndarray) -> None:
        fill_by_lanes(A, B, self._values, tile)

    def diagonal(self, A: Ragged) -> np.ndarray:
        return A.own

    def vjp(self, A: Ragged, B: Ragged, W: np.ndarray) -> Gradients:
        slopes = np.empty((len(A), len(B)))
        fill_by_lanes(A, B, self._slopes, slopes)
        return {"decay": float(np.vdot(W, slopes))}


def _letters(x: Any, i: int) -> np.ndarray:
    """Nonnegative integers for letters or tokens, as a column."""
    if isinstance(x, str):
        points = np.frombuffer(bytearray(x.encode("utf-32-le", "surrogatepass")), np.uint32)
        return points.astype(np.int64)[:, None]
    if isinstance(x, list | tuple) or (isinstance(x, np.ndarray) and x.ndim == 1):
        keys = keys_of(x if isinstance(x, np.ndarray) and x.dtype.kind in "iu" else list(x), f"tokens of input {i}")[0]
        # spread over all bits, as one of them is the sign
        return ((keys * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(1)).astype(np.int64)[:, None]
    raise TypeError(
        f"Subsequence needs a list of str, or of lists of tokens, but input {i} is {x!r:.80}; "
        "convert it with str(), or use Missing(Subsequence()) where inputs are missing."
    )
