"""Memory of the server's process: clients that send or read without end are refused, and it needs no more than before.

The system gives the process no more than a stated number of bytes beyond those that it has after its first requests.
"""

from __future__ import annotations

import re
import signal
import socket
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx
import pytest

from tests.service.test_process import started
from tests.waiting import HANG_S, awaited

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of another process"),
    pytest.mark.slow("starts servers in processes of their own"),
]

MB = 1 << 20
POST = b"POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
STREAM = b"GET /v1/destinations/d/stream HTTP/1.1\r\nHost: localhost\r\n\r\n"
POLL = b"GET /v1/destinations/d/deliveries?after=48&wait=60 HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Process(NamedTuple):
    """A server of a process of its own, with a destination for each event that has an `n`."""

    popen: subprocess.Popen[str]
    address: str
    client: httpx.Client

    def connected(self, buffer: int = 1 << 16) -> socket.socket:
        """A connection whose client takes so many bytes before somebody reads them."""
        url, connection = urlsplit(self.address), socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        connection.settimeout(HANG_S)
        connection.connect((url.hostname, url.port))
        return connection

    def publish(self, event: object) -> int:
        """Publish an event on a connection that is new; returns the status.

        It is 503 if the server closes the connection while it refuses the body.
        """
        try:
            return httpx.post(f"{self.address}/v1/events", json=event, timeout=HANG_S, trust_env=False).status_code
        except httpx.TransportError:
            return 503

    def require_more_at_most(self, size: int) -> None:
        """Let the system refuse what is more than so many bytes beyond the memory that the process has now."""
        import resource

        status = Path(f"/proc/{self.popen.pid}/status").read_text()
        data = re.search(r"VmData:\s+(\d+) kB", status)
        assert data is not None
        most = (int(data[1]) << 10) + size
        resource.prlimit(self.popen.pid, resource.RLIMIT_DATA, (most, most))

    def files(self) -> int:
        return len(list(Path(f"/proc/{self.popen.pid}/fd").iterdir()))

    def streams(self) -> float:
        """The streams that are open."""
        count = re.search(r"^tocsin_open_streams (\S+)", self.client.get("/metrics").text, re.MULTILINE)
        assert count is not None
        return float(count[1])


@contextmanager
def process(folder: Path, *options: str) -> Iterator[Process]:
    """A process that has started its threads. It must end in order, and log nothing."""
    popen, address = started(folder, *options)
    try:
        with httpx.Client(base_url=address, timeout=HANG_S, trust_env=False) as client:
            server = Process(popen, address, client)
            assert client.put("/v1/destinations/d", json={"kind": "stream"}).status_code == 201
            body = {"where": "n >= 0", "destination": "d"}
            assert client.put("/v1/subscriptions/s", json=body).status_code == 201
            with ThreadPoolExecutor(16) as pool:
                assert set(pool.map(server.publish, [{"n": n, "p": "x" * MB} for n in range(48)])) <= {202, 503}
            yield server
            assert server.publish({"n": -1}) == 202
            assert client.get("/readyz").status_code == 200
            popen.send_signal(signal.SIGTERM)
            _, errors = popen.communicate(timeout=HANG_S)
            assert (popen.returncode, errors) == (0, "")
    finally:
        popen.kill()
        popen.communicate()


def send_what_fits(connection: socket.socket, size: int) -> None:
    """Send so many bytes, or fewer if the other side takes no more."""
    connection.settimeout(0.05)
    with suppress(OSError):
        for _ in range(size // MB):
            connection.sendall(b" " * MB)


def test_bodies_without_an_end_and_events_in_a_flood_fit(tmp_path: Path) -> None:
    """One client keeps back the ends of 240 MB, and others send 60 MB at once. The bodies have 16 MB of room."""
    with process(tmp_path, "--bodies-mb", "16") as server, ExitStack() as stack:
        server.require_more_at_most(128 * MB)
        for _ in range(60):
            connection = stack.enter_context(server.connected())
            connection.sendall(POST + b"Content-Length: %d\r\n\r\n" % (4 * MB + 1))
            send_what_fits(connection, 4 * MB)
        assert server.client.get("/healthz").status_code == 200
        stack.close()
        with ThreadPoolExecutor(60) as pool:
            statuses = Counter(pool.map(server.publish, [{"n": n, "p": "x" * MB} for n in range(240)]))

        assert statuses[202] > 0 and statuses.keys() <= {202, 429, 503}


def test_readers_that_do_not_read_fit(tmp_path: Path) -> None:
    """Each of 60 streams and 60 pulls asks for 48 MB, and takes next to nothing. The answers have 32 MB of room."""
    pull = b"GET /v1/destinations/d/deliveries?after=0 HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with process(tmp_path, "--answers-mb", "32") as server, ExitStack() as stack:
        server.require_more_at_most(320 * MB)
        for request in (STREAM.replace(b"stream ", b"stream?from=earliest "), pull):
            for _ in range(60):
                connection = stack.enter_context(server.connected(1 << 12))
                connection.sendall(request)
        for number in range(8):
            assert server.publish({"n": number, "p": "x" * MB}) == 202
        stack.close()
        awaited(lambda: server.streams() == 0)


def test_streams_that_open_and_close_in_a_storm_leave_nothing(tmp_path: Path) -> None:
    """Some are closed, some are reset; some have read, and most have not."""
    with process(tmp_path, "--streams", "200") as server:
        most = server.files() + 20  # the process opens its database for further threads
        server.require_more_at_most(64 * MB)
        for number in range(1500):
            connection = server.connected()
            connection.sendall(STREAM if number % 2 else POLL)
            if number % 6 == 1:
                connection.recv(10)
            if number % 4 == 0:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
        awaited(lambda: server.streams() == 0 and server.files() <= most)
        assert server.client.get("/v1/destinations/d/deliveries?wait=0.01").status_code == 200
