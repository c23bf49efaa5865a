"""The queries, and those that are made of other queries.

A field has several values if its value is a list, or if it lies in objects of a list. A query on a field asks whether
any value satisfies it, and is TRUE or FALSE.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Final

from tocsin.language.dialects.dialect import Dialect, Json, Reader, all_of, any_of, call, not_true
from tocsin.language.dialects.elasticsearch.places import PLACES
from tocsin.language.dialects.elasticsearch.query_strings import query_string
from tocsin.language.dialects.elasticsearch.reading import Fields, at_least, boost_of, least_of, members_of
from tocsin.language.dialects.elasticsearch.simple_query_strings import simple_query_string
from tocsin.language.dialects.elasticsearch.terms import TERMS
from tocsin.language.dialects.elasticsearch.texts import TEXTS
from tocsin.model.expression import Constant, Expression
from tocsin.model.subscription import shown


class Elasticsearch(Dialect):
    name, title = "elasticsearch", "Elasticsearch"
    taken: ClassVar[Mapping[str, str]] = {
        "match_all, match_none": "TRUE, FALSE",
        "term, terms": "a value is equal, or in a network; a number is not a string; case_insensitive for ASCII",
        "range": "gt, gte, lt, lte on numbers, strings, IP addresses and dates; date maths, for now in units "
        "of fixed length; also from, to, time_zone, and format for ISO 8601 and epochs",
        "prefix, wildcard": "LIKE; with case_insensitive, for ASCII, also MATCHES",
        "regexp": "MATCHES of the whole value; without the signs ~ < > & @ # and double quotes outside of classes",
        "exists": "a value is not null, also in objects of a list; an object outside of lists counts, even if empty",
        "ids": "the field _id is one of these",
        "match": "TEXT with keep_accents; operator, minimum_should_match (of the words, repeated ones too); the "
        "parameters of fuzziness, which have no effect without it",
        "match_phrase": "TEXT with a phrase, without slop",
        "multi_match": "an OR of match, or of match_phrase with type phrase",
        "query_string": "Lucene's syntax; each part as the query of its kind: match, match_phrase, range, wildcard, "
        "regexp, exists; fields, default_field, default_operator, minimum_should_match, time_zone, escape",
        "simple_query_string": "its parts likewise; fields, default_operator, minimum_should_match, flags",
        "bool": "must, filter, should with minimum_should_match, must_not, adjust_pure_negative",
        "constant_score, dis_max, boosting": "the query, an OR of the queries, the positive query",
        "nested": "SOME: one object of the list satisfies the query; inner_hits changes nothing",
        "geo_bounding_box": "S_INTERSECTS with a box",
        "geo_distance": "DISTANCE_M",
        "geo_polygon": "S_INTERSECTS with a polygon, which lies on the plane",
        "boost": "of the outermost query: the score of the subscription",
        "name.keyword": "the values of name, as a whole: the sub-field of dynamic mappings; or a member of an object",
        "_name": "the name of a part, which tells which parts matched",
    }
    refused: ClassVar[Mapping[str, str]] = {
        "script": "it is a program",
        "script_score": "it is a program",
        "function_score": "its functions compute a score from the event; rank by a score of the subscription",
        "fuzzy": "tocsin compares words as they are written",
        "match_phrase_prefix": "tocsin compares whole words; write prefix or wildcard",
        "match_bool_prefix": "tocsin compares whole words; write prefix or wildcard",
        "combined_fields": "it weighs words by statistics of an index",
        "intervals": "tocsin has phrases, and no distances of words",
        "span_near": "tocsin has phrases, and no distances of words",
        **dict.fromkeys(
            (
                *("span_term", "span_first", "span_or", "span_not", "span_containing", "span_within", "span_multi"),
                "field_masking_span",
            ),
            "write match or match_phrase",
        ),
        "more_like_this": "it asks statistics of an index",
        "percolate": "a subscription does not ask other subscriptions",
        "knn": "tocsin has no vectors; Relaxed ranks by the weights of conditions",
        "rank_feature": "it computes a score from the event",
        "distance_feature": "it computes a score from the event",
        **dict.fromkeys(("semantic", "sparse_vector", "text_expansion"), "it asks a model"),
        **dict.fromkeys(("pinned", "rule"), "it changes the order of a search; write the query that it wraps"),
        "wrapper": "decode the query, which is in base64",
        "shape": "its shapes lie on a plane without degrees; write S_INTERSECTS in CQL2",
        "geo_grid": "tocsin has no cells of grids; write geo_bounding_box",
        "geo_shape": "its shapes lie on the sphere; write S_INTERSECTS in CQL2",
        "has_child": "events have no children",
        "has_parent": "events have no parents",
        "parent_id": "events have no parents",
        "terms_set": "the number of terms is taken from the event; write bool with minimum_should_match",
        "type": "events have no types",
        "analyzer": "tocsin makes words in one way; see TEXT",
        "fuzziness": "tocsin compares words as they are written",
        "minimum_should_match with the operator and": "no word is optional; leave one of the two out",
        "emoji in texts": "symbols are not words here",
        "slop": "tocsin has phrases, and no distances of words",
        "phrase_slop": "tocsin has phrases, and no distances of words",
        "quote_analyzer": "tocsin makes words in one way; see TEXT",
        "quote_field_suffix": "write the name of the field before each phrase",
    }

    def read(self, rule: Json, reader: Reader) -> Expression:
        query = rule["query"] if isinstance(rule, Mapping) and list(rule) == ["query"] else rule
        reader.score = boost_of(query)
        return read_query(query, reader, Fields())


def read_query(query: Json, reader: Reader, fields: Fields) -> Expression:
    """The condition of one query: an object with the kind of the query as its only name."""
    if not isinstance(query, Mapping) or len(query) != 1:
        reader.fail(f"a query is an object with the kind of the query as its only name, not {shown(query)}")
    ((kind, inner),) = query.items()
    with reader.at(kind):
        read = _KINDS.get(kind)
        if read is None:
            reader.unknown("query", kind, _KINDS)
        condition = read(inner, reader, fields)
        if kind not in _OF_QUERIES:
            reader.note_member(condition, inner)
        name = _name_in(inner)
        if name is None:
            return condition
        if fields.below:
            reader.refuse("_name in a nested query", "name the nested query")
        return reader.made(lambda: call("NAMED", Constant(reader.string(name, "_name")), condition))


def _name_in(inner: Json) -> Json:
    """The `_name` of a query, which stands in it or beside the parameters of its field."""
    if not isinstance(inner, Mapping):
        return None
    beside = [one["_name"] for one in inner.values() if isinstance(one, Mapping) and "_name" in one]
    return inner.get("_name", beside[0] if len(inner) == 1 and beside else None)


def _several(queries: Json, reader: Reader, fields: Fields) -> list[Expression]:
    """The conditions of one query, or of a list of queries."""
    if not isinstance(queries, list):
        return [read_query(queries, reader, fields)]
    found = []
    for place, query in enumerate(queries):
        with reader.at(place):
            found.append(read_query(query, reader, fields))
    return found


# ---- queries that are made of queries


def _bool(inner: Json, reader: Reader, fields: Fields) -> Expression:
    members = members_of(
        inner,
        reader,
        ("must", "filter", "should", "must_not", "minimum_should_match", "adjust_pure_negative", "boost", "_name"),
    )
    parts: dict[str, list[Expression]] = {}
    for name in ("must", "filter", "should", "must_not"):
        if name in members:
            with reader.at(name):
                parts[name] = _several(members[name], reader, fields)
    needed = [*parts.get("must", []), *parts.get("filter", [])]
    should = parts.get("should", [])
    excluded = [not_true(one) for one in parts.get("must_not", [])]
    if not needed and not should and not excluded:
        return Constant(True)
    if members.get("adjust_pure_negative", True) is False and not needed and not should:
        return Constant(False)
    least = least_of(members.get("minimum_should_match") or 0, len(should), reader)
    if should and not needed:
        least = max(1, least)
    if least > 0:
        needed.append(at_least(least, should))
    return all_of([*needed, *excluded])


def _constant_score(inner: Json, reader: Reader, fields: Fields) -> Expression:
    members = members_of(inner, reader, ("filter", "boost", "_name"), needed="filter")
    with reader.at("filter"):
        return read_query(members["filter"], reader, fields)


def _dis_max(inner: Json, reader: Reader, fields: Fields) -> Expression:
    members = members_of(inner, reader, ("queries", "tie_breaker", "boost", "_name"), needed="queries")
    with reader.at("queries"):
        return any_of(_several(members["queries"], reader, fields))


def _boosting(inner: Json, reader: Reader, fields: Fields) -> Expression:
    allowed = ("positive", "negative", "negative_boost", "boost", "_name")
    members = members_of(inner, reader, allowed, needed="positive")
    with reader.at("positive"):
        return read_query(members["positive"], reader, fields)


def _nested(inner: Json, reader: Reader, fields: Fields) -> Expression:
    allowed = ("path", "query", "score_mode", "ignore_unmapped", "inner_hits", "boost", "_name")
    members = members_of(inner, reader, allowed, needed="path")
    path = fields.path_of(reader.string(members["path"], "path"), reader)
    with reader.at("query"):
        condition = read_query(members.get("query"), reader, fields.within(members["path"]))
    return reader.some(path, condition)


def _match_all(inner: Json, reader: Reader, fields: Fields) -> Expression:
    members_of(inner, reader, ("boost", "_name"))
    return Constant(True)


def _match_none(inner: Json, reader: Reader, fields: Fields) -> Expression:
    members_of(inner, reader, ("boost", "_name"))
    return Constant(False)


Read = Callable[[Json, Reader, Fields], Expression]
_OF_QUERIES: Final[Mapping[str, Read]] = {
    "bool": _bool,
    "constant_score": _constant_score,
    "dis_max": _dis_max,
    "boosting": _boosting,
    "nested": _nested,
}
_KINDS: Final[Mapping[str, Read]] = {
    "match_all": _match_all,
    "match_none": _match_none,
    **_OF_QUERIES,
    **TERMS,
    **TEXTS,
    **PLACES,
    "query_string": query_string,
    "simple_query_string": simple_query_string,
}
