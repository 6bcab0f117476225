"""Fitted models as ONNX graphs, which run without this library."""

from representer.onnx.export import Exported, to_onnx

__all__ = ["Exported", "to_onnx"]
