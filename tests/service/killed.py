"""Processes that are killed and started again: a server whose wall clock a test sets, and an endpoint of webhooks.

python -m tests.service.killed server CLOCK ARGUMENT...  the command `tocsin ARGUMENT...`. The file CLOCK has the
                                                         seconds by which its wall clock is ahead.
python -m tests.service.killed endpoint PORT FILE        an endpoint, which writes deliveries to FILE
"""

from __future__ import annotations

import json
import mmap
import random
import socket
import struct
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from tests.waiting import awaited

_ROOT: Final = Path(__file__).parents[2]
_SECONDS: Final = struct.Struct("d")


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


class Killed:
    """A process of this module. It writes its errors to a log."""

    def __init__(self, log: Path, *arguments: str) -> None:
        self._log = log
        self._command = [sys.executable, "-m", "tests.service.killed", *arguments]
        self.start()

    def start(self) -> None:
        """Start it, without waiting until it does its work."""
        with self._log.open("a") as log:
            self._process = subprocess.Popen(self._command, cwd=_ROOT, stderr=log)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def require_running(self) -> None:
        """Fail if it has ended by itself."""
        assert self._process.poll() is None, self._log.read_text()[-2000:]


class KilledServer(Killed):
    """A server at an address that stays the same, with a wall clock that is set ahead of the true one, or behind it."""

    def __init__(self, folder: Path) -> None:
        self._clock, port = folder.with_suffix(".clock"), free_port()
        self.log, self.address = folder.with_suffix(".log"), f"http://127.0.0.1:{port}"
        self.starts = 0
        self.set_clock(0)
        super().__init__(self.log, "server", str(self._clock), "serve", str(folder), "--port", str(port))
        self.await_ready()

    def start(self) -> None:
        self._begun = self.log.stat().st_size if self.log.exists() else 0
        super().start()

    def await_ready(self) -> None:
        """Wait until it listens."""
        awaited(self._is_ready)

    def _is_ready(self) -> bool:
        self.require_running()
        with self.log.open() as log:
            log.seek(self._begun)
            return "serving" in log.read()

    def restart(self, draw: random.Random) -> None:
        """Kill it and start it again. Now and then it is killed once more while it starts."""
        self.kill()
        self.start()
        if draw.random() < 0.15:
            time.sleep(draw.uniform(0, 2))
            self.kill()
            self.start()
        self.await_ready()

    def set_clock(self, ahead_s: float) -> None:
        """Set the wall clock, also of a server that runs."""
        with self._clock.open("r+b" if self._clock.exists() else "wb") as file:
            file.write(_SECONDS.pack(ahead_s))


class KilledEndpoint(Killed):
    """An endpoint of webhooks that mostly answers well."""

    def __init__(self, file: Path) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}/"
        super().__init__(file.with_suffix(".log"), "endpoint", str(port), str(file))


def run_command(clock: Path, arguments: list[str]) -> None:
    """Run a command of tocsin with another wall clock, which is there before tocsin is imported."""
    with clock.open("rb") as stream:
        ahead = mmap.mmap(stream.fileno(), _SECONDS.size, access=mmap.ACCESS_READ)
    seconds, nanoseconds = time.time, time.time_ns
    time.time = lambda: seconds() + _SECONDS.unpack(ahead)[0]
    time.time_ns = lambda: nanoseconds() + int(_SECONDS.unpack(ahead)[0] * 1e9)
    sys.argv = ["tocsin", *arguments]

    from tocsin.__main__ import run

    run()


class _Endpoint(ThreadingHTTPServer):
    """Takes as many connections at once as a sender opens."""

    request_queue_size = 128
    daemon_threads = True


def run_endpoint(port: int, file: Path) -> None:
    """Write deliveries to a file before they are answered. Some requests are answered late, or refused."""
    draw, lock = random.Random(port), threading.Lock()
    with file.open("a") as out:

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                data = json.loads(self.rfile.read(int(self.headers["content-length"])))["data"]
                with lock:
                    chance = draw.random()
                    status = 204 if chance >= 0.002 else draw.choice((500, 429))
                    if status == 204:
                        out.writelines(json.dumps(delivery) + "\n" for delivery in data.get("deliveries", [data]))
                        out.flush()
                time.sleep(draw.uniform(0, 0.05) if chance < 0.05 else 0)
                self.send_response(status)
                if status != 204:
                    self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        _Endpoint(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    kind, first, *rest = sys.argv[1:]
    if kind == "server":
        run_command(Path(first), rest)
    else:
        run_endpoint(int(first), Path(rest[0]))
