"""An ONNX graph that grows node by node."""

from __future__ import annotations

from typing import Any

import numpy as np

OPSET = 18


def library() -> Any:
    """The package `onnx`; raise if it is not installed."""
    try:
        import onnx
        import onnx.numpy_helper
    except ImportError as error:
        raise ImportError("to_onnx needs the package onnx; install it by pip install 'representer[onnx]'.") from error
    return onnx


class Graph:
    """Nodes and constants; every result has a unique name.

    Parameters
    ----------
    dtype : float64 or float32
        Of all floating-point numbers.
    """

    def __init__(self, dtype: Any):
        self.onnx, self.dtype = library(), np.dtype(dtype)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: Any) -> str:
        """The name of an array; floats in the precision of the graph."""
        value, name = np.asarray(value), f"c{len(self.constants)}"
        value = value.astype(self.dtype) if value.dtype.kind == "f" else value
        self.constants.append(self.onnx.numpy_helper.from_array(np.array(value, order="C"), name))
        return name

    def add(self, kind: str, *inputs: Any, name: str | None = None, **attributes: Any) -> str:
        """The name of the result of an operator; arrays and numbers among the inputs become constants."""
        names = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        out = name or f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, names, [out], **attributes))
        return out

    def sum(self, values: str, axis: int) -> str:
        """The sum along an axis, which is kept with length one."""
        return self.add("ReduceSum", values, np.array([axis], np.int64), keepdims=1)

    def ascending(self, values: str, size: int) -> str:
        """Each row of values, of this size, in ascending order."""
        out = f"ascending{len(self.nodes)}"
        names = [values, self.constant(np.array([size], np.int64))]
        self.nodes.append(self.onnx.helper.make_node("TopK", names, [out, f"{out}_places"], axis=1, largest=0))
        return out

    def labels(self, classes: np.ndarray, index: str) -> tuple[Any, int]:
        """Add a node "label", the class of each index; returns its dtype and number of dimensions."""
        if classes.dtype.kind not in "biuf":
            self.add("Gather", np.array([str(each) for each in classes], object), index, name="label")
            return str, 1
        kind = self.dtype if classes.dtype.kind == "f" else np.dtype(np.int64)
        self.add("Gather", classes.astype(kind), index, name="label")
        return kind, 1

    def model(self, n_columns: int, outputs: dict[str, Any], metadata: dict[str, str]) -> Any:
        """The checked model from rows "X" to outputs, each with a numpy dtype or str and its number of dimensions."""
        helper = self.onnx.helper
        kinds = {
            name: self.onnx.TensorProto.STRING if kind is str else helper.np_dtype_to_tensor_dtype(np.dtype(kind))
            for name, (kind, _) in outputs.items()
        }
        number = helper.np_dtype_to_tensor_dtype(self.dtype)
        graph = helper.make_graph(
            self.nodes,
            "representer",
            [helper.make_tensor_value_info("X", number, ["n", n_columns])],
            [
                helper.make_tensor_value_info(name, kinds[name], ["n", None][:size])
                for name, (_, size) in outputs.items()
            ],
            self.constants,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="representer")
        model.ir_version = 9  # the version of this opset, for older runtimes
        helper.set_model_props(model, metadata)
        self.onnx.checker.check_model(model)
        return model
