"""The time of a first answer in a new process: with an empty cache, after `tocsin warm`, and from a wheel.

`--wheel` builds a wheel and installs it in an environment of its own, which takes minutes. Times count from the start
of the process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.boolean_workload import UNI, ZIPF
from benchmarks.jobs import ROOT, SOURCE
from benchmarks.rows import Row
from benchmarks.warm import pip, wheel
from tocsin.jit.compiling import stores

_FIRST_ANSWER = """
import json, re, resource, sys, time
begun = time.perf_counter()
from numba.core import event

counts = [0]
class Listener(event.Listener):
    def on_start(self, event): counts[0] += 1
    def on_end(self, event): pass
event.register("numba:compile", Listener())

import tocsin
example = re.search("```python\\n(import tocsin\\n.*?)^answer", open(sys.argv[1], encoding="utf-8").read(), re.S | re.M)
exec(example[1])
what = sys.argv[2]
if what == "tocsin.match":
    tocsin.match(subscriptions, events)
else:
    engine = tocsin.Engine()
    for one in subscriptions:
        engine.subscribe(one["id"], one["where"])
    ranking = {"engine.match": None, "Top": tocsin.Top(2), "Relaxed": tocsin.Relaxed(2)}[what]
    engine.match(events[0], ranking=ranking)
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps([time.perf_counter() - begun, used.ru_utime + used.ru_stime, counts[0]]), flush=True)
"""
_ANSWERS = ("tocsin.match", "engine.match", "Top", "Relaxed")

_RATE = """
import json, sys
from benchmarks import b1
from benchmarks.boolean_workload import UNI, ZIPF
from benchmarks.calibration import median_seconds
from tocsin.columns.events.batch import Wanted  # as versions before 0052 had it, too
from tocsin.engine.loading import build_from, choose

workload = {one.name: one for one in (UNI, ZIPF)}[sys.argv[1]]
segment, _ = build_from(workload.conjunctions(int(sys.argv[2])), choose("access"))
batch = b1._packed(workload, int(sys.argv[3]), Wanted(segment.matcher.attributes))
segment.matcher.match(batch)
print(json.dumps(len(batch) / median_seconds(lambda: segment.matcher.match(batch), 9)))
"""


def rows(with_wheel: bool = False, subscriptions: int = 100_000) -> Iterator[Row]:
    """Wall and CPU seconds until each first answer."""
    with tempfile.TemporaryDirectory() as cache:
        yield from _answers("cold", sys.executable, {"PYTHONPATH": str(SOURCE), "XDG_CACHE_HOME": cache})
    yield from _answers("warm", sys.executable, {})
    if with_wheel:
        yield from _installed()
    yield from _levels(subscriptions)


def _answers(load: str, python: str, changed: Mapping[str, str]) -> Iterator[Row]:
    """Each answer from a process of its own, which finds the kernels of the earlier ones; finally a command."""
    environment = {**os.environ, **changed, "TOCSIN_KERNELS": ""}
    environment.pop("NUMBA_CACHE_DIR", None)
    for what in _ANSWERS:
        command = [python, "-c", _FIRST_ANSWER, str(ROOT / "README.md"), what]
        out = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        wall, used, compilations = json.loads(out)
        yield Row("cold", load, what, used, "CPU s", f"{wall:.2f} s of wall time; {compilations:,} compilations")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "s.jsonl").write_text('{"id": "a", "where": "price < 5"}\n', "utf-8")
        Path(folder, "e.jsonl").write_text('{"price": 3}\n', "utf-8")
        command = [python, "-m", "tocsin", "match", "s.jsonl", "e.jsonl"]
        begun = time.perf_counter()
        subprocess.run(command, env=environment, cwd=folder, capture_output=True, check=True)
        yield Row("cold", load, "tocsin match", time.perf_counter() - begun, "s", "wall time")


def _installed() -> Iterator[Row]:
    """Build and install a wheel, and measure its answers with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", f"{folder}/venv"], check=True)
        python = f"{folder}/venv/bin/python"
        built, row = wheel(python, folder)
        yield row
        begun = time.perf_counter()
        subprocess.run([*pip(python), "install", str(built)], check=True)
        yield Row("cold", "wheel", "installing it", time.perf_counter() - begun, "s", "with all that it needs")
        yield from _answers("wheel", python, {"PYTHONPATH": "", "XDG_CACHE_HOME": f"{folder}/cache"})


def _levels(subscriptions: int) -> Iterator[Row]:
    """The rate of the index with kernels for a level of processors and for this one, in turns."""
    targets = ["own", *(one for one in stores.levels() if one in stores.LEVELS)]
    for workload, events in ((UNI, 16_384), (ZIPF, 1024)):
        rates: dict[str, list[float]] = {target: [] for target in targets}
        for _ in range(3):
            for target in targets:
                environment = {**os.environ, **stores.environment_of(target)}
                command = [sys.executable, "-c", _RATE, workload.name, str(subscriptions), str(events)]
                out = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
                rates[target].append(json.loads(out.stdout))
        for target in targets:
            note = f"{max(rates[target]) / max(rates['own']):.2f} of this processor's; the best of three processes"
            yield Row("levels", workload.name, target, max(rates[target]), "events/s", note)
