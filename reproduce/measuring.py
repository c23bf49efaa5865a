"""What does an index take for a workload? Build time, structure, and time to match an event, each by itself."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import Any

from reproduce.figure import Series
from reproduce.workloads import Load, load_of
from tocsin.columns.batch import EventBatch, Wanted
from tocsin.errors import UnsuitableIndex
from tocsin.index import Matcher, parse_index

_ROUNDS = 3
_ENOUGH_S = 1.0
_PROBE = 16


@dataclass(frozen=True, slots=True)
class Point:
    """A measurement, or why there is none."""

    value: float | None
    note: str = ""


def measure(what: str, series: Series, given: dict[str, Any]) -> Point:
    """One point of one line: `what` is "build", "memory" or "match"."""
    for name, most in series.most.items():
        if given[name] > most:
            return Point(None, f"not asked beyond {most:,} {name}")
    load = load_of(given, series.parameters)
    registration, options = parse_index(series.index.format(**given))
    begun = time.process_time()
    try:
        matcher = registration.builder(**options).build(load.compiled)
    except UnsuitableIndex as error:
        return Point(None, f"refused: {error.reason}")
    built = time.process_time() - begun
    if what == "build":
        return Point(built)
    if what == "memory":
        return Point(sum(matcher.sizes().values()) / 1e6)
    return Point(_matching(matcher, load) * 1e6)


def compile_kernels(series: Series, given: dict[str, Any]) -> None:
    """Have an index's kernels compiled before it is measured: build and match a little of the same workload."""
    measure("match", Series(series.name, series.index), {**given, "subscriptions": 200, "events": 4})


def _matching(matcher: Matcher, load: Load) -> float:
    """Seconds an event: the median of rounds over as many events as take a second or so, or all."""
    wanted = Wanted(matcher.attributes)
    few = load.batch(wanted, _PROBE)
    each = _seconds(matcher, few) / max(len(few), 1)
    count = min(load.events, max(_PROBE, int(_ENOUGH_S / max(each, 1e-9))))
    batch = load.batch(wanted, count)
    return statistics.median(_seconds(matcher, batch) for _ in range(_ROUNDS)) / max(len(batch), 1)


def _seconds(matcher: Matcher, batch: EventBatch) -> float:
    begun = time.process_time()
    matcher.match(batch)
    return time.process_time() - begun
