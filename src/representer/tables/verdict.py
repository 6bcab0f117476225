"""The verdict on a fit in three sentences: how good it is, compared with what, and what to do."""

from __future__ import annotations

from representer.tables.baselines import LINEAR_MODEL
from representer.tables.outcome import Comparison, Finding, Score, short_number
from representer.tables.targets import Target

STOPPED = "The fit was stopped early: this is the best model found so far."
MORE_THAN_NONE = 0.1
"""Fraction of the linear model's error above which a gain is notable, though not significant."""
WORDS_OF_SCORES = {
    "R2": "the share of the variance explained is R2 = {}",
    "log loss": "the log loss is {}",
    "Poisson deviance": "the mean Poisson deviance is {}",
    "pinball loss": "the pinball loss is {}",
}


def verdict(
    target: Target,
    rows: int,
    scores: list[Score],
    comparisons: list[Comparison],
    findings: list[Finding],
) -> tuple[tuple[str, ...], bool]:
    """Three sentences, and whether a linear model is as good."""
    use_linear = any(each.other == LINEAR_MODEL and not each.is_better for each in comparisons)
    advice = _advice(comparisons, findings, use_linear)
    return (_how_good(target, rows, scores), _against(comparisons), advice), use_linear


def _error(found: Comparison) -> float:
    """The error of the simpler model, to which a gain is compared."""
    return 1.0 - found.value if found.metric == "R2" else found.value


def _how_good(target: Target, rows: int, scores: list[Score]) -> str:
    first, *others = scores
    text = f"On {rows:,} rows that the model had not seen, " + WORDS_OF_SCORES[first.metric].format(
        _with_interval(first)
    )
    more = [f"{each.metric} {_with_interval(each)}" for each in others]
    return text + (f" ({'; '.join(more)})." if more else ".")


def _with_interval(score: Score) -> str:
    return f"{short_number(score.value)} [{short_number(score.lower)}, {short_number(score.upper)}]"


def _against(comparisons: list[Comparison]) -> str:
    parts = []
    for each in comparisons:
        how = "better than" if each.is_better else "worse than" if each.upper < 0.0 else "not surely better than"
        parts.append(f"{how} {each.other} by {each.gain:.3g} [{each.lower:.3g}, {each.upper:.3g}]")
    return f"In {comparisons[0].metric} it is " + " and ".join(parts) + "."


def _advice(comparisons: list[Comparison], findings: list[Finding], use_linear: bool) -> str:
    constant = next(each for each in comparisons if each.other != LINEAR_MODEL)
    linear = next((each for each in comparisons if each.other == LINEAR_MODEL), constant)
    serious = [each for each in findings if each.serious]
    if linear.upper < 0.0 and linear.gain < constant.gain:
        return "Use the linear model: it is better, and simpler."
    if not constant.is_better:
        return (
            f"Do not use it: it is not surely better than {constant.other}; these columns say little about the target."
        )
    if use_linear and linear.gain > MORE_THAN_NONE * _error(linear):
        return "Use the linear model, which is simpler, until more rows or time show whether this one is better."
    if use_linear:
        return "Use the linear model: it is as good, and simpler."
    if serious:
        return f"Look at this first: {serious[0].sentence}"
    return "Use the model; where `unfamiliar` is true it does not know."
