"""The positive hyper-parameters of a kernel as one vector of logarithms, for optimisers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from representer.kernels.base import Gradients, Kernel
from representer.processes.likelihood import Value


def deviation(Y: np.ndarray) -> np.ndarray:
    """The standard deviation of each column; 1 for a column that is constant to rounding."""
    values = Y.std(axis=0)
    return np.where(values > 10 * np.finfo(np.float64).eps * np.abs(Y).max(axis=0), values, 1.0)


class LogParameters:
    """theta = log of every hyper-parameter that has a gradient and is positive; the others stay as they are.

    Parameters
    ----------
    kernel : Kernel
        With values for all its hyper-parameters.
    inputs : prepared inputs
    """

    def __init__(self, kernel: Kernel, inputs: Any):
        self.kernel = kernel
        some = inputs[: min(2, len(inputs))]
        known = kernel.get_params()
        names = kernel.vjp(some, some, np.zeros((len(some), len(some)), some.dtype))
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


class ProcessParameters:
    """theta of the kernel and, where it is estimated, the logarithm of the noise.

    Parameters
    ----------
    kernel : Kernel
    inputs : prepared inputs
    noise : array of shape (n,)
        The variances, or where the search starts.
    estimate : bool
        Whether the noise is one unknown number.
    """

    def __init__(self, kernel: Kernel, inputs: Any, noise: np.ndarray, estimate: bool):
        self.of_kernel, self.noise, self.estimate = LogParameters(kernel, inputs), noise, estimate
        self.names = self.of_kernel.names + ["noise"] * estimate
        self.start = np.append(self.of_kernel.start, np.log(noise[:1]) if estimate else [])

    def kernel_at(self, theta: np.ndarray) -> Kernel:
        """The kernel with other hyper-parameters."""
        return self.of_kernel.kernel_at(theta[: len(theta) - self.estimate])

    def noise_at(self, theta: np.ndarray) -> np.ndarray:
        """The variance of the noise of each input."""
        return np.full(len(self.noise), np.exp(theta[-1])) if self.estimate else self.noise

    def gradient(self, theta: np.ndarray, value: Value) -> np.ndarray:
        """The gradient of an objective with respect to theta."""
        by_kernel = self.of_kernel.gradient(theta[: len(theta) - self.estimate], value.gradients)
        return np.append(by_kernel, [np.exp(theta[-1]) * value.by_noise.sum()] * self.estimate)


@dataclass(frozen=True)
class LatentParameters:
    """Latent points, landmarks, and logarithms of hyper-parameters and (unless it is given) noise as one vector."""

    parameters: LogParameters
    n: int
    n_components: int
    noise: float | None

    @property
    def names(self) -> list[str]:
        """Names of the logarithms."""
        return self.parameters.names + ["noise"] * (self.noise is None)

    def _split(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        size = len(x) - len(self.names)
        return x[:size].reshape(-1, self.n_components), x[size:]

    def at(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, Kernel, float]:
        """Latent points, landmarks, kernel and noise."""
        points, theta = self._split(x)
        kernel = self.parameters.kernel_at(theta[: len(self.parameters.start)])
        noise = float(np.exp(theta[-1])) if self.noise is None else self.noise
        return points[: self.n], points[self.n :], kernel, noise

    def gradient(
        self, x: np.ndarray, value: float, by_points: np.ndarray, gradients: Gradients, by_noise: float
    ) -> tuple[float, np.ndarray]:
        """The value, and its gradient with respect to the vector."""
        theta = self._split(x)[1]
        by_theta = self.parameters.gradient(theta[: len(self.parameters.start)], gradients)
        last = [by_noise * np.exp(theta[-1])] if self.noise is None else []
        return value, np.concatenate([by_points.ravel(), by_theta, last])
