"""The example of an index in a package of its own: found by its entry point, and exact, as its page shows."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import tocsin
from tests.pages import ROOT
from tests.waiting import HANG_S

EXAMPLE = ROOT / "examples" / "own-index"
PAGE = (ROOT / "docs" / "how-to" / "own-index.md").read_text("utf-8")


def install(folder: Path) -> None:
    """What an installer writes about the package, beside its modules."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text("utf-8"))["project"]
    about = folder / f"own_index-{project['version']}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    points = project["entry-points"]["tocsin.indexes"]
    lines = "".join(f"{name} = {value}\n" for name, value in points.items())
    (about / "entry_points.txt").write_text(f"[tocsin.indexes]\n{lines}")


def test_the_example_is_found_matches_saves_and_is_exact(tmp_path: Path) -> None:
    """In one process that has it installed: what its page shows, and the contract test by its name."""
    install(tmp_path)
    paths = [str(tmp_path), str(EXAMPLE), str(Path(tocsin.__file__).parents[1])]
    code = "import flights, tocsin.indexes as i; print(i.check('narrowest', rounds=1).refused)"

    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    shown, refused = done.stdout[:-2], done.stdout[-2:]
    assert refused == "0\n"
    assert f"```text\n{shown}```\n" in PAGE


def test_the_example_uses_public_names_alone() -> None:
    for module in EXAMPLE.glob("*.py"):
        for node in ast.walk(ast.parse(module.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert node.module in ("tocsin", "tocsin.indexes", "own_index")
            elif isinstance(node, ast.Import):
                assert {one.name for one in node.names} <= {"numpy", "tocsin"}
