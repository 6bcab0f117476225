"""Clusters around means in H."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from representer.gram.operator import Operator
from representer.problems.judgement import ROUNDINGS, Judgement


@dataclass(frozen=True)
class ClusterProblem:
    """minimise over centres m_1, ..., m_k in H:  sum_i w_i min_c ||k(x_i, .) - m_c||^2.

    Parameters
    ----------
    gram : Gram, or another `Operator`
    weights : array of shape (n,)
    """

    gram: Operator
    weights: np.ndarray

    def judge(self, coef: np.ndarray, labels: np.ndarray) -> Judgement:
        """The relative decrease of the objective by a further Lloyd step, from K in float64.

        The centres are m_c = sum_i coef_ic k(x_i, .). A step moves centres to the means of their inputs, and inputs to
        their nearest centres: sum_c w(c) ||m_c - mean_c||^2 + sum_i w_i (||k(x_i, .) - m_label||^2 - min_c ...). Both
        terms are zero at a local minimum, and differences within rounding count as zero.
        """
        K, w, rows = self.gram.astype(np.float64), self.weights, np.arange(len(labels))
        means = np.zeros_like(coef)
        means[rows, labels] = w
        masses = means.sum(axis=0)
        means /= np.where(masses > 0.0, masses, 1.0)
        values, moves = np.split(K @ np.concatenate([coef, coef - means], axis=1), 2, axis=1)
        by_centres = float(masses @ np.maximum(np.einsum("ic,ic->c", coef - means, moves), 0.0))
        norms = np.where(np.any(coef != 0.0, axis=0), np.einsum("ic,ic->c", coef, values), np.inf)
        diagonal = K.diag()
        squares = diagonal[:, None] - 2.0 * values + norms
        own = squares[rows, labels]
        better = own - squares.min(axis=1)
        better[better <= 8.0 * ROUNDINGS * (np.abs(diagonal) + norms[labels])] = 0.0
        primal = float(w @ np.maximum(own, 0.0))
        size = max(primal, ROUNDINGS * float(w @ np.abs(diagonal)), float(np.finfo(np.float64).tiny))
        residual = np.array([(by_centres + float(w @ better)) / size])
        return Judgement(residual, "relative decrease by a further step", primal=primal)
