"""Receivers of webhooks in threads of the test, which answer as a test says, and a clock that tests move."""

from __future__ import annotations

import json
import socket
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from tests.service.served import Served
from tests.waiting import awaited
from tocsin.service import clock


class Posted(NamedTuple):
    """A request that came."""

    headers: Mapping[str, str]
    body: bytes
    path: str = ""

    @property
    def document(self) -> Any:
        return json.loads(self.body)

    @property
    def delivery(self) -> Any:
        return self.document["data"]

    @property
    def number(self) -> int:
        return int(self.delivery["sequence"])


class Reply(NamedTuple):
    """What a receiver answers."""

    status: int = 204
    headers: Mapping[str, str] = {}
    body: bytes = b""
    after_s: float = 0.0


class _Server(ThreadingHTTPServer):
    """Takes more connections at once than a sender opens. With the usual five, a busy machine resets some."""

    request_queue_size = 128
    daemon_threads = True


class Receiver:
    """An HTTP server. `reply` says what each request is answered; `got` has those that came."""

    def __init__(self, reply: Callable[[Posted], Reply | None] = lambda posted: Reply(), context: Any = None) -> None:
        self.reply, self.got = reply, list[Posted]()
        self.together = self.most_together = 0
        self._counting = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), self._handler())
        if context is not None:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/hook?a=1"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def _handler(receiver: Receiver) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                posted = Posted({name.lower(): value for name, value in self.headers.items()}, body, self.path)
                with receiver._counting:
                    receiver.got.append(posted)
                    receiver.together += 1
                    receiver.most_together = max(receiver.most_together, receiver.together)
                try:
                    reply = receiver.reply(posted)
                    time.sleep(reply.after_s if reply else 0)
                finally:
                    with receiver._counting:
                        receiver.together -= 1
                if reply is None:  # it dies
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                self.send_response(reply.status)
                headers = {"content-length": str(len(reply.body))} if reply.status != 204 else {}
                for name, value in {**headers, **reply.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(reply.body)

            def do_GET(self) -> None:
                self.do_POST()

            def log_message(self, *_: Any) -> None:
                pass

        return Handler

    def numbers(self) -> list[int]:
        """The numbers of the deliveries that came, in order."""
        return [one.number for one in list(self.got)]

    def await_numbers(self, *numbers: int) -> None:
        """Wait until exactly these came, in this order."""
        awaited(lambda: len(self.got) >= len(numbers))
        assert self.numbers() == list(numbers)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def receiver(
    reply: Callable[[Posted], Reply | None] = lambda posted: Reply(), context: Any = None
) -> Iterator[Receiver]:
    one = Receiver(reply, context)
    try:
        yield one
    finally:
        one.close()


class Clock(clock.Clock):
    """The clocks of a server's senders, which a test moves: both of them, or that of the wall alone."""

    def __init__(self, server: Served) -> None:
        self._senders, self._ahead_s, self._set_s = server.service.senders, 0.0, 0.0
        self._stopped_s: float | None = None
        super().__init__(lambda: self._seconds() + self._set_s, self._seconds)
        self._senders.clock = server.service.clock = self  # retention, too: it dates letters of the future anew

    def _seconds(self) -> float:
        return (time.time() if self._stopped_s is None else self._stopped_s) + self._ahead_s

    def __call__(self) -> int:
        return self.now_ms()

    def stop(self) -> None:
        """From now on only the test moves it, so that it does not matter how long the test takes."""
        self._stopped_s = time.time()

    def move(self, moment: int) -> None:
        """Move both to a time, in milliseconds. They stand."""
        self._stopped_s, self._ahead_s = moment / 1000, 0.0
        self._senders.look()

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._ahead_s += seconds
        self._senders.look()

    def set(self, seconds: float) -> None:
        """Set the clock of the wall ahead of the steady one, or behind it."""
        self._set_s = seconds
        self._senders.look()


def hook(server: Served, url: str, name: str = "w", *, where: str | None = "n >= 0", **options: Any) -> Any:
    """Make a webhook to this machine, and a subscription for it; returns the webhook's document."""
    record = {"kind": "webhook", "url": url, "allow_private": True, **options}
    answer = server.client.put(f"/v1/destinations/{name}", json=record)
    assert answer.status_code in (200, 201), answer.text
    if where is not None:
        assert server.subscribe(f"s-{name}", where, destination=name).status_code in (200, 201)
    return answer.json()


def publish(server: Served, count: int, first: int = 0) -> None:
    answer = server.lines([{"n": number} for number in range(first, first + count)])
    assert answer.json()["accepted"] == count


def shown(server: Served, name: str = "w") -> Any:
    """The document of a destination."""
    return server.client.get(f"/v1/destinations/{name}").json()


def dead_letters(server: Served, name: str = "w", **options: Any) -> list[Any]:
    answer = server.client.get(f"/v1/destinations/{name}/dead-letters", params=options)
    assert answer.status_code == 200, answer.text
    found: list[Any] = answer.json()["dead_letters"]
    return found


def letters(server: Served) -> list[tuple[int, int, int]]:
    """The number of each delivery that is tried again, how often it was tried, and when it is due."""
    with sqlite3.connect(server.folder / "store.db") as connection:
        rows = connection.execute(
            "SELECT sequence, attempts, due FROM service_letters WHERE dead = '' ORDER BY sequence"
        )
        return rows.fetchall()
