"""Constraints on parameters are scikit-learn's, whether its classes are replaced or not."""

import pytest

from representer import drop_in
from representer.drop_in.constraints import Constraints
from representer.drop_in.patching import PLACES, original

OWN = {"GaussianProcessClassifier", "GaussianProcessRegressor"}
"""Classes that take this library's kernels, too."""


@pytest.mark.parametrize("name", sorted(PLACES.keys() - OWN))
def test_constraints_are_those_of_scikit_learn(name):
    assert getattr(drop_in, name)._parameter_constraints is original(name)._parameter_constraints


def test_constraints_are_found_while_the_class_is_replaced(monkeypatch):
    monkeypatch.setattr(drop_in.KernelRidge, "_parameter_constraints", constraints := Constraints())
    constraints.__set_name__(drop_in.KernelRidge, "_parameter_constraints")
    with drop_in.patch():
        assert "alpha" in drop_in.KernelRidge._parameter_constraints
