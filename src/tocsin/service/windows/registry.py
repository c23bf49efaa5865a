"""The windows of a tenant: made, found by name, and deleted with their folders."""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from tocsin.errors import TocsinError
from tocsin.service.access.tokens import WINDOWS
from tocsin.service.changes import FREE, Guard
from tocsin.service.directory import Destination, Route
from tocsin.service.problems import Problem, conflict, invalid, unknown
from tocsin.service.windows.hosted import Hosted, Hosting
from tocsin.store import Database
from tocsin.window.saving import with_defaults

_LOG: Final = logging.getLogger("tocsin.service")
_COUNTERS: Final = {
    "messages": "Messages that windows took",
    "changes": "Changes of top-k lists",
    "deliveries": "Deliveries of these changes",
    "suppressed": "Changes that were held back: the subscription is paused, has expired, or was told lately",
}


class Windows:
    """All of them by name. A window that cannot be opened is known by the reason."""

    def __init__(self, folder: Path, host: Hosting, most_bytes: float) -> None:
        self._folder, self.most_bytes = folder / WINDOWS, most_bytes
        self._host = host._replace(require_memory=self._require_memory)
        self._known: dict[str, Hosted | str] = {}
        self._reserved = Counter[int]()  # destinations of subscriptions that are being made
        self._leaving = set[int]()  # destinations that are being deleted
        self.changing = asyncio.Lock()  # held while windows are made and deleted

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[Hosted]:
        """Those that are open."""
        return iter([one for one in list(self._known.values()) if isinstance(one, Hosted)])

    def names(self) -> list[str]:
        """The names of all, in order."""
        return sorted(self._known)

    def __contains__(self, name: str) -> bool:
        return isinstance(self._known.get(name), Hosted)

    def of(self, name: str) -> Hosted:
        """A window; raises a `Problem`."""
        found = self._known.get(name)
        if found is None:
            raise unknown("window", name)
        if isinstance(found, str):
            raise Problem(503, "store", "the window cannot be opened; the server's log has the reason")
        return found

    def read(self, connection: sqlite3.Connection) -> list[tuple[int, str, str, int]]:
        """The rows of all windows. Folders of others, which were being deleted, go."""
        rows = connection.execute("SELECT number, name, options, handed FROM service_windows").fetchall()
        numbers = {str(row[0]) for row in rows}
        for one in self._folder.iterdir() if self._folder.is_dir() else ():
            if one.name.isdecimal() and one.name not in numbers:
                shutil.rmtree(one, ignore_errors=True)
        return rows

    def open_all(self, rows: list[tuple[int, str, str, int]]) -> None:
        """Open windows. One that cannot be opened is logged, and hurts no other."""
        for number, name, options, handed in rows:
            if handed and not (self._folder / str(number)).exists():
                _LOG.warning("the folder of the window %s is missing; it begins empty", name)
            try:
                self.open(number, name, json.loads(options), handed)
            except Exception as error:  # whatever is stored, the others are served  # noqa: BLE001
                known = isinstance(error, TocsinError | OSError | MemoryError)
                reason = self._known[name] = str(error) or type(error).__name__
                _LOG.error("the window %s is left out: %s", name, reason, exc_info=None if known else error)

    def open(self, number: int, name: str, options: Mapping[str, Any], handed: int = 0) -> Hosted:
        """Open a window, and make it if there is none."""
        one = self._known[name] = Hosted(number, name, handed, self._folder / str(number), options, self._host)
        return one

    def remove(self, name: str, number: int) -> None:
        """Close a window that is deleted, and delete its folder."""
        found = self._known.pop(name, None)
        if isinstance(found, Hosted):
            found.close()
        shutil.rmtree(self._folder / str(number), ignore_errors=True)

    def _require_memory(self, part: str, more: int) -> None:
        """Raise a `Problem` if subscriptions, or messages, of all windows have no room for so many more bytes."""
        held = sum(one.bytes[part] for one in self)
        if held + more > self.most_bytes:
            detail = (
                f"the {part} of windows take {held >> 20:,} MB of memory, and these {more >> 20:,} MB more; "
                f"{self.most_bytes / 2**20:,.0f} MB are allowed"
            )
            if more > self.most_bytes:
                raise invalid(detail, field="k", limit="window_mb")
            headers = {"Retry-After": "60"}
            raise Problem(429, "quota", detail, headers=headers, limit="window_mb")

    def hand_over(self) -> list[Future[Any]]:
        """Hand over what errors left."""
        return [one.hand_over() for one in self if one.is_behind]

    def probe(self) -> None:
        """Let windows whose stores refused a change try another one."""
        for one in self:
            if one.progress().error is not None:
                one.probe()

    def close(self) -> None:
        """Do what was asked, and close all."""
        for one in self:
            one.close()

    # Destinations that subscriptions name; in the event loop

    @property
    def subscriptions(self) -> int:
        """How many subscriptions all windows have."""
        return sum(len(one.window) for one in self)

    @property
    def payload_bytes(self) -> int:
        """The bytes of the payloads of all windows' subscriptions."""
        return sum(one.interests.payload_bytes for one in self)

    def uses(self, destination: int) -> int:
        """How many subscriptions name a destination."""
        return sum(one.interests.uses[destination] for one in self) + self._reserved[destination]

    @contextmanager
    def naming(self, routes: Iterable[Route]) -> Iterator[None]:
        """Keep destinations while subscriptions that name them are made; raises a `Problem` if one was deleted."""
        named = Counter(one.destination for one in routes if one.destination is not None)
        if any(one in self._leaving or one not in self._host.outbox.directory.destinations for one in named):
            raise conflict("the destination was deleted meanwhile")
        self._reserved.update(named)
        try:
            yield
        finally:
            self._reserved.subtract(named)

    @contextmanager
    def leaving(self, destination: Destination) -> Iterator[None]:
        """Let no subscription name a destination that is being deleted; raises a `Problem` if one does."""
        if count := self.uses(destination.number):
            detail = f"{count:,} subscriptions of windows name it; change or delete them first"
            raise conflict(detail, subscriptions=count)
        self._leaving.add(destination.number)
        try:
            yield
        finally:
            self._leaving.discard(destination.number)

    def collect(self) -> Iterator[Any]:
        """The metrics, for Prometheus."""
        for word, about in _COUNTERS.items():
            counter = CounterMetricFamily(f"tocsin_window_{word}", about, labels=["window"])
            for one in self:
                counter.add_metric([one.name], one.counts[word])
            yield counter
        for word, about in (("held_messages", "Messages in windows"), ("subscriptions", "Subscriptions of windows")):
            gauge = GaugeMetricFamily(f"tocsin_window_{word}", about, labels=["window"])
            for one in self:
                gauge.add_metric([one.name], one.window.held if word == "held_messages" else len(one.interests))
            yield gauge


@dataclass(slots=True)
class PutWindow:
    """Make a window, unless there is one with these options. Returns whether it is new, and its number."""

    name: str
    options: Mapping[str, Any]
    guard: Guard = FREE
    is_alone = False
    _made: tuple[bool, int] = (False, 0)

    def write(self, database: Database, sequence: int, touched: set[Any]) -> int:
        run, options = database.connection.execute, json.dumps(self.options)
        found = run("SELECT number, options FROM service_windows WHERE name = ?", (self.name,)).fetchone()
        self.guard.check(None if found is None else f'"{found[0]}"')
        if found is None:
            made = run("INSERT INTO service_windows (name, options, handed) VALUES (?, ?, 0)", (self.name, options))
            assert made.lastrowid is not None
            self._made = True, made.lastrowid
            return sequence
        before = with_defaults(json.loads(found[1]))
        for word, value in self.options.items():
            if before[word] != value:
                detail = f"{word} is {before[word]!r:.60} in this window; delete the window to make another one"
                raise conflict(detail, field=word)
        self._made = False, found[0]
        return sequence

    def apply(self) -> tuple[bool, int]:
        return self._made


@dataclass(slots=True)
class RemoveWindow:
    """Delete the row of a window, whose folder is no longer used from then on. Returns its number."""

    name: str
    guard: Guard = FREE
    is_alone = False
    _number: int = 0

    def write(self, database: Database, sequence: int, touched: set[Any]) -> int:
        run = database.connection.execute
        found = run("SELECT number FROM service_windows WHERE name = ?", (self.name,)).fetchone()
        if found is None:
            raise unknown("window", self.name)
        self.guard.check(f'"{found[0]}"')
        self._number = found[0]
        run("DELETE FROM service_windows WHERE number = ?", found)
        return sequence

    def apply(self) -> int:
        return self._number
