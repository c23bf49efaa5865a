"""The home of a subscription with several copies: it merges their lists, and tells how the merged list changes.

Each copy sees the messages of its partition, and reports how its list changes. The best k of all its copies' messages
are the list of the subscription. The home keeps these messages in its state, in a few chunks by a hash of the id.

A changed subscription is reported by all copies that it has and had, whatever their number. So its home tells the net
difference. A subscription with a single copy reports all else itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.model.window import ENTER, EXIT
from tocsin.placement.hashing import Hashes, hashes_of_ids
from tocsin.spark.windows.answers import answer_of, answer_schema, lists_of
from tocsin.spark.windows.keeping import Chunks
from tocsin.spark.windows.kernels import (
    ENTERS,
    EXITS,
    MARKS,
    NONE_LEFT,
    SHARED,
    SINGLE,
    Differences,
    Entries,
    Rows,
    merge,
)
from tocsin.spark.windows.packets import bytes_of, table_of
from tocsin.spark.windows.settings import Settings
from tocsin.window.parts import COPIES, WindowPart

BEFORE, BY = 0, 1
"""Phases of an event: what happens before its message, and by it."""

_CHUNKS: Final = 8
_ROWS: Final = ("events", "phases", "kinds", "copies", "numbers", "scores", "ks")
_KINDS: Final = np.array([EXIT, ENTER])


class Reported(NamedTuple):
    """What a copy's partition reports to a home in a micro-batch."""

    rows: pa.Table  # `subscription`, `message` and the columns of `Rows`
    taken: int  # the number of messages so far


def rows_of(changes: pa.Table, phase: int, partition: int, part: WindowPart, message_type: str) -> pa.Table:
    """Changes of a part, as rows for homes."""
    encoded = pc.dictionary_encode(_plain(changes["subscription"]))
    count = changes.num_rows
    enters = pc.equal(changes["kind"].cast(pa.string()), ENTER).to_numpy(zero_copy_only=False)
    ks = part.ks(encoded.dictionary.to_pylist())[encoded.indices.to_numpy()] if count else np.zeros(0, np.int64)
    columns = {
        "events": changes["event"].to_numpy(),
        "phases": np.full(count, phase),
        "kinds": np.where(enters, ENTERS, EXITS),
        "copies": np.full(count, 1 << partition, np.uint64),
        "numbers": changes["number"].to_numpy(),
        "scores": changes["score"].to_numpy(),
        "ks": np.where(enters, ks, 0),
    }
    return _table(
        encoded.dictionary.take(encoded.indices), changes["message"].combine_chunks().cast(message_type), columns
    )


def marks_of(edits: pa.Table, event: int, message_type: str) -> pa.Table:
    """A row for each subscription that a partition puts or deletes: its k, and how many copies it has."""
    masks = edits[COPIES].to_numpy().astype(np.uint64)
    counts = np.bitwise_count(masks)
    reported = edits.filter(pa.array(edits["is_put"].to_numpy(zero_copy_only=False) | (counts == 0)))
    counts = np.bitwise_count(reported[COPIES].to_numpy().astype(np.uint64))
    count = reported.num_rows
    columns = {
        "events": np.full(count, event),
        "phases": np.full(count, BEFORE),
        "kinds": np.full(count, MARKS),
        "copies": np.zeros(count, np.uint64),
        "numbers": np.select([counts == 0, counts == 1], [NONE_LEFT, SINGLE], SHARED),
        "scores": np.zeros(count),
        "ks": reported["k"].fill_null(0).to_numpy(),
    }
    return _table(reported["id"].combine_chunks(), pa.nulls(count, message_type), columns)


def _table(subscriptions: pa.Array, messages: pa.Array, columns: dict[str, NDArray[Any]]) -> pa.Table:
    kinds = {"copies": pa.uint64(), "scores": pa.float64()}
    numbers = {name: pa.array(column, kinds.get(name, pa.int64())) for name, column in columns.items()}
    return pa.table({"subscription": subscriptions, "message": messages, **numbers})


def _plain(column: pa.ChunkedArray) -> pa.Array:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return column.cast(kind).combine_chunks()


def by_home(rows: pa.Table, partitions: int) -> dict[int, pa.Table]:
    """The rows for each home that has any."""
    if not rows.num_rows:
        return {}
    homes = (hashes_of_ids(_plain(rows["subscription"])) % np.uint64(partitions)).astype(np.int64)
    return {home: rows.filter(pa.array(homes == home)) for home in np.unique(homes).tolist()}


def answers_by_home(tables: list[pa.Table], partition: int, partitions: int) -> dict[int, pa.Table]:
    """Answers for the homes that pass them on: those of the subscriptions, or the partition's own without one."""
    filled = [table for table in tables if table.num_rows]
    if not filled:
        return {}
    answers = pa.concat_tables(filled)
    is_null = pc.is_null(answers["subscription"])
    homes = by_home(answers.filter(pc.invert(is_null)), partitions)
    if (others := answers.filter(is_null)).num_rows:
        homes[partition] = pa.concat_tables([*([homes[partition]] if partition in homes else []), others])
    return homes


class Home:
    """Merges the lists of the subscriptions whose home a partition is."""

    def __init__(self, chunks: Chunks, settings: Settings) -> None:
        self._chunks, self._settings = chunks, settings

    def answered(self, answers: Sequence[pa.Table], reports: Sequence[Reported]) -> pa.Table:
        """The answers of partitions, and the changes of merged lists or the lists that changed.

        The rows of a subscription are in order: those of one event by its message come after those of a change.
        """
        schema = answer_schema(self._settings)
        tables = [schema.empty_table(), *answers]
        filled = [report.rows for report in reports if report.rows.num_rows]
        if not filled:
            return pa.concat_tables(tables)
        rows = pa.concat_tables(filled).combine_chunks()
        touched = np.unique(self._chunks_of(rows["subscription"].combine_chunks())).tolist()
        merging = _Merging(self._read(touched, rows.schema), rows)
        self._write(merging.entries(), touched)
        if self._settings.lists:
            return pa.concat_tables([*tables, *self._lists(merging, max(report.taken for report in reports))])
        changes, phases = merging.changes()
        passed = pa.concat_tables(tables)
        merged = answer_of(self._settings, changes.num_rows, **{name: changes[name] for name in changes.column_names})
        both = pa.concat_tables([merged, passed])
        phases = np.concatenate([phases, np.full(passed.num_rows, BY)])
        events = both["event"].fill_null(-1).to_numpy()
        return both.take(pa.array(np.lexsort((phases, events))))

    def _chunks_of(self, ids: pa.Array) -> NDArray[np.int64]:
        hashes: Hashes = hashes_of_ids(ids) // np.uint64(self._settings.partitions)
        return (hashes % np.uint64(_CHUNKS)).astype(np.int64)

    def _read(self, chunks: list[int], like: pa.Schema) -> pa.Table:
        tables = [table_of(data) for chunk in chunks if (data := self._chunks.get(f"lists {chunk}")) is not None]
        fields = [like.field(name) for name in ("subscription", "message")]
        kinds = (("numbers", pa.int64()), ("scores", pa.float64()), ("holders", pa.uint64()), ("ks", pa.int64()))
        return pa.concat_tables([pa.schema([*fields, *kinds]).empty_table(), *tables]).combine_chunks()

    def _write(self, entries: pa.Table, chunks: list[int]) -> None:
        places = self._chunks_of(entries["subscription"].combine_chunks())
        for chunk in chunks:
            self._chunks.put(f"lists {chunk}", bytes_of(entries.filter(pa.array(places == chunk)).combine_chunks()))

    def _lists(self, merging: _Merging, taken: int) -> list[pa.Table]:
        names, lists = merging.lists()
        return [lists_of(self._settings, names, lists, taken)] if names else []


class _Merging:
    """The entries of subscriptions and the rows of their copies, merged. S subscriptions."""

    def __init__(self, before: pa.Table, rows: pa.Table) -> None:
        ids = pa.concat_arrays([before["subscription"].combine_chunks(), rows["subscription"].combine_chunks()])
        encoded = ids.dictionary_encode()
        self._ids, codes = encoded.dictionary, encoded.indices.to_numpy().astype(np.int64)
        self._messages = pa.concat_arrays([before["message"].combine_chunks(), rows["message"].combine_chunks()])
        count, split = len(self._ids), before.num_rows
        self.ks, self.ends, self.marks = (np.zeros(count, np.int64) for _ in range(3))
        known = np.argsort(codes[:split], kind="stable")
        numbers, scores, holders = (_sorted(before[name], known) for name in ("numbers", "scores", "holders"))
        entries = Entries(numbers, scores, holders, known)
        self.ks[codes[:split]] = before["ks"].to_numpy()
        columns = {name: rows[name].to_numpy() for name in _ROWS}
        order = np.lexsort((columns["kinds"], columns["phases"], columns["events"], codes[split:]))
        sorted_columns = {name: np.ascontiguousarray(column[order]) for name, column in columns.items()}
        self._rows = Rows(**sorted_columns, origins=order + split)
        self._owners = codes[split:][order]
        entry_starts, row_starts = (_starts(owners, count) for owners in (codes[:split][known], self._owners))
        most = int((np.diff(entry_starts) + np.diff(row_starts)).max(initial=0))
        marks = np.bincount(self._owners[self._rows.kinds == MARKS], minlength=count)
        room = 2 * len(order) + int((marks * (np.diff(entry_starts) + np.diff(row_starts))).sum())
        self._after, self._differences = _room(split + len(order)), _differences(room)
        shown = np.zeros(most, np.bool_)
        work, removed = _room(most), _room(most)
        self._count = merge(
            entry_starts,
            entries,
            row_starts,
            self._rows,
            self.ks,
            work,
            shown,
            removed,
            self._after,
            self.ends,
            self.marks,
            self._differences,
        )

    def entries(self) -> pa.Table:
        """The entries from now on."""
        owners = np.repeat(np.arange(len(self.ends)), np.diff(self.ends, prepend=0))
        numbers, scores, holders, origins = (array[: len(owners)] for array in self._after)
        return pa.table(
            {
                "subscription": self._ids.take(pa.array(owners)),
                "message": self._messages.take(pa.array(origins)),
                "numbers": numbers,
                "scores": scores,
                "holders": holders,
                "ks": self.ks[owners],
            }
        )

    def changes(self) -> tuple[pa.Table, NDArray[np.int64]]:
        """The changes of merged lists, in the order of events, and the phase of each."""
        rows, origins, kinds, scores = (array[: self._count] for array in self._differences)
        order = np.lexsort((kinds, self._rows.phases[rows], self._rows.events[rows]))
        rows = rows[order]
        table = pa.table(
            {
                "event": self._rows.events[rows],
                "subscription": self._ids.take(pa.array(self._owners[rows])),
                "message": self._messages.take(pa.array(origins[order])),
                "kind": pa.array(_KINDS[kinds[order]]),
                "score": scores[order],
            }
        )
        return table, self._rows.phases[rows]

    def lists(self) -> tuple[list[Any], list[list[tuple[Any, float]]]]:
        """The subscriptions whose merged list changed, and the lists. Those with a single copy report themselves."""
        owners = np.unique(self._owners[self._differences.rows[: self._count]])
        owners = owners[self.marks[owners] != SINGLE]
        begins = np.concatenate([[0], self.ends[:-1]])
        stops = np.minimum(self.ends, begins + self.ks)
        lists = []
        for begin, stop in zip(begins[owners].tolist(), stops[owners].tolist(), strict=True):
            messages = self._messages.take(pa.array(self._after.origins[begin:stop])).to_pylist()
            lists.append(list(zip(messages, self._after.scores[begin:stop].tolist(), strict=True)))
        return self._ids.take(pa.array(owners)).to_pylist(), lists


def _sorted(column: pa.ChunkedArray, order: NDArray[np.int64]) -> NDArray[Any]:
    return np.ascontiguousarray(column.to_numpy()[order])


def _starts(owners: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    return np.searchsorted(owners, np.arange(count + 1))


def _differences(size: int) -> Differences:
    return Differences(np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size))


def _room(size: int) -> Entries:
    return Entries(np.zeros(size, np.int64), np.zeros(size), np.zeros(size, np.uint64), np.zeros(size, np.int64))
