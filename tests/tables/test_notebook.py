"""What a notebook shows is escaped, and complete."""

from dataclasses import replace

from representer.tables.notebook import notebook_html


def test_it_shows_what_was_found(houses_fit):
    evil = "<script>alert(1)</script>"
    outcome = replace(houses_fit.outcome, target=evil, importance=((evil, 0.5), ("b", -0.1)))
    page = notebook_html(outcome)
    assert "<script" not in page
    assert page.count("&lt;script") == 2
    assert outcome.scores[0].metric in page
    assert "a linear model" in page
    assert page.count("<div") == page.count("</div>")
    assert "without a column" not in notebook_html(replace(outcome, importance=()))
