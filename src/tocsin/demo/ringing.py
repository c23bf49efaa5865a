"""Matches of the running pipeline and their delay, read batch by batch and shown as they come."""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TextIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tocsin.demo.replay import Played
from tocsin.demo.turnover import CLOCK

_LOOK_S: Final = 0.02
_LINE_S: Final = 0.2
_RING_S: Final = 1.0


@dataclass(slots=True)
class Rung:
    """The matches so far (flight, alert and score, including the clock's), and the delay of each flight's answer."""

    batches: list[pa.Table] = field(default_factory=list)
    flights: int = 0
    matches: int = 0
    states: set[int] = field(default_factory=set)
    seconds: list[float] = field(default_factory=list)

    def table(self) -> pa.Table:
        """All rows."""
        return pa.concat_tables(self.batches) if self.batches else NOTHING


NOTHING: Final = pa.table(
    {"event_id": pa.array([], pa.string()), "subscription": pa.array([], pa.string()), "score": pa.array([], "f8")}
)


class Ringing:
    """Follows a folder of matches during a replay."""

    def __init__(self, folder: Path, played: Played, stream: TextIO | None = None) -> None:
        self.rung = Rung()
        self._folder = folder
        self._played = played
        self._next = 0
        self._shown = Shown(sys.stderr if stream is None else stream)

    def run(self, done: threading.Event) -> None:
        """Follow until `done` is set, and then to the end."""
        while not done.wait(_LOOK_S):
            self.look()
        self.look()
        self._shown.end()

    def look(self) -> None:
        """Read all complete batches."""
        while (folder := self._folder / f"batch={self._next:08d}").joinpath("_SUCCESS").exists():
            self._take(folder)
            self._next += 1
        self._shown.line(self._played, self.rung)

    def _take(self, folder: Path) -> None:
        rows = pa.concat_tables(
            [NOTHING, *(pq.read_table(one).cast(NOTHING.schema) for one in folder.glob("*.parquet"))]
        )
        now = time.monotonic()
        is_clock = pc.equal(rows["subscription"], CLOCK["id"])
        answered = rows.filter(is_clock)
        self.rung.batches.append(rows)
        self.rung.flights += len(answered)
        self.rung.matches += len(rows) - len(answered)
        self.rung.states.update(map(int, answered["score"].to_pylist()))
        self.rung.seconds += [now - self._played.put_at[one] for one in answered["event_id"].to_pylist()]
        self._shown.ring(rows.filter(pc.invert(is_clock)), self._played)


class Shown:
    """On a terminal, an updated line and some of the matches; in a pipe, a line for each day of the year."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_terminal = stream.isatty()
        self._line_at = self._ring_at = 0.0
        self._day = ""

    def line(self, played: Played, rung: Rung) -> None:
        """Show the current state, if it is time to."""
        if played.hour is None:
            return
        now = time.monotonic()
        day = f"{played.hour:%a %d %b}"
        if self._is_terminal:
            if now - self._line_at >= _LINE_S:
                self._line_at = now
                self._put(f"\r\033[K{_told(played, rung)}")
        elif day != self._day:
            self._day = day
            self._put(f"{_told(played, rung)}\n")

    def ring(self, rows: pa.Table, played: Played) -> None:
        """On a terminal, show now and then the flight of a batch with the most matches."""
        now = time.monotonic()
        if not self._is_terminal or not len(rows) or now - self._ring_at < _RING_S:
            return
        self._ring_at = now
        self._put(f"\r\033[K{described(rows, played)}\n")

    def end(self) -> None:
        """Clear the line."""
        if self._is_terminal:
            self._put("\r\033[K")

    def _put(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def described(rows: pa.Table, played: Played) -> str:
    """The flight with the most matches among some rows, and its alert of highest score."""
    counts = pc.value_counts(rows["event_id"].combine_chunks())
    most = int(np.argmax(counts.field(1).to_numpy()))
    key = counts.field(0)[most].as_py()
    own = rows.filter(pc.equal(rows["event_id"], key)).sort_by([("score", "descending"), ("subscription", "ascending")])
    flight = played.flights[key]
    others = f" and {len(own) - 1} more" if len(own) > 1 else ""
    return f"  {_flown(key, flight)}: {own['subscription'][0].as_py()}{others}"


def _flown(key: str, flight: dict[str, Any]) -> str:
    late = flight.get("arr_delay")
    how = "cancelled" if "dep_time" not in flight else f"{late:+.0f} min" if late is not None else "diverted"
    return f"{key}-{flight['dest']}, {how}"


def _told(played: Played, rung: Rung) -> str:
    """One line with the current state."""
    kinds = played.kinds
    latest = rung.seconds[-200:]
    soon = f", {np.median(latest):.2f} s from flight to ring" if latest else ""
    return (
        f"{played.hour:%a %d %b %H}h | {rung.flights:,} flights, {rung.matches:,} rings | {played.alerts:,} alerts "
        f"(+{kinds['insert']:,} -{kinds['delete']:,} ~{kinds['update'] + kinds['rescore']:,}){soon}"
    )
