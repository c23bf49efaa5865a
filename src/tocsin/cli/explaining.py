"""tocsin explain: why an event matches a subscription, or what would have to change."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tocsin.cli.check import UNPLACED
from tocsin.cli.options import Commands, add_format, new_command, ranked, said
from tocsin.engine import explain
from tocsin.engine.loading import read_part
from tocsin.errors import InvalidInput
from tocsin.index import choose
from tocsin.kernels.compiling.stores import has_all
from tocsin.model.ranking import Similar
from tocsin.model.subscription import Reject
from tocsin.model.values import UNTYPED
from tocsin.records import ObjectChunk, TableChunk, as_records, read_events
from tocsin.segment import assemble


def add_command(commands: Commands) -> None:
    parser = new_command(
        commands,
        "explain",
        help="explain why an event matches a subscription, or why not",
        description="Explains why one event matches one subscription or, if it does not, which conditions fail.",
        examples=(
            "tocsin explain subscriptions.jsonl events.jsonl --id s1 --row 1",
            "tocsin explain subscriptions.jsonl events.jsonl --id s1 --similar 0.5:0.6",
        ),
    )
    parser.add_argument(
        "subscriptions", metavar="SUBSCRIPTIONS", help="a file of subscriptions, or - for standard input"
    )
    parser.add_argument("events", metavar="EVENTS", help="a file of events, or - for standard input")
    add_format(parser)
    parser.add_argument("--id", metavar="ID", help="the id of the subscription (default: the only one in the file)")
    parser.add_argument(
        "--row", type=int, default=0, metavar="N", help="the row of the event, counted from 0 (default: 0)"
    )
    parser.add_argument(
        "--similar",
        metavar=Similar.spelling()[0],
        help="explain how similar the region and keywords are to the event, as `tocsin match --similar` ranks them",
    )
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    if given.subscriptions == given.events == "-":
        raise InvalidInput("only one of SUBSCRIPTIONS and EVENTS can be standard input")
    given.subscriptions, given.events = said(given.subscriptions, given.format), said(given.events, given.format)
    part, rejects = read_part(given.subscriptions)
    number = _number(part.ids, rejects, given.subscriptions, given.id)
    ranking = ranked(given)
    assert ranking is None or isinstance(ranking, Similar)  # the only ranking that the command has an option for
    explained = explain(part.sources[number].as_py(), _event(given.events, given.row), ranking=ranking)
    print(f"subscription {part.ids[number]}, event {given.row}:")
    print(explained)
    if ranking is None:
        print(f"index: {assemble(part, choose()).place(number)}" if has_all() else UNPLACED)
    return 0


def _number(ids: pa.Array, rejects: list[Reject], source: str, name: str | None) -> int:
    """The number of the subscription with an id, or of the only one."""
    if name is None:
        if len(ids) != 1:
            raise InvalidInput(f"{source} holds {len(ids)} subscriptions; choose one with --id")
        return 0
    strings = pa.types.is_large_string(ids.type)
    if strings or _is_integer(name):
        number: int = pc.index(ids, name if strings else int(name)).as_py()
        if number >= 0:
            return number
    for reject in rejects:
        if str(reject.id) == name:
            raise InvalidInput(f"subscription {name!r} cannot be read: {reject.reason}")
    raise InvalidInput(f"{source} holds no subscription {name!r}")


def _is_integer(name: str) -> bool:
    digits = name.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits.lstrip("0")) < 20 and -(1 << 63) <= int(name) < 1 << 63


def _event(source: str, row: int) -> Mapping[str, Any]:
    for given in read_events(source):
        chunk = as_records(given)
        for reject in chunk.rejects:
            if reject.row == row and not reject.field:
                raise InvalidInput(f"event {row} cannot be read: {reject.reason}")
        record = _find(chunk, row)
        if record is not None:
            return record
    raise InvalidInput(f"{source} has no event {row}; rows count from 0")


def _find(chunk: ObjectChunk | TableChunk, row: int) -> Mapping[str, Any] | None:
    """The record of a row, if the chunk has it. A value that does not fit its column has no type."""
    if isinstance(chunk, ObjectChunk):
        return next((record for found, record in chunk.records if found == row), None)
    place = int(np.searchsorted(chunk.rows, row))
    if place == len(chunk.rows) or chunk.rows[place] != row:
        return None
    record: dict[str, Any] = chunk.table.slice(place, 1).to_pylist(maps_as_pydicts="lossy")[0]
    record.update({name: UNTYPED for name, where in chunk.misfits.items() if where[place]})
    return record
