"""A server in a thread of the test's process, a client for it, and a reader of its streams."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import httpx
import uvicorn.server

from tests.waiting import HANG_S
from tocsin.errors import StoreError
from tocsin.service.access.token_file import TokenFile
from tocsin.service.access.tokens import SCOPES
from tocsin.service.limits import Limits, TenantLimits
from tocsin.service.service import Service
from tocsin.service.serving import Options, Server, bound, open_default, serving


async def _short_sleep(seconds: float, result: Any = None) -> Any:
    return await asyncio.sleep(seconds / 5, result)


# uvicorn looks every tenth of a second whether it is to end, and waits as long for connections to close.
uvicorn.server.asyncio = SimpleNamespace(**vars(asyncio) | {"sleep": _short_sleep})  # type: ignore[attr-defined]


class Served:
    """A running server. `client` is one of it; `service` has its parts."""

    def __init__(self, folder: Path, options: Options, port: int = 0, **opening: Any) -> None:
        self.folder = folder
        self._engine = open_default(options, **opening)
        self._listening = bound("127.0.0.1", port)
        started, failures = list[Server](), list[BaseException]()
        has_started = threading.Event()

        def ready(server: Server) -> None:
            started.append(server)
            has_started.set()

        def run() -> None:
            try:
                asyncio.run(serving(self._engine, options, self._listening, ready))
            except BaseException as error:
                failures.append(error)
                if has_started.is_set():  # nobody else tells of it
                    raise
            finally:
                has_started.set()

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()
        has_started.wait(HANG_S)
        if failures:
            self._thread.join(HANG_S)
            self._close()
            raise failures[0]
        self._server = started[0]
        self.server = self._server
        self._clients: list[httpx.Client] = []
        self.client = self.client_of()

    @property
    def service(self) -> Service:
        """The parts of the default tenant."""
        return self._server.service

    def client_of(self, token: str = "") -> httpx.Client:
        """A client that shows a token."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._clients.append(
            httpx.Client(base_url=self._server.address, timeout=HANG_S, trust_env=False, headers=headers)
        )
        return self._clients[-1]

    def token(self, *scopes: str, tenant: str = "") -> str:
        """A new token with some scopes, by default all."""
        return TokenFile(self.folder).create(tenant, scopes or SCOPES)[1]

    def stop(self) -> None:
        """End the server in order."""
        self._server.should_exit = True
        self._thread.join(30)
        assert not self._thread.is_alive()
        for one in self._clients:
            one.close()
        self._close()

    def _close(self) -> None:
        if not isinstance(self._engine, StoreError):
            self._engine.close()
        self._listening.close()

    # What many tests do, with `client`

    def destination(self, name: str = "d") -> None:
        assert self.client.put(f"/v1/destinations/{name}", json={"kind": "stream"}).status_code in (200, 201)

    def subscribe(self, id: str, where: str, **more: Any) -> httpx.Response:
        return self.client.put(f"/v1/subscriptions/{id}", json={"where": where, **more})

    def publish(self, event: Any, **headers: str) -> httpx.Response:
        return self.client.post("/v1/events", json=event, headers=headers)

    def lines(self, events: list[Any], path: str = "/v1/events", **headers: str) -> httpx.Response:
        body = "\n".join(json.dumps(one) for one in events)
        return self.client.post(path, content=body, headers={"Content-Type": "application/x-ndjson", **headers})

    def pulled(self, name: str = "d", **options: Any) -> list[dict[str, Any]]:
        answer = self.client.get(f"/v1/destinations/{name}/deliveries", params=options)
        assert answer.status_code == 200, answer.text
        deliveries: list[dict[str, Any]] = answer.json()["deliveries"]
        return deliveries


@contextmanager
def served(
    folder: Path,
    limits: Limits = Limits(),  # noqa: B008
    *,
    options: Mapping[str, Any] | None = None,
    port: int = 0,
    **opening: Any,
) -> Iterator[Served]:
    """A server with some options of its own, over an engine that is opened with others."""
    one = Served(folder, Options(folder, **{"limits": TenantLimits(limits), **(options or {})}), port, **opening)
    try:
        yield one
    finally:
        one.stop()


class Sent(NamedTuple):
    """An event of a stream."""

    id: str
    kind: str
    data: Any


def events_of(response: httpx.Response) -> Iterator[Sent]:
    """The events of a stream, as the standard reads them."""
    fields: dict[str, str] = {}
    for line in response.iter_lines():
        if line:
            name, _, value = line.partition(":")
            if name:
                fields[name] = value.removeprefix(" ")
        elif "data" in fields:
            yield Sent(fields.get("id", ""), fields.get("event", "message"), json.loads(fields["data"]))
            fields = {"id": fields.get("id", "")}
