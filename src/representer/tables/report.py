"""The report of a fit: one self-contained HTML file, and the same as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from importlib import resources
from typing import Any

import numpy as np

from representer.tables import figures
from representer.tables.effects import ColumnEffect
from representer.tables.explained_rows import ExplainedRow
from representer.tables.outcome import HeldOut, Outcome, plain, short_number

MOST_CLASSES_SHOWN = 12
"""Classes up to which a confusion matrix is shown."""
ALONG = "Mean prediction for some rows with this value; the band holds the middle half of them."
ALONG_CLASSES = (
    "Mean probability of {} for some rows with this value; the band holds the middle half of them, and the mean may be "
    "outside it."
)


def report_html(outcome: Outcome, effects: Iterable[ColumnEffect] = (), explained: Iterable[ExplainedRow] = ()) -> str:
    """The report as one self-contained page, light or dark like the reader's screen.

    Names and cells are escaped: a table may hold anything.
    """
    jinja = _jinja()
    environment = jinja.Environment(autoescape=True, undefined=jinja.StrictUndefined, trim_blocks=True)
    environment.filters |= {
        "number": _number,
        "sentence": _sentence,
        "cell": _cell_words,
        "coded": _coded,
        "tight": _tight,
    }
    text = resources.files("representer.tables").joinpath("report.html").read_text(encoding="utf-8")
    markup, effects = jinja.filters.Markup, tuple(effects)  # our own figures must not be escaped
    sections = [
        (each.name, markup(figures.section(each.points, np.array(each.mean), _band(each), str(i))))
        for i, each in enumerate(effects)
        if each.points
    ]
    return environment.from_string(text).render(
        o=outcome,
        figures=[(markup(picture), words) for picture, words in _figures(outcome)],
        confusion=_confusion(outcome),
        effects=effects,
        explained=tuple(explained),
        most=max([each.importance for each in effects if each.importance > 0.0], default=1.0),
        sections=sections,
        section_words=ALONG_CLASSES.format(outcome.classes[-1]) if outcome.classes else ALONG,
        reproduce=[(key, _plain_words(value)) for key, value in outcome.reproduce.items() if key != "command"],
    )


def report_json(outcome: Outcome, effects: Iterable[ColumnEffect] = (), explained: Iterable[ExplainedRow] = ()) -> str:
    """What the page shows, as JSON with a schema version; it includes the rows set aside."""
    found = outcome.as_dict() | {"effects": plain(tuple(effects)), "explained_rows": plain(tuple(explained))}
    return json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False)


def require_packages() -> None:
    """Raise before a long fit if its report cannot be written."""
    _jinja()
    figures.matplotlib_parts()


def _jinja() -> Any:
    try:
        import jinja2
    except ImportError:
        raise ImportError("A report needs jinja2; install it by pip install 'representer[cli]'.") from None
    return jinja2


def _figures(outcome: Outcome) -> list[tuple[str, str]]:
    """Figures of the rows set aside, each with a caption."""
    held = outcome.held_out
    if not len(held.rows):
        return []
    if outcome.classes:
        return _class_figures(outcome, held)
    truth, prediction = np.asarray(held.truth, float), np.asarray(held.prediction, float)
    found = [
        (figures.truth_against_prediction(truth, prediction), "A perfect model has all rows on the line."),
        (figures.residuals(truth, prediction), "No pattern should be left; a funnel means noise that grows."),
    ]
    if outcome.coverage:
        levels, covered = zip(*((each.level, each.covered) for each in outcome.coverage), strict=True)
        words = "; ".join(f"{level:.0%} bands hold {share:.1%}" for level, share in zip(levels, covered, strict=True))
        found.append((figures.coverage(levels, covered), f"On the line, coverage is as nominal: {words}."))
    return found


def _class_figures(outcome: Outcome, held: HeldOut) -> list[tuple[str, str]]:
    if held.probabilities is None:
        return []
    right = np.asarray(held.truth) == np.asarray(held.prediction)
    words = "On the line, probabilities are calibrated; larger dots stand for more rows."
    found = [(figures.reliability(held.probabilities.max(axis=1), right), words)]
    if len(outcome.classes) == 2:
        positive = np.asarray(held.truth).astype(str) == outcome.classes[1]
        words = f"ROC: {outcome.classes[1]} is positive."
        found.append((figures.roc(held.probabilities[:, 1], positive), words))
    return found


def _confusion(outcome: Outcome) -> list[tuple[str, list[int]]]:
    if not 0 < len(outcome.classes) <= MOST_CLASSES_SHOWN or not len(outcome.held_out.rows):
        return []
    truth, prediction = (np.asarray(part).astype(str) for part in (outcome.held_out.truth, outcome.held_out.prediction))
    return [
        (name, [int(np.count_nonzero((truth == name) & (prediction == other))) for other in outcome.classes])
        for name in outcome.classes
    ]


def _band(effect: ColumnEffect) -> tuple[np.ndarray, np.ndarray]:
    return np.array(effect.lower), np.array(effect.upper)


def _number(value: float) -> str:
    return short_number(value).replace("-", "−")


def _cell_words(value: Any) -> str:
    return _number(value) if isinstance(value, float) else str(value)


def _sentence(text: str) -> str:
    """With a capital letter and a full stop."""
    text = str(text).strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def _plain_words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {part}" for key, part in value.items() if part != "")
    return str(value)


def _tight(text: str) -> str:
    """A formula without the line breaks and padding of printed arrays."""
    return re.sub(r"(?<=\[) | (?=[,\]])", "", re.sub(r"\s+", " ", text))


def _coded(text: str) -> Any:
    """With `names` between backticks as code."""
    markup = _jinja().filters.Markup
    parts = [markup("<code>{}</code>" if i % 2 else "{}").format(part) for i, part in enumerate(text.split("`"))]
    return markup("").join(parts)
