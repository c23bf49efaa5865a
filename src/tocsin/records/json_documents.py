"""JSON sources: lines, or one document (an array of records, a GeoJSON feature collection, or an object).

If the first line is a complete object, and not a feature collection, the source is JSON lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tocsin.errors import InvalidInput
from tocsin.records.chunks import Chunk, read_objects
from tocsin.records.files import STANDARD, Opened
from tocsin.records.geojson import SEPARATOR, as_record, in_one_system, is_collection
from tocsin.records.json_lines import decode_records, read_json_lines

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_SEPARATOR: Final = bytes([SEPARATOR])
_HEAD: Final = 1 << 16
"""The number of bytes that decide whether a source is a document."""


def read_json_file(path: str | Path) -> Iterator[Chunk]:
    """Read the records of a JSON file. Standard input is always read as lines, each as it arrives."""
    with Opened(path) as opened:
        yield from read_json_lines(opened) if str(path) == STANDARD else read_json(opened, str(path))


def read_json(opened: Opened, name: str) -> Iterator[Chunk]:
    """Read JSON lines, or a document that is an array, a feature collection or one object."""
    head = opened.peek(_HEAD)
    if _is_spread_sequence(head):
        return read_json_lines(Opened(_one_line_each(opened.rest())))
    records = _document_records(opened.rest(), name) if _may_be_document(head) else None
    return read_json_lines(opened) if records is None else read_objects(records, "records")


def _may_be_document(head: bytes) -> bool:
    """Whether a source with this beginning is read as a whole, because its first line is not a record."""
    text = head.removeprefix(_BYTE_ORDER_MARK).lstrip()
    if not text.startswith((b"[", b"{")):
        return False
    line, _, rest = text.partition(b"\n")
    try:
        first = json.loads(line)
    except (ValueError, RecursionError):
        is_cut = len(head) >= _HEAD and not rest  # one line, longer than the part looked at
        return text.startswith(b"[") or is_cut or line.rstrip().endswith((b"{", b"[", b",", b":"))
    return (isinstance(first, list) and not rest.strip()) or is_collection(first)


def _is_spread_sequence(head: bytes) -> bool:
    """Whether a source with this beginning is a sequence (RFC 8142) with records over several lines."""
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
    """Convert a sequence to JSON lines. A line break is white space in JSON, and never inside a string."""
    return text.removeprefix(_BYTE_ORDER_MARK).replace(b"\n", b" ").replace(_SEPARATOR, b"\n")


def _document_records(text: bytes, name: str) -> list[Any] | None:
    """The records of a document; None if it is not a document, so that its lines can be tried.

    Raises `InvalidInput` for a damaged array.
    """
    try:
        document = decode_records(text.removeprefix(_BYTE_ORDER_MARK).decode())
    except json.JSONDecodeError as error:
        if text.removeprefix(_BYTE_ORDER_MARK).lstrip().startswith(b"[") and not error.msg.startswith("Extra data"):
            where = f"line {error.lineno}, column {error.colno}"
            raise InvalidInput(f"{name} begins like a JSON array, but is damaged at {where}: {error.msg}") from None
        return None
    except (ValueError, RecursionError):
        return None
    if isinstance(document, list):
        return [as_record(one) for one in document]
    if is_collection(document):
        return [as_record(one) for one in in_one_system(document)]
    return [as_record(document)] if isinstance(document, dict) else None
