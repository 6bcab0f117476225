from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import ridge_cases
from each_case import each

from representer.solvers import cholesky, conjugate_gradient
from representer.testing import (
    check_solver,
)


def solver(plan=lambda plan: plan, change=lambda certificate: {}, write=lambda problem: None):
    """Cholesky with another plan, certificate, or care of its problem."""

    def solve(problem, budget, reason):
        result = cholesky.solve(problem, budget, reason)
        write(problem)
        return replace(result, certificate=replace(result.certificate, **change(result.certificate)))

    return SimpleNamespace(name="cholesky", cost=lambda *given: plan(cholesky.cost(*given)), solve=solve)


@each(
    ("options", "law"),
    [
        ({"plan": lambda p: replace(p, solver="other")}, "the plan is for 'other'"),
        ({"plan": lambda p: replace(p, refusal="too large")}, "refused: too large"),
        ({"plan": lambda p: replace(p, seconds=0.0)}, "takes nothing"),
        ({"plan": lambda p: replace(p, bytes=p.bytes // 2)}, "bytes were used"),
        (
            {"plan": lambda p: replace(p, bytes=8), "change": lambda c: {"bytes": 8}},
            "8 bytes are planned, and the inputs alone take",
        ),
        ({"write": lambda problem: np.negative(problem.targets, out=problem.targets)}, "has changed the targets"),
        ({"change": lambda c: {"reason": "why not"}}, "the reason is 'why not'"),
        ({"change": lambda c: {"kernel_evaluations": 0}}, "not counted"),
        ({"change": lambda c: {"converged": False}}, "converged is False, the tolerance says True"),
        ({"change": lambda c: {"residuals": c.residuals + 1e-12}}, "residuals are"),
        ({"change": lambda c: {"residuals": -c.residuals - 1e-12}}, "residuals are"),
    ],
)
def test_check_solver_finds(options, law):
    problem = ridge_cases.problem(True, True, [0.3, 0.3], n=30)
    check_solver(cholesky, problem, ridge_cases.budget(1e-6))
    with pytest.raises(AssertionError, match=law):
        check_solver(solver(**options), problem, ridge_cases.budget(1e-6))


def test_check_solver_finds_a_bound_that_does_not_hold():
    """Three iterations leave an error, and a hundredth of its bound is not a bound."""
    problem, few = ridge_cases.problem(alpha=[1e-2], n=60), ridge_cases.budget(1e-6, max_iter=3)
    result = check_solver(conjugate_gradient, problem, few)
    wrong = replace(result, certificate=replace(result.certificate, error_bound=0.01 * result.certificate.error_bound))
    liar = SimpleNamespace(name="conjugate_gradient", cost=conjugate_gradient.cost, solve=lambda *given: wrong)
    with pytest.raises(AssertionError, match="above the bound"):
        check_solver(liar, problem, few)
