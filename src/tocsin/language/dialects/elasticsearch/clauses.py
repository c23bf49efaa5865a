"""The parts of query strings: terms, phrases, patterns and ranges, each in one field, in several or in all.

There is no mapping, so a part means what the query of its kind means: `match`, `match_phrase`, `wildcard`, `range`. A
term that spells a number, a boolean, a date or a network also finds such a value, as in a field of that type.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from tocsin.language.dialects.dialect import VALUE, Json, Reader, all_of, any_of, call, compared, not_true
from tocsin.language.dialects.elasticsearch.dates import DateForm, as_bound, is_date
from tocsin.language.dialects.elasticsearch.reading import Fields, at_least, least_of, members_of
from tocsin.language.dialects.elasticsearch.terms import network_in, prefix_of, regexp_of, wildcard_of
from tocsin.language.dialects.elasticsearch.texts import in_field, in_value, phrase_in_field, words_in
from tocsin.language.operators.network import address_key
from tocsin.model.expression import ComparisonOperator, Constant, Expression, IsNull, Not
from tocsin.model.values import Instant

EVERY: Final = "*"
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]{1,15}(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?")
_TRUTHS: Final = {"true": True, "false": False}
_IS_INSTANT: Final = any_of([compared(VALUE, op, Constant(Instant(0))) for op in ("<", ">=")])

MUST, SHOULD, MUST_NOT = "must", "should", "must_not"


class Search(NamedTuple):
    """Where, and how, the parts of a query string are looked for."""

    names: Sequence[str]
    """Fields; `EVERY` is all of them."""
    reader: Reader
    fields: Fields
    is_named: bool
    """Whether the query string names the field, or there is but one by default: then `>5` is a range."""
    operator: str
    """Whether all words of a term must be there (`and`), or one (`or`)."""
    form: DateForm

    def within(self, name: str) -> Search:
        """The search in one field."""
        return self._replace(names=[name], is_named=True)

    def some(self, name: str, condition: Expression) -> Expression:
        """Whether a value of a field, or of any field, satisfies a condition on `element`."""
        if name != EVERY:
            return self.fields.some(name, condition, self.reader)
        if self.fields.below:
            self.reader.refuse("a query string without fields in a nested query", "name the fields")
        return self.reader.made(lambda: call("HOLDS", call("ANY_ATTRIBUTE", condition)))

    def anywhere(self, condition: Expression) -> Expression:
        """Whether a value of one of the fields satisfies a condition on `element`."""
        return any_of([self.some(name, condition) for name in self.names])


Occurring = tuple[str, Expression]
"""MUST, SHOULD or MUST_NOT, and the condition."""


def combined(parts: Sequence[Occurring], least: Json, reader: Reader) -> Expression | None:
    """The condition of a boolean query of Lucene; None if it has no parts. What only excludes matches all others."""
    if not parts:
        return None
    needed = [condition for occurs, condition in parts if occurs == MUST]
    should = [condition for occurs, condition in parts if occurs == SHOULD]
    excluded = [not_true(condition) for occurs, condition in parts if occurs == MUST_NOT]
    fewest = 0 if least is None else least_of(least, len(should), reader)
    if should and not needed:
        fewest = max(1, fewest)
    return all_of([*needed, *([at_least(fewest, should)] if fewest > 0 else []), *excluded])


def term(text: str, search: Search, *, is_phrase: bool = False) -> Expression | None:
    """Whether a field has the words of a text, or the value that it spells; None if it has no words."""
    found = [_term_in(name, text, search, is_phrase) for name in search.names]
    parts = [part for part in found if part is not None]
    return any_of(parts) if parts else None


def words_apart(text: str, search: Search) -> list[Expression]:
    """The words of a text, one by one, which `minimum_should_match` counts; none in a search in several fields."""
    if len(search.names) > 1 or search.names == [EVERY]:
        return []
    parts = [term(word, search) for word in words_in(text, search.reader)]
    return [part for part in parts if part is not None]


def by_default(conditions: Iterable[Expression], search: Search) -> list[Occurring]:
    """Parts that are joined by the default operator."""
    return [(MUST if search.operator == "and" else SHOULD, condition) for condition in conditions]


def counted(text: str, least: Json, search: Search) -> Expression | None:
    """Whether a field has at least so many words of a term, if there are several."""
    words = [] if least is None else words_apart(text, search)
    return combined(by_default(words, search), least, search.reader) if len(words) > 1 else term(text, search)


def _term_in(name: str, text: str, search: Search, is_phrase: bool) -> Expression | None:
    reader, values = search.reader, _spelled(text, search)
    if name == EVERY:
        parts = [*_words_of_value(text, search, is_phrase), *values]
        return search.some(name, any_of(parts)) if parts else None
    read = phrase_in_field if is_phrase else in_field
    words = read(name, text, search.operator, reader, search.fields)
    if words is not None and is_date(text):
        words = all_of([words, not_true(search.some(name, _IS_INSTANT))])
    parts = [*([] if words is None else [words]), *([search.some(name, any_of(values))] if values else [])]
    return any_of(parts) if parts else None


def _words_of_value(text: str, search: Search, is_phrase: bool) -> list[Expression]:
    words = words_in(text, search.reader)
    if not words:
        return []
    together = [" ".join(words)] if is_phrase else list(dict.fromkeys(words))
    found = [in_value(one, search.reader) for one in together]
    condition = all_of(found) if search.operator == "and" else any_of(found)
    return [all_of([condition, not_true(_IS_INSTANT)]) if is_date(text) else condition]


def _spelled(text: str, search: Search) -> list[Expression]:
    """Conditions on `element` for the numbers, booleans, dates and networks that a text spells."""
    found: list[Expression] = []
    if _NUMBER.fullmatch(text):
        found.append(compared(VALUE, "=", Constant(float(text))))
    if text in _TRUTHS:
        found.append(compared(VALUE, "=", Constant(_TRUTHS[text])))
    if is_date(text):
        found.append(all_of([as_bound(op, text, search.reader, search.form) for op in _SAME]))
    if (network := network_in(text)) is not None:
        found.append(call("IP_IN", VALUE, network))
    return found


_SAME: Final[Sequence[ComparisonOperator]] = (">=", "<=")


def between(bounds: Sequence[tuple[ComparisonOperator, str]], search: Search) -> Expression:
    """Whether a value lies within bounds: dates, IP addresses, numbers or strings. Without bounds, any value does."""
    if not bounds:
        return there_is(search)
    return search.anywhere(_between(bounds, search))


def _between(bounds: Sequence[tuple[ComparisonOperator, str]], search: Search) -> Expression:
    reader = search.reader

    def each(compare: Callable[[ComparisonOperator, str], Expression]) -> Expression:
        return all_of([compare(op, text) for op, text in bounds])

    if all(is_date(text) or _is_now(text) for _, text in bounds):
        return each(lambda op, text: as_bound(op, text, reader, search.form))
    if all(address_key(text) is not None for _, text in bounds):
        return each(lambda op, text: compared(call("IP", VALUE), op, call("IP", Constant(text))))
    as_strings = each(lambda op, text: compared(VALUE, op, reader.constant(text)))
    if all(_NUMBER.fullmatch(text) for _, text in bounds):
        return any_of([each(lambda op, text: compared(VALUE, op, Constant(float(text)))), as_strings])
    return as_strings


def _is_now(text: str) -> bool:
    return re.fullmatch(r"now(?:[-+/].*)?", text) is not None


def there_is(search: Search) -> Expression:
    """Whether a field has a value."""

    def has_value(name: str) -> Expression:
        if name == EVERY:
            return search.some(name, Not(IsNull(VALUE)))
        return search.fields.has_value(name, search.reader)

    return any_of([has_value(name) for name in search.names])


def prefix(text: str, search: Search) -> Expression:
    return search.anywhere(prefix_of(text, {}, search.reader))


def wildcard(text: str, search: Search) -> Expression:
    condition = wildcard_of(text, {}, search.reader)
    return Constant(False) if condition is None else search.anywhere(condition)


def regexp(text: str, search: Search) -> Expression:
    return search.anywhere(regexp_of(text, {}, search.reader))


_WITHOUT_EFFECT: Final = (
    *("analyze_wildcard", "lenient", "tie_breaker", "rewrite", "max_determinized_states", "enable_position_increments"),
    *("fuzziness", "fuzzy_prefix_length", "fuzzy_max_expansions", "fuzzy_rewrite", "fuzzy_transpositions"),
    *("auto_generate_synonyms_phrase_query", "boost", "_name"),
)
"""Parameters about scores, about signs that are refused, and about what tocsin does not have."""


def parameters_of(inner: Json, reader: Reader, allowed: Iterable[str]) -> tuple[str, dict[str, Json]]:
    """The query string of a query, and its other parameters."""
    members = dict(
        members_of(
            inner,
            reader,
            ("query", "fields", "default_operator", "analyzer", "minimum_should_match", *allowed, *_WITHOUT_EFFECT),
            needed="query",
            at_any=("fuzziness",),
        )
    )
    return reader.string(members["query"], "query"), members


def search_of(members: dict[str, Json], reader: Reader, fields: Fields, form: DateForm) -> Search:
    """The fields and the operator that the parameters say."""
    with reader.at("fields"):
        given = members.get("fields")
        names = [] if given is None else given if isinstance(given, list) else [given]
        names = [reader.string(name, "a field").split("^")[0] for name in names]
    operator = str(members.get("default_operator") or "or").lower()
    if operator not in ("or", "and"):
        with reader.at("default_operator"):
            reader.fail("it is OR or AND")
    return Search(list(dict.fromkeys(names)) or [EVERY], reader, fields, not names, operator, form)
