"""The example of an index in a package of its own: found by its entry point, and exact, as its page shows."""

from __future__ import annotations

import ast
import shutil
import tomllib
from pathlib import Path

from tests.index.publishing import installed, python
from tests.pages import ROOT

EXAMPLE = ROOT / "examples" / "own-index"
PAGE = (ROOT / "docs" / "how-to" / "own-index.md").read_text("utf-8")


def test_the_example_is_found_matches_saves_and_is_exact(tmp_path: Path) -> None:
    """In one process that has it installed: what its page shows, and the contract test by its name."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text("utf-8"))["project"]
    points = project["entry-points"]["tocsin.indexes"]
    installed(tmp_path, "own_index", points, (EXAMPLE / "own_index.py").read_text("utf-8"))
    shutil.copy(EXAMPLE / "flights.py", tmp_path)

    done = python("import flights, tocsin; print(tocsin.indexes.check('narrowest', rounds=1).refused)", tmp_path)

    shown, refused = done.stdout[:-2], done.stdout[-2:]
    assert refused == "0\n", done.stderr
    assert f"```text\n{shown}```\n" in PAGE


def test_the_example_uses_public_names_alone() -> None:
    for module in EXAMPLE.glob("*.py"):
        for node in ast.walk(ast.parse(module.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert node.module in ("tocsin", "tocsin.indexes", "own_index")
            elif isinstance(node, ast.Import):
                assert {one.name for one in node.names} <= {"numpy", "tocsin"}
