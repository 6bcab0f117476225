"""The last digits of box-constrained duals with few coefficients, by Newton steps on those that are free."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg

from representer.problem import BoxProblem
from representer.solvers.box import Rates, State


def polish(problem: BoxProblem, state: State, rates: Rates, settle: Callable[[Rates, float], bool]) -> None:
    """The last digits of c and g, once it is known which coefficients are free, or some more steps tell it.

    ``settle`` steps to a tolerance, and says whether anything moved.
    """
    if state.K.dtype == np.float64:
        places = np.argsort(state.chosen)
        K = state.K[np.ix_(places, places)]
    else:
        K = problem.kernel.block(problem.at(problem.exact, np.arange(problem.n))).astype(np.float64)
        state.evaluations += K.size
    for tol in (np.inf, 1e-5, 1e-7, 1e-9):
        if rates.violation > tol:
            if not settle(rates, tol):
                break
            rates = Rates.of(problem, state)
        trial = State(state.c.copy(), state.g.copy())
        for _ in range(problem.n):
            if _newton_step(problem, trial, K):
                break
        polished = Rates.of(problem, trial)
        if polished.violation < rates.violation:
            state.c, state.g = trial.c, trial.g
            break


def _newton_step(problem: BoxProblem, state: State, K: np.ndarray) -> bool:
    """Solve for the free coefficients F, as far as the next bound or kink allows; whether it was the whole way.

    Their changes d solve K_FF d + b = -rate_F with sum d = 0 over each group.
    """
    rates = Rates.of(problem, state)
    free = np.flatnonzero(rates.free)
    if not len(free):
        return True
    groups = (problem.group_of[free][:, None] == np.unique(problem.group_of[free])).astype(np.float64)
    system = np.block([[K[np.ix_(free, free)], groups], [groups.T, np.zeros((groups.shape[1],) * 2)]])
    change = linalg.lstsq(system, np.append(-rates.rise[free], np.zeros(groups.shape[1])))[0][: len(free)]
    c = state.c[free]
    bound = np.where(change > 0.0, problem.upper[free], problem.lower[free])
    if problem.epsilon > 0.0:
        bound = np.where(c * bound < 0.0, 0.0, bound)
    room = np.divide(bound - c, change, out=np.full(len(c), np.inf), where=change != 0.0)
    step, first = min(1.0, room.min()), room.argmin()
    moved = c + step * change
    if step < 1.0:
        moved[first] = bound[first]
    state.c[free] = moved
    state.g += K[:, free] @ (moved - c)
    return step == 1.0
