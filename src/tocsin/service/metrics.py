"""Metrics for Prometheus.

Requests add to plain numbers, and only in the event loop. The counters of prometheus-client have a lock each, which
took a sixth of the time of a short request.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from prometheus_client import generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from tocsin.service.units import Published
from tocsin.store import ALARMING_LOG

if TYPE_CHECKING:
    from tocsin.service.service import Service

_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_COUNTERS: Final = {
    "events": "Events that were published",
    "repeated": "Events whose idempotency key came before",
    "refused": "Events that could not be used",
    "matches": "Subscriptions that published events matched",
    "deliveries": "Deliveries that were stored",
    "suppressed": "Matches of paused, expired or throttled subscriptions",
}


class Counts(NamedTuple):
    """What became of some events."""

    events: int = 0
    repeated: int = 0
    refused: int = 0
    matches: int = 0
    deliveries: int = 0
    suppressed: int = 0


def counts_of(made: Sequence[Published], refused: int = 0) -> Counts:
    """The counts of outcomes."""
    new = [one for one in made if not one.is_repeated]
    matches, deliveries, suppressed = (sum(one[place] for one in new) for place in (1, 2, 3))
    return Counts(len(new), len(made) - len(new), refused, matches, deliveries, suppressed)


class Metrics:
    """What a service counts, and what it looks up when it is asked."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._counts = [0] * len(_COUNTERS)
        self._expired = [0, 0]  # acknowledged, others
        self._removed = 0
        self._took = [0] * (len(_SECONDS) + 1)
        self._took_s = 0.0

    def published(self, counts: Counts) -> None:
        """Add to the counts."""
        for place, count in enumerate(counts):
            self._counts[place] += count

    def expired(self, acknowledged: int, unacknowledged: int) -> None:
        """Count deliveries that retention deleted."""
        self._expired[0] += acknowledged
        self._expired[1] += unacknowledged

    def removed(self, count: int) -> None:
        """Count subscriptions that expired."""
        self._removed += count

    @contextmanager
    def publishing(self) -> Iterator[None]:
        """Measure the time of a publication."""
        begun = time.perf_counter()
        yield
        took = time.perf_counter() - begun
        self._took[bisect_left(_SECONDS, took)] += 1
        self._took_s += took

    def collect(self) -> Iterator[Any]:
        """All metrics at this moment."""
        for (name, about), count in zip(_COUNTERS.items(), self._counts, strict=True):
            yield CounterMetricFamily(f"tocsin_{name}", about, count)
        expired = CounterMetricFamily(
            "tocsin_deliveries_expired", "Deliveries that retention deleted", labels=["acknowledged"]
        )
        for label, count in zip(("yes", "no"), self._expired, strict=True):
            expired.add_metric([label], count)
        yield expired
        about = "Subscriptions that were deleted because they expired"
        yield CounterMetricFamily("tocsin_subscriptions_expired", about, self._removed)
        bounds = [*map(str, _SECONDS), "+Inf"]
        buckets = list(zip(bounds, accumulate(self._took), strict=True))
        yield HistogramMetricFamily("tocsin_publish_seconds", "From an event to its answer", buckets, self._took_s)
        for name, about, value in self._gauges():
            yield GaugeMetricFamily(f"tocsin_{name}", about, value)
        backlog = GaugeMetricFamily("tocsin_backlog", "Deliveries after the cursor", labels=["destination"])
        for one in list(self._service.directory.destinations.values()):
            backlog.add_metric([one.id], one.newest - max(one.acknowledged, one.earliest - 1))
        yield backlog
        refused = CounterMetricFamily("tocsin_quota_refused", "Requests that a limit refused", labels=["limit"])
        for limit, count in self._service.quotas.refused.items():
            refused.add_metric([limit], count)
        yield refused
        yield from self._service.readiness.collect()
        yield from self._service.outlets.collect()
        yield from self._service.windows.collect()
        yield from self._service.fences.collect()

    def _gauges(self) -> list[tuple[str, str, float]]:
        service, directory = self._service, self._service.directory
        engine = service.engine
        return [
            ("subscriptions", "Subscriptions", len(engine)),
            ("payloads_bytes", "Size of payloads and conditions of subscriptions", service.quotas.payloads_bytes),
            ("sequence", "Number of the last change of subscriptions", engine.sequence),
            ("destinations", "Destinations", len(directory.destinations)),
            ("open_streams", "Streams of server-sent events", service.streams),
            ("retained_events", "Events that are kept", directory.last_event - directory.first_event + 1),
            ("wal_bytes", f"Size of SQLite's log; above {ALARMING_LOG} the service is not ready", engine.log_bytes),
            ("ready", "1 if the service takes changes", 0 if service.readiness.reason() else 1),
        ]


class _Families:
    """Metrics, in the form in which they are written."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def text_of(parts: Sequence[tuple[str, Metrics]], server: Iterable[Metric] = ()) -> bytes:
    """The metrics of some tenants as Prometheus reads them, and those of the whole server.

    The label `tenant` is left out for the default one, which is the same to Prometheus as an empty label.
    """
    families: dict[str, Metric] = {}
    for tenant, metrics in parts:
        for family in metrics.collect():
            one = families.setdefault(family.name, Metric(family.name, family.documentation, family.type))
            label = {"tenant": tenant} if tenant else {}
            one.samples += [sample._replace(labels={**label, **sample.labels}) for sample in family.samples]
    text: bytes = generate_latest(_Families([*families.values(), *server]))
    return text
