"""How do the fields of a CSV column become values of its type? Whole columns; one by one where some do not fit."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.model.instants import MICROSECONDS, read_instants
from tocsin.model.values import FIRST_INSTANT, LARGEST_INTEGER, LAST_INSTANT

_INSTANT: Final = pa.timestamp("us", "UTC")
ARROW_TYPES: Final[dict[str, pa.DataType]] = {
    "number": pa.float64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "instant": _INSTANT,
    **{f"instant({unit})": _INSTANT for unit in MICROSECONDS},
}
_WORDS: Final = {"number": "number", "boolean": "boolean", "instant": "date or time"}

_NULL_WORDS: Final = pa.array(
    ["NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NULL", "Null", "null", "None", "NaN", "nan", "-nan"]
)
"""What stands for absence in a column that is no text, as pandas and Arrow have it."""

Problems = list[tuple[int, str]]


def convert_column(fields: pa.Array, kind: str | None) -> tuple[pa.Array, Problems]:
    """Fields (bytes, null for an empty one) as values of a type, and the places of those that have no such value.

    None is the type of a column of which there were only blanks and null words so far.
    """
    if kind is None:
        return pa.nulls(len(fields), pa.string()), []
    try:
        return _whole(fields, kind)
    except pa.ArrowInvalid:
        values = [_single(fields[place], kind) for place in range(len(fields))]
        array = pa.array([value for value, _ in values], ARROW_TYPES[kind])
        return array, [(place, reason) for place, (_, reason) in enumerate(values) if reason is not None]


def _whole(fields: pa.Array, kind: str) -> tuple[pa.Array, Problems]:
    """A whole column at once; raises `ArrowInvalid` where a field is no text or no value of the type."""
    texts = fields.cast(pa.string())
    if kind == "string":
        return texts, []
    trimmed = without_null_words(pc.utf8_trim_whitespace(texts))
    if kind == "number":
        return _numbers(trimmed)
    return (_instants(trimmed, unit_of(kind)) if kind.startswith("instant") else trimmed.cast(pa.bool_())), []


def unit_of(kind: str) -> str | None:
    """The unit of the epoch numbers that a type reads as instants: `instant(ms)`; None of any other type."""
    return kind[8:-1] if kind.startswith("instant(") else None


def epochs(numbers: NDArray[np.float64], unit: str) -> NDArray[np.int64]:
    """Epoch numbers as microseconds; below all that are instants where one is none."""
    moments = np.floor(numbers * MICROSECONDS[unit])
    within = (moments >= FIRST_INSTANT.microseconds) & (moments <= LAST_INSTANT.microseconds)  # not of NaN
    whole = np.where(within, moments, 0).astype(np.int64)
    return np.where(within, whole, FIRST_INSTANT.microseconds - 1)


def without_null_words(texts: pa.Array) -> pa.Array:
    """Null where a word or a blank stands for absence; of text, or of bytes."""
    words = pc.is_in(texts, _NULL_WORDS.cast(texts.type))
    return pc.if_else(pc.or_(words, pc.equal(pc.binary_length(texts), 0)), None, texts)


def _numbers(texts: pa.Array) -> tuple[pa.Array, Problems]:
    """Numbers; integers that float64 cannot tell apart, and infinity, have no value."""
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
    """Dates and timestamps, as `read_instants` has them, or as Arrow has; with a unit, numbers, too."""
    moments = read_instants(texts)
    if unit is not None:
        are_numbers = pc.fill_null(pc.match_substring_regex(texts, _NUMBER), False)
        numbers = pc.if_else(are_numbers, texts, None).cast(pa.float64())
        found = epochs(pc.fill_null(numbers, np.nan).to_numpy(zero_copy_only=False), unit)
        known = pa.array(found, mask=found < FIRST_INSTANT.microseconds)
        moments = pc.coalesce(known, moments)
    rest = pc.if_else(moments.is_valid(), None, texts)
    return pc.coalesce(moments.cast(pa.timestamp("us")).cast(_INSTANT), rest.cast(pa.timestamp("us")).cast(_INSTANT))


_NUMBER: Final = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def _single(field: pa.Scalar, kind: str) -> tuple[object, str | None]:
    """One value and, if it has none, why."""
    data = field.as_py()
    if data is None:
        return None, None
    try:
        array, problems = _whole(pa.array([data], pa.binary()), kind)
    except pa.ArrowInvalid:
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return None, "not valid UTF-8"
        reason = f"{_short(text)!r} is no {_WORDS[kind.partition('(')[0]]}, which this column's values are"
        return None, f"{reason}; the schema can say that it is text: 'string'"
    return array[0].as_py(), problems[0][1] if problems else None


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."
