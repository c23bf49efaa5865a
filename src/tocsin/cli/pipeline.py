"""tocsin pipeline: runs a pipeline on Spark from a file that describes events, subscriptions, changes and sinks."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tocsin.cli.options import Commands, new_command
from tocsin.cli.rejects import counted, describe, warn
from tocsin.errors import needing

if TYPE_CHECKING:
    from tocsin.pipeline.description import End, Pipeline
    from tocsin.pipeline.subscriptions import Compiled
    from tocsin.spark.listening import Progress

_TERMINAL_S: Final = 0.5
_PIPE_S: Final = 10.0
_REJECTS: Final = 5
"""The most rejected subscriptions that are shown."""


def add_command(commands: Commands) -> None:
    parser = new_command(
        commands,
        "pipeline",
        help="match a stream of events against changing subscriptions, on Spark",
        description="Matches a stream of events against changing subscriptions, on Spark. One TOML file describes "
        "sources, subscriptions and sink.",
        examples=("tocsin pipeline new pipeline.toml", "tocsin pipeline run pipeline.toml --once"),
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    run = new_command(
        verbs,
        "run",
        help="run a pipeline",
        description="Runs a pipeline until it is interrupted. The next run continues from its checkpoint.",
        examples=("tocsin pipeline run --check pipeline.toml", "tocsin pipeline run --once pipeline.toml"),
    )
    run.add_argument("file", metavar="FILE", help="the description of the pipeline, a TOML file")
    run.add_argument("--check", action="store_true", help="run nothing; report mistakes in the file, or its plan")
    run.add_argument("--once", action="store_true", help="match the events that are available now, then exit")
    run.set_defaults(run=run_pipeline)
    new = new_command(
        verbs,
        "new",
        help="write an example of a pipeline",
        description="Writes the commented description of a pipeline, with small files of events and subscriptions, so "
        "that it runs as it is.",
        examples=("tocsin pipeline new", "tocsin pipeline new alerts/pipeline.toml"),
    )
    new.add_argument(
        "file", metavar="FILE", nargs="?", default="pipeline.toml", help="the file to write (default: pipeline.toml)"
    )
    new.set_defaults(run=write_new)


def write_new(given: argparse.Namespace) -> int:
    from tocsin.pipeline.example import write_example

    for path in write_example(Path(given.file)):
        print(f"{path} written")
    print(f"Run it: tocsin pipeline run --once {given.file}")
    return 0


def run_pipeline(given: argparse.Namespace) -> int:
    from tocsin.pipeline import read_pipeline
    from tocsin.pipeline.layout import require_own

    pipeline = read_pipeline(given.file, with_inputs=True)
    if given.check:
        require_own(pipeline)
        print(plan_of(pipeline))
        return 0
    with needing("spark"):
        from tocsin.pipeline.running import run

    with stopping() as stop:
        shown = _Shown()
        outcome = run(pipeline, once=given.once, stop=stop, look=shown.look, say=shown.say, tell=shown.compiled)
        shown.end()
    refused = 0 if outcome.compiled is None else len(outcome.compiled.rejects)
    counts = {"events": 0, "matches": 0, "rejected": 0, **outcome.progress.counts}
    done = f"{counted(counts['matches'], 'match')} of {counted(counts['events'], 'event')}"
    if pipeline.window is not None:
        done = f"{counted(counts['matches'], 'change')} of lists"
    done += f", {counted(refused, 'subscription')} rejected" if refused else ""
    changes = outcome.rejected_changes
    done += f", {counted(changes, 'change')} of subscriptions rejected" if changes else ""
    more = "" if given.once else "; run it again to continue"
    print(f"{done}, {counts['rejected']:,} rejected{more}", file=sys.stderr)
    return 1 if counts["rejected"] or refused or changes else 0


def plan_of(pipeline: Pipeline) -> str:
    """Describe in words what a pipeline would do."""
    matched = "every match" if pipeline.ranking is None else str(pipeline.ranking)
    compiled = (
        "" if pipeline.subscriptions is None else f", compiled from {pipeline.subscriptions} if it does not exist"
    )
    subscriptions = f"{pipeline.index} ({pipeline.structure}){compiled}"
    work = f"match          {matched}, {'one row for each match' if pipeline.explode else 'one list for each event'}"
    if (window := pipeline.window) is not None:
        subscriptions = f"{pipeline.subscriptions}"
        most = [] if window.size is None else [f"{window.size:,} messages"]
        most += [] if window.seconds is None else [f"{window.seconds:g} s"]
        work = f"window         {' and '.join(most)}, in {window.partitions} partitions by {window.placement}"
    lines = [
        f"events         {_described(pipeline.events)}",
        f"subscriptions  {subscriptions}",
        f"changes        {'none' if pipeline.changes is None else _described(pipeline.changes)}",
        work,
        f"sink           {_described(pipeline.sink)}, {_PROMISES[pipeline.sink.kind]}",
        f"rejects        {pipeline.rejects or 'only counted'}",
        f"checkpoint     {pipeline.checkpoint}",
        f"metrics        {pipeline.metrics or 'none'}",
        f"Spark          {pipeline.master}, checks for events every {pipeline.every}",
    ]
    return "\n".join(lines)


_PROMISES: Final = {
    "files": "exactly once",
    "kafka": "at least once, each with a key that identifies duplicates",
    "console": "at least once; a failure may print duplicates",
}


def _described(end: End) -> str:
    return f"{end.kind} ({', '.join(f'{key} {value}' for key, value in end.says.items())})"


@contextmanager
def stopping() -> Iterator[threading.Event]:
    """An event that Ctrl-C, or a request to terminate, sets; a second one interrupts."""
    stop = threading.Event()

    def ask(number: int, _: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        # If the signal also ends Java, threads of Py4J log tracebacks.
        logging.getLogger("py4j").setLevel(logging.CRITICAL)
        # A signal may come while something is being printed, and `print` refuses to be called within itself.
        os.write(2, b"\nstopping after the current micro-batch\n")

    before = {one: signal.signal(one, ask) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


class _Shown:
    """Shows progress: one updated line on a terminal, a new line now and then in a pipe."""

    def __init__(self) -> None:
        self._shown = time.monotonic()
        self._is_terminal = sys.stderr.isatty()

    def look(self, progress: Progress) -> None:
        """Show the progress, if it is time to."""
        now = time.monotonic()
        if now - self._shown < (_TERMINAL_S if self._is_terminal else _PIPE_S) or "batch" not in progress.gauges:
            return
        self._shown = now
        counts, gauges = {"events": 0, "matches": 0, "rejected": 0, **progress.counts}, progress.gauges
        behind = f" | {gauges['behind']:,.0f} behind" if "behind" in gauges else ""
        line = (
            f"batch {gauges['batch']:.0f}, {gauges['batch_seconds']:.2f} s"
            f" | {gauges['events_per_second']:,.0f} events/s | "
            f"{counts['events']:,} events, {counts['matches']:,} matches, {counts['rejected']:,} rejected{behind}"
        )
        self._put(line)

    def say(self, what: str) -> None:
        """Show what is starting."""
        self._put(f"{what} ...")

    def compiled(self, done: Compiled) -> None:
        """Show what the first compile read, with the first rejects and all warnings."""
        self.end()
        rejected = len(done.rejects)
        print(f"{counted(done.subscriptions, 'subscription')}, {rejected:,} rejected", file=sys.stderr)
        for reject in done.rejects[:_REJECTS]:
            print(describe("subscription", reject), file=sys.stderr)
        if rejected > _REJECTS:
            where = "[rejects] names a folder for all of them" if done.folder is None else f"{done.folder} has them all"
            print(f"... and {rejected - _REJECTS:,} more; {where}", file=sys.stderr)
        warn(done.warnings)

    def _put(self, line: str) -> None:
        print(f"\r\033[K{line}" if self._is_terminal else line, end="" if self._is_terminal else "\n", file=sys.stderr)
        sys.stderr.flush()

    def end(self) -> None:
        """Clear the line."""
        if self._is_terminal:
            print("\r\033[K", end="", file=sys.stderr)
