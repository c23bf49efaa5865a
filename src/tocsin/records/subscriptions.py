"""Reading of subscriptions from the same sources as events; each record has an `id` and a `where`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from tocsin.errors import InvalidInput, RecordError
from tocsin.language import Templates
from tocsin.model.python_values import python_rows
from tocsin.model.subscription import Reject, Subscription
from tocsin.records.bulk import Conjunctions
from tocsin.records.chunks import Chunk, ObjectChunk, TableChunk, pieces
from tocsin.records.conjunctions import is_plain, read_conjunctions
from tocsin.records.events import Anything, read_events
from tocsin.records.extras import Extras
from tocsin.records.files import STANDARD
from tocsin.records.formats import ReadOptions, input_format
from tocsin.records.geojson import is_area
from tocsin.records.json_lines import as_records
from tocsin.records.several import files_of, read_several
from tocsin.records.subscription_chunk import Conditions, SubscriptionChunk
from tocsin.records.subscription_record import FIELDS, Parsed, parsed_record
from tocsin.records.tables import Chooser

Subscriptions: TypeAlias = Iterable[Mapping[str, Any] | Subscription] | Anything | Conjunctions
"""The accepted sources of subscriptions."""

Check: TypeAlias = Callable[[Parsed], None]
"""Raises `RecordError` for a record that is refused although it can be parsed."""

NEEDED: Final = ("id", "where")
"""Columns that a table of subscriptions must have."""

_PIECE_ROWS: Final = 8192
"""The number of subscriptions parsed between reports of progress."""


def read_subscriptions(
    source: Any, templates: Templates | None = None, extras: Extras | None = None, check: Check | None = None
) -> Iterator[SubscriptionChunk]:
    """Read subscriptions chunk by chunk. Texts of one template in `templates` are parsed once.

    Duplicate ids are not detected here. `check` may refuse a record that was parsed. `extras` records unknown fields,
    and names those to keep in payloads. Raises `InvalidInput` when the source as a whole cannot be read, is a table
    without the columns `id` and `where`, or is a file of areas instead of subscriptions.
    """
    templates = Templates() if templates is None else templates
    extras = Extras(FIELDS) if extras is None else extras
    if isinstance(source, Conjunctions) and is_plain(source):
        yield from read_conjunctions(source)
        return
    accepted = refused = areas = 0
    for given in pieces(chunks_of(source, extras.chooses, NEEDED, "subscriptions"), lambda: _PIECE_ROWS):
        chunk = as_records(given)
        rejects = [reject for reject in chunk.rejects if not isinstance(chunk, TableChunk) or _is_of_record(reject)]
        subscriptions = chunk_of(_records(chunk, extras), templates, rejects, chunk.done, extras, check)
        extras.advise(templates.take_advice())
        accepted, refused = accepted + len(subscriptions.ids), refused + len(subscriptions.rejects)
        if not accepted and isinstance(source, str | Path) and isinstance(chunk, ObjectChunk):
            areas += sum(is_area(record) for _, record in chunk.records)
        yield subscriptions
    if areas and areas == refused and not accepted:
        name = "standard input" if str(source) == STANDARD else source
        reason = f"{name} is GeoJSON with areas, not subscriptions, which have a condition under 'where'"
        raise InvalidInput(f"{reason}. docs/how-to/geofences.md makes subscriptions of areas.")


def chunk_of(
    records: Iterable[tuple[int, Mapping[str, Any] | Subscription]],
    templates: Templates,
    rejects: list[Reject],
    done: float | None = None,
    extras: Extras | None = None,
    check: Check | None = None,
) -> SubscriptionChunk:
    """Make a chunk of (row, record) pairs. Rows that have a reject already are left out."""
    refused = {reject.row for reject in rejects}
    records = records if isinstance(records, list) else list(records)
    templates.expect(_texts_of(records))
    # Columns, not objects: a million short-lived objects would cost as much garbage collection as reading.
    rows: list[int] = []
    columns: tuple[Any, ...] = ([], Conditions(), [], [], [], [])
    ids, where, sources, scores, payloads, weights = columns
    for row, record in records:
        try:
            if row not in refused:
                parsed = parsed_record(record, templates, extras)
                if check is not None:
                    check(parsed)
                rows.append(row)
                for column, value in zip(columns, parsed, strict=True):
                    column.append(value)
        except RecordError as error:
            rejects.append(Reject(row, _id_or_none(record), error.field, error.reason))
        if templates.unnamed:
            templates.name_advice(_id_or_none(record))
    return SubscriptionChunk(
        np.array(rows, np.int64),
        ids,
        where,
        sources,
        np.array(scores, np.float64),
        payloads if any(payload is not None for payload in payloads) else None,
        rejects,
        done,
        weights if any(one is not None for one in weights) else None,
    )


def _texts_of(records: Iterable[tuple[int, Mapping[str, Any] | Subscription]]) -> Iterator[str]:
    """The conditions that are given as texts in dicts."""
    wheres = (record.get("where") for _, record in records if type(record) is dict)
    return (where for where in wheres if type(where) is str)


def chunks_of(source: Any, choose: Chooser, needed: Sequence[str], what: str) -> Iterator[Chunk]:
    """The records of any source. Columns of a CSV stay texts, so that ids that look like numbers keep their spelling.

    Only chosen fields are read, if the format allows it. Raises `InvalidInput` for a table without a needed column;
    `predicates` may replace `where`.
    """
    if isinstance(source, Conjunctions):
        source = source.table
    files = files_of(source)
    if files is not None:
        yield from read_several(files, lambda file: chunks_of(file, choose, needed, what))
        return
    if isinstance(source, str | Path):
        form = input_format(source)
        if form.columns_of is not None and str(source) != STANDARD:  # standard input can be read only once
            _require_columns(form.columns_of(source), needed, what)
        yield from form.read(source, ReadOptions(choose, as_text=True))
        return
    yield from read_events(source, choose=choose, what=what)


def _require_columns(names: list[str], needed: Sequence[str], what: str) -> None:
    for one in needed:
        if one not in names and not (one == "where" and {"predicates", "named"} & set(names)):
            raise InvalidInput(f"{what} need a column {one!r}; the columns are {names}")


def _is_of_record(reject: Reject) -> bool:
    """Whether a reject concerns the whole row, or a column that is read."""
    return not reject.field or reject.field in FIELDS


def _records(chunk: ObjectChunk | TableChunk, extras: Extras) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if not isinstance(chunk, TableChunk):
        yield from chunk.records
        return
    names = chunk.table.schema.names
    _require_columns(names, NEEDED, "subscriptions")
    extras.see(names)
    fields = [name for name in (*FIELDS, *extras.kept, *extras.checks) if name in names]
    for row, record in zip(chunk.rows.tolist(), python_rows(chunk.table.select(fields)), strict=True):
        for name in ("weights", "payload", "predicates", "named"):
            if isinstance(record.get(name), str):
                record[name] = from_json(record[name])
        if isinstance(record.get("score"), str):
            record["score"] = _number(record["score"])
        yield row, record


def from_json(text: str) -> Any:
    """Parse a value of a JSON column; a text that is not JSON stands for itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _id_or_none(record: object) -> str | int | None:
    raw = record.get("id") if isinstance(record, Mapping) else record.id if isinstance(record, Subscription) else None
    return raw if isinstance(raw, str | int) and not isinstance(raw, bool) else None
