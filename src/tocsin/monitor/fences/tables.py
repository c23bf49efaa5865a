"""The answer of fences as a table, one row per change."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.engine.answer import Answer
from tocsin.engine.matching import EVENT_KEY
from tocsin.errors import InvalidInput, UnknownSubscription
from tocsin.model.fence import FenceChange
from tocsin.model.subscription import Notice, SubscriptionId
from tocsin.monitor.fences.notes import FenceNotes
from tocsin.records.keys import keys_column, plain


class FurtherColumns:
    """The attributes of the event that a table of changes has: `event_key` after the row, `time` at the end."""

    def __init__(self, time: str | None, event_key: str | None) -> None:
        if event_key is not None and not isinstance(event_key, str):
            raise InvalidInput(f"event_key is {event_key!r:.40}; it names an attribute of the events")
        self._event_key = event_key
        self.attributes = [name for name in (time, event_key) if name is not None]
        self._time_at = None if time is None else "also_0"
        self._key_at = None if event_key is None else f"also_{len(self.attributes) - 1}"

    def added_to(self, table: pa.Table, answer: Answer, rows: NDArray[np.int64]) -> pa.Table:
        """The table with these columns; `rows` are those of the events, `answer` has a row for each event."""
        places = pa.array(np.searchsorted(answer.table["event"].to_numpy(), rows))
        if self._key_at is not None:
            table = table.add_column(1, EVENT_KEY, _taken(answer.table[self._key_at], places))
        if self._time_at is not None:
            table = table.append_column("time", _taken(answer.table[self._time_at], places))
        return table

    def noted(self, answer: Answer, notes: FenceNotes) -> Callable[[], list[Notice]]:
        """Note which events have the attribute `event_key`; the result computes the warnings of the answer."""
        if self._key_at is not None:
            notes.add_keys(answer.table[self._key_at])
        return partial(notes.notices, self._event_key, answer.noticing)


def _taken(column: pa.ChunkedArray, places: pa.Array) -> pa.Array:
    return plain(column.combine_chunks().take(places))


def table_of(
    answer: Answer,
    changes: Sequence[tuple[int, FenceChange]],
    columns: FurtherColumns,
    payload: Callable[[SubscriptionId], Any] | None,
) -> pa.Table:
    """The changes, each with the row of its event; `answer` has a row for each event."""
    objects, ids = [change.object for _, change in changes], [change.subscription for _, change in changes]
    rows = np.array([row for row, _ in changes], np.int64)
    table = pa.table(
        {
            "event": pa.array(rows),
            "object": keys_column(objects, answer.table[EVENT_KEY].type),
            "subscription": pa.array(ids, answer.table["subscription"].type.value_type),
            "change": pa.array([change.change for _, change in changes], pa.string()).dictionary_encode(),
            "seconds": pa.array([change.seconds for _, change in changes], pa.float64()),
        }
    )
    table = columns.added_to(table, answer, rows)
    if payload is not None:
        table = table.append_column("payload", pa.array(_payloads(ids, payload), pa.large_string()))
    return table


def _payloads(ids: Sequence[SubscriptionId], payload: Callable[[SubscriptionId], Any]) -> list[str | None]:
    """The subscriptions' payloads as JSON; None if there is none, or if the subscription was removed."""
    found: dict[SubscriptionId, str | None] = {}
    for one in set(ids):
        try:
            carried = payload(one)
        except UnknownSubscription:
            carried = None
        found[one] = None if carried is None else json.dumps(carried, ensure_ascii=False)
    return [found[one] for one in ids]
