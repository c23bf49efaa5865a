"""What the documents show is what happens."""

from __future__ import annotations

import contextlib
import doctest
import re
import shlex
import subprocess
import sys
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


def test_the_readme_runs(tmp_path: Path) -> None:
    """Its blocks, one after the other, in a folder that is empty at first; Spark's is `tests/spark/test_readme.py`."""
    blocks = re.findall(r"```(python|sh)\n(.*?)```", (DOCS.parent / "README.md").read_text("utf-8"), re.DOTALL)
    commands = f'tocsin() {{ {shlex.quote(sys.executable)} -m tocsin "$@"; }}\n'
    names: dict[str, object] = {}

    with contextlib.chdir(tmp_path):
        for language, block in blocks:
            if language == "sh":
                subprocess.run(["bash", "-ec", commands + block], check=True, timeout=120)
            elif "spark" not in block:
                exec(block, names)

    assert "answer" in names
    assert "engine" in names
    assert (tmp_path / "matches.csv").read_text("utf-8").splitlines() == ['"event","subscription"', '0,"cheap"']
