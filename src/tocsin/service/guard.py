"""What is checked before a request reaches a call: the host that it names, and the page that sent it.

A page in the user's browser could reach a server on loopback. It sends requests to another origin, or under a name of
its own that resolves to loopback (DNS rebinding). Such a page knows no token. The checks are made nevertheless.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from tocsin.service.problems import Problem

LOOPBACK: Final = frozenset(("localhost", "127.0.0.1", "::1"))
_LOOKED_AT: Final = (b"host", b"origin", b"sec-fetch-site", b"sec-fetch-dest")
_MOST_PATH: Final = 8192


@lru_cache(256)
def host_of(authority: str) -> str:
    """The host of `host:port`; empty if it is not one."""
    try:
        return (urlsplit(f"//{authority}").hostname or "").rstrip(".")
    except ValueError:
        return ""


class Guarded:
    """Refuses requests that name a host not among `hosts` (None: any), or come from a page of another origin.

    Links on pages of other origins may lead to `pages`, whose files are the same for everybody.
    """

    def __init__(self, app: ASGIApp, hosts: frozenset[str] | None, pages: frozenset[str] = frozenset()) -> None:
        self._app, self._hosts, self._pages = app, hosts, pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            is_page = scope["method"] == "GET" and scope["path"] in self._pages
            problem = self._problem(scope["headers"], is_page=is_page)
            if problem is not None:
                await problem.response()(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _problem(self, headers: Iterable[tuple[bytes, bytes]], *, is_page: bool) -> Problem | None:
        hosts, origins, sites, uses = ([value for name, value in headers if name == one] for one in _LOOKED_AT)
        named = host_of(hosts[0].decode("latin-1")) if len(hosts) == 1 else ""
        if not named or (self._hosts is not None and named not in self._hosts):
            return Problem(421, "host", "this server does not answer to that name; --public-host adds a name")
        host = hosts[0].lower()
        is_other = any(one.lower() not in (b"http://" + host, b"https://" + host) for one in origins)
        is_linked = is_page and uses == [b"document"]
        if is_other or (not is_linked and any(one not in (b"none", b"same-origin") for one in sites)):
            return Problem(403, "origin", "this server takes no requests from pages of other origins")
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
