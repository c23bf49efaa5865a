"""The principal of a request, with a tenant and scopes. `authenticated` makes it from the headers."""

from __future__ import annotations

from typing import Final, NamedTuple

from starlette.datastructures import Headers

from tocsin.service.problems import Problem

PUBLISH, SUBSCRIBE, READ, ADMIN, OPERATE = "publish", "subscribe", "read", "admin", "operate"
SCOPES: Final = frozenset((PUBLISH, SUBSCRIBE, READ, ADMIN, OPERATE))


class Principal(NamedTuple):
    """The sender of a request, and what it may do. Without tokens there is one tenant, whose name is empty."""

    tenant: str
    scopes: frozenset[str]

    def require(self, scope: str) -> None:
        """Raise a `Problem` unless the principal has a scope."""
        if scope not in self.scopes:
            raise Problem(403, "forbidden", f"this needs the scope {scope}")


EVERYBODY: Final = Principal("", SCOPES)
"""Anyone who reaches a server without tokens, which listens on loopback only."""


def authenticated(headers: Headers) -> Principal:
    """The principal of a request."""
    return EVERYBODY
