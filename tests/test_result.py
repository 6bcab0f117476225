from dataclasses import replace

import numpy as np
import pytest

from representer.problems.judgement import Judgement
from representer.result import Plan, Work, certificate_of, certify

WORK = Work("Cholesky", "n is small", 2, 5 * 10**6, 0.25, "float64")


def certificate(*judgements, tol=1e-6):
    return certificate_of(judgements, WORK, tol, 10)


def test_in_words():
    found = certificate(Judgement(np.array([1.5e-9]), "relative residual", np.array([1e-3, 2e-3])))
    words = str(found)
    assert words.startswith("converged: relative residual 1.5e-09 (tolerance 1e-06) by Cholesky in 2 iterations")
    assert "10 kernel values, 5 MB, float64" in words
    assert "Chosen because n is small. |f - f*|(x) <= 0.002 sqrt(k(x, x))." in words
    assert str(certificate(Judgement(np.array([1.0]), "relative residual"))).startswith("NOT converged")


def test_gap_is_primal_less_dual():
    found = certificate(Judgement(np.array([0.1]), "relative gap", np.array([0.5]), primal=3.0, dual=2.75))
    assert found.gap == 0.25
    assert replace(found, dual=None).gap is None
    assert certificate(Judgement(np.array([0.1]), "gradient", primal=3.0)).gap is None


def test_a_negative_gap_would_be_seen():
    """A dual value above the primal one is a fault of the solver, which no clipping may hide."""
    assert certificate(Judgement(np.zeros(1), "relative gap", primal=1.0, dual=3.0)).gap == -2.0


def test_parts_are_put_together():
    """Objectives add up, bounds stand side by side, and one part that has not converged is enough."""
    parts = [Judgement(np.array([r]), "KKT violation", np.array([r]), 3.0, 2.0) for r in (1e-8, 1e-3)]
    both = certificate(*parts)
    assert (both.primal, both.dual, both.residual, both.converged) == (6.0, 4.0, 1e-3, False)
    assert both.error_bound.tolist() == both.residuals.tolist() == [1e-8, 1e-3]
    assert certificate(*parts, tol=1e-3).converged
    assert "a duality gap of 2 below 6:" in str(both)
    lost = certificate(Judgement(np.zeros(1), "KKT violation", primal=1e98, dual=-1e99))
    assert "a duality gap of 1.1e+99 below 1e+98, no digit of which survives rounding:" in str(lost)
    again = certificate_of([certificate(part) for part in parts], WORK, 1e-6, 10)  # of certificates, too
    assert str(again) == str(both)


def test_certify_asks_the_problem():
    class Problem:
        gram = type("Gram", (), {"evaluations": 7})

        def judge(self, coef, intercept, gradient):
            return Judgement(coef + intercept + gradient, "relative residual")

    found = certify(Problem(), np.array([1.0]), np.array([2.0]), WORK, 10.0, gradient=np.array([3.0]))
    assert (found.residual, found.kernel_evaluations, found.tolerance) == (6.0, 7, 10.0)


def test_plan_is_refused_with_a_way_out():
    plan = Plan("newton", "the loss has a curvature", 3 * 10**9, 10**6, 2.0)
    assert plan.within(3 * 10**9, "use fewer rows") is plan
    plan.require()
    refused = plan.within(10**9, "use fewer rows")
    assert "It would be refused: A fit by newton needs 3 GB, above the budget of 1 GB; use fewer rows." in str(refused)
    assert refused.within(10**3, "pray") is refused
    with pytest.raises(MemoryError, match="use fewer rows"):
        refused.require()
