"""Pictures are SVG elements in the colour of the page, and many points become a picture."""

import numpy as np

from representer.tables import figures


def test_lines_take_the_colour_of_the_page():
    picture = figures.truth_against_prediction(np.arange(5.0), np.arange(5.0))
    assert picture.startswith("<svg")
    assert "currentColor" in picture
    assert figures.INK not in picture
    assert "<script" not in picture


def test_many_points_are_a_picture():
    x = np.random.default_rng(0).normal(size=3000)
    many = figures.residuals(x, x + 1.0)
    assert "data:image/png;base64" in many
    assert len(many) < 200_000
    assert "data:image/png" not in figures.residuals(x[:100], x[:100])


def test_hostile_words_are_escaped():
    picture = figures.section(["<script>alert(1)</script>", "$x_1$", "a\nb"], np.ones(3), None, "0")
    assert "<script" not in picture
    assert "&lt;script" in picture


def test_a_perfect_ranking_goes_through_the_corner():
    assert figures.roc(np.array([0.9, 0.8, 0.2]), np.array([True, True, False])).startswith("<svg")
    assert figures.reliability(np.array([0.5, 1.0]), np.array([True, True])).startswith("<svg")
    assert figures.coverage([0.5, 0.95], [0.4, 0.9]).startswith("<svg")


def test_words_are_short():
    assert figures.short("a" * 40) == "a" * 17 + "…"
    assert figures.short(0.123456) == "0.1235"
