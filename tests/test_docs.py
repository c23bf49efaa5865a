"""What the documents show is what happens."""

from __future__ import annotations

import doctest
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripts import check_prose

from tests import fork_server
from tests.pages import ROOT, blocks, check

pytestmark = pytest.mark.divisible

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
HOW_TO = sorted((DOCS / "how-to").glob("*.md"))


def _with_code() -> Iterator[object]:
    for page in (ROOT / "README.md", *PAGES):
        code = blocks(page)
        marks = [pytest.mark.spark] if any(block.needs_spark for block in code) else []
        if code:
            yield pytest.param(page, marks=marks, id=page.stem)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_of_pages(page: Path) -> None:
    """Those that are written as a dialogue with Python."""
    failed, _ = doctest.testfile(str(page), module_relative=False, encoding="utf-8")

    assert failed == 0


def test_there_are_some() -> None:
    assert ">>>" in (DOCS / "troubleshooting.md").read_text("utf-8")


@pytest.mark.slow("some pages start Spark, and others many commands")
@pytest.mark.parametrize("page", [*_with_code()])
def test_blocks_of_pages(page: Path, tmp_path: Path) -> None:
    """All blocks of a page, one after the other, in a folder that has only `examples/` at first.

    Java keeps the folder in which it began, so pages about Spark run in a process of their own.
    """
    if any(block.needs_spark for block in blocks(page)):
        command = [*fork_server.python(), "-m", "tests.pages", "--check", str(page)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr[-4000:]
    else:
        check(page)


@pytest.mark.parametrize("page", HOW_TO, ids=lambda page: page.stem)
def test_guides_show_the_files_of_examples(page: Path) -> None:
    """The script that a guide shows is the one that its reader finds in `examples/`, and the guide shows its output."""
    shown = {block.example: block.code for block in blocks(page) if block.example}

    assert all(code == f"# {name}\n" + (ROOT / name).read_text("utf-8") for name, code in shown.items())
    assert any(block.shown for block in blocks(page))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("A bow-tie is no polygon.", "is not a"),
        ("There is no file. It is no longer than that. A `list that is no tree` is fine.", None),
        ("One. " + "word " * 31 + "end.", "30 are allowed"),
        ("- " + "word " * 20 + "\n- " + "word " * 20, None),
        ("| " + "word " * 40 + "|", None),
        ("```\n" + "word " * 40 + "\n```", None),
    ],
)
def test_the_linter_finds_what_is_hard_to_read(text: str, complaint: str | None) -> None:
    found = list(check_prose.hard_to_read("page", text))

    assert any(complaint in one for one in found) if complaint else found == []
