"""Finite feature maps: low-rank factors of a kernel matrix, Mercer's expansion, and views of principal components."""

from representer.features.landmarks import Landmarks, landmarks
from representer.features.mercer import Mercer, mercer
from representer.features.nystroem import Nystroem
from representer.features.pivoted_cholesky import pivoted_cholesky
from representer.features.random_features import RandomFeatures
from representer.features.sketch import Sketch
from representer.gram.low_rank import LowRank

__all__ = [
    "Landmarks",
    "LowRank",
    "Mercer",
    "Nystroem",
    "RandomFeatures",
    "Sketch",
    "landmarks",
    "mercer",
    "pivoted_cholesky",
]
