"""Checks of what people read: columns, the length of sentences, turns that confuse, module docstrings that ask.

Markdown wraps at 100 columns. Tables, code, headings, and lines without a space (links) may be longer.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

WIDTH = 100
WORDS = 30

COMPARED = "longer|more|less|fewer|later|earlier|higher|lower|other|one\\b|different"
TURNS = {
    rf"(?<!here )\b(?:is|are) no (?!{COMPARED})": "say is not a",
    r"\b[Ww]hoever\b": "name the actor",
    r"\b[Gg]raves?\b": "say tombstone",
    r"^Of (?:which|what|whom)\b(?!.*\?)": "make it two sentences",
    r"^Who \w+s\b(?!.*\?)": "name the actor",
    r"\bcost(?:s)? (?:themselves|itself) alone\b": "say what happens to the others",
    r"\b(?:simply|obviously|of course)\b": "leave it out",
}
"""What a reader has to read twice, and what to write."""

FENCE = re.compile(r"^\s*```")
NO_PROSE = re.compile(r"\s*(?:[|#<]|```|>>>|`?[\w ]+`? {3,}\S)")
"""Tables, also those of docstrings, whose columns are spaced; headings; pictures; code."""

ITEM = re.compile(r"^\s*(?:[-*]|\d+\.) +")
END = re.compile(r"(?<=[.!?:])[\"')*]*\s+(?=[A-Z`\"'(\[*_0-9])")
ABBREVIATED = re.compile(r"\b(e\.g|i\.e|vs|Sec|Fig|Alg|al|Eq|Nos?|pp?)\.")


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
        is_code ^= bool(FENCE.match(line))
        may_be_long = is_code or line.lstrip().startswith(("|", "#")) or " " not in line.strip().removeprefix("- ")
        if len(line) > WIDTH and not may_be_long:
            yield f"{page}:{number}: {len(line)} columns; {WIDTH} are allowed"


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """The sentences of a text in Markdown, each with the line of its paragraph. Code, tables and headings have none."""
    is_code, paragraph, begun = False, "", 1
    for number, line in enumerate([*text.splitlines(), ""], 1):
        is_code ^= bool(FENCE.match(line))
        stops = is_code or not line.strip() or bool(NO_PROSE.match(line))
        if stops or ITEM.match(line):
            yield from ((begun, one) for one in END.split(paragraph) if one)
            paragraph, begun = "", number
        if not stops:
            paragraph = f"{paragraph} {_plain(ITEM.sub('', line))}".strip()


def _plain(line: str) -> str:
    """A line with a word in place of each piece of code, without targets of links and stops of abbreviations."""
    line = re.sub(r"``?[^`]*``?", "`code`", line.strip())
    return ABBREVIATED.sub(r"\1", re.sub(r"\]\([^)]*\)", "]", line))


def hard_to_read(place: str, text: str, first: int = 1) -> Iterator[str]:
    """A complaint for each sentence that is too long, and for each turn that a reader has to read twice."""
    for line, sentence in sentences(text):
        length = sum(bool(re.search(r"\w", word)) for word in sentence.split())
        if length > WORDS:
            yield f"{place}:{first + line - 1}: {length} words; {WORDS} are allowed: {sentence[:60]}..."
        for turn, advice in TURNS.items():
            if found := re.search(turn, sentence):
                yield f"{place}:{first + line - 1}: {found[0]!r}: {advice}"


def docstrings(module: Path) -> Iterator[str]:
    """Complaints about the docstrings of a module, its classes and its functions."""
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        is_documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if is_documented and (docstring := ast.get_docstring(node)):
            prose = re.sub(r"^ {4,}\S.*$|^(?:>>>|\.\.\. ).*$", "", docstring, flags=re.MULTILINE)
            yield from hard_to_read(str(module), prose, node.body[0].lineno)


def main() -> int:
    """Prints the complaints; the exit status is 1 if there are any."""
    pages = sorted([*Path().glob("*.md"), *Path("docs").rglob("*.md")])
    modules = sorted(Path("src").rglob("*.py"))
    found = [one for module in modules for one in (*questions(module), *docstrings(module))]
    found += [one for page in pages for one in (*long_lines(page), *hard_to_read(str(page), page.read_text("utf-8")))]
    print(*found, f"{len(modules)} modules and {len(pages)} pages read, {len(found)} complaints", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
