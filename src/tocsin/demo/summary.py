"""Summary of the main demo: counts, throughput, the busiest and the silent alerts, aggregated by Spark.

The rows collected to this process are bounded by the calendar and the map (8,760 hours, 224 routes), not by the
flights.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


class Busy(NamedTuple):
    """An alert and the number of its matches."""

    id: str
    where: str
    rung: int


class Link(NamedTuple):
    """The flights from one New York airport to one destination, and the number of alerts that they matched."""

    origin: str
    dest: str
    city: str
    longitude: float
    latitude: float
    flights: int
    alerts: int


class Hour(NamedTuple):
    """The flights scheduled in one hour of the year.

    The weather is the worst of the three airports; None if unknown.
    """

    month: int
    day: int
    hour: int
    flights: int
    alerts: int
    cancelled: int
    gust_mph: float | None
    precipitation_in: float | None


class Counts(NamedTuple):
    """Counts of flights and of matched alerts; `most` is for one flight, `bad` counts unreadable flights."""

    events: int
    with_weather: int
    with_place: int
    rang: int
    alerts: int
    most: int
    bad: int


@dataclass(frozen=True, slots=True)
class Summary:
    """The demo's result. `seconds` is the time of each step; paths are below `output`."""

    output: Path
    counts: Counts
    accepted: int
    rejected: int
    silent: int
    busiest: list[Busy]
    seconds: dict[str, float]
    explained: list[str] = field(default_factory=list)
    compared: str = ""  # with a query for each alert

    @property
    def events_per_s(self) -> float:
        """Flights matched a second, including reading and writing Parquet."""
        return self.counts.events / self.seconds["match"]

    def text(self) -> str:
        """The summary as text for users."""
        return "\n".join([*self._numbers(), "", *self._busiest(), "", *self._explained(), *self._places()])

    def write(self, path: Path) -> None:
        """Write the summary for programs, as JSON."""
        record = dataclasses.asdict(self) | {
            "output": str(self.output),
            "counts": self.counts._asdict(),
            "busiest": [busy._asdict() for busy in self.busiest],
            "events_per_s": self.events_per_s,
        }
        path.write_text(json.dumps(record, indent=2) + "\n")

    def _numbers(self) -> list[str]:
        c, total = self.counts, self.accepted + self.rejected
        alerts_per_s = c.alerts / self.seconds["match"]
        per_flight = c.alerts / max(c.events, 1)
        return [
            "A year of flights out of New York and their travel alerts",
            "",
            f"  flights        {c.events:>12,}   {_share(c.with_weather, c.events)} with weather, "
            f"{_share(c.with_place, c.events)} with both places; {c.bad:,} could not be read",
            f"  subscriptions  {self.accepted:>12,}   of {total:,}; {self.rejected:,} rejected",
            f"  alerts rung    {c.alerts:>12,}   {per_flight:.1f} a flight, {c.most:,} at most; "
            f"{_share(c.rang, c.events)} of the flights ring any",
            f"  silent         {self.silent:>12,}   subscriptions that no flight rang",
            f"  throughput     {self.events_per_s:>12,.0f}   flights a second, "
            f"{alerts_per_s:,.0f} alerts a second, Parquet to Parquet",
            *([f"  one by one       {self.compared}"] if self.compared else []),
            "  time             " + ", ".join(f"{name} {took:.1f} s" for name, took in self.seconds.items()),
        ]

    def _busiest(self) -> list[str]:
        lines = [f"  {busy.rung:>7,}  {busy.id:<26} {busy.where}" for busy in self.busiest]
        return ["The busiest subscriptions", "", *lines]

    def _explained(self) -> list[str]:
        return [line for text in self.explained for line in (*text.split("\n"), "")]

    def _places(self) -> list[str]:
        named = {
            "matches": "matches.parquet",
            "alerts": "alerts.parquet",
            "pictures": "map.png",
            "": "year.png",
            "numbers": "summary.json",
        }
        return ["Output files", "", *(f"  {name:<9} {self.output / file}" for name, file in named.items())]


def counts(matched: DataFrame) -> Counts:
    """Count the matched flights in one pass."""
    row = matched.selectExpr(
        "count(*)",
        "count(weather)",
        "count_if(origin_location IS NOT NULL AND dest_location IS NOT NULL)",
        "count_if(size(matches) > 0)",
        "coalesce(sum(size(matches)), 0)",
        "coalesce(max(size(matches)), 0)",
        "count(error)",
    ).first()
    return Counts(*(row or (0,) * 7))


def rung(matched: DataFrame, alerts: DataFrame) -> DataFrame:
    """Each alert with `rung`, the number of flights that match it."""
    each = matched.selectExpr("explode(matches.subscription) AS id").groupBy("id").count()
    return alerts.join(each, "id", "left").selectExpr("id", "where", "coalesce(count, 0) AS rung")


def busiest(counted: DataFrame, most: int = 10) -> list[Busy]:
    """The alerts with the most matches; ties by id."""
    rows = counted.where("rung > 0").orderBy("rung", "id", ascending=[False, True]).limit(most)
    return [Busy(row.id, row["where"], row.rung) for row in rows.collect()]


def silent(counted: DataFrame) -> int:
    """The number of alerts without a match."""
    return int(counted.where("rung = 0").count())


def links(matched: DataFrame) -> list[Link]:
    """The alerts by origin and destination: at most about 224 rows."""
    grouped = matched.groupBy("origin", "dest").agg(
        *_expressions(
            "any_value(dest_city)",
            "any_value(dest_location[0])",
            "any_value(dest_location[1])",
            "count(*)",
            "coalesce(sum(size(matches)), 0)",
        )
    )
    return [Link(*row) for row in grouped.orderBy("origin", "dest").collect()]


def hours(matched: DataFrame) -> list[Hour]:
    """The alerts by month, day and hour: at most 8,760 rows."""
    grouped = matched.groupBy("month", "day", "hour").agg(
        *_expressions(
            "count(*)",
            "coalesce(sum(size(matches)), 0)",
            "count_if(dep_time IS NULL)",
            "max(weather.wind_gust)",
            "max(weather.precip)",
        )
    )
    return [Hour(*row) for row in grouped.orderBy("month", "day", "hour").collect()]


def _expressions(*texts: str) -> list[Column]:
    from pyspark.sql import functions as sql

    return [sql.expr(text) for text in texts]


def _share(part: int, whole: int) -> str:
    return f"{100 * part / max(whole, 1):.2f} %"
