"""Budgets of memory: what is refused, and what plans say of it."""

import pytest

from representer._parallel import machine_memory
from representer.estimators.budget import Budgeted
from representer.result import Plan


class Model(Budgeted):
    def __init__(self, memory=None, threads=None):
        self.memory, self.threads = memory, threads


def test_memory_is_the_machines_if_it_is_not_given():
    assert Model()._memory() == machine_memory()
    assert Model(7)._memory() == 7


def test_only_what_is_above_the_budget_is_refused():
    Model(1000)._refuse(1000, "A fit", "less")
    with pytest.raises(MemoryError, match=r"A fit needs 1e-06 GB, above the budget of 9.99e-07 GB; use less\."):
        Model(999)._refuse(1000, "A fit", "less")


def test_a_plan_above_the_budget_says_so():
    plan = Plan("cholesky", "n is small", 1000, 5)
    assert Model(1000)._judged(plan, "less") == plan
    judged = Model(999)._judged(plan, "less")
    assert judged.bytes == 1000
    assert judged.refusal == "A fit by cholesky needs 1e-06 GB, above the budget of 9.99e-07 GB; use less."
