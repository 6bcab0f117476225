"""Solver selection: the cheapest solver that fits the memory, which can be queried without solving.

A new solver is one file with `name`, `cost` and `solve`, and one entry here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from representer.problems.box import BoxProblem
from representer.problems.eigen import EigenProblem
from representer.problems.finite import FiniteProblem, FiniteRidge
from representer.problems.loss import LossProblem
from representer.problems.ridge import RidgeProblem
from representer.result import Budget, Plan, Result, Work, certify
from representer.solvers import (
    cholesky,
    conjugate_gradient,
    davidson,
    dense_eigen,
    finite_cg,
    finite_newton,
    normal_equations,
    regularized,
    smo,
)
from representer.solvers.band_reduction import BandReduction
from representer.solvers.eigendecomposition import Decomposition, Path

SOLVERS: dict[type, tuple[Any, ...]] = {
    RidgeProblem: (cholesky, conjugate_gradient),
    FiniteRidge: (normal_equations, finite_cg),
    EigenProblem: (dense_eigen, davidson),
    LossProblem: (regularized,),
    FiniteProblem: (finite_newton,),
    BoxProblem: (smo,),
}
"""The solvers of each type of problem.

==================  ==========================================  ==========================================
solver              when                                        takes
==================  ==========================================  ==========================================
cholesky            n <= 6,000 or so, more for a small alpha    n^2 floats or doubles, n^3 / 3 operations
conjugate_gradient  otherwise                                   rank x n floats, some dozens of products

normal_equations    m <= 1,500 functions, or several alphas     three passes, n m^2 operations
conjugate_gradient  otherwise                                   some 12 passes

dense               n <= 1,000, or more than a tenth of all     2 to 3 n^2 doubles, some n^3 operations
                    components
davidson            otherwise                                   a factor of rank sqrt(n n_components), some
                                                                block products; n^2 / 2 floats if they fit
==================  ==========================================  ==========================================

`regularized` reduces any loss and regulariser to problems with the squared norm, whose solvers are in `squared_norm`.
"""
PATH = (BandReduction, Decomposition)


def check_name(wanted: Any, *kinds: type) -> None:
    """Raise unless ``wanted`` is the name of a solver of these types of problems, or "auto"."""
    names = list(dict.fromkeys(solver.name for kind in kinds for solver in SOLVERS[kind]))
    if wanted not in ("auto", *names):
        known = ", ".join(map(repr, ["auto", *names[:-1]]))
        raise ValueError(f"solver is {wanted!r}; use {known} or {names[-1]!r}.")


def cheapest(solvers: tuple[Any, ...], problem: Any, budget: Budget, wanted: str = "auto") -> tuple[Any, Plan]:
    """The cheapest solver among those that fit, or the wanted one; the cheapest refused one where none fits."""
    plans = [(solver, solver.cost(problem, budget)) for solver in solvers if wanted in ("auto", solver.name)]
    if wanted != "auto":
        solver, plan = plans[0]
        return solver, replace(plan, why="it was asked for")
    fitting = [pair for pair in plans if not pair[1].refusal]
    return min(fitting or plans, key=lambda pair: pair[1].seconds)


def solver_of(problem: Any, budget: Budget, wanted: str = "auto") -> tuple[Any, Plan]:
    """The solver of a problem, and its plan."""
    check_name(wanted, type(problem))
    return cheapest(SOLVERS[type(problem)], problem, budget, wanted)


def plan(problem: Any, budget: Budget, wanted: str = "auto") -> Plan:
    """The plan of the solver that `solve` would run."""
    return solver_of(problem, budget, wanted)[1]


def solve(problem: Any, budget: Budget, wanted: str = "auto", start: Any = None) -> Result:
    """The solution by the cheapest solver; raises if none fits the memory."""
    solver, plan = solver_of(problem, budget, wanted)
    plan.require()
    return solver.solve(problem, budget, plan.reason, start)


def path_plan(problem: RidgeProblem, budget: Budget, alphas: np.ndarray) -> Plan:
    """The plan by which `decompose` computes leave-one-out errors, for alphas of shape (n_alphas, n_targets)."""
    plans = [kind.cost(problem, budget, alphas) for kind in PATH]
    return plans[1] if plans[0].refusal else plans[0]


def decompose(
    problem: RidgeProblem, alphas: np.ndarray, plan: Plan, budget: Budget
) -> tuple[BandReduction | Decomposition, Path]:
    """A decomposition of D K D that serves all alphas, and leave-one-out errors for each.

    By band reduction if that is the plan; by eigendecomposition instead where an alpha is zero to rounding.
    """
    if plan.solver == BandReduction.name:
        try:
            reduction = BandReduction(problem, alphas.min())
            return reduction, reduction.path(alphas)
        except np.linalg.LinAlgError:
            reduction = None  # free its memory for the eigenvectors
            Decomposition.cost(problem, budget, alphas).require()
    decomposition = Decomposition(problem)
    return decomposition, decomposition.path(alphas)


def solve_decomposed(
    decomposition: BandReduction | Decomposition, problem: RidgeProblem, plan: Plan, budget: Budget
) -> Result:
    """The solution for the alpha of a problem whose matrix has been decomposed, by the planned method or the other."""
    coef, intercept, _ = problem.finish(decomposition.solve(problem.ridges))
    name, bytes_, reason = decomposition.name, plan.bytes, plan.reason
    if name != plan.solver:
        reason += ", and one of them is zero to rounding, which rules out a band reduction"
        bytes_ = decomposition.cost(problem, budget, problem.alpha[None]).bytes
    work = Work(name.replace("_", " "), reason, 1, bytes_, decomposition.seconds, "float64")
    return Result(coef, intercept, certify(problem, coef, intercept, work, budget.tol))
