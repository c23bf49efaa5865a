"""Conversion of CSV fields to values of the column's type: whole columns, or in pieces if some do not fit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.model.instants import MICROSECONDS, read_instants
from tocsin.model.values import FIRST_INSTANT, LARGEST_INTEGER, LAST_INSTANT
from tocsin.records.files import NOT_UTF8
from tocsin.spelling import option

_INSTANT: Final = pa.timestamp("us", "UTC")
ARROW_TYPES: Final[dict[str, pa.DataType]] = {
    "number": pa.float64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "instant": _INSTANT,
    **{f"instant({unit})": _INSTANT for unit in MICROSECONDS},
}
_WORDS: Final = {"number": "number", "boolean": "boolean", "instant": "date or time"}

_NULL_WORDS: Final = ("NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NULL", "Null", "null", "None", "NaN", "nan", "-nan")
"""Words for absent values in columns that are not text, as in pandas and Arrow."""

Problems = list[tuple[int, str]]


def convert_column(fields: pa.Array, kind: str | None, inferred: str | None = None) -> tuple[pa.Array, Problems]:
    """Convert fields (bytes, null for empty) to values of a type; also returns the places that do not fit, and why.

    `kind` is None for a column that had only blanks and null words so far. `inferred` is the column's name if its type
    comes from its values, and None if a schema gave it.
    """
    if kind is None:
        return pa.nulls(len(fields), pa.string()), []
    try:
        return _whole(fields, kind)
    except pa.ArrowInvalid:
        encoded = fields.dictionary_encode()
        values, reasons = _distinct(encoded.dictionary, kind, inferred)
        places = encoded.indices
        wrong = np.flatnonzero(np.isin(places.fill_null(-1).to_numpy(), list(reasons))).tolist()
        return values.take(places), [(place, reasons[places[place].as_py()]) for place in wrong]


def _distinct(fields: pa.Array, kind: str, inferred: str | None) -> tuple[pa.Array, dict[int, str]]:
    """Convert distinct fields, some of which do not fit; also returns the reasons by place.

    Those that look like the type are converted first, together, so that only the others are searched for misfits.
    """
    looks = pc.match_substring_regex(fields, _LOOKS[kind.partition("(")[0]]).to_numpy(zero_copy_only=False)
    order = np.argsort(~looks, kind="stable")
    ordered = fields.take(pa.array(order))
    alike = int(looks.sum())
    pieces: list[pa.Array] = []
    reasons: dict[int, str] = {}
    begun = 0
    for values, problems in (*_halved(ordered[:alike], kind, inferred), *_halved(ordered[alike:], kind, inferred)):
        pieces.append(values)
        reasons |= {int(order[begun + place]): reason for place, reason in problems}
        begun += len(values)
    return pa.concat_arrays(pieces).take(pa.array(np.argsort(order))), reasons


def _halved(fields: pa.Array, kind: str, inferred: str | None) -> Iterator[tuple[pa.Array, Problems]]:
    """Convert fields in as few pieces as possible: one that has a misfit is tried again in halves."""
    try:
        yield _whole(fields, kind)
    except pa.ArrowInvalid:
        if len(fields) == 1:
            yield pa.nulls(1, ARROW_TYPES[kind]), [(0, _misfit(fields[0].as_py(), kind, inferred))]
        else:
            middle = len(fields) // 2
            yield from _halved(fields[:middle], kind, inferred)
            yield from _halved(fields[middle:], kind, inferred)


def _whole(fields: pa.Array, kind: str) -> tuple[pa.Array, Problems]:
    """Convert a whole column; raises `ArrowInvalid` if a field is not UTF-8 or not a value of the type."""
    texts = fields.cast(pa.string())
    if kind == "string":
        return texts, []
    trimmed = without_null_words(pc.utf8_trim_whitespace(texts))
    if kind == "number":
        return _numbers(trimmed)
    return (_instants(trimmed, unit_of(kind)) if kind.startswith("instant") else trimmed.cast(pa.bool_())), []


def unit_of(kind: str) -> str | None:
    """The unit of epoch numbers in a type such as `instant(ms)`; None for any other type."""
    return kind[8:-1] if kind.startswith("instant(") else None


def epochs(numbers: NDArray[np.float64], unit: str) -> NDArray[np.int64]:
    """Convert epoch numbers to microseconds. A number out of range gives a value before the first instant."""
    moments = np.floor(numbers * MICROSECONDS[unit])
    within = (moments >= FIRST_INSTANT.microseconds) & (moments <= LAST_INSTANT.microseconds)  # False for NaN
    whole = np.where(within, moments, 0).astype(np.int64)
    return np.where(within, whole, FIRST_INSTANT.microseconds - 1)


def without_null_words(texts: pa.Array) -> pa.Array:
    """Replace blanks and words for absent values by null, in texts or bytes."""
    words = pc.is_in(texts, pa.array(_NULL_WORDS).cast(texts.type))
    return pc.if_else(pc.or_(words, pc.equal(pc.binary_length(texts), 0)), None, texts)


def _numbers(texts: pa.Array) -> tuple[pa.Array, Problems]:
    """Numbers. Infinity, and integers that float64 cannot tell apart, have no value."""
    numbers = texts.cast(pa.float64())
    problems: Problems = []
    long = pc.fill_null(pc.match_substring_regex(texts, r"^[+-]?\d{16,}$"), False).to_numpy(zero_copy_only=False)
    for place in np.flatnonzero(long).tolist():
        text = texts[place].as_py()
        if len(text) > 20 or abs(int(text)) > LARGEST_INTEGER:
            problems.append((place, f"integer {_short(text)} is beyond 2**53; write it as text"))
    for place in np.flatnonzero(np.isinf(pc.fill_null(numbers, 0.0).to_numpy(zero_copy_only=False))).tolist():
        if not long[place]:
            problems.append((place, "infinity cannot be represented"))
    if not problems:
        return numbers, []
    keep = np.ones(len(texts), bool)
    keep[[place for place, _ in problems]] = False
    return pc.if_else(pa.array(keep), numbers, None), problems


def _instants(texts: pa.Array, unit: str | None) -> pa.Array:
    """Dates and timestamps, as parsed by `read_instants` or by Arrow; with a unit, epoch numbers, too."""
    moments = read_instants(texts)
    if unit is not None:
        are_numbers = pc.fill_null(pc.match_substring_regex(texts, _NUMBER), False)
        numbers = pc.if_else(are_numbers, texts, None).cast(pa.float64())
        found = epochs(pc.fill_null(numbers, np.nan).to_numpy(zero_copy_only=False), unit)
        known = pa.array(found, mask=found < FIRST_INSTANT.microseconds)
        moments = pc.coalesce(known, moments)
    rest = pc.if_else(moments.is_valid(), None, texts)
    return pc.coalesce(moments.cast(pa.timestamp("us")).cast(_INSTANT), rest.cast(pa.timestamp("us")).cast(_INSTANT))


_DECIMAL: Final = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
_NUMBER: Final = rf"^{_DECIMAL}$"
_LOOKS: Final = {
    "number": rf"^\s*{_DECIMAL}\s*$",
    "string": "",
    "boolean": r"(?i)^\s*(true|false|0|1)\s*$",
    "instant": r"^\s*\d{4}-\d\d-\d\d",
}
"""What most values of a type look like. Others may be values, too, and some that look like it are not."""


def beyond_calendar(number: float, unit: str) -> str:
    """Why an epoch number is not an instant, and in which unit it would be.

    >>> beyond_calendar(1714564800000.0, "s")
    "1714564800000 s since 1970 is not in the years 1 to 9999; if it is in ms, give the type 'instant(ms)'"
    """
    units = list(MICROSECONDS)
    known = [finer for finer in units[units.index(unit) + 1 :] if epochs(np.array([number]), finer)[0] >= _FIRST]
    advice = f"; if it is in {known[0]}, give the type 'instant({known[0]})'" if known else ""
    return f"{number:.15g} {unit} since 1970 is not in the years 1 to 9999{advice}"


_FIRST: Final = FIRST_INSTANT.microseconds


def _misfit(data: bytes, kind: str, inferred: str | None) -> str:
    """Why a field is not a value of its column's type."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return f"not valid UTF-8; {NOT_UTF8}"
    unit = unit_of(kind)
    if unit is not None and re.fullmatch(_DECIMAL, text.strip()):
        return beyond_calendar(float(text), unit)
    return f"{_short(text)!r} is not a {_WORDS[kind.partition('(')[0]]}, {_advice(inferred)}"


def _advice(inferred: str | None) -> str:
    """Why a value of another type is wrong, and how to read the column as text."""
    if inferred is None:
        return "the type in the schema. To read the values as text, give the type 'string'."
    schema = option("schema", {inferred: "string"})
    return f"but the other values of column {inferred} are. To read the column as text, pass {schema}."


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."
