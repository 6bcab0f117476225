"""Bytes of a pass."""

from types import SimpleNamespace

from representer.result import Budget
from representer.solvers.finite_passes import bytes_of_blocks


def test_bytes_grow_with_columns_and_functions():
    def needed(columns, size):
        rows = SimpleNamespace(block_rows=100, n_columns=columns)
        return bytes_of_blocks(SimpleNamespace(rows=rows, size=size), Budget(memory=1, threads=2))

    assert needed(1, 10) < needed(5, 10) < needed(5, 20)
