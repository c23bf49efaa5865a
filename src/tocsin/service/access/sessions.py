"""Sessions of browsers: a cookie in place of a token, so that no script of a page can read the token.

A session is 256 random bits in a cookie. The server keeps a hash of them with the id of the token, in memory. So a
session ends with its token, with the server, when it is ended, and when it was not used for twelve hours.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from starlette.datastructures import Headers

from tocsin.service.access.tokens import digest_of

IDLE_S: Final = 12 * 3600.0
"""A session that is not used for this time ends."""
_MOST, _MOST_OF_TENANT = 10_000, 1_000
"""Sessions of a server, and of one tenant, whose oldest end before those of others."""
_SECURE: Final = "__Host-tocsin-session"
"""Browsers accept this name over TLS only, and from the host itself only."""
_PLAIN: Final = "tocsin-session"


@dataclass(slots=True)
class _Session:
    token: str  # its id
    tenant: str
    used: float


class Sessions:
    """The sessions of a server. `clock` gives seconds that never go back."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._known: dict[bytes, _Session] = {}  # by hash, those that were used last at the end
        self._counts = Counter[str]()  # by tenant

    def __len__(self) -> int:
        return len(self._known)

    def begin(self, token: str, tenant: str) -> str:
        """A new session with a token, by its id; returns the text of the cookie."""
        now = self._clock()
        for key in [key for key, session in self._known.items() if now - session.used > IDLE_S]:
            self._drop(key)
        if self._counts[tenant] >= _MOST_OF_TENANT:
            self._drop(next(key for key, session in self._known.items() if session.tenant == tenant))
        while len(self._known) >= _MOST:
            self._drop(next(iter(self._known)))
        text = secrets.token_hex(32)
        self._known[digest_of(text)] = _Session(token, tenant, now)
        self._counts[tenant] += 1
        return text

    def _drop(self, key: bytes) -> None:
        session = self._known.pop(key, None)
        if session is not None:
            self._counts[session.tenant] -= 1
            if not self._counts[session.tenant]:
                del self._counts[session.tenant]

    def token(self, text: str) -> str | None:
        """The id of a session's token, None if it is not a live session."""
        key, now = digest_of(text), self._clock()
        session = self._known.get(key)
        if session is None or now - session.used > IDLE_S:
            self._drop(key)
            return None
        session.used = now
        del self._known[key]  # so that it stands at the end
        self._known[key] = session
        return session.token

    def end(self, text: str) -> None:
        """End a session."""
        self._drop(digest_of(text))


def cookie_name(headers: Headers, *, is_secure: bool) -> str:
    """The name of the cookie. Cookies of a host are the same for all its ports, so the name has the port."""
    if is_secure:
        return _SECURE
    port = headers.get("host", "").rpartition(":")[2]
    return f"{_PLAIN}-{port}" if port.isdecimal() else _PLAIN


def session_text(headers: Headers, *, is_secure: bool) -> str | None:
    """The text of the session that a request shows, None without its cookie.

    `http.cookies` takes a time that is quadratic in the length of a quoted value before Python 3.11.10. Our cookie has
    no quotes.
    """
    name, text = cookie_name(headers, is_secure=is_secure), None
    for part in headers.get("cookie", "").split(";"):
        key, _, value = part.partition("=")
        if key.strip() == name:  # of several the last: a browser sends those of other paths, which are not ours, first
            text = value.strip()
    return text


def cookie(headers: Headers, text: str, *, is_secure: bool) -> str:
    """The header that sets the cookie of a session, or removes it if `text` is empty."""
    parts = [f"{cookie_name(headers, is_secure=is_secure)}={text}", "Path=/", "HttpOnly", "SameSite=Strict"]
    return "; ".join([*parts, *(["Secure"] if is_secure else []), *([] if text else ["Max-Age=0"])])
