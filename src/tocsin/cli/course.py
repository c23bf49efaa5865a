"""One call that follows objects through a source of events and writes their changes: what its commands share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from tocsin.cli.folders import refuse_subscriptions_among
from tocsin.cli.matching import FEW, newest_told
from tocsin.cli.options import points_of, said, schema_of
from tocsin.cli.periodic import Periodic, Saving
from tocsin.cli.rejects import RejectLog, counted, refuse_overwriting, reject_log, warn
from tocsin.cli.state_options import saved_every
from tocsin.cli.stopping import Stop, stopping
from tocsin.engine import Answer, Engine
from tocsin.engine.durable.current import Following, current_engine
from tocsin.engine.loading import is_index
from tocsin.engine.matching import EVENT_KEY
from tocsin.engine.questions import View
from tocsin.errors import InvalidInput
from tocsin.model.subscription import Notice, SubscriptionId
from tocsin.monitor import Fences, Monitor
from tocsin.progress import ShareBar
from tocsin.records import open_writer, output_format
from tocsin.records.files import STANDARD
from tocsin.records.formats import is_stream
from tocsin.records.keys import as_texts
from tocsin.records.writers import Writer
from tocsin.spelling import option

_MOST_TOGETHER: Final = 4096
"""The most events that are processed before their changes are written."""


class NewestIndex:
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


Subscribed: TypeAlias = Engine | NewestIndex


class Passing(NamedTuple):
    """How time passes without events. `changes` lets it pass up to an instant, and returns a table of what changes."""

    changes: Callable[[Any], pa.Table]
    tick_s: float | None  # in a stream, time passes up to the present as often
    until: Any = None  # at the end, time passes up to this instant


class Begun(NamedTuple):
    """A follower at its beginning."""

    follower: Fences | Monitor
    further: Mapping[str, Any]  # options of `batches` and `push_batch` beside those of all commands
    known: Callable[[], str]  # how many objects it knows, for the summary
    passing: Passing | None = None


def follow(given: argparse.Namespace, begin: Callable[[Subscribed], Begun]) -> int:
    """Follow the events of a call, with what `begin` makes of the subscriptions; returns the exit status."""
    given.subscriptions, given.events = said(given.subscriptions, given.format), said(given.events, given.format)
    if given.subscriptions == given.events == STANDARD:
        raise InvalidInput("only one of SUBSCRIPTIONS and EVENTS can be standard input")
    refuse_subscriptions_among(given.events, given.subscriptions)
    output_format(said(given.out, given.out_format))  # before anything is read
    refuse_overwriting([given.subscriptions, given.events], [given.out, given.errors, given.state])
    every_s = saved_every(given)
    with reject_log(given.errors, folds=True) as log:
        engine, warnings = _engine(given, log)
        course = _Course(given, begin(engine), log, with_conditions=len(engine) <= FEW)
        if isinstance(engine, NewestIndex):
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

    def __init__(self, given: argparse.Namespace, begun: Begun, log: RejectLog, *, with_conditions: bool) -> None:
        self._given, self._begun, self._log = given, begun, log
        self._follower: Any = begun.follower
        self.events = self.served = self._changes = 0
        self._is_saved = self._is_cut = False
        self._is_stream, self._with_conditions = is_stream(given.events), with_conditions
        self._notes = self._follower.notes()
        self._notices: Callable[[], list[Notice]] = list
        self._warned: set[Notice] = set()
        self._reading = {
            "schema": schema_of(given.schema),
            "points": points_of(given.points),
            "delimiter": given.delimiter,
            **begun.further,
        }

    def follow(self, stop: Stop, every_s: float) -> None:
        """Write all changes until the request to stop. In a stream, save the state when `every_s` have passed.

        A file of changes is complete at the end only, so its state is saved then, too.
        """
        batches = self._follower.batches(self._given.events, **self._reading, most=_MOST_TOGETHER)
        saves = self._is_stream and self._given.state is not None and self._given.out == STANDARD
        saving = Saving(self.save, every_s)
        writing = open_writer(said(self._given.out, self._given.out_format))
        with writing as writer:
            with saving.running() if saves else nullcontext(), self._ticking(writer, saving):
                for batch in stop.until_asked(batches):
                    with saving.batch():
                        answer = self._answered(batch, stop)
                        if answer is not None and answer.stats.events:
                            _write(writer, answer.table)
                            self._count(answer)
            if not self.events and not self._is_cut:  # the names of the columns
                answer = self._push([])
                _write(writer, answer.table)
                self._count(answer)
            passing = self._begun.passing
            if passing is not None and passing.until is not None and not stop:
                self._pass_time(writer, passing, passing.until)

    @contextmanager
    def _ticking(self, writer: Writer, saving: Saving) -> Iterator[None]:
        """Let time pass in a stream, between batches, until the body ends."""
        passing = self._begun.passing
        if passing is None or passing.tick_s is None:
            yield
            return

        def tick() -> None:
            with saving.batch():
                self._pass_time(writer, passing, None)

        with Periodic(tick, passing.tick_s).running():
            yield

    def _pass_time(self, writer: Writer, passing: Passing, until: Any) -> None:
        """Let time pass up to an instant, None for the present, and write what changes."""
        changes = passing.changes(until)
        self._changes += len(changes)
        if len(changes):
            _write(writer, changes)

    def _answered(self, batch: Any, stop: Stop) -> Answer | None:
        """The changes of a batch. A file that is one batch is processed as a whole, or not at all: then None."""
        if batch is not self._given.events:
            return self._push(batch)
        answer = stop.unless_asked(lambda: self._push(batch))
        self._is_cut = answer is None
        return answer

    def _push(self, batch: Any) -> Answer:
        options = {**self._reading, "payload": self._given.payload, "notes": self._notes}
        answer: Answer = self._follower.push_batch(batch, **options)
        return answer

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
            self._warn(self._notes.news())
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
            self._follower.save(self._given.state)
            self._is_saved = True

    def tell(self, subscriptions: int) -> None:
        """Print the summary."""
        print(
            f"{counted(self._changes, 'change')} of {counted(self.events, 'event')} and "
            f"{counted(subscriptions, 'subscription')}, {self._log.summary()}; {self._begun.known()}",
            file=sys.stderr,
        )

    def tell_stop(self) -> None:
        """Print what a stop leaves."""
        saved = f", state saved in {self._given.state}" if self._is_saved else ""
        print(f"stopped; {counted(self._changes, 'change')} written{saved}", file=sys.stderr)


def _engine(given: argparse.Namespace, log: RejectLog) -> tuple[Subscribed, Sequence[Notice]]:
    """The subscriptions, and warnings about them."""
    if is_index(given.subscriptions):
        loaded = NewestIndex(given.subscriptions) if is_stream(given.events) else current_engine(given.subscriptions)
        return loaded, ()
    engine = Engine()
    with ShareBar("reading subscriptions") as bar:
        report = engine.subscribe_many(given.subscriptions, progress=bar.update)
    log.add("subscription", report.errors)
    log.require("subscription", len(engine), given.subscriptions)
    return engine, report.warnings


def _write(writer: Writer, table: pa.Table) -> None:
    """Write changes. Values from events are texts: a file has one type for a column."""
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
