"""The process of `tocsin serve`: opens the engine, runs uvicorn, and ends in order."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import uvicorn

from tocsin.engine import Engine
from tocsin.engine.durable.engine import DurableEngine
from tocsin.engine.durable.transactions import Transactions
from tocsin.errors import InvalidInput, StoreError
from tocsin.garbage import set_aside
from tocsin.service.access.authentication import Authentication
from tocsin.service.access.token_file import TokenFile
from tocsin.service.access.tokens import other_tenants
from tocsin.service.api import Shared
from tocsin.service.app import make_app
from tocsin.service.clock import Mark, RememberClock
from tocsin.service.connections import Connections, room_for
from tocsin.service.deliver.encryption import Keys
from tocsin.service.guard import LOOPBACK
from tocsin.service.limits import CONNECTIONS, CONNECTIONS_PER_ADDRESS, LiveLimits, TenantLimits
from tocsin.service.problems import Problem
from tocsin.service.protocol import BoundedConnection
from tocsin.service.reserve import Reserve
from tocsin.service.service import Service
from tocsin.service.tables import RememberTokens, had_tokens
from tocsin.service.tenants import Tenants
from tocsin.store import InUse

PORT: Final = 8470
_LOG: Final = logging.getLogger("tocsin.service")
_KEEP_ALIVE_S: Final = 75
_BACKLOG: Final = 2048
_GRACE_S: Final = 10
_USES_S: Final = 60.0
_LOOK_S: Final = 0.1
_CLOCK_S: Final = 1.0
_DRIFT_MS: Final = 60_000
"""So much the clocks may drift apart before it is stored again."""


class Options(NamedTuple):
    """How a folder is served."""

    folder: Path
    host: str = "127.0.0.1"
    port: int = PORT  # 0: any that is free
    sync: str = "full"
    limits: TenantLimits | LiveLimits = TenantLimits()
    public_hosts: tuple[str, ...] = ()  # names under which a proxy passes requests on
    trusted_proxies: tuple[str, ...] = ()  # addresses and networks whose X-Forwarded headers count
    connections: int = CONNECTIONS  # that are open at once
    connections_per_address: int = CONNECTIONS_PER_ADDRESS
    no_tokens: bool = False  # everybody on this machine may make every call, although there were tokens once
    secret_keys: Keys = Keys()  # that encrypt the secrets of destinations

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches the address."""
        try:
            return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def exposing(self) -> str | None:
        """The option by which others than the users of this machine reach the server."""
        if not self.is_loopback:
            return f"--host is {self.host!r:.60}"
        given = "--public-host" if self.public_hosts else "--trusted-proxies" if self.trusted_proxies else None
        return given and f"{given} lets others in"

    @property
    def hosts(self) -> frozenset[str] | None:
        """The names that requests may give the server; None: any, as of a server that others reach by its address."""
        named = frozenset(one.lower().rstrip(".") for one in self.public_hosts)
        return LOOPBACK | named if named or self.is_loopback else None


class Server(uvicorn.Server):
    """A server that wakes its streams before it waits for connections to end. `should_exit` ends it."""

    def __init__(self, config: uvicorn.Config, shared: Shared, address: str) -> None:
        super().__init__(config)
        self.tenants, self.authentication, self.connections = shared
        self.address = address

    @property
    def service(self) -> Service:
        """The service of the default tenant; raises a `Problem` if it is left out."""
        return self.tenants.default

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.tenants.stop()
        await super().shutdown(sockets)


@asynccontextmanager
async def running(
    engine: DurableEngine | StoreError, options: Options, authentication: Authentication
) -> AsyncIterator[Tenants]:
    """The tenants of a server, in the running event loop."""
    tenants = Tenants(options.folder, engine, options.limits, options.sync, options.secret_keys)
    work = (
        _note_uses(authentication),
        tenants.resume(),
        _remember_tokens(tenants, authentication),
        _remember_clock(tenants),
        tenants.follow_limits(),
        tenants.keep_reserve(),
    )
    beside = [asyncio.create_task(one) for one in work]
    try:
        yield tenants
    finally:
        closing = asyncio.create_task(_close(tenants, authentication, beside))
        while not closing.done():
            with suppress(asyncio.CancelledError):  # the server's end raises the signal again, which cancels
                await asyncio.shield(closing)
        closing.result()


async def _close(tenants: Tenants, authentication: Authentication, beside: list[asyncio.Task[None]]) -> None:
    for task in beside:
        task.cancel()
    await asyncio.gather(*beside, return_exceptions=True)
    await tenants.close()
    await asyncio.to_thread(authentication.write_uses)


async def _note_uses(authentication: Authentication) -> None:
    while True:
        await asyncio.sleep(_USES_S)
        await asyncio.to_thread(authentication.write_uses)


async def _remember_tokens(tenants: Tenants, authentication: Authentication) -> None:
    """Note in the store that the folder has tokens, from the first one on."""
    is_noted = False
    while not is_noted:
        if authentication.needs_token:
            with suppress(StoreError, Problem):  # such as of a full disk, or of a tenant that is left out
                await tenants.default.commit(RememberTokens(there=True))
                is_noted = True
        await asyncio.sleep(_LOOK_S)


async def _remember_clock(tenants: Tenants) -> None:
    """Keep in the store which difference of the clocks is trusted, also across the next start."""
    stored: Mark | None = None
    while True:
        mark = tenants.clock.mark
        if mark is not None and (stored is None or abs(mark.offset_ms - stored.offset_ms) > _DRIFT_MS):
            with suppress(StoreError, Problem):
                await tenants.default.commit(RememberClock(mark))
                stored = mark
        await asyncio.sleep(_CLOCK_S)


def check(options: Options) -> None:
    """Raise `InvalidInput` for options that are wrong, or would let everybody in; `StoreError` for damaged tokens."""
    if not 0 <= options.port < 65_536:
        raise InvalidInput(f"--port is {options.port}; it is a number from 0 to 65535")
    for name in ("connections", "connections_per_address"):
        if getattr(options, name) < 1:
            raise InvalidInput(f"--{name.replace('_', '-')} is {getattr(options, name)}; it is at least 1")
    for one in options.trusted_proxies:
        try:
            is_everybody = ipaddress.ip_network(one, strict=False).prefixlen == 0
        except ValueError:
            raise InvalidInput(
                f"--trusted-proxies has {one!r:.60}; it has addresses such as 10.0.0.1, or networks such"
                " as 10.0.0.0/8, with commas between"
            ) from None
        if is_everybody:
            raise InvalidInput(f"--trusted-proxies has {one}, which is everybody; name the proxies")
    tokens = TokenFile(options.folder).read()
    if tokens and options.no_tokens:
        raise InvalidInput(f"--no-tokens is set, and {options.folder} has {len(tokens):,} tokens; leave it out")
    if options.exposing and not tokens:
        where = "loopback only, 127.0.0.1 or ::1, and not behind a proxy"
        raise InvalidInput(f"{options.exposing}; without a token the server listens on {where}. {_how(options)}")


def _how(options: Options) -> str:
    return f"`tocsin token create {options.folder} --scope read,publish,subscribe` makes one"


def check_lost_tokens(engine: DurableEngine, options: Options, authentication: Authentication) -> None:
    """Raise `InvalidInput` if a folder had tokens and has none now, as after a restore that left them out."""
    transactions = Transactions(engine)
    if authentication.needs_token or not transactions.read(had_tokens):
        return
    if not options.no_tokens:
        raise InvalidInput(
            f"{options.folder} had tokens, and their file {authentication.path} is gone. Restore the file, "
            f"or make new tokens: {_how(options)}. With --no-tokens everybody on this machine may make every call"
        )
    transactions.submit(RememberTokens(there=False)).result()


def serve(options: Options, ready: Callable[[Server], None]) -> None:
    """Serve a folder until a signal; `ready` gets the server before requests are taken."""
    check(options)
    _warn_of_rights(options.folder)
    options = _fitting(options)
    listening = bound(options.host, options.port)
    with listening:
        Reserve(options.folder).look()  # SQLite needs some room to open a store
        engine = open_default(options)
        with nullcontext() if isinstance(engine, StoreError) else engine:
            set_aside()  # the subscriptions, too, which are not garbage of any request
            with suppress(KeyboardInterrupt):  # uvicorn raises the signal again once it has ended in order
                _runner()(serving(engine, options, listening, ready))


def open_default(options: Options, **opening: Any) -> DurableEngine | StoreError:
    """The engine of the default tenant, or why it is left out: nobody else writes it, and there are other tenants.

    They have tokens. What the store of the default tenant says of lost tokens is not needed then.
    """
    try:
        return Engine.open(options.folder, sync=options.sync, **opening)
    except StoreError as error:
        if isinstance(error, InUse) or not other_tenants(options.folder) or not TokenFile(options.folder).read():
            raise
        return error


def _warn_of_rights(folder: Path) -> None:
    """Warn if every user of the machine may look into a folder, as into those that older releases made."""
    with suppress(OSError):
        if os.name != "nt" and folder.stat().st_mode & 0o007:
            _LOG.warning("other users of this machine may read %s; `chmod -R go= %s` keeps them out", folder, folder)


def _fitting(options: Options) -> Options:
    """The options with as many connections as the process may open."""
    room = room_for(options.connections)
    if room == options.connections:
        return options
    _LOG.warning(
        "the process may not open enough files for --connections %d, so that %d is the limit; `ulimit -n` or "
        "LimitNOFILE raises it", options.connections, room,
    )  # fmt: skip
    per_address = max(1, options.connections_per_address * room // options.connections)
    return options._replace(connections=room, connections_per_address=per_address)


def _runner() -> Callable[..., None]:
    try:
        import uvloop
    except ImportError:  # as on Windows
        return asyncio.run
    return uvloop.run


async def serving(
    engine: DurableEngine | StoreError, options: Options, listening: socket.socket, ready: Callable[[Server], None]
) -> None:
    """Serve an open engine, and the other tenants of its folder, on a socket."""
    is_left_out = isinstance(engine, StoreError)
    authentication = Authentication(options.folder, always=is_left_out or options.exposing is not None)
    if not isinstance(engine, StoreError):
        check_lost_tokens(engine, options, authentication)
    connections = Connections(options.connections, options.connections_per_address, options.trusted_proxies)
    async with running(engine, options, authentication) as tenants:
        shared = Shared(tenants, authentication, connections)
        config = uvicorn.Config(
            make_app(shared, options.hosts),
            http=partial(BoundedConnection, connections),  # type: ignore[arg-type]
            ws="none", lifespan="off", log_config=None, access_log=False, server_header=False,
            log_level="error",  # uvicorn warns of each request that is not HTTP, which anybody can send
            timeout_keep_alive=_KEEP_ALIVE_S, timeout_graceful_shutdown=_GRACE_S, backlog=_BACKLOG,
            proxy_headers=bool(options.trusted_proxies), forwarded_allow_ips=list(options.trusted_proxies),
        )  # fmt: skip
        host, port = listening.getsockname()[:2]
        server = Server(config, shared, f"http://{f'[{host}]' if ':' in host else host}:{port}")
        listening.listen(_BACKLOG)  # from now on requests wait
        ready(server)
        await server.serve([listening])


def bound(host: str, port: int) -> socket.socket:
    """A socket at an address; raises `InvalidInput` if it is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio, unlike uvloop, sends at once (TCP_NODELAY) only if the protocol is named. Otherwise the body of an answer
    # waits until the client confirms the head, which it delays by 40 ms or more.
    one = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind((host, port))
    except OSError as error:
        one.close()
        raise InvalidInput(f"{host}:{port} cannot be listened on: {error.strerror or error}") from None
    one.setblocking(False)
    return one
