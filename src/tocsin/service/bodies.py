"""Bodies of requests: read within a limit of size, then as JSON, JSON lines or an Arrow stream."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from starlette.requests import ClientDisconnect, Request

from tocsin.errors import RecordError
from tocsin.model.subscription import Reject
from tocsin.records import LinesChunk, ObjectChunk, parse_lines
from tocsin.records.json_lines import decode_json, parse_line
from tocsin.service.problems import Problem, invalid
from tocsin.service.soundness import Fault, fault_of, may_be_unsound, may_have_unsound, require_sound

JSON, LINES, ARROW = "json", "lines", "arrow"
CLOUD_EVENT, CLOUD_EVENTS = "cloudevent", "cloudevents"
MEDIA_TYPES: Final = {
    "application/json": JSON,
    "application/merge-patch+json": JSON,
    "application/x-ndjson": LINES,
    "application/jsonl": LINES,
    "application/json-lines": LINES,
    "application/jsonlines": LINES,
    "application/vnd.apache.arrow.stream": ARROW,
    "application/cloudevents+json": CLOUD_EVENT,
    "application/cloudevents-batch+json": CLOUD_EVENTS,
}


def media_type(request: Request, known: frozenset[str], default: str = JSON) -> str:
    """The form of a body; raises a `Problem` unless it is one of those `known`."""
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Problem(415, "encoding", "bodies are not compressed here; send the body as it is")
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    form = MEDIA_TYPES.get(given, "") if given else default
    if form not in known:
        types = ", ".join(name for name, one in MEDIA_TYPES.items() if one in known)
        raise Problem(415, "media-type", f"Content-Type is {given!r:.60}; it is one of {types}")
    return form


SMALL: Final = 1 << 16
"""Bytes of a body that take no room: a connection holds as many in any case."""
MOST_AT_ONCE: Final = 512 << 20
"""Bytes of the bodies of all tenants that are in memory at once, and of their answers."""
_PATIENCE_S: Final = 5.0
"""How long a body waits for room."""
_ANSWER_PATIENCE_S: Final = 20.0
"""How long an answer waits for room: that of several others may be made meanwhile."""
_STEP: Final = 1 << 20
"""A body of unknown length takes room in steps of so many bytes."""


def busy(what: str) -> Problem:
    """There is no room for a body, or for an answer."""
    detail = f"the {what} other requests fill the memory for them; send the request later"
    return Problem(503, "busy", detail, headers={"Retry-After": "1"})


class Room:
    """The bytes of bodies, or of answers, that may be in memory at once, given in the order of the requests."""

    def __init__(self, most: float, *, of_answers: bool = False) -> None:
        self.most, self._held, self._of_answers = most, 0, of_answers
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def take(self, size: int) -> None:
        """Take room, and wait for it for a while; raises a `Problem` if there is none until then."""
        if self.takes(size):
            return
        given: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((size, given))
        try:
            await asyncio.wait((given,), timeout=_ANSWER_PATIENCE_S if self._of_answers else _PATIENCE_S)
        except asyncio.CancelledError:
            if given.done():
                self.give_back(size)
            raise
        finally:
            if not given.done():
                self._waiting.remove((size, given))
                self._serve()
        if not given.done():
            raise busy("answers to" if self._of_answers else "bodies of")

    def takes(self, size: int) -> bool:
        """Take room if there is some, and nobody waits for it; returns whether it was taken."""
        is_free = not self._waiting and self._fits(size)
        if is_free:
            self._held += size
        return is_free

    def give_back(self, size: int) -> None:
        """Give room back, to those who wait for it."""
        self._held -= size
        self._serve()

    def _serve(self) -> None:
        while self._waiting and self._fits(self._waiting[0][0]):
            more, given = self._waiting.popleft()
            self._held += more
            given.set_result(None)

    def _fits(self, size: int) -> bool:
        """Whether there is room. What is larger than all of it has room alone."""
        return not self._held or self._held + size <= self.most


class Holding:
    """The room that the body of one request, or its answer, takes in each of some rooms, until it is released."""

    def __init__(self, rooms: Sequence[Room]) -> None:
        self._rooms, self._taken = rooms, [0] * len(rooms)

    async def take(self, size: int) -> None:
        """Take room in all; raises a `Problem`."""
        for place, room in enumerate(self._rooms):
            await room.take(size)
            self._taken[place] += size

    def takes(self, size: int) -> bool:
        """Take room in all, unless one of them has none now; returns whether it was taken."""
        for place, room in enumerate(self._rooms):
            if not room.takes(size):
                for taken in range(place):
                    self._taken[taken] -= size
                    self._rooms[taken].give_back(size)
                return False
            self._taken[place] += size
        return True

    def shrink(self, size: int) -> None:
        """Give back what is more than a size, or nothing."""
        for place, room in enumerate(self._rooms):
            if (rest := self._taken[place] - size) > 0:
                self._taken[place] = size
                room.give_back(rest)

    def release(self) -> None:
        """Give all room back."""
        self.shrink(0)


def announced_bytes(request: Request) -> int:
    """The length of a body, if its head has it; else 0."""
    length = request.headers.get("content-length")
    return int(length[:18]) if length is not None and length.isdecimal() else 0


async def read_body(request: Request, limit: int, holding: Holding) -> bytes:
    """The whole body, of at most `limit` bytes. The connection has a deadline for it.

    Raises a `Problem`, before anything is read if the length is known.
    """
    whole = announced_bytes(request)
    if whole > limit:
        raise _too_large(limit)
    if whole > SMALL:
        await holding.take(whole)
    room = whole or SMALL
    parts: list[bytes] = []
    size = 0
    try:
        async for part in request.stream():
            parts.append(part)
            size += len(part)
            if size > limit:
                raise _too_large(limit)
            if size > room:
                await holding.take(_STEP)
                room += _STEP
    except ClientDisconnect:
        raise Problem(400, "gone", "the body ended early") from None
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _too_large(limit: int) -> Problem:
    return Problem(413, "size", f"the body has more than {limit:,} bytes; send it in parts", limit=limit)


def json_value(body: bytes) -> Any:
    """A JSON document: UTF-8, each key once, and sound."""
    try:
        value = decode_json(body.decode())
    except UnicodeDecodeError as error:
        raise Problem(400, "json", f"the body is not valid UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise Problem(
            400, "json", f"the body is not JSON: {error.msg}", line=error.lineno, column=error.colno
        ) from None
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
        raise Problem(400, "json", f"the body is not JSON: {reason}") from None
    require_sound(value, body)
    return value


def json_object(body: bytes) -> dict[str, Any]:
    """A JSON document that is an object."""
    value = json_value(body)
    if not isinstance(value, dict):
        raise Problem(400, "json", "the body is not a JSON object")
    return value


def json_text(value: Any, field: str) -> str:
    """A value of a record as JSON."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError:  # from an Arrow stream
        raise invalid(f"{field} has an infinite number, which JSON lacks", field=field) from None


def event_object(body: bytes) -> Mapping[str, Any]:
    """An event: a JSON object; a GeoJSON feature becomes its record, as everywhere in tocsin."""
    try:
        value = parse_line(body, 1)
    except RecordError as error:
        raise Problem(400, "json", error.reason.removeprefix("line 1: ")) from None
    require_sound(value, body)
    return value


def one_line(body: bytes) -> str:
    """A JSON text without line breaks: those are white space in JSON, and never inside a string."""
    text = body.decode().strip(" \t\r\n")
    return text.replace("\r", " ").replace("\n", " ") if "\n" in text or "\r" in text else text


class Lines:
    """JSON lines of a body, without blank ones."""

    def __init__(self, body: bytes) -> None:
        body = body.removeprefix(b"\xef\xbb\xbf")
        starts, stops = _bounds(body)
        if b"\r" in body or b"\t" in body or _has_spaces_at(body, starts) or _has_spaces_at(body, stops - 1):
            body = b"\n".join(line.strip(b" \t\r") for line in body.split(b"\n"))
            starts, stops = _bounds(body)
        self._body, self._starts, self._stops = body, starts, stops

    def __len__(self) -> int:
        return len(self._starts)

    def texts(self, first: int = 0, stop: int | None = None) -> list[bytes]:
        """Some of the lines, or all."""
        pairs = zip(self._starts[first:stop].tolist(), self._stops[first:stop].tolist(), strict=True)
        return [self._body[start:end] for start, end in pairs]

    def chunk(self, first: int, stop: int) -> LinesChunk:
        """Some of the lines, to be read by the kernel; their rows count from 0."""
        starts, stops = self._starts[first:stop], self._stops[first:stop]
        at = int(starts[0]) if len(starts) else 0
        text = self._body[at : int(stops[-1])] if len(stops) else b""
        rows = np.arange(len(starts))
        return LinesChunk(text, starts - at, stops - at, rows, rows + first + 1)

    def sound_chunk(self, first: int, stop: int) -> LinesChunk | ObjectChunk:
        """Some of the lines, to be stored. Those that are not sound are rejects; then the others are objects."""
        chunk = self.chunk(first, stop)
        if not may_have_unsound(chunk.text, chunk.starts, chunk.stops):
            return chunk
        faults = {row: fault for row, text in enumerate(self.texts(first, stop)) if (fault := _fault_in(text))}
        if not faults:
            return chunk
        parsed = parse_lines(chunk, [row for row in range(len(chunk)) if row not in faults])
        refused = [Reject(row, None, fault.path, f"line {first + row + 1}: {fault}") for row, fault in faults.items()]
        return ObjectChunk(parsed.records, sorted([*parsed.rejects, *refused], key=lambda reject: reject.row))


def _fault_in(line: bytes) -> Fault | None:
    """Why a line is not sound. Matching refuses one that is not JSON, and says why."""
    if not may_be_unsound(line):
        return None
    try:
        return fault_of(decode_json(line.decode()))
    except RecursionError:
        return Fault("", "the JSON is nested too deep")
    except ValueError:
        return None


def _bounds(body: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where the lines begin and end that are not empty."""
    ends = np.flatnonzero(np.frombuffer(body, np.uint8) == ord("\n"))
    starts, stops = np.concatenate([[0], ends + 1]), np.concatenate([ends, [len(body)]])
    own = stops > starts
    return starts[own], stops[own]


def _has_spaces_at(body: bytes, places: NDArray[np.int64]) -> bool:
    return bool((np.frombuffer(body, np.uint8)[places] == ord(" ")).any())


def fields(record: Mapping[str, Any], *names: str) -> None:
    """Raise a `Problem` if a record lacks one of these members. Null is as good as nothing."""
    for name in names:
        if record.get(name) is None:
            raise invalid(f"{name} is missing", field=name)
