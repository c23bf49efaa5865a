"""A short run of the fuzzing, always of the same inputs; and whatever a longer one ever found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.running import FOUND, tried
from tests.fuzz.targets import TARGETS

ROOT = Path(__file__).parents[2]
RUN = """
import sys
from tests.fuzz.running import fuzz
for data, what in fuzz(sys.argv[1], 1, count=int(sys.argv[2])):
    print(repr(data[:300]), what)
"""
COUNTS = {"manifest": 60, "subscription": 80, "records": 80}


@pytest.mark.parametrize("name", TARGETS)
def test_a_short_run_finds_nothing(name: str) -> None:
    """`make fuzz` goes on."""
    command = [sys.executable, "-c", RUN, name, str(COUNTS.get(name, 150))]

    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == ""


@pytest.mark.parametrize("path", sorted(FOUND.iterdir()), ids=lambda path: path.name)
def test_what_was_found_is_mended(path: Path) -> None:
    """Each file is an input; its name begins with its target's."""
    if path.suffix == ".md":
        return

    assert tried(path.name.rpartition("-")[0], path.read_bytes()) == ""
