"""Reading of subscription changes from files. The sources are those of subscriptions, and the result is columnar."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import pyarrow as pa

from tocsin.errors import RecordError
from tocsin.model.python_values import python_rows
from tocsin.model.subscription import Reject, SubscriptionId, checked_id
from tocsin.model.values import class_of
from tocsin.records.changes import REQUIRED
from tocsin.records.chunks import TableChunk
from tocsin.records.extras import Extras
from tocsin.records.json_lines import as_records
from tocsin.records.subscription_record import FIELDS, with_named
from tocsin.records.subscriptions import chunks_of, from_json

_KNOWN: Final = frozenset((*REQUIRED, *FIELDS[1:]))
_PREDICATE: Final = pa.struct([("attribute", pa.string()), ("op", pa.string()), ("value", pa.float64())])
_TYPES: Final = {
    "change": pa.string(),
    "version": pa.int64(),
    "where": pa.string(),
    "language": pa.string(),
    "predicates": pa.list_(_PREDICATE),
    "score": pa.float64(),
    "weights": pa.map_(pa.string(), pa.float64()),
    "payload": pa.string(),
}


class _Kind(NamedTuple):
    words: str
    type: pa.DataType


_KINDS: Final = {str: _Kind("a string", pa.string()), int: _Kind("an integer", pa.int64())}


class ChangeTable(NamedTuple):
    """Changes in columns. C changes."""

    rows: list[int]  # (C,) row numbers in the source
    table: pa.Table
    rejects: list[Reject]
    done: float | None  # the share of the source read so far, None if its size is unknown


def read_change_records(source: Any, kind: type | None = None, extras: Extras | None = None) -> Iterator[ChangeTable]:
    """Read tables of changes for `read_changes`, chunk by chunk.

    `kind` is the type of the ids, str or int; if None, that of the first id. `extras` records unknown fields. Raises
    `InvalidInput` when the source as a whole cannot be read.
    """
    extras = changes_extras() if extras is None else extras
    for given in chunks_of(source, extras.chooses, REQUIRED, "changes"):
        chunk = as_records(given)
        rejects = list(chunk.rejects)
        taken: list[tuple[int, dict[str, Any]]] = []
        for row, record in _records(chunk):
            if isinstance(record, Mapping):
                extras.see(record)
            try:
                found = _checked(record, kind)
                kind = kind or type(found["id"])
                if type(found["id"]) is not kind:
                    this, others = _KINDS[type(found["id"])].words, _KINDS[kind].words.split()[1]
                    raise RecordError(f"the ids of the index are {others}s, but this one is {this}; use one kind", "id")
                taken.append((row, found))
            except RecordError as error:
                rejects.append(Reject(row, _known_id(record), error.field, error.reason))
        schema = pa.schema([("id", _KINDS[kind or str].type), *_TYPES.items()])
        table = pa.Table.from_pylist([record for _, record in taken], schema)
        yield ChangeTable([row for row, _ in taken], table, rejects, chunk.done)


def _known_id(record: Any) -> SubscriptionId | None:
    """The id of a record with another fault."""
    raw = record.get("id") if isinstance(record, Mapping) else None
    return raw if isinstance(raw, str | int) and not isinstance(raw, bool) else None


def changes_extras() -> Extras:
    """An `Extras` for the fields of changes."""
    return Extras(_KNOWN, what="change")


def _records(chunk: Any) -> Iterable[tuple[int, Any]]:
    """The rows and their records."""
    if isinstance(chunk, TableChunk):
        return zip(chunk.rows.tolist(), python_rows(chunk.table), strict=True)
    records: Iterable[tuple[int, Any]] = chunk.records
    return records


def _checked(record: Any, kind: type | None) -> dict[str, Any]:
    """Check a record and convert its values to the columns' types; raises `RecordError`.

    If all values are texts, as in a CSV, digits in an id may stand for an integer.
    """
    if not isinstance(record, Mapping):
        raise RecordError(f"a change is an object with id, change and version, not {class_of(record)}")
    found = {name: record.get(name) for name in (*REQUIRED, *_TYPES)}
    name: Any = found["id"]
    is_digits = isinstance(found["version"], str) and _is_integer(name)
    found["id"] = checked_id(int(name) if kind is int and is_digits else name)
    found["version"] = _version(found["version"])
    for field in ("weights", "predicates", "score"):
        value = found[field]
        found[field] = from_json(value) if isinstance(value, str) else value
    if found["payload"] is not None and not isinstance(found["payload"], str):
        found["payload"] = json.dumps(found["payload"])
    if record.get("named") is not None:
        found["where"] = with_named(found["where"], record["named"])
    if isinstance(found["where"], Mapping | bool):
        found["where"] = json.dumps(found["where"])
    if isinstance(found["weights"], Mapping):
        found["weights"] = list(found["weights"].items())
    for field, type_ in _TYPES.items():
        try:
            pa.array([found[field]], type_)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise RecordError(f"this is {found[field]!r:.40}: {error}", field) from None
    return found


def _is_integer(text: Any) -> bool:
    return isinstance(text, str) and text.removeprefix("-").isdecimal()


def _version(version: Any) -> int:
    version = int(version) if _is_integer(version) else version
    if version is None:
        raise RecordError("the version is missing; it must be an integer, higher for later changes", "version")
    if isinstance(version, bool) or not isinstance(version, int) or not -(2**63) <= version < 2**63:
        raise RecordError(f"the version is {version!r:.40}; it must be an integer, higher for later changes", "version")
    return version
