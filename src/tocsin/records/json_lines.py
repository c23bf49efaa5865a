"""How are JSON lines read? A line at a time, so that a bad one costs only itself."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import IO, Any

from tocsin.errors import RecordError
from tocsin.model.subscription import Reject
from tocsin.records.chunks import CHUNK_ROWS, ObjectChunk


def read_json_lines(stream: IO[bytes], size: int | None) -> Iterator[ObjectChunk]:
    """Objects from JSON lines; blank lines are skipped. Rows count the other lines, the bad ones included."""
    records: list[tuple[int, Any]] = []
    rejects: list[Reject] = []
    read = 0
    for row, (number, line) in enumerate(_numbered(stream)):
        read += len(line)
        try:
            records.append((row, parse_line(line, number)))
        except RecordError as error:
            rejects.append(Reject(row, None, error.field, error.reason))
        if len(records) + len(rejects) >= CHUNK_ROWS:
            yield ObjectChunk(records, rejects, min(read / size, 1.0) if size else None)
            records, rejects = [], []
    yield ObjectChunk(records, rejects, 1.0)


def _numbered(stream: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Lines that are not blank, numbered from 1 as an editor does."""
    for number, line in enumerate(stream, 1):
        if number == 1 and line.startswith(b"\xef\xbb\xbf"):
            line = line[3:]
        if line.strip():
            yield number, line


def parse_line(line: bytes, number: int) -> dict[str, Any]:
    """One line's object; raises `RecordError` with the line's number."""
    try:
        record = _DECODER.decode(line.decode())
    except UnicodeDecodeError as error:
        raise RecordError(f"line {number}: not valid UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise RecordError(f"line {number}: invalid JSON at column {error.colno}: {error.msg}") from None
    except (RecursionError, ValueError) as error:
        reason = "it nests too deep" if isinstance(error, RecursionError) else str(error)
        raise RecordError(f"line {number}: invalid JSON: {reason}") from None
    if not isinstance(record, dict):
        raise RecordError(f"line {number}: a record is a JSON object, not {_kind(record)}")
    return record


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


def _kind(value: object) -> str:
    return {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}.get(type(value), "a number")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
