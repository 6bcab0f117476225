"""A summary of an outcome as HTML for notebooks, in the colours of the page it is on."""

from __future__ import annotations

from html import escape

from representer.tables.outcome import Outcome, short_number

MOST_COLUMNS_SHOWN = 8
BOX = "border-left:4px solid #3b82c4;background:rgba(128,128,128,.1);border-radius:6px;padding:.4em 1em;margin:.6em 0"
BAR = "background:#3b82c4;border-radius:3px;height:.6em"
TILE = "background:rgba(128,128,128,.1);border-radius:6px;padding:.4em .9em"


def notebook_html(outcome: Outcome) -> str:
    """Verdict, scores, comparisons, column importance, and problems of the data."""
    head = f"<strong style='font-size:1.2em'>{escape(outcome.task)} of {escape(outcome.target)}</strong>"
    used = sum(each.used for each in outcome.columns)
    facts = f"{outcome.rows:,} rows, {used} columns used, {outcome.judged_rows:,} rows judged, {outcome.seconds:.0f} s"
    verdict = "".join(f"<p style='margin:.3em 0'>{escape(sentence)}</p>" for sentence in outcome.verdict)
    tiles = "".join(
        f"<div style='{TILE}'>{escape(each.metric)}<br><b style='font-size:1.3em'>{short_number(each.value)}</b><br>"
        f"<small>{short_number(each.lower)} to {short_number(each.upper)}</small></div>"
        for each in outcome.scores
    )
    serious = [each for each in outcome.findings if each.serious]
    findings = "".join(f"<li>{escape(each.sentence)}</li>" for each in serious)
    return (
        f"<div style='max-width:56em'>{head}<br><small>{facts}</small><div style='{BOX}'>{verdict}</div>"
        f"<div style='display:flex;gap:.6em;flex-wrap:wrap'>{tiles}</div>{_comparisons(outcome)}{_columns(outcome)}"
        f"{f'<p>Look at this first:</p><ul>{findings}</ul>' if findings else ''}"
        f"<small>{escape(outcome.model)}</small></div>"
    )


def _comparisons(outcome: Outcome) -> str:
    rows = "".join(
        f"<tr><td>{escape(each.other)}</td><td>{each.value:.4g}</td><td>{each.gain:.3g}</td>"
        f"<td>{each.lower:.3g} to {each.upper:.3g}</td></tr>"
        for each in outcome.comparisons
    )
    metric = escape(outcome.comparisons[0].metric) if outcome.comparisons else ""
    head = f"<tr><th>against</th><th>its {metric}</th><th>gain</th><th>95 % interval</th></tr>"
    return f"<table>{head}{rows}</table>" if rows else ""


def _columns(outcome: Outcome) -> str:
    """Bars of the most important columns."""
    shown = outcome.importance[:MOST_COLUMNS_SHOWN]
    most = max((fall for _, fall in shown), default=0.0)
    if most <= 0.0:
        return ""
    bars = [f"<div style='{BAR};width:{100.0 * max(fall, 0.0) / most:.1f}%'></div>" for _, fall in shown]
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td style='width:60%'>{bar}</td><td>{fall:.3g}</td></tr>"
        for (name, fall), bar in zip(shown, bars, strict=True)
    )
    return f"<p>By how much {escape(outcome.scores[0].metric)} gets worse without a column:</p><table>{rows}</table>"
