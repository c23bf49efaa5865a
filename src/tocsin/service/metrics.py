"""Metrics for Prometheus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from tocsin.service.units import Published

if TYPE_CHECKING:
    from tocsin.service.service import Service

LARGE_WAL: Final = 256 << 20
"""A log of so many bytes means that some reader keeps it from being folded."""
_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """What a service counts, and what it looks up when it is asked."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._registry = registry = CollectorRegistry()

        def counter(name: str, about: str, *labels: str) -> Counter:
            return Counter(f"tocsin_{name}", about, labels, registry=registry)

        self._events = counter("events", "Events that were published")
        self._repeated = counter("events_repeated", "Events whose idempotency key came before")
        self._refused = counter("events_refused", "Events that could not be used")
        self._matches = counter("matches", "Subscriptions that published events matched")
        self._deliveries = counter("deliveries", "Deliveries that were stored")
        self._suppressed = counter("matches_suppressed", "Matches of paused, expired or throttled subscriptions")
        self._expired = counter("deliveries_expired", "Deliveries that retention deleted", "acknowledged")
        self.publish_s = Histogram(
            "tocsin_publish_seconds", "From an event's body to its answer", buckets=_SECONDS, registry=registry
        )
        self._gauges(registry)

    def _gauges(self, registry: CollectorRegistry) -> None:
        service, directory = self._service, self._service.directory

        def gauge(name: str, about: str) -> Gauge:
            return Gauge(f"tocsin_{name}", about, registry=registry)

        gauge("subscriptions", "Subscriptions").set_function(lambda: len(service.engine))
        gauge("sequence", "Number of the last change of subscriptions").set_function(lambda: service.engine.sequence)
        gauge("destinations", "Destinations").set_function(lambda: len(directory.destinations))
        gauge("open_streams", "Streams of server-sent events").set_function(lambda: service.streams)
        gauge("retained_events", "Events that are kept").set_function(
            lambda: directory.last_event - directory.first_event + 1
        )
        gauge("wal_bytes", f"Size of SQLite's log; above {LARGE_WAL} the service is not ready").set_function(
            lambda: service.engine.log_bytes
        )
        gauge("ready", "1 if the service takes changes").set_function(lambda: 0 if service.not_ready() else 1)
        self._backlog = Gauge("tocsin_backlog", "Deliveries after the cursor", ("destination",), registry=registry)

    def published(self, made: Sequence[Published], refused: int = 0) -> None:
        """Count what became of events."""
        new = [one for one in made if not one.is_repeated]
        self._events.inc(len(new))
        self._repeated.inc(len(made) - len(new))
        self._matches.inc(sum(one.matches for one in new))
        self._deliveries.inc(sum(one.deliveries for one in new))
        self._suppressed.inc(sum(one.suppressed for one in new))
        self._refused.inc(refused)

    def expired(self, acknowledged: int, unacknowledged: int) -> None:
        """Count deliveries that retention deleted."""
        self._expired.labels("yes").inc(acknowledged)
        self._expired.labels("no").inc(unacknowledged)

    def text(self) -> bytes:
        """All metrics as Prometheus reads them."""
        self._backlog.clear()
        for one in list(self._service.directory.destinations.values()):
            self._backlog.labels(one.id).set(one.newest - max(one.acknowledged, one.earliest - 1))
        text: bytes = generate_latest(self._registry)
        return text
