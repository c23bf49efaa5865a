"""What the service holds in memory: destinations, and where the matches of each subscription go.

Only the committing thread changes it, once a change is durable. Every other thread reads single values.
"""

from __future__ import annotations

import bisect
import json
import sqlite3
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from tocsin.model.subscription import SubscriptionId
from tocsin.service import tables
from tocsin.service.activity import Activity
from tocsin.service.clock import Moment
from tocsin.service.throttles import read_told
from tocsin.store import Identity

NAMED: Final = "named"
"""The option of destinations whose deliveries tell named parts."""
_EPOCHS: Final = "service_epochs"


@dataclass(slots=True)
class Destination:
    """A destination, with the numbers of its deliveries: dense, from 1."""

    number: int  # never used again
    tenant: str
    id: str
    kind: str
    options: dict[str, Any]
    version: int  # of its last change
    acknowledged: int  # the durable cursor
    earliest: int  # the first delivery that is kept
    newest: int  # the last delivery
    subscriptions: int = 0  # how many name it

    @property
    def asks_for_named(self) -> bool:
        """Whether deliveries tell which named parts of conditions held."""
        return bool(self.options.get(NAMED))

    @property
    def etag(self) -> str:
        """Changes with each change of its options, and differs after it was deleted and made again."""
        return f'"{self.number}.{self.version}"'


class Route(NamedTuple):
    """Where and when a subscription's matches are delivered. Times are milliseconds since 1970."""

    destination: int | None = None  # its number
    throttle_s: float | None = None
    paused_until: int | None = None
    expires_at: int | None = None
    fence: int | None = None  # its number: not matches are delivered, but changes of objects

    def is_silent(self, now: int) -> bool:
        """Whether the subscription is told nothing: it is paused, or has expired."""
        return (self.paused_until or 0) > now or (self.expires_at is not None and self.expires_at <= now)

    def is_due(self, last: int | None, now: int) -> bool:
        """Whether its throttle lets it be told. `last`: when it was told before. Both are of the steady clock."""
        return self.throttle_s is None or last is None or now - last >= self.throttle_s * 1000


NOWHERE: Final = Route()


@dataclass(slots=True)
class Directory:
    """Destinations by number and by name, routes by subscription, and the histories of the store."""

    identity: Identity
    destinations: dict[int, Destination] = field(default_factory=dict)
    named: dict[tuple[str, str], Destination] = field(default_factory=dict)
    routes: dict[SubscriptionId, Route] = field(default_factory=dict)
    told: dict[SubscriptionId, int] = field(default_factory=dict)  # when throttled ones were last told: steady
    asking: int = 0  # destinations that ask for named parts
    last_event: int = 0
    first_event: int = 1
    published_bytes: int = 0  # of all events so far
    epochs: list[tuple[int, str]] = field(default_factory=list)  # first event and name of each history
    activity: Activity = field(default_factory=Activity)
    _shared: dict[Route, Route] = field(default_factory=dict)

    def put(self, destination: Destination) -> None:
        """Add a destination."""
        self.destinations[destination.number] = destination
        self.named[destination.tenant, destination.id] = destination
        self.asking += destination.asks_for_named

    def change(self, destination: Destination, options: dict[str, Any], version: int) -> None:
        """Replace the options of a destination."""
        self.asking -= destination.asks_for_named
        destination.options, destination.version = options, version
        self.asking += destination.asks_for_named

    def remove(self, destination: Destination) -> None:
        """Forget a destination."""
        del self.destinations[destination.number], self.named[destination.tenant, destination.id]
        self.asking -= destination.asks_for_named

    def route(self, id: SubscriptionId, route: Route | None) -> None:
        """Set a subscription's route, or forget the subscription, and count who names each destination."""
        if route is None:
            self.activity.forget(id)
        else:
            self.activity.known(id)
        before = self.routes.get(id)
        if before is not None and before.destination in self.destinations:
            self.destinations[before.destination].subscriptions -= 1
        if route is None or route.throttle_s is None:
            self.told.pop(id, None)
        if route is None or route == NOWHERE:
            self.routes.pop(id, None)
            return
        self.routes[id] = self._shared.setdefault(route, route)
        if route.destination in self.destinations:
            self.destinations[route.destination].subscriptions += 1

    def epoch(self, destination: Destination) -> str:
        """The history of a destination's numbers: another one after a restore, or if it was made again."""
        return f"{self.identity.epoch}.{destination.number}"

    def key(self, event: int, destination: int) -> str:
        """The key of a delivery: the same each time that it comes, also after a restore."""
        place = bisect.bisect_right(self.epochs, event, key=lambda one: one[0]) - 1
        return f"{self.epochs[max(place, 0)][1]}-{event}-{destination}"


def read_directory(connection: sqlite3.Connection, identity: Identity, now: Moment) -> Directory:
    """The directory of a store."""
    one = Directory(identity)
    one.last_event, one.published_bytes = tables.last_event(connection)
    floors = dict(connection.execute("SELECT name, value FROM meta WHERE name IN ('service_floor', 'service_bytes')"))
    one.last_event = max(one.last_event, floors.get("service_floor", 0))  # events that are deleted count
    one.published_bytes = max(one.published_bytes, floors.get("service_bytes", 0))
    first = connection.execute("SELECT min(sequence) FROM service_events").fetchone()[0]
    one.first_event = one.last_event + 1 if first is None else first
    epochs = connection.execute("SELECT value FROM meta WHERE name = ?", (_EPOCHS,)).fetchone()
    one.epochs = [] if epochs is None else [(first, name) for first, name in json.loads(epochs[0])]
    statement = "SELECT number, tenant, id, kind, options, version, acknowledged, earliest FROM service_destinations"
    for number, tenant, id, kind, options, version, acknowledged, earliest in connection.execute(statement).fetchall():
        newest = tables.newest(connection, number, earliest)
        own = json.loads(options)
        one.put(Destination(number, tenant, id, kind, own, version, acknowledged, earliest, newest))
    routes = connection.execute(
        "SELECT id, destination, throttle_s, paused_until, expires_at, fence FROM service_routes"
    )
    for id, *route in routes:
        one.route(id, Route(*route))
    one.told = read_told(connection, now)
    return one


class BeginHistory:
    """The change that notes a new history of the store: the first one, or that of a restored backup."""

    is_alone = True

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    def write(self, database: Any, sequence: int, touched: set[object]) -> int:
        epochs = self._directory.epochs
        if not epochs or epochs[-1][1] != self._directory.identity.epoch:
            epochs.append((self._directory.last_event + 1, self._directory.identity.epoch))
            database.put_meta(_EPOCHS, json.dumps(epochs))
        return sequence

    def apply(self) -> None:
        """`write` made it in memory, too: nothing can refuse it."""
