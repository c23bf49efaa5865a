"""The changes of a durable engine: each is written to the database, then made in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tocsin.engine.loading import raise_first
from tocsin.engine.only import Choice
from tocsin.engine.store import Store
from tocsin.errors import DuplicateSubscription, RecordError, UnknownSubscription
from tocsin.model.subscription import Reject, SubscriptionId, shown
from tocsin.records import Parsed
from tocsin.segment import Segment, assemble
from tocsin.store import Database, Row, Rows

_AT_ONCE = 8192


@dataclass(slots=True)
class Put:
    """Add a subscription; `apply` returns how many the delta holds."""

    store: Store
    parsed: Parsed
    replace: bool
    is_alone = False

    def write(self, database: Database, sequence: int, touched: set[SubscriptionId]) -> int:
        one = self.parsed
        self.store.check_kind(one.id, type(next(iter(touched))) if touched else None)
        is_there = not self.replace and (
            database.subscriptions.has(one.id) if one.id in touched else self.store.has(one.id)
        )
        touched.add(one.id)
        if is_there:
            raise DuplicateSubscription(
                f"a subscription {shown(one.id)} exists already; give replace=True to replace it"
            )
        database.subscriptions.put(Row(one.id, one.source, one.score, one.payload, one.weights, sequence + 1))
        return sequence + 1

    def apply(self) -> int:
        return self.store.add(self.parsed, replace=True)


@dataclass(slots=True)
class PutAll:
    """Add all subscriptions of a segment; `apply` returns their number and the rejects.

    The segment was built beside other changes. Without `replace`, ids that were taken meanwhile are rejected.
    """

    store: Store
    segment: Segment
    rows: NDArray[np.int64]  # of its subscriptions in the source
    rejects: list[Reject]
    replace: bool
    strict: bool
    is_alone = True  # memory has all earlier changes

    def write(self, database: Database, sequence: int, touched: set[SubscriptionId]) -> int:
        if len(self.segment):
            self._reject_taken()
        if len(self.segment):
            database.subscriptions.put_all(rows_of(self.segment, sequence))
        return sequence + len(self.segment)

    def _reject_taken(self) -> None:
        segment = self.segment
        try:
            self.store.check_kind(segment.id_of(0))
            is_taken = np.zeros(len(segment), bool) if self.replace else self.store.taken(segment.ids)
            reason = None
        except RecordError as error:
            is_taken, reason = np.ones(len(segment), bool), str(error)
        if not is_taken.any():
            return
        for number in np.flatnonzero(is_taken).tolist():
            id = segment.id_of(number)
            why = reason or f"a subscription {shown(id)} exists already"
            self.rejects.append(Reject(int(self.rows[number]), id, "id", why))
        self.rejects.sort(key=lambda reject: reject.row)
        if self.strict:
            raise_first(self.rejects, "subscription")
        self.segment = assemble(segment.part().only(np.flatnonzero(~is_taken)), segment.plan)
        self.rows = self.rows[~is_taken]

    def apply(self) -> tuple[int, list[Reject]]:
        if len(self.segment):
            self.store.add_segment(self.segment, replace=self.replace)
        return len(self.segment), self.rejects


@dataclass(slots=True)
class Remove:
    """Remove a subscription."""

    store: Store
    id: SubscriptionId
    is_alone = False

    def write(self, database: Database, sequence: int, touched: set[SubscriptionId]) -> int:
        if _may_be_id(self.id):
            touched.add(self.id)
        if not (_may_be_id(self.id) and database.subscriptions.remove(self.id, sequence + 1)):
            raise UnknownSubscription(f"there is no subscription {shown(self.id)}")
        return sequence + 1

    def apply(self) -> None:
        self.store.remove(self.id)


@dataclass(slots=True)
class RemoveAll:
    """Remove the subscriptions of a choice, all of them or none; `apply` returns the ids of those that there were."""

    store: Store
    choice: Choice
    removed: list[SubscriptionId] = field(default_factory=list)  # once it is written
    is_alone = True  # memory has all earlier changes

    def write(self, database: Database, sequence: int, touched: set[SubscriptionId]) -> int:
        self.removed = self.store.present(self.choice)
        return database.subscriptions.remove_all(self.removed, sequence)

    def apply(self) -> list[SubscriptionId]:
        return self.store.remove_all(Choice(self.removed))


@dataclass(slots=True)
class Rescore:
    """Change a score."""

    store: Store
    id: SubscriptionId
    score: float
    is_alone = False

    def write(self, database: Database, sequence: int, touched: set[SubscriptionId]) -> int:
        if not (_may_be_id(self.id) and database.subscriptions.rescore(self.id, self.score, sequence + 1)):
            raise UnknownSubscription(f"there is no subscription {shown(self.id)}")
        return sequence + 1

    def apply(self) -> None:
        self.store.rescore(self.id, self.score)


def _may_be_id(id: object) -> bool:
    """Whether SQLite can look for a value as an id: for True it would find 1."""
    if isinstance(id, str):
        try:
            return bool(id.encode()) or not id
        except UnicodeEncodeError:
            return False
    return type(id) is int and -(2**63) <= id < 2**63


def rows_of(segment: Segment, sequence: int, versions: NDArray[np.int64] | None = None) -> Iterator[Rows]:
    """The subscriptions of a new segment in chunks, numbered from `sequence` + 1 on, with versions if there are any."""
    columns = [segment.arrow_ids(), segment.sources.arrow()]
    others = [None if one is None else one.arrow() for one in (segment.payloads, segment.weights)]
    for first in range(0, len(segment), _AT_ONCE):
        span = slice(first, first + _AT_ONCE)
        ids, sources = (column[span].to_pylist() for column in columns)
        nothing: list[Any] = [None] * len(ids)
        payloads, weights = (
            nothing if one is None else [text or None for text in one[span].to_pylist()] for one in others
        )
        numbers = range(sequence + first + 1, sequence + first + len(ids) + 1)
        of_rows = nothing if versions is None else versions[span].tolist()
        yield Rows(ids, sources, segment.scores[span].tolist(), payloads, weights, numbers, of_rows)
