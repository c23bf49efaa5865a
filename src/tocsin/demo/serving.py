"""The demo of the service: flights are published, the server is killed in the middle, and no delivery is missing.

Each airline is a destination. The alerts of its flights are drawn at random; the same seed draws the same ones. What
arrives is compared with what an engine in memory finds, flight by flight.
"""

from __future__ import annotations

import json
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from tqdm import tqdm

from tocsin.client import Client, Delivery
from tocsin.demo.flights import flight_table
from tocsin.engine import Engine
from tocsin.errors import InvalidInput, TocsinError

SUBSCRIPTIONS: Final = 20_000
EVENTS: Final = 20_000
_AT_ONCE: Final = 100
"""Flights in a request."""
_RETRY_S: Final = 600.0
_KINDS: Final = (
    "dep_delay >= {late}",
    "arr_delay >= {late} AND origin = '{origin}'",
    "dep_time IS NULL",
    "arr_delay <= -{early}",
    "dep_delay >= {early} AND arr_delay <= 0",
)
_FIELDS: Final = ("carrier", "flight", "origin", "dest", "month", "day", "dep_time", "dep_delay", "arr_delay")


@dataclass(frozen=True, slots=True)
class ServiceSummary:
    """The results of a run."""

    subscriptions: int
    events: int
    deliveries: int
    matches: int
    missing: int
    wrong: int
    again: int
    seconds: float
    down_seconds: float

    def text(self) -> str:
        """The summary as text for users."""
        rate = self.events / max(self.seconds - self.down_seconds, 1e-9)
        return "\n".join(
            [
                f"{self.events:,} flights were published to {self.subscriptions:,} alerts, {rate:,.0f} a second",
                f"the server was killed in the middle, and was away for {self.down_seconds:.1f} s",
                f"{self.deliveries:,} deliveries with {self.matches:,} matches arrived; {self.again:,} came again",
                f"{self.missing:,} are missing, {self.wrong:,} are wrong",
            ]
        )


def run(output: Path, *, subscriptions: int = SUBSCRIPTIONS, events: int = EVENTS, seed: int = 1) -> ServiceSummary:
    """Run the demo; writes `service.json` into the folder. Raises `TocsinError` if a delivery is missing or wrong."""
    if subscriptions < 1 or events < 2 * _AT_ONCE:
        raise InvalidInput(f"the demo needs a subscription and {2 * _AT_ONCE} flights at least")
    print("reading flights", file=sys.stderr)
    flights = _flights(events)
    alerts = _alerts(flights, subscriptions, random.Random(seed))
    with tempfile.TemporaryDirectory() as folder, ServerProcess(Path(folder)) as server:
        summary = _Demo(server, flights, alerts).run()
    output.mkdir(parents=True, exist_ok=True)
    (output / "service.json").write_text(json.dumps(asdict(summary), indent=2) + "\n")
    print(summary.text())
    if summary.missing or summary.wrong:
        raise TocsinError("the service did not deliver what matched")
    return summary


def _flights(count: int) -> list[dict[str, Any]]:
    """The first flights of the year, each with a number. Absent values are left out."""
    table = flight_table("flights")
    numbered = zip(range(count), table[list(_FIELDS)].to_dict("records"), strict=False)
    return [
        {"number": number} | {name: _plain(value) for name, value in flight.items() if value == value}
        for number, flight in numbered
    ]


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, float) else value


def _alerts(flights: list[dict[str, Any]], count: int, draw: random.Random) -> list[dict[str, Any]]:
    """Alerts for routes that were flown, each with its airline as the destination."""
    alerts = []
    for number in range(count):
        flight = draw.choice(flights)
        kind = draw.choice(_KINDS).format(
            late=draw.randint(15, 180), early=draw.randint(5, 40), origin=flight["origin"]
        )
        where = f"carrier = '{flight['carrier']}' AND dest = '{flight['dest']}' AND {kind}"
        alerts.append({"id": f"alert-{number:06}", "where": where, "destination": flight["carrier"]})
    return alerts


class ServerProcess:
    """`tocsin serve` in a process, always on one port: one that is given, or any that is free."""

    def __init__(self, folder: Path, port: int | None = None) -> None:
        self._folder = folder / "alerts"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = port or free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> ServerProcess:
        self.start()
        return self

    def __exit__(self, *raised: object) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = [sys.executable, "-m", "tocsin", "serve", str(self._folder), "--port", str(self._port)]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE)
        assert self._process.stderr is not None
        first = self._process.stderr.readline().decode(errors="replace")
        while first and not first.startswith("serving "):
            first = self._process.stderr.readline().decode(errors="replace")
        if not first:
            raise TocsinError(f"the server did not start, and ended with status {self._process.wait()}")
        threading.Thread(target=self._process.stderr.read, daemon=True).start()  # so that it never waits for a reader

    def kill(self) -> None:
        """Kill it as a crash would."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()


class _Demo:
    """A publisher, a receiver of all destinations, and a server that dies between them."""

    def __init__(self, server: ServerProcess, flights: list[dict[str, Any]], alerts: list[dict[str, Any]]) -> None:
        self._server, self._flights, self._alerts = server, flights, alerts
        self._came: dict[tuple[str, int], Delivery] = {}
        self._again = 0
        self._shown, self._is_over = 0.0, False
        self._bar = tqdm(total=len(flights), unit="flights", disable=not sys.stderr.isatty(), leave=False)

    def run(self) -> ServiceSummary:
        names = sorted({alert["destination"] for alert in self._alerts})
        with Client(self._server.url, retry_s=_RETRY_S) as client:
            for name in names:
                client.put_destination(name)
            print(f"subscribing {len(self._alerts):,} alerts", file=sys.stderr)
            client.subscribe_many(self._alerts, replace=True)
            threading.Thread(target=self._receive, args=(names,), daemon=True).start()
            began = time.perf_counter()
            down = self._publish(client)
            seconds = time.perf_counter() - began
            newest = {name: client.destination(name)["newest"] for name in names}
            self._await(sum(newest.values()))
        self._is_over = True
        self._bar.close()
        return self._compared(newest, seconds, down)

    def _publish(self, client: Client) -> float:
        """Publish all flights; returns how long the server was away."""
        down = 0.0
        for first in range(0, len(self._flights), _AT_ONCE):
            if first <= len(self._flights) // 2 < first + _AT_ONCE:
                with self._away() as away:
                    client.publish(self._flights[first : first + _AT_ONCE])
                down = away[0]
            else:
                client.publish(self._flights[first : first + _AT_ONCE])
            self._bar.update(min(_AT_ONCE, len(self._flights) - first))
        return down

    @contextmanager
    def _away(self) -> Iterator[list[float]]:
        """Kill the server while a request is on its way, and start it again."""
        away = [0.0]

        def work() -> None:
            began = time.perf_counter()
            self._server.kill()
            self._say("the server was killed")
            self._server.start()
            away[0] = time.perf_counter() - began
            self._say(f"the server is back after {away[0]:.1f} s")

        worker = threading.Thread(target=work)
        worker.start()
        yield away
        worker.join()

    def _receive(self, names: list[str]) -> None:
        """Take deliveries for ever; the stream goes on by itself when the server is back."""
        try:
            with Client(self._server.url, retry_s=_RETRY_S) as client:
                for delivery in client.stream(*names, start="earliest"):
                    self._take(delivery)
        except TocsinError:
            if not self._is_over:  # afterwards another server may answer at this port
                raise

    def _take(self, delivery: Delivery) -> None:
        place = delivery.destination, delivery.sequence
        self._again += place in self._came
        self._came[place] = delivery
        if time.monotonic() - self._shown > 1:
            self._shown = time.monotonic()
            self._say(_line(delivery))

    def _say(self, text: str) -> None:
        self._bar.write(text, file=sys.stderr)

    def _await(self, count: int) -> None:
        """Wait until so many deliveries came, or none for ten seconds."""
        before, since = -1, time.monotonic()
        while len(self._came) < count and time.monotonic() - since < 10:
            if len(self._came) != before:
                before, since = len(self._came), time.monotonic()
            time.sleep(0.05)

    def _compared(self, newest: dict[str, int], seconds: float, down: float) -> ServiceSummary:
        """Compare what came with what an engine in memory finds."""
        engine = Engine()
        engine.subscribe_many([{"id": one["id"], "where": one["where"]} for one in self._alerts])
        table = engine.match_batch(self._flights).table
        expected = Counter(zip(table["event"].to_pylist(), table["subscription"].to_pylist(), strict=True))
        came = Counter(
            (one.event["number"], match.subscription) for one in self._came.values() for match in one.subscriptions
        )
        promised = {(name, number) for name, last in newest.items() for number in range(1, last + 1)}
        missing = (expected - came).total() + len(promised - set(self._came))
        return ServiceSummary(
            len(self._alerts), len(self._flights), len(self._came), came.total(), missing, (came - expected).total(),
            self._again, round(seconds, 3), round(down, 3),
        )  # fmt: skip


def _line(delivery: Delivery) -> str:
    """A delivery in a line."""
    flight = delivery.event
    late = f"left {flight['dep_delay']:+} minutes" if "dep_delay" in flight else "did not leave"
    route = f"{flight['carrier']} {flight['flight']} {flight['origin']}-{flight['dest']}"
    return f"{route} {late}: {len(delivery.subscriptions)} alerts"
