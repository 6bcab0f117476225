import numpy as np
import pytest

from representer.losses import CustomLoss, Hinge, Logistic, Loss
from representer.solvers.choose import (
    BAND_FROM,
    DENSE_UP_TO,
    DIRECT_UP_TO,
    ROWS_FOR_EACH_ALPHA,
    Plan,
    choose_box,
    choose_eigen,
    choose_machine,
    choose_ridge,
    matrix_form,
)

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
        (BAND_FROM - 1, 1.0, True, "auto", "eigendecomposition", "alpha is chosen from several by leave-one-out"),
        (BAND_FROM, 1.0, True, "auto", "band_reduction", "alpha is chosen from several by leave-one-out"),
        (10**5, 0.0, True, "auto", "eigendecomposition", "alpha is chosen from several by leave-one-out"),
    ],
)
def test_ladder(n, alpha, path, solver, chosen, reason):
    plan = choose_ridge(n, np.array([[alpha]]), path=path, memory=PLENTY, solver=solver)
    assert (plan.solver, plan.reason) == (chosen, reason)


@pytest.mark.parametrize("scale", [1.0, 1e-3, 50.0])
def test_tiny_ridge_is_solved_directly_where_the_matrix_fits(scale):
    n, eps = 20_000, 1.1920929e-07

    def plan(alpha, memory=2 * 8 * n**2, **options):
        return choose_ridge(n, np.array([[1e3, alpha]]), path=False, memory=memory, scale=scale, **options)

    edge = eps * n * scale / 100
    assert plan(1.01 * edge).solver == "conjugate_gradient"
    direct = plan(0.99 * edge)
    assert (direct.solver, direct.reason) == ("cholesky", "alpha is tiny against the kernel's scale")
    assert direct.bytes == 8 * n**2
    assert plan(0.99 * edge, memory=2 * 8 * n**2 - 1).solver == "conjugate_gradient"
    assert plan(0.99 * edge, solver="conjugate_gradient").reason.startswith("it was asked for")


@pytest.mark.parametrize(("targets", "distinct"), [(1, 1), (3, 1), (3, 3)])
def test_many_alphas_are_for_the_eigendecomposition(targets, distinct):
    """Counted over all targets, where they differ."""
    alphas = np.outer(np.arange(1.0, 101.0), np.where(np.arange(targets) < distinct, np.arange(targets) + 1.0, 1.0))
    n = ROWS_FOR_EACH_ALPHA * 100 * distinct
    assert choose_ridge(n, alphas, path=True, memory=PLENTY).solver == "band_reduction"
    assert choose_ridge(n - 1, alphas, path=True, memory=PLENTY).solver == "eigendecomposition"


@pytest.mark.parametrize(
    ("n", "path", "solver", "size"),
    [
        (1000, False, "auto", 8 * 1000**2),
        (2000, False, "auto", 4 * 2000**2),
        (1000, True, "auto", 24 * 1000**2),
        (5000, True, "auto", 24 * 5000**2),
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


@pytest.mark.parametrize(
    ("n", "wanted", "solver", "chosen", "reason"),
    [
        (100, 5, "auto", "dense", "n is small"),
        (DENSE_UP_TO, 5, "auto", "dense", "n is small"),
        (DENSE_UP_TO + 1, 5, "auto", "davidson", "n is large, with float32 tiles in memory"),
        (5000, 501, "auto", "dense", "many are wanted"),
        (5000, None, "auto", "dense", "many are wanted"),
        (5000, 20, "dense", "dense", "it was asked for"),
        (50_000, 20, "auto", "davidson", "n is large, without an n x n matrix"),
        (200, 20, "davidson", "davidson", "it was asked for, with float32 tiles in memory"),
    ],
)
def test_ladder_of_eigenpairs(n, wanted, solver, chosen, reason):
    plan = choose_eigen(n, wanted, memory=PLENTY, solver=solver)
    assert (plan.solver, plan.reason) == (chosen, reason)


def test_memory_of_eigenpairs():
    assert choose_eigen(1000, 5, memory=24 * 10**6).bytes == 24 * 10**6
    with pytest.raises(MemoryError, match=r"'dense' need 0\.024 GB, above the budget of .*fewer n_components"):
        choose_eigen(1000, 5, memory=24 * 10**6 - 1)
    assert choose_eigen(50_000, 20, memory=10**12).bytes < 2 * 10**9
    assert choose_eigen(50_000, 20, memory=10**12).bytes < 0.1 * 4 * 50_000**2


def test_many_eigenpairs_are_no_work_for_davidson():
    with pytest.raises(ValueError, match="at most a tenth of all components, here 10, but 11 are wanted"):
        choose_eigen(100, 11, memory=PLENTY, solver="davidson")


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
    assert matrix_form(1000, memory) == "float32"
    assert matrix_form(1001, memory) == "operator"


@pytest.mark.parametrize(("n", "n_classes", "number"), [(699, 2, 12), (700, 2, 4), (699, 3, 20), (6000, 3, 4)])
def test_bytes_of_a_whole_matrix(n, n_classes, number):
    assert choose_box(n, memory=10**9, n_classes=n_classes).bytes == number * n * n
    assert choose_box(n, memory=4 * n * n, n_classes=n_classes).bytes == 4 * n * n


def test_each_thread_has_matrices_of_a_small_pair():
    assert choose_box(699, memory=10**9, n_classes=3, threads=2).bytes == (8 + 2 * 12) * 699**2
    assert choose_box(699, memory=10**9, threads=2).bytes == 12 * 699**2


def test_plan_of_a_machine_with_kinks_counts_the_matrix_of_pair_steps():
    smooth, kinked = (choose_machine(6000, loss, memory=10**9).bytes for loss in (Logistic(), Hinge()))
    assert smooth == 2 * 6000**2 + 8 * 6000 * 2500 + 8 * 12 * 6000
    assert kinked == 2 * 6000**2 + 4 * 6000**2
