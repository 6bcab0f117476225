import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit, StratifiedKFold
from sklearn_contract import faults

from representer import SVC, Gram, SVCPath
from representer.estimators import svc_path
from representer.kernels import RBF, Laplacian, Matern, Normalized, Periodic, RationalQuadratic, Spectrum
from representer.result import Budget
from representer.solvers.smo import small


@pytest.fixture(params=[0, 3000], ids=["float32", "float64"])
def matrices(request, monkeypatch):
    """Few samples, too, with the float32 matrices of many."""
    monkeypatch.setattr(small, "SHARED_UP_TO", request.param)


def test_scikit_learn_checks():
    assert faults(SVCPath(C=[1.0, 10.0], cv=3)) == []


@pytest.mark.usefixtures("matrices")
@pytest.mark.parametrize("classes", [2, 4])
def test_scores_of_a_grid_search(classes):
    X, y = make_classification(
        300, 5, n_informative=5, n_redundant=0, n_classes=classes, flip_y=0.2, class_sep=0.5, random_state=0
    )
    kernels, C, cv = [RBF(0.5), RBF(2.0)], [0.1, 1.0, 30.0], StratifiedKFold(4, shuffle=True, random_state=1)
    path = SVCPath(C=C[::-1], kernels=kernels, cv=cv, tol=1e-5).fit(X, y)
    grid = GridSearchCV(SVC(tol=1e-5), {"kernel": kernels, "C": C}, cv=cv).fit(X, y)
    folds = np.stack([grid.cv_results_[f"split{s}_test_score"] for s in range(4)], axis=1).reshape(3, 2, 4)
    assert path.scores_ == pytest.approx(folds.transpose(1, 0, 2), abs=1e-12)
    assert path.best_score_ == pytest.approx(grid.best_score_)
    assert path.best_params_ == {"C": grid.best_params_["C"], "kernel": grid.best_params_["kernel"]}
    assert path.predict(X).tolist() == grid.predict(X).tolist()
    assert path.decision_function(X) == pytest.approx(grid.decision_function(X))


@pytest.mark.usefixtures("matrices")
def test_strings():
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("ab" if i % 2 else "abc"), 12)) for i in range(60)]
    path = SVCPath(C=[1.0, 10.0], kernels=[Normalized(Spectrum(k)) for k in (1, 2)], cv=3)
    assert path.fit(words, np.arange(60) % 2).best_score_ > 0.9


def test_a_class_that_is_missing_in_a_fold():
    X, y = load_iris(return_X_y=True)
    path = SVCPath(C=[1.0], cv=KFold(3)).fit(X, y)  # each fold holds out a whole class
    assert path.best_score_ == 0.0
    assert path.score(X, y) > 0.9


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (SVCPath(cv=ShuffleSplit(3)), "exactly once"),
        (SVCPath(cv=[]), "exactly once"),
        (SVCPath(C=[1.0, 1e111]), r"sample_weight is 1e\+111, above 1e\+100: .* use a smaller C"),
        (SVCPath(C=[1.0, -1.0]), "C is -1.0"),
        (SVCPath(memory=100), "above the budget"),
    ],
)
def test_clear_errors(path, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises((ValueError, MemoryError), match=message):
        path.fit(X, y)


@pytest.mark.usefixtures("matrices")
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_distances_are_shared(make, monkeypatch):
    """Scores are those of one kernel at a time; kernels of another distance are not mistaken for others."""
    X, y = make_classification(260, 4, flip_y=0.2, random_state=0)
    X = make(X + 100.0)
    kernels = [RBF(0.5), RBF(2.0), Matern(1.0, nu=1.5), RationalQuadratic(3.0), RBF([1.0, 2.0, 1.0, 1.0])]
    kernels += [Laplacian(2.0), *([] if sparse.issparse(X) else [Periodic(1.0, period=3.0)])]
    C, matrices, into = [0.1, 10.0], [], Gram.into

    def counted(self, out, *known):
        if len(self) == 260:  # a matrix of all samples
            matrices.append(type(self.kernel).__name__)
        return into(self, out, *known)

    apart = [SVCPath(C, kernels=[kernel], cv=3, tol=1e-6).fit(X, y).scores_[0] for kernel in kernels]
    monkeypatch.setattr(Gram, "into", counted)
    together = SVCPath(C, kernels=kernels, cv=3, tol=1e-6).fit(X, y)
    assert together.scores_ == pytest.approx(np.stack(apart))
    assert matrices[0] == "SquaredDistance"
    assert "Matern" not in matrices
    assert "Laplacian" in matrices


def test_distances_are_not_kept_beyond_the_memory(peak_of):
    X, y = make_classification(1000, 4, random_state=0)
    path = SVCPath([1.0], kernels=[RBF(1.0), RBF(2.0)], cv=3)
    shared = path.fit(X, y).scores_
    assert path.plan(X, y).bytes > 10**7
    peak, _ = peak_of(lambda: path.set_params(memory=10**7).fit(X, y))
    assert peak < 10**7
    assert np.array_equal(path.scores_, shared)


@pytest.mark.parametrize(("n", "width", "n_classes"), [(1200, 50, 3), (1500, 20, 2)])
@pytest.mark.parametrize("kernels", [[RBF(1.0)], [RBF(3.0), RBF(2.0)]], ids=len)
def test_plan_is_near_the_peak_of_the_memory(n, width, n_classes, kernels, rng, peak_of):
    X = rng.normal(size=(n, width))
    y = np.argsort(np.argsort(X[:, 0])) * n_classes // n
    path = SVCPath([1.0], kernels=kernels, cv=5).fit(X, y)
    plan = path.plan(X, y)
    peak, _ = peak_of(lambda: path.fit(X, y), 0.8 * plan.bytes)
    assert 0.8 < peak / plan.bytes < 1.2


@pytest.mark.usefixtures("matrices")
def test_units_do_not_matter():
    X, y = make_classification(100, 4, flip_y=0.2, random_state=0)
    scores = [
        SVCPath([1.0], kernels=[RBF(0.5 * unit), RBF(2.0 * unit)], cv=3).fit(X * unit, y).scores_
        for unit in (1.0, 1e20)
    ]
    assert np.array_equal(*scores)


def test_fits_that_stop_early_are_told(monkeypatch):
    X, y = make_classification(60, 4, flip_y=0.3, random_state=0)
    monkeypatch.setattr(svc_path, "Budget", lambda memory, tol, _: Budget(memory, tol, 3))
    with pytest.warns(ConvergenceWarning, match="C = 10 with RBF"):
        SVCPath([10.0], kernels=[RBF(3.0)], cv=2).fit(X, y)


def test_frames_are_checked_by_their_columns():
    X, y = make_classification(60, 4, random_state=0)
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = SVCPath(C=[1.0], cv=3).fit(frame, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(frame)
        model.decision_function(frame)
    with pytest.raises(ValueError, match="same order"):
        model.predict(frame[list("dcba")])
    assert model.certificate_ is model.best_estimator_.certificate_
    assert model.plan(frame).bytes > 0
