"""Durable fences: where objects are is in a database before a push returns."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tocsin.engine.durable.engine import DurableEngine
from tocsin.errors import InvalidInput, TocsinError
from tocsin.model.fence import ObjectKey, Visits
from tocsin.monitor.fences.fences import Fences
from tocsin.monitor.fences.files import state_of, visits_of
from tocsin.monitor.fences.following import Matching
from tocsin.monitor.fences.tracking import Tracking
from tocsin.store import Committer, Database, Writer, check_sync, refuse_others, require_no_window


def open_fences(folder: str | Path, engine: Matching, options: dict[str, Any], sync: str) -> DurableFences:
    """Open or create durable fences, as `Fences.open` describes."""
    place = Path(folder)
    check_sync(sync)
    if isinstance(engine, DurableEngine) and engine.folder.absolute() == place.absolute():
        return DurableFences(engine, options, *engine._shared(), None)
    writer = Writer(place, sync)
    try:
        require_no_window(writer.database)
        return DurableFences(engine, options, writer.database, writer.start_folding(), writer)
    except BaseException:
        writer.close()
        raise


class DurableFences(Fences):
    """Fences whose objects survive a crash. `Fences.open` makes some.

    `push` and `push_batch` return when the changes that they report are durable. After a crash, the events that were in
    flight are pushed again, and give the same changes. Everything else is as in `Fences`.
    """

    def __init__(
        self,
        engine: Matching,
        options: dict[str, Any],
        database: Database,
        committer: Committer,
        writer: Writer | None,
    ) -> None:
        """Only `Fences.open` makes some."""
        self._database, self._committer, self._writer = database, committer, writer
        stored = json.loads(database.meta("fences") or "null")
        if stored is None and "key" not in options:
            raise InvalidInput("key is None; name the attribute that identifies objects")
        super().__init__(engine, **(options if stored is None else stored))
        given = {**asdict(self._tracking.followed), **asdict(self._tracking.rules)}
        if stored is None:
            committer.commit(_Kept(lambda database: database.put_meta("fences", json.dumps(given))))
        else:
            _refuse_others(engine, options, given, database.folder)
        self._read()

    def _read(self) -> None:
        """Take the objects from the database."""
        self._tracking, self._place = tracking_of(self._tracking, self._database.objects())

    def _require(self) -> None:
        self._committer.require()

    def _keep(self) -> None:
        states, gone = changed_objects(self._tracking, self._place)
        if not states and not gone:
            return
        self._place += len(states)
        try:
            self._committer.commit(_Kept(lambda database: database.put_objects(states, gone)))
        except TocsinError:
            self._read()  # as before the events
            raise

    def close(self) -> None:
        """Close the store, unless it is that of the engine."""
        if self._writer is not None and self._writer.owner.is_mine:
            self._writer.close_told()
            self._writer = None

    def __enter__(self) -> DurableFences:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def tracking_of(before: Tracking, rows: Iterable[tuple[str, int, str]]) -> tuple[Tracking, int]:
    """The objects that a store has, by the rules of `before`, and the place of the last one.

    Rows are those that `changed_objects` gives, by place.
    """
    tracking = Tracking(before.followed, before.rules)
    objects: dict[ObjectKey, Visits] = {}
    others: dict[ObjectKey, float] = {}
    last = 0
    for key, place, state in rows:
        last, read = place, json.loads(state)
        if isinstance(read, list):
            objects[json.loads(key)] = visits_of(read)
        else:
            others[json.loads(key)] = read
    tracking.restore(objects, others)
    tracking.touched = {}
    return tracking, last


def changed_objects(tracking: Tracking, place: int) -> tuple[list[tuple[str, int, str]], list[str]]:
    """What a store writes of the objects that changed since the last time, and the keys of those that are gone.

    A row has the key, the place after `place`, and the state.
    """
    touched, tracking.touched = tracking.touched or {}, {}
    states: list[tuple[str, int, str]] = []
    gone = []
    for key in touched:
        visits, latest = tracking.objects.get(key), tracking.others.get(key)
        if visits is None and latest is None:
            gone.append(_text_of(key))
            continue
        state = latest if visits is None else state_of(visits)
        states.append((_text_of(key), place + len(states) + 1, json.dumps(state)))
    return states, gone


def _text_of(key: ObjectKey) -> str:
    """The key as JSON; 1.0 and 1 are one object."""
    return json.dumps(int(key) if isinstance(key, float) and key.is_integer() else key)


def _refuse_others(engine: Matching, options: dict[str, Any], stored: dict[str, Any], folder: Path) -> None:
    """Raise `InvalidInput` for an option that differs from the one that the fences were made with."""
    asked = Fences(engine, **{**stored, **options})._tracking
    now = {**asdict(asked.followed), **asdict(asked.rules)}
    refuse_others({name: now[name] for name in options}, stored, f"the fences in {folder} were made")


class _Kept:
    """What memory has already, written by a function."""

    is_alone = False

    def __init__(self, put: Callable[[Database], None]) -> None:
        self._put = put

    def write(self, database: Database, sequence: int, touched: set[Any]) -> int:
        self._put(database)
        return sequence

    def apply(self) -> None:
        """Nothing is left to do."""
