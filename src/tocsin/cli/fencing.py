"""tocsin fences: what moving objects enter, stay in and leave, one record a change."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tocsin.cli.fence_options import add_objects, add_rules, fences_of
from tocsin.cli.matching import newest_told
from tocsin.cli.options import (
    Commands,
    add_errors,
    add_format,
    add_payload,
    add_sources,
    add_typing,
    new_command,
    points_of,
    said,
    schema_of,
)
from tocsin.cli.progress import ShareBar
from tocsin.cli.rejects import RejectLog, counted, refuse_overwriting, reject_log, warn
from tocsin.engine import Answer, Engine, Fences
from tocsin.engine.loading import is_index
from tocsin.engine.witness import Witness
from tocsin.errors import InvalidInput
from tocsin.model.subscription import Notice, SubscriptionId
from tocsin.records import open_writer
from tocsin.records.files import STANDARD
from tocsin.records.formats import JSON, format_of
from tocsin.records.writers import Writer


def add_command(commands: Commands) -> None:
    parser = new_command(
        commands,
        "fences",
        help="report what moving objects enter, stay in and leave",
        description="Follows moving objects and writes one record for each change: an object enters a subscription, "
        "stays in it, leaves it or crosses it.",
        examples=(
            "tocsin fences zones.jsonl positions.jsonl --key vehicle --time at --dwell 300",
            "tocsin fences zones.jsonl positions.csv --key vehicle --points location=lon:lat --state state.json",
        ),
    )
    add_sources(parser)
    add_objects(parser)
    add_rules(parser)
    parser.add_argument(
        "--state",
        metavar="FILE",
        help="continue from the state in this file, if it exists, and save the new state there; options that are not "
        "given are then those of the state, and others must be the same",
    )
    parser.add_argument("--out", default="-", metavar="FILE", help="the file for changes (default: -, standard output)")
    add_typing(parser)
    add_payload(parser)
    add_format(parser, writes=True)
    parser.add_argument(
        "--no-warnings", action="store_true", help="do not warn about conditions that probably mean something else"
    )
    add_errors(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    given.subscriptions, given.events = said(given.subscriptions, given.format), said(given.events, given.format)
    if given.subscriptions == given.events == STANDARD:
        raise InvalidInput("only one of SUBSCRIPTIONS and EVENTS can be standard input")
    refuse_overwriting([given.subscriptions, given.events], [given.out, given.errors, given.state])
    with reject_log(given.errors) as log:
        engine, warnings = _engine(given, log)
        fences = fences_of(given, engine)
        events, changes, notices = _follow(given, fences, log)
        if given.state is not None:
            fences.save(given.state)
        inside = sum(1 for _ in fences.objects())
        print(
            f"{counted(changes, 'change')} of {counted(events, 'event')} and {counted(len(engine), 'subscription')}, "
            f"{log.count:,} rejected; {counted(inside, 'object')} inside",
            file=sys.stderr,
        )
        if not given.no_warnings:
            warn([*warnings, *notices])
    return log.status()


class _Following:
    """The subscriptions of an index; each batch uses the newest version."""

    def __init__(self, folder: str) -> None:
        self._events = 0
        self._newest = newest_told(folder, Engine.load, lambda: self._events)

    def __len__(self) -> int:
        return len(self._newest())

    def followed(self, *given: Any, **options: Any) -> tuple[Answer, Witness]:
        answer, witness = self._newest().followed(*given, **options)
        self._events += answer.stats.events
        return answer, witness

    def payload(self, id: SubscriptionId) -> Any:
        return self._newest().payload(id)


def _engine(given: argparse.Namespace, log: RejectLog) -> tuple[Engine | _Following, Sequence[Notice]]:
    """The subscriptions, and warnings about them."""
    if is_index(given.subscriptions):
        loaded = _Following(given.subscriptions) if _comes_by_line(given.events) else Engine.load(given.subscriptions)
        return loaded, ()
    engine = Engine()
    with ShareBar("reading subscriptions") as bar:
        report = engine.subscribe_many(given.subscriptions, progress=bar.update)
    log.add("subscription", report.errors)
    log.require("subscription", len(engine))
    return engine, report.warnings


def _follow(given: argparse.Namespace, fences: Fences, log: RejectLog) -> tuple[int, int, list[Notice]]:
    """Write all changes. Returns the numbers of events and changes, and the warnings of the last answer."""
    events = changes = 0
    notices: list[Notice] = []
    with open_writer(said(given.out, given.out_format)) as writer:
        for source in _sources(given.events):
            answer = fences.push_batch(
                source,
                schema=schema_of(given.schema),
                points=points_of(given.points),
                delimiter=given.delimiter,
                payload=given.payload,
            )
            _write(writer, answer, events)
            log.add("event", [reject._replace(row=reject.row + events) for reject in answer.event_errors])
            events, changes = events + answer.stats.events, changes + len(answer)
            notices = answer.warnings if not _comes_by_line(given.events) else []
    return events, changes, notices


def _sources(events: str) -> Iterator[Any]:
    """The file as a whole; for JSON lines on standard input, each line as it arrives."""
    if not _comes_by_line(events):
        return iter((events,))
    lines: Iterable[bytes] = sys.stdin.buffer
    return (line for line in lines if line.strip())


def _comes_by_line(events: str) -> bool:
    return events == STANDARD and format_of(events) is JSON


def _write(writer: Writer, answer: Answer, first: int) -> None:
    table = answer.table.set_column(0, "event", pc.add(answer.table["event"], pa.scalar(first, pa.int64())))
    objects = table["object"].combine_chunks()
    writer.write(
        table.set_column(1, "object", objects.cast(pa.string()) if len(objects) else pa.array([], pa.string()))
    )
