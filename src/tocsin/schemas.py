"""Types of values by a user's schema: texts are parsed as the type, and values of other types are misfits.

CSV columns are typed when they are read. This module handles JSON, dicts and tables, in which each value, or each
column, has its own type. A text means the same as a CSV field with that text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, starts_of
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.readings import with_readings, without_readings
from tocsin.columns.events.scalars import encode_scalars
from tocsin.columns.events.store import Dictionary
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.meeting import box_numbers
from tocsin.columns.payloads import numbers_of
from tocsin.errors import InvalidInput, UnsupportedError
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Events
from tocsin.language import name_text
from tocsin.model.instants import MICROSECONDS
from tocsin.model.readings import reading_of
from tocsin.model.shapes import geometry_of, place_of, shape_of_text
from tocsin.model.subscription import Reject
from tocsin.model.texts import PLAIN, Text, text_type, texts_in
from tocsin.model.values import FIRST_INSTANT, Point, Shape
from tocsin.records.csv_values import beyond_calendar, convert_column, epochs, unit_of
from tocsin.spelling import only_in_python

_TYPES: Final = {
    "number": codes.NUMBER,
    "string": codes.STRING,
    "boolean": codes.BOOLEAN,
    "instant": codes.INSTANT,
    **{f"instant({unit})": codes.INSTANT for unit in MICROSECONDS},
    "geometry": codes.GEOMETRY,
    "text": codes.STRING,
}
WORDS: Final = {
    codes.NUMBER: "a number",
    codes.STRING: "a text",
    codes.BOOLEAN: "a boolean",
    codes.INSTANT: "an instant",
    codes.LIST: "a list",
    codes.GEOMETRY: "a geometry",
    codes.UNTYPED: "an object or unreadable",
    codes.SHAPE: "a geometry",
}
"""Names of value types for users."""


class _Entries(NamedTuple):
    """The parts of a batch's entries that may change. N entries."""

    types: NDArray[np.uint8]  # (N,)
    payloads: NDArray[np.int64]  # (N,)
    is_kept: NDArray[np.bool_]  # (N,) False if a text means absence
    boxes: list[NDArray[np.float64]]  # (., 4) boxes parsed from texts, after the batch's
    shapes: list[Any]  # likewise for shapes


def typed(batch: EventBatch, wanted: Wanted, schema: Mapping[str, Any]) -> EventBatch:
    """Give a batch the types of a schema. The elements of lists have their types under the list's name."""
    whole = with_readings(with_schema(without_readings(batch, wanted), schema), wanted)
    elements, rejects = dict(batch.elements), list(whole.rejects)
    for name, lists in batch.elements.items():
        within = {one.removeprefix(f"{name}."): kind for one, kind in schema.items() if one.startswith(f"{name}.")}
        if within:
            own = typed(replace(lists.batch, rejects=[]), wanted.elements[name], within)
            elements[name] = replace(lists, batch=own)
            owners = [(int(lists.owners[reject.row]), reject) for reject in own.rejects]
            rejects += [
                Reject(int(batch.rows[owner]), None, f"{name}.{reject.field}", reject.reason)
                for owner, reject in owners
                if owner >= 0
            ]
    return replace(whole, elements=elements, rejects=rejects)


def with_schema(batch: EventBatch, schema: Mapping[str, Any]) -> EventBatch:
    """Give a batch's attributes the types of a schema that names them. Cost: linear in the values that it names."""
    texts = texts_in(schema)
    schema = {**schema, **dict.fromkeys(texts, "text")}
    arrays = batch.arrays
    entries = _Entries(
        arrays.types.copy(), arrays.payloads.copy(), np.ones(len(arrays.types), bool), [arrays.boxes], [*batch.shapes]
    )
    owners = np.repeat(np.arange(len(batch)), np.diff(arrays.starts))
    rejects = list(batch.rejects)
    for number, name in enumerate(batch.attributes):
        if name not in schema:
            continue
        odd = np.flatnonzero((arrays.attributes == number) & ~_is_of(arrays, schema[name]))
        if (unit := unit_of(schema[name])) is not None:
            odd = _convert_numbers(odd, unit, entries)
        is_text = arrays.types[odd] == codes.STRING
        problems = _convert_texts(batch.strings, odd[is_text], schema[name], entries)
        for place in odd[~is_text].tolist():
            problems[place] = _wrong_type(arrays, place, schema[name])
            entries.types[place], entries.payloads[place] = codes.UNTYPED, 0
        rejects += [
            Reject(int(batch.rows[owners[place]]), None, name, reason) for place, reason in sorted(problems.items())
        ]
    return replace(
        batch,
        arrays=_changed(arrays, owners, entries),
        rejects=sorted(rejects, key=lambda reject: reject.row),
        shapes=entries.shapes,
        texts=texts,
    )


def checked_texts(texts: Mapping[str, Text | str] | None) -> dict[str, Text]:
    """Check attributes that are texts, and their settings; raises `InvalidInput` for another type."""
    for name, kind in (texts or {}).items():
        if text_type(kind) is None:
            raise InvalidInput(f"texts gives {name!r} the type {kind!r:.40}; give a Text, or 'text'")
    return texts_in(texts)


def require_asked(wanted: Wanted, texts: Mapping[str, Text]) -> None:
    """Raise `InvalidInput` if the schema's settings for an attribute differ from those of every TEXT on it."""
    for name, how in texts.items():
        asked = sorted({reading_of(one).rest for one in wanted.texts.get(name, ())})
        if asked and how != PLAIN and str(how) not in asked:
            raise InvalidInput(
                f"the schema gives {name!r} the type 'text {how}', but the subscriptions ask for its words as "
                f"{' and as '.join(map(repr, asked))}; {only_in_python('pass Engine(texts=...), or ')}write it in each "
                f"subscription: TEXT({name_text(name)}, 'words', '{how}')"
            )


def _is_of(arrays: Events, kind: str) -> NDArray[np.bool_]:
    """Which values are of a type, or UNTYPED already.

    A range has the type of its ends. Lists that are boxes count as geometries, and all lists count as texts.
    """
    types = arrays.types
    found: NDArray[np.bool_] = (
        (types == _TYPES[kind]) | (types == codes.RANGED + _TYPES[kind]) | (types == codes.UNTYPED)
    )
    if kind == "geometry":
        found |= (types == codes.SHAPE) | (box_numbers(types, arrays.payloads, arrays.list_boxes) >= 0)
    if kind == "text":
        found |= types == codes.LIST
    return found


def _convert_numbers(places: NDArray[np.int64], unit: str, entries: _Entries) -> NDArray[np.int64]:
    """Convert the epoch numbers at some places to instants; returns the places that could not be converted."""
    own = places[entries.types[places] == codes.NUMBER]
    moments = epochs(numbers_of(entries.payloads[own]), unit)
    are_instants = moments >= FIRST_INSTANT.microseconds
    entries.types[own[are_instants]], entries.payloads[own[are_instants]] = codes.INSTANT, moments[are_instants]
    return np.setdiff1d(places, own[are_instants])


def _wrong_type(arrays: Events, place: int, kind: str) -> str:
    """Why a value that is not a text is not of a schema's type."""
    unit = unit_of(kind)
    if unit is not None and arrays.types[place] == codes.NUMBER:
        return beyond_calendar(float(numbers_of(arrays.payloads[place : place + 1])[0]), unit)
    return f"it is {WORDS.get(int(arrays.types[place]), 'a range')}, but the schema says {kind!r}"


def _convert_texts(strings: Sequence[str], places: NDArray[np.int64], kind: str, entries: _Entries) -> dict[int, str]:
    """Convert the texts at some places to values. Returns the problems of those that have none, by place."""
    if not len(places):
        return {}
    distinct, which = np.unique(entries.payloads[places], return_inverse=True)
    if kind == "geometry":
        return _convert_places([strings[number] for number in distinct.tolist()], which, places, entries)
    texts = pa.array([strings[number].encode() for number in distinct.tolist()], pa.binary())
    values, problems = convert_column(texts, kind)
    wrong = dict(problems)
    column = encode_scalars(values, Dictionary())
    is_wrong = np.zeros(len(distinct), bool)
    is_wrong[list(wrong)] = True
    entries.types[places] = np.where(is_wrong, codes.UNTYPED, column.types)[which]
    entries.payloads[places] = np.where(is_wrong, 0, column.payloads)[which]
    entries.is_kept[places] = (is_wrong | column.present)[which]
    return {int(place): wrong[number] for place, number in zip(places, which.tolist(), strict=True) if number in wrong}


def _convert_places(
    texts: Sequence[str], which: NDArray[np.int64], places: NDArray[np.int64], entries: _Entries
) -> dict[int, str]:
    """Convert the texts at some places to geometries; returns the problems by place."""
    first = sum(map(len, entries.boxes))
    types, payloads = np.full(len(texts), codes.UNTYPED, np.uint8), np.zeros(len(texts), np.int64)
    boxes: list[tuple[float, float, float, float]] = []
    wrong: dict[int, str] = {}
    for number, text in enumerate(texts):
        try:
            place = _place(text)
        except (ValueError, UnsupportedError) as error:
            wrong[number] = str(error)
        else:
            if isinstance(place, Point):
                types[number], payloads[number] = codes.GEOMETRY, first + len(boxes)
                boxes.append(place.bounds())
            else:
                types[number], payloads[number] = codes.SHAPE, len(entries.shapes)
                entries.shapes.append(geometry_of(place))
    entries.boxes.append(np.array(boxes, np.float64).reshape(-1, 4))
    entries.types[places], entries.payloads[places] = types[which], payloads[which]
    forms = "well-known text or binary such as POINT(2.35 48.85), GeoJSON, or two or four numbers in a list"
    return {
        int(place): f"{texts[number]!r:.60} is not a place: {wrong[number]}; give {forms}"
        for place, number in zip(places.tolist(), which.tolist(), strict=True)
        if number in wrong
    }


def _place(text: str) -> Point | Shape:
    """Parse a geometry; a plain point needs no library."""
    match = _POINT.fullmatch(text)
    if match is None:
        return place_of(shape_of_text(text))
    x, y = map(float, match.groups())
    if not (math.isfinite(x) and math.isfinite(y)):
        raise ValueError("a coordinate is not a finite number")
    return Point(x, y)


_NUMBER: Final = r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
_POINT: Final = re.compile(rf"\s*POINT\s*\(\s*{_NUMBER}\s+{_NUMBER}\s*\)\s*", re.ASCII | re.IGNORECASE)


def _changed(arrays: Any, owners: NDArray[np.int64], entries: _Entries) -> Any:
    kept = entries.is_kept
    return arrays._replace(
        starts=starts_of(np.bincount(owners[kept], minlength=len(arrays.starts) - 1), len(arrays.starts) - 1),
        attributes=frozen(arrays.attributes[kept], np.int32),
        types=frozen(entries.types[kept], np.uint8),
        payloads=frozen(entries.payloads[kept], np.int64),
        boxes=frozen(np.concatenate(entries.boxes), np.float64),
    )
