"""Pictures: Display objects that compute and draw apart, as in scikit-learn."""

from representer.plotting.density import DensityDisplay, RegressionDisplay

__all__ = ["DensityDisplay", "RegressionDisplay"]
