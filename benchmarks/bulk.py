"""The time to add subscriptions in bulk, from texts and columns, and to save and load an engine."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator

import tocsin
from benchmarks.boolean_workload import UNI
from benchmarks.calibration import wall_seconds
from benchmarks.rows import Row


def rows(subscriptions: int) -> Iterator[Row]:
    """Measure with the uniform workload, whose texts have the most templates."""
    tocsin.Engine().subscribe_many(UNI.conjunctions(100))  # compiles the kernels
    columns = UNI.conjunctions(subscriptions)
    engine = tocsin.Engine()
    seconds = wall_seconds(lambda: engine.subscribe_many(columns))
    yield Row("engine", "uni", "subscribe_many(columns)", seconds, "s", f"{seconds / subscriptions * 1e6:.1f} us each")
    records = [{"id": f"s{i:07d}", "where": text} for i, text in enumerate(UNI.texts(subscriptions))]
    other = tocsin.Engine()
    seconds = wall_seconds(lambda: other.subscribe_many(records))
    yield Row("engine", "uni", "subscribe_many(texts)", seconds, "s", f"{seconds / subscriptions * 1e6:.1f} us each")
    with tempfile.TemporaryDirectory() as folder:
        seconds = wall_seconds(lambda: engine.save(folder))
        yield Row("engine", "uni", "save", seconds, "s")
        seconds = wall_seconds(lambda: tocsin.Engine.load(folder))
        yield Row("engine", "uni", "load", seconds, "s", "mapped, every checksum and offset checked")
        private, shared = _memory_of_loader(folder)
        note = f"its own; beside it {shared:,.0f} MB of the files' pages, which all who map them share"
        yield Row("engine", "uni", "memory of a second process", private, "MB", note)


_LOADER = """
import re, sys, tocsin
before = open("/proc/self/smaps_rollup").read()
engine = tocsin.Engine.load(sys.argv[1])
engine.match({"a1": 1})
after = open("/proc/self/smaps_rollup").read()
def kb(text, name): return int(re.search(name + r": *(\\d+)", text)[1])
private = [kb(t, "Private_Dirty") for t in (before, after)]
shared = [kb(t, "Shared_Clean") + kb(t, "Private_Clean") for t in (before, after)]
print((private[1] - private[0]) / 1024, (shared[1] - shared[0]) / 1024)
"""


def _memory_of_loader(folder: str) -> tuple[float, float]:
    """The private and shared memory in MB that loading adds to a process, while this one has the files mapped."""
    holder = tocsin.Engine.load(folder)
    shown = subprocess.run([sys.executable, "-c", _LOADER, folder], capture_output=True, text=True, check=True)
    del holder
    private, shared = map(float, shown.stdout.split())
    return private, shared
