"""The file of the tokens of a folder, `access/tokens.json`: commands change it, and the server follows it.

It is replaced atomically, by one process at a time. A revoked token stays in it, so that the file tells who made and
who revoked which token. When tokens were last used is in a file of its own, which only the server writes.
"""

from __future__ import annotations

import getpass
import json
import os
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from tocsin.errors import InvalidInput, StoreError
from tocsin.locks import Lock
from tocsin.newest import mark_of
from tocsin.service.access.tokens import Token, digest_of, label, new_text, read_entry, scopes_of, tenant_name
from tocsin.writing import aside, make_folder, take_owner

FOLDER: Final = "access"
TOKENS, _USES = "tokens.json", "uses.json"
_FORMAT: Final = "tocsin tokens"
VERSION: Final = 1
_MOST: Final = 10_000
"""Tokens that are live."""


class TokenFile:
    """The tokens of a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER
        self.path = self._folder / TOKENS

    def mark(self) -> tuple[int, int, int] | None:
        """A mark of the file, which differs after a change; None if there is none. Raises `StoreError`."""
        try:
            return mark_of(self.path)
        except OSError as error:
            raise self._unreadable(error) from None

    def _unreadable(self, error: Exception) -> StoreError:
        return StoreError(f"{self.path} cannot be read: {error}")

    def read(self) -> dict[str, Token]:
        """All tokens by id, none if there is no file; raises `StoreError`."""
        try:
            document = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise self._unreadable(error) from None
        try:
            if document["format"] != _FORMAT or document["version"] > VERSION:
                raise StoreError(f"{self.path} is not a file of tokens that this release knows")
            return {one.id: one for one in map(read_entry, document["tokens"])}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise StoreError(f"{self.path} is damaged: {error!r}") from None

    def create(
        self, tenant: str, scopes: Iterable[str], *, name: str = "", lasts_s: float | None = None
    ) -> tuple[Token, str]:
        """Make a token; returns it, and the text that is shown once and stored nowhere."""
        now = _now()
        expires = None if lasts_s is None else now + int(lasts_s * 1000)
        id, text = new_text()
        new = Token(id, digest_of(text), tenant_name(tenant), scopes_of(scopes), label(name), now, _user(), expires)
        self._make()
        with Lock(self._folder):
            tokens = self.read()
            if sum(one.is_live(now) for one in tokens.values()) >= _MOST:
                raise InvalidInput(f"there are {_MOST:,} tokens; revoke those that are not used")
            self._write({**tokens, id: new})
        return new, text

    def revoke(self, id: str) -> Token:
        """Revoke a token, from the next request on; raises `InvalidInput` if there is none."""
        self._require()
        with Lock(self._folder):
            tokens = self.read()
            known = tokens.get(id)
            if known is None:
                raise InvalidInput(f"there is no token {id!r:.40}; `tocsin token list` has their ids")
            if known.revoked is None:
                known = replace(known, revoked=_now(), revoked_by=_user())
                self._write({**tokens, id: known})
        return known

    def uses(self) -> dict[str, int]:
        """When each token was last used, as far as the server has written it."""
        with suppress(OSError, ValueError, AttributeError):
            found = json.loads((self._folder / _USES).read_bytes())
            return {id: moment for id, moment in found.items() if type(moment) is int}
        return {}

    def write_uses(self, uses: Mapping[str, int]) -> None:
        """Note when tokens were last used. Only the server does; raises `OSError`."""
        known = self.read()
        self._replace(_USES, {id: moment for id, moment in (self.uses() | dict(uses)).items() if id in known})

    def _require(self) -> None:
        if not self.path.exists():
            raise InvalidInput(f"{self._folder.parent} has no tokens")

    def _make(self) -> None:
        try:
            make_folder(self._folder, 0o700)
        except OSError as error:
            raise StoreError(f"{self._folder} cannot be made a folder: {error.strerror or error}") from None

    def _write(self, tokens: Mapping[str, Token]) -> None:
        entries = [one.entry() for one in tokens.values()]
        try:
            self._replace(TOKENS, {"format": _FORMAT, "version": VERSION, "tokens": entries})
        except OSError as error:
            raise StoreError(f"{self.path} cannot be written: {error.strerror or error}{_how(self.path)}") from None

    def _replace(self, name: str, document: Any) -> None:
        """Replace a file, whose owner and mode stay. A new one belongs to the folder's owner, who alone reads it."""
        path = self._folder / name
        with aside(path) as beside:
            number = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(number, "w") as file:
                take_owner(number, path)
                json.dump(document, file, indent=1)
                file.flush()
                os.fsync(number)


def _now() -> int:
    return int(time.time() * 1000)


def _how(path: Path) -> str:
    """How to change a file of another user; empty if it is not one."""
    try:
        number = path.stat().st_uid
    except OSError:
        return ""
    if sys.platform == "win32" or number == os.getuid():
        return ""
    try:
        owner = path.owner()
    except KeyError:  # a user without a name, as in containers
        owner = f"'#{number}'"
    return f"; it belongs to {owner}: sudo -u {owner} tocsin token ..."


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user without a name, as in containers
        return str(os.getuid()) if hasattr(os, "getuid") else ""
