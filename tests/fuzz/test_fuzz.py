"""A short run of the fuzzing, always of the same inputs; and whatever a longer one ever found."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.running import FOUND, tried
from tests.fuzz.targets import TARGETS
from tests.sizes import sized

ROOT = Path(__file__).parents[2]
RUN = """
import json, sys
from tests.fuzz.running import fuzz
for name, count in json.load(sys.stdin).items():
    print(json.dumps([name, [repr(data[:300]) + what for data, what in fuzz(name, 1, count=count)]]), flush=True)
"""
COUNTS = {"manifest": 40, "subscription": 60, "records": 60, "rules": 900}


@pytest.fixture(scope="module")
def found() -> dict[str, list[str]]:
    """What each target's inputs did wrong, as far as the process lives."""
    given = json.dumps({name: sized(COUNTS.get(name, 120) // 3, COUNTS.get(name, 120)) for name in TARGETS})
    command = [sys.executable, "-c", RUN]
    ran = subprocess.run(command, cwd=ROOT, input=given, capture_output=True, text=True, timeout=600, check=False)
    told = dict(json.loads(line) for line in ran.stdout.splitlines())
    assert ran.returncode == 0, f"it ended after {list(told)}: {ran.stderr}"
    return told


@pytest.mark.slow("a process tries hundreds of inputs")
@pytest.mark.parametrize("name", TARGETS)
def test_a_short_run_finds_nothing(name: str, found: dict[str, list[str]]) -> None:
    """`make fuzz` goes on."""
    assert found[name] == []


@pytest.mark.parametrize("path", sorted(FOUND.iterdir()), ids=lambda path: path.name)
def test_what_was_found_is_mended(path: Path) -> None:
    """Each file is an input; its name begins with its target's."""
    if path.suffix == ".md":
        return

    assert tried(path.name.rpartition("-")[0], path.read_bytes()) == ""
