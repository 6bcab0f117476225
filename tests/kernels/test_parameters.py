import numpy as np
import pytest
from each_case import each
from sklearn.base import clone

from representer.kernels.parameters import Parameters


class Thing(Parameters):
    def __init__(self, a=1.0, b=None, c=()):
        self.a = a
        self.b = b
        self.c = c


@each(
    ("left", "right", "equal"),
    [
        (Thing(), Thing(), True),
        (Thing(2), Thing(2.0), True),
        (Thing([1.0, 2.0]), Thing(np.array([1.0, 2.0])), True),
        (Thing([1.0, 2.0]), Thing([1.0, 2.0, 3.0]), False),
        (Thing(b="x"), Thing(b="y"), False),
        (Thing(b=["ACGT", "A"]), Thing(b=["ACGT", "A"]), True),
        (Thing(b=["ACGT", "A"]), Thing(b=["ACGT", "C"]), False),
        (Thing(b=Thing(3)), Thing(b=Thing(3)), True),
        (Thing(b=len), Thing(b=len), True),
        (Thing(b=len), Thing(b=max), False),
        (Thing(1), 1, False),
    ],
)
def test_equality_of_all_parameters(left, right, equal):
    assert (left == right) is equal
    assert (left != right) is not equal


def test_printing_names_what_was_given_in_order():
    assert repr(Thing()) == "Thing()"
    assert repr(Thing(c=(1,), a=2)) == "Thing(a=2, c=(1,))"
    assert repr(Thing(b=Thing(3))) == "Thing(b=Thing(a=3))"


def test_clone_is_equal_and_apart():
    thing = Thing(b=[1, 2])
    other = clone(thing)
    assert other == thing
    assert other is not thing
    with pytest.raises(TypeError, match="unhashable"):
        hash(thing)


def test_a_subclass_has_its_own_names():
    class More(Thing):
        def __init__(self, a=1.0, d=2.0):
            self.a = a
            self.d = d

    assert sorted(Thing().get_params()) == ["a", "b", "c"]
    assert sorted(More().get_params()) == ["a", "d"]


def test_a_clone_shares_nothing_that_can_change():
    thing = Thing(a=np.arange(3.0), b=Thing([1.0]), c=2.5)
    copy = clone(thing)
    assert copy == thing
    assert type(copy) is Thing
    copy.a[0] = 7.0
    copy.b.a.append(2.0)
    assert thing.a[0] == 0.0
    assert thing.b.a == [1.0]


def test_printing_without_parameters_compiles_no_code(monkeypatch):
    # the signature of a class without a constructor is text that inspect parses, and reading a model file may print
    monkeypatch.setattr("ast.parse", None)
    assert repr(Parameters()) == "Parameters()"
