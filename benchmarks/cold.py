"""What does a first answer cost where nothing is compiled yet? Processes with an empty cache of kernels each.

With the sources of another version (`--against FOLDER`) both are measured, in turns.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.rows import Row

_OWN = Path(__file__).parents[1] / "src"

_FIRST_ANSWERS = """
import json, re, resource, sys
from numba.core import event

counts = [0]
class Listener(event.Listener):
    def on_start(self, event): counts[0] += 1
    def on_end(self, event): pass
event.register("numba:compile", Listener())

def report(what):
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps([what, used.ru_utime + used.ru_stime, counts[0]]), flush=True)

import tocsin
example = re.search("```python\\n(import tocsin\\n.*?)^answer", open(sys.argv[1], encoding="utf-8").read(), re.S | re.M)
exec(example[1])
tocsin.match(subscriptions, events)
report("tocsin.match")
engine = tocsin.Engine()
for one in subscriptions:
    engine.subscribe(one["id"], one["where"])
engine.match(events[0])
report("engine.match")
engine.match(events[0], ranking=tocsin.Top(2))
report("Top")
engine.match(events[0], ranking=tocsin.Relaxed(2))
report("Relaxed")
"""


def rows(against: Path | None, times: int = 1) -> Iterator[Row]:
    """CPU seconds and compilations from an empty cache up to each first answer."""
    sources = {"here": _OWN} | ({} if against is None else {"before": against / "src"})
    taken: dict[str, dict[str, float]] = {name: {} for name in sources}
    for _ in range(times):
        for name, source in sources.items():
            for what, seconds, compilations in _first_answers(source):
                least = taken[name].get(what)
                taken[name][what] = seconds if least is None else min(seconds, least)
                yield Row("cold", name, what, seconds, "CPU s", f"{compilations:,.0f} compilations by then")
    for what, seconds in taken["here"].items() if against else ():
        yield Row("cold", "ratio", what, seconds / taken["before"][what], "", "least of here by least of before")


def _first_answers(source: Path) -> Iterator[tuple[str, float, float]]:
    """README's first example, and three questions to an engine, in a process of their own."""
    readme = _OWN.parent / "README.md"
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONPATH": str(source), "XDG_CACHE_HOME": cache}
        environment.pop("NUMBA_CACHE_DIR", None)
        command = [sys.executable, "-c", _FIRST_ANSWERS, str(readme)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        what, seconds, compilations = json.loads(line)
        yield what, seconds, compilations
