"""Placement: partitions that an event visits, copies of a subscription, and the effect of routing in one process.

It calls the plain functions that Spark's tasks run, without Spark. Subscriptions are dealt to 8 partitions, one segment
each. Batches are matched against all partitions, either with every event (`all`) or with those that visit the partition
(`routed`). All placements answer the same events alike. A placement that can place no subscription has no rates.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from reproduce.messages import GROUPS, ZIPF

import tocsin
from benchmarks import boolean_workload, flights_workload
from benchmarks.calibration import median_seconds
from benchmarks.rows import Row
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.wanted import Wanted
from tocsin.engine.loading import read_part
from tocsin.engine.sampling import first_batches
from tocsin.index import Part, choose
from tocsin.index.elements import with_conditions
from tocsin.placement import (
    PLACEMENTS,
    Placement,
    PlacementReport,
    Router,
    keys_of_partitions,
    planned,
    report_of,
)
from tocsin.segment import Snapshots, assemble
from tocsin.segment.placed import first_copies

PARTITIONS = 8
_MOST_EVENTS = 4096
_PLACES_NOBODY = 0.9


class Load(NamedTuple):
    """Subscriptions, and events by kind."""

    name: str
    subscriptions: Any
    events: dict[str, Any]


def rows(subscriptions: int, events: int) -> Iterator[Row]:
    """Measure with B1, B4 and the flights."""
    for load in _loads(min(subscriptions, 1_000_000), min(events, _MOST_EVENTS)):
        yield from _measure(load)


def _loads(subscriptions: int, events: int) -> Iterator[Load]:
    for workload in (boolean_workload.UNI, boolean_workload.ZIPF):
        yield Load(f"b1 {workload.name}", workload.conjunctions(subscriptions), {"": workload.sparse_events(events)})
    messages = {group.name: ZIPF.messages(group, events) for group in GROUPS}
    yield Load("b4 zipf", ZIPF.subscriptions(subscriptions).table(), messages)
    alerts = flights_workload.alerts(min(subscriptions, 100_000))
    table = pa.Table.from_pylist([{"id": one["id"], "where": one["where"]} for one in alerts])
    yield Load("flights", table, {"": flights_workload.asked_for(events)})


def _measure(load: Load) -> Iterator[Row]:
    part, rejects = read_part(load.subscriptions)
    assert not rejects, rejects[0].reason
    wanted = Wanted(part.compiled.attributes)
    batches = {}
    for group, table in load.events.items():
        batches[group] = [with_conditions(one, wanted) for one in first_batches(table, wanted)]
    statistics = tocsin.sample(next(iter(load.events.values())))
    expected: dict[str, NDArray[np.int64]] = {}
    for name in PLACEMENTS:
        placement, _ = planned(part, name, PARTITIONS, statistics)
        built = _built(part, placement)
        for group, own in batches.items():
            report = report_of(placement, part, own)
            yield from _asked(f"{load.name} {group}".strip(), report, built, own, expected)


def _built(part: Part, placement: Placement) -> tuple[Snapshots, Snapshots]:
    """The partitions of a placement, matched with all events and with those that visit them."""
    assignment = placement.assign(part)
    plan = choose("auto", placement.statistics)
    members = [np.unique(assignment.owners[assignment.partitions == one]) for one in range(placement.count)]
    segments = [assemble(part.only(own), plan) for own in members]
    copies = first_copies(segments) if assignment.is_first.sum() > len(part) else None
    whole = Snapshots.of(segments)
    router = Router.of(placement, keys_of_partitions(assignment, placement))
    return whole if copies is None else Snapshots.of(copies.segments), whole.routed(
        router, copies, [1.0] * placement.count
    )


def _asked(
    load: str,
    report: PlacementReport,
    built: tuple[Snapshots, Snapshots],
    batches: list[EventBatch],
    expected: dict[str, NDArray[np.int64]],
) -> Iterator[Row]:
    name = report.name
    note = f"met {report.met:.2f}, balance {report.balance:.2f}, unplaced {report.unplaced:.1%}"
    yield Row(name, load, "visits an event", report.visits or 0.0, "", note)
    yield Row(name, load, "copies a subscription", report.copies, "")
    if report.unplaced > _PLACES_NOBODY:
        return
    events = sum(len(batch) for batch in batches)
    for how, snapshots in zip(("all", "routed"), built, strict=True):
        if name == "hash" and how == "routed":
            continue
        found = [snapshots.find(batch) for batch in batches]
        counts = np.concatenate([np.diff(one.starts) for one in found])
        assert np.array_equal(expected.setdefault(load, counts), counts), f"{name} finds others of {load}"
        rate = events / median_seconds(lambda asked=snapshots: [asked.find(batch) for batch in batches])  # type: ignore[misc]
        candidates = sum(one.candidates_examined for one in found) / events
        yield Row(name, load, how, rate, "events/s", f"{candidates:,.1f} candidates, {counts.mean():,.2f} matches")
