"""Subscriptions of the demo: travel alerts, drawn at random from the routes, carriers and planes that really flew.

The subscriptions are synthetic. A draw picks a route as often as it was flown. It asks for a delay, a cancellation, a
kind of weather or a region around the destination. So popular routes have many alerts, and few alerts ask for long
delays. The same seed draws the same alerts. The alerts in `FAMOUS` are written by hand and always included.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypedDict

import pyarrow as pa
import pyarrow.parquet as pq

from tocsin.errors import InvalidInput

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SCHEMA: Final = pa.schema([("id", pa.string()), ("where", pa.string()), ("score", pa.float64())])

WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

FAMOUS: Final = (
    ("longest-wait-of-the-year", "carrier = 'HA' AND arr_delay >= 1000"),
    ("february-blizzard", "month = 2 AND day BETWEEN 8 AND 9 AND dep_time IS NULL"),
    (
        "after-the-crash-at-sfo",
        "dest = 'SFO' AND month = 7 AND day IN (6, 7) AND (dep_time IS NULL OR arr_delay >= 120)",
    ),
    ("newark-to-laguardia", "origin = 'EWR' AND dest = 'LGA'"),
    ("left-in-a-gale", "weather.wind_speed >= 34 AND dep_time IS NOT NULL"),
    ("on-time-in-the-fog", "weather.visib <= 0.25 AND dep_delay <= 0"),
    ("thanksgiving-eve", "month = 11 AND day = 27 AND (arr_delay >= 60 OR dep_time IS NULL)"),
    (
        "christmas-in-hawaii",
        "S_INTERSECTS(dest_location, BBOX(-161, 18, -154, 23)) AND month = 12 AND day BETWEEN 20 AND 26",
    ),
    ("an-hour-early", "distance >= 2400 AND arr_delay <= -60"),
    ("flew-without-a-tail-number", "tailnum IS NULL AND NOT (dep_time IS NULL)"),
    ("faster-than-sound", "distance >= 2400 AND air_time <= 200"),
    ("kennedy-to-laguardia", "origin = 'JFK' AND dest = 'LGA'"),
)
"""(id, where) of the alerts written by hand. No flight matches the last two."""


class Alert(TypedDict):
    """A subscription record."""

    id: str
    where: str
    score: float


class Route(NamedTuple):
    """A carrier's flights from one airport to another. `longitude` and `latitude` are the destination's."""

    origin: str
    dest: str
    carrier: str
    flights: int
    longitude: float
    latitude: float


@dataclass(frozen=True)
class Catalogue:
    """What alerts can ask for: the routes, and the tail numbers of the planes that flew most."""

    routes: Sequence[Route]
    planes: Sequence[str]

    @cached_property
    def _flown(self) -> Sequence[int]:
        """The cumulative number of flights up to each route."""
        return list(accumulate(route.flights for route in self.routes))

    def route(self, rng: random.Random) -> Route:
        """A random route, weighted by its flights."""
        return rng.choices(self.routes, cum_weights=self._flown)[0]

    def carriers(self, rng: random.Random, count: int) -> str:
        """`count` different carriers as a list for IN: `'AA', 'UA'`."""
        chosen: set[str] = set()
        while len(chosen) < min(count, len({route.carrier for route in self.routes})):
            chosen.add(self.route(rng).carrier)
        return ", ".join(f"'{carrier}'" for carrier in sorted(chosen))


def catalogue(events: DataFrame, planes: int = 500) -> Catalogue:
    """Read the catalogue from the events; about 440 routes and `planes` tail numbers are collected to this process."""
    place = "max(dest_location[0]) AS longitude", "max(dest_location[1]) AS latitude"
    events.createOrReplaceTempView("flown")
    session = events.sparkSession
    routes = session.sql(
        f"SELECT origin, dest, carrier, count(*) AS flights, {place[0]}, {place[1]} FROM flown "
        "GROUP BY ALL ORDER BY ALL"
    )
    tails = session.sql(
        "SELECT tailnum FROM flown WHERE tailnum IS NOT NULL GROUP BY tailnum "
        f"ORDER BY count(*) DESC, tailnum LIMIT {planes}"
    )
    return Catalogue([Route(*row) for row in routes.collect()], [row.tailnum for row in tails.collect()])


def draw(known: Catalogue, count: int, seed: int) -> list[Alert]:
    """Draw `count` alerts with different ids: the famous ones, then numbered random ones."""
    if count < 1:
        raise InvalidInput(f"{count} subscriptions; there must be at least 1")
    rng = random.Random(seed)
    drawn = [Alert(id=name, where=where, score=10.0) for name, where in FAMOUS[:count]]
    seen: set[str] = set()
    for number in range(len(drawn), count):
        (kind,) = rng.choices(list(_KINDS), list(_KINDS.values()))
        name, where = kind(rng, known)
        # Duplicates are harmless but dull: draw again, a limited number of times.
        for _ in range(20):
            if where not in seen:
                break
            name, where = kind(rng, known)
        seen.add(where)
        drawn.append(Alert(id=f"{name}-{number:05d}", where=where, score=round(rng.paretovariate(1.5), 2)))
    return drawn


def write(alerts: Sequence[Alert], path: Path) -> None:
    """Write the alerts as one Parquet file."""
    pq.write_table(pa.Table.from_pylist(list(alerts), schema=SCHEMA), path)


def _late(rng: random.Random, known: Catalogue) -> tuple[str, str]:
    route = known.route(rng)
    carrier = rng.choice(["", f" AND carrier = '{route.carrier}'"])
    return _slug(route, "late"), f"{_between(route)}{carrier} AND arr_delay >= {_minutes(rng, 15)}"


def _cancelled(rng: random.Random, known: Catalogue) -> tuple[str, str]:
    route, day = known.route(rng), rng.choice(WEEKDAYS)
    hour, month = rng.randint(6, 21), rng.randint(1, 12)
    when = rng.choice([f"hour >= {hour}", f"month = {month}", f"weekday = '{day}'"])
    return _slug(route, "cancelled"), f"{_between(route)} AND dep_time IS NULL AND {when}"


def _commute(rng: random.Random, known: Catalogue) -> tuple[str, str]:
    route, first = known.route(rng), rng.randint(5, 19)
    days = ", ".join(f"'{day}'" for day in sorted(rng.sample(WEEKDAYS, rng.randint(1, 3)), key=WEEKDAYS.index))
    trouble = f"(dep_delay >= {_minutes(rng, 20)} OR dep_time IS NULL)"
    hours = f"hour BETWEEN {first} AND {first + rng.randint(1, 4)}"
    return _slug(route, "commute"), f"{_between(route)} AND weekday IN ({days}) AND {hours} AND {trouble}"


def _near(rng: random.Random, known: Catalogue) -> tuple[str, str]:
    route, wide, high = known.route(rng), rng.uniform(0.2, 2.5), rng.uniform(0.2, 1.5)
    x, y = route.longitude, route.latitude
    box = f"BBOX({x - wide:.2f}, {y - high:.2f}, {x + wide:.2f}, {y + high:.2f})"
    where = f"S_INTERSECTS(dest_location, {box}) AND dep_delay >= {_minutes(rng, 45)}"
    return f"near-{route.dest.lower()}", f"{where} AND carrier IN ({known.carriers(rng, rng.randint(1, 3))})"


def _wind(rng: random.Random, known: Catalogue) -> tuple[str, str]:
    route = known.route(rng)
    here = f"{route.dest}-".lower(), f" AND dest = '{route.dest}'"
    place, where = here if rng.random() < 0.8 else ("", "")
    delay = f"carrier IN ({known.carriers(rng, 2)}) AND dep_delay > {_minutes(rng, 30)}"
    return f"{place}wind", f"{delay} AND weather.wind_speed >= {rng.randint(18, 35)}{where}"


def _plane(rng: random.Random, known: Catalogue) -> tuple[str, str]:
    tail = rng.choice(known.planes)
    if rng.random() < 0.5:
        return f"plane-{tail.lower()}", f"tailnum = '{tail}' AND arr_delay >= {_minutes(rng, 15)}"
    where = f"tailnum LIKE '{tail[:4]}%' AND arr_delay >= {_minutes(rng, 60)}"
    return f"fleet-{tail[:4].lower()}", where


def _storm(rng: random.Random, known: Catalogue) -> tuple[str, str]:
    route = known.route(rng)
    bad = f"(weather.visib <= {rng.choice([0.5, 1, 2])} OR weather.precip >= {rng.choice([0.1, 0.2, 0.3])})"
    where = f"origin = '{route.origin}' AND {bad} AND dep_delay >= {_minutes(rng, 60)}"
    return f"{route.origin.lower()}-storm", f"{where} AND NOT (carrier IN ({known.carriers(rng, 3)}))"


def _caught_up(rng: random.Random, known: Catalogue) -> tuple[str, str]:
    route = known.route(rng)
    where = f"{_between(route)} AND dep_delay >= {rng.randint(10, 60)}"
    return _slug(route, "caught-up"), f"{where} AND dep_delay - arr_delay >= {rng.randint(10, 45)}"


def _either(rng: random.Random, known: Catalogue) -> tuple[str, str]:
    one, other = known.route(rng), known.route(rng)
    where = f"(({_between(one)}) OR ({_between(other)})) AND arr_delay >= {_minutes(rng, 45)}"
    return f"{one.dest}-or-{other.dest}".lower(), where


def _cold(rng: random.Random, known: Catalogue) -> tuple[str, str]:
    route = known.route(rng)
    where = f"carrier = '{route.carrier}' AND weather.temp <= {rng.randint(12, 32)}"
    where += f" AND NOT (origin = '{route.origin}') AND dep_delay >= {_minutes(rng, 60)}"
    return f"{route.carrier.lower()}-cold", where


_Draw = Callable[[random.Random, Catalogue], tuple[str, str]]

_KINDS: Final[dict[_Draw, int]] = {
    _late: 32,
    _cancelled: 8,
    _commute: 14,
    _near: 14,
    _wind: 8,
    _plane: 8,
    _storm: 2,
    _caught_up: 6,
    _either: 6,
    _cold: 2,
}
"""The ways to draw an alert, and the percentage of each."""


def _between(route: Route) -> str:
    return f"origin = '{route.origin}' AND dest = '{route.dest}'"


def _slug(route: Route, kind: str) -> str:
    return f"{route.origin}-{route.dest}-{kind}".lower()


def _minutes(rng: random.Random, least: int) -> int:
    """A delay worth an alert: `least` or more, in steps of 5. Half lie within 35 minutes of it, few beyond 200."""
    return least + 5 * int(rng.expovariate(1 / 10))
