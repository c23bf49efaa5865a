"""A stream of server-sent events: read after the client's number, send, wait to be woken."""

from __future__ import annotations

import asyncio
import json
import math
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tocsin.service.bodies import SMALL, Holding
from tocsin.service.directory import Destination
from tocsin.service.hub import frame, frames_size
from tocsin.service.problems import Problem
from tocsin.service.protocol import ENDLESS
from tocsin.service.tracing import trace_of

if TYPE_CHECKING:
    from tocsin.service.hub import Told
    from tocsin.service.service import Service

_HEARTBEAT_S: Final = 15.0
_DAY_S: Final = 86_400.0
_RETRY_MS: Final = (1000, 4000)
_HEADERS: Final = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]


@dataclass(slots=True)
class Source:
    """A destination on a stream, and the number of the last delivery that the client has."""

    target: Destination
    after: int
    reason: str = ""  # why it begins elsewhere than the client asked; empty if it does not


class Stream(Response):
    """The answer that never ends by itself. It has no queue: what is not sent yet is in the database."""

    def __init__(
        self, service: Service, sources: Sequence[Source], allowed_s: Callable[[], float], holding: Holding
    ) -> None:
        self._service, self._sources = service, sources
        self._allowed_s = allowed_s  # for how long the client may read
        self._holding = holding  # the room of what is being sent
        self._woken = asyncio.Event()
        self._waits = False
        self._push: Callable[[bytes], bool] | None = None  # sends a part at once, where the server has it
        self._is_gone = False
        self._spoke_s = 0.0  # when something was sent last, in the loop's time
        self._is_silent = False  # whether a sign of life is due
        self.background = None
        self.status_code = 200

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._send, self._trace = send, trace_of(scope)
        targets = [one.target for one in self._sources]
        self._service.streams += 1
        self._service.hub.watch(targets, self)
        leaving = asyncio.create_task(self._watch(receive))
        self._loop = asyncio.get_running_loop()
        self._heartbeat = self._loop.call_later(_HEARTBEAT_S, self._beat)
        self._end = self._loop.call_later(0, self._end_in_time)
        try:
            if scope["method"] != "HEAD" and ENDLESS in scope.get("extensions", {}):
                self._push = scope["extensions"][ENDLESS]["begin"]()
            await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            if scope["method"] != "HEAD":
                with suppress(Problem):  # there is no room for what is next: the client comes again
                    await self._serve()
            await self._sent(b"", more=False)
        finally:
            leaving.cancel()
            self._heartbeat.cancel()
            self._end.cancel()
            self._holding.release()
            self._service.hub.leave(targets, self)
            self._service.streams -= 1

    async def _watch(self, receive: Receive) -> None:
        """Notice that the client is gone."""
        while (await receive())["type"] != "http.disconnect":
            pass
        self._is_gone = True
        self._woken.set()

    async def _sent(self, body: bytes, *, more: bool = True) -> None:
        """Send a part. The connection ends if the client does not read: it comes again, and resumes by its number."""
        self._spoke_s = self._loop.time()
        await self._send({"type": "http.response.body", "body": body, "more_body": more})

    async def _serve(self) -> None:
        hub = self._service.hub
        await self._sent(self._opening())
        while not self._is_gone and not hub.is_stopping:
            self._woken.clear()
            if not self._allowed_s():  # its token was revoked, or has expired
                return
            if await self._forward():
                continue
            if not self._remaining():
                return
            if self._is_silent:
                self._is_silent = False
                await self._sent(b": alive\n\n")
            self._waits = True
            await self._woken.wait()
            self._waits = False

    def set(self) -> None:
        """Note that a destination has something new, or is gone. The stream sends it at once if it waits for it."""
        if not (self._waits and self._pushed()):
            self._woken.set()

    def _pushed(self) -> bool:
        """Send what is new without the task of the stream; false if that must look after it."""
        if self._push is None or len(self._sources) > 1 or self._woken.is_set():
            return False
        [one] = self._sources
        found = self._service.hub.recent(one.target, one.after)
        if not found or found[0].sequence > one.after + 1 or not self._allowed_s():
            return False
        if frames_size(found) > SMALL:
            return False
        body = found[0].frame if len(found) == 1 else b"".join(each.frame for each in found)
        if not self._push(body):
            return False
        self._trace.size += len(body)
        one.after, self._spoke_s = found[-1].sequence, self._loop.time()
        return True

    def _beat(self) -> None:
        """Let a sign of life be sent if nothing was sent for long. One timer a stream is cheaper than one a wait."""
        rest = self._spoke_s + _HEARTBEAT_S - self._loop.time()
        if rest <= 0:
            self._is_silent = True
            self._woken.set()
            rest = _HEARTBEAT_S
        self._heartbeat = self._loop.call_later(rest, self._beat)

    def _end_in_time(self) -> None:
        """End the stream when its token expires, and wait for that until then. The clock may be set meanwhile."""
        left_s = self._allowed_s()
        if not left_s:
            self._woken.set()
        elif left_s < math.inf:
            self._end = self._loop.call_later(min(left_s, _DAY_S), self._end_in_time)

    def _opening(self) -> bytes:
        """The first bytes: when to come again, and where the stream begins."""
        parts = [f"retry: {random.randint(*_RETRY_MS)}\n\n".encode()]
        for one in self._sources:
            if one.after > one.target.newest:  # numbers that a power cut took back
                parts.append(self._gap(one, one.target.newest + 1, one.after, "lost"))
                one.after = one.target.newest
            elif one.reason:
                parts.append(self._gap(one, 1, one.after, one.reason))
        names = {one.target.id: one.after for one in self._sources}
        parts.append(self._event("open", {"after": names}))
        return b"".join(parts)

    async def _forward(self) -> bool:
        """Send what is new on each destination; returns whether there was anything."""
        is_some = False
        for one in self._sources:
            if one.after >= one.target.newest:
                continue
            found = await self._service.hub.within(self._holding, one.target, one.after)
            if found:
                body = b"".join(self._rendered(one, found))
                del found
                await self._sent(body)
                if len(body) > SMALL:
                    await self._sent(b"")  # once the connection can take more
                    self._holding.release()
                is_some = True
            elif one.after + 1 < one.target.earliest:
                await self._sent(self._skipped(one, one.target.earliest))
                is_some = True
        return is_some

    def _rendered(self, source: Source, found: Sequence[Told]) -> list[bytes]:
        parts = []
        if found[0].sequence > source.after + 1:
            parts.append(self._skipped(source, found[0].sequence))
        if len(self._sources) == 1:
            source.after = found[-1].sequence
            parts += [one.frame for one in found]
            return parts
        for one in found:
            source.after = one.sequence
            parts.append(frame(self._id(), one.document))
        return parts

    def _skipped(self, source: Source, first: int) -> bytes:
        """Tell that the deliveries before `first` are not kept any more."""
        before, source.after = source.after, first - 1
        return self._gap(source, before + 1, first - 1, "expired")

    def _gap(self, source: Source, first: int, last: int, reason: str) -> bytes:
        name = source.target.id
        return self._event("gap", {"destination": name, "from": first, "to": last, "reason": reason})

    def _event(self, kind: str, document: dict[str, Any]) -> bytes:
        return b"id: %s\nevent: %s\ndata: %s\n\n" % (self._id(), kind.encode(), json.dumps(document).encode())

    def _id(self) -> bytes:
        """Where the client is, on all destinations."""
        epoch = self._service.directory.epoch
        return ",".join(f"{epoch(one.target)}-{one.after}" for one in self._sources).encode()

    def _remaining(self) -> bool:
        """Whether a destination is left; deleted ones have nothing more to tell."""
        known = self._service.directory.destinations
        return any(one.target.number in known for one in self._sources)
