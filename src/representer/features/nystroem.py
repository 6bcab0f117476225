"""Nystroem's approximation: the span of k(z, .) for landmarks z."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from representer.features.landmarks import check_rule, chosen
from representer.features.span import Span, fitted_part
from representer.kernels import checks
from representer.kernels.base import Kernel
from representer.kernels.basis import Centres

MOST_CENTRES, FEWEST_CENTRES = 2000, 256
"""Bounds on the default number of landmarks, 10 sqrt(n)."""
ROWS_EACH = 20
"""Rows per landmark in the sample from which landmarks are chosen."""
FACTOR_ENTRIES = 80_000_000
"""Largest number of entries of a low-rank factor of these rows; above it, landmarks are chosen from fewer rows."""


class Nystroem(Span):
    r"""k^(x, y) = k(x, Z) k(Z, Z)^+ k(Z, y), the kernel of the span of k(z, .) for landmarks z.

    Any estimator takes it in place of k: f is then sought among the functions sum_j a_j k(z_j, .), which needs memory
    for m numbers instead of n. It is a scikit-learn transformer as well.

    Parameters
    ----------
    kernel : Kernel
        k, on inputs of any type.
    n_components : int, optional
        Landmarks m, at most; 10 sqrt(n), but between 256 and 2,000, when not given.
    landmarks : {"rpcholesky", "uniform", "leverage", "kmeans", "greedy"} or inputs
        The rule by which they are chosen from at most 20 m rows (see `representer.landmarks`), or the landmarks.
    random_state : int
        Seed of the choice.

    Examples
    --------
    >>> import numpy as np
    >>> from representer import KernelRidge, Nystroem
    >>> from representer.kernels import RBF
    >>> X = np.random.default_rng(0).normal(size=(2000, 3))
    >>> y = np.sin(X).sum(axis=1)
    >>> model = KernelRidge(alpha=0.1, kernel=Nystroem(RBF(), 100)).fit(X, y)
    >>> bool(model.score(X, y) > 0.99)
    True
    """

    def __init__(
        self, kernel: Kernel, n_components: int | None = None, *, landmarks: Any = "rpcholesky", random_state: Any = 0
    ):
        self.kernel = kernel
        self.n_components = n_components
        self.landmarks = landmarks
        self.random_state = random_state

    def sample_rows(self, n: int) -> int:
        """How many of n rows landmarks and length scales are chosen from."""
        m = self._size(n)
        return min(n, max(2 * m, min(ROWS_EACH * m, FACTOR_ENTRIES // m)))

    def _size(self, n: int) -> int:
        if self.n_components is None:
            return min(n, MOST_CENTRES, max(FEWEST_CENTRES, int(10.0 * np.sqrt(n))))
        return min(n, checks.integer(self.n_components, "n_components"))

    def with_default_scales(self, X: Any, weights: np.ndarray | None = None) -> Kernel:
        """A copy with landmarks for X, and length scales that were not given; rows of weight 0 are left out."""
        given = not isinstance(self.landmarks, str)
        if not given:
            check_rule(self.landmarks)
        n = checks.number_of(X)
        some, w = self.sample(X, weights, self.sample_rows(n))
        kernel = fitted_part(self.kernel, some, w, "a span of landmarks")
        points = self.landmarks if given else chosen(kernel, some, self._size(n), self.landmarks, self._seed())
        return Nystroem(
            kernel, self.n_components or checks.number_of(points), landmarks=points, random_state=self.random_state
        )

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        if isinstance(self.landmarks, str):
            return super().__repr__(N_CHAR_MAX)
        return f"Nystroem({self.kernel!r}, landmarks=<{checks.number_of(self.landmarks)} inputs>)"

    def span(self) -> Centres:
        if isinstance(self.landmarks, str):
            raise ValueError(
                f"{self!r} has a rule for landmarks, but no landmarks; use it in an estimator, call "
                "with_default_scales(X), or give inputs as landmarks."
            )
        return Centres.on(self, clone(self.kernel), self.landmarks)
