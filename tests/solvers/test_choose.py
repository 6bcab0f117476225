import numpy as np
import pytest

from representer.losses import CustomLoss, Hinge, Logistic, Loss
from representer.solvers.choose import DIRECT_UP_TO, Plan, choose_machine, choose_ridge, matrix_form

ONE = np.array([[1.0]])
PLENTY = 10**15


@pytest.mark.parametrize(
    ("n", "alpha", "path", "solver", "chosen", "reason"),
    [
        (100, 1.0, False, "auto", "cholesky", "n is small"),
        (DIRECT_UP_TO, 1.0, False, "auto", "cholesky", "n is small"),
        (DIRECT_UP_TO + 1, 1.0, False, "auto", "conjugate_gradient", "n is large, with a float32 matrix in memory"),
        (10**6, 0.0, False, "auto", "cholesky", "alpha is 0"),
        (10**5, 1.0, False, "cholesky", "cholesky", "it was asked for"),
        (30_000, 1.0, False, "auto", "conjugate_gradient", "n is large, without an n x n matrix"),
        (
            100,
            1.0,
            False,
            "conjugate_gradient",
            "conjugate_gradient",
            "it was asked for, with a float32 matrix in memory",
        ),
        (100, 1.0, True, "auto", "eigendecomposition", "alpha is chosen from several by leave-one-out"),
        (10**5, 1.0, True, "auto", "eigendecomposition", "alpha is chosen from several by leave-one-out"),
    ],
)
def test_ladder(n, alpha, path, solver, chosen, reason):
    plan = choose_ridge(n, np.array([[alpha]]), path=path, memory=PLENTY, solver=solver)
    assert (plan.solver, plan.reason) == (chosen, reason)


@pytest.mark.parametrize(
    ("n", "path", "solver", "size"),
    [
        (1000, False, "auto", 8 * 1000**2),
        (2000, False, "auto", 4 * 2000**2),
        (1000, True, "auto", 24 * 1000**2),
    ],
)
def test_memory_is_told_and_kept(n, path, solver, size):
    assert choose_ridge(n, ONE, path=path, memory=size, solver=solver).bytes == size
    with pytest.raises(MemoryError, match=r"needs .* GB, above the budget of .*solver='conjugate_gradient'"):
        choose_ridge(n, ONE, path=path, memory=size - 1, solver=solver)


def test_conjugate_gradients_store_no_square_matrix():
    n = 100_000
    plan = choose_ridge(n, ONE, path=False, memory=2 * 10**9)
    assert plan.solver == "conjugate_gradient"
    assert plan.bytes < 0.1 * 4 * n**2
    with pytest.raises(MemoryError, match=r"0\.4 GB"):
        choose_ridge(10_000, ONE, path=False, memory=399_999_999, solver="cholesky")


def test_in_words():
    plan = Plan("cholesky", "n is small", 2_000_000, 1234)
    assert str(plan) == "cholesky, because n is small: about 2 MB and 1.23e+03 kernel values."


OWN = CustomLoss(np.add, np.add)


@pytest.mark.parametrize(
    ("n", "loss", "solver", "reason"),
    [
        (100, Logistic(), "newton", "the loss has a curvature, with a float64 matrix in memory"),
        (20_000, Logistic(), "newton", "the loss has a curvature, with a float32 matrix in memory"),
        (100_000, Logistic(), "newton", "the loss has a curvature, without an n x n matrix"),
        (100, Hinge(), "smoothed newton", "the loss has kinks, with a float64 matrix in memory"),
        (100, OWN, "lbfgs", "only value and gradient of the loss are known"),
        (100, CustomLoss(np.add, np.add, convex=False), "lbfgs", "the loss is not convex"),
    ],
)
def test_ladder_of_machines(n, loss, solver, reason):
    plan = choose_machine(n, loss, memory=16 * 10**9)
    assert (plan.solver, plan.reason) == (solver, reason)
    assert plan.bytes <= 16 * 10**9


def test_machine_beyond_the_memory_is_refused():
    with pytest.raises(MemoryError, match=r"lbfgs needs 0\.2 GB, above the budget of 0\.1 GB"):
        choose_machine(5000, OWN, memory=10**8)


def test_kinks_without_an_envelope_are_refused():
    class Kinked(Loss):
        smooth = False

    with pytest.raises(ValueError, match="give curvature, conjugate, domain and envelope"):
        choose_machine(10, Kinked(), memory=10**9)


def test_form_of_the_matrix():
    memory = 8 * 10**6
    assert matrix_form(350, memory) == "float64"
    assert matrix_form(700, memory) == "float32"
    assert matrix_form(708, memory) == "operator"
