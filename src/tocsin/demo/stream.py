"""The streaming demo: the year again, hour by hour, against alerts that come and go.

The pipeline is that of `tocsin pipeline run`, described by a file in the output folder. This process writes each hour's
changes and flights into the pipeline's input folders, and follows its output folder. At the end one engine in this
process gets the same changes and flights in the same order.
"""

from __future__ import annotations

import datetime as dt
import json
import shutil
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tocsin.demo import alerts as travel
from tocsin.demo import flights
from tocsin.demo.checking import differing
from tocsin.demo.pipeline import ATTRIBUTES, SEED, SUBSCRIPTIONS, spark_session
from tocsin.demo.progress import Steps
from tocsin.demo.replay import CHANGES, EVENTS, Played, Replay
from tocsin.demo.ringing import Ringing, Rung
from tocsin.demo.turnover import CLOCK, OF_AN_HOUR, Turnover
from tocsin.errors import InvalidInput
from tocsin.pipeline import read_pipeline
from tocsin.pipeline.running import run as run_pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIRST: Final = "2013-02-04"
"""The week of the February blizzard."""

HOURS: Final = 168
SPEED: Final = 2.0
PARTS: Final = (
    "alerts.parquet",
    "index",
    EVENTS,
    CHANGES,
    "matches",
    "rejects",
    "checkpoint",
    "pipeline.toml",
    "stream.json",
)
"""The files and folders that a run leaves in its output folder."""

_PATIENCE_S: Final = 120.0
"""The time limit for answers to the last flights."""

PIPELINE: Final = f"""\
# The pipeline of `tocsin demo stream`. `tocsin pipeline run` continues it: add files to {EVENTS} and {CHANGES}.

[events]
kind = "files"
path = "{EVENTS}"
format = "json"

[subscriptions]
index = "index"
path = "alerts.parquet"

[subscriptions.changes]
kind = "files"
path = "{CHANGES}"
format = "json"

[match]
explode = true
event_id = "key"

[sink]
kind = "files"
path = "matches"
format = "parquet"

[rejects]
path = "rejects"

[run]
name = "flights"
checkpoint = "checkpoint"
"""


@dataclass(frozen=True, slots=True)
class StreamSummary:
    """The results of a run.

    `median_s` and `late_s` (99th percentile) are the time from a flight's file to its matches.
    """

    output: Path
    hours: int
    flights: int
    answered: int
    matches: int
    came: int
    went: int
    changed: int
    states: int
    median_s: float
    late_s: float
    seconds: float
    differ: int

    def text(self) -> str:
        """The summary as text for users."""
        same = "the same, scores included" if self.differ == 0 else f"{self.differ:,} FLIGHTS DIFFER"
        return "\n".join(
            [
                f"{self.answered:,} of {self.flights:,} flights of {self.hours:,} hours rang {self.matches:,} times, "
                f"in {self.seconds:.0f} s",
                f"alerts: {self.came:,} came, {self.went:,} went, {self.changed:,} changed; "
                f"{self.states:,} states of them answered",
                f"from flight to ring: {self.median_s:.2f} s at the median, {self.late_s:.2f} s at the 99th percentile",
                f"one engine, in the same order: {same}",
                f"in {self.output}: {', '.join(PARTS)}",
            ]
        )


def run(
    output: Path,
    *,
    first: str = FIRST,
    hours: int = HOURS,
    speed: float = SPEED,
    subscriptions: int = SUBSCRIPTIONS,
    master: str = "local[*]",
    stopping: Callable[[], AbstractContextManager[threading.Event]] = lambda: nullcontext(threading.Event()),
    progress: bool = True,
) -> StreamSummary:
    """Replay `hours` hours from a day on, `speed` of them a second, into the folder `output`; print the summary.

    It ends when all flights are answered. While the pipeline runs, `stopping` gives an event that ends it when set; the
    summary then covers the matches until then. If the process already has a Spark session, that one is used and left
    running. Raises `InvalidInput` for a day outside 2013, and `MissingExtra` if Spark, Java or the data is missing.
    """
    day = _checked(first, hours, speed, subscriptions)
    _clear(output)
    steps = Steps(4, shown=progress)
    with spark_session(master, steps, flights.PACKAGES) as session:
        flown, there, waiting = _prepare(session, output, steps, day, hours, subscriptions)
        replay = Replay(output, flown, Turnover(there, waiting, SEED), day)
        begun = time.perf_counter()
        with stopping() as stop:
            rung = _stream(output, replay, hours, speed, stop)
        seconds = time.perf_counter() - begun
    with steps.step("check", "Match the same events with one engine, in the same order"):
        differ = differing([*there, CLOCK], replay.played, rung)
    summary = _summary(output, replay.played, rung, seconds, differ)
    (output / "stream.json").write_text(json.dumps(asdict(summary) | {"output": str(output)}, indent=2) + "\n")
    print(summary.text())
    return summary


def _checked(first: str, hours: int, speed: float, subscriptions: int) -> dt.datetime:
    """Check the arguments and return the first hour; raises `InvalidInput`."""
    for name, number in (("hours", hours), ("subscriptions", subscriptions)):
        if number < 1:
            raise InvalidInput(f"{name} is {number}; it must be at least 1")
    if not speed > 0:
        raise InvalidInput(f"speed is {speed:g}; it must be above 0, in hours of the year for each second")
    try:
        day = dt.datetime.fromisoformat(first)
    except ValueError:
        day = None
    if day is None or day.year != 2013 or first != f"{day:%Y-%m-%d}":
        raise InvalidInput(f"day is {first!r}; it is one of 2013, as in {FIRST}")
    return day


def _clear(output: Path) -> None:
    """Remove what an earlier run left, since its checkpoint would be continued."""
    for part in PARTS:
        one = output / part
        shutil.rmtree(one) if one.is_dir() else one.unlink(missing_ok=True)
    output.mkdir(parents=True, exist_ok=True)


def _prepare(
    session: SparkSession, output: Path, steps: Steps, day: dt.datetime, hours: int, subscriptions: int
) -> tuple[list[dict[str, Any]], list[travel.Alert], list[travel.Alert]]:
    """The flights of those hours, the initial alerts, and those to come; also writes the pipeline's file."""
    sources = output / "sources"
    try:
        with steps.step("join", "Join flights, weather and airports", session):
            joined = flights.events(session, flights.write_sources(sources))
            until = day + dt.timedelta(hours=hours)
            # New York's local time of scheduled departure.
            local = "make_timestamp_ntz(year, month, day, hour, minute, 0)"
            wanted = joined.where(f"{local} >= '{day}' AND {local} < '{until}'")
            chosen = wanted.selectExpr("id", f"{local} AS scheduled", *ATTRIBUTES).orderBy("scheduled", "id")
            flown = chosen.toArrow().to_pylist()
        with steps.step("draw", f"Draw {subscriptions:,} travel alerts, and those to come", session):
            more = hours * OF_AN_HOUR["insert"]
            drawn = travel.draw(travel.catalogue(joined), subscriptions + more, SEED)
    finally:
        shutil.rmtree(sources, ignore_errors=True)
    there, waiting = drawn[:subscriptions], drawn[subscriptions:]
    travel.write([*there, CLOCK], output / "alerts.parquet")
    (output / "pipeline.toml").write_text(PIPELINE, encoding="utf-8")
    return flown, there, waiting


def _stream(output: Path, replay: Replay, hours: int, speed: float, stop: threading.Event) -> Rung:
    """Run, feed and follow the pipeline until all flights are answered or a stop is requested."""
    ringing, done, failed = Ringing(output / "matches", replay.played), threading.Event(), list[BaseException]()
    begun = threading.Event()

    def feed() -> None:
        try:
            begun.wait()
            replay.run(hours, speed, stop)
            _drain(ringing.rung, replay.played, stop)
        except BaseException as error:  # noqa: BLE001  which is raised where the pipeline ends
            failed.append(error)
        stop.set()

    threads = [threading.Thread(target=feed, name="tocsin-replay"), threading.Thread(target=ringing.run, args=(done,))]
    for thread in threads:
        thread.start()
    try:
        run_pipeline(read_pipeline(output / "pipeline.toml"), stop=stop, say=lambda what: _say(what, begun))
    finally:
        stop.set()
        begun.set()
        done.set()
        for thread in threads:
            thread.join()
    if failed:
        raise failed[0]
    return ringing.rung


def _say(what: str, begun: threading.Event) -> None:
    """Print what the pipeline starts; the replay begins when it starts matching."""
    print(f"      {what} ...", file=sys.stderr, flush=True)
    if what == "matching":
        begun.set()


def _drain(rung: Rung, played: Played, stop: threading.Event) -> None:
    """Wait until all replayed flights are answered."""
    until = time.monotonic() + _PATIENCE_S
    while rung.flights < len(played.flights) and time.monotonic() < until and not stop.wait(0.05):
        pass


def _summary(output: Path, played: Played, rung: Rung, seconds: float, differ: int) -> StreamSummary:
    kinds, took = played.kinds, rung.seconds or [0.0]
    return StreamSummary(
        output,
        len(played.changes),
        len(played.flights),
        rung.flights,
        rung.matches,
        kinds["insert"],
        kinds["delete"],
        kinds["update"] + kinds["rescore"],
        len(rung.states),
        float(np.median(took)),
        float(np.percentile(took, 99)),
        seconds,
        differ,
    )
