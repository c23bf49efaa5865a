"""The CPU time and the memory of a process and of all that it started."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


def cpu_seconds() -> float:
    """The CPU seconds of this process and its descendants so far, with those that ended and were waited for."""
    ticks = sum(sum(map(int, fields[11:15])) for fields in stats_of(os.getpid()))
    return ticks / os.sysconf("SC_CLK_TCK")


def memory(process: int) -> float:
    """The megabytes that a process and its descendants hold at this moment; shared pages count once for each."""
    return sum(int(fields[21]) for fields in stats_of(process)) * os.sysconf("SC_PAGE_SIZE") / 1e6


def stats_of(process: int) -> Iterator[list[str]]:
    """The fields of `/proc/PID/stat` after the name, of a process and its descendants."""
    found: dict[int, list[str]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            found[int(stat.parent.name)] = stat.read_text().rpartition(")")[2].split()
    below = [process]
    while below:
        one = below.pop()
        if one in found:
            yield found[one]
        below += [child for child, fields in found.items() if int(fields[1]) == one]
