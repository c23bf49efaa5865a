"""The table of docs/operations/configuration.md: each option of `tocsin serve`, its variable and its default.

`python scripts/configuration.py` rewrites it from the parser. A test compares the page with what this makes.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from tocsin.cli.main import make_parser

PAGE = Path(__file__).parents[1] / "docs" / "operations" / "configuration.md"
_MARKED = re.compile(r"(<!-- options -->\n).*?(<!-- end -->)", re.DOTALL)
_DEFAULT = re.compile(r"\s*\(default: (.*?)\)|; default: (.*)$")


def options() -> list[argparse.Action]:
    """All options of the command but --help."""
    parser = make_parser().parse_args(["serve", "alerts/"]).parser
    return [action for action in parser._actions if action.option_strings and action.dest != "help"]


def table() -> str:
    """The table in Markdown."""
    return "\n".join(["| option | variable | default | meaning |", "|---|---|---|---|", *map(_row, options())]) + "\n"


def _row(action: argparse.Action) -> str:
    option = action.option_strings[0]
    variable = f"TOCSIN_SERVE_{option.removeprefix('--').replace('-', '_').upper()}"
    text = re.sub(rf"\s*\[?{variable}\b\]?", "", action.help or "")
    stated = _DEFAULT.search(text)
    default = (stated[1] or stated[2]) if stated else "no" if action.nargs == 0 else ""
    cells = (f"`{option}`", f"`{variable}`", default, _DEFAULT.sub("", text).strip(" ;,"))
    return "".join(f"| {cell.replace('|', chr(92) + '|')} " for cell in cells) + "|"


def rewritten(text: str) -> str:
    """The page with its table made anew."""
    return _MARKED.sub(lambda marked: f"{marked[1]}\n{table()}\n{marked[2]}", text)


if __name__ == "__main__":
    PAGE.write_text(rewritten(PAGE.read_text("utf-8")), "utf-8")
