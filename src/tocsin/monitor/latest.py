"""The latest event of each object of which something is remembered: its attributes stand while time passes."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.model.texts import Text
from tocsin.monitor.visiting import Reading, encoded
from tocsin.records.chunks import Chunk, LinesChunk, ObjectChunk, TableChunk
from tocsin.records.json_lines import parse_line
from tocsin.segment import Snapshots

_NESTED: Final = frozenset((list, dict, tuple, set))


class LatestEvents:
    """Records by the number of their object. JSON lines are kept as they came."""

    def __init__(self) -> None:
        self.records: dict[int, tuple[Any, Reading]] = {}

    def keep(self, chunk: Chunk, rows: NDArray[np.int64], objects: NDArray[np.int32], how: Reading) -> None:
        """Keep the events of some rows, each for an object."""
        for object, record in zip(objects.tolist(), records_of(chunk, rows), strict=True):
            self.records[object] = record, how

    def forget(self, object: int) -> None:
        """Forget the event of an object, if one is kept."""
        self.records.pop(object, None)

    def batch(self, snapshots: Snapshots, objects: NDArray[np.int32], texts: Mapping[str, Text]) -> EventBatch:
        """The events of some objects, with all derived values."""
        distinct, which = np.unique(objects, return_inverse=True)
        kept = [self.records[object] for object in distinct.tolist()]
        hows = {id(how): how for _, how in kept}
        if len(hows) > 1:
            hows = {id(one): one for one in [_common(hows)]}
        records = [(row, parsed(record)) for row, (record, _) in enumerate(kept)]
        batch, _, _ = encoded(ObjectChunk(records), snapshots.wanted, texts, *hows.values())
        return snapshots.completed(batch).only(which.reshape(-1))


def _common(hows: Mapping[int, Reading]) -> Reading:
    """The options of several calls as one; of contradicting ones, the later."""
    schema = {name: kind for how in hows.values() for name, kind in (how.schema or {}).items()}
    points = {name: pair for how in hows.values() for name, pair in (how.points or {}).items()}
    return Reading(schema or None, points or None)


def records_of(chunk: Chunk, rows: NDArray[np.int64]) -> list[Any]:
    """The records of some rows. JSON lines are given as they came."""
    if isinstance(chunk, TableChunk):
        own = chunk.table.take(pa.array(np.searchsorted(chunk.rows, rows)))
        return [{name: value for name, value in one.items() if value is not None} for one in own.to_pylist()]
    if isinstance(chunk, LinesChunk):
        places = np.searchsorted(chunk.rows, rows).tolist()
        return [bytes(chunk.text[chunk.starts[place] : chunk.stops[place]]) for place in places]
    if isinstance(chunk, ObjectChunk):
        by_row = dict(chunk.records)
        return [_copied(by_row[row]) for row in rows.tolist()]
    places = np.searchsorted(chunk.rows, rows).tolist()
    return [dict(zip(chunk.names[at].as_py(), chunk.values[at].as_py(), strict=False)) for at in places]


def _copied(record: Mapping[str, Any]) -> dict[str, Any]:
    """A copy that its owner cannot change."""
    is_flat = _NESTED.isdisjoint(map(type, record.values()))
    return dict(record) if is_flat else deepcopy(dict(record))


def parsed(record: Any) -> Any:
    """A kept record, read if it is a line of JSON."""
    return parse_line(record, 0) if isinstance(record, bytes) else record
