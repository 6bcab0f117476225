"""Three sentences that follow from the numbers."""

from representer.tables.outcome import Comparison, Finding, Score
from representer.tables.targets import Target
from representer.tables.verdict import verdict

TARGET = Target("y", "regression", "squared")
SCORES = [Score("R2", 0.8, 0.7, 0.9, True), Score("RMSE", 2.0, 1.5, 2.5, False)]
BETTER, EQUAL = (
    Comparison("the mean", "R2", 0.0, 0.8, 0.7, 0.9),
    Comparison("a linear model", "R2", 0.79, 0.01, -0.1, 0.1),
)


def test_linear_is_as_good():
    sentences, use_linear = verdict(TARGET, 1234, SCORES, [BETTER, EQUAL], [])
    assert use_linear
    assert sentences[0].startswith("On 1,234 rows that the model had not seen, the share of the variance explained")
    assert "not surely better than a linear model by 0.01" in sentences[1]
    assert sentences[2] == "Use the linear model: it is as good, and simpler."
    unsure = Comparison("a linear model", "R2", 0.7, 0.1, -0.01, 0.2)
    sentences, use_linear = verdict(TARGET, 10, SCORES, [BETTER, unsure], [])
    assert use_linear
    assert sentences[2].startswith("Use the linear model, which is simpler, until")


def test_linear_is_better():
    worse = Comparison("the mean", "R2", 0.0, -0.02, -0.5, 0.3)
    line = Comparison("a linear model", "R2", 0.9, -0.9, -1.4, -0.6)
    sentences, use_linear = verdict(TARGET, 10, SCORES, [worse, line], [])
    assert use_linear
    assert sentences[2] == "Use the linear model: it is better, and simpler."


def test_the_model_is_better():
    line = Comparison("a linear model", "R2", 0.5, 0.3, 0.2, 0.4)
    sentences, use_linear = verdict(TARGET, 10, SCORES, [BETTER, line], [])
    assert not use_linear
    assert sentences[2].startswith("Use the model")
    leak = Finding("leak", True, ("x",), "x is a copy.")
    assert verdict(TARGET, 10, SCORES, [BETTER, line], [leak])[0][2] == "Look at this first: x is a copy."


def test_nothing_is_learnt():
    worse = Comparison("the mean", "R2", 0.0, -0.2, -0.3, -0.1)
    sentences, _ = verdict(TARGET, 10, SCORES, [worse, EQUAL], [])
    assert "worse than the mean" in sentences[1]
    assert sentences[2].startswith("Do not use it")
