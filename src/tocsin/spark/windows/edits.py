"""Subscriptions that come, change and go while a stream runs, between the messages of a micro-batch.

An edit counts from a position: the number of messages of its packet that come before it. All partitions receive all
edits, and know from `copies` whether they have a copy of the subscription. Of several edits of an id at a position only
the last counts, because no message comes between them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.errors import RecordError
from tocsin.model.subscription import Reject
from tocsin.records import TableChunk
from tocsin.records.changes import CORRUPT, DELETE, INSERT, UPDATE
from tocsin.window.parts import COPIES
from tocsin.window.reading import CheckedSubscriptions, Reader

CHANGE: Final = "tocsin_change"
"""The column with a change of a subscription, a struct; null for messages."""
DICE: Final = "dice"
"""A hash of the id, which Spark computes."""
CONTENT: Final = ["id", "words", "location", "k", "alpha", COPIES]
"""The columns of an edit that a part of a window reads."""
SUBSCRIPTION: Final = ("id", "words", "text", "location", "k", "alpha")
CHANGE_FIELDS: Final = (*SUBSCRIPTION, "change", CORRUPT)
_KINDS: Final = (INSERT, UPDATE, DELETE)


class Edits(NamedTuple):
    """Edits by position, each with `position`, `copies` (one bit per partition; none for a deletion) and content."""

    table: pa.Table

    def since(self, late: int) -> Edits:
        """The same, after the first messages were refused because they are late."""
        if not late or not self.table.num_rows:
            return self
        positions = np.maximum(self.table["position"].to_numpy() - late, 0)
        return Edits(_last(self.table.set_column(0, "position", pa.array(positions))))

    def groups(self) -> Iterator[tuple[int, pa.Table]]:
        """The edits of each position."""
        positions = self.table["position"].to_numpy()
        bounds = [*np.flatnonzero(np.diff(positions, prepend=-1)).tolist(), len(positions)]
        for start, stop in itertools.pairwise(bounds):
            yield int(positions[start]), self.table.slice(start, stop - start)


def here(edits: pa.Table, partition: int) -> pa.Table:
    """Edits as a partition keeps them: `is_put`, and the content. Without a copy here, the subscription is dropped."""
    copies = edits[COPIES].to_numpy().astype(np.uint64)
    is_put = ((copies >> np.uint64(partition)) & np.uint64(1)).astype(bool)
    return edits.select(CONTENT).append_column("is_put", pa.array(is_put))


def apart(edits: pa.Table) -> tuple[pa.Table, list[Any]]:
    """The subscriptions that a partition puts, and the ids of those that it drops."""
    is_put = edits["is_put"]
    return edits.filter(is_put).select(CONTENT), edits.filter(pc.invert(is_put))["id"].to_pylist()


def last_of_each(edits: pa.Table) -> pa.Table:
    """The last edit of each id, in the order of the table."""
    last = {id: row for row, id in enumerate(edits["id"].to_pylist())}
    return edits.take(pa.array(sorted(last.values()), pa.int64()))


def without(subscriptions: pa.Table, ids: pa.ChunkedArray) -> pa.Table:
    """The subscriptions without those with some ids."""
    known = ids.cast(subscriptions["id"].type).combine_chunks()
    return subscriptions.filter(pc.invert(pc.is_in(subscriptions["id"], value_set=known)))


def schema_of(id_type: str) -> pa.Schema:
    """The columns of edits."""
    return pa.schema(
        [
            ("position", pa.int64()),
            (COPIES, pa.uint64()),
            ("id", pa.type_for_alias(id_type)),
            ("words", pa.list_(pa.string())),
            ("location", pa.list_(pa.float64(), 2)),
            ("k", pa.int32()),
            ("alpha", pa.float64()),
        ]
    )


class Read(NamedTuple):
    """Valid changes by row, and the rejects. C changes, P of them puts."""

    rows: NDArray[np.int64]  # (C,) ascending
    ids: list[Any]  # (C,)
    puts: NDArray[np.int64]  # (C,) the place among the checked subscriptions; -1 for a deletion
    checked: CheckedSubscriptions
    rejects: list[Reject]


def read_changes(changes: pa.Table, reader: Reader) -> Read:
    """Check changes: columns `id`, `change` (insert, update or delete), and the content of a subscription."""
    rejects, deleted, put = list[Reject](), list[int](), list[int]()
    kinds, ids = changes["change"].to_pylist(), changes["id"].to_pylist()
    corrupt = changes[CORRUPT].to_pylist() if CORRUPT in changes.column_names else [None] * len(ids)
    for row, (kind, id, text) in enumerate(zip(kinds, ids, corrupt, strict=True)):
        try:
            _check(kind, id, text)
            (deleted if kind == DELETE else put).append(row)
        except RecordError as error:
            rejects.append(Reject(row, id, error.field, error.reason))
    chosen = [name for name in SUBSCRIPTION if name in changes.column_names]
    content = changes.select(chosen).take(pa.array(put, pa.int64()))
    checked = reader.checked_subscriptions(TableChunk(content, np.array(put, np.int64)))
    places = dict.fromkeys(deleted, -1)
    places.update(zip(checked.rows[checked.good].tolist(), checked.good.tolist(), strict=True))
    rows = sorted(places)
    every = sorted([*rejects, *checked.rejects], key=lambda reject: reject.row)
    puts = np.array([places[row] for row in rows], np.int64)
    return Read(np.array(rows, np.int64), [ids[row] for row in rows], puts, checked, every)


def _check(kind: str | None, id: Any, text: str | None) -> None:
    if text is not None:
        raise RecordError(f"the record cannot be read: {text:.200}")
    if id is None:
        raise RecordError("the id is missing; it must be a string or an integer", "id")
    if kind not in _KINDS:
        this = "missing" if kind is None else f"{kind!r:.40}"
        raise RecordError(f"the change is {this}; it must be one of {', '.join(_KINDS)}", "change")


def edits_of(read: Read, positions: NDArray[np.int64], copies: NDArray[np.uint64], id_type: str) -> Edits:
    """The edits of valid changes at these positions, with one bit for each partition that gets a copy."""
    lists, checked = read.checked.lists, read.checked
    is_put = read.puts >= 0
    starts, numbers = lists.starts, lists.numbers
    words = [
        None if place < 0 else [lists.distinct[number] for number in numbers[starts[place] : starts[place + 1]]]
        for place in read.puts.tolist()
    ]
    places = np.where(is_put, read.puts, 0)
    mask = None if is_put.all() else ~is_put
    schema = schema_of(id_type)
    locations = checked.places if len(checked.places) else np.zeros((1, 2))
    ks, alphas = (array if len(array) else np.zeros(1, array.dtype) for array in (checked.ks, checked.alphas))
    columns = [
        pa.array(positions),
        pa.array(np.where(is_put, copies, np.uint64(0))),
        pa.array(read.ids, schema.field("id").type),
        pa.array(words, schema.field("words").type),
        pa.FixedSizeListArray.from_arrays(pa.array(locations[places].reshape(-1)), 2),
        pa.array(ks[places], pa.int32(), mask=mask),
        pa.array(alphas[places], pa.float64(), mask=mask),
    ]
    return Edits(_last(pa.Table.from_arrays(columns, schema=schema)))


def _last(table: pa.Table) -> pa.Table:
    """The last edit of each id at each position, in the order of the table."""
    keys = list(zip(table["position"].to_pylist(), table["id"].to_pylist(), strict=True))
    last = {key: row for row, key in enumerate(keys)}
    if len(last) == len(keys):
        return table
    return table.take(pa.array(sorted(last.values())))
