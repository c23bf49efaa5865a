"""The changes of a monitor as a table, one row per change."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tocsin.errors import UnknownSubscription
from tocsin.model.change import MonitorChange
from tocsin.model.subscription import SubscriptionId
from tocsin.monitor.processing import Pushed
from tocsin.records.keys import keys_column


def table_of(
    parts: Sequence[Pushed], id_type: pa.DataType, payload: Callable[[SubscriptionId], Any] | None
) -> pa.Table:
    """The changes of some chunks of events, in order."""
    changes = [one.change for part in parts for one in part.told]
    return changes_table(changes, _rows(parts), id_type, payload)


def changes_table(
    changes: Sequence[MonitorChange],
    events: Sequence[int | None],
    id_type: pa.DataType,
    payload: Callable[[SubscriptionId], Any] | None,
) -> pa.Table:
    """Changes, in order, with the rows of the events that made them."""
    ids = [change.subscription for change in changes]
    table = pa.table(
        {
            "event": pa.array(events, pa.int64()),
            "object": objects_column([change.object for change in changes]),
            "subscription": pa.array(ids, id_type),
            "change": pa.array([change.change for change in changes], pa.string()).dictionary_encode(),
            "seconds": pa.array([change.seconds for change in changes], pa.float64()),
            "time": pa.array([change.microseconds for change in changes], pa.int64()).cast(pa.timestamp("us", "UTC")),
        }
    )
    if payload is not None:
        texts = {id: _payload(payload, id) for id in set(ids)}
        table = table.append_column("payload", pa.array([texts[id] for id in ids], pa.large_string()))
    return table


def objects_column(objects: Sequence[Any]) -> pa.Array:
    """Objects as a column. Those of several attributes become lists of texts."""
    if any(isinstance(one, tuple) for one in objects):
        listed = [list(map(str, one)) if isinstance(one, tuple) else [str(one)] for one in objects]
        return pa.array(listed, pa.list_(pa.large_string()))
    kinds = {type(one) for one in objects}
    kind = pa.large_string() if not kinds or kinds == {str} else pa.int64() if kinds == {int} else pa.float64()
    return keys_column(list(objects), kind)


def _rows(parts: Sequence[Pushed]) -> list[int | None]:
    """The row of the event that made each change; None for time, and for events of earlier calls."""
    first = parts[0].first if parts else 0
    known = np.concatenate([np.empty(0, np.int64), *(part.rows for part in parts)]).tolist()
    numbers = [one.event for part in parts for one in part.told]
    return [known[number - first] if number >= first else None for number in numbers]


def _payload(payload: Callable[[SubscriptionId], Any], id: SubscriptionId) -> str | None:
    """The payload of a subscription as JSON; None if there is none, or if the subscription was removed."""
    try:
        carried = payload(id)
    except UnknownSubscription:
        return None
    return None if carried is None else json.dumps(carried, ensure_ascii=False)
