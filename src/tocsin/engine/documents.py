"""Which documents matched? The events themselves, read again, each beside its matches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from tocsin.errors import InvalidInput
from tocsin.records import ObjectChunk, TableChunk, as_records, read_events
from tocsin.records.chunks import SparseChunk


def documents(table: pa.Table, events: Any, **options: Any) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """The events that matched, as objects, each with its matches: rows of the answer's table."""
    if pa.types.is_list(table.schema.field("subscription").type):
        raise InvalidInput("documents go with an answer of a row a match; ask without lists=True")
    numbers = table["event"].to_numpy()
    matched, starts = np.unique(numbers, return_index=True)
    stops = np.append(starts[1:], len(numbers))
    for given in read_events(events, **options):
        if isinstance(given, SparseChunk):
            raise InvalidInput("SparseEvents have no objects; look their rows up by the answer's column event")
        for row, record in _records(as_records(given), matched):
            at = int(np.searchsorted(matched, row))
            yield record, table.slice(starts[at], stops[at] - starts[at]).to_pylist()


def _records(chunk: ObjectChunk | TableChunk, matched: np.ndarray) -> Iterator[tuple[int, dict[str, Any]]]:
    if isinstance(chunk, ObjectChunk):
        wanted = set(matched.tolist())
        yield from ((row, dict(record)) for row, record in chunk.records if row in wanted)
        return
    places = np.flatnonzero(np.isin(chunk.rows, matched))
    records = chunk.table.take(pa.array(places)).to_pylist()
    yield from zip(chunk.rows[places].tolist(), records, strict=True)
