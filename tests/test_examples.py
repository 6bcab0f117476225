"""Every example with a picture runs without a screen, and draws one figure."""

import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("plot_*.py"))


@pytest.fixture(autouse=True)
def no_screen(monkeypatch):
    backend = plt.get_backend()
    plt.switch_backend("Agg")
    monkeypatch.setattr(plt, "show", lambda: None)
    yield
    plt.close("all")
    plt.switch_backend(backend)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(example), run_name="__main__")
    assert plt.get_fignums(), f"{example.name} draws no figure"
    plt.gcf().canvas.draw()
    assert example.read_text(encoding="utf-8").startswith('"""'), f"{example.name} does not say what it shows"


def test_there_are_examples():
    assert EXAMPLES
