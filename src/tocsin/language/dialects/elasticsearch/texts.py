"""Queries on the words of texts: `match`, `match_phrase` and `multi_match`.

The standard analyzer makes words as TEXT does with `keep_accents`: by Unicode's segmentation, without case. The page
says where the two differ.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from typing import Final

from tocsin.language.dialects.dialect import VALUE, Json, Reader, all_of, any_of, call, equal
from tocsin.language.dialects.elasticsearch.reading import FUZZY, Fields, at_least, field_of, least_of, members_of
from tocsin.language.segmenting import words_of
from tocsin.model.expression import Attribute, Constant, Expression
from tocsin.model.texts import Text

_HOW: Final = Text(keep_accents=True)
_OF_WORDS: Final = (
    *("operator", "minimum_should_match", "lenient", "zero_terms_query", "auto_generate_synonyms_phrase_query"),
    *("analyzer", *FUZZY),
)


def _match(inner: Json, reader: Reader, fields: Fields) -> Expression:
    field, given = field_of(inner, reader, "query", _OF_WORDS)
    with reader.at(field):
        return _words(field, given, reader, fields)


def _words(field: str, given: Mapping[str, Json], reader: Reader, fields: Fields) -> Expression:
    query = given["query"]
    if not isinstance(query, str):
        return fields.some(field, equal([reader.constant(query)]), reader)
    return any_of([*_whole(field, query, reader, fields), _some_words(field, query, given, reader, fields)])


def _whole(field: str, text: str, reader: Reader, fields: Fields) -> list[Expression]:
    """Whether a value of the field of a sub-field is a text, as a whole: a sub-field has no words."""
    parent = fields.parent_of(field, reader)
    return [reader.some(parent, equal([reader.constant(text)]))] if parent else []


def _some_words(field: str, query: str, given: Mapping[str, Json], reader: Reader, fields: Fields) -> Expression:
    words = words_in(query, reader)
    if not words:
        return Constant(str(given.get("zero_terms_query", "none")).lower() == "all")
    parts = [_text(field, f'"{word}"', reader, fields) for word in words]
    fewest = given.get("minimum_should_match")
    if len(parts) > 1 and str(given.get("operator", "or")).lower() == "and":
        if fewest is not None:
            reader.refuse("minimum_should_match with the operator and")
        return call("HOLDS", all_of(list(dict.fromkeys(parts))))
    least = 1 if fewest is None or len(parts) == 1 else max(1, least_of(fewest, len(parts), reader))
    return call("HOLDS", at_least(least, parts if least > 1 else list(dict.fromkeys(parts))))


def _match_phrase(inner: Json, reader: Reader, fields: Fields) -> Expression:
    field, given = field_of(inner, reader, "query", ("zero_terms_query", "slop", "analyzer"))
    with reader.at(field):
        return _phrase(field, given, reader, fields)


def _phrase(field: str, given: Mapping[str, Json], reader: Reader, fields: Fields) -> Expression:
    query = reader.string(given["query"], "match_phrase")
    words = words_in(query, reader)
    if not words:
        return Constant(str(given.get("zero_terms_query", "none")).lower() == "all")
    phrase = call("HOLDS", _text(field, '"' + " ".join(words) + '"', reader, fields))
    return any_of([*_whole(field, query, reader, fields), phrase])


def _multi_match(inner: Json, reader: Reader, fields: Fields) -> Expression:
    allowed = ("query", "fields", "type", "tie_breaker", "slop", *_OF_WORDS, "boost", "_name")
    members = members_of(inner, reader, allowed, needed="query")
    kind = members.get("type", "best_fields")
    if kind not in ("best_fields", "most_fields", "phrase"):
        reader.refuse(f"the type {kind} of multi_match", "write best_fields or phrase")
    read = _phrase if kind == "phrase" else _words
    names = reader.items(members.get("fields"), "fields")
    return any_of([read(reader.string(name, "a field").split("^")[0], members, reader, fields) for name in names])


def words_in(query: str, reader: Reader) -> list[str]:
    """The words of a query. Lucene makes words of emoji, which are among the symbols (So) beyond Latin 1."""
    if any(unicodedata.category(letter) == "So" and letter > "\xff" for letter in query):
        reader.refuse("emoji in texts")
    return words_of(query, _HOW)


def _text(field: str, query: str, reader: Reader, fields: Fields) -> Expression:
    """Whether a text, or a list of texts, has the words."""
    return _text_in(Attribute(".".join(fields.path_of(field, reader))), query, reader)


def _text_in(text: Attribute, query: str, reader: Reader) -> Expression:
    return reader.made(lambda: call("TEXT", text, Constant(query), Constant(str(_HOW))))


def in_value(words: str, reader: Reader) -> Expression:
    """Whether `element` has a word, or several side by side."""
    return _text_in(VALUE, f'"{words}"', reader)


def in_field(field: str, text: str, operator: str, reader: Reader, fields: Fields) -> Expression | None:
    """Whether a field has the words of a text: all with the operator `and`. None if the text has no words."""
    whole = _whole(field, text, reader, fields)
    found = [_some_words(field, text, {"operator": operator}, reader, fields)] if words_in(text, reader) else []
    return any_of([*whole, *found]) if whole or found else None


def phrase_in_field(field: str, text: str, operator: str, reader: Reader, fields: Fields) -> Expression | None:
    """Whether a field has the words of a text side by side. None if the text has no words."""
    has_words = bool(words_in(text, reader) or fields.parent_of(field, reader))
    return _phrase(field, {"query": text}, reader, fields) if has_words else None


TEXTS: Final[Mapping[str, Callable[[Json, Reader, Fields], Expression]]] = {
    "match": _match,
    "match_phrase": _match_phrase,
    "multi_match": _multi_match,
}
