"""The sender of a request, by its token. The file of tokens is read again whenever it changed."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from starlette.datastructures import Headers

from tocsin.errors import StoreError
from tocsin.newest import Newest
from tocsin.service.access.sessions import Sessions, session_text
from tocsin.service.access.token_file import TokenFile
from tocsin.service.access.tokens import MOST_TEXT, Token, found
from tocsin.service.principals import EVERYBODY, Principal
from tocsin.service.problems import Problem

_LOG: Final = logging.getLogger("tocsin.service")
_SETTLED_S: Final = 0.1
"""The clock of a file system may be so coarse that two changes within this time have the same mark."""
GRACE_S: Final = 300.0
"""While the file of the tokens cannot be read, the tokens that were read last stay valid for this time."""


class LiveTokens:
    """The tokens of a folder at any moment. Looking costs microseconds while the file does not change."""

    def __init__(self, file: TokenFile, clock: Callable[[], float] = time.monotonic) -> None:
        self._file, self._was_there, self._is_closed = file, False, False
        self._newest = Newest(
            file.mark, self._read, failed=self._failed, recovered=self._recovered, settles_s=_SETTLED_S, clock=clock
        )
        self.used: dict[str, int] = {}  # when each token was last used, in milliseconds

    def look(self) -> dict[str, Token]:
        """All tokens. While the file cannot be read they are those before, and none after `GRACE_S`."""
        tokens = self._newest()
        if self._newest.failure is None or self._newest.failing_s < GRACE_S:
            return tokens
        if not self._is_closed:
            self._is_closed = True
            _LOG.error("no token is valid any more: %s", self._newest.failure.reason)
        return {}

    @property
    def left_s(self) -> float | None:
        """For how long tokens are still valid though their file cannot be read; None if it can be."""
        self.look()
        return None if self._newest.failure is None else max(0.0, GRACE_S - self._newest.failing_s)

    @property
    def is_there(self) -> bool:
        """Whether there is a file, even if no token in it is live, or it cannot be read."""
        try:
            return self._file.mark() is not None
        except StoreError:
            return True

    def _read(self) -> dict[str, Token]:
        tokens = self._file.read()
        if self._was_there and not tokens and not self.is_there:
            raise StoreError(f"{self._file.path} is gone")
        self._was_there = self._was_there or bool(tokens)
        return tokens

    def _failed(self, reason: str) -> None:
        left_s = max(0.0, GRACE_S - self._newest.failing_s)
        _LOG.error("the tokens that were read last stay valid for %.0f s: %s", left_s, reason)

    def _recovered(self) -> None:
        self._is_closed = False
        _LOG.warning("%s can be read again", self._file.path)


class Authentication:
    """Finds the principal of a request. `always` refuses everybody without a token, even if there are no tokens."""

    def __init__(self, folder: Path, *, always: bool = False) -> None:
        self._file = TokenFile(folder)
        self.tokens = LiveTokens(self._file)
        self._needs_token = always
        self.sessions = Sessions(time.monotonic)
        self.denied = {401: 0, 403: 0}

    @property
    def path(self) -> Path:
        """The file of the tokens."""
        return self._file.path

    @property
    def needs_token(self) -> bool:
        """Whether requests need a token: once there was one, they always do."""
        self._needs_token = self._needs_token or self.tokens.is_there
        return self._needs_token

    def principal(self, headers: Headers, *, is_secure: bool = False) -> Principal:
        """The sender of a request, by the token in its head or by its session; raises a `Problem`.

        `is_secure`: the request came over TLS, where the cookie of a session has another name.
        """
        if not self.needs_token:
            return EVERYBODY
        given = headers.getlist("authorization")
        if not given:
            return self._of_session(session_text(headers, is_secure=is_secure))
        scheme, _, text = given[0].partition(" ")
        if len(given) > 1 or scheme.lower() != "bearer":
            raise self._denied(', error="invalid_token"')
        return self._of_token(self.token(text.strip(" ")))

    def token(self, text: str) -> Token | None:
        """The token of a text, None if it is not one."""
        return found(text, self.tokens.look()) if len(text) <= MOST_TEXT else None

    def begin(self, text: str) -> tuple[str, Principal]:
        """A new session with the token of a text: the text of its cookie, and who uses it; raises a `Problem`."""
        principal = self._of_token(self.token(text))
        return self.sessions.begin(principal.token, principal.tenant), principal

    def _of_session(self, text: str | None) -> Principal:
        if not text:
            raise self._denied("")
        return self._of_token(self.tokens.look().get(self.sessions.token(text) or ""))

    def _of_token(self, token: Token | None) -> Principal:
        now = int(time.time() * 1000)
        if token is None or not token.is_live(now):
            raise self._denied(', error="invalid_token"')
        self.tokens.used[token.id] = now
        return Principal(token.tenant, token.scopes, token.id, token.name)

    def require(self, principal: Principal, scopes: Sequence[str]) -> None:
        """Raise a `Problem` unless the principal has one of some scopes, and count it."""
        try:
            principal.require(scopes)
        except Problem:
            self.denied[403] += 1
            raise

    def live_s(self, principal: Principal) -> float:
        """For how many seconds a principal may still go on: its token may have been revoked, or have expired."""
        if principal is EVERYBODY:
            return 0.0 if self.needs_token else math.inf
        token, now = self.tokens.look().get(principal.token), int(time.time() * 1000)
        if token is None or not token.is_live(now):
            return 0.0
        return math.inf if token.expires is None else (token.expires - now) / 1000

    def confirm(self, principal: Principal) -> None:
        """Raise a `Problem` if a principal may not go on."""
        if not self.live_s(principal):
            raise self._denied(', error="invalid_token"')

    def _denied(self, error: str) -> Problem:
        self.denied[401] += 1
        challenge = f'Bearer realm="tocsin"{error}'
        detail = "a valid token is needed: Authorization: Bearer tocsin_..."
        return Problem(401, "unauthorized", detail, headers={"WWW-Authenticate": challenge})

    def write_uses(self) -> None:
        """Note in the folder when tokens were last used. A full disk is tolerated."""
        used, self.tokens.used = self.tokens.used, {}
        if used:
            try:
                self._file.write_uses(used)
            except (OSError, StoreError) as error:
                self.tokens.used = used | self.tokens.used
                _LOG.warning("the last uses of tokens were not written: %s", error)
