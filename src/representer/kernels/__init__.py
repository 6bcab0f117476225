"""Kernels: k(x, x') on vectors, strings, sets and tables, and the algebra that builds new ones from them."""

from representer.kernels.algebra import Power, Product, Scaled, Sum
from representer.kernels.alignments import GlobalAlignment
from representer.kernels.bags import Bags
from representer.kernels.base import Kernel
from representer.kernels.categories import Categorical
from representer.kernels.columns import On
from representer.kernels.conditional import Multiquadric, Polyharmonic, ThinPlate
from representer.kernels.constant import Constant
from representer.kernels.counts import Counted, Counts
from representer.kernels.dot_product import ArcCosine, Cosine, DotProduct, Linear, Polynomial, Sigmoid
from representer.kernels.features import Bumps, FeatureMap, Fourier, Haar, Quadratic, Sigmoids, TruncatedPowers
from representer.kernels.fingerprints import MinMax, Tanimoto
from representer.kernels.frame_kernels import kernel_for
from representer.kernels.graph_inputs import Graphs
from representer.kernels.graphs import EdgeHistogram, ShortestPath, VertexHistogram, WeisfeilerLehman
from representer.kernels.histogram import Chi2, HistogramIntersection
from representer.kernels.mismatches import GappedKmer, Mismatch
from representer.kernels.missing import Missing
from representer.kernels.normalized import Normalized
from representer.kernels.pairwise import Pairwise
from representer.kernels.periodic import Periodic
from representer.kernels.precomputed import Callable, Precomputed
from representer.kernels.rankings import Kendall, Mallows, ranks
from representer.kernels.series import Exp, PowerSeries
from representer.kernels.sets import Intersection, Jaccard, Subset
from representer.kernels.spline import Brownian
from representer.kernels.stationary import RBF, Laplacian, Matern, RationalQuadratic, Stationary
from representer.kernels.strings import Spectrum
from representer.kernels.subsequence import Subsequence
from representer.kernels.text import Characters, Words
from representer.kernels.walks import RandomWalk
from representer.kernels.weighted_degree import WeightedDegree

__all__ = [
    "RBF",
    "ArcCosine",
    "Bags",
    "Brownian",
    "Bumps",
    "Callable",
    "Categorical",
    "Characters",
    "Chi2",
    "Constant",
    "Cosine",
    "Counted",
    "Counts",
    "DotProduct",
    "EdgeHistogram",
    "Exp",
    "FeatureMap",
    "Fourier",
    "GappedKmer",
    "GlobalAlignment",
    "Graphs",
    "Haar",
    "HistogramIntersection",
    "Intersection",
    "Jaccard",
    "Kendall",
    "Kernel",
    "Laplacian",
    "Linear",
    "Mallows",
    "Matern",
    "MinMax",
    "Mismatch",
    "Missing",
    "Multiquadric",
    "Normalized",
    "On",
    "Pairwise",
    "Periodic",
    "Polyharmonic",
    "Polynomial",
    "Power",
    "PowerSeries",
    "Precomputed",
    "Product",
    "Quadratic",
    "RandomWalk",
    "RationalQuadratic",
    "Scaled",
    "ShortestPath",
    "Sigmoid",
    "Sigmoids",
    "Spectrum",
    "Stationary",
    "Subsequence",
    "Subset",
    "Sum",
    "Tanimoto",
    "ThinPlate",
    "TruncatedPowers",
    "VertexHistogram",
    "WeightedDegree",
    "WeisfeilerLehman",
    "Words",
    "kernel_for",
    "ranks",
]
