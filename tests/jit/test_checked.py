"""A debug run, in which kernels check every index."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tocsin.jit.switch import LOWERING

ROOT = Path(__file__).parents[2]
_WITH_KERNELS = ["tests/contract", "tests/window", "tests/engine/test_changes.py"]


def checked(*arguments: str) -> subprocess.CompletedProcess[str]:
    """What a process prints in which kernels check every index."""
    environment = {**os.environ, "TOCSIN_CHECKED": "1"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_a_kernel_refuses_to_read_or_write_beyond_an_array() -> None:
    """Through views, packed tables, nested tables, two dimensions, and words of eight bytes."""
    done = checked("-m", "tests.jit.checked")

    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 12
    assert [line for line in lines if "was not refused" in line] == []
    assert "in _item, line" in lines[0] or not LOWERING  # Numba's own check does not say where


@pytest.mark.long
def test_indexes_and_windows_stay_inside_their_arrays() -> None:
    done = checked("-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", "-m", "not long", *_WITH_KERNELS)

    assert done.returncode == 0, done.stdout[-4000:]
