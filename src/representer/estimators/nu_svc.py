"""Support vector machines for classification with a given fraction of margin errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer.estimators.base import warn_user
from representer.estimators.support_vectors import SupportVectorMachine, check_nu, filled
from representer.estimators.svc import PairwiseClassifier
from representer.gram.operator import Operator
from representer.problems.box import BoxProblem
from representer.result import Result


class NuSVC(PairwiseClassifier, SupportVectorMachine):
    r"""minimise over f in H, b and r >= 0:  1/2 ||f||^2 - nu r sum_i w_i + sum_i w_i max(0, r - y_i (f(x_i) + b)).

    nu is an upper bound on the weight fraction of samples inside the margin and a lower bound on that of support
    vectors. The fitted f and b are divided by r, so that the margin is at 1 as for `SVC`. Other parameters and
    attributes are those of `SVC`, except `class_weight`: the margin gives both classes the same weight.

    The certificate is that of the objective above, at f, b and r before the division; for two classes
    r = nu sum_i w_i / sum_i |dual_coef_i|. As r is also an unknown, it has no bound on the error of f.

    Parameters
    ----------
    nu : float
        In (0, 1]. Two classes of total weights w_1 <= w_2 allow at most 2 w_1 / (w_1 + w_2), at which each sample of
        the smaller class is a margin error or on the margin. That is used, with a warning, where nu is larger.
    """

    _bounded = False
    _weighs_classes = False

    def __init__(
        self,
        nu: float = 0.5,
        *,
        kernel: Any = "rbf",
        probability: bool = False,
        tol: float = 1e-3,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        memory: int | None = None,
        threads: int | None = None,
        verbose: int = 0,
    ):
        self.nu = nu
        self.kernel = kernel
        self.probability = probability
        self.tol = tol
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.memory = memory
        self.threads = threads
        self.verbose = verbose

    def _class_weighted(self, codes: np.ndarray, weights: np.ndarray, given: np.ndarray | None) -> np.ndarray:
        check_nu(self.nu)
        out = super()._class_weighted(codes, weights, given)
        totals = np.bincount(codes, weights)
        rare, common = int(totals.argmin()), int(totals.argmax())
        largest = 2.0 * totals[rare] / (totals[rare] + totals[common])
        if self.nu > largest:
            names = self.classes_.tolist()
            warn_user(
                f"The specified nu is infeasible: nu = {self.nu}, but classes as unequal as {names[rare]!r} and "
                f"{names[common]!r} allow at most {largest:.3g}, so that the largest feasible nu is used for them; use "
                "a smaller nu.",
                UserWarning,
            )
        return out

    def _problem(self, K: Operator, positive: np.ndarray, weights: np.ndarray) -> BoxProblem:
        least = min(weights[positive].sum(), weights[~positive].sum())
        share = min(0.5 * self.nu * weights.sum(), least) * (1.0 if positive[0] else -1.0)
        second = positive != positive[0]
        lower, upper = np.where(positive, 0.0, -weights), np.where(positive, weights, 0.0)
        return BoxProblem(K, np.zeros(len(weights)), lower, upper, 0.0, second.astype(int), np.array([share, -share]))

    def _start(self, problem: BoxProblem) -> np.ndarray | None:
        share = np.abs(problem.sums).max()
        return filled(problem.upper, share) - filled(-problem.lower, share)

    def _margin(self, result: Result) -> float:
        """r, whose inverse is the C of the C-machine with the same f."""
        first, second = result.intercept
        margin, violation = 0.5 * abs(second - first), result.certificate.residual
        if result.certificate.converged and margin <= max(violation, 1e-12 * np.abs(result.coef).sum()):
            warn_user(
                f"nu = {self.nu} leaves no margin between two classes, some of whose samples coincide or nearly do, so "
                "that values of the fit are rounding errors; use a larger nu, or SVC."
            )
        return max(margin, 1e-12)

    def _scaled(self, result: Result) -> tuple[np.ndarray, float]:
        margin = self._margin(result)
        return result.coef / margin, 0.5 * result.intercept.sum() / margin
