"""Conditions over several events: beside the same conditions without the functions, DuckDB, and a loop over deques.

Events are of 100,000 objects, the busiest of which has a tenth (Zipf). Each updates five terms. Rates are of one
thread.
"""

from __future__ import annotations

import random
import statistics
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

import tocsin
from benchmarks.calibration import wall_seconds
from benchmarks.rows import Row

_OBJECTS: Final = 100_000
_TERMS: Final = 10_000
_UPDATED: Final = 5
_REGIONS: Final = 1_000
_SPAN: Final = 600
_SQL_TERMS: Final = 100


def rows(subscriptions: int, events: int) -> Iterator[Row]:
    """Shared terms, a term for each subscription, one event, memory, and the rivals."""
    stream = _events(events)
    terms = min(_TERMS, subscriptions)
    yield from _beside_plain("shared terms", subscriptions, terms, stream)
    few = min(subscriptions, 100_000)
    yield from _beside_plain("own terms", few, few, stream)
    for count in sorted({1_000, 10_000, 100_000, subscriptions}):
        if count <= subscriptions:
            yield from _curve(count, min(1_000, count), stream[: len(stream) // 2])
    yield _memory()
    yield from _rivals(stream[:20_000])


def _events(count: int) -> list[dict[str, Any]]:
    """A hundred a second: an object, a kind that five terms count, and the object's region."""
    draw = np.random.default_rng(1)
    objects = (draw.zipf(1.1, count) % _OBJECTS).tolist()
    regions = draw.integers(0, _REGIONS, _OBJECTS).tolist()
    kinds = draw.integers(0, _TERMS // _UPDATED, count).tolist()
    return [
        {"user": one, "ts": n / 100, "kind": kinds[n], "x": 0.55, "region": regions[one]}
        for n, one in enumerate(objects)
    ]


def _condition(term: int) -> str:
    """The condition of a term; five of them are TRUE for one kind."""
    return f"kind = {term // _UPDATED} AND x > {term % _UPDATED / 10}"


def _engines(subscriptions: int, terms: int) -> tuple[tocsin.Engine, tocsin.Engine]:
    """The same subscriptions with a count of their condition, and with the condition itself."""
    draw = random.Random(2)
    over_time, plain = tocsin.Engine(), tocsin.Engine()
    regions = [draw.randrange(_REGIONS) for _ in range(subscriptions)]
    conditions = [_condition(number % terms) for number in range(subscriptions)]
    over_time.subscribe_many(
        [
            {"id": number, "where": f"region = {region} AND COUNT({one}, 'PT10M') >= {draw.randrange(3, 20)}"}
            for number, (region, one) in enumerate(zip(regions, conditions, strict=True))
        ]
    )
    plain.subscribe_many(
        [
            {"id": number, "where": f"region = {region} AND {one}"}
            for number, (region, one) in enumerate(zip(regions, conditions, strict=True))
        ]
    )
    return over_time, plain


def _later(events: Sequence[dict[str, Any]], seconds: float) -> list[dict[str, Any]]:
    return [{**one, "ts": one["ts"] + seconds} for one in events]


def _beside_plain(load: str, subscriptions: int, terms: int, events: Sequence[dict[str, Any]]) -> Iterator[Row]:
    """Batches and single events, by the rate of the plain conditions in one run."""
    over_time, plain = _engines(subscriptions, terms)
    monitor = tocsin.Monitor(over_time, key="user", time="ts")
    first = wall_seconds(lambda: monitor.push_batch(list(events[:200])))
    span, rates = events[-1]["ts"] + 1, dict[str, list[float]]()
    for turn in range(1, 4):
        own = _later(events, turn * span)
        rates.setdefault("monitor", []).append(len(own) / wall_seconds(lambda own=own: monitor.push_batch(own)))
        rates.setdefault("plain", []).append(len(own) / wall_seconds(lambda own=own: plain.match_batch(own, threads=1)))
    taken = {name: statistics.median(all) for name, all in rates.items()}
    note = f"{subscriptions:,} subscriptions, {terms:,} terms; {taken['monitor'] / taken['plain']:.2f} of match_batch"
    yield Row("over time", load, "Monitor.push_batch", taken["monitor"], "events/s", note)
    yield Row("over time", load, "match_batch", taken["plain"], "events/s", "the same conditions without the functions")
    yield Row("over time", load, "the first batch", first, "s", f"{terms:,} terms are learned")
    one = _later(events[:400], 5 * span)
    pushed = [wall_seconds(lambda event=event: monitor.push(event)) for event in one]
    matched = [wall_seconds(lambda event=event: plain.match(event)) for event in one]
    push, match = (statistics.median(all[100:]) for all in (pushed, matched))
    yield Row("over time", load, "Monitor.push", push * 1e6, "us", f"{push / match:.1f} times engine.match")


def _curve(subscriptions: int, terms: int, events: Sequence[dict[str, Any]]) -> Iterator[Row]:
    """The rate by the number of subscriptions that share a thousand terms."""
    over_time, _ = _engines(subscriptions, terms)
    monitor = tocsin.Monitor(over_time, key="user", time="ts")
    monitor.push_batch(list(events[:200]))
    rate = len(events) / wall_seconds(lambda: monitor.push_batch(_later(events, 1e6)))
    yield Row("over time", f"{subscriptions:,}", "Monitor.push_batch", rate, "events/s", f"{terms:,} shared terms")


def _memory() -> Row:
    """The bytes of a count that lives and has five instants."""
    engine = tocsin.Engine()
    engine.subscribe("guessing", "COUNT(TRUE, 'PT10M') >= 5")
    monitor = tocsin.Monitor(engine, key="user", time="ts")
    before = monitor.sizes()["bytes"]
    for turn in range(5):
        monitor.push_batch([{"user": number, "ts": turn} for number in range(_OBJECTS)])
    sizes = monitor.sizes()
    held = (sizes["bytes"] - before) / sizes["values"]
    return Row("over time", "memory", "Monitor.sizes", held, "bytes", "a count of five instants, with its object's row")


def _rivals(events: Sequence[dict[str, Any]]) -> Iterator[Row]:
    """A hundred thousand subscriptions here; the rivals compute a hundred terms, and are scaled to those of ours."""
    terms = 10_000
    over_time, _ = _engines(100_000, terms)
    monitor = tocsin.Monitor(over_time, key="user", time="ts")
    monitor.push_batch(list(events[:200]))
    own = wall_seconds(lambda: monitor.push_batch(_later(events, 1e6)))
    loop = wall_seconds(lambda: _deques(events, terms))
    yield Row(
        "over time", "a loop over deques", "Python", len(events) / loop, "events/s", f"{loop / own:.2f} times ours"
    )
    sql = _in_sql(events) * terms / _SQL_TERMS
    note = f"{_SQL_TERMS} window functions, scaled to {terms:,} terms: {sql / own:.0f} times ours"
    yield Row("over time", "window functions", "DuckDB", len(events) / sql, "events/s", note)


def _deques(events: Sequence[dict[str, Any]], terms: int) -> int:
    """What a careful programmer writes for these conditions alone: terms by kind, counts by term and object."""
    limits = random.Random(3)
    thresholds = {term: sorted(limits.randrange(3, 20) for _ in range(10)) for term in range(terms)}
    seen: dict[tuple[int, int], deque[float]] = {}
    fired = 0
    for event in events:
        now, user = event["ts"], event["user"]
        for place in range(_UPDATED):
            term = event["kind"] * _UPDATED + place
            if event["x"] > place / 10:
                instants = seen.setdefault((term, user), deque())
                instants.append(now)
                while instants[0] < now - _SPAN:
                    instants.popleft()
                fired += sum(1 for threshold in thresholds[term] if len(instants) >= threshold)
    return fired


def _in_sql(events: Sequence[dict[str, Any]]) -> float:
    """The seconds of a query with a window function for each of a hundred terms."""
    import duckdb

    table = pa.Table.from_pylist(list(events)).append_column("t", pa.array([int(one["ts"]) for one in events]))
    counts = ", ".join(
        f"count(*) FILTER (WHERE {_condition(term).replace('AND', 'and')}) OVER over_time AS c{term}"
        for term in range(_SQL_TERMS)
    )
    window = f'WINDOW over_time AS (PARTITION BY "user" ORDER BY t RANGE BETWEEN {_SPAN} PRECEDING AND CURRENT ROW)'
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("events", table)
        return wall_seconds(lambda: connection.execute(f'SELECT "user", {counts} FROM events {window}').fetchall())
