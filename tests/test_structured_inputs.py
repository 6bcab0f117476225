"""Every estimator takes strings, sets, graphs, rankings and data frames, in scikit-learn's own tools.

Inputs are of two kinds, which each kernel tells apart, so that a model that learnt anything is right.
"""

import numpy as np
import pandas as pd
import polars as pl
from each_case import each
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC

import representer as rp
from representer.kernels import (
    RBF,
    Categorical,
    Graphs,
    Jaccard,
    Kendall,
    Mallows,
    Missing,
    Normalized,
    On,
    RandomWalk,
    Spectrum,
    WeisfeilerLehman,
    Words,
)
from representer.losses import Huber, SquaredHinge
from representer.regularizers import SquaredNorm

N = 18
y = np.arange(N) % 2


def inputs():
    rng = np.random.default_rng(0)
    letters = [rng.choice(list("AT" if label else "CG"), 6) for label in y]
    sizes = rng.integers(4, 7, N)
    edges = [
        (first + i, first + j)
        for first, n, label in zip(np.cumsum(sizes) - sizes, sizes, y, strict=True)
        for i, j in ([(0, k) for k in range(1, n)] if label else [(k, k + 1) for k in range(n - 1)])  # stars and paths
    ]
    frame = {
        "size": np.where(rng.random(N) < 0.2, np.nan, y + 0.1 * rng.normal(size=N)),
        "level": [f"{'ab'[label]}{rng.integers(2)}" for label in y],
        "text": [f"{'good fine' if label else 'bad poor'} day {i}" for i, label in enumerate(y)],
    }
    ranking = np.arange(5.0) * (1 - 2 * y[:, None]) + rng.normal(size=(N, 5))
    ranking[3, 2] = np.nan
    return {
        "strings": ["".join(x) for x in letters],
        "sets": [set(x.tolist()) | {i} for i, x in enumerate(letters)],
        "graphs": Graphs(edges, np.repeat(np.arange(N), sizes)),
        "rankings": ranking,
        "pandas": pd.DataFrame(frame, index=rng.permutation(N)),
        "polars": pl.DataFrame(frame),
    }


MIXED = On(Missing(RBF(1.0)), ["size"]) + On(Categorical(), ["level"]) + On(Normalized(Words()), "text")
KERNELS = {
    "strings": Normalized(Spectrum(2)),
    "sets": Jaccard(),
    "graphs": Normalized(WeisfeilerLehman(2)),
    "rankings": Mallows(0.2),
    "pandas": MIXED,
    "polars": MIXED,
}
X = inputs()
KINDS = each("kind", KERNELS)
CLASSIFIERS = [
    rp.SVC(),
    rp.NuSVC(),
    rp.KernelRidgeClassifier(),
    rp.KernelLogisticRegression(),
    rp.GaussianProcessClassifier(optimizer=None),
    rp.KernelFisherDiscriminant(),
    rp.KernelNeighborsClassifier(3),
    rp.KernelClassifier(),
    rp.SVCPath([0.1, 10.0], cv=2),
]
REGRESSORS = [
    rp.KernelRidge(0.1),
    rp.SVR(),
    rp.NuSVR(),
    rp.GaussianProcessRegressor(optimizer=None, noise=0.1),
    rp.KernelMachine(loss=Huber()),
    rp.KernelQuantileRegression(),
    rp.KernelPoissonRegression(),
    rp.KernelNeighborsRegressor(3),
    rp.KernelRegressor(),
]


def name_of(estimator):
    return type(estimator).__name__


def taken(kind, rows):
    if kind == "pandas":
        return X[kind].iloc[rows]
    return X[kind][rows] if hasattr(X[kind], "shape") else [X[kind][i] for i in rows]


def with_kernel(estimator, kernel):
    path = isinstance(estimator, rp.SVCPath)
    return clone(estimator).set_params(**({"kernels": [kernel]} if path else {"kernel": kernel}))


@KINDS
@each("estimator", CLASSIFIERS)
def test_classifiers_in_cross_validation(kind, estimator):
    model = with_kernel(estimator, KERNELS[kind])
    assert cross_val_score(model, X[kind], y, cv=3, error_score="raise").mean() > 0.7


@KINDS
@each("estimator", REGRESSORS)
def test_regressors_in_cross_validation(kind, estimator):
    model = with_kernel(estimator, KERNELS[kind])
    folds = cross_val_score(model, X[kind], y + 1.0, cv=3, scoring="r2", error_score="raise")
    assert folds.mean() > 0.2


@each("kind", ["strings", "sets", "graphs", "rankings"])
@each("estimator", [*CLASSIFIERS, *REGRESSORS])
def test_all_estimators_in_searches_over_pipelines(kind, estimator):
    classifies = any(estimator is model for model in CLASSIFIERS)
    name, kernel = ("kernels", [KERNELS[kind]]) if isinstance(estimator, rp.SVCPath) else ("kernel", KERNELS[kind])
    pipeline = Pipeline([("same", FunctionTransformer()), ("model", clone(estimator))])
    scoring = None if classifies else "r2"
    search = GridSearchCV(pipeline, {f"model__{name}": [kernel]}, cv=2, scoring=scoring, error_score="raise")
    search.fit(X[kind], y + 1.0 * (not classifies))
    assert search.best_score_ > (0.6 if classifies else 0.1)
    assert np.shape(search.predict(taken(kind, np.arange(5)))) == (5,)


@KINDS
def test_other_methods(kind):
    kernel, data = KERNELS[kind], X[kind]
    projected = rp.KernelPCA(1, kernel=kernel).fit_transform(data)[:, 0]
    assert abs(np.corrcoef(projected, y)[0, 1]) > 0.7
    new = rp.KernelPCA(1, kernel=kernel).fit(data).transform(taken(kind, np.arange(3)))
    assert np.allclose(new[:, 0], projected[:3], atol=1e-6) or np.allclose(new[:, 0], -projected[:3], atol=1e-6)
    clusters = rp.KernelKMeans(2, kernel=kernel, random_state=0).fit_predict(data)
    assert abs(np.corrcoef(clusters, y)[0, 1]) > 0.7
    assert rp.SpectralClustering(2, kernel=kernel, random_state=0).fit_predict(data).shape == (N,)
    assert set(rp.OneClassSVM(kernel=kernel).fit(data).predict(data)) <= {-1, 1}
    halves = taken(kind, np.flatnonzero(y == 0)), taken(kind, np.flatnonzero(y == 1))
    assert rp.MMD(kernel=kernel, n_permutations=99, random_state=0).test(*halves).pvalue < 0.05
    means = rp.ConditionalMeanEmbedding(kernel, "linear", 0.1).fit(data, y[:, None])
    assert np.corrcoef(means.expect(y, taken(kind, np.arange(6))), y[:6])[0, 1] > 0.7
    f = rp.mean_embedding(kernel, data)
    assert rp.preimage(f, "nearest").distance <= rp.preimage(f, "nearest").nearest_distance


@KINDS
def test_pipelines_and_searches(kind):
    pipeline = make_pipeline(FunctionTransformer(), rp.SVC(kernel=KERNELS[kind]))
    grid = {"svc__C": [0.1, 10.0]}
    if kind == "rankings":
        grid["svc__kernel"] = [Kendall(), Mallows(0.1)]
    if kind == "graphs":
        grid["svc__kernel"] = [KERNELS[kind], RandomWalk(0.02)]
    if kind == "pandas":
        grid["svc__kernel__left__right__kernel__length_scale"] = [0.5, 2.0]
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(X[kind], y)
    assert search.best_score_ > 0.8
    assert np.mean(search.predict(taken(kind, np.arange(6))) == y[:6]) > 0.8


def test_one_versus_rest_machines_on_texts_are_linear_ones_on_tf_idf(rng):
    """The same classes, costs and values; a constant in the kernel is an intercept that counts in the norm."""
    words = np.array(["red", "green", "blue", "and", "then", "the", "sky"])
    texts = [" ".join(words[rng.choice(7, 8, p=np.roll([0.4, *[0.1] * 6], i % 3))]) for i in range(60)]
    topic = np.array(["x", "y", "z"])[np.arange(60) % 3]
    machine = rp.KernelMachine(Normalized(Words()) + 1, SquaredHinge(), fit_intercept=False, tol=1e-12)
    costs = {"estimator__regularizer": [SquaredNorm(0.5 / C) for C in (1.0, 3.0)]}
    search = GridSearchCV(OneVsRestClassifier(machine), costs, cv=2, error_score="raise").fit(texts, topic)
    C = 0.5 / search.best_params_["estimator__regularizer"].strength
    linear = make_pipeline(TfidfVectorizer(), LinearSVC(C=C, tol=1e-12, max_iter=100_000)).fit(texts, topic)
    np.testing.assert_allclose(search.decision_function(texts), linear.decision_function(texts), atol=1e-6)
    F = linear[0].transform(texts)
    np.testing.assert_allclose(Normalized(Words()).with_default_scales(texts)(texts), (F @ F.T).toarray(), atol=1e-14)


@KINDS
def test_approximations(kind):
    model = rp.KernelRidge(0.1, kernel=rp.Nystroem(KERNELS[kind], 8, random_state=0))
    assert cross_val_score(model, X[kind], y, cv=3, error_score="raise").mean() > 0.2
