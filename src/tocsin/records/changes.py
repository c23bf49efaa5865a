"""Changes of subscriptions: rows with an id, the kind of change, and a version.

For each id the change of the highest version is the last, in whatever order changes come. A repeated change counts
once.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.errors import InvalidInput, RecordError
from tocsin.language import Templates
from tocsin.model.subscription import Reject, checked_score
from tocsin.records.subscription_chunk import SubscriptionChunk
from tocsin.records.subscription_record import FIELDS
from tocsin.records.subscriptions import chunk_of, from_json

INSERT, UPDATE, DELETE, RESCORE = "insert", "update", "delete", "rescore"
CHANGES: Final = (INSERT, UPDATE, DELETE, RESCORE)
REQUIRED: Final = ("id", "change", "version")
CORRUPT: Final = "corrupt_record"
"""The column that holds the text of a change that a reader could not parse."""


class Rows(NamedTuple):
    """Valid changes, by id and version. C changes."""

    rows: NDArray[np.int64]  # (C,) row numbers in the source
    ids: pa.Array  # (C,) int64 or large_string
    versions: NDArray[np.int64]  # (C,)
    is_put: NDArray[np.bool_]  # (C,) an insert or an update, which sets the whole subscription
    is_rescore: NDArray[np.bool_]  # (C,) sets only the score; a row that is neither is a deletion
    scores: NDArray[np.float64]  # (C,) NaN for deletions

    def __len__(self) -> int:
        return len(self.rows)

    def some(self, chosen: NDArray[Any]) -> Rows:
        """The rows of a mask, or at some places."""
        return Rows(*(one.filter(pa.array(chosen)) if isinstance(one, pa.Array) else one[chosen] for one in self))


class Outcome(NamedTuple):
    """The result of some changes for each id. N ids, in order."""

    ids: pa.Array  # (N,)
    base: NDArray[np.int64]  # (N,) the place of the last insert, update or deletion; -1 if none
    rescore: NDArray[np.int64]  # (N,) the place of the last new score, if it is later; -1 if none


@dataclass(frozen=True, slots=True)
class ChangeBatch:
    """Changes, the subscriptions in them, and the rejects."""

    kind: pa.DataType
    rows: Rows
    brought: SubscriptionChunk  # by row of the source, ascending
    rejects: list[Reject]

    def outcome(self, rows: Rows) -> Outcome:
        """The result of some of its rows, which keep their order."""
        first = np.ones(len(rows), bool)
        if len(rows) > 1:
            first[1:] = pc.not_equal(rows.ids[1:], rows.ids[:-1]).to_numpy(zero_copy_only=False)
        starts, places = np.flatnonzero(first), np.arange(len(rows))
        if not len(starts):
            return Outcome(rows.ids, starts, starts)
        base = np.maximum.reduceat(np.where(rows.is_rescore, -1, places), starts)
        rescore = np.maximum.reduceat(np.where(rows.is_rescore, places, -1), starts)
        return Outcome(rows.ids.filter(pa.array(first)), base, np.where(rescore > base, rescore, -1))


def read_changes(table: pa.Table, templates: Templates | None = None) -> ChangeBatch:
    """Read changes from a table.

    Columns are `id`, `change` (insert, update, delete, rescore), `version` (integer), and the content of inserts and
    updates: `where` or `predicates`, `score`, `weights`, `payload`, as in subscriptions. Other columns are ignored.
    Among equal versions of one id, the last by change, text and score counts. A row with a missing value, or with a
    `corrupt_record`, is a reject. Raises `InvalidInput` if columns are missing, or of types in which no row is valid.
    """
    kind = _checked(table)
    given = table.select([name for name in (*REQUIRED, *FIELDS[1:], CORRUPT) if name in table.column_names])
    ordered, rows = _in_order(given)
    records = ordered.to_pylist()
    rejects: list[Reject] = []
    chunk = chunk_of(_puts(rows, records), templates or Templates(), rejects)
    refused = {reject.row for reject in rejects}
    taken, scores = np.zeros(len(records), bool), np.full(len(records), np.nan)
    brought = dict(zip(chunk.rows.tolist(), chunk.scores.tolist(), strict=True))
    for place, (row, record) in enumerate(zip(rows.tolist(), records, strict=True)):
        if row in refused:
            continue
        try:
            scores[place] = brought[row] if row in brought else _score(record, kind)
            taken[place] = True
        except RecordError as error:
            rejects.append(Reject(row, record["id"], error.field, error.reason))
    return ChangeBatch(kind, _rows(ordered, rows, kind, scores).some(taken), _by_row(chunk), rejects)


def _checked(table: pa.Table) -> pa.DataType:
    """Check the columns and return the type of the ids; raises `InvalidInput`."""
    missing = [name for name in REQUIRED if name not in table.column_names]
    if missing:
        raise InvalidInput(
            f"changes need the columns {', '.join(REQUIRED)}; {missing[0]} is missing in {table.column_names}"
        )
    types = {name: table.schema.field(name).type for name in REQUIRED}
    if not pa.types.is_integer(types["version"]):
        raise InvalidInput(f"the column version is {types['version']}; versions are integers, higher for later changes")
    if pa.types.is_integer(types["id"]):
        return pa.int64()
    if not (pa.types.is_string(types["id"]) or pa.types.is_large_string(types["id"])):
        raise InvalidInput(f"the column id is {types['id']}; ids are strings or integers")
    return pa.large_string()


def _in_order(table: pa.Table) -> tuple[pa.Table, NDArray[np.int64]]:
    """The rows by id, version, then content, so that their order in the source does not matter; and their numbers."""
    keys = [name for name in (*REQUIRED[:1], "version", "change", "where", "score") if name in table.column_names]
    plain = [name for name in keys if not pa.types.is_nested(table.schema.field(name).type)]
    order = pc.sort_indices(table.select(plain), [(name, "ascending") for name in plain])
    return table.take(order), order.to_numpy().astype(np.int64)


def _puts(rows: NDArray[np.int64], records: list[dict[str, Any]]) -> list[tuple[int, dict[str, Any]]]:
    """The subscription records in inserts and updates."""
    chosen = []
    for row, record in zip(rows.tolist(), records, strict=True):
        is_read = record.get(CORRUPT) is None and record["version"] is not None
        if record["change"] in (INSERT, UPDATE) and is_read:
            given = {name: record[name] for name in FIELDS if record.get(name) is not None}
            if isinstance(given.get("payload"), str):
                given["payload"] = from_json(given["payload"])
            chosen.append((row, given))
    return chosen


def _score(record: dict[str, Any], kind: pa.DataType) -> float:
    """The score in a row, NaN for other changes; raises `RecordError` if the row is not a valid change."""
    change = record["change"]
    if record.get(CORRUPT) is not None:
        raise _unreadable(record[CORRUPT], kind)
    if record["id"] is None:
        raise RecordError("the id is missing; it must be a string or an integer", "id")
    if record["version"] is None:
        raise RecordError("the version is missing; it must be an integer, higher for later changes", "version")
    if change not in CHANGES:
        this = "missing" if change is None else f"{change!r:.40}"
        raise RecordError(f"the change is {this}; it must be one of {', '.join(CHANGES)}", "change")
    if change == RESCORE and record.get("score") is None:
        raise RecordError("the score is missing; a rescore needs one", "score")
    return checked_score(record["score"]) if change == RESCORE else np.nan


def _unreadable(text: str, kind: pa.DataType) -> RecordError:
    """The error for a record that a reader could not parse: about its first field of another type, if it is JSON."""
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        record = None
    wanted: dict[str, tuple[tuple[type, ...], str]] = {
        **({"id": ((int,), "an integer")} if pa.types.is_integer(kind) else {}),
        "version": ((int,), "an integer"),
        "score": ((int, float), "a number"),
        "weights": ((dict,), "an object with a number for each attribute"),
    }
    for field, (types, words) in wanted.items() if isinstance(record, dict) else ():
        value = record.get(field)
        if value is None or (isinstance(value, types) and not isinstance(value, bool)):
            continue
        came = "a text" if isinstance(value, str) else f"{json.dumps(value):.40}"
        return RecordError(f"{field} is {came}; it must be {words}", field)
    return RecordError(f"the record cannot be read: {text:.200}")


def _rows(ordered: pa.Table, rows: NDArray[np.int64], kind: pa.DataType, scores: NDArray[np.float64]) -> Rows:
    changes = ordered["change"].combine_chunks()
    puts = pc.fill_null(pc.is_in(changes, pa.array([INSERT, UPDATE], changes.type)), False)
    rescores = pc.fill_null(pc.equal(changes, RESCORE), False)
    return Rows(
        rows,
        ordered["id"].combine_chunks().cast(kind),
        pc.fill_null(ordered["version"].combine_chunks().cast(pa.int64()), 0).to_numpy(zero_copy_only=False),
        puts.to_numpy(zero_copy_only=False),
        rescores.to_numpy(zero_copy_only=False),
        scores,
    )


def _by_row(chunk: SubscriptionChunk) -> SubscriptionChunk:
    """A chunk of lists with ascending rows."""
    return chunk.some(np.argsort(chunk.rows))
