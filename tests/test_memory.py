"""Memory that nobody uses any more goes back to the system."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

PINNED = """
from tocsin.segment.assembling import give_back

def resident():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmRSS"))

small = [bytes(2000) for _ in range(100_000)]
pinned = bytes(2000)  # lies behind them, and stays
held = resident()
del small
give_back()
print(held - resident())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_what_is_free_behind_what_is_held_is_given_back() -> None:
    """In a process of its own: of 200 MB in small pieces nearly all."""
    ran = subprocess.run([sys.executable, "-c", PINNED], capture_output=True, text=True, check=True)

    assert int(ran.stdout) > 150_000
