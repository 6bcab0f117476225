"""Finite feature maps: low-rank factors of a kernel matrix, Mercer's expansion, and views of principal components."""

from representer.features.mercer import Mercer, mercer
from representer.features.pivoted_cholesky import pivoted_cholesky
from representer.gram.low_rank import LowRank

__all__ = ["LowRank", "Mercer", "mercer", "pivoted_cholesky"]
