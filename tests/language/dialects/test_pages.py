"""The pages docs/coming-from show what happens: each rule is run, and the generated tables are up to date."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scripts.dialect_pages import FOLDER, ROW, Row, rewritten, rows

from tests.language.dialects.agreeing import answers
from tocsin.language.dialects import DIALECTS

PAGES = sorted(FOLDER.glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_are_up_to_date(page: Path) -> None:
    """A page has the tables that `python scripts/dialect_pages.py` writes."""
    text = page.read_text("utf-8")
    assert page.stem in DIALECTS
    assert text.count("<!-- taken -->") == text.count("<!-- refused -->") == 1
    assert rewritten(text, page.stem) == text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_ten_rules(page: Path) -> None:
    """A page has ten rules at least, and every row of their table is read."""
    text = page.read_text("utf-8")
    table = text.split("## Rules side by side")[1].split("\n## ")[0]
    assert len(rows(text)) == len(ROW.findall(table)) == table.count("\n| `") >= 10


RULES = [(page.stem, row) for page in PAGES for row in rows(page.read_text("utf-8"))]


@pytest.mark.parametrize(("language", "row"), RULES)
def test_rules(language: str, row: Row) -> None:
    """The first event matches and the second does not: by an engine, by `explain` and by the converted text."""
    assert answers(row.rule, language, json.loads(row.match)) == {True}
    assert not any(answers(row.rule, language, json.loads(row.fail)))
