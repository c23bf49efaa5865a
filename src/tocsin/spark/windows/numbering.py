"""Numbering the messages of a micro-batch: one task sorts them, and packs those for each partition.

A window is exact only if all messages have one order. So this task sees all of them, sorted. It checks each message,
rejects invalid ones, and writes a packet for each partition. It keeps no state: partitions continue their own count.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.model.subscription import Reject
from tocsin.model.texts import Text
from tocsin.model.window import Bounds
from tocsin.placement.hashing import Hashes
from tocsin.records import TableChunk
from tocsin.spark.windows.copies import Placing
from tocsin.spark.windows.edits import CHANGE, DICE, Read, edits_of, read_changes
from tocsin.spark.windows.packets import BYTES, SEATS, Packet
from tocsin.spark.windows.seats import seats
from tocsin.spark.windows.settings import Settings
from tocsin.window.keys import Keys
from tocsin.window.parts import Sent
from tocsin.window.reading import Checked, Reader
from tocsin.window.vocabulary import Vocabulary

FIELDS: Final = ("words", "text", "location", "key", "time")
"""The columns of a message."""
TELLER: Final = 0
"""The partition that reports rejects. In a window of time it receives all messages, to find late ones."""
_AT_ONCE: Final = 8192
_KINDS: Final[dict[str | None, type | None]] = {"string": str, "int64": int, None: None}
_ROW: Final = pa.schema(
    [
        (SEATS, pa.list_(pa.int32())),
        *((name, pa.int64()) for name in ("place", "count")),
        *((name, pa.binary()) for name in BYTES),
    ]
)


class Numbering:
    """Numbers the sorted messages of one micro-batch, and packs them."""

    def __init__(self, settings: Settings, placing: Placing) -> None:
        self._settings, self._placing = settings, placing
        self._has_time = settings.time is not None
        keys = Keys.of_kind(_KINDS[settings.key_type])
        how = Text.of(settings.text)
        self._reader = Reader(Bounds.of(settings.bounds), how, self._has_time, Vocabulary({}), keys)

    def packed(self, messages: pa.Table) -> Iterator[pa.RecordBatch]:
        """Rows of PACKETS: for each stretch of messages, one row for all partitions that receive the same."""
        keys = seats(self._settings.partitions)
        for place, first in enumerate(range(0, messages.num_rows, _AT_ONCE)):
            batch = messages.slice(first, _AT_ONCE).combine_chunks().to_batches()[0]
            alike: dict[tuple[int, bool], tuple[Packet, list[int]]] = {}
            for seat, packet in zip(keys, self.packets(batch), strict=True):
                what = id(packet.sent.messages), packet.refused is None
                alike.setdefault(what, (packet, []))[1].append(seat)
            yield pa.RecordBatch.from_pylist([packet.row(to, place) for packet, to in alike.values()], _ROW)

    def packets(self, batch: pa.RecordBatch) -> Iterator[Packet]:
        """A packet for each partition."""
        batch, changes, before = _apart(batch)
        checked = self._reader.checked(TableChunk(batch, np.arange(batch.num_rows)))
        visited = self._placing.routes.visited(checked.lists)[checked.good]
        refused = _refused(checked, batch, self._settings)
        edits = None
        if changes is not None:
            read = read_changes(changes, self._reader)
            positions = np.searchsorted(checked.good, before[read.rows])
            edits = edits_of(read, positions, self._copies(read, changes[DICE].to_numpy()), self._settings.id_type)
            refused = _joined(refused, _refused_changes(read.rejects, self._settings))
        times = checked.times[checked.good] if self._has_time else None
        total, messages = len(visited), _messages(checked, self._settings.key_type)
        for partition in range(self._settings.partitions):
            is_told = partition == TELLER
            visits = (visited >> np.uint64(partition)) & np.uint64(1)
            positions = np.flatnonzero(visits) if not (is_told and self._has_time) else np.arange(total)
            own = messages if len(positions) == total else messages.take(pa.array(positions))
            yield Packet(Sent(total, positions, own, times), refused if is_told else None, edits)

    def _copies(self, read: Read, dice: NDArray[np.int64]) -> Hashes:
        """The partitions with copies of each changed subscription, one bit each; none of a deletion."""
        checked, copies = read.checked, np.zeros(len(read.rows), np.uint64)
        is_put = read.puts >= 0
        own = self._placing.copies(checked.lists, checked.places, dice[checked.rows])
        copies[is_put] = own[read.puts[is_put]]
        return copies


def _messages(checked: Checked, key_type: str | None) -> pa.Table:
    """The accepted messages of a chunk, in the form that a part reads."""
    lists, rows = checked.lists, checked.good
    own = np.diff(lists.starts)[rows]
    starts = np.concatenate([[0], np.cumsum(own)])
    at = np.arange(starts[-1]) + np.repeat(lists.starts[rows] - starts[:-1], own)
    words = pa.array(lists.distinct, pa.string()).take(pa.array(lists.numbers[at]))
    columns = {
        "words": pa.ListArray.from_arrays(pa.array(starts, pa.int32()), words),
        "location": pa.FixedSizeListArray.from_arrays(pa.array(checked.places[rows].reshape(-1)), 2),
    }
    if key_type is not None:
        columns["key"] = pa.array([checked.keys[row] for row in rows.tolist()], key_type)
    return pa.table(columns)


def _apart(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.Table | None, NDArray[np.int64]]:
    """The messages of a batch, its changes of subscriptions, and how many messages come before each change."""
    if CHANGE not in batch.schema.names:
        return batch, None, np.zeros(0, np.int64)
    column = batch.column(CHANGE)
    batch = batch.drop_columns([CHANGE])
    is_change = column.is_valid().to_numpy(zero_copy_only=False)
    if not is_change.any():
        return batch, None, np.zeros(0, np.int64)
    before = np.cumsum(~is_change)[is_change]
    changes = pa.Table.from_batches([pa.RecordBatch.from_struct_array(column.filter(pa.array(is_change)))])
    return batch.filter(pa.array(~is_change)), changes, before


def _refused(checked: Checked, batch: pa.RecordBatch, settings: Settings) -> pa.Table | None:
    """The rejected messages, with their original keys."""
    if not checked.rejects:
        return None
    kind = settings.message_type
    rows = pa.array([reject.row for reject in checked.rejects], pa.int64())
    has_key = "key" in batch.schema.names
    keys = batch.column("key").take(rows).cast(kind) if has_key else pa.nulls(len(rows), kind)
    return _with_reasons(keys, pa.nulls(len(rows), settings.id_type), checked.rejects)


def _refused_changes(rejects: list[Reject], settings: Settings) -> pa.Table | None:
    """The rejected changes, with their ids."""
    if not rejects:
        return None
    ids = pa.array([reject.id for reject in rejects], settings.id_type)
    return _with_reasons(pa.nulls(len(rejects), settings.message_type), ids, rejects)


def _with_reasons(messages: pa.Array, subscriptions: pa.Array, rejects: list[Reject]) -> pa.Table:
    fields = pa.array([reject.field for reject in rejects], pa.string())
    reasons = pa.array([reject.reason for reject in rejects], pa.string())
    return pa.table({"message": messages, "subscription": subscriptions, "field": fields, "reason": reasons})


def _joined(first: pa.Table | None, second: pa.Table | None) -> pa.Table | None:
    tables = [table for table in (first, second) if table is not None]
    return pa.concat_tables(tables) if tables else None
