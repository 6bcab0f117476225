"""Box-constrained duals by sequential minimal optimisation on working sets."""

from representer.solvers.smo.working_set import (
    FLAT_UP_TO,
    KEPT,
    PARTLY_KEPT,
    SET_SIZE,
    cost,
    cost_of_pairs,
    keep,
    keeps_all_values,
    matrix_bytes,
    name,
    overhead,
    shares_doubles,
    solve,
)

__all__ = [
    "FLAT_UP_TO",
    "KEPT",
    "PARTLY_KEPT",
    "SET_SIZE",
    "cost",
    "cost_of_pairs",
    "keep",
    "keeps_all_values",
    "matrix_bytes",
    "name",
    "overhead",
    "shares_doubles",
    "solve",
]
