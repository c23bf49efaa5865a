"""The built files of the console, as answers.

The page has one name, and is asked for each time. All other files have names with a digest of their content, so that a
browser keeps them for ever. Nothing is loaded from elsewhere, no script or style is in the page itself, and no text
becomes HTML: the policy says so to the browser.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from functools import lru_cache
from importlib.resources import files
from typing import Final, NamedTuple

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tocsin.service.api import is_known
from tocsin.service.problems import Problem

PAGE: Final = "/"
FOLDER: Final = "/console/"
_BUILT: Final = "built"
_TYPES: Final = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
    "woff2": "font/woff2",
}
_SMALL: Final = frozenset(("woff2",))
"""Types that are compressed already."""
POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "font-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
_HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Vary": "Accept-Encoding",
}
_HASHED: Final = re.compile(r".+-[\w-]{8}\.\w+")
"""Names with a digest of the content, as the build makes them."""
_FOREVER: Final = "public, max-age=31536000, immutable"


class File(NamedTuple):
    """A built file. What is not compressed by its format is also there compressed."""

    body: bytes
    compressed: bytes | None
    media_type: str
    tag: str


@lru_cache(maxsize=1)
def built() -> dict[str, File]:
    """All built files by name, read on first use."""
    folder = files(__package__) / _BUILT
    found = [one for one in folder.iterdir() if one.is_file()] if folder.is_dir() else []
    return {one.name: _file(one.name, one.read_bytes()) for one in found if _ending(one.name) in _TYPES}


def _ending(name: str) -> str:
    return name.rpartition(".")[2]


def _file(name: str, body: bytes) -> File:
    ending = _ending(name)
    compressed = None if ending in _SMALL else gzip.compress(body, mtime=0)
    return File(body, compressed, _TYPES[ending], f'"{hashlib.sha256(body).hexdigest()[:32]}"')


def _answer(name: str, headers: Headers) -> Response:
    """A file as an answer; raises a `Problem`."""
    file = built().get(name)
    if file is None:
        raise Problem(404, "unknown", "there is nothing at this path")
    more = {**_HEADERS, "ETag": file.tag, "Cache-Control": _FOREVER if _HASHED.fullmatch(name) else "no-cache"}
    if is_known(headers, file.tag):
        return Response(None, 304, more)
    if file.compressed is not None and "gzip" in headers.get("accept-encoding", ""):
        return Response(file.compressed, headers={**more, "Content-Encoding": "gzip"}, media_type=file.media_type)
    return Response(file.body, headers=more, media_type=file.media_type)


async def serve(scope: Scope, receive: Receive, send: Send) -> None:
    """The page and its files, to everybody: they hold nothing of what the service knows."""
    if scope["method"] not in ("GET", "HEAD"):
        problem = Problem(405, "method", f"{scope['method']} is not allowed here", headers={"Allow": "GET, HEAD"})
        await problem.response()(scope, receive, send)
        return
    try:
        name = "index.html" if scope["path"] == PAGE else scope["path"].removeprefix(FOLDER)
        response = _answer(name, Headers(scope=scope))
    except Problem as problem:
        response = problem.response()
    await response(scope, receive, send)
