"""Checks of what people read: module docstrings are statements, and Markdown wraps at 100 columns.

Tables, code, headings, and lines without a space (links) may be longer.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

WIDTH = 100


def questions(module: Path) -> Iterator[str]:
    """A complaint where the docstring of a module opens with a question."""
    docstring = ast.get_docstring(ast.parse(module.read_text("utf-8"))) or ""
    first, _, _ = docstring.partition("\n")
    if "?" in first:
        yield f"{module}: a module docstring says what the module is: {first}"


def long_lines(page: Path) -> Iterator[str]:
    """A complaint for each line of prose that is longer than `WIDTH` columns."""
    is_code = False
    for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        may_be_long = is_code or line.lstrip().startswith(("|", "#")) or " " not in line.strip().removeprefix("- ")
        if len(line) > WIDTH and not may_be_long:
            yield f"{page}:{number}: {len(line)} columns; {WIDTH} are allowed"


def main() -> int:
    """Prints the complaints; the exit status is 1 if there are any."""
    pages = sorted([*Path().glob("*.md"), *Path("docs").rglob("*.md")])
    modules = sorted(Path("src").rglob("*.py"))
    found = [one for module in modules for one in questions(module)]
    found += [one for page in pages for one in long_lines(page)]
    print(*found, f"{len(modules)} modules and {len(pages)} pages read, {len(found)} complaints", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
