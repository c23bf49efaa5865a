"""What does an index take for a workload? Build time, structure, and time to match an event, each by itself."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import Any

from reproduce.figure import Series
from reproduce.loads import Ask, Load
from reproduce.workloads import load_of
from tocsin.errors import UnsuitableIndex
from tocsin.index import disseminators, parse_index

_ROUNDS = 3
_MOST_ROUNDS = 30
_ENOUGH_S = 1.0
_LEAST = 16
_COUNTED = {"candidates": "candidates_examined", "searches": "reevaluations"}


@dataclass(frozen=True, slots=True)
class Point:
    """A measurement, or why there is none."""

    value: float | None
    note: str = ""


def measure(what: str, series: Series, given: dict[str, Any]) -> Point:
    """One point of one line: `what` is "build", "memory", "match", or what an answer counts.

    "candidates" is of a load that is answered by a `Found`; these, "searches" and "buffered" of one of messages that
    are pushed.
    """
    for name, most in series.most.items():
        if given[name] > most:
            return Point(None, f"not asked beyond {most:,} {name}")
    load = load_of(given, series.parameters)
    text = series.index.format(**given)
    for_windows = text.partition("(")[0].strip() in [one.name for one in disseminators()]
    registration, options = parse_index(text, for_windows=for_windows)
    begun = time.process_time()
    try:
        index = load.build(registration, options)
    except UnsuitableIndex as error:
        return Point(None, f"refused: {error.reason}")
    built = time.process_time() - begun
    if what == "build":
        return Point(built)
    if what == "memory":
        return Point(load.nbytes(index) / 1e6)
    if what in _COUNTED:
        return Point(getattr(load.ask(index, load.events)(), _COUNTED[what]) / len(load.events))
    if what == "buffered":
        return Point(load.ask(index, load.events)().buffered)
    return Point(_matching(index, load) * 1e6)


def compile_kernels(series: Series, given: dict[str, Any]) -> None:
    """Have an index's kernels compiled before it is measured: build and match a little of the same workload."""
    measure("match", Series(series.name, series.index), {**given, "subscriptions": 200, "events": 4})


def _matching(index: Any, load: Load) -> float:
    """Seconds an event: the median of rounds over as many events as take a second or so, or all."""
    each = _seconds(load.ask(index, load.warm_up)) / max(len(load.warm_up), 1)
    events = load.events[: max(_LEAST, int(_ENOUGH_S / max(each, 1e-9)))]
    ask = load.ask(index, events)
    rounds = min(max(_ROUNDS, int(_ENOUGH_S / max(each * len(events), 1e-9))), _MOST_ROUNDS)
    return statistics.median(_seconds(ask) for _ in range(rounds)) / max(len(events), 1)


def _seconds(ask: Ask) -> float:
    begun = time.process_time()
    ask()
    return time.process_time() - begun
