"""Compiling all kernels: `tocsin warm` into an empty store, and in a wheel (`--wheel`)."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.jobs import ROOT, SOURCE, environment
from benchmarks.processes import cpu_seconds
from benchmarks.rows import Row


def rows(with_wheel: bool = False) -> Iterator[Row]:
    """CPU seconds of all processes, with wall time."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tocsin", "warm"]
        for of, more in (("tocsin warm", []), ("tocsin warm --papers, then", ["--papers"])):
            used, wall, out = _timed([*command, *more], {"XDG_CACHE_HOME": folder, "TOCSIN_KERNELS": ""})
            yield Row("compile", "", of, used, "CPU s", f"{wall:.0f} s of wall time; {out.strip()}")
    if with_wheel:
        with tempfile.TemporaryDirectory() as folder:
            yield wheel(sys.executable, folder)[1]


def wheel(python: str, folder: str) -> tuple[Path, Row]:
    """Build a wheel of the sources into a folder, and measure that."""
    used, wall, _ = _timed([*pip(python), "wheel", "--no-deps", "--wheel-dir", folder, str(SOURCE.parent)], {})
    (built,) = Path(folder).glob("*.whl")
    note = f"{wall:.0f} s of wall time; {built.stat().st_size / 1e6:.1f} MB: {built.name}"
    return built, Row("compile", "", "pip wheel --no-deps", used, "CPU s", note)


def pip(python: str) -> list[str]:
    """The command pip, of an interpreter."""
    return [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]


def _timed(command: Sequence[str], changed: dict[str, str]) -> tuple[float, float, str]:
    """The CPU seconds, the wall seconds and the output of a command."""
    given = {**environment(), **changed}
    given.pop("NUMBA_CACHE_DIR", None)
    begun, before = time.perf_counter(), cpu_seconds()
    out = subprocess.run(command, cwd=ROOT, env=given, stdout=subprocess.PIPE, check=True, text=True).stdout
    return cpu_seconds() - before, time.perf_counter() - begun, out
