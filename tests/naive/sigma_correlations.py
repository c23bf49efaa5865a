"""At which events does a correlation of Sigma hold? A naive reading of its specification, over a stream of events.

A correlation holds at an event of one of its rules, if the events of the `timespan` up to this one with the same values
of `group-by` satisfy its condition. Decisions where the specification says nothing:

* the span is closed: an event exactly `timespan` before counts;
* an event counts once, however many of the rules it satisfies;
* an event without a field of `group-by` is in no group;
* values are different as in Python, but True is not 1; lists and objects are not values;
* numbers are those of JSON, and no texts; without any, a sum, an average or a percentile satisfies nothing;
* a percentile is the number at the rank `ceil(percentile / 100 * count)`, and a median is the percentile 50;
* events in order are different events, and the correlation holds at the last of them.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple

from tests.naive.sigma_reading import matches

Document = Mapping[str, Any]
SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
COMPARED: Final = {
    "lt": operator.lt,
    "lte": operator.le,
    "gt": operator.gt,
    "gte": operator.ge,
    "eq": operator.eq,
    "neq": operator.ne,
}


class Event(NamedTuple):
    """An event and its time, in seconds."""

    time: int
    values: Mapping[str, Any]


def hits(document: Document, documents: Sequence[Document], events: Sequence[Event]) -> set[int]:
    """The numbers of the events at which a rule or a correlation holds. Events are in order of time."""
    if "correlation" not in document:
        return {number for number, event in enumerate(events) if matches(document, event.values)}
    correlation = document["correlation"]
    names = correlation["rules"] if isinstance(correlation["rules"], list) else [correlation["rules"]]
    rules = [hits(_named(name, documents), documents, events) for name in dict.fromkeys(names)]
    return {number for number in set().union(*rules) if _holds(correlation, rules, events, number)}


def _named(name: str, documents: Sequence[Document]) -> Document:
    (found,) = (one for one in documents if name in (one.get("name"), one.get("id")))
    return found


def _holds(correlation: Document, rules: Sequence[set[int]], events: Sequence[Event], last: int) -> bool:
    group = correlation["group-by"] if isinstance(correlation["group-by"], list) else [correlation["group-by"]]
    span = int(correlation["timespan"][:-1]) * SECONDS[correlation["timespan"][-1]]
    key = [events[last].values.get(name) for name in group]
    if None in key:
        return False
    window = [
        number
        for number in range(last + 1)
        if events[last].time - events[number].time <= span
        and [events[number].values.get(name) for name in group] == key
    ]
    parts = [[number for number in window if number in rule] for rule in rules]
    condition = correlation.get("condition", {"gte": len(rules)})
    if correlation["type"] == "temporal_ordered":
        return last in parts[-1] and _in_order(parts[:-1], last)
    found = [events[number].values for number in sorted(set().union(*parts))]
    measured = len(list(filter(None, parts))) if correlation["type"] == "temporal" else _measured(correlation, found)
    return measured is not None and all(
        COMPARED[name](measured, limit) for name, limit in condition.items() if name in COMPARED
    )


def _in_order(parts: Sequence[Sequence[int]], before: int) -> bool:
    """Whether there is an event of each part, in order, before one."""
    return not parts or any(number < before and _in_order(parts[:-1], number) for number in parts[-1])


def _measured(correlation: Document, found: Sequence[Mapping[str, Any]]) -> Fraction | int | None:
    """What the events of a window amount to; None if there is nothing to compare."""
    kind, condition = correlation["type"], correlation.get("condition", {})
    if kind == "event_count":
        return len(found)
    values = [event.get(condition["field"]) for event in found]
    if kind == "value_count":
        return len({(type(value) is bool, value) for value in values if isinstance(value, str | int | float)})
    numbers = sorted(Fraction(value) for value in values if type(value) in (int, float))
    if not numbers:
        return None
    if kind in ("value_sum", "value_avg"):
        return sum(numbers) / (1 if kind == "value_sum" else len(numbers))
    percentile = 50 if kind == "value_median" else condition["percentile"]
    return numbers[math.ceil(Fraction(str(percentile)) / 100 * len(numbers)) - 1]
