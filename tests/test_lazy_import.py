"""`import representer` is quick: names are imported when they are asked for, and are what they always were."""

import ast
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import representer
from representer import SVC

HEAVY = ("numpy", "scipy", "sklearn", "numba", "joblib", "matplotlib", "polars", "pandas", "jinja2")


def printed(code):
    """What a fresh interpreter prints."""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout.split()


def test_nothing_heavy_is_imported():
    code = f"import sys, representer; dir(representer); print(*sys.modules.keys() & {set(HEAVY)})"
    assert printed(code) == []


def test_drop_in_classes_import_what_scikit_learn_does_and_no_compiler():
    """The loops are imported by the first fit, scikit-learn's own classes when parameters are checked."""
    code = """
import sys
from representer.drop_in import SVC, KernelPCA, KernelRidge
print(*sys.modules.keys() & {"numba", "sklearn.svm", "sklearn.linear_model", "sklearn.cluster"})
print(*SVC().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).predict([[0.0], [3.0]]), "numba" in sys.modules)
"""
    assert printed(code) == ["0", "1", "True"]


def test_pickles_need_no_import_before_and_rooms_do_not_hide_functions_of_their_name():
    X = np.arange(8.0)[:, None]
    model = pickle.dumps(SVC().fit(X, X[:, 0] > 3.0))
    code = f"""
import pickle
print(*pickle.loads({model!r}).predict([[0.0], [7.0]]))
import representer, representer.rows.arrays, representer.preimage.find
print(representer.preimage.__name__, representer.rows.__name__, representer.kernels.__name__)
"""
    assert printed(code) == ["False", "True", "preimage", "rows", "representer.kernels"]


def test_type_checkers_see_the_same_names():
    """The imports under TYPE_CHECKING, which editors read, are those that happen."""
    tree = ast.parse(Path(representer.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    typed = {alias.asname: node.module for node in block.body for alias in node.names}
    rooms = dict.fromkeys(representer._ROOMS, "representer")
    assert typed == rooms | {name: f"representer.{place}" for name, place in representer._PLACES.items()}


def test_every_name_is_there_and_listed():
    assert set(representer.__all__) <= set(dir(representer))
    for name in representer.__all__:
        assert getattr(representer, name) is vars(representer)[name]  # looked up once
    with pytest.raises(AttributeError, match="no attribute 'KernelRige'"):
        representer.KernelRige  # noqa: B018
