"""The main demo: read and join, draw, compile, match, summarise and paint, one Spark job after another."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow.parquet as pq

from tocsin.demo import alerts as travel
from tocsin.demo import flights, one_by_one, pictures
from tocsin.demo import summary as results
from tocsin.demo.output import finished_in
from tocsin.demo.progress import Steps
from tocsin.demo.summary import Summary
from tocsin.engine import match
from tocsin.errors import InvalidInput, missing_extra
from tocsin.spark.session import local_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SUBSCRIPTIONS: Final = 20_000
SEED: Final = 2013
PARTITIONS: Final = 32
"""Partitions of the events: enough to move the progress bar, and to keep all cores busy until the end."""

INDEX_PARTITIONS: Final = 2

_SAMPLED: Final = 10_000
ATTRIBUTES: Final = [
    "origin",
    "dest",
    "carrier",
    "tailnum",
    "month",
    "day",
    "weekday",
    "hour",
    "dep_time",
    "dep_delay",
    "arr_delay",
    "air_time",
    "distance",
    "dest_location",
    "weather",
]
"""The columns that alerts may ask about."""

PARTS: Final = (
    "events.parquet",
    "alerts.parquet",
    "index",
    "matches.parquet",
    "map.png",
    "year.png",
    "summary.json",
)
"""The files and folders that a run leaves in its output folder."""


def run(
    output: Path,
    *,
    subscriptions: int = SUBSCRIPTIONS,
    seed: int = SEED,
    master: str = "local[*]",
    events: int | None = None,
    progress: bool = True,
    partitions: int = PARTITIONS,
) -> Summary:
    """Run the demo into the folder `output` and print the summary on standard output.

    `subscriptions` alerts are drawn with `seed`; `events` limits the flights (all 336,776 by default), and `partitions`
    is the number of tasks for them. Progress goes to standard error. If the process already has a Spark session, that
    one is used and left running. Ctrl-C stops the job, removes unfinished results and ends the process (`SystemExit`,
    status 130) with one line. Raises `MissingExtra` if Spark, Java, the data or matplotlib is missing.
    """
    for name, number in (("subscriptions", subscriptions), ("events", events), ("partitions", partitions)):
        if number is not None and number < 1:
            raise InvalidInput(f"{name} is {number}; it must be at least 1")
    output = Path(output)
    steps = Steps(9, shown=progress)
    try:
        with (
            finished_in(output, PARTS) as folder,
            spark_session(master, steps, (*flights.PACKAGES, "matplotlib")) as spark,
        ):
            summary = _Job(spark, folder, output, steps).run(subscriptions, seed, events, partitions)
    except KeyboardInterrupt:
        print(f"Stopped. Unfinished files are removed from {output}.", file=sys.stderr)
        raise SystemExit(130) from None
    print(summary.text())
    return summary


class _Job:
    """The steps that need Spark. They write into `folder`, which is moved to `output` when all is done."""

    def __init__(self, spark: SparkSession, folder: Path, output: Path, steps: Steps) -> None:
        self.spark = spark
        self.folder = folder
        self.output = output
        self.steps = steps

    def run(self, subscriptions: int, seed: int, events: int | None, partitions: int) -> Summary:
        # Otherwise a task reads many small files, and the progress bar hardly moves.
        self.spark.conf.set("spark.sql.files.minPartitionNum", str(partitions))
        self._join(events, partitions)
        self._draw(subscriptions, seed)
        with self.steps.step("kernels", "Load the kernels (compiled the first time, about 45 s)"):
            match([{"id": name, "where": where} for name, where in travel.FAMOUS], {"carrier": "HA"})
        with self.steps.step("compile", f"Compile {subscriptions:,} subscriptions", self.spark):
            report = _compile(self._read("alerts.parquet"), self.folder / "index", self._read("events.parquet"))
        with self.steps.step("match", "Match the flights", self.spark):
            matched = _match(self._read("events.parquet"), self.folder / "index")
            matched.write.parquet(str(self.folder / "matches.parquet"))
        summary = self._summarise(int(report.accepted), int(report.rejected))
        summary.write(self.folder / "summary.json")
        return summary

    def _join(self, limit: int | None, partitions: int) -> None:
        with self.steps.step("join", "Join flights, weather and airports", self.spark):
            sources = flights.write_sources(self.folder / "sources")
            joined = flights.events(self.spark, sources, limit)
            joined.repartition(partitions).write.parquet(str(self.folder / "events.parquet"))

    def _draw(self, count: int, seed: int) -> None:
        with self.steps.step("draw", f"Draw {count:,} travel alerts", self.spark):
            known = travel.catalogue(self._read("events.parquet"))
            travel.write(travel.draw(known, count, seed), self.folder / "alerts.parquet")

    def _summarise(self, accepted: int, rejected: int) -> Summary:
        with self.steps.step("summarise", "Summarise", self.spark):
            matched, alerts = self._read("matches.parquet"), self._read("alerts.parquet")
            counted = results.rung(matched, alerts)
            counts = results.counts(matched)
            busiest, silent = results.busiest(counted), results.silent(counted)
            explained = _explained(matched, alerts)
            links, hours = results.links(matched), results.hours(matched)
        compared = self._compare()
        with self.steps.step("paint", "Draw the pictures"):
            pictures.draw_map(links, flights.airfields(), self.folder / "map.png")
            pictures.draw_year(hours, self.folder / "year.png")
        return Summary(
            self.output, counts, accepted, rejected, silent, busiest, self.steps.seconds, explained, compared
        )

    def _compare(self) -> str:
        """The comparison with a query for each alert."""
        with self.steps.step(
            "compare", f"Match {one_by_one.SAMPLED} alerts with DuckDB, and all with tocsin, in one process"
        ):
            flown = pq.read_table(self.folder / "events.parquet", columns=ATTRIBUTES)
            asked = pq.read_table(self.folder / "alerts.parquet").to_pylist()
            return one_by_one.compare(flown, asked).text()

    def _read(self, name: str) -> DataFrame:
        return self.spark.read.parquet(str(self.folder / name))


def _compile(alerts: DataFrame, index: Path, events: DataFrame) -> Any:
    """Compile the alerts. A sample of flights tells which of an alert's conditions is the rarest."""
    from tocsin import sample, spark

    statistics = sample(events.select(*ATTRIBUTES).limit(_SAMPLED).toArrow())
    return spark.compile(alerts, str(index), partitions=INDEX_PARTITIONS, statistics=statistics)


def _match(events: DataFrame, index: Path) -> DataFrame:
    from tocsin import spark

    return spark.match(events, str(index), attributes=ATTRIBUTES)


def _explain(subscription: dict[str, Any], event: dict[str, Any]) -> str:
    import tocsin

    return str(tocsin.explain(subscription, event))


def _explained(matched: DataFrame, alerts: DataFrame) -> list[str]:
    """Explain the flight with the most matches, for an alert that matches it and a similar one that does not."""
    ringing = matched.where("size(matches) > 0").selectExpr("*", "size(matches) AS rung")
    row = ringing.orderBy("rung", "id", ascending=[False, True]).first()
    if row is None:
        return []
    event = {name: value for name, value in row.asDict(recursive=True).items() if name in ATTRIBUTES}
    rang = [match.subscription for match in row.matches]
    others = alerts.where(~alerts.id.isin(rang))
    route = f"{row.origin}-{row.dest}-".lower()
    chosen = {
        "A match": alerts.where(alerts.id == rang[0]).first(),
        "No match": others.orderBy(~others.id.startswith(route), "id").first(),
    }
    return [
        f"{kind}: {alert.id} and the flight {row.id} to {row.dest}\n\n"
        f"{alert['where']}\n{_explain(alert.asDict(), event)}"
        for kind, alert in chosen.items()
        if alert is not None
    ]


@contextmanager
def spark_session(master: str, steps: Steps, needs: Sequence[str]) -> Iterator[SparkSession]:
    """A Spark session, stopped afterwards unless it existed before. It starts only if all packages are installed."""
    missing = next((name for name in ("pyspark", *needs) if find_spec(name) is None), None)
    if missing is not None:
        raise missing_extra("demo", f"{missing} is not installed")
    from pyspark.sql import SparkSession

    ours = SparkSession.getActiveSession() is None
    with steps.step("start", "Start Spark"):
        session = local_session(master, app="tocsin demo")
    try:
        yield session
    finally:
        if ours:
            session.stop()
