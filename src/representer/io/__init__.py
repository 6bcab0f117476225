"""Models in files that hold numbers and names, and no code."""

from representer.io.model_files import LoadError, load, save

__all__ = ["LoadError", "load", "save"]
