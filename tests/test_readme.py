"""Every Python block of the README and of the docs runs."""

import re
from pathlib import Path
from textwrap import dedent

import pytest
from quick_tables import make_quick

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
BLOCK = re.compile(r"^( *)```python\b[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)


def blocks_of(page: Path) -> list[tuple[int, str]]:
    """First line and code of each Python block of a page."""
    if not page.exists():
        pytest.fail(f"{page.name} is missing: write it", pytrace=False)
    text = page.read_text(encoding="utf-8")
    return [(text.count("\n", 0, block.start(2)) + 1, dedent(block[2])) for block in BLOCK.finditer(text)]


def run_blocks(page: Path) -> None:
    """Run the blocks of one page in one namespace."""
    namespace = {"__name__": "__main__"}
    for line, code in blocks_of(page):
        try:
            exec(compile("\n" * (line - 1) + code, str(page), "exec"), namespace)
        except Exception as error:
            pytest.fail(f"{page}:{line}: the block that starts here raises {error!r}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_quick(monkeypatch)
    run_blocks(page)


def test_readme_has_blocks():
    assert blocks_of(ROOT / "README.md")


def test_blocks_share_names(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\na = 1\n```\n\n- in a list\n\n  ```python\n  assert a == 1\n  ```\n")
    assert [line for line, _ in blocks_of(page)] == [2, 8]
    run_blocks(page)


def test_failing_block_is_named(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Title\n\n```python\na = 1\n```\n\n```python\nassert a == 2\n```\n")
    with pytest.raises(pytest.fail.Exception, match=r"page\.md:8: .* raises AssertionError"):
        run_blocks(page)


def test_missing_page_is_named(tmp_path):
    with pytest.raises(pytest.fail.Exception, match=r"page\.md is missing"):
        run_blocks(tmp_path / "page.md")
