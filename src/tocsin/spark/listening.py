"""Metrics of running streams: counts and rates, as log lines and as a file of Prometheus text.

    session.streams.addListener(spark.Metrics("metrics.prom"))

They come from the observation of `match(..., observe="tocsin")`, and from Spark's progress of each micro-batch.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from pyspark.sql.streaming.listener import StreamingQueryListener

from tocsin.spark.names import WORK_FIELDS
from tocsin.writing import aside

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
    )

OBSERVATION: Final = "tocsin"
_LOG: Final = logging.getLogger(__name__)

_COUNTERS: Final = {
    "events": "Events read.",
    "matches": "Matches found.",
    "rejected": "Rejected events and changes.",
    "reported": "Events with an error in the event or in one attribute.",
    "candidates": "Pairs of event and subscription that no index ruled out.",
    "verified": "Candidates whose expression was evaluated.",
    "batches": "Finished micro-batches.",
    "subscriptions_rejected": "Subscriptions that were rejected when the index was compiled.",
}
_GAUGES: Final = {
    "batch": "The number of the last micro-batch.",
    "batch_seconds": "Seconds from the planning to the commit of the last micro-batch.",
    "events_per_second": "Events per second in the last micro-batch.",
    "behind": "Records not read yet, if the source reports them.",
}


@dataclass(slots=True)
class Progress:
    """The work of one stream since it was started."""

    name: str
    counts: dict[str, int] = field(default_factory=dict)  # counts of work only if it was observed
    gauges: dict[str, float] = field(default_factory=dict)
    index_version: str = ""


class Metrics(StreamingQueryListener):
    """Counts the work of streams, as log lines and as a file of Prometheus text.

    Each micro-batch logs a line at level INFO: `session.streams.addListener(spark.Metrics("metrics.prom"))`.

    Parameters
    ----------
    path : str or Path, optional
        A file that is replaced atomically after each micro-batch.
    observation : str
        The name that was given to `match` as `observe`.
    """

    def __init__(self, path: str | Path | None = None, *, observation: str = OBSERVATION) -> None:
        self._path = None if path is None else Path(path)
        self._observation = observation
        self._lock = threading.Lock()
        self._streams: dict[str, Progress] = {}

    def begin(self, name: str, counts: Mapping[str, int]) -> None:
        """Set counters of a stream before its first micro-batch, so that they exist from the start.

        Parameters
        ----------
        name : str
            The stream.
        counts : mapping of str to int
            The counters' first values: `{"events": 0, "batches": 0}`.
        """
        with self._lock:
            self._streams.setdefault(name, Progress(name)).counts.update(counts)

    def count(self, name: str, work: Mapping[str, Any]) -> None:
        """Add the work of a micro-batch, or of a part of it.

        Parameters
        ----------
        name : str
            The stream.
        work : mapping
            The counts, as `match` observes them.
        """
        with self._lock:
            stream = self._streams.setdefault(name, Progress(name))
            for one in (one for one in WORK_FIELDS if one in work):
                stream.counts[one] = stream.counts.get(one, 0) + int(work[one] or 0)
            stream.index_version = work["index_version"] or stream.index_version

    def progress(self, name: str) -> Progress | None:
        """The work of a stream since it was started.

        Parameters
        ----------
        name : str
            The name of the query; its id if it has none.

        Returns
        -------
        Progress or None
            `counts` and `gauges` by name, and the `index_version`; None before the first micro-batch.
        """
        with self._lock:
            return self._streams.get(name)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802
        """Spark calls this when a query starts; it is logged.

        Parameters
        ----------
        event : QueryStartedEvent
            Spark's event.
        """
        _LOG.info("%s started", event.name or event.id)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """Spark calls this when no events arrived; nothing is done.

        Parameters
        ----------
        event : QueryIdleEvent
            Spark's event.
        """

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """Spark calls this when a query ends; it is logged, with its exception.

        Parameters
        ----------
        event : QueryTerminatedEvent
            Spark's event.
        """
        _LOG.info("%s ended%s", event.id, f": {event.exception}" if event.exception else "")

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """Spark calls this after a micro-batch, which is counted, logged and written.

        Parameters
        ----------
        event : QueryProgressEvent
            Spark's event.
        """
        told = event.progress
        name = told.name or str(told.id)
        if (work := told.observedMetrics.get(self._observation)) is not None:
            self.count(name, work.asDict())
        with self._lock:
            stream = self._streams.setdefault(name, Progress(name))
            stream.counts["batches"] = stream.counts.get("batches", 0) + 1
            stream.gauges["batch"] = told.batchId
            stream.gauges["batch_seconds"] = told.durationMs.get("triggerExecution", 0) / 1000
            stream.gauges["events_per_second"] = _finite(told.processedRowsPerSecond)
            behind = [_behind(source) for source in told.sources]
            if any(one is not None for one in behind):
                stream.gauges["behind"] = float(sum(one or 0 for one in behind))
            line = _line(stream, told.numInputRows)
        _LOG.info("%s", line)
        self.write()

    def write(self) -> None:
        """Write the file, if there is one; a failure is logged, and the stream goes on."""
        if self._path is None:
            return
        with self._lock:
            text = prometheus_text(list(self._streams.values()))
        try:
            with aside(self._path) as beside:
                beside.write_text(text, encoding="utf-8")
        except OSError as error:
            _LOG.warning("%s cannot be written: %s", self._path, error)


def prometheus_text(streams: list[Progress]) -> str:
    """Counters and gauges of streams in the text format of Prometheus, version 0.0.4."""
    families: list[Metric] = []
    for make, of_family, told in ((CounterMetricFamily, "counts", _COUNTERS), (GaugeMetricFamily, "gauges", _GAUGES)):
        for family, words in told.items():
            metric = make(f"tocsin_{family}", words, labels=["stream"])
            for one in streams:
                if (value := getattr(one, of_family).get(family)) is not None:
                    metric.add_metric([one.name], value)
            families.append(metric)
    words = "The version of the index that the last micro-batch used."
    versions = GaugeMetricFamily("tocsin_index_version", words, labels=["stream", "version"])
    for one in streams:
        if one.index_version:
            versions.add_metric([one.name, one.index_version], 1)
    registry = CollectorRegistry()
    registry.register(_Families([one for one in (*families, versions) if one.samples]))
    return str(generate_latest(registry).decode())


class _Families(Collector):  # type: ignore[misc]
    """A collector for a Prometheus registry."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> list[Metric]:
        return self._families


def _line(stream: Progress, rows: int) -> str:
    """One micro-batch as a log line."""
    gauges, counts = stream.gauges, {**dict.fromkeys(WORK_FIELDS, 0), **stream.counts}
    behind = f", {gauges['behind']:,.0f} behind" if "behind" in gauges else ""
    version = f", index {stream.index_version}" if stream.index_version else ""
    return (
        f"{stream.name}: batch {gauges['batch']:.0f}, {rows:,} events in {gauges['batch_seconds']:.3f} s "
        f"({gauges['events_per_second']:,.0f}/s){behind}{version}; since the start {counts['events']:,} events, "
        f"{counts['matches']:,} matches, {counts['candidates']:,} candidates, {counts['rejected']:,} rejected"
    )


def _behind(source: Any) -> int | None:
    """The number of records in a source that are not read yet, if its offsets are numbers."""
    try:
        end, latest = json.loads(source.endOffset or "null"), json.loads(source.latestOffset or "null")
        if isinstance(end, dict) and isinstance(latest, dict):
            return sum(max(int(latest[part]) - int(end.get(part, 0)), 0) for part in latest)
        return None if end is None or latest is None else max(int(latest) - int(end), 0)
    except (TypeError, ValueError):
        return None


def _finite(rate: float | None) -> float:
    return rate if rate is not None and rate == rate and abs(rate) != float("inf") else 0.0
