"""The positive hyper-parameters of a kernel as one vector of logarithms, for optimisers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from representer.kernels.base import Gradients, Kernel


def largest(name: str) -> float:
    """The logarithm of the largest value of a hyper-parameter with a range of its own, infinity for others."""
    return np.log(0.999) if name.split("__")[-1] == "hurst" else np.inf


class LogParameters:
    """theta = log of every hyper-parameter that has a gradient and is positive; the others stay as they are.

    Parameters
    ----------
    kernel : Kernel
        All its hyper-parameters have values.
    inputs : prepared inputs
    """

    def __init__(self, kernel: Kernel, inputs: Any):
        self.kernel = kernel
        some = inputs[: min(2, len(inputs))]
        known = kernel.get_params()
        names = kernel.pull(some, some, np.zeros((len(some), len(some)), some.dtype))
        self.values = {
            name: np.asarray(1.0 if known[name] is None else known[name], np.float64)
            for name in names
            if known[name] is None or np.all(np.asarray(known[name]) > 0)
        }

    @property
    def names(self) -> list[str]:
        """A name for each entry of theta."""
        return [f"{n}[{i}]" if v.ndim else n for n, v in self.values.items() for i in range(v.size)]

    @property
    def start(self) -> np.ndarray:
        """theta of the kernel as it was given."""
        return np.log(np.concatenate([value.ravel() for value in self.values.values()] or [np.empty(0)]))

    def kernel_at(self, theta: np.ndarray) -> Kernel:
        """The kernel with other hyper-parameters."""
        return clone(self.kernel).set_params(**self._split(np.exp(theta)))

    def gradient(self, theta: np.ndarray, gradients: Gradients) -> np.ndarray:
        """The gradient with respect to theta from that with respect to the values."""
        parts = [np.ravel(gradients[name]) for name in self.values]
        return np.exp(theta) * np.concatenate(parts or [np.empty(0)])

    def _split(self, flat: np.ndarray) -> dict[str, Any]:
        sizes = np.cumsum([value.size for value in self.values.values()])[:-1]
        parts = np.split(flat, sizes) if self.values else []
        return {
            name: part.reshape(value.shape) if value.ndim else float(part[0])
            for (name, value), part in zip(self.values.items(), parts, strict=True)
        }
