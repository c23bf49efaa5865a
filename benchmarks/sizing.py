"""Bytes and CPU time of a server for each subscription, event, delivery and tenant, to size a machine by."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import tocsin
from benchmarks.processes import stats_of
from benchmarks.rows import Row
from benchmarks.service import Server
from tocsin.service.access.token_file import TokenFile

_EVENTS: Final = 20_000
_TENANTS: Final = 20
_BULK: Final = 1000


class _Use(NamedTuple):
    """What a server uses."""

    memory: float
    disk: float
    cpu_s: float


def rows(subscriptions: int) -> Iterator[Row]:
    """All rows, with so many alerts."""
    load = f"{subscriptions // 1000}k"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "alerts"
        with Server(folder, "full") as server, tocsin.Client(server.address) as client:
            yield Row("sizing", load, "server, empty", _use(server, folder).memory / 1e6, "MB")
            client.put_destination("d", kind="stream")
            yield from _rows(
                server, folder, load, "subscription", subscriptions, lambda: _subscribe(client, subscriptions)
            )
            yield from _rows(server, folder, load, "event", _EVENTS, lambda: _publish(client, 0))
            yield from _rows(server, folder, load, "event with a delivery", _EVENTS, lambda: _publish(client, 1))
            yield from _rows(server, folder, load, "tenant", _TENANTS, lambda: _tenants(server, folder))


def _rows(server: Server, folder: Path, load: str, of: str, count: int, work: Callable[[], None]) -> Iterator[Row]:
    before = _use(server, folder)
    work()
    after = _use(server, folder)
    yield Row("sizing", load, f"{of}, memory", (after.memory - before.memory) / count, "bytes")
    yield Row("sizing", load, f"{of}, store", (after.disk - before.disk) / count, "bytes")
    yield Row("sizing", load, f"{of}, CPU", (after.cpu_s - before.cpu_s) / count * 1e6, "us")


def _use(server: Server, folder: Path) -> _Use:
    """What the server uses now. Its log is part of the store, because it is folded into it."""
    fields = next(stats_of(server.process.pid))
    stores = sum(file.stat().st_size for file in folder.rglob("store.db*"))
    return _Use(server.memory(), stores, sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK"))


def _subscribe(client: tocsin.Client, count: int) -> None:
    records = (
        {
            "id": f"s{n}",
            "where": f"model = 'm{n}' AND price <= 500",
            "payload": {"user": f"user{n}"},
            "destination": "d",
        }
        for n in range(count)
    )
    report = client.subscribe_many(records)
    assert not report.errors


def _publish(client: tocsin.Client, price: int) -> None:
    """Events that one alert matches, or none if `price` is 0."""
    events = [
        {"model": f"m{n}" if price else "none", "price": 10, "seller": f"seller{n}", "number": n}
        for n in range(_EVENTS)
    ]
    for start in range(0, _EVENTS, _BULK):
        client.publish(events[start : start + _BULK])


def _tenants(server: Server, folder: Path) -> None:
    for number in range(_TENANTS):
        _, token = TokenFile(folder).create(f"t{number}", ["subscribe", "publish"])
        with tocsin.Client(server.address, token=token) as client:
            client.subscribe("s", "n = 1")
