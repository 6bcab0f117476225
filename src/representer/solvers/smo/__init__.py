"""Box-constrained duals by sequential minimal optimisation on working sets."""

from representer.solvers.smo.small import pair_bytes, pairs_are_small, pairs_share_doubles
from representer.solvers.smo.working_set import (
    cost,
    cost_of_pairs,
    interior,
    keep,
    keeps_all_values,
    name,
    overhead,
    shares_doubles,
    solve,
)

__all__ = [
    "cost",
    "cost_of_pairs",
    "interior",
    "keep",
    "keeps_all_values",
    "name",
    "overhead",
    "pair_bytes",
    "pairs_are_small",
    "pairs_share_doubles",
    "shares_doubles",
    "solve",
]
