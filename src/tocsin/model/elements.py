"""The elements of lists as events, for the operator ANY.

An object keeps its own attributes. Any other element becomes an event with the single attribute `element`. An element
that cannot be read satisfies no condition, and no condition is FALSE for it.
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
"""The attribute that holds an element that is not an object, as in `ANY(tags, element LIKE 'a%')`."""


class Elements(tuple["Mapping[str, Value | Elements] | None", ...]):
    """The values of each element of a list; None for an element that cannot be read."""

    __slots__ = ()


Values: TypeAlias = Mapping[str, Value | Elements]
"""The values of a flattened event, with the elements of a list under `as_elements(name)`. Made by `values_for`."""


def values_for(trees: Iterable[Expression], record: Mapping[str, Any]) -> dict[str, Value | Elements]:
    """Flatten an event, and add the elements of the lists that expressions ask for. Raises `RecordError` as `flatten`.

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
    """Turn an element of a list into an event.

    >>> as_record({"price": 3}), as_record(3)
    ({'price': 3}, {'element': 3})
    """
    return element if isinstance(element, Mapping) and not is_geometry(element) else {ELEMENT: element}


def elements_in(record: Mapping[str, Any], name: str) -> list[Any] | None:
    """The elements of an event's list, found by its dotted name through nested objects; None if there is no list.

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
