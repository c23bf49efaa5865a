"""JSON sources: lines, or one document, which is an array of records, a GeoJSON feature collection, or an object.

A first line that is an object by itself, and no feature collection, is that of JSON lines, and nothing else is tried.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tocsin.errors import InvalidInput
from tocsin.records.chunks import Chunk, read_objects
from tocsin.records.files import STANDARD, Opened
from tocsin.records.geojson import SEPARATOR, as_record, is_collection
from tocsin.records.json_lines import decode_records, read_json_lines

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_SEPARATOR: Final = bytes([SEPARATOR])
_HEAD: Final = 1 << 16
"""How much of a source tells whether it is a document."""


def read_json_file(path: str | Path) -> Iterator[Chunk]:
    """The records of a JSON file; of standard input, lines alone, each as it comes."""
    with Opened(path) as opened:
        yield from read_json_lines(opened) if str(path) == STANDARD else read_json(opened, str(path))


def read_json(opened: Opened, name: str) -> Iterator[Chunk]:
    """JSON lines, or a document that is an array, a feature collection or one object."""
    head = opened.peek(_HEAD)
    if _is_spread_sequence(head):
        return read_json_lines(Opened(_one_line_each(opened.rest())))
    records = _document_records(opened.rest(), name) if _may_be_document(head) else None
    return read_json_lines(opened) if records is None else read_objects(records, "records")


def _may_be_document(head: bytes) -> bool:
    """Whether a source that begins so is to be read as a whole: its first line is no record by itself."""
    text = head.removeprefix(_BYTE_ORDER_MARK).lstrip()
    if not text.startswith((b"[", b"{")):
        return False
    line, _, rest = text.partition(b"\n")
    try:
        first = json.loads(line)
    except (ValueError, RecursionError):
        is_cut = len(head) >= _HEAD and not rest  # one line, longer than what is looked at
        return text.startswith(b"[") or is_cut or line.rstrip().endswith((b"{", b"[", b",", b":"))
    return (isinstance(first, list) and not rest.strip()) or is_collection(first)


def _is_spread_sequence(head: bytes) -> bool:
    """Whether a source that begins so is a sequence (RFC 8142) of which a record takes several lines."""
    text = head.removeprefix(_BYTE_ORDER_MARK).lstrip(b" \t\r\n")
    if not text.startswith(_SEPARATOR):
        return False
    first, line_end, _ = text[1:].partition(b"\n")
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return bool(line_end)
    return False


def _one_line_each(text: bytes) -> bytes:
    """A sequence as JSON lines: a line break is white space in JSON, and never within a string."""
    return text.removeprefix(_BYTE_ORDER_MARK).replace(b"\n", b" ").replace(_SEPARATOR, b"\n")


def _document_records(text: bytes, name: str) -> list[Any] | None:
    """The records of a document; None where it is none after all, so that its lines can be looked at.

    Raises `InvalidInput` for what begins like an array and is damaged.
    """
    try:
        document = decode_records(text.removeprefix(_BYTE_ORDER_MARK).decode())
    except json.JSONDecodeError as error:
        if text.removeprefix(_BYTE_ORDER_MARK).lstrip().startswith(b"[") and not error.msg.startswith("Extra data"):
            where = f"line {error.lineno}, column {error.colno}"
            raise InvalidInput(f"{name} begins like a JSON array, and is damaged at {where}: {error.msg}") from None
        return None
    except (ValueError, RecursionError):
        return None
    if isinstance(document, list):
        return [as_record(one) for one in document]
    if is_collection(document):
        return [as_record(one) for one in document["features"]]
    return [as_record(document)] if isinstance(document, dict) else None
