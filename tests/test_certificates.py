"""Certificates of random fits against textbook solvers; `tools/certificates.py` runs ten times as many."""

from types import SimpleNamespace

import certificate_cases as cases
import numpy as np
import pytest
from certificate_laws import Verdict, judge, judge_dual, judge_machine, judge_process
from each_case import each
from sklearn import svm
from textbook_box import Box
from textbook_losses import absolute, ball, hinge, logistic, norm, power, squared, squared_norm
from textbook_machine import Machine
from threadpoolctl import threadpool_limits

from representer.kernels import RBF

FIRST = 10_000


@pytest.fixture(autouse=True)
def one_blas_thread():
    with threadpool_limits(1):  # matrices are small
        yield


def broken(verdicts):
    return [f"seed {s}, {v.kind}: {law} {text}" for s, v in verdicts.items() for law, text in v.broken.items()]


def largest(seed):
    """One fit in four has up to 300 inputs."""
    return 30 if seed % 4 else 300


@pytest.mark.parametrize("first", range(FIRST, FIRST + 200, 50))
def test_machines_keep_the_laws(first):
    found = broken({seed: judge(cases.machine(seed, largest(seed))) for seed in range(first, first + 50)})
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize("first", range(FIRST, FIRST + 100, 50))
def test_support_vector_machines_keep_the_laws(first):
    found = broken({seed: judge(cases.dual(seed, largest(seed))) for seed in range(first, first + 50)})
    assert not found, "\n" + "\n".join(found)


def test_likelihoods_are_within_their_errors():
    """Of 20 fits one may be off by more than three standard errors, though not by four; they are no wild guesses."""
    z = np.array([judge_process(seed, largest=400).details["z"] for seed in range(FIRST, FIRST + 20)])
    assert np.abs(z).max() < 4.0
    assert np.count_nonzero(np.abs(z) > 3.0) <= 1
    assert 0.4 < np.sqrt(np.mean(z**2)) < 1.5


# ---- the laws can be broken, and the textbook is right ----


def data(n=25):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0), RBF(1.0)(X)


def claim(gap, **others):
    """A certificate of a point that is not quite the solution."""
    others = {"tolerance": 0.1, "converged": True, "error_bound": np.sqrt(2.0 * gap)} | others
    return SimpleNamespace(gap=others["primal"] - others["dual"], **others)


def rough_machine():
    """Logistic regression with the coefficients a percent off, and an honest certificate."""
    _, y, K = data()
    own = Machine(K, y, np.ones(len(y)), (logistic(),), squared_norm(1.0), True)
    best = own.solve()
    model = SimpleNamespace(dual_coef_=1.01 * best.coef[:, 0], intercept_=best.b)
    primal = own.objective(1.01 * best.coef, best.b)
    dual = best.primal.value - 1e-9
    claims = {"primal": primal.value, "dual": dual, "residual": (primal.value - dual) / primal.scale}
    return cases.Fit("", model, (), None, own), claim(primal.value - dual, **claims)


def rough_box():
    """A support vector machine with the coefficients a percent off, and an honest certificate."""
    _, y, K = data()
    box = Box(K, y, np.minimum(y, 0.0), np.maximum(y, 0.0))
    c = 0.99 * box.feasible(box.solve().coef[:, 0])
    b = box.best_offsets(c)
    primal, dual = box.objective(c[:, None], b).value, box.dual(c).value
    model = SimpleNamespace(c=c, intercept_=b)
    fit = cases.Fit("", model, (), None, [box], lambda m: [(m.c, m.intercept_)])
    return fit, claim(primal - dual, primal=primal, dual=dual, residual=box.violation(c)[0])


def laws_broken_by(judge_one, fit, certificate, **claims):
    certificate = SimpleNamespace(**(vars(certificate) | claims))
    certificate.gap = certificate.primal - certificate.dual
    verdict = Verdict("", converged=certificate.converged)
    judge_one(fit, certificate, verdict)
    return set(verdict.broken)


@each(
    ("law", "claims"),
    [
        ("primal", lambda c: {"primal": c.primal * (1 - 1e-9)}),
        ("dual", lambda c: {"dual": c.primal}),
        ("negative", lambda c: {"dual": c.primal * (1 + 1e-9)}),
        ("gap", lambda c: {"dual": c.primal - 0.9 * c.gap}),
        ("residual", lambda c: {"residual": 0.9 * c.residual}),
        ("converged", lambda c: {"tolerance": 0.9 * c.residual}),
        ("truth", lambda c: {"tolerance": 0.9 * c.residual}),
        ("error", lambda c: {"error_bound": 0.3 * c.error_bound}),
    ],
)
def test_false_claims_of_machines_are_found(law, claims):
    fit, honest = rough_machine()
    assert laws_broken_by(judge_machine, fit, honest) == set()
    assert law in laws_broken_by(judge_machine, fit, honest, **claims(honest))


@pytest.mark.parametrize(
    ("law", "claims"),
    [
        ("primal", lambda c: {"primal": c.primal * (1 + 1e-9)}),
        ("dual value", lambda c: {"dual": c.dual * (1 - 1e-9)}),
        ("dual", lambda c: {"dual": c.primal}),
        ("gap", lambda c: {"dual": c.primal - 0.1 * c.gap}),
        ("violation", lambda c: {"residual": 0.9 * c.residual}),
        ("error", lambda c: {"error_bound": 1e-2 * c.error_bound}),
    ],
)
def test_false_claims_of_support_vector_machines_are_found(law, claims):
    fit, honest = rough_box()
    assert laws_broken_by(judge_dual, fit, honest) == set()
    assert law in laws_broken_by(judge_dual, fit, honest, **claims(honest))


@pytest.mark.parametrize(("law", "factor", "first"), [("sum", 1.0, 1e-9), ("box", 1.02, 0.0)])
def test_infeasible_duals_are_found(law, factor, first):
    fit, honest = rough_box()
    fit.model.c = factor * fit.model.c
    fit.model.c[0] += first
    assert law in laws_broken_by(judge_dual, fit, honest)


def test_textbook_agrees_with_ridge_regression_and_libsvm():
    X, y, K = data()
    ridge = Machine(K, X[:, 1], np.ones(25), (squared(),), squared_norm(0.3), False).solve()
    np.testing.assert_allclose(ridge.coef[:, 0], np.linalg.solve(K + 0.3 * np.eye(25), X[:, 1]), rtol=1e-8, atol=1e-10)
    other = svm.SVC(C=2.0, kernel="precomputed", tol=1e-10).fit(K, y)
    box = Box(K, y, np.minimum(2.0 * y, 0.0), np.maximum(2.0 * y, 0.0))
    c = np.zeros(25)
    c[other.support_] = other.dual_coef_[0]
    found = box.solve()
    np.testing.assert_allclose(K @ found.coef[:, 0], K @ c, atol=1e-6)  # LIBSVM keeps its kernel values in float32
    np.testing.assert_allclose(found.primal.value, box.dual(c).value, rtol=1e-6)


@each("loss", [logistic(), absolute(), hinge()])
@each("penalty", [squared_norm(0.1), norm(0.5), power(0.1, 3), ball(2.0)])
def test_textbook_solutions_have_no_gap(loss, penalty):
    _, y, K = data()
    w = 10.0 ** np.random.default_rng(1).uniform(-2, 2, 25)
    found = Machine(K, y, w, (loss,), penalty, True).solve()
    assert -1e-12 <= found.gap / found.primal.scale <= 1e-9
