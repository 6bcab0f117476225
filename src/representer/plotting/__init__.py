"""Pictures: displays that compute first and draw later, with matplotlib."""

from representer.plotting.density import DensityDisplay, RegressionDisplay
from representer.plotting.gaussian_process import GaussianProcessDisplay
from representer.plotting.latent import LatentDisplay
from representer.plotting.leave_one_out import LeaveOneOutDisplay
from representer.plotting.pca import EigenfunctionDisplay, EmbeddingDisplay
from representer.plotting.preimage import ImageRowsDisplay
from representer.plotting.rbf_network import DualBasisDisplay
from representer.plotting.two_sample import NullDisplay, WitnessDisplay

__all__ = [
    "DensityDisplay",
    "DualBasisDisplay",
    "EigenfunctionDisplay",
    "EmbeddingDisplay",
    "GaussianProcessDisplay",
    "ImageRowsDisplay",
    "LatentDisplay",
    "LeaveOneOutDisplay",
    "NullDisplay",
    "RegressionDisplay",
    "WitnessDisplay",
]
