"""Plots: displays that compute first and draw later, with matplotlib."""

from representer.plotting.density_display import DensityDisplay, RegressionDisplay
from representer.plotting.gaussian_process_display import GaussianProcessDisplay
from representer.plotting.latent_display import LatentDisplay
from representer.plotting.leave_one_out_display import LeaveOneOutDisplay
from representer.plotting.pca_display import EigenfunctionDisplay, EmbeddingDisplay
from representer.plotting.preimage_display import ImageRowsDisplay
from representer.plotting.rbf_network_display import DualBasisDisplay
from representer.plotting.two_sample_display import NullDisplay, WitnessDisplay

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
