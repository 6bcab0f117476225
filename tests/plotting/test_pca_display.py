import sys

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from representer import KernelPCA
from representer.kernels import RBF, Spectrum
from representer.plotting import EigenfunctionDisplay, EmbeddingDisplay

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def pca(rng):
    return KernelPCA(5, kernel=RBF(0.7)).fit(rng.normal(size=(60, 2)))


def test_values_are_those_of_the_functions(pca):
    display = EigenfunctionDisplay.from_estimator(pca, n_components=3, grid=10)
    point = np.array([[display.columns[2], display.rows[7]]])
    np.testing.assert_allclose(display.values[:, 7, 2], pca.transform(point)[0, :3], atol=1e-12)
    np.testing.assert_array_equal(display.eigenvalues, pca.eigenvalues_[:3])
    assert display.columns[0] < pca.X_fit_[:, 0].min()
    assert display.rows[-1] > pca.X_fit_[:, 1].max()


def test_panels(pca):
    display = EigenfunctionDisplay.from_estimator(pca, grid=10).plot()
    assert [ax.get_title() for ax in display.axes_] == [f"eigenvalue {v:.3g}" for v in pca.eigenvalues_]
    assert [ax.get_visible() for ax in display.figure_.axes] == [True] * 5 + [False] * 3
    display.figure_.canvas.draw()


def test_given_axes_are_used(pca):
    figure, axes = plt.subplots(1, 5)
    display = EigenfunctionDisplay.from_estimator(pca, grid=10).plot(axes)
    assert display.figure_ is figure
    assert display.axes_ == list(axes)
    with pytest.raises(ValueError, match="There are 2 axes for 5 components"):
        display.plot(axes[:2])


@pytest.mark.parametrize("kernel", ["rbf", Spectrum(1), "precomputed"], ids=str)
def test_contours_need_two_columns(kernel):
    X = np.eye(2) if kernel == "precomputed" else ["ab", "bb"] if kernel != "rbf" else np.eye(3)
    with pytest.raises(ValueError, match="use EmbeddingDisplay"):
        EigenfunctionDisplay.from_estimator(KernelPCA(1, kernel=kernel).fit(X))


@pytest.mark.parametrize("display", [EigenfunctionDisplay.from_estimator, EmbeddingDisplay.from_estimator])
def test_not_fitted(display):
    with pytest.raises(NotFittedError):
        display(KernelPCA(), *([np.ones((2, 2))] if display == EmbeddingDisplay.from_estimator else []))


def test_embedding(pca):
    display = EmbeddingDisplay.from_estimator(pca, pca.X_fit_, components=(2, 0)).plot()
    np.testing.assert_allclose(display.scores, pca.transform(pca.X_fit_)[:, [2, 0]])
    assert display.ax_.get_xlabel() == f"component 3 ({pca.explained_variance_ratio_[2]:.1%} of the variance)"
    (points,) = display.ax_.collections
    np.testing.assert_allclose(points.get_offsets(), display.scores)


def test_classes_have_a_legend_and_numbers_a_scale(pca):
    X = pca.X_fit_
    classes = EmbeddingDisplay.from_estimator(pca, X, np.where(X[:, 0] > 0, "right", "left")).plot()
    assert [text.get_text() for text in classes.ax_.get_legend().get_texts()] == ["left", "right"]
    np.testing.assert_allclose(classes.ax_.collections[0].get_offsets(), classes.scores[X[:, 0] <= 0])
    numbers = EmbeddingDisplay.from_estimator(pca, X, X[:, 0]).plot()
    assert numbers.ax_.get_legend() is None
    assert len(numbers.figure_.axes) == 2


def test_many_words_stand_at_their_points(pca):
    words = np.array([f"word {i % 30}" for i in range(60)])
    display = EmbeddingDisplay.from_estimator(pca, pca.X_fit_, words).plot()
    assert display.ax_.get_legend() is None
    texts = {text.get_text(): text.xy for text in display.ax_.texts}
    assert set(texts) == set(words)
    np.testing.assert_allclose(texts["word 7"], display.scores[[7, 37]].mean(axis=0))
    display.figure_.canvas.draw()


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (np.repeat([0.0, 1.0], 30), ["0.0", "1.0"]),
        (np.repeat([True, False], 30), ["False", "True"]),
        ([1, "a", None] * 20, ["1", "None", "a"]),
        (np.repeat([0.5, 1.5], 30), None),
        (np.repeat([np.inf, 0.5], 30), None),
        (np.arange(60), None),
    ],
    ids=["whole floats", "truths", "mixed", "halves", "infinite", "many"],
)
def test_which_labels_are_classes(pca, labels, names):
    legend = EmbeddingDisplay.from_estimator(pca, pca.X_fit_, labels).plot().ax_.get_legend()
    assert (None if legend is None else [text.get_text() for text in legend.get_texts()]) == names


def test_sparse_inputs(rng):
    X = rng.normal(size=(30, 2)) * (rng.uniform(size=(30, 2)) > 0.3)
    dense, thin = (KernelPCA(2, kernel=RBF(1.0)).fit(Z) for Z in (X, sparse.csr_array(X)))
    expected = EigenfunctionDisplay.from_estimator(dense, grid=9).values
    found = EigenfunctionDisplay.from_estimator(thin, grid=9).plot().values
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-8)
    assert EmbeddingDisplay.from_estimator(thin, sparse.csr_array(X)).plot().scores.shape == (30, 2)


def test_a_constant_column_has_a_grid(rng):
    X = np.column_stack([np.ones(20), rng.normal(size=20)])
    display = EigenfunctionDisplay.from_estimator(KernelPCA(2, kernel=RBF(1.0)).fit(X), grid=9).plot()
    assert np.all(np.diff(display.columns) > 0)


def test_embedding_of_strings():
    words = ["ACGT", "ACCA", "GTGT", "TTAC"]
    model = KernelPCA(2, kernel=Spectrum(2)).fit(words)
    assert EmbeddingDisplay.from_estimator(model, words, words).plot().scores.shape == (4, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"components": (0, 5)}, "give two numbers from 0 to 4"),
        ({"components": (1,)}, "give two numbers from 0 to 4"),
        ({"labels": [1, 2]}, "There are 2 labels for 60 inputs"),
    ],
)
def test_wrong_options(pca, options, message):
    with pytest.raises(ValueError, match=message):
        EmbeddingDisplay.from_estimator(pca, pca.X_fit_, **options)


def test_without_matplotlib(pca, monkeypatch):
    display = EigenfunctionDisplay.from_estimator(pca, grid=10)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot")
    with pytest.raises(ImportError, match="install it with: pip install"):
        display.plot()
