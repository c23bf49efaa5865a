"""The secrets of destinations as they are stored: as JSON, or encrypted with a key that is not in the store.

The encryption is Fernet: AES-128 in CBC mode with an HMAC, from the library `cryptography`. What is encrypted also has
the number of the destination, so that the secrets of one cannot be put in the row of another.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from tocsin.errors import InvalidInput, StoreError, needing
from tocsin.store import Database, overwriting

_ENCRYPTED: Final = "fernet:"
_KEY_BYTES: Final = 32
_MOST_KEYS: Final = 100
_MOST_FILE: Final = 1 << 16
_HOW: Final = "32 bytes in base64, as `openssl rand -base64 32` makes them"


MOST_SECRETS: Final = 5
"""Secrets that sign at the same time."""
MOST_KEPT_MS: Final = 30 * 86_400_000
"""How long a secret may sign after it was rotated."""


class Secret(NamedTuple):
    """A secret, and until when it signs, in milliseconds; None: until it is rotated."""

    text: str
    until: int | None = None


def valid(known: Sequence[Secret], now: int) -> list[Secret]:
    """The secrets that sign now."""
    return [one for one in known if one.until is None or one.until > now]


class Keys:
    """Keys that encrypt secrets. The first one encrypts, and all decrypt. Without keys, secrets are stored as JSON."""

    def __init__(self, texts: Sequence[str] = (), source: str = "the keys of secrets") -> None:
        """`texts` are keys in base64; raises `InvalidInput`, which names their `source` and no key."""
        self._fernet: Any = None
        self._first: Any = None
        if not texts:
            return
        if len(texts) > _MOST_KEYS:
            raise InvalidInput(f"{source} has {len(texts):,} keys; {_MOST_KEYS} are enough for every rotation")
        keys = [_checked(text, f"{source}, key {place}") for place, text in enumerate(texts, 1)]
        with needing("service"):
            from cryptography.fernet import Fernet, MultiFernet
        self._first, self._fernet = Fernet(keys[0]), MultiFernet([Fernet(key) for key in keys])

    def __bool__(self) -> bool:
        return self._fernet is not None

    def closed(self, number: int, secrets: Sequence[Secret]) -> str:
        """The secrets of a destination as they are stored."""
        if self._fernet is None:
            return json.dumps(secrets)
        token: bytes = self._fernet.encrypt(json.dumps([number, secrets]).encode())
        return _ENCRYPTED + token.decode()

    def opened(self, number: int, text: str) -> list[Secret]:
        """Stored secrets; raises `StoreError` if they are encrypted with another key."""
        if not text.startswith(_ENCRYPTED):
            return [Secret(*one) for one in json.loads(text)]
        if self._fernet is None:
            raise StoreError(
                "the secrets of its destinations are encrypted; give their key with --secrets-key-file, or in the "
                "variable TOCSIN_SERVE_SECRETS_KEY"
            )
        owner, secrets = self._decrypted(text, self._fernet)
        if owner != number:
            raise StoreError(f"the secrets of the destination {number} are those of {owner}; restore a backup")
        return [Secret(*one) for one in secrets]

    def _decrypted(self, text: str, fernet: Any) -> Any:
        from cryptography.fernet import InvalidToken

        try:
            return json.loads(fernet.decrypt(text.removeprefix(_ENCRYPTED).encode()))
        except InvalidToken:
            raise StoreError(
                "the secrets of its destinations are encrypted with a key that is not among those given; add it as a "
                "further line"
            ) from None

    def is_current(self, text: str) -> bool:
        """Whether stored secrets are as `closed` stores them now."""
        if self._fernet is None or not text.startswith(_ENCRYPTED):
            return self._fernet is None
        try:
            self._decrypted(text, self._first)
        except StoreError:
            return False
        return True


def _checked(text: str, where: str) -> bytes:
    """A key as Fernet takes it."""
    plain = text.strip().replace("-", "+").replace("_", "/")
    try:
        key = base64.b64decode(plain, validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != _KEY_BYTES:
        raise InvalidInput(f"{where}, is not a key: {_HOW}")
    return base64.urlsafe_b64encode(key)


def read_keys(path: Path | None, variable: str | None, name: str) -> Keys:
    """The keys of a file, a line each, or those of a variable called `name`; raises `InvalidInput`."""
    if path is None:
        return Keys((variable or "").replace(",", " ").split(), name)
    if variable:
        raise InvalidInput(f"the keys of secrets are given twice: by a file, and in {name}")
    try:
        with path.open("rb") as file:
            body = file.read(_MOST_FILE + 1)
        lines = body.decode().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}") from None
    texts = [line for line in lines if line.strip() and not line.startswith("#")]
    if not texts or len(body) > _MOST_FILE:
        raise InvalidInput(f"{path} has no keys; it has one a line, and the first one encrypts: {_HOW}")
    return Keys(texts, str(path))


class EncryptSecrets:
    """The change that encrypts all secrets with the first key: those that are not, and those of an earlier key."""

    is_alone = True

    def __init__(self, keys: Keys) -> None:
        self._keys = keys

    def write(self, database: Database, sequence: int, touched: set[object]) -> int:
        connection = database.connection
        rows = connection.execute("SELECT destination, secrets FROM service_webhooks").fetchall()
        stale = [(number, text) for number, text in rows if not self._keys.is_current(text)]
        with overwriting(connection):
            for number, text in stale:
                secrets = self._keys.closed(number, self._keys.opened(number, text))
                connection.execute("UPDATE service_webhooks SET secrets = ? WHERE destination = ?", (secrets, number))
        return sequence

    def apply(self) -> None:
        """Memory has the secrets themselves."""
