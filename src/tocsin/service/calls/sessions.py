"""Sessions: a browser shows its token once, and a cookie from then on."""

from __future__ import annotations

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from tocsin.service.access.sessions import cookie, session_text
from tocsin.service.api import Call, Exchange, answered, empty
from tocsin.service.names import only, present
from tocsin.service.principals import READ, SCOPES, Principal
from tocsin.service.problems import invalid
from tocsin.service.times import time_text

PATH: Final = "/v1/session"


def _document(exchange: Exchange, principal: Principal, tenant: str) -> dict[str, Any]:
    """The document of a session: a tenant, and what the sender may do."""
    authentication = exchange.shared.authentication
    document: dict[str, Any] = {
        "tenant": tenant,
        "scopes": [one for one in SCOPES if one in principal.scopes],
        "needs_token": authentication.needs_token,
    }
    token = authentication.tokens.look().get(principal.token)
    if token is not None:
        document |= {"token": token.id, "name": token.name}
        if token.expires is not None:
            document["expires"] = time_text(token.expires)
    return document


def _is_secure(request: Request) -> bool:
    return request.url.scheme == "https"


async def begin(exchange: Exchange) -> Response:
    record = await exchange.document()
    only(record, frozenset(("token",)), "session")
    record = present(record)
    text, authentication = record.get("token"), exchange.shared.authentication
    if not isinstance(text, str):
        raise invalid("token is missing; give it as a string", field="token")
    if not authentication.needs_token:  # nothing to be shown, and no cookie to be set
        return answered(_document(exchange, exchange.shared.sender(exchange.request), ""))
    shown, principal = authentication.begin(text.strip())
    request = exchange.request
    headers = {"Set-Cookie": cookie(request.headers, shown, is_secure=_is_secure(request))}
    return answered(_document(exchange, principal, principal.tenant), headers=headers)


async def get(exchange: Exchange) -> Response:
    return answered(_document(exchange, exchange.principal, exchange.tenant))


async def end(exchange: Exchange) -> Response:
    request = exchange.request
    is_secure = _is_secure(request)
    exchange.shared.authentication.sessions.end(session_text(request.headers, is_secure=is_secure) or "")
    return empty({"Set-Cookie": cookie(request.headers, "", is_secure=is_secure)})


CALLS: Final = (
    Call(
        "POST", PATH, begin, None, "Log a browser in with a token: from then on a cookie stands for it",
        takes={"application/json": "Login"}, gives="Session", problems=(400, 401, 408, 413, 415, 422),
    ),
    Call(
        "GET", PATH, get, READ, "Who sends the request: the tenant and the scopes of its token", gives="Session",
        also=tuple(one for one in SCOPES if one != READ),
    ),
    Call("DELETE", PATH, end, None, "Log out: the session ends, and the cookie is removed", status=204),
)  # fmt: skip
