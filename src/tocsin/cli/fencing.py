"""tocsin fences: what moving objects enter, stay in and leave, one record a change."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

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
    _add_objects(parser)
    _add_rules(parser)
    parser.add_argument(
        "--state",
        metavar="FILE",
        help="continue from the state in this file, if it exists, and save the new state there",
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


def _add_objects(parser: argparse.ArgumentParser) -> None:
    """Add the options for the attributes of events that say which object is where, and when."""
    parser.add_argument("--key", required=True, metavar="NAME", help="the attribute that identifies objects")
    parser.add_argument("--time", metavar="NAME", help="the attribute with the time of an event (default: no times)")
    parser.add_argument(
        "--time-unit", default="s", metavar="UNIT", help="the unit of numeric times: s, ms, us or ns (default: s)"
    )
    parser.add_argument(
        "--order",
        default="arrival",
        metavar="ORDER",
        help="arrival: process events as they come; time: sort them by time first (default: arrival)",
    )
    parser.add_argument(
        "--path",
        metavar="NAME",
        help="the attribute with the place; also report fences crossed between two events (default: no crossings)",
    )
    parser.add_argument(
        "--no-place",
        action="append",
        default=[],
        metavar="X:Y",
        help="a point that means an unknown place (default: 181:91, as AIS sends it); may be repeated",
    )


def _add_rules(parser: argparse.ArgumentParser) -> None:
    """Add the options for what counts as a change."""
    parser.add_argument(
        "--enter-after",
        default="1",
        metavar="N",
        help="enter after this many events in a row inside, or after a time such as 30s or 5min (default: 1)",
    )
    parser.add_argument(
        "--exit-after",
        default="1",
        metavar="N",
        help="leave after this many events in a row outside, or after a time such as 30s or 5min (default: 1)",
    )
    parser.add_argument(
        "--dwell", metavar="TIME", help="report each object that has been inside for this time: seconds, or 30s, 5min"
    )
    parser.add_argument("--inside", action="store_true", help="also report every further event of an object inside")
    parser.add_argument(
        "--forget-after",
        metavar="TIME",
        help="forget an object after this time without events: seconds, or 30s, 5min, 1h (default: never)",
    )


def run(given: argparse.Namespace) -> int:
    given.subscriptions, given.events = said(given.subscriptions, given.format), said(given.events, given.format)
    if given.subscriptions == given.events == STANDARD:
        raise InvalidInput("only one of SUBSCRIPTIONS and EVENTS can be standard input")
    refuse_overwriting([given.subscriptions, given.events], [given.out, given.errors, given.state])
    with reject_log(given.errors) as log:
        engine, warnings = _engine(given, log)
        fences = _fences(given, engine)
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


def _fences(given: argparse.Namespace, engine: Engine | _Following) -> Fences:
    if given.state is not None and Path(given.state).exists():
        return Fences.load(given.state, engine)
    options: dict[str, Any] = {"no_places": [_place(one) for one in given.no_place]} if given.no_place else {}
    return Fences(
        engine,
        key=given.key,
        time=given.time,
        time_unit=given.time_unit,
        order=given.order,
        path=given.path,
        enter_after=_rule(given.enter_after),
        exit_after=_rule(given.exit_after),
        dwell=_time(given.dwell),
        inside=given.inside,
        forget_after=_time(given.forget_after),
        **options,
    )


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


def _rule(text: str) -> int | str:
    return int(text) if text.isdigit() else text


def _time(text: str | None) -> float | str | None:
    """A number of seconds; any other text as it is."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def _place(text: str) -> tuple[float, float]:
    x, _, y = text.partition(":")
    try:
        return float(x), float(y)
    except ValueError:
        raise InvalidInput(f"--no-place: {text!r} is not X:Y; write 0:0") from None
