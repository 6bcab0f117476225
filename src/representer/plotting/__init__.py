"""Pictures: displays that compute first and draw later, with matplotlib."""

from representer.plotting.preimage import ImageRowsDisplay

__all__ = ["ImageRowsDisplay"]
