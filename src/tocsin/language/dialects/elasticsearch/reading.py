"""The parts that all queries have: fields, which may lie in nested objects, and parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from tocsin.language.dialects.dialect import IS_STRING, VALUE, Json, Reader, all_of, any_of, call, in_inner_lists
from tocsin.model.expression import Constant, Expression, IsNull, Not
from tocsin.model.subscription import shown

_DEFAULTS: Final[Mapping[str, Sequence[Json]]] = {
    "analyzer": (None, "standard"),
    "fuzziness": (0, "0"),
    "slop": (0,),
    "phrase_slop": (0,),
    "quote_analyzer": (None, "standard"),
    "quote_field_suffix": (None, ""),
}
"""Parameters that change what matches, at values other than these."""
FUZZY: Final = ("fuzziness", "prefix_length", "max_expansions", "fuzzy_transpositions", "fuzzy_rewrite")
"""The fuzziness of a query on words, and parameters that have no effect without it."""
_SUB_FIELD: Final = "keyword"


class Fields(NamedTuple):
    """How names of fields are read: as they are or, within a nested query, below its path."""

    below: str = ""

    def within(self, path: str) -> Fields:
        return Fields(f"{path}.")

    def path_of(self, name: str, reader: Reader) -> list[str]:
        """The names that lead to a field, from the event or from the nested object."""
        if "*" in name:
            reader.refuse(f"the pattern {shown(name)}", "name the fields one by one")
        if not name.startswith(self.below):
            reader.fail(f"the field {name} does not lie in the nested objects of {self.below[:-1]}")
        path = name[len(self.below) :].split(".")
        if not all(path):
            reader.fail(f"the name {shown(name)} has an empty part")
        return path

    def parent_of(self, name: str, reader: Reader) -> list[str] | None:
        """The names that lead to the field of which `name.keyword` is a sub-field; None for other names."""
        path = self.path_of(name, reader)
        return path[:-1] if len(path) > 1 and path[-1] == _SUB_FIELD else None

    def some(self, name: str, condition: Expression, reader: Reader) -> Expression:
        """Whether a value of a field satisfies a condition. An element of a list within a list is a value, too.

        The values of a sub-field are those of its field. An object may have a member of that name, too.
        """
        parent, condition = self.parent_of(name, reader), in_inner_lists(condition)
        return any_of([reader.some(path, condition) for path in (parent, self.path_of(name, reader)) if path])

    def has_value(self, name: str, reader: Reader) -> Expression:
        """Whether a field has a value, or the field of a sub-field a string: dynamic mappings add it to strings."""
        parent, path = self.parent_of(name, reader), self.path_of(name, reader)
        whole = reader.has_value(path, in_inner_lists(Not(IsNull(VALUE))))
        return any_of([reader.some(parent, in_inner_lists(IS_STRING)), whole]) if parent else whole


def members_of(
    inner: Json, reader: Reader, allowed: Sequence[str], *, needed: str = "", at_any: Sequence[str] = ()
) -> Mapping[str, Json]:
    """The parameters of a query. Those that are not allowed are refused, as are some that are not at their default.

    `at_any` names those that this query takes at any value.
    """
    if not isinstance(inner, Mapping):
        reader.fail(f"an object is needed, not {shown(inner)}")
    for name in inner:
        if name not in allowed:
            with reader.at(name):
                reader.unknown("parameter", name, allowed)
        if name in _DEFAULTS and name not in at_any and inner[name] not in _DEFAULTS[name]:
            with reader.at(name):
                reader.refuse(name)
    if needed and needed not in inner:
        reader.fail(f"{needed} is missing")
    return inner


def field_of(
    inner: Json, reader: Reader, value: str | Sequence[str], allowed: Sequence[str] = ()
) -> tuple[str, Mapping[str, Json]]:
    """The field of a query on one field, and its parameters.

    `value` is the name, or the names, of the parameter that must be there; anything but an object is this parameter.
    Without a name, only an object will do.
    """
    names = [value] if isinstance(value, str) else list(value)
    if not isinstance(inner, Mapping):
        reader.fail(f"an object with a field is needed, not {shown(inner)}")
    fields = {name: one for name, one in inner.items() if name not in ("boost", "_name")}
    if len(fields) != 1:
        reader.fail(f"one field is needed, not {len(fields)}")
    ((field, given),) = fields.items()
    if not isinstance(given, Mapping):
        if not names:
            with reader.at(field):
                reader.fail(f"an object with {', '.join(allowed[:4])} is needed, not {shown(given)}")
        return field, {names[0]: given}
    with reader.at(field):
        members_of(given, reader, (*names, *allowed, "boost", "_name"))
        found = [name for name in names if name in given]
        if not names:
            return field, given
        if not found:
            reader.fail(f"{names[0]} is missing")
        return field, {**given, names[0]: given[found[0]]}


def boost_of(query: Json) -> float | None:
    """The boost of a query, which stands in it or beside the parameters of its field; None if there is none."""
    if not isinstance(query, Mapping) or len(query) != 1:
        return None
    (inner,) = query.values()
    if not isinstance(inner, Mapping):
        return None
    within = [one.get("boost") for one in inner.values() if isinstance(one, Mapping)] if len(inner) == 1 else []
    given = inner.get("boost", within[0] if within else None)
    return float(given) if isinstance(given, int | float) and not isinstance(given, bool) else None


def least_of(given: Json, count: int, reader: Reader) -> int:
    """How many of some clauses must match: `2`, `-1` (all but one), `"75%"`, `"-25%"`, `"2<75%"` (75% of more than 2).

    It may be more than there are.
    """
    try:
        return _least(str(given).strip(), count)
    except ValueError:
        with reader.at("minimum_should_match"):
            reader.fail(f'a number, a percentage or conditions such as "2<75%" are needed, not {shown(given)}')


def _least(text: str, count: int) -> int:
    if "<" in text:
        least = count
        for condition in re.sub(r"\s*<\s*", "<", text).split():
            bound, _, then = condition.partition("<")
            if count <= int(bound):
                break
            least = _least(then, count)
        return least
    number = int(text.removesuffix("%"))
    share = abs(number) * count // 100 if text.endswith("%") else abs(number)
    return max(0, count - share) if text.startswith("-") else share


def at_least(least: int, conditions: Sequence[Expression]) -> Expression:
    """Whether so many of the conditions are TRUE."""
    if least > len(conditions):
        return Constant(False)
    if least <= 1:
        return any_of(conditions)
    if least == len(conditions):
        return all_of(conditions)
    return call("AT_LEAST", Constant(float(least)), *conditions)
