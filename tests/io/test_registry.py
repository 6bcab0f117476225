"""A file may name every exported class, and no other."""

import inspect

import numpy as np
import pytest
from each_case import each

import representer
from representer import kernels, load, losses, regularizers, save
from representer.io.registry import APPROXIMATIONS, CLASS_NAMES, ESTIMATORS, NAMED_CLASSES
from representer.kernels import RBF, Exp, Linear, Normalized, On, Spectrum


def test_every_public_estimator_can_be_saved():
    public = {getattr(representer, name) for name in representer.__all__}
    assert {each for each in public if isinstance(each, type) and hasattr(each, "get_params")} == {
        *ESTIMATORS,
        *APPROXIMATIONS,
    }


def test_every_kernel_and_loss_can_be_saved():
    for room in (kernels, losses, regularizers):
        public = [getattr(room, name) for name in getattr(room, "__all__", vars(room)) if not name.startswith("_")]
        for found in public:
            assert not hasattr(found, "get_params") or CLASS_NAMES[found].endswith(f".{found.__name__}")


def test_names_are_of_this_library():
    assert all(each.__module__.startswith("representer.") for each in NAMED_CLASSES.values())
    assert len(CLASS_NAMES) == len(set(CLASS_NAMES.values()))


NEEDED = {
    **{"kernel": RBF([0.5, 2.0]), "left": 2.0 * RBF(), "right": Linear() ** 2, "columns": ["a", "b"]},
    **{"Z": np.arange(6.0).reshape(3, 2), "centers": [0.0, 1.0], "knots": [0.5]},
}
"""Values of parameters without a default."""


def made(kind):
    """An instance with default parameters where there are some."""
    parameters = inspect.signature(kind).parameters.values()
    needed = {each.name for each in parameters if each.default is each.empty}
    if needed & {"function", "value"}:  # code of the user
        return None
    given = {"kernel": Spectrum(2)} if kind is kernels.Bags else {}
    return kind(**{name: (NEEDED | given)[name] for name in needed})


@each("name", sorted(NAMED_CLASSES))
def test_every_class_comes_back(name, tmp_path):
    value = made(NAMED_CLASSES[name])
    if value is None:
        return
    save(value, tmp_path / "value.repr")
    found = load(tmp_path / "value.repr")
    assert type(found) is type(value)
    assert repr(found) == repr(value)
    assert isinstance(value, representer.kernels.Kernel) <= (found == value)


COMPOSED = {
    "sum": lambda part: part + part,
    "product": lambda part: 0.5 * part * RBF(3.0),
    "cosine": Normalized,
    "column": lambda part: On(part, [1]),
    "exponential": Exp,
}


@pytest.mark.parametrize("composed", COMPOSED.values(), ids=COMPOSED)
def test_every_kernel_comes_back_in_expressions(composed, tmp_path):
    parts = [made(kind) for kind in NAMED_CLASSES.values() if issubclass(kind, kernels.Kernel)]
    checked = 0
    for part in parts:
        try:
            value = composed(part)
        except (TypeError, ValueError):  # some kernels are not composed so
            continue
        save(value, tmp_path / "value.repr")
        assert load(tmp_path / "value.repr") == value
        checked += 1
    assert checked > 35
