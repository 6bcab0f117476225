"""Finite feature maps: low-rank factors of a kernel matrix."""

from representer.features.pivoted_cholesky import LowRank, pivoted_cholesky

__all__ = ["LowRank", "pivoted_cholesky"]
