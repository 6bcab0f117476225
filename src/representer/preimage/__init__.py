"""Pre-images: inputs whose representers are nearest to functions of H, one method a file."""

from representer.preimage.find import Preimage, preimage

__all__ = ["Preimage", "preimage"]
