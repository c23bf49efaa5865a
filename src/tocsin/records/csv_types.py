"""Recognition of a CSV's column types and delimiter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from tocsin.errors import InvalidInput
from tocsin.kernels.reading.csv_records import split_records
from tocsin.model.instants import INSTANT_PATTERN
from tocsin.records.csv_values import without_null_words
from tocsin.spelling import option

DELIMITERS: Final = (",", ";", "\t", "|")
"""The recognised delimiters; the first of several candidates is chosen."""
_LOOKED_AT: Final = 1 << 16
_ENOUGH: Final = 0.9
"""If this share of a column's values are numbers, or instants, the others are misfits."""
_NUMBER: Final = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def checked_delimiter(delimiter: str | None) -> str | None:
    """Check a given delimiter; raises `InvalidInput`."""
    if delimiter is None:
        return None
    if not isinstance(delimiter, str) or len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0':
        such = " ".join(map(repr, DELIMITERS))
        raise InvalidInput(f"{option('delimiter')} is {delimiter!r:.40}; it must be one character, such as {such}")
    return delimiter


def recognised_delimiter(text: bytes) -> str:
    """Recognise the delimiter from the beginning of a CSV: the one that gives most records the header's width."""
    beginning = np.frombuffer(text[:_LOOKED_AT], np.uint8)
    places = np.empty((len(beginning) + 1, 4), np.int64)
    scores = {}
    for delimiter in DELIMITERS:
        count, _, _ = split_records(beginning, len(text) <= _LOOKED_AT, ord(delimiter), places)
        if not count:  # the header is longer than the part looked at
            count, _, _ = split_records(beginning, True, ord(delimiter), places)
        widths = np.abs(places[:count, 2])
        if count and widths[0] > 1:
            scores[delimiter] = (float((widths == widths[0]).mean()), int(widths[0]))
    return max(scores, key=scores.__getitem__) if scores else DELIMITERS[0]


def inferred(raw: pa.Table, undecided: Iterable[str]) -> dict[str, str]:
    """Infer the types of columns from their fields. Blanks and null words give no evidence."""
    kinds = {name: _kind(raw[name].combine_chunks()) for name in undecided}
    return {name: kind for name, kind in kinds.items() if kind is not None}


def undecided(names: Iterable[str], kinds: Mapping[str, str]) -> list[str]:
    """The columns that have no type yet."""
    return [name for name in names if name not in kinds]


def _kind(fields: pa.Array) -> str | None:
    values = without_null_words(_trimmed(fields.drop_null())).drop_null()
    if not len(values):
        return None
    lines = b"".join(_quoted(value) + b"\n" for value in values.cast(pa.binary()).to_pylist())
    options = arrow_csv.ConvertOptions(check_utf8=False, null_values=[""], strings_can_be_null=True)
    parsing = arrow_csv.ParseOptions(newlines_in_values=True)
    reading = arrow_csv.ReadOptions(use_threads=False, block_size=len(lines) + 1, column_names=["value"])
    kind = _named(arrow_csv.read_csv(pa.BufferReader(lines), reading, parsing, options).schema[0].type)
    return _what_most_are(values) if kind == "string" else kind


def _trimmed(fields: pa.Array) -> pa.Array:
    """Texts without surrounding white space; bytes unchanged if any of them is not UTF-8."""
    try:
        return pc.utf8_trim_whitespace(fields.cast(pa.string()))
    except pa.ArrowInvalid:
        return fields


def _what_most_are(texts: pa.Array) -> str:
    """Text, unless nearly all values are of another type."""
    if pa.types.is_binary(texts.type):
        return "string"
    for kind, pattern in (("number", _NUMBER), ("instant", INSTANT_PATTERN)):
        if pc.mean(pc.match_substring_regex(texts, pattern)).as_py() >= _ENOUGH:
            return kind
    return "string"


def _quoted(value: bytes) -> bytes:
    return b'"' + value.replace(b'"', b'""') + b'"'


def _named(found: pa.DataType) -> str:
    if pa.types.is_integer(found) or pa.types.is_floating(found):
        return "number"
    if pa.types.is_boolean(found):
        return "boolean"
    return "instant" if pa.types.is_timestamp(found) or pa.types.is_date(found) else "string"
