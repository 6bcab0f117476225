"""Models predict the same bits after a round through a file, and damaged files raise LoadError and nothing else."""

import json
import pickle
import sys
import tracemalloc
from contextlib import suppress
from hashlib import sha256
from inspect import signature
from pathlib import Path

import numpy as np
import pandas as pd
import polars
import pytest
from damaged import SWELLING, UNPACKED, Damages, damages
from each_case import each
from safetensors.numpy import load_file, save_file

import representer
from representer import Function, LoadError, load, save
from representer.io import allowance, tensor_layout
from representer.io.registry import APPROXIMATIONS, ESTIMATORS
from representer.io.tensor_layout import TYPE_NAMES
from representer.kernels import RBF, Jaccard, Linear, Normalized, On, Spectrum

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
Y = np.sin(2 * X[:, 0]) + 0.1 * RNG.normal(size=40)
LABELS = np.array(["no", "yes"])[(Y > 0).astype(int)]
SPARE, UNCOUNTED = 2**19, 2**16
"""Bytes allowed in these tests beyond twice the file, far fewer than in use, so that small files are enough to exceed
them; and those of small things that are not counted, such as nodes and errors."""
METHODS = ("predict", "predict_proba", "decision_function", "transform", "score_samples", "kneighbors")
SMALL = {
    "KernelKMeans": {"n_clusters": 2, "random_state": 0},
    "SpectralClustering": {"n_clusters": 2, "random_state": 0},
    "SVCPath": {"C": [1.0, 10.0]},
    "GPLVM": {"max_iter": 5},
    "SVC": {"probability": True},
}


def fitted(kind):
    model = kind(**SMALL.get(kind.__name__, {}))
    if not hasattr(model, "fit"):
        return model
    labels = model.__sklearn_tags__().target_tags.required and model.__sklearn_tags__().classifier_tags is not None
    targets = {"ConditionalMeanEmbedding": X, "KernelPoissonRegression": np.round(Y**2)}
    return model.fit(X, targets.get(kind.__name__, LABELS if labels else Y))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_the_same_bits(kind, tmp_path):
    model = fitted(kind)
    save(model, tmp_path / "model.repr")
    found = load(tmp_path / "model.repr")
    assert repr(found) == repr(model)
    assert vars(found).keys() >= {name for name in vars(model) if name.endswith("_")}
    for method in METHODS:
        if hasattr(model, method):
            np.testing.assert_array_equal(getattr(found, method)(X[:7]), getattr(model, method)(X[:7]), method)
    if hasattr(model, "predict") and "return_std" in signature(model.predict).parameters:
        std = model.predict(X[:7], return_std=True)[1]
        np.testing.assert_array_equal(found.predict(X[:7], return_std=True)[1], std)
    assert pickle.loads(pickle.dumps(found)).__class__ is kind


@pytest.mark.parametrize("kind", APPROXIMATIONS, ids=lambda kind: kind.__name__)
def test_approximations(kind, tmp_path):
    features = kind(RBF(1.0), 8).fit(X)
    model = representer.KernelRidge(kernel=kind(RBF(1.0), 8)).fit(X, Y)
    for saved, name in ((features, "transform"), (model, "predict")):
        save(saved, tmp_path / "model.repr")
        found = load(tmp_path / "model.repr")
        np.testing.assert_array_equal(getattr(found, name)(X[:5]), getattr(saved, name)(X[:5]))


def test_strings_and_words(tmp_path):
    model = representer.SVC(kernel=Normalized(Spectrum(2))).fit(["ACGT", "ACGA", "TTTT", "TTTA"], ["a", "a", "b", "b"])
    save(model, tmp_path / "model.repr")
    assert load(tmp_path / "model.repr").predict(["ACG", "TTT"]).tolist() == ["a", "b"]


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.repr"
    save(RBF(1.0), path)
    with pytest.raises(TypeError, match="holds no code"):
        save(representer.KernelRidge(kernel=representer.kernels.Callable(min)), path)
    assert load(path) == RBF(1.0)
    assert list(tmp_path.iterdir()) == [path]


def test_files_of_version_1_are_read():
    model = load(Path(__file__).with_name("version_1.repr"))
    assert model.kernel == 2.0 * RBF([1.0, 2.0]) + Normalized(Linear(2.0))
    assert model.certificate_.converged
    np.testing.assert_allclose(model.predict([[0.5, -0.5]]), [0.8026358699075236], rtol=1e-12)


@each(
    ("version", "value", "std"),
    [
        (1, 0.19120944, 0.26718787),
        (2, 0.19178767, 0.28536993),
        (3, 0.19178767, 0.28536993),
        (4, 0.19178767, 0.28536993),
    ],
)
def test_regressors_of_all_versions_have_bands(version, value, std):
    """Version 1 lists no distinct rows; one of the twelve rows has weight zero."""
    model = load(Path(__file__).with_name(f"version_{version}_regressor.repr"))
    values, deviations = model.predict([[0.5], [9.0]], return_std=True)
    np.testing.assert_allclose(values, [np.sin(0.5), value], atol=1e-5)
    np.testing.assert_allclose(deviations, [0.0, std], atol=1e-5)


def test_files_of_version_2_are_read():
    model = load(Path(__file__).with_name("version_2.repr"))
    assert model.X_fit_[3] == {"w3", "w4", 3}
    np.testing.assert_allclose(model.predict([{"w3", "w4"}]), [0.07683492390863117], rtol=1e-12)


def test_files_of_version_3_are_read():
    """Words, numbers and sets take more memory than their bytes, so that the file has padding."""
    model = load(Path(__file__).with_name("version_3.repr"))
    assert model.X_fit_[3] == {"w3", "w4", 3}
    np.testing.assert_allclose(model.predict([{"w3", "w4"}]), [0.07683492390863117], rtol=1e-12)


@each("library", ["pandas", "polars"])
def test_files_of_version_4_are_read(library):
    """Missing whole numbers and truth values are marked apart from the others."""
    model = load(Path(__file__).with_name(f"version_4_{library}.repr"))
    assert (model.X["whole"][0], model.X["flag"][1]) == (2**53 + 1, False)
    assert model.X["whole"].isna()[2] if library == "pandas" else model.X["whole"][2] is None
    assert model.X["flag"].sum() == 1
    np.testing.assert_allclose(model(model.X), np.exp(-np.array([[0, 1, 4], [1, 0, 1], [4, 1, 0]]) / 2) @ [1, 2, 3])


@each("version", [2, 3, 4])
def test_models_of_tables_of_all_versions_are_read(version):
    model = load(Path(__file__).with_name(f"version_{version}_table.repr"))
    found = model.predict(polars.DataFrame({"size": ["2.5"], "kind": ["b"]}))
    assert found.columns == ["prediction", "std", "lower", "upper", "unfamiliar"]
    np.testing.assert_allclose(found.row(0)[:4], [7.448510, 1.202737, 5.091189, 9.805831], rtol=1e-5)


def test_models_of_sets_have_short_headers(tmp_path):
    sets = [{*range(i, i + 9), f"w{i}"} for i in range(500)]
    model = representer.KernelRidge(kernel=Jaccard()).fit(sets, np.arange(500.0))
    save(model, tmp_path / "model.repr")
    content = (tmp_path / "model.repr").read_bytes()
    assert int.from_bytes(content[:8], "little") < 5_000
    np.testing.assert_array_equal(load(content).predict(sets[:9]), model.predict(sets[:9]))


def test_models_that_could_not_be_loaded_are_not_saved(tmp_path):
    model = representer.KernelRidge(alpha=[np.array(i) for i in range(10_001)])
    with pytest.raises(ValueError, match="too many names and small values: it has 10001 arrays"):
        save(model, tmp_path / "model.repr")
    assert not list(tmp_path.iterdir())


def test_files_are_as_long_as_loading_them_takes_memory(tmp_path, monkeypatch):
    """Small sets take far more memory than their bytes in the file; a file without its padding is refused."""
    monkeypatch.setattr(allowance, "SPARE_BYTES", SPARE)
    path = tmp_path / "model.repr"
    save(model := representer.KernelRidge(alpha=[{i} for i in range(9000)]), path)
    assert load(path).alpha == model.alpha
    assert taken(path.read_bytes()) < 2 * path.stat().st_size + SPARE
    monkeypatch.setattr(tensor_layout, "padding_for", lambda size, taken: 0)
    save(model, path)
    with pytest.raises(LoadError, match=r"too small for what it holds: its words, .* set memory="):
        load(path)
    assert load(path, memory=10**7).alpha == model.alpha


def test_missing_libraries_are_named(tmp_path, monkeypatch):
    save(Function(Linear(), pd.DataFrame({"x": [1.0]}), np.ones(1)), tmp_path / "model.repr")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(LoadError, match=r"holds a data frame .* pandas .*install it"):
        load(tmp_path / "model.repr")


def rewritten(path, change):
    """The file with another document or other arrays, and a hash that fits."""
    arrays = load_file(path)
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    metadata = header["__metadata__"]
    document = change(json.loads(metadata["document"]), arrays, metadata)
    metadata["document"] = document if isinstance(document, str) else json.dumps(document)
    digest = sha256(metadata["document"].encode())
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype.str} {arrays[name].shape}".encode() + arrays[name].tobytes())
    metadata["sha256"] = digest.hexdigest()
    save_file(arrays, path, metadata)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda d, a, m: m.update(format="9") or d, "newer"),
        (lambda d, a, m: m.update(format="one") or d, "not a model of this library"),
        (lambda d, a, m: "[" * 10_000, "damaged"),
        (lambda d, a, m: "[]", "no table"),
        (lambda d, a, m: d | {"root": [10**6]}, "points nowhere"),
        (lambda d, a, m: {"root": 0}, "no table"),
    ],
)
def test_foreign_files(change, fault, tmp_path):
    path = tmp_path / "model.repr"
    save(representer.KernelRidge().fit(X, Y), path)
    rewritten(path, change)
    with pytest.raises(LoadError, match=fault):
        load(path)


def test_damage_is_seen(tmp_path):
    path = tmp_path / "model.repr"
    save(representer.KernelRidge().fit(X, Y), path)
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    with pytest.raises(LoadError, match="its hash"):
        load(path)
    path.write_bytes(content[:-100])
    with pytest.raises(LoadError, match="not a model file"):
        load(path)
    path.write_text("not a model")
    with pytest.raises(LoadError, match="not a model file"):
        load(path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nowhere.repr")


def frame():
    days = np.datetime64("2020-01-01") + np.arange(40)
    return pd.DataFrame({"x": X[:, 0], "day": days, "level": pd.Categorical(LABELS), "word": LABELS.astype(object)})


WHOLE = {
    "numbers": lambda: representer.KernelRidge().fit(X, Y),
    "strings": lambda: representer.SVC(kernel=Spectrum(2)).fit(["AC", "GT", "CC"], [0, 1, 1]),
    "frame": lambda: Function(On(RBF(1.0), ["x"]), frame(), Y),
    "table": lambda: load(Path(__file__).with_name("version_2_table.repr")),
}
DAMAGED = {"numbers": 12_000, "strings": 5_000, "frame": 2_000, "table": 1_000}
"""Numbers of damaged files of each kind."""


@pytest.fixture(params=WHOLE)
def content(request, tmp_path):
    save(WHOLE[request.param](), tmp_path / f"{request.param}.repr")
    return tmp_path / f"{request.param}.repr"


def test_damaged_files_raise_load_error_only(content):
    count, loaded = DAMAGED[content.stem], 0
    for damaged in damages(content.read_bytes(), count, seed=0):
        with suppress(LoadError):
            load(damaged)
            loaded += 1
    assert 0 < loaded < count / 3  # forged documents may make models of other numbers


def taken(content):
    """Bytes that loading takes at most."""
    tracemalloc.start()
    with suppress(LoadError):
        load(content)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.fixture
def spare(monkeypatch):
    monkeypatch.setattr(allowance, "SPARE_BYTES", SPARE)


def test_damaged_files_take_no_more_than_twice_their_size(content, spare):
    for damaged in damages(content.read_bytes(), 150, seed=1):
        assert taken(damaged) < 2 * len(damaged) + SPARE + UNCOUNTED


@each("node", UNPACKED)
def test_long_arrays_take_no_more_than_twice_the_file(node, tmp_path, spare):
    save(frame_function := WHOLE["frame"](), tmp_path / "model.repr")
    assert len(frame_function.X) == 40  # which imports pandas
    whole = Damages((tmp_path / "model.repr").read_bytes(), 0)
    for kind in TYPE_NAMES:
        forged = whole.unpacked_by(kind, node, 100_000)
        assert taken(forged) < 2 * len(forged) + SPARE + UNCOUNTED


@each("part", SWELLING)
def test_parsed_json_takes_no_more_than_twice_the_file(part, tmp_path, spare):
    save(Function(RBF(1.0), X, Y), tmp_path / "model.repr")
    whole = Damages((tmp_path / "model.repr").read_bytes(), 0)
    for place in range(3):
        swollen = whole.swollen_by(part, 300_000, place)
        assert taken(swollen) < 2 * len(swollen) + SPARE + UNCOUNTED
