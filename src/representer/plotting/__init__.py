"""Pictures: each Display computes first and draws with matplotlib when asked to."""

from representer.plotting.two_sample import NullDisplay, WitnessDisplay

__all__ = ["NullDisplay", "WitnessDisplay"]
