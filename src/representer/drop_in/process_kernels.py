"""scikit-learn's Gaussian-process kernels as kernels of this library, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process import kernels as theirs

from representer.drop_in.white_noise import White
from representer.kernels import checks
from representer.kernels.algebra import Power, Product, Scaled, Sum
from representer.kernels.base import Gradients, Kernel
from representer.kernels.constant import Constant
from representer.kernels.dot_product import Cosine, Linear, Polynomial
from representer.kernels.histogram import Chi2
from representer.kernels.periodic import Periodic
from representer.kernels.precomputed import Objects
from representer.kernels.stationary import RBF, Laplacian, Matern, RationalQuadratic

VANISHED_SLOPE = 1e-200
"""Slopes below are those of exponentials that underflow."""


class Foreign(Kernel):
    """A kernel object of scikit-learn, or a user's subclass, without a counterpart in this library.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
    """

    takes_missing = True

    def __init__(self, kernel: Any):
        self.kernel = kernel

    @property
    def on_vectors(self) -> bool:  # type: ignore[override]
        return bool(self.kernel.requires_vector_input)

    def prepare(self, X: Any, like: Objects | None = None) -> Objects:
        return Objects(checks.items(X))

    def fill(self, A: Objects, B: Objects, tile: np.ndarray) -> None:
        tile[...] = self.kernel(A.items, B.items)

    def diagonal(self, A: Objects) -> np.ndarray:
        return np.asarray(self.kernel.diag(A.items), np.float64)

    def vjp(self, A: Objects, B: Objects, W: np.ndarray) -> Gradients:
        """The vjp by the logarithms theta; scikit-learn differentiates only square matrices, so A and B are joined."""
        both = checks.concatenate(A.items, B.items)
        gradient = self.kernel(both, eval_gradient=True)[1][: len(A), len(A) :]
        return {"theta": np.einsum("ij,ijp->p", W, gradient)}


@dataclass(frozen=True)
class Translated:
    """A kernel of this library, and the map from gradients by its hyper-parameters to those by scikit-learn's theta."""

    kernel: Kernel
    slots: tuple[tuple[str, Any], ...] = ()
    """For each entry or array of theta: the name of the hyper-parameter, and its derivative with respect to theta."""

    def inside(self, prefix: str) -> tuple[tuple[str, Any], ...]:
        """The slots of this kernel as a part of another."""
        return tuple((f"{prefix}__{name}", factor) for name, factor in self.slots)

    def gradient(self, gradients: Gradients) -> np.ndarray:
        """The gradient with respect to theta."""
        parts = [np.ravel(factor * np.asarray(gradients[name])) for name, factor in self.slots]
        gradient = np.concatenate(parts) if parts else np.empty(0)
        # exponentials end at 1e-271 instead of 0, and L-BFGS would follow the sign of such a slope away from a bound
        return np.where(np.abs(gradient) < VANISHED_SLOPE, 0.0, gradient)


def from_sklearn(kernel: Any, n_columns: int | None = None) -> Translated:
    """A kernel object of scikit-learn as a kernel of this library, with the same values.

    WhiteKernel becomes `White`, and a kernel without a counterpart here, such as a user's subclass, a `Foreign`.
    """
    if isinstance(kernel, theirs.KernelOperator) and type(kernel) in (theirs.Sum, theirs.Product):
        left, right = from_sklearn(kernel.k1, n_columns), from_sklearn(kernel.k2, n_columns)
        node = Sum if isinstance(kernel, theirs.Sum) else Product
        return Translated(node(left.kernel, right.kernel), left.inside("left") + right.inside("right"))
    if type(kernel) is theirs.Exponentiation and kernel.exponent == int(kernel.exponent) >= 1:
        part = from_sklearn(kernel.kernel, n_columns)
        return Translated(Power(part.kernel, int(kernel.exponent)), part.inside("kernel"))
    if type(kernel) is theirs.ConstantKernel:
        value = float(kernel.constant_value)
        return _with(Constant(value), kernel, {"constant_value": ("value", value)})
    if type(kernel) is theirs.WhiteKernel:
        value = float(kernel.noise_level)
        return _with(White(value), kernel, {"noise_level": ("variance", value)})
    if type(kernel) is theirs.DotProduct:
        square = float(kernel.sigma_0) ** 2
        node = Sum(Constant(square), Linear())
        return _with(node, kernel, {"sigma_0": ("left__value", 2.0 * square)})
    return _of_distance(kernel, n_columns)


def _of_distance(kernel: Any, n_columns: int | None) -> Translated:
    scale: Any = np.squeeze(getattr(kernel, "length_scale", 1.0)).astype(np.float64)[()]
    known: dict[str, tuple[str, Any]] = {"length_scale": ("length_scale", scale)}
    if type(kernel) is theirs.RBF:
        return _with(RBF(scale), kernel, known)
    if type(kernel) is theirs.Matern and (kernel.nu <= 100 or kernel.nu == np.inf):
        return _with(Matern(scale, nu=kernel.nu), kernel, known)
    if type(kernel) is theirs.RationalQuadratic:
        known["alpha"] = ("mixture", float(kernel.alpha))
        return _with(RationalQuadratic(scale, float(kernel.alpha)), kernel, known)
    if type(kernel) is theirs.ExpSineSquared and n_columns == 1:
        known["periodicity"] = ("period", float(kernel.periodicity))
        return _with(Periodic(scale, float(kernel.periodicity)), kernel, known)
    return Translated(Foreign(clone(kernel)), (("theta", 1.0),) if kernel.n_dims else ())


def _with(ours: Kernel, kernel: Any, known: dict[str, tuple[str, Any]]) -> Translated:
    return Translated(ours, tuple(known[each.name] for each in kernel.hyperparameters if not each.fixed))


def to_sklearn(kernel: Kernel) -> Any:
    """A kernel of this library as one of scikit-learn's, where it has one; a length scale that is not given is 1."""
    if isinstance(kernel, Foreign):
        return clone(kernel.kernel)
    if isinstance(kernel, Sum | Product):
        left, right = to_sklearn(kernel.left), to_sklearn(kernel.right)
        return left + right if isinstance(kernel, Sum) else left * right
    if isinstance(kernel, Scaled):
        return theirs.ConstantKernel(kernel.factor) * to_sklearn(kernel.kernel)
    if isinstance(kernel, Power):
        return theirs.Exponentiation(to_sklearn(kernel.kernel), kernel.exponent)
    if isinstance(kernel, Constant):
        return theirs.ConstantKernel(kernel.value)
    if isinstance(kernel, White):
        return theirs.WhiteKernel(kernel.variance)
    scale: Any = 1.0 if (given := getattr(kernel, "length_scale", None)) is None else given
    if isinstance(kernel, Linear) and np.ndim(scale) == 0:
        return theirs.ConstantKernel(float(scale) ** -2) * theirs.DotProduct(0.0, "fixed")
    if isinstance(kernel, RBF):
        return theirs.RBF(scale)
    if isinstance(kernel, Matern):
        return theirs.Matern(scale, nu=kernel.nu)
    if isinstance(kernel, RationalQuadratic) and np.ndim(scale) == 0:
        return theirs.RationalQuadratic(scale, kernel.mixture)
    if isinstance(kernel, Periodic) and np.ndim(scale) == 0 and np.ndim(kernel.period) == 0:
        return theirs.ExpSineSquared(scale, kernel.period)
    if np.ndim(scale) == 0 and (found := _pairwise(kernel, float(scale))) is not None:
        return found
    raise TypeError(f"scikit-learn has no Gaussian-process kernel like {kernel!r}.")


def _pairwise(kernel: Kernel, scale: float) -> Any:
    """A kernel that scikit-learn has by name, which `theirs.PairwiseKernel` evaluates; None for others."""
    if isinstance(kernel, Laplacian | Chi2):
        return theirs.PairwiseKernel(1.0 / scale, metric="laplacian" if isinstance(kernel, Laplacian) else "chi2")
    if isinstance(kernel, Cosine):
        return theirs.PairwiseKernel(1.0, "fixed", metric="cosine")
    if isinstance(kernel, Polynomial):
        options = {"degree": kernel.degree, "coef0": kernel.offset}
        return theirs.PairwiseKernel(scale**-2, metric="poly", pairwise_kernels_kwargs=options)
    return None
