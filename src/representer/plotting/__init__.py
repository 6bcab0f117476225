"""Pictures: Display objects that compute and draw apart, as in scikit-learn."""

from representer.plotting.pca import EigenfunctionDisplay, EmbeddingDisplay

__all__ = ["EigenfunctionDisplay", "EmbeddingDisplay"]
