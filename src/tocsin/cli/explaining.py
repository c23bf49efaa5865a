"""tocsin explain: why an event matches a subscription, or what would have to change."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tocsin.cli.check import UNPLACED
from tocsin.cli.folders import refuse_subscriptions_among
from tocsin.cli.options import (
    Commands,
    add_format,
    add_now,
    add_sources,
    add_typing,
    new_command,
    ranked,
    reading_of,
    said,
)
from tocsin.cli.subscribed import subscribed
from tocsin.engine.explaining import explain_stored
from tocsin.errors import InvalidInput, in_field
from tocsin.jit.compiling.stores import has_all
from tocsin.language import name_text
from tocsin.language.nearest import nearest
from tocsin.model.ranking import Similar
from tocsin.model.texts import texts_in
from tocsin.model.values import UNTYPED
from tocsin.records import ObjectChunk, TableChunk, as_records, read_events
from tocsin.records.keys import as_texts, keys_at


def add_command(commands: Commands) -> None:
    parser = new_command(
        commands,
        "explain",
        help="explain why an event matches a subscription, or why not",
        description="Explains why one event matches one subscription or, if it does not, which conditions fail.",
        examples=(
            "tocsin explain subscriptions.jsonl events.jsonl --id s1 --row 1",
            "tocsin explain index/ events.csv --id s1 --event-key sku --event a-1 --points shop=lon:lat",
            "tocsin explain subscriptions.jsonl events.jsonl --id s1 --similar 0.5:0.6",
        ),
    )
    add_sources(parser)
    add_format(parser)
    parser.add_argument("--id", metavar="ID", help="the id of the subscription (default: the only one)")
    _add_event(parser)
    add_typing(parser)
    add_now(parser)
    parser.add_argument(
        "--similar",
        metavar=Similar.spelling()[0],
        help="explain how similar the region and keywords are to the event, as `tocsin match --similar` ranks them",
    )
    parser.set_defaults(run=run)


def _add_event(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose the event."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--row", type=_row, default=0, metavar="N", help="the row of the event, counted from 0 (default: 0)"
    )
    which.add_argument("--event", metavar="KEY", help="the key of the event; needs --event-key")
    parser.add_argument(
        "--event-key",
        metavar="NAME",
        help="the attribute with the keys of events, as `tocsin match --event-key` writes them; the first event with "
        "the key is explained",
    )


def _row(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        reason = f"{text!r} is not a row number; to choose an event by its key, write --event-key NAME --event {text}"
        raise argparse.ArgumentTypeError(reason) from None


def run(given: argparse.Namespace) -> int:
    if given.subscriptions == given.events == "-":
        raise InvalidInput("only one of SUBSCRIPTIONS and EVENTS can be standard input")
    if (given.event is None) != (given.event_key is None):
        missing, other = ("--event KEY", "--event-key") if given.event is None else ("--event-key NAME", "--event")
        raise InvalidInput(f"{other} needs {missing}: --event-key sku --event a-1 explains the event whose sku is a-1")
    given.subscriptions, given.events = said(given.subscriptions, given.format), said(given.events, given.format)
    refuse_subscriptions_among(given.events, given.subscriptions)
    (schema, points, _), ranking = reading_of(given), ranked(given)
    assert ranking is None or isinstance(ranking, Similar)  # the only ranking that the command has an option for
    found = subscribed(given.subscriptions, given.id, texts_in(schema))
    row, record, unread = _event(given, schema)
    explained = explain_stored(
        *(found.text, record, found.texts),
        ranking=ranking,
        schema=schema,
        points=points,
        unread=unread,
        now=given.now,
    )
    key = "" if given.event is None else f" ({given.event})"
    print(f"subscription {found.id}, event {row}{key}:")
    print(explained)
    if ranking is None:
        print(f"index: {found.place()}" if has_all() else UNPLACED)
    return 0


class _Chosen(NamedTuple):
    """The chosen event: its row, its record, and why values of it could not be read."""

    row: int
    record: Mapping[str, Any]
    unread: Mapping[str, str]

    @classmethod
    def at(cls, chunk: ObjectChunk | TableChunk, place: int) -> _Chosen:
        row = int(_rows(chunk)[place])
        return cls(row, _record(chunk, place), {one.field: one.reason for one in chunk.rejects if one.row == row})


def _event(given: argparse.Namespace, schema: Mapping[str, str]) -> _Chosen:
    chunks = map(as_records, read_events(given.events, schema=schema, delimiter=given.delimiter))
    if given.event_key is None:
        return _at_row(chunks, given.row, given.events)
    return _with_key(chunks, given.event_key, given.event, given.events)


def _at_row(chunks: Iterator[ObjectChunk | TableChunk], row: int, source: str) -> _Chosen:
    for chunk in chunks:
        rows = _rows(chunk)
        place = int(np.searchsorted(rows, row))
        if place < len(rows) and rows[place] == row:
            return _Chosen.at(chunk, place)
        for reject in chunk.rejects:
            if reject.row == row:
                raise InvalidInput(f"event {row} cannot be read: {in_field(reject.field, reject.reason)}")
    raise InvalidInput(f"{source} has no event {row}; rows count from 0")


def _with_key(chunks: Iterator[ObjectChunk | TableChunk], name: str, key: str, source: str) -> _Chosen:
    names, has_keys = dict[str, None](), False
    for chunk in chunks:
        rows = _rows(chunk)
        keys = as_texts(keys_at(chunk, rows, name))
        place = pc.index(keys, pa.scalar(key, keys.type)).as_py()
        if place >= 0:
            return _Chosen.at(chunk, place)
        has_keys = has_keys or keys.null_count < len(keys)
        names.update(dict.fromkeys(_record(chunk, 0) if len(keys) else ()))
    if has_keys:
        raise InvalidInput(f"{source} has no event with {name_text(name)} = {key!r}")
    near = nearest(name, names)
    meant = f"; did you mean {name_text(near)}?" if near else ""
    raise InvalidInput(f"no event of {source} has {name_text(name)}{meant}")


def _rows(chunk: ObjectChunk | TableChunk) -> np.ndarray:
    return np.array([row for row, _ in chunk.records], np.int64) if isinstance(chunk, ObjectChunk) else chunk.rows


def _record(chunk: ObjectChunk | TableChunk, place: int) -> Mapping[str, Any]:
    """A record of a chunk. A value that does not fit its column has no type."""
    if isinstance(chunk, ObjectChunk):
        return chunk.records[place][1]
    record: dict[str, Any] = chunk.table.slice(place, 1).to_pylist(maps_as_pydicts="lossy")[0]
    record.update({name: UNTYPED for name, where in chunk.misfits.items() if where[place]})
    return record
