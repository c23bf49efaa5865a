"""Queries of Elasticsearch run by Lucene, the engine below it: another implementation, by other people.

Lucene has no objects, no dates and no mapping. Each value becomes a Lucene field named for its type and its path. A
query becomes the Lucene query that Elasticsearch makes of it for a field of that type. Python speaks to Lucene through
the gateway that PySpark ships. Debian's package `liblucene8-java` has Lucene.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError

from tests.naive.elasticsearch_reading import is_date, needed
from tests.naive.elasticsearch_values import Box, metres, place
from tocsin.spark.java import find_java

FOLDER: Final = Path("/usr/share/java")
_GAP: Final = " zzgapzz "
"""Between the texts of a field, so that no phrase goes from one to the next."""


class NotInLucene(Exception):
    """This translation has no such query."""


def jars() -> list[Path]:
    names = ("core", "analyzers-common", "queryparser", "queries", "sandbox")
    return [path for name in names for path in sorted(FOLDER.glob(f"lucene-{name}-8*.jar"))[:1]]


class Lucene:
    """A Java process with Lucene, for any number of indexes."""

    def __init__(self) -> None:
        py4j = next((Path(pyspark.__file__).parent / "jars").glob("py4j-*.jar"))
        port, token = launch_gateway(
            classpath=":".join(map(str, [*jars(), py4j])),
            jarpath=str(py4j),
            java_path=str(find_java().home / "bin" / "java"),
            javaopts=["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m"],
            die_on_exit=True,
            enable_auth=True,
            return_proc=False,
        )
        self._gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token, auto_field=True))
        self._lucene = self._gateway.jvm.org.apache.lucene

    def close(self) -> None:
        self._gateway.shutdown()

    def index(self, documents: Iterable[Mapping[str, Any]]) -> Index:
        return Index(self._gateway, documents)


class Index:
    """Documents in memory, and which of them a query matches."""

    def __init__(self, gateway: JavaGateway, documents: Iterable[Mapping[str, Any]]) -> None:
        self._gateway = gateway
        self._lucene = gateway.jvm.org.apache.lucene
        self._analyzer = self._lucene.analysis.standard.StandardAnalyzer()
        directory = self._lucene.store.ByteBuffersDirectory()
        writer = self._lucene.index.IndexWriter(directory, self._lucene.index.IndexWriterConfig(self._analyzer))
        for number, document in enumerate(documents):
            writer.addDocument(self._document(number, document))
        writer.close()
        self._reader = self._lucene.index.DirectoryReader.open(directory)
        self._searcher = self._lucene.search.IndexSearcher(self._reader)

    def matching(self, query: Mapping[str, Any]) -> set[int]:
        return self._found(self._query(query))

    def matching_string(self, text: str, operator: str, least: int | str | None, *, is_simple: bool) -> set[int] | None:
        """The documents that a query string matches, with words of the field `title`. None if Lucene rejects it."""
        parse = self._simple if is_simple else self._classic
        try:
            made = parse(text, operator)
        except Py4JJavaError as error:
            if not any(kind in str(error.java_exception) for kind in ("ParseException", "IllegalArgument")):
                raise
            return None
        return self._found(self._at_least(self._excluding(made), least)) if made is not None else set()

    def _classic(self, text: str, operator: str) -> Any:
        parser = self._lucene.queryparser.classic.QueryParser("text:title", self._analyzer)
        parser.setAllowLeadingWildcard(True)
        parser.setDefaultOperator(getattr(parser, f"{operator}_OPERATOR"))
        return parser.parse(text)

    def _simple(self, text: str, operator: str) -> Any:
        parser = self._lucene.queryparser.simple.SimpleQueryParser(self._analyzer, "text:title")
        occur = self._lucene.search.BooleanClause.Occur
        parser.setDefaultOperator(occur.MUST if operator == "AND" else occur.SHOULD)
        return parser.parse(text)

    def _excluding(self, made: Any) -> Any:
        """The query, in which a query that only excludes matches all others, as Elasticsearch makes it."""
        if made.getClass().getSimpleName() == "BoostQuery":
            return self._excluding(made.getQuery())
        if made.getClass().getSimpleName() != "BooleanQuery":
            return made
        builder, clauses = self._lucene.search.BooleanQuery.Builder(), list(made.clauses())
        for clause in clauses:
            builder.add(self._excluding(clause.getQuery()), clause.getOccur())
        if clauses and all(clause.isProhibited() for clause in clauses):
            builder.add(self._match_all(None), self._lucene.search.BooleanClause.Occur.MUST)
        return builder.build()

    def _found(self, query: Any) -> set[int]:
        found = self._searcher.search(query, 10_000).scoreDocs
        return {int(self._searcher.doc(one.doc).get("number")) for one in found}

    # Documents

    def _document(self, number: int, document: Mapping[str, Any]) -> Any:
        fields, stored = self._lucene.document, self._lucene.document.Field.Store
        made = fields.Document()
        made.add(fields.StoredField("number", str(number)))
        texts: dict[str, list[str]] = {}
        for path, value in _leaves(document, ()):
            names = path.split(".")
            for end in range(1, len(names) + 1):
                made.add(fields.StringField("exists", ".".join(names[:end]), stored.NO))
            if isinstance(value, bool):
                made.add(fields.StringField(f"flag:{path}", str(value), stored.NO))
            elif isinstance(value, str):
                made.add(fields.StringField(f"keyword:{path}", value, stored.NO))
                texts.setdefault(path, []).append(value)
            else:
                made.add(
                    self._gateway.jvm.org.apache.lucene.document.DoublePoint(f"number:{path}", self._doubles(value))
                )
        for path, found in texts.items():
            made.add(fields.TextField(f"text:{path}", _GAP.join(found), stored.NO))
        if (at := place(document.get("place"))) is not None:
            made.add(fields.LatLonPoint("place", at[1], at[0]))
        return made

    def _doubles(self, *numbers: float) -> Any:
        made = self._gateway.new_array(self._gateway.jvm.double, len(numbers))
        for index, number in enumerate(numbers):
            made[index] = float(number)
        return made

    # Queries

    def _query(self, query: Mapping[str, Any]) -> Any:
        ((kind, body),) = query.items()
        make = getattr(self, f"_{kind}", None)
        if make is None:
            raise NotInLucene(kind)
        return make(body)

    def _match_all(self, body: Any) -> Any:
        return self._lucene.search.MatchAllDocsQuery()

    def _match_none(self, body: Any) -> Any:
        return self._lucene.search.MatchNoDocsQuery()

    def _term(self, body: Any) -> Any:
        field, parameters = _one(body, "value")
        if parameters.get("case_insensitive"):
            raise NotInLucene("case_insensitive")
        return self._equal(field, parameters["value"])

    def _terms(self, body: Any) -> Any:
        ((field, wanted),) = body.items()
        return self._any([self._equal(field, value) for value in wanted])

    def _equal(self, field: str, value: Any) -> Any:
        if isinstance(value, bool):
            return self._exact(f"flag:{field}", str(value))
        if isinstance(value, str):
            return self._exact(f"keyword:{field}", value)
        return self._lucene.document.DoublePoint.newExactQuery(f"number:{field}", float(value))

    def _exact(self, field: str, text: str) -> Any:
        return self._lucene.search.TermQuery(self._lucene.index.Term(field, text))

    def _any(self, queries: list[Any]) -> Any:
        builder = self._lucene.search.BooleanQuery.Builder()
        for query in queries:
            builder.add(query, self._lucene.search.BooleanClause.Occur.SHOULD)
        return builder.build()

    def _range(self, body: Any) -> Any:
        field, parameters = _one(body, "")
        low = next((parameters[name] for name in ("gt", "gte") if name in parameters), None)
        high = next((parameters[name] for name in ("lt", "lte") if name in parameters), None)
        if isinstance(low if low is not None else high, str):
            if any(is_date(bound) for bound in (low, high)):
                raise NotInLucene("dates")
            make = self._lucene.search.TermRangeQuery.newStringRange
            return make(f"keyword:{field}", low, high, "gt" not in parameters, "lt" not in parameters)
        low = -math.inf if low is None else math.nextafter(low, math.inf) if "gt" in parameters else float(low)
        high = math.inf if high is None else math.nextafter(high, -math.inf) if "lt" in parameters else float(high)
        if low > high:
            return self._match_none(None)
        return self._lucene.document.DoublePoint.newRangeQuery(f"number:{field}", low, high)

    def _patterned(self, body: Any, kind: str) -> Any:
        field, parameters = _one(body, "value")
        if parameters.get("case_insensitive"):
            raise NotInLucene("case_insensitive")
        return getattr(self._lucene.search, kind)(self._lucene.index.Term(f"keyword:{field}", parameters["value"]))

    def _prefix(self, body: Any) -> Any:
        return self._patterned(body, "PrefixQuery")

    def _wildcard(self, body: Any) -> Any:
        return self._patterned(body, "WildcardQuery")

    def _regexp(self, body: Any) -> Any:
        return self._patterned(body, "RegexpQuery")

    def _exists(self, body: Any) -> Any:
        return self._exact("exists", body["field"])

    def _ids(self, body: Any) -> Any:
        return self._any([self._equal("_id", value) for value in body["values"]])

    def _match(self, body: Any) -> Any:
        field, parameters = _one(body, "query")
        if not isinstance(parameters["query"], str):
            return self._equal(field, parameters["query"])
        occur = self._lucene.search.BooleanClause.Occur
        wanted = occur.MUST if parameters.get("operator", "or").lower() == "and" else occur.SHOULD
        builder = self._lucene.util.QueryBuilder(self._analyzer)
        found = builder.createBooleanQuery(f"text:{field}", parameters["query"], wanted)
        return self._at_least(self._or_zero(found, parameters), parameters.get("minimum_should_match"))

    def _or_zero(self, found: Any, parameters: Mapping[str, Any]) -> Any:
        if found is not None:
            return found
        return self._match_all(None) if parameters.get("zero_terms_query") == "all" else self._match_none(None)

    def _match_phrase(self, body: Any) -> Any:
        field, parameters = _one(body, "query")
        builder = self._lucene.util.QueryBuilder(self._analyzer)
        return self._or_zero(builder.createPhraseQuery(f"text:{field}", parameters["query"]), parameters)

    def _bool(self, body: Any) -> Any:
        """Elasticsearch matches all documents with no clause, and adds `match_all` to what only excludes."""
        occur = self._lucene.search.BooleanClause.Occur
        builder, only_excludes = self._lucene.search.BooleanQuery.Builder(), True
        for name, kind in (("must", "MUST"), ("filter", "FILTER"), ("should", "SHOULD"), ("must_not", "MUST_NOT")):
            inner = body.get(name, [])
            for query in [inner] if isinstance(inner, Mapping) else inner:
                builder.add(self._query(query), getattr(occur, kind))
                only_excludes = only_excludes and name == "must_not"
        if not builder.build().clauses():
            return self._match_all(None)
        made = self._at_least(builder.build(), body.get("minimum_should_match"))
        if not only_excludes:
            return made
        negative = self._lucene.search.BooleanQuery.Builder()
        for clause in made.clauses():
            negative.add(clause)
        negative.add(self._match_all(None), occur.FILTER)
        return negative.setMinimumNumberShouldMatch(made.getMinimumNumberShouldMatch()).build()

    def _at_least(self, made: Any, wanted: int | str | None) -> Any:
        if wanted is None or made.getClass().getSimpleName() != "BooleanQuery":
            return made
        optional = sum(clause.getOccur().toString() == "" for clause in made.clauses())
        builder = self._lucene.search.BooleanQuery.Builder()
        for clause in made.clauses():
            builder.add(clause)
        return builder.setMinimumNumberShouldMatch(needed(optional, wanted)).build()

    def _constant_score(self, body: Any) -> Any:
        return self._query(body["filter"])

    def _dis_max(self, body: Any) -> Any:
        inner = self._gateway.jvm.java.util.ArrayList()
        for query in body["queries"]:
            inner.add(self._query(query))
        return self._lucene.search.DisjunctionMaxQuery(inner, 0.0)

    def _boosting(self, body: Any) -> Any:
        return self._query(body["positive"])

    def _multi_match(self, body: Any) -> Any:
        kept = {name: body[name] for name in ("query", "operator", "minimum_should_match") if name in body}
        kind = "match_phrase" if body.get("type") == "phrase" else "match"
        return self._dis_max({"queries": [{kind: {field.partition("^")[0]: kept}} for field in body["fields"]]})

    def _geo_distance(self, body: Any) -> Any:
        ((field, centre),) = ((name, shape) for name, shape in body.items() if name != "distance")
        lon, lat = _corner(centre)
        return self._lucene.document.LatLonPoint.newDistanceQuery(field, lat, lon, metres(body["distance"], "m"))

    def _geo_bounding_box(self, body: Any) -> Any:
        ((field, shape),) = body.items()
        west, south, east, north = Box.of(shape)
        return self._lucene.document.LatLonPoint.newBoxQuery(field, south, north, west, east)

    def _geo_polygon(self, body: Any) -> Any:
        ((field, shape),) = body.items()
        corners = [_corner(point) for point in shape["points"]]
        lons, lats = (self._doubles(*side, side[0]) for side in zip(*corners, strict=True))
        none = self._gateway.new_array(self._lucene.geo.Polygon, 0)
        polygons = self._gateway.new_array(self._lucene.geo.Polygon, 1)
        polygons[0] = self._lucene.geo.Polygon(lats, lons, none)
        return self._lucene.document.LatLonPoint.newPolygonQuery(field, polygons)


def _one(body: Mapping[str, Any], short: str) -> tuple[str, Mapping[str, Any]]:
    ((field, rest),) = body.items()
    return field, rest if isinstance(rest, Mapping) else {short: rest}


def _leaves(value: Any, names: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(inner, (*names, name))
    elif isinstance(value, list):
        yield from itertools.chain.from_iterable(_leaves(inner, names) for inner in value)
    elif value is not None:
        yield ".".join(names), value


def _corner(value: Any) -> tuple[float, float]:
    found = place(value)
    assert found is not None
    return found
