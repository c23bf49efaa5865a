"""The tables of the pages docs/coming-from: what each language's rules become, what is taken, and what is refused.

`python scripts/dialect_pages.py` rewrites them. A page has a table of rules with the columns rule, CQL2, an event that
matches and one that does not; the second column is written here. A test compares the pages with what this makes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import tocsin
from tocsin.language.dialects import DIALECTS

FOLDER = Path(__file__).parents[1] / "docs" / "coming-from"
ROW = re.compile(r"^\| `(?P<rule>.*?)` \| (?P<cql2>.*?) \| `(?P<match>.*?)` \| `(?P<fail>.*?)` \|$", re.MULTILINE)
_MARKED = re.compile(r"(<!-- (taken|refused) -->\n).*?(<!-- end -->)", re.DOTALL)


class Row(NamedTuple):
    """A rule of a page, an event that it matches, and one that it does not."""

    rule: str
    match: str
    fail: str


def rows(text: str) -> list[Row]:
    """The rules of a page."""
    return [Row(*(found[name].replace(r"\|", "|") for name in Row._fields)) for found in ROW.finditer(text)]


def rewritten(text: str, language: str) -> str:
    """A page with its generated parts made anew."""
    dialect = DIALECTS[language]
    parts = {"taken": _table("rule", "meaning", dialect.taken), "refused": _table("name", "reason", dialect.refused)}
    text = _MARKED.sub(lambda found: f"{found[1]}\n{parts[found[2]]}\n{found[3]}", text)
    return ROW.sub(lambda found: _row(found, language), text)


def _row(found: re.Match[str], language: str) -> str:
    said = tocsin.convert(found["rule"].replace(r"\|", "|"), from_=language)
    cells = (found["rule"], said.replace("|", r"\|"), found["match"], found["fail"])
    return "".join(f"| `{cell}` " for cell in cells) + "|"


def _table(first: str, second: str, entries: Mapping[str, str]) -> str:
    lines = [f"| {first} | {second} |", "|---|---|"]
    lines += [f"| `{_cell(name)}` | {_cell(meaning)} |" for name, meaning in entries.items()]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


def main() -> None:
    """Rewrite every page."""
    for page in sorted(FOLDER.glob("*.md")):
        page.write_text(rewritten(page.read_text("utf-8"), page.stem), "utf-8")


if __name__ == "__main__":
    main()
