"""`query_string`: Lucene's query syntax, as Elasticsearch reads it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tocsin.language.dialects.dialect import Json, Reader
from tocsin.language.dialects.elasticsearch import clauses as parts
from tocsin.language.dialects.elasticsearch.clauses import EVERY, MUST, MUST_NOT, SHOULD, Occurring, Search
from tocsin.language.dialects.elasticsearch.dates import date_form
from tocsin.language.dialects.elasticsearch.lucene import Clause, Range, Word, clauses_of, escaped
from tocsin.language.dialects.elasticsearch.reading import Fields
from tocsin.model.expression import ComparisonOperator, Constant, Expression

_PARAMETERS: Final = (
    *("default_field", "type", "time_zone", "phrase_slop", "quote_analyzer", "quote_field_suffix"),
    *("allow_leading_wildcard", "escape"),
)
_EXISTS: Final = "_exists_"
_OPEN: Final[tuple[tuple[str, ComparisonOperator], ...]] = ((">=", ">="), (">", ">"), ("<=", "<="), ("<", "<"))


def query_string(inner: Json, reader: Reader, fields: Fields) -> Expression:
    """The condition of a query string."""
    text, members = parts.parameters_of(inner, reader, _PARAMETERS)
    kind = members.get("type", "best_fields")
    if kind not in ("best_fields", "most_fields"):
        reader.refuse(f"the type {kind} of query_string", "write best_fields")
    if members.get("default_field") is not None and members.get("fields"):
        reader.fail("fields and default_field exclude each other")
    search = parts.search_of(members, reader, fields, date_form({"time_zone": members.get("time_zone")}, reader))
    if members.get("default_field") is not None:
        search = search.within(reader.string(members["default_field"], "default_field"))
    with reader.at("query"):
        if not text.strip():
            return Constant(False)
        clauses = clauses_of(escaped(text) if members.get("escape") is True else text, reader)
        if members.get("allow_leading_wildcard") is False:
            _check_wildcards(clauses, reader)
        found = _query(clauses, search, members.get("minimum_should_match"))
    return Constant(False) if found is None else found


def _check_wildcards(clauses: Sequence[Clause], reader: Reader) -> None:
    for clause in clauses:
        if isinstance(clause.body, Word):
            if clause.body.kind == "WILDCARD" and clause.body.text[0] in "*?":
                reader.fail("a wildcard begins with * or ?, which allow_leading_wildcard rules out")
        elif not isinstance(clause.body, Range):
            _check_wildcards(clause.body, reader)


def _query(clauses: Sequence[Clause], search: Search, least: Json = None) -> Expression | None:
    """The condition of clauses. `least` counts the optional ones of the outermost query."""
    occurring: list[Occurring] = []
    for clause in clauses:
        _join(occurring, clause, search.operator)
        found = _counted(clause, search) if least is not None else []
        if not found and (condition := _clause(clause, _within(search, clause))) is not None:
            found = [(_occurs(clause, search.operator), condition)]
        occurring += found
        if clause is clauses[0]:
            is_first = bool(found) and not clause.modifier
    if len(occurring) == 1 and is_first:
        return _alone(clauses[0], _within(search, clauses[0]), least)
    return parts.combined(occurring, least, search.reader)


def _counted(clause: Clause, search: Search) -> list[Occurring]:
    """The words of terms side by side, which are optional parts of their own; none for other clauses."""
    body = clause.body
    if not isinstance(body, Word) or body.kind != "TERMS":
        return []
    return parts.by_default(parts.words_apart(body.text, search), search)


def _alone(clause: Clause, search: Search, least: Json) -> Expression | None:
    """The condition of the only clause, whose own parts are the optional ones."""
    body = clause.body
    if not isinstance(body, Word | Range):
        return _query(body, search, least)
    if least is not None and isinstance(body, Word) and body.kind == "TERM":
        return parts.counted(body.text, least, search)
    return _clause(clause, search)


def _within(search: Search, clause: Clause) -> Search:
    return search if clause.field is None else search.within(clause.field)


def _join(occurring: list[Occurring], clause: Clause, operator: str) -> None:
    """AND makes the part before it a required one. OR makes it an optional one, if parts are required by default."""
    if not occurring or occurring[-1][0] == MUST_NOT:
        return
    if clause.conjunction == "AND":
        occurring[-1] = MUST, occurring[-1][1]
    elif clause.conjunction == "OR" and operator == "and":
        occurring[-1] = SHOULD, occurring[-1][1]


def _occurs(clause: Clause, operator: str) -> str:
    if clause.modifier == "-":
        return MUST_NOT
    if operator == "and":
        return SHOULD if clause.conjunction == "OR" else MUST
    return MUST if clause.modifier == "+" or clause.conjunction == "AND" else SHOULD


def _clause(clause: Clause, search: Search) -> Expression | None:
    """The condition of a clause; None if it has no words."""
    body = clause.body
    if isinstance(body, Range):
        low, high = (">=" if body.includes_low else ">", body.low), ("<=" if body.includes_high else "<", body.high)
        return parts.between([(op, text) for op, text in (low, high) if text is not None], search)  # type: ignore[misc]
    if not isinstance(body, Word):
        return _query(body, search)
    if body.kind == "QUOTED":
        if body.fuzzy is not None and re.match(r"~0*[1-9]", body.fuzzy):
            search.reader.refuse("slop")
        if search.names == [_EXISTS]:
            return parts.there_is(search.within(body.text))
        return parts.term(body.text, search, is_phrase=True)
    if body.fuzzy is not None:
        search.reader.refuse("fuzziness")
    return _word(body, search)


def _word(word: Word, search: Search) -> Expression | None:
    if word.kind == "STAR":
        return Constant(True) if EVERY in search.names else parts.there_is(search)
    if word.kind == "PREFIX":
        return parts.prefix(word.text, search)
    if word.kind == "WILDCARD":
        return parts.wildcard(word.text, search)
    if word.kind == "REGEX":
        return parts.regexp(word.text, search)
    if search.names == [_EXISTS]:
        return parts.there_is(search.within(word.text))
    if search.is_named:
        for sign, op in _OPEN:
            if word.text.startswith(sign) and len(word.text) > len(sign):
                return parts.between([(op, word.text[len(sign) :])], search)
    return parts.term(word.text, search)
