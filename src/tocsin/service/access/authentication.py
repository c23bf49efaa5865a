"""The sender of a request, by its token. The file of tokens is read again whenever it changed."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from starlette.datastructures import Headers

from tocsin.errors import StoreError
from tocsin.service.access.sessions import Sessions, session_text
from tocsin.service.access.token_file import TokenFile
from tocsin.service.access.tokens import MOST_TEXT, Token, found
from tocsin.service.principals import EVERYBODY, Principal
from tocsin.service.problems import Problem

_LOG: Final = logging.getLogger("tocsin.service")
_SETTLED_S: Final = 0.1
"""A file that changed less than this before it was read is read again: the next change may have the same time."""
_NONE: Final = (0, 0, 0)


class LiveTokens:
    """The tokens of a folder at any moment. Looking costs microseconds while the file does not change."""

    def __init__(self, file: TokenFile) -> None:
        self._file, self._tokens, self._mark = file, dict[str, Token](), _NONE
        self._is_settled = False
        self.used: dict[str, int] = {}  # when each token was last used, in milliseconds
        self.look()

    def look(self) -> dict[str, Token]:
        """All tokens. There are none while the file cannot be read."""
        mark = self._now()
        if mark != self._mark or not self._is_settled:
            self._is_settled = time.time() - mark[1] / 1e9 > _SETTLED_S
            self._mark = mark
            try:
                self._tokens = self._file.read()
            except StoreError as error:
                self._tokens = {}
                _LOG.error("nobody gets in: %s", error)
        return self._tokens

    @property
    def is_there(self) -> bool:
        """Whether there is a file, even if no token in it is live."""
        return self._now() != _NONE

    def _now(self) -> tuple[int, int, int]:
        try:
            found = os.stat(self._file.path)  # of pathlib it takes twice as long  # noqa: PTH116
        except FileNotFoundError:
            return _NONE
        except OSError:
            return -1, 0, 0
        return found.st_ino, found.st_mtime_ns, found.st_size


class Authentication:
    """Finds the principal of a request. `always` refuses everybody without a token, even if there are no tokens."""

    def __init__(self, folder: Path, *, always: bool = False) -> None:
        self._file = TokenFile(folder)
        self.tokens = LiveTokens(self._file)
        self._needs_token = always
        self.sessions = Sessions(time.monotonic)
        self.denied = {401: 0, 403: 0}

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
        return self.sessions.begin(principal.token), principal

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

    def is_live(self, principal: Principal) -> bool:
        """Whether a principal may still go on: its token may have been revoked, or expired, meanwhile."""
        if principal is EVERYBODY:
            return not self.needs_token
        token = self.tokens.look().get(principal.token)
        return token is not None and token.is_live(int(time.time() * 1000))

    def confirm(self, principal: Principal) -> None:
        """Raise a `Problem` if a principal may not go on."""
        if not self.is_live(principal):
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
