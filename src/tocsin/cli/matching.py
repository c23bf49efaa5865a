"""tocsin match: one record a match, {"event": row, "subscription": id} and "score" when ranked."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Iterator, Sized
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

import pyarrow as pa

from tocsin.cli.folders import refuse_subscriptions_among
from tocsin.cli.notices import add_warnings, foremost, warnings_file, write
from tocsin.cli.options import (
    Commands,
    add_errors,
    add_format,
    add_index,
    add_named,
    add_now,
    add_only,
    add_payload,
    add_payload_columns,
    add_rankings,
    add_sources,
    add_typing,
    extras_said,
    new_command,
    ranked,
    reading_of,
    reading_text,
    said,
)
from tocsin.cli.rejects import RejectLog, counted, refuse_overwriting, reject_log
from tocsin.cli.stopping import Stop, stopping
from tocsin.engine import Request, Stats, empty_table, load_segments, match_chunks
from tocsin.engine.durable.current import Following
from tocsin.engine.loading import is_index
from tocsin.engine.matching import EVENT_KEY, warnings_of
from tocsin.engine.notices.case import but_for_case
from tocsin.engine.notices.exchanged import exchanged
from tocsin.engine.notices.texts import texts_of_all
from tocsin.engine.only import restricted
from tocsin.engine.seen import Seen
from tocsin.errors import InvalidInput
from tocsin.index import choose
from tocsin.model.instants import given_moment, present
from tocsin.model.subscription import Notice, together
from tocsin.model.texts import texts_in
from tocsin.newest import Newest
from tocsin.progress import ShareBar
from tocsin.records import open_writer, output_format
from tocsin.records.extras import Extras
from tocsin.records.files import STANDARD
from tocsin.records.keys import as_texts
from tocsin.segment import Snapshots

FEW: Final = 100_000
"""With more subscriptions, conditions that no event satisfies are reported only if nothing matched, to save time."""
_MOST_SHOWN: Final = 3


def add_command(commands: Commands) -> None:
    parser = new_command(
        commands,
        "match",
        help="match events against subscriptions",
        description="Matches events against subscriptions and writes one record for each match: the row of the event, "
        "the id of the subscription and, with a ranking, the score.",
        examples=(
            "tocsin match subscriptions.jsonl events.jsonl --out matches.csv --top 20",
            "tocsin match index/ - < events.jsonl",
            "tocsin match subscriptions.jsonl events.csv --schema price:number --lists",
        ),
    )
    add_sources(parser, "; an index is then followed to its newest version")
    parser.add_argument("--out", default="-", metavar="FILE", help="the file for matches (default: -, standard output)")
    add_index(parser, "use")
    add_format(parser, writes=True)
    add_rankings(parser)
    parser.add_argument(
        "--lists", action="store_true", help="write one record for each event, with a list of its matches"
    )
    parser.add_argument("--threads", type=int, metavar="N", help="the number of threads (default: one for each core)")
    add_errors(parser)
    parser.add_argument("--strict", action="store_true", help="stop at the first bad record or value")
    parser.add_argument(
        "--strict-values",
        action="store_true",
        help="also exit with status 1 if values could not be read, although every event was served",
    )
    add_typing(parser)
    add_now(parser)
    add_payload(parser)
    add_named(parser)
    add_only(parser)
    parser.add_argument(
        "--no-warnings", action="store_true", help="do not warn about conditions that no event can satisfy"
    )
    add_warnings(parser)
    parser.add_argument("--event-key", metavar="NAME", help="also write this attribute of the event")
    add_payload_columns(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    stats, request, extras = Stats(), _request(given), extras_said(given)
    given.subscriptions, given.events = said(given.subscriptions, given.format), said(given.events, given.format)
    if given.subscriptions == given.events == "-":
        raise InvalidInput("only one of SUBSCRIPTIONS and EVENTS can be standard input")
    refuse_subscriptions_among(given.events, given.subscriptions)
    output_format(said(given.out, given.out_format))  # before anything is read
    refuse_overwriting([given.subscriptions, given.events], [given.out, given.errors, given.warnings])
    with reject_log(given.errors) as log:
        newest = _newest(given, stats)
        subscriptions = _read(given, request, extras, log) if newest is None else newest()
        seen = None if given.no_warnings else Seen()
        with stopping() if given.events == STANDARD else nullcontext() as stop:
            served = _match(given, subscriptions, request, stats, log, seen, newest, stop)
        log.finish()
        subscriptions = subscriptions if newest is None else newest()
        rate = stats.events / stats.seconds if stats.seconds else 0.0
        print(
            f"{counted(stats.matches, 'match')} of {counted(stats.events, 'event')} and "
            f"{counted(stats.subscriptions, 'subscription')}, {log.summary()}; {rate:,.0f} events/s",
            file=sys.stderr,
        )
        if stats.unanswered and request.ranking is not None:
            told = f"{counted(stats.unanswered, 'subscription')} {request.ranking.unanswered}"
            print(f"warning: {told}, which --{request.ranking.word()} leaves out", file=sys.stderr)
        if seen is not None:
            of_options = stats.matches > 0 and len(subscriptions) > FEW
            found = together(extras.warnings(), warnings_of(subscriptions, request, seen, of_options=of_options))
            _print_notices([*found, *(() if stats.matches else _of_no_match(subscriptions, request, seen))], given)
    if stop:
        print(f"stopped; {counted(stats.matches, 'match')} written", file=sys.stderr)
        return stop.status
    log.require("subscription", len(subscriptions), given.subscriptions)
    log.require("event", served, given.events)
    return log.status(strict_values=given.strict_values)


def _read(given: argparse.Namespace, request: Request, extras: Extras, log: RejectLog) -> Snapshots:
    """Read the subscriptions, or load a compiled index; rejects go to the log."""
    with ShareBar("reading subscriptions") as bar:
        subscriptions, rejects = load_segments(
            given.subscriptions,
            given.index,
            strict=given.strict,
            progress=bar.update,
            texts=texts_in(request.schema or {}),
            extras=extras,
        )
    log.add("subscription", rejects)
    return restricted(subscriptions, given.only)


def _of_no_match(subscriptions: Snapshots, request: Request, seen: Seen) -> Iterator[Notice]:
    """Warnings that take an evaluation of conditions: of exchanged coordinates, and of letter case."""
    yield from exchanged(texts_of_all(subscriptions), request.points, seen)
    yield from but_for_case(texts_of_all(subscriptions), seen)


def _print_notices(found: list[Notice], given: argparse.Namespace) -> None:
    """Print the foremost warnings, and the number of the rest; write all of them."""
    with warnings_file(given.warnings) as stream:
        if stream is not None:
            write(stream, found)
    for notice in foremost(found, _MOST_SHOWN):
        print(f"warning: {notice}", file=sys.stderr)
    if len(found) > _MOST_SHOWN:
        more = counted(len(found) - _MOST_SHOWN, "more warning")
        subscriptions = "SUBSCRIPTIONS" if given.subscriptions == STANDARD else shlex.quote(given.subscriptions)
        events = "EVENTS" if given.events == STANDARD else shlex.quote(given.events)
        command = f"tocsin check {subscriptions} --sample {events}{reading_text(given)}"
        print(f"... and {more}; `{command}` shows them", file=sys.stderr)


def _request(given: argparse.Namespace) -> Request:
    reading = reading_of(given)
    return Request(
        ranked(given),
        given.lists,
        given.strict,
        reading.schema,
        given.threads,
        reading.delimiter,
        reading.points,
        given.event_key,
        given.payload,
        given.named,
        now=given_moment(given.now, "--now") or (None if given.events == STANDARD else present()),
    )


def _match(
    given: argparse.Namespace,
    subscriptions: Snapshots,
    request: Request,
    stats: Stats,
    log: RejectLog,
    seen: Seen | None,
    newest: Newest[Snapshots] | None,
    stop: Stop | None,
) -> int:
    """Write all matches, of standard input until the request to stop; returns the number of answered events."""
    if given.events == STANDARD:  # load everything for a first answer before the first event arrives
        list(match_chunks(subscriptions, b"{}\n", replace(request, schema=None, delimiter=None), Stats()))
    until = None if stop is None else stop.until_asked
    parts = match_chunks(subscriptions, given.events, request, stats, seen, newest, until)
    with open_writer(said(given.out, given.out_format)) as writer, ShareBar("matching") as bar:
        writer.write(empty_table(subscriptions, request))
        served = 0
        for part in parts:
            writer.write(_with_text_keys(part.table))
            log.add("event", part.rejects, part.lost)
            served += part.served
            bar.update(part.done, f"{stats.events:,} events, {stats.matches:,} matches")
    return served


def _newest(given: argparse.Namespace, stats: Stats) -> Newest[Snapshots] | None:
    """The versions of an index that `tocsin update` publishes while standard input is being answered."""
    if given.events != STANDARD or not is_index(given.subscriptions):
        return None
    choose(given.index)  # rejects an unknown index

    following = Following(Path(given.subscriptions))

    def opened() -> Snapshots:
        snapshots = restricted(following.snapshots(), given.only)
        stats.subscriptions = (
            len(snapshots) if stats.subscriptions else 0
        )  # those of the first version are counted elsewhere
        return snapshots

    return newest_told(given.subscriptions, opened, lambda: stats.events, following.mark)


Opened = TypeVar("Opened", bound=Sized)


def newest_told(
    folder: str, opened: Callable[[], Opened], events: Callable[[], int], look: Callable[[], Any]
) -> Newest[Opened]:
    """The versions of an index, announced as they appear; `events` gives the number of events answered so far."""
    is_first, path = True, Path(folder)

    def announced() -> Opened:
        nonlocal is_first
        version = opened()
        if not is_first:
            since = f"{counted(len(version), 'subscription')} from event {events():,} on"
            print(f"{path} has a newer version: {since}", file=sys.stderr)
        is_first = False
        return version

    def failed(reason: str) -> None:
        text = f"warning: {path} cannot be opened, and the earlier version stays in use: {reason}"
        print(text, file=sys.stderr)

    return Newest(look, announced, failed=failed)


def _with_text_keys(table: pa.Table) -> pa.Table:
    """Event keys as texts: a file has one type for a column, and later keys may be of another type."""
    if EVENT_KEY not in table.column_names:
        return table
    return table.set_column(1, EVENT_KEY, as_texts(table[EVENT_KEY].combine_chunks()))
