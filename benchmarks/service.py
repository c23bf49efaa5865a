"""The HTTP service in a process of its own: from publishing to a stream, bulks, matching, and memory of streams.

The client shares the machine's cores with the server. It speaks HTTP over plain sockets, which cost it little. If the
server of NATS is installed, its rows follow.
"""

from __future__ import annotations

import asyncio
import gc
import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import tocsin
from benchmarks import service_peer
from benchmarks.calibration import wall_seconds
from benchmarks.paced import Latencies, paced
from benchmarks.rows import Row

_RATES: Final = (500, 2000)
_SECONDS: Final = 5.0
_CONNECTIONS: Final = 64
_BULK: Final = 8192
_BULKS: Final = 12
_MATCHES: Final = 3000
_STREAMS: Final = 1000
_LENGTH: Final = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


def rows(subscriptions: int, sync: str = "full") -> Iterator[Row]:
    """All rows, with so many alerts."""
    load = f"{subscriptions // 1000}k"
    gc.collect()
    gc.freeze()  # else the client stops for 100 ms now and then, to look at the modules of all benchmarks
    with tempfile.TemporaryDirectory() as folder, Server(Path(folder) / "none", sync) as server:
        yield asyncio.run(_memory(server, load))
    with tempfile.TemporaryDirectory() as folder, Server(Path(folder) / "alerts", sync) as server:
        asyncio.run(_loaded(server, subscriptions))
        for rate in _RATES:
            yield from asyncio.run(_latency(server, rate, subscriptions, load))
        yield asyncio.run(_bulk(server, subscriptions, load))
        yield asyncio.run(_single(server, subscriptions, load))
        yield asyncio.run(_lines(server, subscriptions, load))
    yield from service_peer.rows(subscriptions, _RATES)


class Server:
    """`tocsin serve` in a child process."""

    def __init__(self, folder: Path, sync: str) -> None:
        command = [sys.executable, "-m", "tocsin", "serve", str(folder), "--port", "0", "--sync", sync]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        while (found := re.search(r"http://([\d.]+):(\d+)", line := self.process.stderr.readline())) is None:
            assert line, "the server did not start"
        self.address, self.host, self.port = found[0], found[1], int(found[2])

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *raised: object) -> None:
        self.process.terminate()
        self.process.communicate()

    def memory(self) -> int:
        """Resident bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) << 10  # type: ignore[index]


class _Connection(asyncio.Protocol):
    """A connection that has one request in flight."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._done: asyncio.Future[bytes] | None = None

    @classmethod
    async def to(cls, server: Server) -> _Connection:
        _, one = await asyncio.get_running_loop().create_connection(cls, server.host, server.port)
        return one

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._rest += data
        head = self._rest.find(b"\r\n\r\n")
        if head < 0:
            return
        found = _LENGTH.search(self._rest, 0, head)
        end = head + 4 + (int(found[1]) if found else 0)
        if len(self._rest) >= end and self._done is not None:
            answer, self._rest, done, self._done = bytes(self._rest[:end]), self._rest[end:], self._done, None
            done.set_result(answer)

    async def ask(self, method: str, path: str, body: bytes, kind: str = "application/json") -> bytes:
        """The answer, with its head."""
        self._done = asyncio.get_running_loop().create_future()
        lines = f"{method} {path} HTTP/1.1", "Host: localhost", f"Content-Type: {kind}", f"Content-Length: {len(body)}"
        self._transport.write("\r\n".join([*lines, "", ""]).encode() + body)
        answer = await self._done
        assert answer.startswith(b"HTTP/1.1 2"), answer[:500]
        return answer


class _Stream(asyncio.Protocol):
    """A stream of a destination, and how long each event took to come."""

    def __init__(self, name: str) -> None:
        self._name, self.took, self.count = name, Latencies(), 0

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        transport.write(f"GET /v1/destinations/{self._name}/stream HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())

    def data_received(self, data: bytes) -> None:
        now = time.time_ns()
        self.count += 1
        self.took.take(data, now)


async def _loaded(server: Server, subscriptions: int) -> None:
    """Alerts of which about one matches an event, all with one destination."""
    one, draw = await _Connection.to(server), random.Random(1)
    await one.ask("PUT", "/v1/destinations/d", b'{"kind": "stream"}')
    models = max(subscriptions // 2, 1)
    for first in range(0, subscriptions, 50_000):
        records = [
            {
                "id": f"s{number}",
                "where": f"model = 'm{draw.randrange(models)}' AND price <= {draw.randrange(1000)}",
                "payload": {"mail": f"user{number}@example.org"},
                "destination": "d",
            }
            for number in range(first, min(first + 50_000, subscriptions))
        ]
        await one.ask("POST", "/v1/subscriptions", _as_lines(records), "application/x-ndjson")
    for event in _events(subscriptions, 200, 2):
        await one.ask("POST", "/v1/events", json.dumps(event).encode())


def _events(subscriptions: int, count: int, seed: int) -> list[dict[str, Any]]:
    draw, models = random.Random(seed), max(subscriptions // 2, 1)
    return [
        {"model": f"m{draw.randrange(models)}", "price": draw.randrange(1000), "shop": "north", "n": number}
        for number in range(count)
    ]


def _as_lines(records: list[dict[str, Any]]) -> bytes:
    return "\n".join(map(json.dumps, records)).encode()


async def _latency(server: Server, rate: int, subscriptions: int, load: str) -> list[Row]:
    """Single durable events at a rate, from the moment when each is due to its arrival on a stream."""
    _, stream = await asyncio.get_running_loop().create_connection(lambda: _Stream("d"), server.host, server.port)
    free: asyncio.Queue[_Connection] = asyncio.Queue()
    for _ in range(_CONNECTIONS):
        free.put_nowait(await _Connection.to(server))
    answered, events = Latencies(), _events(subscriptions, int(rate * _SECONDS), 3)

    async def publish(number: int, sent_ns: int) -> None:
        one = await free.get()
        await one.ask("POST", "/v1/events", json.dumps({**events[number], "sent": sent_ns}).encode())
        answered.add(time.time_ns() - sent_ns)
        free.put_nowait(one)

    reached = await paced(publish, rate, len(events))
    await asyncio.sleep(0.5)
    stream.transport.close()
    parts = (("to the answer", answered), ("to the stream", stream.took))
    return [one.row(load, f"publish {rate}/s, {what}", reached, rate) for what, one in parts]


async def _bulk(server: Server, subscriptions: int, load: str) -> Row:
    """JSON lines on two connections; the median of three rounds after one that compiles kernels."""
    bodies = [_as_lines(_events(subscriptions, _BULK, seed)) for seed in range(_BULKS)]
    both = [await _Connection.to(server), await _Connection.to(server)]

    async def send(one: _Connection, own: list[bytes]) -> int:
        answers = [await one.ask("POST", "/v1/events", body, "application/x-ndjson") for body in own]
        return sum(json.loads(answer.partition(b"\r\n\r\n")[2])["deliveries"] for answer in answers)

    rounds = []
    for _ in range(4):
        begun = time.perf_counter()
        deliveries = sum(await asyncio.gather(send(both[0], bodies[::2]), send(both[1], bodies[1::2])))
        rounds.append(time.perf_counter() - begun)
    seconds, count = statistics.median(rounds[1:]), _BULK * _BULKS
    note = f"{deliveries / count:.2f} deliveries an event, {_BULK:,} events a request"
    return Row("service", load, "publish in bulk", count / seconds, "events/s", note)


async def _single(server: Server, subscriptions: int, load: str) -> Row:
    one, events = await _Connection.to(server), _events(subscriptions, _MATCHES, 4)
    bodies = [json.dumps(event).encode() for event in events]
    for body in bodies[:100]:
        await one.ask("POST", "/v1/match", body)
    begun = time.perf_counter()
    for body in bodies:
        await one.ask("POST", "/v1/match", body)
    rate = _MATCHES / (time.perf_counter() - begun)
    return Row("service", load, "match, one connection", rate, "events/s", "one request in flight")


async def _lines(server: Server, subscriptions: int, load: str) -> Row:
    """Matching in bulk, beside `match_batch` in this process on the same lines."""
    one = await _Connection.to(server)
    bodies = [_as_lines(_events(subscriptions, _BULK, seed)) for seed in range(11)]
    engine = tocsin.Engine()
    page: dict[str, Any] = {"next": ""}
    while "next" in page:
        after = f"&after={page['next']}" if page["next"] else ""
        answer = await one.ask("GET", f"/v1/subscriptions?limit=1000{after}", b"")
        page = json.loads(answer.partition(b"\r\n\r\n")[2])
        engine.subscribe_many(
            [{name: row[name] for name in ("id", "where", "payload")} for row in page["subscriptions"]]
        )
    engine.merge()

    def beside(body: bytes) -> None:
        engine.match_batch(body, payload=True, threads=1)

    ours, theirs = [], []
    for body in bodies:
        begun = time.perf_counter()
        await one.ask("POST", "/v1/match", body, "application/x-ndjson")
        ours.append(time.perf_counter() - begun)
        theirs.append(wall_seconds(lambda body=body: beside(body)))  # type: ignore[misc]
    rate, alone = (_BULK / statistics.median(times[1:]) for times in (ours, theirs))
    note = f"{rate / alone:.2f} of match_batch alone, {alone:,.0f}, one thread"
    return Row("service", load, "match in bulk", rate, "events/s", note)


async def _memory(server: Server, load: str) -> Row:
    """Of the second half, in a server without subscriptions: else streams take memory that loading has left."""
    await (await _Connection.to(server)).ask("PUT", "/v1/destinations/d", b'{"kind": "stream"}')
    loop, made, sizes = asyncio.get_running_loop(), [], []
    for _ in range(2):
        for _ in range(_STREAMS):
            made.append(await loop.create_connection(lambda: _Stream("d"), server.host, server.port))
        while not all(stream.count for _, stream in made):
            await asyncio.sleep(0.05)
        sizes.append(server.memory())
    size = (sizes[1] - sizes[0]) / _STREAMS
    for transport, _ in made:
        transport.close()
    return Row("service", load, "memory of a stream", size / 1024, "kB each", f"{2 * _STREAMS:,} open streams")
