"""Queries on the values of a field: equality, ranges, patterns, presence."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from tocsin.language.dialects.dialect import (
    VALUE,
    Json,
    Reader,
    Wild,
    all_of,
    any_of,
    call,
    compared,
    equal,
    equal_ignoring_case,
    like,
    like_ignoring_case,
    wild_parts,
)
from tocsin.language.dialects.elasticsearch.dates import as_bound, date_form
from tocsin.language.dialects.elasticsearch.reading import Fields, field_of, members_of
from tocsin.language.dialects.regexes import letter_of_re2, re2_of_lucene
from tocsin.language.operators.network import address_key
from tocsin.model.expression import ComparisonOperator, Constant, Expression
from tocsin.model.subscription import shown


def _term(inner: Json, reader: Reader, fields: Fields) -> Expression:
    field, given = field_of(inner, reader, "value", ("case_insensitive",))
    with reader.at(field):
        value = reader.constant(given["value"])
        if given.get("case_insensitive") is True and isinstance(value.value, str):
            condition = _pattern([value.value], given, reader)
        else:
            condition = _equal([value])
        return fields.some(field, condition, reader)


def _equal(values: Sequence[Constant]) -> Expression:
    """Whether `element` is one of some values, or lies in a network that is among them, as in fields of type ip."""
    networks = [network for value in values if (network := network_in(value.value)) is not None]
    return any_of([equal(values), *([call("IP_IN", VALUE, *networks)] if networks else [])])


def network_in(value: object) -> Constant | None:
    """The network that a string writes, or the IPv6 address, which is written in several ways; None for others."""
    if not isinstance(value, str) or not ("/" in value or ":" in value):
        return None
    try:
        return Constant(str(ipaddress.ip_network(value, strict=False)))
    except ValueError:
        return None


def _terms(inner: Json, reader: Reader, fields: Fields) -> Expression:
    if not isinstance(inner, Mapping):
        reader.fail(f"an object with a field is needed, not {shown(inner)}")
    names = [name for name in inner if name not in ("boost", "_name")]
    if len(names) != 1:
        reader.fail(f"one field is needed, not {len(names)}")
    (field,) = names
    with reader.at(field):
        values = inner[field]
        if isinstance(values, Mapping):
            reader.refuse("a lookup of terms", "tocsin has no index of documents to look them up in; write the terms")
        if not isinstance(values, list):
            reader.fail(f"a list is needed, not {shown(values)}")
        if not values:
            return Constant(False)
        return fields.some(field, _equal([reader.constant(value) for value in values]), reader)


def _ids(inner: Json, reader: Reader, fields: Fields) -> Expression:
    values = members_of(inner, reader, ("values", "boost", "_name"), needed="values")["values"]
    texts = [Constant(reader.string(one, "an id")) for one in (values if isinstance(values, list) else [values])]
    return reader.some(["_id"], equal(texts)) if texts else Constant(False)


_BOUNDS: Final[dict[str, ComparisonOperator]] = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_OLD_BOUNDS: Final = ("from", "to", "include_lower", "include_upper")


def _range(inner: Json, reader: Reader, fields: Fields) -> Expression:
    field, given = field_of(inner, reader, (), (*_BOUNDS, *_OLD_BOUNDS, "relation", "format", "time_zone"))
    with reader.at(field):
        form = date_form(given, reader)
        if str(given.get("relation") or "INTERSECTS").upper() != "INTERSECTS":
            reader.refuse(f"the relation {shown(given['relation'])}", "values are not ranges")
        parts, bounds = list[Expression](), list(_bounds_of(given))
        are_addresses = all(isinstance(bound, str) and address_key(bound) is not None for _, _, bound in bounds)
        for name, op, bound in bounds:
            with reader.at(name):
                if are_addresses:
                    parts.append(compared(call("IP", VALUE), op, call("IP", Constant(bound))))
                else:
                    parts.append(as_bound(op, bound, reader, form))
        return fields.some(field, all_of(parts), reader) if parts else fields.has_value(field, reader)


def _bounds_of(given: Mapping[str, Json]) -> Iterator[tuple[str, ComparisonOperator, Json]]:
    """The bounds of a range: `gte` and the like, or `from` and `to`, as clients for Java write them."""
    for name, op in _BOUNDS.items():
        if given.get(name) is not None:
            yield name, op, given[name]
    for name, includes, closed, opened in (("from", "include_lower", ">=", ">"), ("to", "include_upper", "<=", "<")):
        if given.get(name) is not None:
            yield name, closed if given.get(includes, True) is True else opened, given[name]  # type: ignore[misc]


def _prefix(inner: Json, reader: Reader, fields: Fields) -> Expression:
    field, given = field_of(inner, reader, "value", ("case_insensitive", "rewrite"))
    with reader.at(field):
        return fields.some(field, prefix_of(reader.string(given["value"], "prefix"), given, reader), reader)


def prefix_of(text: str, given: Mapping[str, Json], reader: Reader) -> Expression:
    """Whether `element` begins with a text."""
    return _pattern([text, Wild.RUN], given, reader)


def _wildcard(inner: Json, reader: Reader, fields: Fields) -> Expression:
    field, given = field_of(inner, reader, ("value", "wildcard"), ("case_insensitive", "rewrite"))
    with reader.at(field):
        condition = wildcard_of(reader.string(given["value"], "wildcard"), given, reader)
        return fields.some(field, condition, reader) if condition else Constant(False)


def wildcard_of(text: str, given: Mapping[str, Json], reader: Reader) -> Expression | None:
    """Whether `element` fits a wildcard; None for one of no letters.

    Of that, Lucene makes an automaton of no parts, which accepts nothing, not even the empty string.
    """
    parts = wild_parts(text, {"*": Wild.RUN, "?": Wild.ONE})
    if parts is None:
        reader.fail("a wildcard ends in a backslash, which stands before the letter that it makes plain")
    if not parts:
        return None
    plain = [one[1] if isinstance(one, str) and len(one) == 2 else one for one in parts]
    return _pattern(plain, given, reader)


_FROM_OTHERS: Final = ("k", "s", "ff", "fi", "fl")
"""What Unicode's case folding makes of letters beyond ASCII."""


def _pattern(parts: Sequence[str | Wild], given: Mapping[str, Json], reader: Reader) -> Expression:
    """A pattern. `case_insensitive` is about ASCII alone, so a regular expression decides what the folding finds."""
    if given.get("case_insensitive") is not True:
        return like(VALUE, *parts)
    wild = {Wild.RUN: ".*", Wild.ONE: "."}
    pieces = [
        wild[part] if isinstance(part, Wild) else "".join([letter_of_re2(one, ignore_case=True) for one in part])
        for part in parts
    ]
    decides = reader.made(lambda: call("MATCHES", VALUE, Constant(f"(?s)\\A{''.join(pieces)}\\z")))
    if Wild.ONE in parts:  # one letter of a value may be two of the folded value
        return decides
    if Wild.RUN in parts:
        return all_of([like_ignoring_case(VALUE, *parts), decides])
    text = "".join([part for part in parts if isinstance(part, str)])
    folded = equal_ignoring_case(VALUE, [text])
    is_exact = text.isascii() and not any(one in text.casefold() for one in _FROM_OTHERS)
    return folded if is_exact else all_of([folded, decides])


def _regexp(inner: Json, reader: Reader, fields: Fields) -> Expression:
    allowed = ("case_insensitive", "flags", "flags_value", "max_determinized_states", "rewrite")
    field, given = field_of(inner, reader, "value", allowed)
    with reader.at(field):
        return fields.some(field, regexp_of(reader.string(given["value"], "regexp"), given, reader), reader)


def regexp_of(text: str, given: Mapping[str, Json], reader: Reader) -> Expression:
    """Whether the whole `element` fits a regular expression."""
    pattern = Constant(re2_of_lucene(text, reader, ignore_case=given.get("case_insensitive") is True))
    return reader.made(lambda: call("MATCHES", VALUE, pattern))


def _exists(inner: Json, reader: Reader, fields: Fields) -> Expression:
    field = reader.string(members_of(inner, reader, ("field", "boost", "_name"), needed="field")["field"], "field")
    return fields.has_value(field, reader)


TERMS: Final[Mapping[str, Callable[[Json, Reader, Fields], Expression]]] = {
    "term": _term,
    "terms": _terms,
    "ids": _ids,
    "range": _range,
    "prefix": _prefix,
    "wildcard": _wildcard,
    "regexp": _regexp,
    "exists": _exists,
}
