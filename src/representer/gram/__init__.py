"""The Gram matrix K of a kernel on inputs, the only way to its values."""

from representer.gram.tiled import Gram

__all__ = ["Gram"]
