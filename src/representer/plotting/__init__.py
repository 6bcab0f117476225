"""Pictures of fitted estimators: displays that compute first and draw later, with matplotlib."""

from representer.plotting.gaussian_process import GaussianProcessDisplay
from representer.plotting.leave_one_out import LeaveOneOutDisplay

__all__ = ["GaussianProcessDisplay", "LeaveOneOutDisplay"]
"""Pictures: Display objects that compute and draw apart, as in scikit-learn."""

from representer.plotting.pca import EigenfunctionDisplay, EmbeddingDisplay

__all__ = ["EigenfunctionDisplay", "EmbeddingDisplay"]
"""Pictures: each Display computes first and draws with matplotlib when asked to."""

from representer.plotting.two_sample import NullDisplay, WitnessDisplay

__all__ = ["NullDisplay", "WitnessDisplay"]
"""Pictures: displays that compute first and draw later, with matplotlib."""

from representer.plotting.preimage import ImageRowsDisplay

__all__ = ["ImageRowsDisplay"]
"""Pictures: Display objects that compute and draw apart, as in scikit-learn."""

from representer.plotting.density import DensityDisplay, RegressionDisplay

__all__ = ["DensityDisplay", "RegressionDisplay"]
"""Pictures: Display objects that compute and draw apart, as in scikit-learn."""

from representer.plotting.latent import LatentDisplay
from representer.plotting.rbf_network import DualBasisDisplay

__all__ = ["DualBasisDisplay", "LatentDisplay"]
