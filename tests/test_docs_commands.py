"""Every command that a page shows is one: blocks that are not run are parsed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tocsin.cli.main import make_parser

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    path
    for folder in (ROOT, ROOT / "docs", ROOT / "docs/how-to", ROOT / "docs/coming-from", ROOT / "examples")
    for path in folder.glob("*.md")
    if path.name != "CHANGELOG.md"
)
BLOCK = re.compile(r"^```sh[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
ENDS = {">&", "|", "||", "&&", "&", ";", ">", ">>", "<", "2>", "2>>", "(", ")"}


def commands(text: str) -> Iterator[list[str]]:
    """The arguments of each `tocsin` in the blocks of a page. Documents in them are left out."""
    for block in BLOCK.findall(text):
        lines = re.sub(r"<<-?\s*'?(\w+)'?.*?^\s*\1$", "", block, flags=re.DOTALL | re.MULTILINE).replace("\\\n", " ")
        for line in lines.splitlines():
            lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>()")
            lexer.whitespace_split = True
            try:
                words = list(lexer)
            except ValueError:  # a quoted text of several lines
                continue
            for place, word in enumerate(words):
                if word == "tocsin" and (place == 0 or words[place - 1] in ENDS or "=" in words[place - 1]):
                    rest = words[place + 1 :]
                    end = next((number for number, other in enumerate(rest) if other in ENDS), len(rest))
                    is_numbered = end < len(rest) and rest[end][0] == ">" and rest[end - 1] in ("1", "2")  # 2> errors
                    yield rest[: end - is_numbered]


def test_pages_have_commands() -> None:
    assert sum(len(list(commands(page.read_text()))) for page in PAGES) > 40


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_command_of_a_page_is_one(page: Path) -> None:
    parser = make_parser()
    for arguments in commands(page.read_text()):
        if not set(arguments) & {"--help", "--version", "..."}:
            try:
                _, unknown = parser.parse_known_args(arguments)
            except SystemExit:
                pytest.fail(f"tocsin {shlex.join(arguments)}")
            assert unknown == [], arguments
