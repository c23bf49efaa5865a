"""The blocks of code on a page of the documentation: run in order, with the output that the page shows.

A block of `python` or `sh` runs unless its info string says `no-run`. A block of `text` behind it, with at most a
paragraph between, is its output, with `...` for what differs between runs. A block of Python that opens with the name
of a file of `examples/` is that file. `python -m tests.pages PAGE...` writes the outputs anew; with `--check` it
compares them.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests import fork_server
from tests.waiting import HANG_S

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(
    r"^```(python|sh)\n(.*?)^```\n(?:(?:\n[^`\n]+(?:\n[^`\n]+)*\n)?\n```text\n(.*?)^```)?", re.DOTALL | re.MULTILINE
)
EXAMPLE = re.compile(r"# (examples/\S+\.py)\n")
PASSING = re.compile(r"^(?:tocsin: compiling|batch \d+, ).*\n", re.MULTILINE)
"""Lines of progress, which depend on what the machine has compiled and on how fast it is."""

VARIES = ((re.compile(r"[\d,]+ events/s"), "... events/s"), (re.compile(r"(?<=checkpoint )\S+"), "..."))


class Block(NamedTuple):
    """A block of code, the output that the page shows of it, and where that stands in the text of the page."""

    language: str
    code: str
    shown: str | None
    place: tuple[int, int]

    @property
    def example(self) -> str | None:
        """The file of `examples/` that the block is, if it is one."""
        named = EXAMPLE.match(self.code)
        return named[1] if named else None

    @property
    def needs_spark(self) -> bool:
        return bool(re.search(r"tocsin (pipeline|demo)|tocsin import spark|tocsin\.spark|local_session", self.code))


def blocks(page: Path) -> list[Block]:
    """The blocks of a page that run, in order."""
    text = page.read_text("utf-8")
    return [Block(one[1], one[2], one[3], one.span(3)) for one in BLOCK.finditer(text) if ">>>" not in one[2]]


def run(page: Path, folder: Path) -> Iterator[tuple[Block, str]]:
    """Run the blocks of a page in a folder that has a copy of `examples/`. Yields each with what it printed."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    names: dict[str, object] = {"__name__": "page"}
    with contextlib.chdir(folder):
        for block in blocks(page):
            if block.language == "sh":
                yield block, _shell(block.code)
            elif block.example is None:
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    exec(compile(block.code, str(page), "exec"), names)
                yield block, printed.getvalue()


def check(page: Path) -> None:
    """Run a page in an empty folder. Raises `AssertionError` if a block prints something other than the page shows."""
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    with tempfile.TemporaryDirectory() as folder:
        for block, output in run(page, Path(folder)):
            as_shown = block.shown is None or doctest.OutputChecker().check_output(block.shown, output, options)
            assert as_shown, f"{page}: {block.code}\nprints\n{output}"


def write(page: Path) -> None:
    """Write the outputs that a page shows anew."""
    text = page.read_text("utf-8")
    with tempfile.TemporaryDirectory() as folder:
        for block, output in reversed(list(run(page, Path(folder)))):
            if block.shown is not None:
                for pattern, replacement in VARIES:
                    output = pattern.sub(replacement, output)
                text = text[: block.place[0]] + output.rstrip("\n") + "\n" + text[block.place[1] :]
    page.write_text(text, "utf-8")


def _shell(code: str) -> str:
    """What the commands print, errors and all."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    command = ["bash", "-ec", fork_server.shell(code)]
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=HANG_S
    )
    assert done.returncode in (0, 1), f"{code}\nexit status {done.returncode}\n{done.stdout}"
    return PASSING.sub("", done.stdout)


if __name__ == "__main__":
    do = check if "--check" in sys.argv else write
    for name in sys.argv[1:]:
        if name != "--check":
            do(Path(name).resolve())
