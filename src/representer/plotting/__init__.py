"""Pictures: Display objects that compute and draw apart, as in scikit-learn."""

from representer.plotting.latent import LatentDisplay
from representer.plotting.rbf_network import DualBasisDisplay

__all__ = ["DualBasisDisplay", "LatentDisplay"]
