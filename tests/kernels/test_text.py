import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from representer import SVC
from representer.kernels import RBF, Characters, Normalized, On, Words
from representer.testing import check_gram, check_kernel

TEXTS = ["The cat sat on the mat", "A dog and the_cat!", "", "Größe, größe; GRÖSSE 12", "naïve cat cat", "x y z"]


@pytest.mark.parametrize("ngrams", [1, 2, (1, 3)])
@pytest.mark.parametrize("lowercase", [True, False])
def test_words_equal_those_of_scikit_learn(ngrams, lowercase):
    shortest, longest = ngrams if isinstance(ngrams, tuple) else (ngrams, ngrams)
    vectorizer = CountVectorizer(ngram_range=(shortest, longest), lowercase=lowercase)
    F = vectorizer.fit_transform(TEXTS).toarray()
    kernel = Words(ngrams, idf=False, lowercase=lowercase)
    assert np.array_equal(kernel(TEXTS), F @ F.T)
    values, names = kernel.features(TEXTS)
    assert sorted(names) == sorted(vectorizer.get_feature_names_out())
    assert np.array_equal(values.toarray()[:, np.argsort(names)], F[:, np.argsort(vectorizer.get_feature_names_out())])


@pytest.mark.parametrize("ngrams", [1, 3, (2, 4)])
def test_characters_equal_those_of_scikit_learn(ngrams):
    shortest, longest = ngrams if isinstance(ngrams, tuple) else (ngrams, ngrams)
    vectorizer = CountVectorizer(analyzer="char", ngram_range=(shortest, longest))
    F = vectorizer.fit_transform(TEXTS).toarray()
    kernel = Characters(ngrams)
    assert np.array_equal(kernel(TEXTS), F @ F.T)
    assert sorted(kernel.features(TEXTS)[1]) == sorted(vectorizer.get_feature_names_out())


@pytest.mark.parametrize(
    ("kernel", "vectorizer"),
    [(Words(), TfidfVectorizer()), (Characters(2, idf=True), TfidfVectorizer(analyzer="char", ngram_range=(2, 2)))],
    ids=["words", "letters"],
)
def test_rare_words_weigh_as_in_scikit_learn(kernel, vectorizer):
    fitted = Normalized(kernel).with_default_scales(TEXTS)
    new = ["the unseen cat", "on a mat", "Zebra"]
    F = vectorizer.fit_transform(TEXTS)
    np.testing.assert_allclose(fitted(TEXTS), (F @ F.T).toarray(), atol=1e-15)
    # scikit-learn forgets words that it has not seen; here they count in k(x, x)
    raw, norms = fitted.kernel(new, TEXTS), np.sqrt(fitted.kernel.diag(TEXTS))
    vectorizer.set_params(norm=None)
    F, G = vectorizer.fit_transform(TEXTS), vectorizer.transform(new)
    np.testing.assert_allclose(raw, (G @ F.T).toarray(), atol=1e-13)
    np.testing.assert_allclose(norms, np.linalg.norm(F.toarray(), axis=1))
    assert np.all(fitted.kernel.diag(new)[[0, 2]] > np.linalg.norm(G.toarray(), axis=1)[[0, 2]] ** 2 + 1.0)


def test_idf_is_fitted_once_and_kept():
    weights = np.array([2.0, 1.0, 1.0, 1.0, 0.0, 1.0])
    once = Words().with_default_scales(TEXTS, weights)
    again = Words().with_default_scales([TEXTS[0], *TEXTS[:4], TEXTS[5]])
    np.testing.assert_allclose(once(TEXTS), again(TEXTS), rtol=1e-14)
    assert once.with_default_scales(["other"]) == once
    assert clone(once) == once
    assert repr(once) == f"Words(idf=<idf of {len(once.idf.keys)} features>)"
    assert Words().with_default_scales([""])(["new words"])[0, 0] == pytest.approx(2.0 * (np.log(2.0) + 1.0) ** 2)
    assert np.array_equal(Words()(TEXTS), Words(idf=False)(TEXTS))  # by itself


def test_laws():
    check_kernel(Words((1, 2), weights=[1.0, 0.5]).with_default_scales(TEXTS), TEXTS)
    check_kernel(Characters((1, 2), weights=[0.1, 2.0], compare=RBF(3.0)), TEXTS)
    check_gram(Words(), TEXTS)


@pytest.mark.parametrize("kernel", [Words(), Characters(2), Characters(2, lowercase=False)])
def test_tables_of_bytes(kernel):
    texts = ["Buy now", "buy won", "\xc4pfel  "]
    table = np.array([list(text.encode("latin-1")) for text in texts], np.uint8)
    assert np.array_equal(kernel(table), kernel(texts))


def test_in_an_estimator():
    texts = ["good day", "good idea", "bad day", "bad idea", "a good one", "so bad"]
    labels = ["+", "+", "-", "-", "+", "-"]
    model = SVC(kernel=Normalized(Words()), C=10).fit(texts, labels)
    assert model.predict(["good", "bad bad"]).tolist() == ["+", "-"]
    assert model.kernel_.kernel.idf.n == 6.0
    assert On(Words(), 0).with_default_scales(np.array([["a word"], ["two words"]])).kernel.idf.n == 2.0


@pytest.mark.parametrize(
    ("kernel", "error"),
    [
        (Words(0), "ngrams is 0"),
        (Words((2, 1)), "ngrams is 1; it must be an integer, at least 2"),
        (Words((1, 2, 3)), "ngrams is"),
        (Words(idf="yes"), "idf is 'yes'"),
        (Characters(lowercase=1), "lowercase is 1"),
    ],
)
def test_bad_parameters(kernel, error):
    with pytest.raises(ValueError, match=error):
        kernel(TEXTS)
