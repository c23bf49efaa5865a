"""Check of the stream demo: one engine in this process gets the same changes and flights, in the stream's order.

The clock's score in each flight's rows tells how many hours of changes the answer includes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tocsin.demo.alerts import Alert
from tocsin.demo.replay import Played
from tocsin.demo.ringing import Rung
from tocsin.demo.turnover import CLOCK, Change
from tocsin.engine import Engine
from tocsin.records.changes import DELETE, RESCORE

_Rows = dict[str, list[tuple[str, float]]]
"""The matching alerts of each flight: (alert, score), by alert."""


def differing(alerts: Sequence[Alert], played: Played, rung: Rung) -> int:
    """The number of flights with an answer other than the engine's. A flight answered twice counts as different."""
    table = rung.table()
    clock = table.filter(pc.equal(table["subscription"], CLOCK["id"]))
    states: dict[int, list[str]] = defaultdict(list)
    for key, state in zip(clock["event_id"].to_pylist(), clock["score"].to_pylist(), strict=True):
        states[int(state)].append(key)
    theirs = _by_flight(table)
    return sum(ours.get(key) != theirs.get(key) for keys, ours in _answered(alerts, played, states) for key in keys)


def _answered(
    alerts: Sequence[Alert], played: Played, states: dict[int, list[str]]
) -> Iterator[tuple[list[str], _Rows]]:
    """The engine's answers, state by state."""
    with Engine() as engine:
        engine.subscribe_many([dict(alert) for alert in alerts])
        for state in range(max(states, default=-1) + 1):
            if state > 0:
                for change in played.changes[state - 1]:
                    apply(engine, change)
            if keys := list(dict.fromkeys(states.get(state, []))):
                yield keys, _asked(engine, keys, [played.flights[key] for key in keys])


def _asked(engine: Engine, keys: list[str], flights: list[dict[str, Any]]) -> _Rows:
    """The engine's answers for some flights."""
    found = engine.match_batch(flights).table
    names = pa.array(keys).take(found["event"].combine_chunks())
    scores = {name: engine.get(name)["score"] for name in set(found["subscription"].to_pylist())}
    rows: _Rows = defaultdict(list)
    for key, name in zip(names.to_pylist(), found["subscription"].to_pylist(), strict=True):
        rows[key].append((name, scores[name]))
    return {key: sorted(own) for key, own in rows.items()}


def apply(engine: Engine, change: Change) -> None:
    """Apply a change to an engine."""
    if change["change"] == DELETE:
        engine.unsubscribe(change["id"])
    elif change["change"] == RESCORE:
        engine.rescore(change["id"], change["score"])
    else:
        engine.subscribe(change["id"], change["where"], score=change["score"], replace=True)


def _by_flight(table: pa.Table) -> _Rows:
    rows: _Rows = defaultdict(list)
    columns = (table[name].to_pylist() for name in ("event_id", "subscription", "score"))
    for key, name, score in zip(*columns, strict=True):
        rows[key].append((name, score))
    return {key: sorted(own) for key, own in rows.items()}
