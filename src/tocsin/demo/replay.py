"""Replay of the year, hour by hour, as files: first the changes of the alerts, then the flights of that hour.

A flight comes at its scheduled hour, with everything that is known about it afterwards. Files are renamed into their
folders, so that a stream never sees a partial file.
"""

from __future__ import annotations

import datetime as dt
import json
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tocsin.demo.turnover import Change, Turnover

Flight = Mapping[str, Any]
"""One event: `id`, `scheduled` and its attributes."""

EVENTS: Final = "events"
CHANGES: Final = "changes"


@dataclass(slots=True)
class Played:
    """What was replayed so far: every flight by id, its time of replay, and every change, in order."""

    flights: dict[str, dict[str, Any]] = field(default_factory=dict)
    put_at: dict[str, float] = field(default_factory=dict)
    changes: list[list[Change]] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    hour: dt.datetime | None = None
    alerts: int = 0


class Replay:
    """Writes one hour after another into a folder, at a given speed."""

    def __init__(self, folder: Path, flights: Sequence[Flight], turnover: Turnover, first: dt.datetime) -> None:
        self.played = Played(alerts=len(turnover))
        self._folder = folder
        self._turnover = turnover
        self._first = first
        self._hours: dict[int, list[Flight]] = {}
        for flight in flights:
            self._hours.setdefault(int((flight["scheduled"] - first).total_seconds() // 3600), []).append(flight)
        for name in (EVENTS, CHANGES):
            (folder / name).mkdir(parents=True, exist_ok=True)

    def run(self, hours: int, speed: float, stop: threading.Event) -> None:
        """Replay `hours` hours, `speed` of them a second, until a stop is requested. A late hour is written at once."""
        begun = time.monotonic()
        for number in range(hours):
            if stop.wait(max(begun + number / speed - time.monotonic(), 0.0)):
                return
            self.put(number)

    def put(self, number: int) -> None:
        """Write an hour: its changes, and its flights if there are any."""
        changes = self._turnover.hour()
        self.played.changes.append(changes)
        self.played.kinds.update(change["change"] for change in changes[:-1])
        self.played.alerts = len(self._turnover)
        self._write(CHANGES, number, changes)
        flights = {str(flight["id"]): event_of(flight) for flight in self._hours.get(number, [])}
        self.played.hour = self._first + dt.timedelta(hours=number)
        self.played.flights.update(flights)
        now = time.monotonic()
        self.played.put_at.update(dict.fromkeys(flights, now))
        if flights:
            self._write(EVENTS, number, list(flights.values()))

    def _write(self, name: str, number: int, records: Sequence[Any]) -> None:
        beside = self._folder / "next.json"
        beside.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        beside.replace(self._folder / name / f"{number:05d}.json")


def event_of(flight: Flight) -> dict[str, Any]:
    """A flight as a JSON object: `key` and the attributes that alerts may ask about, without missing values."""
    given = {name: value for name, value in flight.items() if name not in ("id", "scheduled") and value is not None}
    return {"key": flight["id"], **given}
