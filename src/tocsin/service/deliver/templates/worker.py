"""The process that renders templates: Liquid that strangers wrote, without files, secrets or the rest of tocsin.

It is run as a file, and imports nothing of tocsin. On its standard input are requests, and on its standard output an
answer to each. Both are JSON after their lengths, which are 4 bytes. A request is two such documents: what to do, and
the message. A template that uses up its time ends the process.
"""

from __future__ import annotations

import json
import signal
import struct
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, BinaryIO

import liquid
from liquid.exceptions import LiquidError
from liquid.undefined import is_undefined

LENGTH = struct.Struct(">I")
CPU_S = 1.0
"""The time of the processor in which all parts of a message are rendered."""
MOST_OUTPUT = 1 << 20
"""Bytes of all parts of a message."""
_MOST_MEMORY = 768 << 20
_MOST_ITERATIONS = 100_000
_MOST_VARIABLES = 4 << 20
_PARSED = 64
_FORBIDDEN = ("include", "render")


class _Environment(liquid.Environment):
    """Liquid without templates that name others."""

    loop_iteration_limit = _MOST_ITERATIONS
    local_namespace_limit = _MOST_VARIABLES
    output_stream_limit = MOST_OUTPUT


def _environment() -> _Environment:
    made = _Environment()
    for name in _FORBIDDEN:
        del made.tags[name]
    made.filters["json"] = _json
    return made


def _json(value: object) -> str:
    """A value as JSON; what is not there is null."""
    return json.dumps(None if is_undefined(value) else value, ensure_ascii=False)


_ENVIRONMENT = _environment()


@lru_cache(_PARSED)
def _parsed(text: str) -> liquid.BoundTemplate:
    """A template. A filter that is not there is an error now, and not when it is rendered."""
    parsed = _ENVIRONMENT.from_string(text)
    for name, places in parsed.analyze(include_partials=False).filters.items():
        if name not in _ENVIRONMENT.filters:
            raise _Misnamed(f"there is no filter {name!r:.80}", text.count("\n", 0, places[0].index) + 1)
    return parsed


class _Misnamed(Exception):
    """A filter that is not there, and its line."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(reason)
        self.line = line


class _Failed(Exception):
    """Why a part cannot be parsed or rendered."""

    def __init__(self, part: str, error: Exception, text: str) -> None:
        self.answer = {"part": part, "error": _reason(error), "line": _line(error, text)}


def _reason(error: Exception) -> str:
    if isinstance(error, LiquidError):
        return str(error.message or type(error).__name__)
    if isinstance(error, _Misnamed):
        return str(error)
    if isinstance(error, MemoryError):
        return "it needs too much memory"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return f"{type(error).__name__}: {error}"


def _line(error: Exception, text: str) -> int | None:
    """The line of an error: the last one, if it is about the end of a template."""
    if isinstance(error, _Misnamed):
        return error.line
    if not isinstance(error, LiquidError) or error.token is None:
        return None
    try:
        place = error.context()
    except ValueError:
        place = None
    return text.count("\n") + 1 if place is None else place[0]


def _texts(template: Mapping[str, Any]) -> Iterator[tuple[str, str | None, str]]:
    """The texts of a template: the part, the member of it, if it has members, and the text."""
    for part, content in template.items():
        if isinstance(content, str):
            yield part, None, content
        else:
            yield from ((part, name, text) for name, text in content.items())


def _rendered(template: Mapping[str, Any], variables: Mapping[str, Any] | None) -> dict[str, Any]:
    """The parts of a template, or, without variables, nothing but its errors."""
    parts: dict[str, Any] = {}
    room = MOST_OUTPUT
    for part, name, text in _texts(template):
        place = part if name is None else f"{part}.{name}"
        try:
            parsed = _parsed(text)
            if variables is None:
                continue
            output = parsed.render(variables)
            room -= len(output.encode(errors="replace"))
            if room < 0:
                raise ValueError(f"the parts have more than {MOST_OUTPUT:,} bytes")
        except Exception as error:  # a template may make the library raise anything  # noqa: BLE001
            raise _Failed(place, error, text) from None
        if name is None:
            parts[part] = output
        else:
            parts.setdefault(part, {})[name] = output
    return parts


def _variables(document: bytes, more: Mapping[str, Any]) -> dict[str, Any]:
    """The variables of a template: the members of the message and, unless it is a digest, of its delivery."""
    message = json.loads(document)
    data = message.pop("data")
    return {**message, **more, "deliveries": data.get("deliveries", [data]), **data}


def answer(request: Mapping[str, Any], document: bytes) -> dict[str, Any]:
    """The answer to a request: the `parts` of a message, or an `error` with its `part` and `line`."""
    try:
        variables = _variables(document, request["more"]) if document else None
        return {"parts": _rendered(request["template"], variables)}
    except _Failed as failed:
        return failed.answer
    except Exception as error:  # such as a document beyond all memory  # noqa: BLE001
        return {"part": None, "error": _reason(error), "line": None}


@contextmanager
def _timed() -> Iterator[None]:
    """Ends the process when its time is used up, whatever it does then."""
    signal.setitimer(signal.ITIMER_PROF, CPU_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _bound_memory() -> None:
    import resource

    if sys.platform == "linux":  # elsewhere the system does not keep it
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))


def _read(source: BinaryIO) -> bytes | None:
    head = source.read(LENGTH.size)
    return source.read(LENGTH.unpack(head)[0]) if len(head) == LENGTH.size else None


def serve(source: BinaryIO, sink: BinaryIO) -> None:
    """Answer requests, until there are none."""
    while (request := _read(source)) is not None and (document := _read(source)) is not None:
        with _timed():
            text = json.dumps(answer(json.loads(request), document)).encode()
        sink.write(LENGTH.pack(len(text)) + text)
        sink.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the service ends it, by the end of the input
    _bound_memory()
    serve(sys.stdin.buffer, sys.stdout.buffer)
