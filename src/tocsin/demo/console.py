"""The demo of the console: a server with planes in the air, which runs until it is stopped.

A day of flights is played again and again, a minute of it each second. Every position of a plane is an event. There are
regions around cities, alerts for airlines, and a partner that gets some matches by webhook and refuses some of them.
A fence tells when planes enter and leave areas of the airspace, and a window keeps the planes nearest to some cities.
"""

from __future__ import annotations

import json
import random
import signal
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from tocsin.client import Client
from tocsin.demo.fences import DAY, LATE, City, airports, cities_of, flights_on, positions_of
from tocsin.demo.serving import ServerProcess
from tocsin.errors import InvalidInput

ALERTS: Final = 5_000
_MINUTES_A_SECOND: Final = 1.0
_TICKS: Final = 5
"""Requests in a second."""
_STREAMS: Final = ("airspace", "cities", "late", "radar", "friends")
_AREAS: Final = {
    "Great Lakes": (-92, 41.5, -79, 47),
    "Gulf of Mexico": (-97, 20, -83, 29.5),
    "Rockies": (-114, 36, -104, 48),
}
_WINDOW: Final = "approaches"
_NEAREST: Final = 5
_KINDS: Final = (
    "late >= {late}",
    "late >= {late} AND origin = '{origin}'",
    "late BETWEEN {low} AND {late}",
    "plane LIKE '{carrier}1%' AND late > {low}",
)


class _Partner(BaseHTTPRequestHandler):
    """Takes what is posted, and refuses planes that are more than three hours late."""

    def do_POST(self) -> None:
        document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        is_too_late = document["data"]["event"].get("late", 0) > 180
        self.send_response(422 if is_too_late else 204)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the console shows what came."""


def run(*, day: str = DAY, alerts: int = ALERTS, events: int | None = None, port: int | None = None) -> None:
    """Run until a signal, or until so many positions were published. Raises as the demo of fences does."""
    if alerts < 1 or (events is not None and events < 1):
        raise InvalidInput("the demo needs an alert and a position at least")
    print(f"reading the flights of {day}", file=sys.stderr)
    flown = flights_on(day)
    places = airports()
    known = {one["plane"]: one for one in flown}
    table = positions_of(flown, places).to_pylist()
    subscriptions = [*_regions(flown, places), *_alerts(flown, alerts, random.Random(1))]
    partner = ThreadingHTTPServer(("127.0.0.1", 0), _Partner)
    threading.Thread(target=partner.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder, ServerProcess(Path(folder), port) as server, suppress(_Stopped):
        signal.signal(signal.SIGTERM, _stop)
        signal.signal(signal.SIGINT, _stop)
        with Client(server.url) as client:
            print(f"subscribing {len(subscriptions):,} alerts and regions", file=sys.stderr)
            _prepare(client, subscriptions, partner.server_port)
            _prepare_window(client, cities_of(flown, places)[:12])
            print(f"the console is at {server.url}/ - Ctrl-C ends the demo", flush=True)
            _publish(client, table, known, events)
    partner.shutdown()


class _Stopped(BaseException):
    """The demo was told to stop. It is not an `Exception`, so that no retry swallows it."""


def _stop(*_: object) -> None:
    raise _Stopped


def _regions(flown: list[dict[str, Any]], places: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """A region around each city, and one subscription for every position."""
    cities = cities_of(flown, places)
    found = [
        {
            "id": f"{city.name} ({city.code})",
            "where": city.where,
            "destination": "cities",
            "payload": {"city": city.code},
        }
        for city in cities
    ]
    return [
        *found,
        {"id": LATE, "where": "late >= 60", "destination": "late"},
        {"id": "partner: very late", "where": "late >= 150", "destination": "partner", "throttle_s": 2},
        {"id": "radar", "where": "location IS NOT NULL", "destination": "radar"},
        *(
            {
                "id": name,
                "where": f"S_INTERSECTS(location, BBOX({', '.join(map(str, box))}))",
                "fence": "planes",
                "destination": "airspace",
            }
            for name, box in _AREAS.items()
        ),
        {"id": "Hawaii", "where": "S_INTERSECTS(location, BBOX(-161, 18.5, -154, 22.5))", "destination": "cities"},
        {"id": "Bermuda", "where": "DISTANCE_M(location, POINT(-64.7 32.3)) <= 300000", "destination": "cities"},
    ]


def _alerts(flown: list[dict[str, Any]], count: int, draw: random.Random) -> list[dict[str, Any]]:
    """Alerts for routes that were flown, many of them silent."""
    alerts = []
    for number in range(count):
        flight = draw.choice(flown)
        kind = draw.choice(_KINDS).format(
            late=draw.randint(20, 400), low=draw.randint(5, 19), origin=flight["origin"], carrier=flight["plane"][:2]
        )
        where = f"dest = '{flight['dest']}' AND {kind}"
        alerts.append({"id": f"alert-{number:05}", "where": where, "destination": "friends", "throttle_s": 5})
    return alerts


def _prepare(client: Client, subscriptions: list[dict[str, Any]], port: int) -> None:
    for name in _STREAMS:
        client.put_destination(name)
    settings = {"url": f"http://127.0.0.1:{port}/", "allow_private": True, "order": "any", "max_attempts": 1}
    client.put_destination("partner", "webhook", settings)
    client.put_fence("planes", {"key": "plane", "exit_after": 2})
    client.subscribe_many(subscriptions, replace=True)


def _prepare_window(client: Client, cities: list[City]) -> None:
    """The planes that fly to each of some cities, the nearest first, among the last positions."""
    client.put_window(_WINDOW, {"size": 400, "bounds": [-180, -90, 180, 90]})
    window = client.window(_WINDOW)
    for city in cities:
        window.subscribe(
            f"to {city.name}", words=[city.code], location=(city.longitude, city.latitude), k=_NEAREST, alpha=0.2
        )


def _publish(client: Client, table: list[dict[str, Any]], known: dict[str, dict[str, Any]], events: int | None) -> None:
    """Publish positions at their pace; a reader acknowledges those of the cities."""
    left = events
    begun = time.monotonic()
    for number, group in enumerate(_groups(table)):
        records = [_event(one, known[one["plane"]]) for one in group[:left]]
        if records:
            client.publish(records)
            client.window(_WINDOW).push_batch([_message(one) for one in records], changes=False)
            newest = client.destination("cities")["newest"]
            if newest:
                client.acknowledge("cities", newest)
        if left is not None:
            left -= len(records)
            if left <= 0:
                return
        time.sleep(max(0.0, begun + (number + 1) / _TICKS - time.monotonic()))


def _groups(table: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The positions of each tick, again and again. The day begins when most planes are in the air."""
    step = _MINUTES_A_SECOND * 60 / _TICKS
    first = table[0]["time"]
    groups: list[list[dict[str, Any]]] = []
    for one in table:
        seconds = (one["time"] - first).total_seconds() + zlib.crc32(one["plane"].encode()) % 60  # not all at once
        place = int(seconds // step)
        groups.extend([] for _ in range(place + 1 - len(groups)))
        groups[place].append(one)
    noon = len(groups) // 3
    yield from groups[noon:]
    while True:
        yield from groups


def _message(event: dict[str, Any]) -> dict[str, Any]:
    """A position as a message of the window."""
    return {"words": [event["dest"]], "location": event["location"], "key": f"{event['plane']} {event['time'][11:16]}"}


def _event(position: dict[str, Any], flight: dict[str, Any]) -> dict[str, Any]:
    """A position as an event."""
    return {
        "plane": position["plane"],
        "origin": flight["origin"],
        "dest": flight["dest"],
        "late": position["late"],
        "time": f"{position['time']:%Y-%m-%dT%H:%M:%SZ}",
        "location": [round(one, 4) for one in position["location"]],
    }
