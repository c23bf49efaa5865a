"""The principal of a request: a tenant, scopes, and the token that shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from tocsin.service.access.tokens import ADMIN, OPERATE, PUBLISH, READ, SCOPES, SUBSCRIBE
from tocsin.service.problems import Problem

__all__ = ["ADMIN", "EVERYBODY", "NOBODY", "OPERATE", "PUBLISH", "READ", "SCOPES", "SUBSCRIBE", "Principal"]


class Principal(NamedTuple):
    """The sender of a request, and what it may do. Without tokens there is one tenant, whose name is empty."""

    tenant: str
    scopes: frozenset[str]
    token: str = ""  # its id
    name: str = ""  # the token's

    def require(self, scopes: Sequence[str]) -> None:
        """Raise a `Problem` unless the principal has one of some scopes."""
        if not self.scopes.intersection(scopes):
            challenge = f'Bearer realm="tocsin", error="insufficient_scope", scope="{scopes[0]}"'
            detail = f"this needs the scope {' or '.join(scopes)}"
            raise Problem(403, "forbidden", detail, headers={"WWW-Authenticate": challenge})


EVERYBODY: Final = Principal("", frozenset(SCOPES))
"""Anyone who reaches a server without tokens, which listens on loopback only."""
NOBODY: Final = Principal("", frozenset())
"""The sender of a request that needs no token."""
