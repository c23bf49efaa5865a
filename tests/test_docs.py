"""What the documents show is what happens."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.stem)
def test_examples_of_pages(page: Path) -> None:
    """Those that are written as a dialogue with Python."""
    failed, _ = doctest.testfile(str(page), module_relative=False, encoding="utf-8")

    assert failed == 0


def test_there_are_some() -> None:
    assert ">>>" in (DOCS / "troubleshooting.md").read_text("utf-8")
