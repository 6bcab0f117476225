"""Losses l(y, f) of a value f for a target y."""

from representer.losses.absolute import Absolute
from representer.losses.base import Loss
from representer.losses.custom import CustomLoss
from representer.losses.epsilon_insensitive import EpsilonInsensitive
from representer.losses.expectile import Expectile
from representer.losses.exponential import Exponential
from representer.losses.hinge import Hinge
from representer.losses.huber import Huber
from representer.losses.logistic import Logistic
from representer.losses.multinomial import Multinomial
from representer.losses.piecewise_linear import BoxLoss
from representer.losses.pinball import Pinball
from representer.losses.poisson import Poisson
from representer.losses.squared import Squared
from representer.losses.squared_hinge import SquaredHinge

__all__ = [
    "Absolute",
    "BoxLoss",
    "CustomLoss",
    "EpsilonInsensitive",
    "Expectile",
    "Exponential",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "Multinomial",
    "Pinball",
    "Poisson",
    "Squared",
    "SquaredHinge",
]
