"""Reader of JSON lines, in blocks. The standard parser takes one line at a time, so a bad line affects no other."""

from __future__ import annotations

import json
import select
from collections.abc import Iterable, Iterator
from typing import IO, Any, Final

import numpy as np
import pyarrow as pa

from tocsin.errors import InvalidInput, RecordError
from tocsin.model.distinct_keys import DuplicateKey, first_twice, object_of
from tocsin.model.subscription import Reject
from tocsin.records.chunks import Chunk, LinesChunk, ObjectChunk, SparseChunk, TableChunk
from tocsin.records.files import NOT_UTF8, Opened
from tocsin.records.geojson import SEPARATOR, as_record

_BLOCK_BYTES: Final = 1 << 22
_SLICE_ROWS: Final = 65_536
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


def read_json_lines(source: Opened) -> Iterator[LinesChunk]:
    """Yield the lines of a source, block by block, without blank lines. Rows count all other lines, even bad ones.

    From a pipe a block holds what has arrived, so that a slow stream is answered as it flows.
    """
    rest = bytearray()
    row = number = 0
    while True:
        block = _arrived(source)
        end = block.rfind(b"\n") + 1
        if block and not end:
            rest += block
            continue
        whole = block if end == len(block) else block[:end]
        text = bytes(rest) + whole if rest else whole
        rest = bytearray(block[end:])
        if row == number == 0 and text.startswith(_BYTE_ORDER_MARK):
            skipped = 4 if text[3:4] == bytes([SEPARATOR]) else 3
            text = b" " * skipped + text[skipped:]
        chunk, breaks = _split(text, row, number, source.share())
        row += len(chunk)
        number += breaks
        yield chunk
        if not block:
            return


def _arrived(source: Opened) -> bytes:
    """Read what has arrived, at most a block; waits for the first bytes. Empty at the end."""
    arrived: list[bytes] = [source.read(_BLOCK_BYTES)]
    left = _BLOCK_BYTES - len(arrived[0])
    while arrived[-1] and left and _has_more(source.stream):
        arrived.append(source.read(left))
        left -= len(arrived[-1])
    return b"".join(arrived)


def _has_more(stream: Any) -> bool:
    """Whether a pipe or a socket has more data now. It holds about 64 kB, and its writer continues meanwhile."""
    try:
        return bool(select.select([stream], [], [], 0)[0])
    except (OSError, ValueError, TypeError, AttributeError):  # not a file, or a kind that select does not accept
        return False


def _split(text: bytes, row: int, number: int, done: float | None) -> tuple[LinesChunk, int]:
    """The lines of a text that are not blank, and its number of line breaks."""
    data = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(data == ord("\n"))
    starts, stops = np.append(0, ends + 1), np.append(ends, len(data))
    if SEPARATOR in text:  # it precedes each record of a sequence
        starts = starts + (data[np.minimum(starts, len(data) - 1)] == SEPARATOR)
    filled = stops > starts
    begun = np.flatnonzero(filled)
    for line in begun[_MAY_BE_BLANK[data[starts[begun]]]].tolist():
        filled[line] = bool(text[starts[line] : stops[line]].strip())
    lines = np.flatnonzero(filled)
    rows = np.arange(row, row + len(lines))
    return LinesChunk(text, starts[lines], stops[lines], rows, lines + number + 1, done), len(ends)


_MAY_BE_BLANK: Final = np.isin(np.arange(256), list(b" \t\n\v\f\r"))
"""Indexed by the first byte of a line."""


def as_records(chunk: Chunk) -> ObjectChunk | TableChunk:
    """A chunk as named records; lines are parsed. Raises `InvalidInput` for `SparseEvents`."""
    if isinstance(chunk, SparseChunk):
        raise InvalidInput("SparseEvents are events; subscriptions in bulk are Conjunctions")
    return parse_lines(chunk) if isinstance(chunk, LinesChunk) else chunk


def parse_lines(chunk: LinesChunk, chosen: Iterable[int] | None = None) -> ObjectChunk:
    """Parse all lines of a chunk, or the chosen ones. A bad line becomes a reject."""
    records: list[tuple[int, Any]] = []
    rejects: list[Reject] = []
    for line in range(len(chunk.rows)) if chosen is None else chosen:
        row = int(chunk.rows[line])
        try:
            text = chunk.text[chunk.starts[line] : chunk.stops[line]]
            records.append((row, parse_line(text, int(chunk.numbers[line]))))
        except RecordError as error:
            where = f"{chunk.name}: " if chunk.name else ""
            rejects.append(Reject(row, None, error.field, where + error.reason))
    return ObjectChunk(records, rejects, chunk.done)


def parse_line(line: bytes, number: int) -> dict[str, Any]:
    """Parse one line's object; raises `RecordError` with the line number."""
    try:
        record = decode_json(line.decode())
    except UnicodeDecodeError as error:
        raise RecordError(f"line {number}: not valid UTF-8 at byte {error.start}; {NOT_UTF8}") from None
    except json.JSONDecodeError as error:
        raise RecordError(f"line {number}: invalid JSON at column {error.colno}: {error.msg}") from None
    except DuplicateKey as error:
        raise RecordError(f"line {number}: {error}", error.key) from None
    except (RecursionError, ValueError) as error:
        reason = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
        raise RecordError(f"line {number}: invalid JSON: {reason}") from None
    if not isinstance(record, dict):
        raise RecordError(f"line {number}: a record is a JSON object, not {_kind(record)}")
    return as_record(record)  # type: ignore[no-any-return]


def decode_json(text: str) -> Any:
    """Parse any JSON value; raises `ValueError`, also for NaN and infinity, and `DuplicateKey`."""
    try:
        return _DECODER.decode(text)
    except (json.JSONDecodeError, DuplicateKey):
        raise
    except ValueError:  # Python does not read integers of more than 4,300 digits
        return _PATIENT_DECODER.decode(text)


def _integer(digits: str) -> int:
    """Parse an integer. Very long ones are cut, since an integer so large has no type anyway."""
    return int(digits[:400])


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _kind(value: object) -> str:
    return {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}.get(type(value), "a number")


_OPTIONS: Final[dict[str, Any]] = {"parse_constant": _no_constant, "object_pairs_hook": object_of}
_DECODER = json.JSONDecoder(**_OPTIONS)
_PATIENT_DECODER = json.JSONDecoder(**_OPTIONS, parse_int=_integer)


class _Marked(dict[str, Any]):
    """An object that may repeat a key, with that key."""

    key = ""


def decode_records(text: str) -> Any:
    """Parse a JSON document. A record of an array that repeats a key is replaced by its `DuplicateKey`."""
    try:
        return decode_json(text)
    except DuplicateKey:
        document = _MARKING_DECODER.decode(text)
    records = document["features"] if isinstance(document, dict) and "features" in document else document
    if isinstance(records, list):
        records[:] = [DuplicateKey(key) if (key := _marked_in(one)) else one for one in records]
    elif key := _marked_in(document):
        raise DuplicateKey(key)
    return document


def _mark(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = _Marked(pairs)
    if len(made) < len(pairs):
        made.key = first_twice(pairs)
    return made


def _marked_in(value: Any) -> str:
    """The key that is repeated in an object or inside it; empty if there is none."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, _Marked):
            if one.key:
                return one.key
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
    return ""


_MARKING_DECODER = json.JSONDecoder(parse_constant=_no_constant, parse_int=_integer, object_pairs_hook=_mark)


class JsonLinesSink:
    """Writes tables as JSON lines."""

    def __init__(self, stream: IO[bytes], _: pa.Schema) -> None:
        self._stream = stream

    def write(self, table: pa.Table) -> None:
        encode = json.JSONEncoder(ensure_ascii=False, separators=(", ", ": ")).encode
        for batch in table.to_batches(_SLICE_ROWS):
            self._stream.write("".join(encode(record) + "\n" for record in batch.to_pylist()).encode())

    def close(self) -> None:
        """Nothing to do: no output is buffered."""
