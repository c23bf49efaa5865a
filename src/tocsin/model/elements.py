"""The elements of lists as events, for the operator ANY.

An object keeps its own attributes. Any other element becomes an event with the single attribute `element`. An element
that cannot be read satisfies no condition, and no condition is FALSE for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence, Set
from functools import lru_cache
from typing import Any, Final, TypeAlias, cast

from tocsin.errors import RecordError
from tocsin.model.event import flatten, is_geometry
from tocsin.model.expression import EVERYTHING, AnyElement, Attribute, Call, ElementAt, Expression, walk
from tocsin.model.readings import NOW, as_elements, as_null
from tocsin.model.subscription import shown
from tocsin.model.values import UNTYPED, Box, Instant, Point, Range, Shape, Value

ELEMENT: Final = "element"
"""The attribute that holds an element that is not an object, as in `ANY(tags, element LIKE 'a%')`."""


GIVEN: Final = "GIVEN"
"""The function that tells a null that was given from an absent attribute."""


LENGTH: Final = "LENGTH"
"""The function that counts the elements of a list, or the letters of a text."""


class Elements(tuple["Mapping[str, Value | Elements] | None", ...]):
    """The values of each element of a list; None for an element that cannot be read."""

    __slots__ = ()


Values: TypeAlias = Mapping[str, Value | Elements]
"""The values of a flattened event, with the elements of a list under `as_elements(name)`. Made by `values_for`."""


class ReadValues(dict[str, "Value | Elements"]):
    """The values of an event, and for those without a type what came: `unread["price"]` is "is an object ({})"."""

    def __init__(self, values: Mapping[str, Value | Elements]) -> None:
        super().__init__(values)
        self.unread: dict[str, str] = {}

    def note_unread(self, record: Mapping[str, Any], reasons: Mapping[str, str]) -> None:
        """Note what a record has under the names without a type, and why it could not be read."""
        for name in [name for name, value in self.items() if value is UNTYPED]:
            if name in reasons or name not in self.unread:
                self.unread[name] = _what_came(within(record, name), reasons.get(name))


def _what_came(raw: Any, reason: str | None) -> str:
    """What an event has in place of a value that conditions can compare."""
    came = "" if raw is None or raw is UNTYPED else shown(raw)
    if reason is not None:
        reason = re.split(r"[.;] ", reason, maxsplit=1)[0]  # without advice
        return f"{'' if came in reason else f'= {came} '}could not be read ({reason})"
    kind = "an object" if isinstance(raw, Mapping) else "a list of lists or objects"
    return f"is {kind} ({came})" if came else "could not be read"


def within(record: Any, name: str) -> Any:
    """The value of an attribute (dotted within objects) of a record; None if there is none."""
    if not isinstance(record, Mapping):
        return None
    if name in record:
        return record[name]
    for at, letter in enumerate(name):
        if letter == "." and isinstance(record.get(name[:at]), Mapping):
            return within(record[name[:at]], name[at + 1 :])
    return None


def is_given(record: Any, name: str) -> bool:
    """Whether a record gives an attribute, dotted within objects, be it as null.

    >>> is_given({"a": {"b": None}}, "a.b"), is_given({"a": {}}, "a.b")
    (True, False)
    """
    if not isinstance(record, Mapping):
        return False
    return name in record or any(
        is_given(record.get(name[:at]), name[at + 1 :]) for at, letter in enumerate(name) if letter == "."
    )


def given_in(trees: Iterable[Expression]) -> list[str]:
    """The attributes of which expressions ask whether they were given."""
    calls = (node for tree in trees for node in walk(tree) if isinstance(node, Call) and node.name == GIVEN)
    return [node.arguments[0].name for node in calls if isinstance(node.arguments[0], Attribute)]


def values_for(trees: Sequence[Expression], record: Mapping[str, Any]) -> ReadValues:
    """Flatten an event, and add the elements of the lists that expressions ask for. Raises `RecordError` as `flatten`.

    >>> from tocsin.language import parse
    >>> values_for([parse("ANY(tags, element = 'new')")], {"tags": ["new"]})
    {'tags': ('new',), 'tags\\x00elements': ({'element': 'new'},)}
    """
    flat = flatten(record)
    values = ReadValues(flat.values)
    values.note_unread(record, dict(flat.problems))
    for name in given_in(trees):
        if name not in values and is_given(record, name):
            values[as_null(name)] = True
    for name, conditions in _asked_of_elements(trees).items():
        found = elements_in(record, name)
        if found is not None:
            values[as_elements(name)] = Elements(_values_of(conditions, one) for one in found)
    return values


def at_moment(values: MutableMapping[str, Value | Elements], now: Instant) -> None:
    """Give an event, and the elements of its lists, the present."""
    values[NOW] = now
    for found in values.values():
        for one in found if isinstance(found, Elements) else ():
            if one is not None:
                at_moment(cast("MutableMapping[str, Value | Elements]", one), now)


def _asked_of_elements(trees: Sequence[Expression]) -> dict[str, list[Expression]]:
    """What expressions ask of the elements of lists, by the list's attribute."""
    asked: dict[str, list[Expression]] = {}
    for node in (node for tree in trees for node in walk(tree)):
        if isinstance(node, AnyElement | ElementAt):
            asked.setdefault(node.items.name, []).extend(node.inner())
        elif isinstance(node, Call) and node.name == LENGTH and isinstance(node.arguments[0], Attribute):
            asked.setdefault(node.arguments[0].name, [])
    return asked


def _values_of(conditions: list[Expression], element: Any) -> ReadValues | None:
    try:
        values = values_for(conditions, as_record(element))
    except RecordError:
        return None
    ranges = [name for name, value in values.items() if isinstance(value, Range)]
    values.update(dict.fromkeys(ranges, UNTYPED))
    return values


def as_record(element: Any) -> Mapping[str, Any]:
    """Turn an element of a list into an event. A GeoJSON geometry is an object, and `element` is its place.

    >>> as_record({"price": 3}), as_record(3)
    ({'price': 3}, {'element': 3})
    """
    if type(element) in _PLAIN:
        return {ELEMENT: element}
    if not isinstance(element, Mapping):
        return {ELEMENT: element}
    return {**element, ELEMENT: element} if is_geometry(element) else element


def every_value(record: Any) -> Iterator[Any]:
    """The scalars of an event, in its lists and objects, too; nulls and places are not among them.

    >>> list(every_value({"a": 1, "b": {"c": ["x", None, {"d": True}]}}))
    [1, 'x', True]
    """
    if isinstance(record, Mapping):
        items: Iterable[Any] = () if is_geometry(record) else record.values()
    elif isinstance(record, list | tuple | Set) or (
        type(record).__name__ == "ndarray" and getattr(record, "ndim", 0) > 0
    ):
        items = record
    else:
        if not (record is None or record is UNTYPED or isinstance(record, _NO_SCALARS) or record != record):
            yield record
        return
    for item in items:
        if type(item) in _PLAIN:
            yield item
        else:
            yield from every_value(item)


_PLAIN: Final = frozenset((str, int, bool))
"""Types of scalars, told apart at once: the test for a mapping takes ten times as long."""
_NO_SCALARS: Final = (Point, Box, Shape, Range, bytes)


def elements_in(record: Mapping[str, Any], name: str) -> list[Any] | None:
    """The elements of an event's list, found by its dotted name through nested objects; None if there is no list.

    >>> elements_in({"order": {"items": [{"price": 3}]}}, "order.items"), elements_in({"items": 3}, "items")
    ([{'price': 3}], None)
    """
    if name == EVERYTHING:
        return list(every_value(record))
    found = record.get(name)
    kind = type(found)
    if kind not in _NO_LISTS:
        if isinstance(found, list | tuple | Set):
            return list(found)
        if kind.__name__ == "ndarray" and getattr(found, "ndim", 0) == 1:
            return list(found)  # type: ignore[arg-type]
    for head, rest in _splits(name):
        inner = record.get(head)
        if type(inner) is dict or isinstance(inner, Mapping):
            within = elements_in(inner, rest)
            if within is not None:
                return within
    return None


def lists_in(record: Mapping[str, Any], is_asked: Callable[[str], bool], leads_on: Callable[[str], bool]) -> set[str]:
    """The dotted names of an event's lists that are asked for. Cost: by what the event has, not by what is asked.

    `leads_on` says whether a name that is asked for lies below an object's name.

    >>> sorted(lists_in({"tags": [1], "order": {"items": [2], "id": 3}}, {"tags", "order.items"}.__contains__, bool))
    ['order.items', 'tags']
    """
    names: set[str] = set()
    objects: list[tuple[str, Mapping[str, Any]]] = [("", record)]
    while objects:
        prefix, members = objects.pop()
        for key, value in members.items():
            kind = type(value)
            if kind in _SCALARS or not isinstance(key, str):
                continue
            name = prefix + key
            if kind is list or not isinstance(value, Mapping):
                if is_asked(name):
                    names.add(name)
            elif leads_on(name):
                objects.append((f"{name}.", value))
    return names


_SCALARS: Final = frozenset((str, int, float, bool, type(None)))
_NO_LISTS: Final = _SCALARS | {dict}
"""The usual types of values that are no lists."""


@lru_cache(1 << 12)
def _splits(name: str) -> tuple[tuple[str, str], ...]:
    """The name of an object and that of a member, for each dot of a name."""
    return tuple((name[:at], name[at + 1 :]) for at, letter in enumerate(name) if letter == ".")
