"""The matrix of a kernel on inputs, the only door to K."""

from representer.gram.tiled import Gram

__all__ = ["Gram"]
