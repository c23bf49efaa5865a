"""Event patterns of Amazon EventBridge, as Event Ruler reads them.

A pattern is an object that has the shape of the event. A list in it holds the values that match. An event's list
matches if any of its elements does, and objects in a list match one by one. `detail` is an object in every event.
"""

from __future__ import annotations

import ipaddress
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final, NamedTuple

from tocsin.language.dialects.dialect import (
    IS_BOOLEAN,
    IS_NUMBER,
    IS_STRING,
    VALUE,
    Dialect,
    Json,
    Reader,
    Wild,
    all_of,
    any_of,
    call,
    compared,
    equal_ignoring_case,
    in_inner_lists,
    is_given_null,
    like,
    like_ignoring_case,
    one_of,
    wild_parts,
)
from tocsin.model.expression import (
    Attribute,
    ComparisonOperator,
    Constant,
    Expression,
    Not,
    conjunction,
    disjunction,
)
from tocsin.model.subscription import shown

_OBJECTS: Final = ("detail",)
"""The members of an event that are never lists."""
_MOST_ALTERNATIVES: Final = 1000


class Alternative(NamedTuple):
    """One way to match a part of a pattern: a condition on that part, and paths under which no value may be."""

    condition: Expression | None
    absent: tuple[tuple[str, ...], ...] = ()
    present: frozenset[tuple[str, ...]] = frozenset()
    """The paths of the values that the condition is about."""


class EventBridge(Dialect):
    name, title = "eventbridge", "EventBridge"
    taken: ClassVar[Mapping[str, str]] = {
        '["a", 1, true]': "a value, or an element of a list, is one of these; numbers are compared by value",
        "[null]": "null; a value that is absent is not null",
        '[{"exists": true}]': "there is a value (or null)",
        '[{"exists": false}]': "there is no value under this name; once a name before it has chosen an "
        "object of a list, none in this object",
        '[{"prefix": "a"}]': "LIKE 'a%'",
        '[{"prefix": {"equals-ignore-case": "a"}}]': "LIKE without case",
        '[{"suffix": "a"}]': "LIKE '%a'",
        '[{"suffix": {"equals-ignore-case": "a"}}]': "LIKE without case",
        '[{"equals-ignore-case": "a"}]': "CASEI, by Unicode's case folding",
        '[{"wildcard": "a*b"}]': "LIKE 'a%b'; a backslash takes the next letter as it is",
        '[{"numeric": [">", 0, "<=", 5]}]': "comparisons with numbers",
        '[{"cidr": "10.0.0.0/8"}]': "IP_IN; bits behind the prefix do not count",
        '[{"anything-but": ["a"]}]': "a value (or null) that is not one of these; also prefix, suffix, "
        "equals-ignore-case and wildcard",
        '"$or": [...]': "OR of two patterns or more; a name in it and beside it: the one that comes later counts",
    }

    def read(self, rule: Json, reader: Reader) -> Expression:
        found = [
            all_of([*([one.condition] if one.condition else []), *(_absent(path, reader) for path in one.absent)])
            for one in _of_object(rule, reader, (), is_nested=False)
        ]
        return any_of(found)


# ---- the shape of the pattern


def _of_object(pattern: Json, reader: Reader, path: tuple[str, ...], is_nested: bool) -> list[Alternative]:
    """The alternatives of an object. Names are relative to it if it is nested, and to the event if not."""
    parts: list[list[Alternative]] = []
    members = reader.members(pattern, "a pattern")
    if (choices := _overlapping(members, reader)) is not None:
        return _together([one for choice in choices for one in _of_object(choice, reader, path, is_nested)])
    for name, inner in members.items():
        with reader.at(name):
            if name == "$or":
                parts.append(_either(inner, reader, path, is_nested))
            elif isinstance(inner, Mapping):
                parts.append(_of_member(name, inner, reader, (*path, name), is_nested))
            else:
                parts.append(_of_values(name, inner, reader, (*path, name), is_nested))
    return _product(parts, reader)


def _of_member(name: str, inner: Json, reader: Reader, path: tuple[str, ...], is_nested: bool) -> list[Alternative]:
    if path == _OBJECTS:
        return _of_object(inner, reader, path, is_nested)
    attribute = Attribute(name if is_nested else ".".join(path))
    found = [_without_absent_in(path, one, reader) for one in _of_object(inner, reader, path, is_nested=True)]
    return [
        one if one.condition is None else one._replace(condition=_some(attribute, one.condition, reader))
        for one in found
    ]


def _without_absent_in(path: tuple[str, ...], one: Alternative, reader: Reader) -> Alternative:
    """An alternative of an object that itself says which of its values are absent.

    Event Ruler looks at the paths of a pattern in the order of their names. Once it has chosen an object of a list, a
    value of another object does not count.
    """
    within = [absent for absent in one.absent if any(present < absent for present in one.present)]
    if one.condition is None or not within:
        return one
    written = [(absent, Not(reader.some(absent[len(path) :], _IS_GIVEN_WITHIN))) for absent in within]
    conditions = [reader.note(node, f'{".".join(absent)}: [{{"exists": false}}]') for absent, node in written]
    left = tuple(absent for absent in one.absent if absent not in within)
    return one._replace(condition=conjunction([one.condition, *conditions]), absent=left)


def _overlapping(members: Mapping[str, Json], reader: Reader) -> list[Mapping[str, Json]] | None:
    """The choices of an object whose `$or` names what stands beside it; None if it names other values.

    What comes later replaces the values of the same path.
    """
    patterns = members.get("$or")
    if not isinstance(patterns, list) or not any(isinstance(one, Mapping) and one.keys() & members for one in patterns):
        return None
    _check_choices(patterns, reader)
    choices: list[Mapping[str, Json]] = [{}]
    for name, inner in members.items():
        options = [reader.members(one, "a pattern") for one in patterns] if name == "$or" else [{name: inner}]
        choices = [_merged(choice, option) for choice in choices for option in options]
    return choices


def _merged(first: Mapping[str, Json], second: Mapping[str, Json]) -> Mapping[str, Json]:
    """A pattern with the values of another. Where both have a path, the second one's stay."""
    merged = dict(first)
    for name, inner in second.items():
        before = merged.get(name)
        both = isinstance(before, Mapping) and isinstance(inner, Mapping)
        merged[name] = _merged(before, inner) if both else inner  # type: ignore[arg-type]
    return merged


def _some(attribute: Attribute, condition: Expression, reader: Reader) -> Expression:
    return reader.made(lambda: call("SOME", attribute, condition))


def _of_values(name: str, values: Json, reader: Reader, path: tuple[str, ...], is_nested: bool) -> list[Alternative]:
    attribute = Attribute(name if is_nested else ".".join(path))
    conditions, alternatives = [], []
    exact: list[Constant] = []
    for place, value in enumerate(reader.items(values, "what a name matches")):
        with reader.at(place):
            if isinstance(value, str | bool | int | float):
                exact.append(reader.constant(value))
            elif value == {"exists": False}:
                alternatives.append(Alternative(None, (path,)))
            else:
                conditions.append(_of_value(value, reader))
    if exact:
        conditions.insert(0, one_of(VALUE, exact))
    if conditions:
        condition = call("SOME", attribute, in_inner_lists(any_of(conditions)))
        alternatives.insert(0, Alternative(reader.note_member(condition, values), present=frozenset((path,))))
    return alternatives


def _either(patterns: Json, reader: Reader, path: tuple[str, ...], is_nested: bool) -> list[Alternative]:
    """The alternatives of `$or`."""
    _check_choices(reader.items(patterns, "$or"), reader)
    found = []
    for place, pattern in enumerate(patterns):
        with reader.at(place):
            found += _of_object(pattern, reader, path, is_nested)
    return _together(found)


def _check_choices(patterns: Sequence[Json], reader: Reader) -> None:
    if len(patterns) < 2:
        reader.fail("$or needs two patterns at least, as in Event Ruler")


def _together(found: Sequence[Alternative]) -> list[Alternative]:
    """Alternatives, with those without absent values as one."""
    conditions = [one.condition for one in found if one.condition is not None and not one.absent]
    shared = [one.present for one in found if one.condition is not None and not one.absent]
    merged = [Alternative(disjunction(conditions), present=frozenset.intersection(*shared))] if conditions else []
    return [*merged, *(one for one in found if one.absent)]


def _product(parts: Sequence[list[Alternative]], reader: Reader) -> list[Alternative]:
    """Every choice of one alternative from each part."""
    count = 1
    for part in parts:
        count *= len(part)
    if count > _MOST_ALTERNATIVES:
        reader.fail(f"the pattern has {count} combinations of $or and exists; at most {_MOST_ALTERNATIVES} are allowed")
    choices = []
    for chosen in itertools.product(*parts):
        conditions = [one.condition for one in chosen if one.condition is not None]
        absent = tuple(dict.fromkeys(path for one in chosen for path in one.absent))
        present = frozenset(path for one in chosen for path in one.present)
        choices.append(Alternative(conjunction(conditions) if conditions else None, absent, present))
    return choices


def _absent(path: tuple[str, ...], reader: Reader) -> Expression:
    return reader.note(Not(_given(path, reader)), f'{".".join(path)}: [{{"exists": false}}]')


def _given(path: tuple[str, ...], reader: Reader) -> Expression:
    """Whether there is a value under a path, in any element of a list."""
    if path[:1] == _OBJECTS and len(path) > 1:
        path = (".".join(path[:2]), *path[2:])
    return reader.some(path, _IS_GIVEN_WITHIN)


# ---- one value of a list


def _of_value(value: Json, reader: Reader) -> Expression:
    """The condition on `element` that a value of a pattern's list says."""
    if value is None:
        return _IS_GIVEN_NULL
    if not isinstance(value, Mapping):
        reader.fail(f"a list of a pattern holds strings, numbers, booleans, null and matchers, not {shown(value)}")
    if len(value) != 1:
        reader.fail(f"a matcher has one name, not {len(value)}; write one object for each")
    ((name, argument),) = value.items()
    with reader.at(name):
        make = _MATCHERS.get(name)
        if make is None:
            reader.unknown("matcher", name, _MATCHERS)
        return make(argument, reader)


def _exists(argument: Json, reader: Reader) -> Expression:
    if argument is not True:
        reader.fail(f"exists needs true or false, not {shown(argument)}")
    return _IS_GIVEN


def _prefix(argument: Json, reader: Reader) -> Expression:
    return _affix(argument, reader, "prefix", lambda text: (text, Wild.RUN))


def _suffix(argument: Json, reader: Reader) -> Expression:
    return _affix(argument, reader, "suffix", lambda text: (Wild.RUN, text))


def _affix(argument: Json, reader: Reader, what: str, parts: Callable[[str], Sequence[str | Wild]]) -> Expression:
    if isinstance(argument, Mapping) and list(argument) == ["equals-ignore-case"]:
        text = reader.string(argument["equals-ignore-case"], what)
        return like_ignoring_case(VALUE, *parts(text))
    return like(VALUE, *parts(reader.string(argument, what)))


def _ignoring_case(argument: Json, reader: Reader) -> Expression:
    text = reader.string(argument, "equals-ignore-case")
    return equal_ignoring_case(VALUE, [text])


def _wildcard(argument: Json, reader: Reader) -> Expression:
    parts = wild_parts(reader.string(argument, "wildcard"), {"*": Wild.RUN})
    if parts is None or any(len(one) == 2 for one in parts if isinstance(one, str)):
        reader.fail("a backslash in a wildcard stands before * or a backslash")
    if any(pair == (Wild.RUN, Wild.RUN) for pair in itertools.pairwise(parts)):
        reader.fail("a wildcard cannot have two * side by side")
    return like(VALUE, *parts)


_OPERATORS: Final[dict[str, ComparisonOperator]] = {"=": "=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


def _numeric(argument: Json, reader: Reader) -> Expression:
    pairs = reader.items(argument, "numeric")
    if len(pairs) not in (2, 4):
        reader.fail('numeric needs one or two comparisons, as in [">", 0, "<=", 5]')
    limits: list[tuple[ComparisonOperator, float]] = []
    for at in range(0, len(pairs), 2):
        with reader.at(at):
            op = _OPERATORS.get(pairs[at]) if isinstance(pairs[at], str) else None
            if op is None:
                reader.fail(f"numeric compares by = < <= > >=, not by {shown(pairs[at])}")
        with reader.at(at + 1):
            limits.append((op, reader.number(pairs[at + 1], "numeric")))
    if len(limits) == 2:
        (first, low), (second, high) = limits
        if not (first.startswith(">") and second.startswith("<") and low < high):
            reader.fail('a range of numeric has a lower bound and then a higher one, as in [">", 0, "<=", 5]')
    return all_of([compared(VALUE, op, Constant(limit)) for op, limit in limits])


def _cidr(argument: Json, reader: Reader) -> Expression:
    """A network. The bits behind its prefix do not count, as in Event Ruler."""
    text = reader.string(argument, "cidr")
    try:
        network = Constant(str(ipaddress.ip_network(text, strict=False)))
    except ValueError:
        network = Constant(text)
    return reader.made(lambda: call("IP_IN", VALUE, network))


def _anything_but(argument: Json, reader: Reader) -> Expression:
    """Any value, also null, that is none of these."""
    if isinstance(argument, Mapping):
        return _anything_but_matcher(argument, reader)
    values = [reader.constant(one) for one in (argument if isinstance(argument, list) else [argument])]
    strings = [one for one in values if isinstance(one.value, str)]
    numbers = [one for one in values if type(one.value) is float]
    if strings and numbers:
        reader.fail("anything-but has strings or numbers, and not both, as in Event Ruler")
    if not values or len(strings) + len(numbers) < len(values):
        reader.fail(f"anything-but needs strings or numbers, not {shown(argument)}")
    return any_of(
        [
            Not(one_of(VALUE, strings)) if strings else IS_STRING,
            Not(one_of(VALUE, numbers)) if numbers else IS_NUMBER,
            *(IS_BOOLEAN, _IS_GIVEN_NULL),
        ]
    )


def _anything_but_matcher(argument: Json, reader: Reader) -> Expression:
    ((name, inner),) = argument.items() if len(argument) == 1 else (("", None),)
    make = _BUT.get(name)
    if make is None:
        reader.fail(f"anything-but takes {', '.join(_BUT)}, not {shown(argument)}")
    with reader.at(name):
        texts = inner if isinstance(inner, list) and inner else [inner]
        return any_of([Not(any_of([make(one, reader) for one in texts])), IS_NUMBER, IS_BOOLEAN, _IS_GIVEN_NULL])


_IS_GIVEN_NULL: Final = is_given_null()
_IS_GIVEN: Final = any_of([IS_STRING, IS_NUMBER, IS_BOOLEAN, _IS_GIVEN_NULL])
_IS_GIVEN_WITHIN: Final = in_inner_lists(_IS_GIVEN)
_BUT: Final = {"prefix": _prefix, "suffix": _suffix, "equals-ignore-case": _ignoring_case, "wildcard": _wildcard}
_MATCHERS: Final[dict[str, Callable[[Json, Reader], Expression]]] = {
    "exists": _exists,
    "prefix": _prefix,
    "suffix": _suffix,
    "equals-ignore-case": _ignoring_case,
    "wildcard": _wildcard,
    "numeric": _numeric,
    "cidr": _cidr,
    "anything-but": _anything_but,
}
