"""B6: dense events. The demo's flights with all columns against its alerts: `access` and `scan`.

The kernels get packed batches, the public call an Arrow table. DuckDB runs one query per alert, as a user without
tocsin would. Kernels are measured in CPU time, the public call in wall time.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import Any

import tocsin
from benchmarks.calibration import median_seconds, wall_seconds
from benchmarks.flights_workload import alerts, asked_for
from benchmarks.rows import Row
from tocsin.demo.one_by_one import compare
from tocsin.engine.matching import encode_chunk
from tocsin.index import find_index
from tocsin.records import read_events

_ROUNDS = 5
_FEW = 1024
_SAMPLED = 10_000
_DICTS = 2048


def rows(subscriptions: int, events: int) -> Iterator[Row]:
    """Measure with a tenth of the alerts, and with all."""
    for count in (subscriptions // 10, subscriptions):
        yield from _measure(count, events)
    compared = compare(asked_for(), alerts(subscriptions // 10))
    yield Row("DuckDB", "dense", "a query an alert", compared.all_s, "s", compared.text())


def _of_dicts(engine: tocsin.Engine, load: str, flights: list[dict[str, Any]]) -> Iterator[Row]:
    """Flights as dicts: all at once, and one by one."""
    seconds = median_seconds(lambda: engine.match_batch(flights, threads=1), _ROUNDS)
    yield Row(
        "access", load, "dicts, 1 thread", len(flights) / seconds, "events/s", f"{1e6 * seconds / len(flights):.1f} us"
    )
    alone = []
    for flight in flights:
        began = time.perf_counter()
        engine.match(flight)
        alone.append(1e6 * (time.perf_counter() - began))
    yield Row("access", load, "one event asked alone, p50", statistics.median(alone), "us")


def _measure(count: int, events: int) -> Iterator[Row]:
    load = f"{count // 1000}k"
    flights = asked_for(4 * events)
    with tocsin.Engine(statistics=tocsin.sample(asked_for(_SAMPLED))) as engine:
        drawn = list(alerts(count))
        seconds = wall_seconds(lambda: engine.subscribe_many(drawn))
        yield Row("access", load, "load", seconds, "s", f"{1e6 * seconds / count:,.0f} us an alert")
        held = engine._store.segments[0].segment.matcher
        chunks = list(read_events(flights.slice(0, events)))
        packed = [encode_chunk(chunk, engine._store.wanted)[0][0] for chunk in chunks]
        few = [encode_chunk(c, engine._store.wanted)[0][0] for c in read_events(flights.slice(0, _FEW))]
        scan = find_index("scan").builder().build(held.expressions())
        linear = _FEW / median_seconds(lambda: [scan.match(batch) for batch in few])
        yield Row("scan", load, "packed batch", linear, "events/s")
        found = [held.match(batch) for batch in packed]
        matches = sum(int(one.starts[-1]) for one in found) / events
        examined = sum(one.candidates_examined for one in found) / events
        rate = events / median_seconds(lambda: [held.match(batch) for batch in packed], _ROUNDS)
        places = ", ".join(f"{name} {number:,}" for name, number in held.places().items() if number)
        note = f"{rate / linear:.1f} x scan; {matches:.1f} matches, {examined / matches:.2f} examined a match; {places}"
        yield Row("access", load, "packed batch", rate, "events/s", note)
        yield from _of_dicts(engine, load, flights.slice(0, _DICTS).to_pylist())
        for threads in (1, 2):
            call = lambda threads=threads: engine.match_batch(flights, threads=threads)  # noqa: E731
            call()
            public = len(flights) / statistics.median(wall_seconds(call) for _ in range(_ROUNDS))
            note = f"{public / rate:.2f} of the index alone"
            yield Row("access", load, f"Arrow table, {threads} threads", public, "events/s", note)
    with tocsin.Engine("scan") as plain:
        plain.subscribe_many(alerts(count))
        few_flights = flights.slice(0, _FEW)
        plain.match_batch(few_flights)
        begun = time.perf_counter()
        plain.match_batch(few_flights, threads=1)
        public = _FEW / (time.perf_counter() - begun)
        yield Row("scan", load, "Arrow table, 1 thread", public, "events/s")
