"""Packages that publish indexes, as an installer leaves them, and processes that find them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import tocsin
from tests.waiting import HANG_S

SRC = Path(tocsin.__file__).parents[1]


def installed(folder: Path, name: str, points: dict[str, str], code: str) -> None:
    """A package as an installer leaves it: its module, and what it says of itself."""
    (folder / f"{name}.py").write_text(code)
    about = folder / f"{name}-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = "".join(f"{point} = {value}\n" for point, value in points.items())
    (about / "entry_points.txt").write_text(f"[tocsin.indexes]\n{lines}")


def python(code: str, folder: Path, *arguments: str, isolated: bool = False) -> subprocess.CompletedProcess[str]:
    """Another process that finds the packages in a folder and, unless isolated, tocsin as it is installed."""
    paths = [str(folder), str(SRC)]
    if isolated:  # this environment's packages, but for what tocsin says of itself
        hidden = "import importlib.metadata as m; real = m.entry_points; m.entry_points = lambda **given: []\n"
        code = hidden + code
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
