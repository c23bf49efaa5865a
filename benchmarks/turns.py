"""Parts in turns with the sources of another version. Each turn is a process of its own, whose memory is watched."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tqdm import tqdm

from benchmarks.jobs import ROOT, environment
from benchmarks.processes import memory
from benchmarks.rows import Row

HEADER: Final = (
    f"{'what':13} {'load':5} {'of':26} {'before':>12} {'here':>12} {'unit':9} {'gain':>6} {'MB':>7} {'here':>7}  note"
)
_EVERY_S: Final = 0.1


class Taken(NamedTuple):
    """A row of one turn, and the most megabytes that were held since the row before it."""

    row: Row
    megabytes: float


def lines(part: str, options: Sequence[str], against: Path, times: int) -> Iterator[str]:
    """The medians of each row with the other version's sources and with these, and how many times better these are.

    After Ctrl-C, they are those of the turns so far, and then the process ends with status 130.
    """
    sources = {"before": against.resolve() / "src", "here": ROOT / "src"}
    taken: dict[str, dict[tuple[str, ...], list[Taken]]] = {name: defaultdict(list) for name in sources}
    is_interrupted = False
    try:
        for name in tqdm([*sources] * times, desc=part, unit="turn", leave=False, disable=None):  # None: not in a pipe
            for key, one in _turn(part, options, sources[name]):
                taken[name][key].append(one)
    except KeyboardInterrupt:
        is_interrupted = True
    for key, here in taken["here"].items():
        yield _line(taken["before"].get(key, []), here)
    if is_interrupted:
        done = max((len(rows) for rows in taken["here"].values()), default=0)
        print(f"{part}: interrupted; medians of at most {done} of {times} turns", file=sys.stderr)
        raise SystemExit(130)


def _turn(part: str, options: Sequence[str], source: Path) -> Iterator[tuple[tuple[str, ...], Taken]]:
    """The rows of a part in a process of its own, by what they measure."""
    command = [sys.executable, "-m", "benchmarks", part, *options, "--json"]
    seen: dict[tuple[str, ...], int] = defaultdict(int)
    with subprocess.Popen(command, cwd=ROOT, env=environment(source), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        watch = _Watch(process.pid)
        for line in process.stdout:
            row = Row(**json.loads(line))
            key = (row.what, row.load, row.of)
            seen[key] += 1
            yield (*key, str(seen[key])), Taken(row, watch.most())
        watch.stop()
    if process.returncode:
        print(f"{part} ended with status {process.returncode} on {source}", file=sys.stderr)


class _Watch:
    """Looks at the memory of a process and its descendants from time to time, in a thread."""

    def __init__(self, process: int) -> None:
        self._process = process
        self._most = 0.0
        self._over = threading.Event()
        threading.Thread(target=self._look, daemon=True).start()

    def _look(self) -> None:
        while not self._over.wait(_EVERY_S):
            self._most = max(self._most, memory(self._process))

    def most(self) -> float:
        """The most megabytes since the last call."""
        most, self._most = max(self._most, memory(self._process)), 0.0
        return most

    def stop(self) -> None:
        self._over.set()


def _line(before: list[Taken], here: list[Taken]) -> str:
    row = here[-1].row
    last, now = (statistics.median(one.row.value for one in turns) if turns else None for turns in (before, here))
    held, holds = (statistics.median(one.megabytes for one in turns) if turns else None for turns in (before, here))
    gain = None
    if last and now:
        gain = now / last if row.unit.endswith("/s") else last / now
    numbers = f"{_number(last):>12} {_number(now):>12} {row.unit:9} {_number(gain):>6}"
    return f"{row.what:13} {row.load:5} {row.of:26} {numbers} {_number(held):>7} {_number(holds):>7}  {row.note}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.{0 if value >= 1000 else 1 if value >= 10 else 2}f}"
