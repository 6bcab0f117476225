import numpy as np
import pandas as pd
import pytest
from each_case import each
from scipy import sparse

from representer import SVC, Function, KernelRidge
from representer.kernels import (
    RBF,
    Graphs,
    HistogramIntersection,
    Intersection,
    Jaccard,
    Linear,
    Normalized,
    On,
    Spectrum,
    WeisfeilerLehman,
    Words,
)

TEXTS = ["good day", "bad day", "good good idea", "no idea", ""]
FRAME = pd.DataFrame({"text": TEXTS, "size": [1.0, 2.0, 0.5, 3.0, 0.0], "word": ["ab", "ba", "abb", "a", ""]})

KERNELS = [
    (Words(), TEXTS),
    (Spectrum(2, weights=[0.5, 2.0]), TEXTS),
    (Normalized(Words(idf=False)), TEXTS),
    (2.0 * Spectrum(1) + Normalized(Words()), TEXTS),
    (Spectrum(1, compare=Linear(2.0)), TEXTS),
    (Linear([1.0, 2.0]), np.array([[1.0, 2.0], [0.0, 1.0], [3.0, 0.0]])),
    (Linear(), sparse.csr_array(np.eye(3))),
    (On(Words(), "text") + 0.5 * On(Linear(), ["size"]) + On(Spectrum(1), "word"), FRAME),
    (Intersection(), [{1, 2}, {2, 3}, set()]),
    (WeisfeilerLehman(2), Graphs([(0, 1), (1, 2), (3, 4)], [0, 0, 0, 1, 1], node_labels="CCOCO")),
]


@each(("kernel", "X"), KERNELS)
def test_weights_of_features_are_exact(kernel, X):
    """f(x) = <w, phi(x)>, and the largest entries of w are those that are listed."""
    values, names = kernel.features(X)
    n = values.shape[0]
    assert len(names) == values.shape[1]
    np.testing.assert_allclose((values @ values.T).toarray(), kernel(X), atol=1e-12)
    coef = np.random.default_rng(0).normal(size=n)
    f = Function(kernel, X, coef)
    w = values.T @ coef
    np.testing.assert_allclose(values @ w, f(X), atol=1e-12)
    largest = np.argsort(-np.abs(w), kind="stable")[:4]
    listed = f.features(4)
    assert [name for name, _ in listed] == [names[column] for column in largest if w[column]]
    np.testing.assert_allclose([weight for _, weight in listed], w[largest][w[largest] != 0])


@each(("kernel", "X"), KERNELS)
def test_a_value_is_what_features_and_inputs_add(kernel, X):
    n = kernel.features(X)[0].shape[0]
    coef = np.random.default_rng(1).normal(size=n)
    f = Function(kernel, X, coef, 0.5)
    one = X.iloc[[1]] if hasattr(X, "iloc") else X[1:2]
    why = f.explain(one, n=1000)
    assert why.value == pytest.approx(f(one)[0])
    assert why.constant == 0.5
    assert why.value == pytest.approx(0.5 + sum(added for _, added in why.features))
    assert why.value == pytest.approx(0.5 + sum(added for _, added in why.inputs))
    K = kernel(one, X)[0]
    assert dict(why.inputs) == pytest.approx({i: coef[i] * K[i] for i in range(n) if K[i]})


def test_words_behind_a_decision():
    texts = ["cheap pills", "buy cheap pills", "lunch at noon", "noon or later", "buy now", "see you later"]
    model = SVC(kernel=Words(idf=False), C=100.0).fit(texts, [1, 1, 0, 0, 1, 0])
    weights = dict(model.function_.features(20))
    assert weights["buy"] > 0 > weights["later"]
    why = model.function_.explain(["buy later, unseen"])
    assert {name for name, _ in why.features} == {"buy", "later"}
    spam = dict(zip(texts, [1, 1, 0, 0, 1, 0], strict=True))
    assert all((added > 0) == spam[model.function_.X[i]] for i, added in why.inputs)  # numbers of support vectors
    assert "by 'buy'" in str(why)
    assert str(why).endswith("by all other features")


def test_several_outputs():
    model = KernelRidge(kernel=Spectrum(1)).fit(["ab", "b", "aa"], np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]]))
    first, second = model.function_.features(1)
    assert (first[0][0], second[0][0]) == ("a", "b")
    with pytest.raises(ValueError, match=r"has 2 outputs; pick one, such as f\[0\]"):
        model.function_.explain(["ab"])
    assert model.function_[0].explain(["ab"]).features[0][0] == "a"


@pytest.mark.parametrize(
    "kernel", [RBF() ** 2, Spectrum(1, compare=HistogramIntersection()), Jaccard(), Spectrum(1) * Spectrum(2)]
)
def test_kernels_without_named_features(kernel):
    with pytest.raises(TypeError, match=r"no features with names|not linear in them"):
        kernel.features([{1}, {2}])


def test_bad_requests():
    f = Function(Spectrum(1), ["ab"], np.ones(1))
    with pytest.raises(ValueError, match="n is 0"):
        f.features(0)
    with pytest.raises(ValueError, match="x holds 2 inputs; a single one is explained"):
        f.explain(["a", "b"])
