"""The report is one page that needs nothing else, says all that was found, and escapes what a table may hold."""

import dataclasses
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from representer.tables.effects import ColumnEffect
from representer.tables.explained_rows import explained_rows
from representer.tables.outcome import (
    Comparison,
    Coverage,
    Finding,
    HeldOut,
    Outcome,
    Score,
    Suspicion,
    TableColumn,
)
from representer.tables.report import report_html, report_json

EVIL = "<script>alert('x')</script> & \"quotes\" {{ 7 * 7 }}"
RNG = np.random.default_rng(0)
TRUTH = RNG.normal(size=50)


def held_out(**changes):
    made = HeldOut(
        np.arange(50), TRUTH, TRUTH + 0.1 * RNG.normal(size=50), np.full(50, 0.1), None, None, None, np.zeros(50, bool)
    )
    return dataclasses.replace(made, **changes)


def outcome(**changes):
    made = Outcome(
        task="regression",
        target=EVIL,
        classes=(),
        verdict=(f"Good for {EVIL}.", "Better than a line.", "Use it."),
        use_linear=False,
        rows=100,
        fitted_rows=50,
        judged_rows=50,
        protocol="half of the rows were set aside",
        columns=(TableColumn(f"{EVIL} column", "number", f"numbers such as {EVIL}", "as it is", 3, 10, True),),
        target_treatment="as it is",
        scores=(Score("R2", 0.8, 0.7, np.nan, True),),
        comparisons=(Comparison("a linear model", "R2", 0.7, 0.1, -0.05, 0.2),),
        coverage=(Coverage(0.5, 0.45), Coverage(0.95, 0.9)),
        findings=(Finding("leak", True, (EVIL,), f"{EVIL} leaks."),),
        model="KernelRegressor",
        kernel_words=(f"RBF of {EVIL}",),
        kernel_formula=f"On(RBF(1.0), [{EVIL!r}])",
        plan="cholesky",
        certificate="residual 1e-12",
        converged=False,
        held_out=held_out(),
        unfamiliar_share=0.02,
        seconds=1.0,
        reproduce={"command": f"representer fit {EVIL}", "seed": 0, "versions": {"numpy": "2"}},
    )
    return dataclasses.replace(made, **changes)


EFFECTS = (
    ColumnEffect(EVIL, 0.9, (1.0, 2.0), (0.0, 1.0), (-0.1, 0.9), (0.1, 1.1)),
    ColumnEffect("city", 0.1, ("<b>Oslo", "Rome"), (0.0, 1.0), (-0.1, 0.9), (0.1, 1.1)),
    ColumnEffect("when", 0.0),
)


class Tags(HTMLParser):
    """All tags with their attributes."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def test_the_page_needs_nothing_else_and_runs_nothing():
    page = report_html(outcome(), EFFECTS)
    tags = Tags(page).found
    assert not {tag for tag, _ in tags} & {"script", "link", "iframe", "object", "b>oslo"}
    links = [value for _, attrs in tags for key, value in attrs.items() if key in ("src", "href", "xlink:href")]
    assert all(link.startswith(("#", "data:")) for link in links)
    assert not any(key.startswith("on") for _, attrs in tags for key in attrs)
    assert "url(http" not in page


def test_names_and_cells_are_escaped():
    page = report_html(outcome(), EFFECTS)
    assert "<script" not in page
    assert "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;" in page
    assert "{{ 7 * 7 }}" in page  # a template in a name is text
    assert "&lt;b&gt;Oslo" in page


def test_the_page_says_what_was_found():
    page = report_html(outcome(), EFFECTS)
    words = re.sub(r"<[^>]+>", " ", page)
    for part in ("Better than a line.", "not surely better", "0.8", "Serious:", "Not converged.", "2.0 % of the rows"):
        assert part in words
    assert page.count("<svg") == 5
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page


def test_the_page_is_readable_on_a_phone_and_printed():
    """Tables of many columns are stacked, with a label for each cell; names between backticks are code."""
    formula = "RBF(length_scale=array([ 1.  , 2.5 ,\n       3.  ]))"
    settings = {"settings": {"loss": "squared", "group": ""}}
    page = report_html(
        outcome(verdict=("Look at `unfamiliar` <b>.",), kernel_formula=formula, reproduce=settings), EFFECTS
    )
    assert "Look at <code>unfamiliar</code> &lt;b&gt;." in page
    assert 'data-is="what the kernel sees">as it is' in page
    assert "RBF(length_scale=array([1., 2.5, 3.]))" in page
    assert "<td>loss squared</td>" in page


def test_the_page_says_among_how_many_rows_suspicious_ones_were_sought():
    some = {"suspicious": (Suspicion(6, 1.0, 2.0, 5.0),), "suspicious_among": 3000}
    assert "among 3,000 of 9,000 rows" in report_html(outcome(rows=9000, **some))
    assert "They were sought" not in report_html(outcome(rows=3000, **some))


def test_the_page_explains_rows(houses, houses_fit):
    rows = explained_rows(houses_fit, houses)
    page, found = report_html(outcome(), EFFECTS, rows), json.loads(report_json(outcome(), EFFECTS, rows))
    assert f"Row {rows[0].explanation.row}: the largest error" in page
    assert found["explained_rows"][0]["explanation"]["row"] == rows[0].explanation.row
    named = replace_name(rows[0])
    assert "<script>" not in report_html(outcome(), (), (named,))


def replace_name(row):
    """The explanation of a row with a hostile column and cell."""
    columns = tuple((EVIL, EVIL, share) for _, _, share in row.explanation.columns)
    return dataclasses.replace(row, given=EVIL, explanation=dataclasses.replace(row.explanation, columns=columns))


def test_classes_have_reliability_a_roc_and_confusions():
    truth = np.where(TRUTH > 0, "no", "yes")
    likely = np.stack([1 / (1 + np.exp(-3 * TRUTH)), 1 / (1 + np.exp(3 * TRUTH))], axis=1)
    judged = held_out(truth=truth, prediction=np.array(["no", "yes"])[likely.argmax(axis=1)], probabilities=likely)
    page = report_html(outcome(task="classification", classes=("no", "yes"), coverage=(), held_out=judged))
    assert page.count("<svg") == 2
    assert "ROC: yes is positive" in page
    assert f'<td class="number">{np.sum(truth == "no")}</td>' in page


@pytest.mark.parametrize("effects", [(), EFFECTS])
def test_the_same_as_json_with_a_version(effects):
    found = json.loads(report_json(outcome(), effects))
    assert found["schema"] == 2
    assert found["scores"][0]["upper"] is None
    assert [each["name"] for each in found["effects"]] == [each.name for each in effects]
