"""Plans by hand, and what fits measure against what their plans said."""

from types import SimpleNamespace

import numpy as np
import pytest
from each_case import each
from ridge_cases import of, problem
from sklearn.base import clone

from representer import (
    ConditionalMeanEmbedding,
    KernelFisherDiscriminant,
    KernelPCA,
    KernelRidge,
    KernelRidgeClassifier,
    RBFNetwork,
    _parallel,
)
from representer.kernels import RBF, Linear, Sigmoid
from representer.problems.eigen import EigenProblem
from representer.problems.ridge import RidgeProblem
from representer.result import Budget
from representer.solvers import choose
from representer.solvers.band_reduction import BAND_FROM, ROWS_FOR_EACH_ALPHA, BandReduction
from representer.solvers.dense_eigen import SMALL_EIGEN
from representer.solvers.eigendecomposition import Decomposition

PLENTY, TERABYTES = Budget(10**10), Budget(10**15)
WITHOUT, IN_MEMORY = "without an n x n matrix", "with room for float32 tiles"


class Rows(SimpleNamespace):
    """A Gram matrix of so many rows, of which only numbers are asked: nothing is computed."""

    def __init__(self, n, scale=1.0):
        super().__init__(diag=lambda: np.full(n, scale), n=n, nbytes=0, threads=2, definite=True)

    def __len__(self):
        return self.n


def rows(n, alpha=1.0, scale=1.0, targets=1):
    return RidgeProblem(Rows(n, scale), np.broadcast_to(0.0, (n, targets)), np.full(targets, alpha))


@each(
    ("n", "alpha", "solver", "chosen", "reason"),
    [
        (100, 1.0, "auto", "cholesky", "n is small"),
        (5_500, 1.0, "auto", "cholesky", "n is small"),
        (6_500, 1.0, "auto", "conjugate_gradient", f"n is large, {IN_MEMORY}"),
        (30_000, 1.0, "auto", "conjugate_gradient", f"n is large, {WITHOUT}"),
        (30_000, 0.0, "auto", "cholesky", "alpha is 0"),
        (30_000, 1.0, "cholesky", "cholesky", "it was asked for"),
        (100, 1.0, "conjugate_gradient", "conjugate_gradient", f"it was asked for, {IN_MEMORY}"),
        (30_000, 1.0, "conjugate_gradient", "conjugate_gradient", f"it was asked for, {WITHOUT}"),
    ],
)
def test_ladder(n, alpha, solver, chosen, reason):
    module, plan = choose.solver_of(rows(n, alpha), PLENTY, solver)
    assert (module.name, plan.solver, plan.reason) == (chosen, chosen, reason)


@pytest.mark.parametrize("scale", [1e-3, 50.0])
def test_tiny_ridge_is_solved_directly_where_the_matrix_fits(scale):
    n = 16_000
    edge = 0.01 * np.finfo(np.float32).eps * n * scale

    def plan(alpha, memory=2 * 8 * n**2, solver="auto"):
        return choose.plan(rows(n, alpha, scale), Budget(memory), solver)

    small = plan(1.01 * edge)
    assert (small.solver, small.reason) == ("cholesky", "alpha is small")
    assert plan(0.05 * scale).solver == "conjugate_gradient"
    direct = plan(0.99 * edge)
    assert (direct.solver, direct.reason) == ("cholesky", "alpha is tiny against the kernel's scale")
    assert direct.bytes > 8 * n**2 > small.bytes
    assert plan(0.99 * edge, memory=direct.bytes - 1).solver == "conjugate_gradient"
    stored, asked = "with room for float32 tiles", "it was asked for"
    assert plan(0.99 * edge, memory=4 * 8 * n**2, solver="conjugate_gradient").reason == f"{asked}, {stored}"
    assert plan(0.99 * edge, memory=2 * 8 * n**2, solver="conjugate_gradient").reason == f"{asked}, {WITHOUT}"


@pytest.mark.parametrize(("n", "solver"), [(BAND_FROM - 1, "eigendecomposition"), (BAND_FROM, "band_reduction")])
def test_paths(n, solver):
    alphas = np.logspace(-3, 1, 10)[:, None]
    assert choose.path_plan(rows(n), TERABYTES, alphas).solver == solver
    assert choose.path_plan(rows(n), TERABYTES, np.array([[0.0], [1.0]])).solver == "eigendecomposition"
    indefinite = of(Sigmoid(), np.ones((5, 1)), np.ones(5), 1.0)
    assert BandReduction.cost(indefinite, TERABYTES, alphas).refusal


@pytest.mark.parametrize(("targets", "distinct"), [(3, 1), (3, 3)])
def test_many_alphas_are_for_the_eigendecomposition(targets, distinct):
    """Counted over all targets, where they differ."""
    alphas = np.outer(np.arange(1.0, 101.0), np.where(np.arange(targets) < distinct, np.arange(targets) + 1.0, 1.0))
    n = ROWS_FOR_EACH_ALPHA * 100 * distinct
    assert choose.path_plan(rows(n, targets=targets), TERABYTES, alphas).solver == "band_reduction"
    assert choose.path_plan(rows(n - 1, targets=targets), TERABYTES, alphas).solver == "eigendecomposition"


def test_a_plan_says_what_does_not_fit_and_raises_nothing():
    plan = choose.plan(rows(10_000), Budget(10**8), "cholesky")
    assert plan.refusal.startswith("A fit by cholesky needs 0.40")
    assert "solver='conjugate_gradient'" in plan.refusal
    assert choose.path_plan(rows(10_000), Budget(10**8), np.ones((2, 1))).refusal
    assert choose.plan(rows(100), Budget(1000)).refusal  # where nothing fits it is the better one of them
    with pytest.raises(MemoryError, match="A fit by cholesky needs"):
        choose.solve(problem(), Budget(1000), "cholesky")


def test_conjugate_gradients_store_no_square_matrix():
    n = 100_000
    plan = choose.plan(rows(n), Budget(4 * 10**9))
    assert plan.solver == "conjugate_gradient"
    assert plan.bytes < 0.1 * 4 * n**2


def test_conjugate_gradients_need_a_ridge():
    plan = choose.plan(rows(100, 0.0), PLENTY, "conjugate_gradient")
    with pytest.raises(ValueError, match="need a positive alpha; use solver='cholesky'"):
        plan.require()
    with pytest.raises(ValueError, match="solver is 'lu'; use 'auto', 'cholesky'"):
        choose.check_name("lu", RidgeProblem)


def test_solve_is_the_plan():
    certificate = choose.solve(problem(), Budget(10**8, 1e-9)).certificate
    assert (certificate.solver, certificate.reason, certificate.tolerance) == ("Cholesky", "n is small", 1e-9)
    assert certificate.converged


# ---- decompositions that serve all alphas ----


def hopeless(rng, kind):
    """Problems in which some alpha is nothing next to the matrix, or the matrix is not definite."""
    X, y = rng.normal(size=(90, 2)), rng.normal(size=90)
    if kind == "zero":
        return of(Linear(), X, y, 1.0), np.array([[0.0], [1.0]])
    if kind == "tiny":
        return of(Linear(), 1e6 * X, y, 1.0), np.array([[1e-6], [1.0]])
    return of(Sigmoid(2.0, -1.0), X, y, 1.0), np.array([[0.1], [0.2]])


@pytest.mark.parametrize("kind", ["zero", "tiny", "indefinite"])
def test_what_cannot_be_factored_is_for_the_eigendecomposition(kind, rng):
    p, alphas = hopeless(rng, kind)
    plan = BandReduction.cost(p, PLENTY, alphas)
    with pytest.raises(np.linalg.LinAlgError):
        BandReduction(p, alphas.min()).path(alphas)
    decomposition, path = choose.decompose(p, alphas, plan, PLENTY)
    assert isinstance(decomposition, Decomposition)
    np.testing.assert_array_equal(path.predictions, Decomposition(p).path(alphas).predictions)
    certificate = choose.solve_decomposed(decomposition, p, plan, PLENTY).certificate
    assert certificate.solver == "eigendecomposition"
    assert "zero to rounding, which rules out a band reduction" in certificate.reason
    with pytest.raises(MemoryError, match="A fit by eigendecomposition needs"):
        choose.decompose(p, alphas, plan, Budget(1000))


def test_definite_problems_are_reduced():
    p, alphas = problem(n=90), np.array([[0.1], [1.0]])
    plan = BandReduction.cost(p, PLENTY, alphas)
    decomposition, path = choose.decompose(p, alphas, plan, PLENTY)
    assert isinstance(decomposition, BandReduction)
    np.testing.assert_allclose(path.gcv, Decomposition(p).path(alphas).gcv, rtol=1e-9)
    certificate = choose.solve_decomposed(decomposition, p, plan, PLENTY).certificate
    assert (certificate.solver, certificate.reason, certificate.bytes) == ("band reduction", plan.reason, plan.bytes)
    assert certificate.converged
    assert certificate.seconds > 0


# ---- eigenpairs ----


def eigen(n, wanted, memory=10**11, solver="auto"):
    return choose.plan(EigenProblem(Rows(n), n_components=wanted), Budget(memory), solver)


@pytest.mark.parametrize(
    ("n", "wanted", "solver", "chosen", "reason"),
    [
        (SMALL_EIGEN, 5, "auto", "dense", "n is small"),
        (SMALL_EIGEN + 1, 5, "auto", "davidson", "n is large, with room for float32 tiles"),
        (5000, 501, "auto", "dense", "many are wanted"),
        (5000, None, "auto", "dense", "many are wanted"),
        (5000, 20, "dense", "dense", "it was asked for"),
        (50_000, 20, "auto", "davidson", f"n is large, {WITHOUT}"),
        (200, 20, "davidson", "davidson", "it was asked for, with room for float32 tiles"),
    ],
)
def test_ladder_of_eigenpairs(n, wanted, solver, chosen, reason):
    plan = eigen(n, wanted, solver=solver)
    assert (plan.solver, plan.reason, plan.refusal) == (chosen, reason, "")


def test_memory_of_eigenpairs():
    few = eigen(1000, 5, memory=10**6)
    assert few.refusal.startswith("A fit by dense needs 0.018 GB")
    assert "fewer n_components (at most a tenth of the rows)" in few.refusal
    assert eigen(50_000, 20, memory=10**12).bytes < 0.1 * 4 * 50_000**2
    assert "fewer n_components" in eigen(50_000, None, memory=10**10).refusal  # the way out is not davidson
    many = eigen(100, 11, solver="davidson")
    with pytest.raises(ValueError, match="at most a tenth of all components, here 10, but 11 are wanted"):
        many.require()


# ---- plans are true ----

MODELS = {
    "cholesky": (KernelRidge(kernel=RBF(2.0)), 1000),
    "float32": (KernelRidgeClassifier(kernel=RBF(2.0)), 1600),
    "conjugate gradients": (KernelRidge(kernel=RBF(2.0), fit_intercept=True, solver="conjugate_gradient"), 1500),
    "not stored": (KernelRidge(kernel=RBF(2.0), solver="conjugate_gradient", memory=3 * 10**7, threads=2), 1500),
    "eigendecomposition": (KernelRidge([0.1, 1.0, 10.0], kernel=RBF(2.0)), 1000),
    "band reduction": (KernelRidge(np.logspace(-3, 1, 25), kernel=RBF(2.0)), 1001),
    "tuned": (KernelRidge(kernel=RBF(2.0), tune="loo"), 1000),
    "davidson": (KernelPCA(10, kernel=RBF(2.0)), 2000),
    "dense": (KernelPCA(8, kernel=RBF(2.0), solver="dense"), 1000),
    "all components": (KernelPCA(kernel=RBF(2.0)), 1000),
    "discriminant": (KernelFisherDiscriminant(kernel=RBF(2.0)), 1000),
    "discriminant path": (KernelFisherDiscriminant([0.1, 1.0], kernel=RBF(2.0)), 1000),
    "conditional mean": (ConditionalMeanEmbedding(RBF(2.0), RBF(1.0)), 1000),
    "network": (RBFNetwork(alpha=0.1), 1000),
    "network path": (RBFNetwork(alpha=[0.1, 1.0]), 1000),
    "network of centers": (RBFNetwork(alpha=0.1, centers=300), 1000),
}


@pytest.mark.parametrize("name", MODELS)
def test_bytes_of_a_plan_are_those_of_the_fit(name, peak_of, monkeypatch):
    """Within a fifth, from 1,000 rows on."""
    model, n = MODELS[name]
    X = np.random.default_rng(0).normal(size=(n, 3))
    y = np.sin(X).sum(axis=1).round(0 if hasattr(model, "decision_function") else 9)
    facts = {"message": "", "success": True, "nfev": 1}
    at_once = lambda f, start, *more, **options: SimpleNamespace(fun=f(start)[0], x=start, **facts)  # noqa: E731
    monkeypatch.setattr("representer.estimators.tuning.lbfgs", at_once)
    monkeypatch.setattr("representer.solvers.band_reduction.BAND_FROM", 1001)
    plan = model.plan(X, y)
    assert not plan.refusal
    with _parallel.one_blas_thread():  # more of them do not help so small matrices
        model.fit(X[:200], y[:200])  # loops are compiled
        peak, _ = peak_of(lambda: model.fit(X, y), 0.8 * plan.bytes)
    assert 0.8 * plan.bytes < peak < 1.2 * plan.bytes
    assert 0.0 < plan.seconds < 60.0
    if hasattr(model, "certificate_") and name != "tuned":
        assert 0.8 * plan.bytes < model.certificate_.bytes < 1.2 * plan.bytes


@each("model", [clone(model).set_params(memory=10**6) for model, _ in MODELS.values()])
def test_a_plan_that_is_refused_is_what_fit_raises(model):
    X = np.random.default_rng(0).normal(size=(2000, 3))
    y = np.arange(2000) % 3
    refusal = model.plan(X, y).refusal
    assert "GB, above the budget of 0.001 GB; use" in refusal
    assert refusal in str(model.plan(X, y))
    with pytest.raises(MemoryError) as error:
        model.fit(X, y)
    assert str(error.value) == refusal
