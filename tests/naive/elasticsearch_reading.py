"""Does a document match a query of Elasticsearch? A naive reading of its manual, without tocsin's language.

There is no mapping, so the type of a value is its JSON type: strings are keywords to term-level queries and texts to
`match`, and strings that are dates are dates to a range with a date as bound. `dates`, `places` and `patterns` are in
`elasticsearch_values`. What is not read raises `NotRead`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from tests.naive.elasticsearch_values import (
    Box,
    NotRead,
    distance_m,
    instant,
    lucene_regexp,
    metres,
    place,
    within,
    within_box,
)
from tests.naive.flatten import raw, scalars_at

Query = Mapping[str, Any]
Document = Mapping[str, Any]

_DATE: Final = re.compile(r"\d{4}-\d\d")
_WORD: Final = re.compile(r"[A-Za-z0-9]+")


def matches(query: Query, document: Document) -> bool:
    """Whether a document matches a query: one of a dictionary with one member, the type of the query."""
    ((kind, body),) = query.items()
    return _KINDS[kind](body, document)


# Values


def at(document: Document, field: str) -> list[Any]:
    return list(raw(document, tuple(field.split("."))))


def strings(document: Document, field: str) -> list[str]:
    return [value for value in scalars_at(document, field) if isinstance(value, str)]


def _kind(value: object) -> type:
    return float if isinstance(value, int | float) and not isinstance(value, bool) else type(value)


def _ascii_lower(text: str) -> str:
    """`case_insensitive` is about ASCII alone."""
    return re.sub("[A-Z]+", lambda found: found[0].lower(), text)


# Queries about the values of a field


def _one(body: Query, *shorthand: str) -> tuple[str, dict[str, Any]]:
    """The field of a query and its parameters; a scalar stands for the first of `shorthand`."""
    ((field, rest),) = ((name, rest) for name, rest in body.items() if name not in ("boost", "_name"))
    parameters = dict(rest) if isinstance(rest, Mapping) else {shorthand[0]: rest}
    for other in shorthand[1:]:
        if other in parameters:
            parameters[shorthand[0]] = parameters.pop(other)
    return field, parameters


def _equal(wanted: object, value: object) -> bool:
    return _kind(wanted) is _kind(value) and wanted == value


def _term(body: Query, document: Document) -> bool:
    field, parameters = _one(body, "value")
    wanted = parameters["value"]
    if parameters.get("case_insensitive") and isinstance(wanted, str):
        return any(_ascii_lower(value) == _ascii_lower(wanted) for value in strings(document, field))
    return any(_equal(wanted, value) for value in scalars_at(document, field))


def _terms(body: Query, document: Document) -> bool:
    field, parameters = _one(body, "values")
    return any(_equal(wanted, value) for wanted in parameters["values"] for value in scalars_at(document, field))


def _text_test(
    make: Callable[[str, bool], Callable[[str], bool]], *shorthand: str
) -> Callable[[Query, Document], bool]:
    def holds(body: Query, document: Document) -> bool:
        field, parameters = _one(body, *shorthand)
        test = make(parameters[shorthand[0]], bool(parameters.get("case_insensitive")))
        return any(test(value) for value in strings(document, field))

    return holds


def _prefix(wanted: str, fold: bool) -> Callable[[str], bool]:
    change = _ascii_lower if fold else str
    return lambda value: change(value).startswith(change(wanted))


def _wildcard(wanted: str, fold: bool) -> Callable[[str], bool]:
    """`*` and `?`, and a backslash before what is meant as it is. In Lucene, a wildcard of no letters finds nothing."""
    if not wanted:
        return lambda _: False
    change = _ascii_lower if fold else str
    pieces = re.findall(r"\\.|\\$|[*?]|[^*?\\]+", change(wanted), re.DOTALL)
    signs = {"*": ".*", "?": ".", "\\": r"\\"}
    compiled = re.compile("".join(signs.get(one) or re.escape(one.removeprefix("\\")) for one in pieces), re.DOTALL)
    return lambda value: compiled.fullmatch(change(value)) is not None


def _regexp(wanted: str, fold: bool) -> Callable[[str], bool]:
    compiled = re.compile(lucene_regexp(wanted), re.DOTALL | re.ASCII | (re.IGNORECASE if fold else re.NOFLAG))
    return lambda value: compiled.fullmatch(value) is not None


def _exists(body: Query, document: Document) -> bool:
    def there(value: object) -> bool:
        if isinstance(value, Mapping):
            return any(map(there, value.values()))
        return any(map(there, value)) if isinstance(value, list) else value is not None

    return any(there(value) for value in at(document, body["field"]))


def _ids(body: Query, document: Document) -> bool:
    return any(_equal(wanted, value) for wanted in body["values"] for value in scalars_at(document, "_id"))


def _range(body: Query, document: Document) -> bool:
    field, parameters = _one(body, "")
    bounds = {name: parameters[name] for name in ("gt", "gte", "lt", "lte") if parameters.get(name) is not None}
    dates = {is_date(bound) for bound in bounds.values()}
    if len(dates) > 1:
        raise NotRead("one bound is a date, the other is not")
    found = scalars_at(document, field)
    if True in dates:
        zone = parameters.get("time_zone")
        bounds = {name: instant(bound, name in ("gt", "lte"), zone) for name, bound in bounds.items()}
        found = [instant(value, False, None) for value in found if is_date(value)]
    return any(all(_within(name, value, bound) for name, bound in bounds.items()) for value in found)


def is_date(value: object) -> bool:
    return isinstance(value, str) and _DATE.match(value) is not None


def _within(name: str, value: Any, bound: Any) -> bool:
    if value is None or _kind(value) is not _kind(bound):
        return False
    if name in ("gt", "gte"):
        return bool(value > bound or (name == "gte" and value == bound))
    return bool(value < bound or (name == "lte" and value == bound))


# Queries about words


def words(text: str) -> list[str]:
    """As the standard analyzer makes them of ASCII, where no sign lies between two letters or digits but a space."""
    return [word.lower() for word in _WORD.findall(text)]


def _match(body: Query, document: Document) -> bool:
    """A clause for each word of the query, required ones with `and`; one word is no clause, and is not counted."""
    field, parameters = _one(body, "query")
    wanted = parameters["query"]
    if not isinstance(wanted, str):
        return _term({field: wanted}, document)
    terms = words(wanted)
    if not terms:
        return parameters.get("zero_terms_query", "none").lower() == "all"
    present = {word for value in strings(document, field) for word in words(value)}
    least = parameters.get("minimum_should_match", 0)
    if len(terms) == 1:
        return terms[0] in present
    if parameters.get("operator", "or").lower() == "and":
        if "minimum_should_match" in parameters:
            raise NotRead("no clause is optional: the manual and the program differ")
        return present.issuperset(terms)
    return sum(term in present for term in terms) >= max(1, needed(len(terms), least))


def _match_phrase(body: Query, document: Document) -> bool:
    field, parameters = _one(body, "query")
    terms = words(parameters["query"])
    if not terms:
        return parameters.get("zero_terms_query", "none").lower() == "all"
    return any(
        found[start : start + len(terms)] == terms
        for found in map(words, strings(document, field))
        for start in range(len(found))
    )


def _multi_match(body: Query, document: Document) -> bool:
    kind = body.get("type", "best_fields")
    if kind not in ("best_fields", "most_fields", "phrase"):
        raise NotRead(kind)
    inner = "match_phrase" if kind == "phrase" else "match"
    kept = {name: body[name] for name in ("query", "operator", "minimum_should_match") if name in body}
    return any(matches({inner: {field.partition("^")[0]: kept}}, document) for field in body["fields"])


# Queries of queries


def needed(clauses: int, wanted: int | str) -> int:
    """How many of the optional clauses must match: `minimum_should_match`. It may be more than there are."""
    text = str(wanted).strip()
    if "<" in text:
        result = clauses
        for piece in re.sub(r"\s*<\s*", "<", text).split():
            bound, inner = piece.split("<")
            if clauses <= int(bound):
                break
            result = needed(clauses, inner)
        return result
    sign = -1 if text.startswith("-") else 1
    count = clauses * abs(int(text[:-1])) // 100 if text.endswith("%") else abs(int(text))
    return max(0, count if sign > 0 else clauses - count)


def _several(body: Query, name: str) -> list[Query]:
    inner = body.get(name, [])
    return [inner] if isinstance(inner, Mapping) else list(inner)


def _bool(body: Query, document: Document) -> bool:
    must = _several(body, "must") + _several(body, "filter")
    should, must_not = _several(body, "should"), _several(body, "must_not")
    if not must + should + must_not:
        return True
    least = needed(len(should), body.get("minimum_should_match", 0))
    if should and not must:
        least = max(least, 1)
    return (
        all(matches(query, document) for query in must)
        and not any(matches(query, document) for query in must_not)
        and sum(matches(query, document) for query in should) >= least
    )


def _nested(body: Query, document: Document) -> bool:
    """Each object at the path is a document of its own, with no field but its own, under their whole paths."""

    def objects(value: object) -> Iterator[Document]:
        if isinstance(value, list):
            for inner in value:
                yield from objects(inner)
        elif isinstance(value, Mapping):
            yield {body["path"]: value}

    return any(matches(body["query"], inner) for value in at(document, body["path"]) for inner in objects(value))


# Queries about places


def _places(document: Document, field: str) -> list[tuple[float, float]]:
    return [found for found in map(place, at(document, field)) if found is not None]


def _geo(body: Query, *own: str) -> tuple[str, Any]:
    other = (*own, "boost", "_name", "validation_method", "ignore_unmapped", "distance_type")
    ((field, shape),) = ((name, shape) for name, shape in body.items() if name not in other)
    return field, shape


def _geo_distance(body: Query, document: Document) -> bool:
    field, centre = _geo(body, "distance", "unit")
    middle, radius = place(centre), metres(body["distance"], body.get("unit", "m"))
    assert middle is not None
    return any(distance_m(middle, found) <= radius for found in _places(document, field))


def _geo_bounding_box(body: Query, document: Document) -> bool:
    field, shape = _geo(body, "type")
    box = Box.of(shape)
    return any(within_box(found, box) for found in _places(document, field))


def _geo_polygon(body: Query, document: Document) -> bool:
    field, shape = _geo(body)
    corners = [corner for corner in map(place, shape["points"]) if corner is not None]
    return any(within(found, corners) for found in _places(document, field))


_KINDS: Final[dict[str, Callable[[Query, Document], bool]]] = {
    "match_all": lambda body, document: True,
    "match_none": lambda body, document: False,
    "term": _term,
    "terms": _terms,
    "range": _range,
    "prefix": _text_test(_prefix, "value"),
    "wildcard": _text_test(_wildcard, "value", "wildcard"),
    "regexp": _text_test(_regexp, "value"),
    "exists": _exists,
    "ids": _ids,
    "match": _match,
    "match_phrase": _match_phrase,
    "multi_match": _multi_match,
    "bool": _bool,
    "constant_score": lambda body, document: matches(body["filter"], document),
    "dis_max": lambda body, document: any(matches(query, document) for query in _several(body, "queries")),
    "boosting": lambda body, document: matches(body["positive"], document),
    "nested": _nested,
    "geo_distance": _geo_distance,
    "geo_bounding_box": _geo_bounding_box,
    "geo_polygon": _geo_polygon,
}
