"""Tokens: what a client shows, and what is stored of it.

A token is `tocsin_`, the 12 digits of its id, `_`, and 64 digits that are 256 random bits. Of the random bits only a
hash is stored. A hash without salt and repetition is enough, because nobody can guess 256 bits.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tocsin.errors import InvalidInput

PUBLISH, SUBSCRIBE, READ, ADMIN, OPERATE = "publish", "subscribe", "read", "admin", "operate"
SCOPES: Final = (PUBLISH, SUBSCRIBE, READ, ADMIN, OPERATE)
PREFIX: Final = "tocsin"
_TOKEN: Final = re.compile(rf"{PREFIX}_([0-9a-f]{{12}})_[0-9a-f]{{64}}")
MOST_TEXT: Final = 128
"""Characters of a text that may be a token."""
TENANTS: Final = "tenants"
"""The folder of all tenants but the default one, in that of a server."""
WINDOWS: Final = "windows"
"""The folder of all windows, in that of a tenant."""
_TENANT: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_DEVICES: Final = re.compile(r"con|prn|aux|nul|com\d|lpt\d")
_NAME: Final = re.compile(r"[^\x00-\x1f\x7f-\x9f]{0,100}")
_NOBODY: Final = bytes(32)
"""What a text is compared with if no token has its id. No text has this hash."""


@dataclass(frozen=True, slots=True)
class Token:
    """What is stored of a token. Times are milliseconds since 1970."""

    id: str
    digest: bytes
    tenant: str
    scopes: frozenset[str]
    name: str
    created: int
    by: str  # the user who made it
    expires: int | None = None
    revoked: int | None = None
    revoked_by: str = ""

    def is_live(self, now: int) -> bool:
        """Whether it gives access."""
        return self.revoked is None and (self.expires is None or now < self.expires)

    def entry(self) -> dict[str, Any]:
        """The entry of the file."""
        return {
            "id": self.id,
            "sha256": self.digest.hex(),
            "tenant": self.tenant,
            "scopes": [one for one in SCOPES if one in self.scopes],
            "name": self.name,
            "created": self.created,
            "by": self.by,
            "expires": self.expires,
            "revoked": self.revoked,
            "revoked_by": self.revoked_by,
        }


def read_entry(entry: Mapping[str, Any]) -> Token:
    """A token of the file; raises `ValueError`, `KeyError` or `TypeError` if it is not one."""
    digest = bytes.fromhex(entry["sha256"])
    times = [entry["created"], entry["expires"] or 0, entry["revoked"] or 0]
    if len(digest) != len(_NOBODY) or not all(type(one) is int for one in times):
        raise ValueError("a hash or a time is wrong")
    return Token(
        str(entry["id"]),
        digest,
        tenant_name(entry["tenant"]),
        scopes_of(entry["scopes"]),
        str(entry["name"]),
        entry["created"],
        str(entry["by"]),
        entry["expires"],
        entry["revoked"],
        str(entry["revoked_by"]),
    )


def new_text() -> tuple[str, str]:
    """A new id, and the text that a client shows."""
    id = secrets.token_hex(6)
    return id, f"{PREFIX}_{id}_{secrets.token_hex(32)}"


def digest_of(text: str) -> bytes:
    """What is stored of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()


def found(text: str, tokens: Mapping[str, Token]) -> Token | None:
    """The token of a text, by its id. Every text is hashed and compared once, so that the time tells nothing."""
    shape = _TOKEN.fullmatch(text)
    token = None if shape is None else tokens.get(shape[1])
    is_same = hmac.compare_digest(digest_of(text), _NOBODY if token is None else token.digest)
    return token if is_same else None


def scopes_of(names: Iterable[str]) -> frozenset[str]:
    """Scopes by name; raises `InvalidInput`."""
    given = frozenset(names)
    unknown = sorted(given.difference(SCOPES))
    if unknown or not given:
        what = f"{unknown[0]!r:.40} is not a scope" if unknown else "a token needs a scope"
        raise InvalidInput(f"{what}; there are {', '.join(SCOPES)}")
    return given


def tenant_folder(folder: Path, tenant: str) -> Path:
    """The folder of a tenant in that of a server; the default tenant is in the server's own."""
    return folder / TENANTS / tenant_name(tenant) if tenant else folder


def other_tenants(folder: Path) -> list[str]:
    """The tenants of a folder with a store, besides the default one."""
    return sorted(store.parent.name for store in folder.glob(f"{TENANTS}/*/store.db"))


def tenant_name(name: str) -> str:
    """The name of a tenant, which is that of its folder; raises `InvalidInput`. The default tenant's is empty."""
    if name and (not _TENANT.fullmatch(name) or _DEVICES.fullmatch(name)):
        raise InvalidInput(
            f"the tenant {name!r:.80} is not a valid name; it has at most 63 lower-case letters, digits, _ and -, and "
            "begins with a letter or a digit"
        )
    return name


def label(name: str) -> str:
    """The name of a token, for those who list them; raises `InvalidInput`."""
    if not _NAME.fullmatch(name):
        raise InvalidInput(f"the name {name!r:.60} has more than 100 characters, or one that is not visible")
    return name
