"""A call of the HTTP interface: method, path, scope and handler, beside what the OpenAPI document says of it."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import parse_qsl, quote

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tocsin.errors import StoreError
from tocsin.service import bodies
from tocsin.service.access.authentication import Authentication
from tocsin.service.audit import Audited, Sender
from tocsin.service.changes import FREE, Guard
from tocsin.service.connections import Connections
from tocsin.service.names import Asked, path_text
from tocsin.service.principals import NOBODY, Principal
from tocsin.service.problems import Problem, of_error
from tocsin.service.service import Service
from tocsin.service.tenants import Tenants
from tocsin.service.tracing import current
from tocsin.store import Change, bounded

_LOG: Final = logging.getLogger("tocsin.service")
_MOST_QUERY: Final = 64
_MOST_RECORDED: Final = 1000
_SHORT: Final = 1 << 16
_PATH: Final = "/%:@!$&'()*+,;=~"
"""Characters of a path that may stand as they are."""
Parsed = TypeVar("Parsed")
Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Option:
    """An option in the query of a URL, or a header."""

    name: str
    about: str
    schema: Schema = field(default_factory=lambda: {"type": "string"})
    place: str = "query"


@dataclass(frozen=True, slots=True)
class Call:
    """One method of one path."""

    method: str
    path: str
    handle: Callable[[Exchange], Awaitable[Response]]
    scope: str | None  # None: it needs no token
    about: str
    options: Sequence[Option] = ()
    takes: Mapping[str, str] = field(default_factory=dict)  # names of schemas by media type of the body
    gives: str | None = None  # name of the schema of the answer
    status: int = 200
    problems: Sequence[int] = ()
    media_type: str = "application/json"
    gives_for: Mapping[str, str] = field(default_factory=dict)  # schemas of answers in other media types, by these
    also: Sequence[str] = ()  # further scopes, each of which is enough
    tells: Sequence[str] = ()  # names of headers of the answer
    is_versioned: bool = False  # whether it answers 304 to a client that has the answer
    may_be_empty: bool = False  # whether the body may be left out

    @property
    def scopes(self) -> Sequence[str]:
        """The scopes that allow it: one of them is enough. None: it is open to everyone who may connect."""
        return () if self.scope is None else (self.scope, *self.also)

    @property
    def known(self) -> frozenset[str]:
        """The options of the query."""
        return frozenset(one.name for one in self.options if one.place == "query")

    @property
    def repeated(self) -> frozenset[str]:
        """The options of the query that may be given several times."""
        return frozenset(one.name for one in self.options if one.schema.get("type") == "array")


MOST_PAGE: Final = 1000
LIMIT: Final = Option("limit", "how many", {"type": "integer", "minimum": 1, "maximum": MOST_PAGE, "default": 100})
IF_MATCH: Final = Option("If-Match", "the change is made only if this is the ETag", place="header")
IF_NONE: Final = Option("If-None-Match", "`*`: the change is made only if nothing is there", place="header")
IF_CHANGED: Final = Option("If-None-Match", "the ETag that the client has: 304 if nothing changed", place="header")


class Exchange:
    """A request with who asks, and the service of its tenant, which answers.

    Within its own store the tenant of the principal has no name, so that the folder can be moved to another name.
    """

    __slots__ = ("_service", "asked", "holding", "principal", "request", "shared", "tenant")

    def __init__(
        self, shared: Shared, service: Service | None, request: Request, principal: Principal, tenant: str, asked: Asked
    ) -> None:
        self.shared, self._service, self.request = shared, service, request
        self.principal, self.tenant, self.asked = principal, tenant, asked
        self.holding = bodies.Holding((*(() if service is None else (service.room,)), shared.tenants.room))

    @property
    def service(self) -> Service:
        """The service of the tenant. A call without a token has none if the default tenant is left out."""
        return self.shared.tenants.default if self._service is None else self._service

    @property
    def allowed_s(self) -> float:
        """For how many seconds the sender may still go on. A call that waits asks again."""
        return self.shared.authentication.live_s(self.principal)

    def confirm(self) -> None:
        """Raise a `Problem` if the sender may not go on."""
        self.shared.authentication.confirm(self.principal)

    @property
    def sender(self) -> Sender:
        """The sender of a change, for its record."""
        request, principal = self.request, self.principal
        address = request.client.host if request.client is not None else ""
        path = request.scope["path"][:_MOST_RECORDED]
        return Sender(principal.token, principal.name, address[:_MOST_RECORDED], request.method, path)

    async def commit(self, change: Change) -> Any:
        """Make a change durable, with a record of who made it; returns what its `apply` returns."""
        return await self.service.commit(Audited(change, self.sender))

    def part(self, name: str) -> str:
        """A part of the path."""
        return path_text(self.request.path_params[name])

    async def body(self) -> bytes:
        """The body, within the limits."""
        limits = self.shared.tenants.limits_of(self.tenant)
        return await bodies.read_body(self.request, int(limits.body_bytes), self.holding)

    async def large(
        self, most: int, make: Callable[[], Awaitable[bytes]], media_type: str = "application/json"
    ) -> Response:
        """An answer of at most about so many bytes, which is made when there is room for it; raises a `Problem`.

        It takes room until the client has taken it.
        """
        holding = self.answer_holding()
        try:
            await holding.take(most)
            body = await make()
        except BaseException:
            holding.release()
            raise
        return self.holding_answer(holding, Response(body, media_type=media_type))

    def holding_answer(self, holding: bodies.Holding, response: Response) -> Response:
        """An answer that keeps as much of the room that was taken for it as it needs, until the client has taken it."""
        if len(response.body) <= bodies.SMALL:
            holding.release()
            return response
        holding.shrink(len(response.body))
        return _Large(holding, response)

    def answer_holding(self) -> bodies.Holding:
        """Room for answers, of which nothing is taken so far."""
        return bodies.Holding((self.service.answer_room, self.shared.tenants.answer_room))

    def bounded(self, response: Response) -> Response:
        """An answer that takes room until the client has taken it; raises a `Problem` if there is none."""
        size = len(getattr(response, "body", b""))  # streams have none
        if size <= bodies.SMALL or isinstance(response, _Large):
            return response
        holding = self.answer_holding()
        if not holding.takes(size):
            raise bodies.busy("answers to")
        return _Large(holding, response)

    async def parsed(self, read: Callable[[bytes], Parsed], body: bytes) -> Parsed:
        """What `read` makes of a body. A long one is read on a thread, so that the event loop goes on."""
        return read(body) if len(body) <= _SHORT else await self.service.in_thread(read, body)

    async def document(self) -> dict[str, Any]:
        """The body as a JSON object."""
        bodies.media_type(self.request, frozenset((bodies.JSON,)))
        return await self.parsed(bodies.json_object, await self.body())

    @property
    def guard(self) -> Guard:
        """What `If-Match` and `If-None-Match` ask for."""
        match, none = (self.request.headers.get(name) for name in ("if-match", "if-none-match"))
        if match is None and none is None:
            return FREE
        if none is not None and none.strip() != "*":
            raise Problem(400, "header", "If-None-Match is * here: the change is made if nothing is there")
        return Guard(None if match is None else _strong_tags(match), none is not None)


def _strong_tags(header: str) -> frozenset[str]:
    """The tags of `If-Match`, which weak ones never match (RFC 9110, section 13.1.1)."""
    tags = frozenset(tag.strip() for tag in header.split(","))
    strong = frozenset(tag for tag in tags if not tag.startswith("W/"))
    if tags and not strong:
        raise Problem(
            412, "precondition", "a weak tag (W/) never matches. A proxy that compresses answers makes tags weak: "
            "send the tag without W/, or let the proxy leave answers as they are",
        )  # fmt: skip
    return strong


class Shared(NamedTuple):
    """What all calls share."""

    tenants: Tenants
    authentication: Authentication
    connections: Connections

    def sender(self, request: Request) -> Principal:
        """The sender of a request; raises a `Problem`."""
        return self.authentication.principal(request.headers, is_secure=request.url.scheme == "https")


class Endpoint:
    """The calls of one path as an ASGI application."""

    def __init__(self, shared: Shared, calls: Sequence[Call]) -> None:
        self._shared = shared
        self._calls = {call.method: call for call in calls}
        self._is_open = not any(call.scopes for call in calls)
        if "GET" in self._calls:
            self._calls.setdefault("HEAD", self._calls["GET"])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
            if response.status_code == 201:  # every resource is made by a PUT to its path
                response.headers.setdefault("Location", quote(scope["path"], safe=_PATH))
        except Exception as error:  # every error has an answer  # noqa: BLE001
            response = _error_response(error, scope)
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        shared = self._shared
        call = self._calls.get(request.method)
        is_open = self._is_open if call is None else not call.scopes
        principal = NOBODY if is_open else shared.sender(request)
        if call is None:
            allowed = ", ".join(self._calls)
            raise Problem(405, "method", f"{request.method} is not allowed here", headers={"Allow": allowed})
        if call.scopes:
            shared.authentication.require(principal, call.scopes)
        tenant = principal.tenant
        if (trace := current()) is not None:
            trace.token, trace.tenant = principal.token, tenant
        service = shared.tenants.get(tenant)
        if service is None and not is_open:
            service = await shared.tenants.opened(tenant)
        if tenant:
            principal = principal._replace(tenant="")
        exchange = Exchange(shared, service, request, principal, tenant, _asked(request, call))
        try:
            response = await call.handle(exchange)
            # A change that is done is answered, whatever room there is.
            return exchange.bounded(response) if request.method in _READS and not is_open else response
        except StoreError as error:
            if service is not None:
                service.readiness.suspect(error)
            raise
        finally:
            exchange.holding.release()


_READS: Final = ("GET", "HEAD")


def _error_response(error: Exception, scope: Scope) -> Response:
    """The answer to an error.

    The caller must not refer to the `Problem`, whose traceback refers to the caller. Such a cycle would keep the body
    in memory until the garbage collector runs, which may be thousands of requests later.
    """
    problem = of_error(error)
    if problem.status == 500:
        _LOG.exception("a request failed: %s %s", scope["method"], scope["path"])
    return problem.response()


def _asked(request: Request, call: Call) -> Asked:
    query = request.scope["query_string"]
    if not query:
        return Asked([], call.known, call.repeated)
    try:
        items = parse_qsl(query.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_QUERY)
    except ValueError:
        raise Problem(400, "query", f"the query is not one of at most {_MOST_QUERY} options") from None
    return Asked(items, call.known, call.repeated)


def answered(document: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """An answer in JSON. A lone surrogate, which UTF-8 does not have, is escaped as JSON does it."""
    body = json.dumps(document, ensure_ascii=False).encode("utf-8", "backslashreplace")
    return Response(body, status, headers, "application/json")


def is_known(headers: Headers, tag: str) -> bool:
    """Whether a client that asks with `If-None-Match` has what a tag stands for."""
    tags = {one.strip().removeprefix("W/") for one in headers.get("if-none-match", "").split(",")}
    return tag in tags or "*" in tags


def versioned(exchange: Exchange, document: Any, tag: str) -> Response:
    """An answer in JSON whose tag says all of it: 304 to a client that has it already."""
    headers = {"ETag": tag}
    if is_known(exchange.request.headers, tag):
        return Response(None, 304, headers)
    return answered(document, headers=headers)


def raw(body: bytes, status: int = 200, media_type: str = "application/json") -> Response:
    """An answer whose bytes are made already."""
    return Response(body, status, None, media_type)


class _Large(Response):
    """An answer that takes room in memory until the client has taken it, but for some kilobytes."""

    def __init__(self, holding: bodies.Holding, response: Response) -> None:
        self.status_code, self.raw_headers, self.body = response.status_code, response.raw_headers, response.body
        self.background, self._holding = None, holding

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            await send({"type": "http.response.body", "body": self.body, "more_body": True})
            await send({"type": "http.response.body", "body": b""})  # once the connection can take more
        finally:
            self._holding.release()


def named_page(
    exchange: Exchange, word: str, names: Iterable[str], document_of: Callable[[str], Mapping[str, Any] | None]
) -> Response:
    """The page of documents that a request asks for, by name. One that is None was deleted meanwhile."""
    limit, after = exchange.asked.number("limit", 100, 1, MOST_PAGE), exchange.asked.text("after")
    left = sorted(name for name in names if after is None or name > after)
    texts = ((name, json.dumps(one, ensure_ascii=False)) for name in left if (one := document_of(name)) is not None)
    rows, has_more = bounded(texts, limit)
    more = f', "next": {json.dumps(rows[-1][0], ensure_ascii=False)}' if has_more else ""
    listed = ", ".join(text for _, text in rows)
    return raw(f'{{"{word}": [{listed}]{more}}}'.encode("utf-8", "backslashreplace"))


def empty(headers: Mapping[str, str] | None = None) -> Response:
    """An answer without a body."""
    return Response(None, 204, headers)
