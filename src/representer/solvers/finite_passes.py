"""What solvers in the span of a basis share: the cost of a pass, and progress over passes."""

from __future__ import annotations

from typing import Any

from representer.result import Budget

PAIR_SECONDS = 1.2e-9
"""To fill a value psi_j(x_i) in float64 and use it twice, on two cores; about half of it in float32."""
PASS_SECONDS = 3e-3
"""What a pass takes for few rows."""


def bytes_of_blocks(problem: Any, budget: Budget) -> int:
    """A block of rows with its prepared copies, and strips of values at work."""
    rows, threads = problem.rows, budget.threads or 2
    return 8 * 4 * rows.block_rows * max(rows.n_columns, 1) + 8 * 128 * problem.size * (threads + 16)
