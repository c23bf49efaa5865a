"""What is checked before a request reaches a call: the host that it names, and the page that sent it.

A server without tokens listens on loopback. A page in the user's browser could reach it there, under a name of the
page's own that resolves to loopback (DNS rebinding), or by a request to another origin.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from tocsin.service.problems import Problem

_LOOPBACK: Final = frozenset(("localhost", "127.0.0.1", "::1"))
_LOOKED_AT: Final = (b"host", b"origin", b"sec-fetch-site")
_MOST_PATH: Final = 8192


@lru_cache(256)
def host_of(authority: str) -> str:
    """The host of `host:port`; empty if it is not one."""
    try:
        return (urlsplit(f"//{authority}").hostname or "").rstrip(".")
    except ValueError:
        return ""


class LoopbackOnly:
    """Refuses requests that name another host, or come from a page of another origin."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str] = _LOOPBACK) -> None:
        self._app, self._hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            problem = self._problem(scope["headers"])
            if problem is not None:
                await problem.response()(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _problem(self, headers: Iterable[tuple[bytes, bytes]]) -> Problem | None:
        hosts, origins, sites = ([value for name, value in headers if name == one] for one in _LOOKED_AT)
        if len(hosts) != 1 or host_of(hosts[0].decode("latin-1")) not in self._hosts:
            return Problem(421, "host", "without tokens this server answers only to localhost, 127.0.0.1 and [::1]")
        host = hosts[0].lower()
        is_other = any(one.lower() not in (b"http://" + host, b"https://" + host) for one in origins)
        if is_other or any(one not in (b"none", b"same-origin") for one in sites):
            return Problem(403, "origin", "without tokens this server takes no requests from pages of other origins")
        return None


class EncodedPaths:
    """Routes paths as they came, so that an id may contain an encoded slash. Calls decode the parts themselves."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path = scope.get("raw_path") or scope["path"].encode()
            if len(path) > _MOST_PATH:
                problem = Problem(414, "path", f"the path has more than {_MOST_PATH:,} bytes")
                await problem.response()(scope, receive, send)
                return
            scope["path"] = path.decode("latin-1")
        await self._app(scope, receive, send)
