"""tocsin fences: what moving objects enter, stay in and leave, one record a change."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from tocsin.cli.fence_options import add_objects, add_rules, fences_of, saved_every
from tocsin.cli.fence_saving import Saving
from tocsin.cli.folders import refuse_subscriptions_among
from tocsin.cli.matching import FEW, newest_told
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
from tocsin.cli.rejects import RejectLog, counted, refuse_overwriting, reject_log, warn
from tocsin.cli.stopping import Stop, stopping
from tocsin.engine import Answer, Engine
from tocsin.engine.durable.current import Following, current_engine
from tocsin.engine.loading import is_index
from tocsin.engine.matching import EVENT_KEY
from tocsin.engine.questions import View
from tocsin.errors import InvalidInput
from tocsin.model.subscription import Notice, SubscriptionId
from tocsin.monitor import Fences
from tocsin.progress import ShareBar
from tocsin.records import open_writer, output_format
from tocsin.records.files import STANDARD
from tocsin.records.formats import is_stream
from tocsin.records.keys import as_texts
from tocsin.records.writers import Writer
from tocsin.spelling import option

_MOST_TOGETHER: Final = 4096
"""The most events that are processed before their changes are written."""


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
    parser.add_argument(
        "--save-every",
        metavar="TIME",
        help="in a stream of JSON lines from standard input, save the state after this time, too: seconds, or 30s, "
        "5min (default: 30s; with --out only at the end)",
    )
    parser.add_argument("--out", default="-", metavar="FILE", help="the file for changes (default: -, standard output)")
    add_typing(parser)
    parser.add_argument("--event-key", metavar="NAME", help="also write this attribute of the event")
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
    refuse_subscriptions_among(given.events, given.subscriptions)
    output_format(said(given.out, given.out_format))  # before anything is read
    refuse_overwriting([given.subscriptions, given.events], [given.out, given.errors, given.state])
    every_s = saved_every(given)
    with reject_log(given.errors, folds=True) as log:
        engine, warnings = _engine(given, log)
        course = _Course(given, fences_of(given, engine), log, with_conditions=len(engine) <= FEW)
        if isinstance(engine, _Following):
            engine.events = lambda: course.events
        with stopping() as stop:
            course.follow(stop, every_s)
            course.save()
            if course.served or not course.events or stop:
                log.finish()
                course.tell(len(engine))
                warn([] if given.no_warnings else [*warnings, *course.last_notices()])
            if stop:
                course.tell_stop()
                return stop.status
    log.require("event", course.served, given.events)
    return log.status()


class _Course:
    """Follows the events of one call, and writes their changes."""

    def __init__(self, given: argparse.Namespace, fences: Fences, log: RejectLog, *, with_conditions: bool) -> None:
        self._given, self._fences, self._log = given, fences, log
        self.events = self.served = self._changes = 0
        self._is_saved = self._is_cut = False
        self._is_stream, self._with_conditions = is_stream(given.events), with_conditions
        self._notes = fences.notes()
        self._notices: Callable[[], list[Notice]] = list
        self._warned: set[Notice] = set()
        self._reading = {
            "schema": schema_of(given.schema),
            "points": points_of(given.points),
            "delimiter": given.delimiter,
            "event_key": given.event_key,
        }

    def follow(self, stop: Stop, every_s: float) -> None:
        """Write all changes until the request to stop. In a stream, save the state when `every_s` have passed.

        A file of changes is complete at the end only, so its state is saved then, too.
        """
        batches = self._fences.batches(self._given.events, **self._reading, most=_MOST_TOGETHER)
        saves = self._is_stream and self._given.state is not None and self._given.out == STANDARD
        saving = Saving(self.save, every_s)
        writing = open_writer(said(self._given.out, self._given.out_format))
        with writing as writer, saving.running() if saves else nullcontext():
            for batch in stop.until_asked(batches):
                with saving.batch():
                    answer = self._answered(batch, stop)
                    if answer is not None and answer.stats.events:
                        _write(writer, answer)
                        self._count(answer)
            if not self.events and not self._is_cut:  # the names of the columns
                answer = self._push([])
                _write(writer, answer)
                self._count(answer)

    def _answered(self, batch: Any, stop: Stop) -> Answer | None:
        """The changes of a batch. A file that is one batch is processed as a whole, or not at all: then None."""
        if batch is not self._given.events:
            return self._push(batch)
        answer = stop.unless_asked(lambda: self._push(batch))
        self._is_cut = answer is None
        return answer

    def _push(self, batch: Any) -> Answer:
        return self._fences.push_batch(batch, **self._reading, payload=self._given.payload, notes=self._notes)

    def _count(self, answer: Answer) -> None:
        """Log the rejected events of an answer, count the others, and warn of what is odd for the first time."""
        is_first = self.events == 0
        self.served += answer.stats.events - len(answer.lost)
        self._notices = answer.noticing
        self.events, self._changes = self.events + answer.stats.events, self._changes + len(answer)
        if is_first and not (self.served or self._is_stream):
            bad = {reject.field for reject in answer.event_errors}
            of_key = (one for one in answer.warnings if one.condition == option("key", one.attribute))
            self._warn(one for one in of_key if one.attribute in bad)
        if is_first and self._is_stream and (self._with_conditions or not self.served):
            self._warn(one for one in answer.warnings if not one.subscriptions and "did you mean" in one.reason)
        if self._is_stream:
            self._warn(self._notes.times.news())
        self._log.add("event", answer.event_errors, answer.lost)

    def _warn(self, notices: Iterable[Notice]) -> None:
        """Print warnings, each once."""
        new = [one for one in notices if one not in self._warned]
        self._warned.update(new)
        warn([] if self._given.no_warnings else new)

    def last_notices(self) -> list[Notice]:
        """The warnings about all events, without those that were printed."""
        return [one for one in self._notices() if one not in self._warned]

    def save(self) -> None:
        """Save the state, if an option says where, unless no event could be read: its key may be misspelt."""
        if self._given.state is not None and (self.served or not self.events) and not self._is_cut:
            self._fences.save(self._given.state)
            self._is_saved = True

    def tell(self, subscriptions: int) -> None:
        """Print the summary."""
        inside = sum(1 for _ in self._fences.objects())
        print(
            f"{counted(self._changes, 'change')} of {counted(self.events, 'event')} and "
            f"{counted(subscriptions, 'subscription')}, {self._log.summary()}; "
            f"{counted(inside, 'object')} inside",
            file=sys.stderr,
        )

    def tell_stop(self) -> None:
        """Print what a stop leaves."""
        saved = f", state saved in {self._given.state}" if self._is_saved else ""
        print(f"stopped; {counted(self._changes, 'change')} written{saved}", file=sys.stderr)


class _Following:
    """The subscriptions of an index; each batch uses the newest version."""

    def __init__(self, folder: str) -> None:
        self.events: Callable[[], int] = lambda: 0
        following = Following(Path(folder))
        self._newest = newest_told(folder, following.now, lambda: self.events(), following.mark)

    def __len__(self) -> int:
        return len(self._newest())

    @property
    def view(self) -> View:
        return self._newest().view

    def payload(self, id: SubscriptionId) -> Any:
        return self._newest().payload(id)


def _engine(given: argparse.Namespace, log: RejectLog) -> tuple[Engine | _Following, Sequence[Notice]]:
    """The subscriptions, and warnings about them."""
    if is_index(given.subscriptions):
        loaded = _Following(given.subscriptions) if is_stream(given.events) else current_engine(given.subscriptions)
        return loaded, ()
    engine = Engine()
    with ShareBar("reading subscriptions") as bar:
        report = engine.subscribe_many(given.subscriptions, progress=bar.update)
    log.add("subscription", report.errors)
    log.require("subscription", len(engine), given.subscriptions)
    return engine, report.warnings


def _write(writer: Writer, answer: Answer) -> None:
    """Write the changes. Values from events are texts: a file has one type for a column."""
    table = answer.table
    for place, name in enumerate(table.column_names):
        if name in ("object", EVENT_KEY, "time"):
            table = table.set_column(place, name, _texts(table[name].combine_chunks()))
    writer.write(table)


def _texts(values: pa.Array) -> pa.Array:
    """Values as texts; instants as RFC 3339."""
    if not pa.types.is_timestamp(values.type):
        return as_texts(values)
    texts = values.cast(pa.timestamp("us", "UTC"), safe=False).cast(pa.large_string())
    return pc.replace_substring_regex(pc.replace_substring(texts, " ", "T"), r"\.000000Z$", "Z")
