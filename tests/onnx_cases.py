"""Exported models in onnxruntime, and the accuracy that they must have."""

import numpy as np
import onnxruntime
from sklearn.datasets import load_iris

from representer import to_onnx

ACCURACY = {np.float64: 1e-10, np.float32: 1e-4}
X, LABELS = load_iris(return_X_y=True)
X, LABELS = X[::3], LABELS[::3]
WORDS = np.array(["a", "b", "c"])[LABELS]
Y = np.stack([np.sin(X[:, 0]), X[:, 1]], axis=1)
NEW = X[:7] + 0.1


def run_proto(proto, rows, names):
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    return dict(zip(names, session.run(list(names), {"X": rows}), strict=True))


def run(model, rows=NEW, dtype=np.float64):
    exported = to_onnx(model, dtype)
    return run_proto(exported.proto, rows.astype(dtype), exported.outputs)


def close(found, known, dtype=np.float64):
    """Equal to the accuracy of a precision, relative to the largest value."""
    assert found.shape == known.shape
    accuracy = ACCURACY[dtype]
    np.testing.assert_allclose(found, known, rtol=accuracy, atol=accuracy * np.abs(known).max())
