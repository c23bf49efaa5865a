"""Batches of changes with versions, as `tocsin update` takes them: a change is ignored if a later one came before."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from tocsin.engine.durable.changes import rows_of
from tocsin.engine.store import Store
from tocsin.index import Plan
from tocsin.model.subscription import Reject, SubscriptionId
from tocsin.records.changes import ChangeBatch, Rows
from tocsin.segment import Segment, SegmentBuilder, assemble
from tocsin.segment.amending import Amendment
from tocsin.store import Database

_OLDEST: Final = int(np.iinfo(np.int64).min)


class Amend:
    """One batch, written as a whole; `apply` returns how many changes of each kind were made."""

    is_alone = True

    def __init__(self, store: Store, batch: ChangeBatch, plan: Plan) -> None:
        self._store, self._batch, self._plan = store, batch, plan
        self._done = Amendment("", rejects=list(batch.rejects))
        self._removed: list[SubscriptionId] = []
        self._rescored: list[tuple[SubscriptionId, float]] = []
        self._segment: Segment | None = None

    def write(self, database: Database, sequence: int, touched: set[SubscriptionId]) -> int:
        batch, done = self._batch, self._done
        rows = _newer(batch.rows, database)
        outcome = batch.outcome(rows)
        ids: list[SubscriptionId] = outcome.ids.to_pylist()
        if ids:
            self._store.check_kind(ids[0], database.subscriptions.kind())
        puts: list[tuple[int, int]] = []
        for id, base, rescore in zip(ids, outcome.base.tolist(), outcome.rescore.tolist(), strict=True):
            if base >= 0 and rows.is_put[base]:
                puts.append((base, max(base, rescore)))
                name = "updated" if database.subscriptions.has(id) else "inserted"
                setattr(done, name, getattr(done, name) + 1)
                continue
            if base >= 0:
                sequence += 1
                self._remove(database, id, sequence, int(rows.versions[base]))
            if rescore >= 0:
                sequence = self._rescore(database, id, rows, rescore, sequence)
        sequence = self._put(database, rows, puts, sequence)
        counted = done.inserted + done.updated + done.deleted + done.rescored
        done.superseded = len(batch.rows) + len(batch.rejects) - len(done.rejects) - counted
        done.rejects.sort(key=lambda reject: reject.row)
        return sequence

    def _remove(self, database: Database, id: SubscriptionId, sequence: int, version: int) -> None:
        self._done.deleted += 1
        if database.subscriptions.remove(id, sequence, version):
            self._removed.append(id)
        else:
            self._done.unknown += 1

    def _rescore(self, database: Database, id: SubscriptionId, rows: Rows, place: int, sequence: int) -> int:
        score = float(rows.scores[place])
        if not database.subscriptions.rescore(id, score, sequence + 1, int(rows.versions[place])):
            what = "no subscription has this id, so that its score cannot change"
            self._done.rejects.append(Reject(int(rows.rows[place]), id, "id", what))
            return sequence
        self._done.rescored += 1
        self._rescored.append((id, score))
        return sequence + 1

    def _put(self, database: Database, rows: Rows, puts: list[tuple[int, int]], sequence: int) -> int:
        """Write the new subscriptions, with their latest scores and versions. They come by id."""
        if not puts:
            return sequence
        base, final = np.array(puts).T
        brought, builder = self._batch.brought, SegmentBuilder()
        builder.add(brought.some(np.searchsorted(brought.rows, rows.rows[base])))
        part = replace(builder.part(kind=self._batch.kind), scores=rows.scores[final])
        self._segment = assemble(part, self._plan)
        database.subscriptions.put_all(rows_of(self._segment, sequence, rows.versions[final]))
        return sequence + len(puts)

    def apply(self) -> Amendment:
        for id in self._removed:
            self._store.remove(id)
        for id, score in self._rescored:
            self._store.rescore(id, score)
        if self._segment is not None:
            self._store.add_segment(self._segment, replace=True)
        return self._done


def _newer(rows: Rows, database: Database) -> Rows:
    """The changes that are later than the last one of their id."""
    last = {id: database.subscriptions.version(id) for id in set(rows.ids.to_pylist())}
    known = np.array([_OLDEST if last[id] is None else last[id] for id in rows.ids.to_pylist()], np.int64)
    return rows.some(rows.versions > known) if len(rows) else rows
