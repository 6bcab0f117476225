import signal
import traceback
from pathlib import Path
from time import perf_counter

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm as libsvm
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn_contract import faults

import representer
from representer import SVC, SVR, NuSVC, OneClassSVM
from representer.estimators.svc import PairwiseClassifier
from representer.kernels import RBF, Callable, Linear, Normalized, Precomputed, Spectrum, Subset
from representer.solvers.smo import small, state

GAMMA = 0.05
KERNEL = RBF(length_scale=float(np.sqrt(1.0 / (2.0 * GAMMA))))


def test_scikit_learn_checks():
    assert faults(SVC()) == []


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600] / 16.0, y[:600]


# ---- LIBSVM's answers ----


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_two_classes_as_libsvm(digits, C, dtype):
    X, y = digits[0].astype(dtype), digits[1] > 4
    ours = SVC(C=C, kernel=KERNEL, tol=1e-6).fit(X, y)
    theirs = libsvm.SVC(C=C, gamma=GAMMA, tol=1e-6).fit(X.astype(np.float64), y)
    assert np.abs(ours.decision_function(X) - theirs.decision_function(X.astype(np.float64))).max() < 1e-5 * max(1.0, C)
    assert np.array_equal(ours.support_, theirs.support_)
    assert np.array_equal(ours.n_support_, theirs.n_support_)
    # LIBSVM keeps kernel values in float32, which coefficients feel more than values of the function
    assert ours.dual_coef_ == pytest.approx(theirs.dual_coef_, abs=1e-3 * C)
    assert ours.decision_function(X).dtype == dtype


@pytest.fixture(params=[0, 3000], ids=["float32", "float64"])
def shared(request, monkeypatch):
    """Small classes, too, with the float32 matrices of large ones."""
    monkeypatch.setattr(small, "SHARED_UP_TO", request.param)


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize(("ours", "theirs"), [(SVC(C=10.0), libsvm.SVC(C=10.0)), (NuSVC(nu=0.2), libsvm.NuSVC(nu=0.2))])
def test_ten_classes_as_libsvm(digits, ours, theirs):
    (X, y), ours, theirs = digits, clone(ours), clone(theirs)
    ours.set_params(kernel=KERNEL, tol=1e-6, decision_function_shape="ovo").fit(X, y)
    theirs.set_params(gamma=GAMMA, tol=1e-6, decision_function_shape="ovo").fit(X, y)
    assert ours.decision_function(X) == pytest.approx(theirs.decision_function(X), abs=2e-5)
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    assert np.array_equal(ours.support_, theirs.support_)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=2e-5)
    assert ours.dual_coef_.shape == theirs.dual_coef_.shape
    assert ours.dual_coef_ == pytest.approx(theirs.dual_coef_, abs=1e-4 * np.abs(theirs.dual_coef_).max())
    ours.set_params(decision_function_shape="ovr")
    theirs.set_params(decision_function_shape="ovr")
    assert ours.decision_function(X) == pytest.approx(theirs.decision_function(X), abs=2e-5)
    ours.set_params(break_ties=True)
    theirs.set_params(break_ties=True)
    assert np.array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.usefixtures("shared")
def test_class_weights_as_libsvm(digits):
    X, y = digits
    for weight in ("balanced", {True: 5.0, False: 0.5}):
        ours = SVC(kernel=KERNEL, class_weight=weight, tol=1e-6).fit(X, y > 7)
        theirs = libsvm.SVC(gamma=GAMMA, class_weight=weight, tol=1e-6).fit(X, y > 7)
        assert ours.decision_function(X) == pytest.approx(theirs.decision_function(X), abs=2e-5)


# ---- lecture 003 ----


def test_complementary_slackness():
    X, y = make_classification(300, 5, random_state=0)
    model = SVC(C=2.0, tol=1e-6).fit(X, y)
    margin = np.where(y == 1, 1.0, -1.0) * model.decision_function(X)
    a = np.zeros(len(y))
    a[model.support_] = np.abs(model.dual_coef_[0])
    assert np.all(margin[a == 0.0] >= 1.0 - 1e-5)
    assert np.all(margin[a == 2.0] <= 1.0 + 1e-5)
    free = (a > 0.0) & (a < 2.0)
    assert free.any()
    assert np.abs(margin[free] - 1.0).max() < 1e-5
    assert model.dual_coef_.sum() == pytest.approx(0.0, abs=1e-10)
    where = model.slackness(X, y)
    assert np.all(where[free] == 0)
    assert np.all(where[margin > 1.001] == 1)
    assert np.all(where[margin < 0.999] == -1)


def test_primal_and_dual_values_meet():
    X, y = make_classification(300, 5, random_state=1)
    model = SVC(C=2.0, tol=1e-8).fit(X, y)
    sign = np.where(y == 1, 1.0, -1.0)
    loss = np.maximum(0.0, 1.0 - sign * model.decision_function(X)).sum()
    primal = 0.5 * model.function_.norm() ** 2 + 2.0 * loss
    dual = np.abs(model.dual_coef_).sum() - 0.5 * model.function_.norm() ** 2
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-9)
    assert model.certificate_.dual == pytest.approx(dual, rel=1e-9)
    assert 0.0 <= model.certificate_.gap < 1e-6 * primal


# ---- any input ----


def test_strings():
    words = ["abab", "abba", "baba", "aabb", "cdcd", "dcdc", "ccdd", "cddc"]
    labels = np.array(["first"] * 4 + ["second"] * 4)
    model = SVC(kernel=Normalized(Spectrum(2)), C=10, class_weight="balanced").fit(words, labels)
    assert list(model.predict(["ababab", "cdcdcd"])) == ["first", "second"]
    assert all(isinstance(word, str) for word in model.support_vectors_)
    assert OneClassSVM(kernel=Normalized(Spectrum(2)), nu=0.5).fit(words[:4]).predict(["cccc"])[0] == -1


def test_sets():
    sets = [{1, 2}, {1, 2, 3}, {2, 3}, {7, 8}, {7, 9}, {8, 9}]
    assert SVC(kernel=Subset(), C=100).fit(sets, [0, 0, 0, 1, 1, 1]).score([{1, 3}, {7, 8, 9}], [0, 1]) == 1.0


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("labels", [2, 10])
def test_precomputed(digits, labels):
    X, y = digits[0][:200], digits[1][:200] % labels
    K = KERNEL(X)
    direct, given = SVC(kernel=KERNEL, tol=1e-6).fit(X, y), SVC(kernel="precomputed", tol=1e-6).fit(K, y)
    assert given.decision_function(K) == pytest.approx(direct.decision_function(X), abs=1e-5)
    assert SVC(kernel=Precomputed(), tol=1e-6).fit(K, y).score(K, y) == direct.score(X, y)


def test_nested_kernel_and_grid_search():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(
        SVC(kernel=2.0 * RBF(1.0) + 0.1 * Linear()),
        {"C": [0.1, 10.0], "kernel__left__kernel__length_scale": [0.5, 2.0]},
    )
    assert search.fit(X, y).best_score_ > 0.95


# ---- probabilities ----


def test_probabilities_are_calibrated():
    X, y = make_classification(3000, 6, flip_y=0.3, random_state=5)
    model = SVC(C=1.0, probability=True).fit(X[:1000], y[:1000])
    p = model.predict_proba(X[1000:])[:, 1]
    assert model.predict_proba(X[:5]).sum(axis=1) == pytest.approx(1.0)
    # in a bin of 200 predictions the standard error of a frequency is at most 0.036, a third of what is allowed here
    order = np.argsort(p)
    for part in np.array_split(order, 10):
        assert abs(p[part].mean() - y[1000:][part].mean()) < 0.11
    assert np.array_equal(model.predict_log_proba(X[:5]), np.log(model.predict_proba(X[:5])))


@pytest.mark.usefixtures("shared")
def test_probabilities_of_several_classes(digits):
    X, y = digits
    model = SVC(C=10.0, kernel=KERNEL, probability=True).fit(X[:400], y[:400])
    p = model.predict_proba(X[400:])
    assert p.sum(axis=1) == pytest.approx(1.0)
    assert p.min() >= 0.0
    assert np.mean(p.argmax(axis=1) == y[400:]) > model.score(X[400:], y[400:]) - 0.02


def test_probabilities_are_asked_for_before_fit():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(AttributeError, match="no predict_proba; set probability=True before fit"):
        SVC().fit(X, y).predict_proba(X)


# ---- hard cases ----


def test_separable_data_with_huge_c():
    X, y = make_classification(200, 2, n_redundant=0, n_clusters_per_class=1, class_sep=3.0, random_state=0)
    model = SVC(C=1e6, kernel=RBF(1.0)).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.certificate_.converged


def test_two_points():
    model = SVC(C=1e3, kernel="linear").fit([[0.0], [2.0]], ["left", "right"])
    assert model.decision_function([[0.0], [1.0], [2.0]]) == pytest.approx([-1.0, 0.0, 1.0], abs=1e-9)
    assert SVR(C=1e3, epsilon=0.0, kernel="linear").fit([[0.0], [2.0]], [1.0, 3.0]).predict([[1.0]]) == pytest.approx(
        2.0
    )


def test_coinciding_points_of_both_classes():
    X, y = np.zeros((6, 2)), [0, 1, 0, 1, 1, 1]
    assert np.all(SVC().fit(X, y).predict(X) == 1)


def test_duplicated_points(digits):
    X, y = digits[0][:100], digits[1][:100] > 4
    once, twice = SVC(C=2.0, tol=1e-8).fit(X, y), SVC(C=1.0, tol=1e-8).fit(np.r_[X, X], np.r_[y, y])
    assert twice.decision_function(X) == pytest.approx(once.decision_function(X), abs=1e-6)


def test_errors_about_classes():
    X = np.arange(8.0).reshape(4, 2)
    with pytest.raises(ValueError, match="only one class"):
        SVC().fit(X, [1, 1, 1, 1])
    with pytest.raises(ValueError, match="class 2 have weight zero"):
        SVC().fit(X, [1, 1, 2, 2], sample_weight=[1, 1, 0, 0])
    with pytest.raises(ValueError, match="break_ties must be False"):
        SVC(break_ties=True, decision_function_shape="ovo").fit(X, [0, 1, 2, 2]).predict(X)
    with pytest.raises(ValueError, match="two classes"):
        SVC().fit(X, [0, 1, 2, 2]).slackness(X, [0, 1, 2, 2])


def test_inputs_far_from_zero():
    X, y = make_classification(300, 3, n_redundant=0, n_informative=3, random_state=0)
    near, far = (SVC(C=10.0, kernel=RBF(1.0)).fit(X + offset, y) for offset in (0.0, 1e7))
    assert far.score(X + 1e7, y) == pytest.approx(near.score(X, y), abs=0.01)


def test_probability_with_a_lone_free_support_vector():
    model = SVC(probability=True, class_weight={0: 1.0, 1: 1.5}).fit([[0.0], [1.0]], [0, 1])
    assert np.all(np.isfinite(model.predict_proba([[0.0], [1.0]])))


def test_class_weights_do_not_move_probabilities():
    X, y = make_classification(600, 4, weights=[0.9], random_state=0)
    p = SVC(probability=True, class_weight="balanced").fit(X, y).predict_proba(X)[:, 1]
    assert p.mean() == pytest.approx(y.mean(), abs=0.03)


def test_slackness_checks_its_labels():
    X, y = make_classification(30, 4, random_state=0)
    with pytest.raises(ValueError, match="labels other than"):
        SVC().fit(X, y).slackness(X, ["a"] * 30)
    with pytest.raises(ValueError, match="inconsistent"):
        SVC().fit(X, y).slackness(X, [1])


def test_probability_switched_on_too_late():
    X, y = make_classification(30, 4, random_state=0)
    with pytest.raises(NotFittedError, match="fitted with probability=False"):
        SVC().fit(X, y).set_params(probability=True).predict_proba(X)


def test_error_in_a_kernel_ends_the_fit_of_all_pairs(rng, monkeypatch):
    """None of the threads waits for memory that another does not give back."""
    monkeypatch.setattr(small, "SHARED_UP_TO", 0)
    calls = []

    def failing(X, Y):
        calls.append(0)
        if len(calls) > 20:
            raise RuntimeError("a user's kernel")
        return X @ Y.T

    X, y = rng.normal(size=(80, 3)), np.arange(80) % 8
    with pytest.raises(RuntimeError, match="a user's kernel"):
        SVC(kernel=Callable(failing), threads=2).fit(X, y)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timer")
@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("n_classes", [2, 4])
def test_fits_can_be_interrupted(n_classes, rng):
    """A tolerance out of reach, and minutes of steps that end as soon as somebody asks for it."""
    X, y = rng.normal(size=(400, 2)), rng.permutation(np.arange(400) % n_classes)
    model = SVC(C=1e6, kernel=RBF(0.3), tol=1e-13, max_iter=10**8)
    with pytest.warns(ConvergenceWarning):
        clone(model).set_params(max_iter=10).fit(X, y)  # compile
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        start = perf_counter()
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
        assert perf_counter() - start < 10.0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def test_several_classes_need_little_memory_beside_their_matrices(rng, monkeypatch, peak_of):
    """Rows of float64 are prepared only where a check asks for them, and rows of float32 once."""
    monkeypatch.setattr(small, "SHARED_UP_TO", 0)
    y = np.arange(2000) % 10
    X = rng.normal(size=(10, 800))[y] + 0.1 * rng.normal(size=(2000, 800))
    model = SVC(kernel=RBF(30.0)).fit(X, y)
    peak, _ = peak_of(lambda: model.fit(X, y))
    kept = 2 * model.support_vectors_.nbytes  # also as the function's prepared inputs
    assert peak < model.certificate_.bytes + kept + 2 * X.nbytes


@pytest.mark.parametrize("threads", [1, 2])
def test_small_pairs_take_the_memory_that_is_told(threads, rng, peak_of):
    X, y = rng.normal(size=(1035, 2)), np.arange(1035) % 3
    model = SVC(C=10.0, kernel=RBF(1.0), tol=1e-7, threads=threads).fit(X, y)  # which float32 does not resolve
    plan = model.plan(X, y)
    peak, _ = peak_of(lambda: model.fit(X, y), plan.bytes / 1.2)
    assert model.certificate_.bytes == 8 * 1035**2 + threads * 12 * 690**2  # the matrices alone
    # where pairs are so quick that one thread solves them all, the other one has no matrix
    assert plan.bytes == pytest.approx(peak, rel=0.2 if threads == 1 else 0.3)


@pytest.mark.parametrize("kind", [sparse.dok_array, sparse.csr_array, sparse.coo_array])
def test_probabilities_of_sparse_inputs(kind):
    X, y = make_classification(60, 4, random_state=0)
    model = SVC(probability=True, kernel=RBF(2.0)).fit(kind(X), y)
    np.testing.assert_allclose(
        model.predict_proba(kind(X)), SVC(probability=True, kernel=RBF(2.0)).fit(X, y).predict_proba(X), atol=1e-4
    )


def test_support_vectors_are_rows_of_the_inputs():
    X, y = make_classification(60, 12, random_state=0)
    for inputs in (X, np.asfortranarray(X), X.astype(np.float32), X.tolist()):
        model = SVC().fit(inputs, y)
        assert np.array_equal(model.support_vectors_, np.asarray(inputs)[model.support_])


@pytest.mark.usefixtures("shared")
def test_ten_frames_from_fit_to_the_compiled_loop(rng, monkeypatch):
    """With ten classes: those of the thread that solves a pair, and those that wait for it."""
    X, y = rng.normal(size=(100, 3)), np.arange(100) % 10
    package, walks, steps, solve = (
        str(Path(representer.__file__).parent),
        [],
        state.smo.smo_steps,
        PairwiseClassifier._solve_pairs,
    )

    def names():
        frames = (frame for frame, _ in traceback.walk_stack(None))
        return [frame.f_code.co_name for frame in frames if frame.f_code.co_filename.startswith(package)][::-1]

    def recorded(*arguments):
        walks.append(names())
        return steps(*arguments)

    def outside(self, *arguments):
        above.extend(names())
        return solve(self, *arguments)

    above = []
    monkeypatch.setattr(state.smo, "smo_steps", recorded)
    monkeypatch.setattr(PairwiseClassifier, "_solve_pairs", outside)
    SVC(threads=2).fit(X, y)
    whole = [walk if "fit" in walk else [*above, "_solve_pairs", *walk] for walk in walks]
    assert whole
    assert max(map(len, whole)) <= 10, max(whole, key=len)
