"""Queries of MongoDB: the filter documents of `find`.

An operator on a field asks about the field's value or, if that is a list, about any of its elements. Each operator
finds its own element; `$elemMatch` asks for one that satisfies all. Its operators compare the element as it is: they do
not enter a list in the list. There the path is empty.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final, cast

from tocsin.language import rules
from tocsin.language.dialects.dialect import (
    IS_BOOLEAN,
    IS_NUMBER,
    IS_STRING,
    VALUE,
    Dialect,
    Json,
    Reader,
    all_of,
    any_of,
    call,
    compared,
    equal,
    is_given_null,
    not_true,
)
from tocsin.language.dialects.mongodb.places import geo_within
from tocsin.language.dialects.regexes import re2_of
from tocsin.model.expression import (
    AnyElement,
    Arithmetic,
    Attribute,
    Comparison,
    ComparisonOperator,
    Constant,
    Expression,
    IsNull,
    Not,
)
from tocsin.model.subscription import shown
from tocsin.model.values import Instant

_COMPARISONS: Final[dict[str, ComparisonOperator]] = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}


class MongoDB(Dialect):
    name, title = "mongodb", "MongoDB"
    taken: ClassVar[Mapping[str, str]] = {
        '{"a": 1}, $eq': "the value, or an element of a list, is equal",
        '{"a": null}': "null or absent",
        "$gt, $gte, $lt, $lte": "a comparison with a value of the same type",
        '{"$date": "2024-05-31T00:00:00Z"}': "an instant; strings of events that are instants count",
        "$ne, $nin": "NOT of $eq, $in; TRUE without a value",
        "$in": "the value, or an element, is one of these",
        "$not": "NOT; TRUE without a value",
        "$and, $or, $nor": "AND, OR, NOT OR",
        "$exists": "whether there is a value or null",
        "$type": "of string, number, bool, null and array",
        "$regex, $options": "MATCHES; the options i, m and s",
        "$mod": "the remainder of the number without its decimals",
        "$size": "LENGTH of a list",
        "$all": "an AND of $eq, or of $elemMatch",
        "$elemMatch": "ANY; fields are those of an object, and operators compare the element itself",
        "$geoWithin": "wholly within $box or $polygon (on the plane), or $centerSphere (DISTANCE_M; for lines and "
        "areas its edge is right to 0.1 %); in $box, a legacy pair may be an object",
        "$comment": "left out",
    }
    refused: ClassVar[Mapping[str, str]] = {
        "$where": "it is JavaScript",
        "$function": "it is JavaScript",
        "$expr": "it is an aggregation; write a condition in CQL2",
        "$text": "it asks an index of the collection; write TEXT in CQL2",
        "$jsonSchema": "it describes documents, not values",
        "$near": "it sorts documents; write $geoWithin with $centerSphere",
        "$nearSphere": "it sorts documents; write $geoWithin with $centerSphere",
        "$geometry": "its edges are great circles, and tocsin's are straight on the plane; write $polygon or $box",
        "$center": "it is a circle on the plane; write $centerSphere",
        "$geoIntersects": "its edges are great circles, and those of tocsin are straight; write S_INTERSECTS",
        "$bitsAllSet": "tocsin does not compute with bits",
        "$bitsAnySet": "tocsin does not compute with bits",
        "$bitsAllClear": "tocsin does not compute with bits",
        "$bitsAnyClear": "tocsin does not compute with bits",
        "$rand": "a condition has the same answer each time",
        "$oid": "events have no ObjectIds; compare with their string",
        "$numberDecimal": "tocsin's numbers are float64; compare with a string",
        "an object as a value": "the order of its members would count; write a condition for each field",
        "a list as a value": "the whole list would have to be equal, in order; write $all and $size",
        "a number in a path": "a position in a list; write a condition in CQL2",
        "null in a nested path": "systems of the same name differ in what it means within lists",
    }

    def read(self, rule: Json, reader: Reader) -> Expression:
        if not isinstance(rule, Mapping):
            reader.fail(f"a query is an object, not {shown(rule)}")
        return _of_query(_decoded(rule, reader), reader)


_WRAPPED: Final = ("$numberInt", "$numberLong", "$numberDouble")


def _decoded(value: Json, reader: Reader) -> Json:
    """A part of a query with the numbers, dates and regular expressions of extended JSON as plain ones."""
    if isinstance(value, list):
        return [_decoded(one, reader) for one in value]
    if not isinstance(value, Mapping):
        return value
    if len(value) == 1:
        ((name, inner),) = value.items()
        if name in _WRAPPED:
            return _number_in(inner, reader).value
        if name == "$regularExpression" and isinstance(inner, Mapping):
            return {"$regex": inner.get("pattern"), "$options": inner.get("options", "")}
    return {name: _decoded(inner, reader) for name, inner in value.items()}


def _of_query(query: Mapping[str, Json], reader: Reader) -> Expression:
    parts = []
    for name, inner in query.items():
        with reader.at(name):
            if name in _LOGICAL:
                parts.append(_LOGICAL[name](_queries(inner, reader)))
            elif name == "$comment":
                continue
            elif name.startswith("$"):
                reader.unknown("operator", name, _LOGICAL)
            else:
                parts.append(reader.note_member(_of_field(name, inner, reader), inner))
    return all_of(parts)


def _queries(inner: Json, reader: Reader) -> list[Expression]:
    found = []
    for place, query in enumerate(reader.items(inner, "a list of queries")):
        with reader.at(place):
            if not isinstance(query, Mapping):
                reader.fail(f"a query is an object, not {shown(query)}")
            found.append(_of_query(query, reader))
    return found


_LOGICAL: Final[dict[str, Callable[[list[Expression]], Expression]]] = {
    "$and": all_of,
    "$or": any_of,
    "$nor": lambda parts: not_true(any_of(parts)),
}


# ---- one field


def _of_field(name: str, inner: Json, reader: Reader) -> Expression:
    path = name.split(".")
    if not all(path):
        reader.fail(f"{shown(name)} has an empty part")
    if any(part.isdigit() for part in path):
        reader.refuse("a number in a path")
    return _of_value(path, inner, reader)


def _of_value(path: Sequence[str], inner: Json, reader: Reader) -> Expression:
    """The condition that a value of a query, or the operators in its place, say of a path."""
    if not _has_operators(inner, reader):
        return _equal(path, inner, reader)
    parts = []
    for name, argument in inner.items():
        with reader.at(name):
            if name == "$options":
                if "$regex" not in inner:
                    reader.fail("$options needs $regex")
            elif name == "$regex":
                parts.append(_regex(path, argument, inner.get("$options", ""), reader))
            elif name in _OPERATORS:
                parts.append(_OPERATORS[name](path, argument, reader))
            else:
                reader.unknown("operator", name, _OPERATORS)
    return all_of(parts)


def _has_operators(inner: Json, reader: Reader) -> bool:
    if not isinstance(inner, Mapping) or not any(name.startswith("$") for name in inner) or "$date" in inner:
        return False
    for name in ("$oid", "$numberDecimal"):
        if name in inner:
            reader.refuse(name)
    if not all(name.startswith("$") for name in inner):
        reader.fail(f"operators and fields are mixed: {shown(inner)}")
    return True


def _constant(value: Json, reader: Reader) -> Constant:
    """A value that elements are compared with: a scalar, or one in extended JSON."""
    if isinstance(value, Mapping):
        if len(value) == 1:
            ((name, inner),) = value.items()
            if name == "$date":
                return _date(inner, reader)
            if name in reader.dialect.refused:
                reader.refuse(name)
        reader.refuse("an object as a value")
    if isinstance(value, list):
        reader.refuse("a list as a value")
    return reader.constant(value)


_FIRST_MS: Final = -62_135_596_800_000
_LAST_MS: Final = 253_402_300_799_999
"""The first and the last millisecond of the years 1 to 9999."""


def _date(value: Json, reader: Reader) -> Constant:
    """An instant: a text, or milliseconds since 1970."""
    if isinstance(value, str):
        return cast(Constant, reader.made(lambda: rules.timestamp(reader.string(value, "$date"))))
    milliseconds = reader.number(value, "$date")
    if not _FIRST_MS <= milliseconds <= _LAST_MS:
        reader.fail(f"{shown(value)} milliseconds are out of the range of dates")
    return Constant(Instant(round(milliseconds * 1000)))


def _number_in(text: Json, reader: Reader) -> Constant:
    try:
        return reader.constant(float(text) if "." in str(text) or "e" in str(text).lower() else int(text))
    except (TypeError, ValueError):
        reader.fail(f"{shown(text)} is not a number")


def _equal(path: Sequence[str], value: Json, reader: Reader) -> Expression:
    return _among(path, [value], reader)


def _among(path: Sequence[str], values: Sequence[Json], reader: Reader) -> Expression:
    """Whether a value is one of some; null is also what is absent."""
    constants: list[Constant] = []
    parts: list[Expression] = []
    for value in values:
        if value is not None:
            constants.append(_constant(value, reader))
        elif len(path) > 1:
            reader.refuse("null in a nested path")
        elif not path:
            parts.append(is_given_null())
        elif not parts:
            parts += [Not(_exists(path, reader)), reader.some(path, is_given_null())]
    if constants:
        parts.insert(0, reader.some(path, equal(constants)))
    return any_of(parts)


def _exists(path: Sequence[str], reader: Reader) -> Expression:
    """Whether there is a value, or null, under a path."""
    if not path:
        return Constant(True)
    given: Expression = call("GIVEN", Attribute(path[-1]))
    return reader.some(path[:-1], given)


# ---- operators


def _compare(op: ComparisonOperator) -> Callable[[Sequence[str], Json, Reader], Expression]:
    def read(path: Sequence[str], value: Json, reader: Reader) -> Expression:
        if value is None:
            if op in ("<=", ">="):
                return _equal(path, None, reader)
            return Constant(False)
        return reader.some(path, compared(VALUE, op, _constant(value, reader)))

    return read


def _in(path: Sequence[str], values: Json, reader: Reader) -> Expression:
    if not isinstance(values, list):
        reader.fail(f"$in and $nin need a list, not {shown(values)}")
    return _among(path, values, reader)


def _regex(path: Sequence[str], pattern: Json, options: Json, reader: Reader) -> Expression:
    text = re2_of(reader.string(pattern, "$regex"), reader.string(options, "$options"), reader)
    return reader.some(path, reader.made(lambda: call("MATCHES", VALUE, Constant(text))))


def _not(path: Sequence[str], inner: Json, reader: Reader) -> Expression:
    if not _has_operators(inner, reader):
        reader.fail(f"$not needs operators, not {shown(inner)}")
    return not_true(_of_value(path, inner, reader))


def _exists_or_not(path: Sequence[str], wanted: Json, reader: Reader) -> Expression:
    found = _exists(path, reader)
    return found if bool(wanted) else Not(found)


def _is_list(path: Sequence[str]) -> Expression:
    return Not(IsNull(AnyElement(_last(path), Constant(True))))


def _last(path: Sequence[str]) -> Attribute:
    """The attribute at the end of a path; the element itself, if the path is empty."""
    return Attribute(path[-1]) if path else VALUE


def _type(path: Sequence[str], kinds: Json, reader: Reader) -> Expression:
    parts = []
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        if not isinstance(kind, str | int | float) or isinstance(kind, bool):
            reader.fail(f"$type needs the name or the number of a type, or a list of these, not {shown(kind)}")
        if kind in ("array", 4):
            parts.append(reader.some(path[:-1], _is_list(path)))
        elif kind in _TYPES:
            parts.append(reader.some(path, _TYPES[kind]))
        else:
            reader.refuse(f"$type {shown(kind)}", "events have strings, numbers, booleans, null and arrays")
    return any_of(parts)


def _mod(path: Sequence[str], argument: Json, reader: Reader) -> Expression:
    if not isinstance(argument, list) or len(argument) != 2:
        reader.fail("$mod needs a list of a divisor and a remainder")
    divisor, remainder = (Constant(float(math.trunc(reader.number(one, "$mod")))) for one in argument)
    if divisor.value == 0:
        reader.fail("the divisor of $mod cannot be 0")
    whole = Arithmetic("DIV", VALUE, Constant(1.0))
    return reader.some(path, Comparison("=", Arithmetic("%", whole, divisor), remainder))


def _size(path: Sequence[str], size: Json, reader: Reader) -> Expression:
    count = Constant(reader.number(size, "$size"))
    length = call("LENGTH", _last(path))
    return reader.some(path[:-1], all_of([_is_list(path), Comparison("=", length, count)]))


def _all(path: Sequence[str], values: Json, reader: Reader) -> Expression:
    if not isinstance(values, list):
        reader.fail(f"$all needs a list, not {shown(values)}")
    parts = []
    for place, value in enumerate(values):
        with reader.at(place):
            matches = isinstance(value, Mapping) and list(value) == ["$elemMatch"]
            parts.append(_elem_match(path, value["$elemMatch"], reader) if matches else _equal(path, value, reader))
    return all_of(parts) if parts else Constant(False)


def _elem_match(path: Sequence[str], inner: Json, reader: Reader) -> Expression:
    """Whether one element of a list satisfies a query of its fields, or operators on itself."""
    members = reader.members(inner, "$elemMatch")
    first = next(iter(members))
    if first.startswith("$") and first not in _LOGICAL:
        condition = _of_value([], members, reader)
    else:
        condition = all_of([_IS_OBJECT, _of_query(members, reader)])
    found = AnyElement(_last(path), condition)
    return reader.some(path[:-1], found) if path[:-1] else call("HOLDS", found)


_IS_OBJECT: Final = any_of([all_of([IsNull(VALUE), Not(call("GIVEN", VALUE))]), _is_list([])])
"""Whether an element is an object. A list counts, since it is an object with numbers for names in MongoDB."""


_TYPES: Final[dict[object, Expression]] = {
    **dict.fromkeys(("string", 2), IS_STRING),
    "number": IS_NUMBER,
    **dict.fromkeys(("bool", 8), IS_BOOLEAN),
    **dict.fromkeys(("null", 10), is_given_null()),
}
_OPERATORS: Final[dict[str, Callable[[Sequence[str], Json, Reader], Expression]]] = {
    **{name: _compare(op) for name, op in _COMPARISONS.items()},
    "$eq": _equal,
    "$ne": lambda path, value, reader: not_true(_equal(path, value, reader)),
    "$in": _in,
    "$nin": lambda path, values, reader: not_true(_in(path, values, reader)),
    "$not": _not,
    "$exists": _exists_or_not,
    "$type": _type,
    "$mod": _mod,
    "$size": _size,
    "$all": _all,
    "$elemMatch": _elem_match,
    "$geoWithin": geo_within,
}
