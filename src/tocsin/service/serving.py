"""The process of `tocsin serve`: opens the engine, runs uvicorn, and ends in order."""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import logging
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

import uvicorn

from tocsin.engine import Engine
from tocsin.engine.durable.engine import DurableEngine
from tocsin.errors import InvalidInput
from tocsin.service.app import make_app
from tocsin.service.protocol import LimitedHeads
from tocsin.service.retention import keep
from tocsin.service.service import Limits, Service

PORT: Final = 8470
_LOG: Final = logging.getLogger("tocsin.service")
_KEEP_ALIVE_S: Final = 75
_BACKLOG: Final = 2048
_GRACE_S: Final = 10
_COLLECTOR: Final = (50_000, 20, 50)


class Options(NamedTuple):
    """How a folder is served."""

    folder: Path
    host: str = "127.0.0.1"
    port: int = PORT  # 0: any that is free
    sync: str = "full"
    limits: Limits = Limits()


class Server(uvicorn.Server):
    """A server that wakes its streams before it waits for connections to end. `should_exit` ends it."""

    def __init__(self, config: uvicorn.Config, service: Service, address: str) -> None:
        super().__init__(config)
        self.service, self.address = service, address

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.service.hub.stop()
        await super().shutdown(sockets)


@asynccontextmanager
async def running(engine: DurableEngine, limits: Limits = Limits()) -> AsyncIterator[Service]:  # noqa: B008
    """A service over an engine, in the running event loop, with its retention."""
    service = Service(engine, limits)
    keeping = asyncio.create_task(keep(service))
    try:
        yield service
    finally:
        service.hub.stop()
        keeping.cancel()
        with suppress(asyncio.CancelledError):
            await keeping
        await asyncio.to_thread(service.close)


def require_loopback(host: str) -> None:
    """Raise `InvalidInput` for an address that others reach: there are no tokens yet."""
    try:
        is_loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_loopback = False
    if not is_loopback:
        raise InvalidInput(
            f"--host is {host!r:.60}; without tokens the server listens on loopback only, 127.0.0.1 or ::1"
        )


def serve(options: Options, ready: Callable[[Server], None]) -> None:
    """Serve a folder until a signal; `ready` gets the server before requests are taken."""
    require_loopback(options.host)
    if not 0 <= options.port < 65_536:
        raise InvalidInput(f"--port is {options.port}; it is a number from 0 to 65535")
    listening = bound(options.host, options.port)
    with listening:
        engine = Engine.open(options.folder, sync=options.sync)
        with engine:
            _spare_collector()
            with suppress(KeyboardInterrupt):  # uvicorn raises the signal again once it has ended in order
                _runner()(serving(engine, options, listening, ready))


def _spare_collector() -> None:
    """Let Python's collector of cycles look at what requests leave, and not at all subscriptions again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECTOR)


def _runner() -> Callable[..., None]:
    try:
        import uvloop
    except ImportError:  # as on Windows
        return asyncio.run
    return uvloop.run


async def serving(
    engine: DurableEngine, options: Options, listening: socket.socket, ready: Callable[[Server], None]
) -> None:
    """Serve an open engine on a socket."""
    async with running(engine, options.limits) as service:
        config = uvicorn.Config(
            make_app(service), http=LimitedHeads, ws="none", lifespan="off", log_config=None, access_log=False,
            server_header=False, timeout_keep_alive=_KEEP_ALIVE_S, timeout_graceful_shutdown=_GRACE_S, backlog=_BACKLOG,
            proxy_headers=False,
        )  # fmt: skip
        host, port = listening.getsockname()[:2]
        server = Server(config, service, f"http://{f'[{host}]' if ':' in host else host}:{port}")
        listening.listen(_BACKLOG)  # from now on requests wait
        ready(server)
        await server.serve([listening])


def bound(host: str, port: int) -> socket.socket:
    """A socket at an address; raises `InvalidInput` if it is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    one = socket.socket(family, socket.SOCK_STREAM)
    try:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind((host, port))
    except OSError as error:
        one.close()
        raise InvalidInput(f"{host}:{port} cannot be listened on: {error.strerror or error}") from None
    one.setblocking(False)
    return one
