"""What are the elements of a list, for who asks for any of them? Each is an event of its own.

An object has its own attributes; anything else is the one attribute `element`. What cannot be read fulfils nothing, and
nothing is FALSE of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any, Final, TypeAlias

from tocsin.errors import RecordError
from tocsin.model.event import flatten, is_geometry
from tocsin.model.expression import AnyElement, Expression, walk
from tocsin.model.readings import as_elements
from tocsin.model.values import UNTYPED, Range, Value

ELEMENT: Final = "element"
"""The attribute that an element is which is no object, as in `ANY(tags, element LIKE 'a%')`."""


class Elements(tuple["Mapping[str, Value | Elements] | None", ...]):
    """The values of each element of a list; None for one that cannot be read."""

    __slots__ = ()


Values: TypeAlias = Mapping[str, Value | Elements]
"""The values of a flattened event; under `as_elements(name)` the elements of a list: `values_for`."""


def values_for(trees: Iterable[Expression], record: Mapping[str, Any]) -> dict[str, Value | Elements]:
    """An event flattened, with the elements of the lists that expressions ask for; raises `RecordError` as `flatten`.

    >>> from tocsin.language import parse
    >>> values_for([parse("ANY(tags, element = 'new')")], {"tags": ["new"]})
    {'tags': ('new',), 'tags\\x00elements': ({'element': 'new'},)}
    """
    values: dict[str, Value | Elements] = dict(flatten(record).values)
    asked: dict[str, list[Expression]] = {}
    for node in (node for tree in trees for node in walk(tree) if isinstance(node, AnyElement)):
        asked.setdefault(node.items.name, []).append(node.condition)
    for name, conditions in asked.items():
        found = elements_in(record, name)
        if found is not None:
            values[as_elements(name)] = Elements(_values_of(conditions, one) for one in found)
    return values


def _values_of(conditions: list[Expression], element: Any) -> Mapping[str, Value | Elements] | None:
    try:
        values = values_for(conditions, as_record(element))
    except RecordError:
        return None
    return {name: UNTYPED if isinstance(value, Range) else value for name, value in values.items()}


def as_record(element: Any) -> Mapping[str, Any]:
    """An element of a list as an event.

    >>> as_record({"price": 3}), as_record(3)
    ({'price': 3}, {'element': 3})
    """
    return element if isinstance(element, Mapping) and not is_geometry(element) else {ELEMENT: element}


def elements_in(record: Mapping[str, Any], name: str) -> list[Any] | None:
    """The elements of the list that an event has under a dotted name, through objects; None where it has none.

    >>> elements_in({"order": {"items": [{"price": 3}]}}, "order.items"), elements_in({"items": 3}, "items")
    ([{'price': 3}], None)
    """
    found = record.get(name)
    if isinstance(found, list | tuple | Set):
        return list(found)
    if type(found).__name__ == "ndarray" and getattr(found, "ndim", 0) == 1:
        return list(found)  # type: ignore[arg-type]
    for at, letter in enumerate(name):
        inner = record.get(name[:at]) if letter == "." else None
        if isinstance(inner, Mapping) and not is_geometry(inner):
            within = elements_in(inner, name[at + 1 :])
            if within is not None:
                return within
    return None
