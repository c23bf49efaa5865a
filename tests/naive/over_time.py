"""Values of functions of several events, and truths of conditions with them, by looking back over an object's history.

A `Condition` is an expression in which the values of terms are attributes under names of their own. A `Term` is a
function, an attribute, a condition and a span. Instants and spans are whole microseconds. A `History` is the events
of one object, in the order in which they are processed. Its values and truths are of two kinds:

* *at an event*: values are of the events up to and including this one. Later events of the same instant are not
  among them. `PREVIOUS` and `SINCE` are of earlier events, which may have the same instant;
* *at an instant between events*, after the latest event and before the next: windows end at the instant, `SINCE` is
  measured from the latest event for which the condition was TRUE, and that may be the latest one of all.

Decisions where the contract says nothing, as SQL has them if SQL has a word for it:

1. Conditions inside terms are about events, so they have a truth at each event, and none between events.
2. Between events the attributes of the latest event stand, and so does `PREVIOUS`, since no event came after it.
   In SQL this is a row at the instant that no aggregate counts.
3. An event at `t` is in windows of the span `s` until `t + s`. It leaves at `t + s` and one microsecond.
4. An event for which `SINCE`'s condition is TRUE counts from one microsecond after it. So a `SINCE(...) >= 600` that
   is TRUE when its event arrives stays TRUE at this event, and becomes FALSE one microsecond later.
5. `SUM`, `AVG`, `MIN` and `MAX` ignore whatever is not a number: strings, booleans, lists, ranges. `SUM` is rounded
   once, whatever the order of the events. `AVG` is this sum, divided by the count. One beyond float64 is absent.
6. `COUNT_DISTINCT` counts numbers, strings, booleans and instants; 1 is not TRUE, and -0 is 0. Lists, places, ranges
   and values without a type are not counted.
7. `PREVIOUS` gives a value of any type, also a list. A null is not a value, so an event with null is passed over.
8. A range may make a condition both TRUE and FALSE. Such a condition counts as TRUE, as it does in matching.
9. Values of terms are attributes of the event, but not members of it: `ANY_ATTRIBUTE` does not see them.
10. Terms inside a condition have the key of their subscription, at every depth.
11. `NOW()` is the present of the whole test. It does not move with the events.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, NamedTuple, TypeAlias

from tests.naive.flatten import Flat
from tests.naive.ranges import can_be
from tests.naive.truth import truth
from tocsin.model.expression import Expression
from tocsin.model.values import Instant, Value

Function: TypeAlias = Literal["COUNT", "COUNT_DISTINCT", "SUM", "AVG", "MIN", "MAX", "PREVIOUS", "SINCE"]

MOST_DEPTH: Final = 8
SECOND: Final = 1_000_000


@dataclass(frozen=True)
class Term:
    """A function of several events. Without a condition, it is of all events."""

    function: Function
    attribute: str | None = None
    condition: Condition | None = None
    span: int | None = None


@dataclass(frozen=True)
class Condition:
    """An expression, and the terms whose values are some of its attributes. Refuses terms more than 8 deep."""

    expression: Expression
    terms: tuple[tuple[str, Term], ...] = ()

    def __post_init__(self) -> None:
        if self.depth() > MOST_DEPTH:
            raise ValueError(f"functions are nested {self.depth()} deep; at most {MOST_DEPTH} is allowed")

    def depth(self) -> int:
        """How many terms enclose each other at most; 0 without terms."""
        inner = [term.condition.depth() if term.condition else 0 for _, term in self.terms]
        return 1 + max(inner) if inner else 0


class Event(NamedTuple):
    """An event of one object: its instant in microseconds, and its attributes."""

    at: int
    values: Flat


class History:
    """Events of one object in the order of processing, and what was TRUE at them."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.events = events
        self._known: dict[tuple[Condition, int], bool | None] = {}

    def truth(self, condition: Condition, number: int) -> bool | None:
        """TRUE, FALSE or UNKNOWN (None) at the event of this number."""
        if (condition, number) not in self._known:
            self._known[condition, number] = _settled(condition, self.values(condition, number))
        return self._known[condition, number]

    def truth_after(self, condition: Condition, number: int, instant: int) -> bool | None:
        """The truth at an instant, if the event of this number is the latest one then."""
        return _settled(condition, self.values(condition, number, instant))

    def values(self, condition: Condition, number: int, instant: int | None = None) -> Flat:
        """The attributes of an event and the values of terms, at the event, or at an instant after it."""
        event = self.events[number]
        terms = {name: self.value(term, number, instant) for name, term in condition.terms}
        values = Flat({**event.values, **{name: value for name, value in terms.items() if value is not None}})
        values.lists = event.values.lists
        values.record, values.nulls = event.values.record, event.values.nulls
        return values

    def value(self, term: Term, number: int, instant: int | None = None) -> Value | None:
        """What a term is at an event, or at an instant after it; None for absence."""
        now = self.events[number].at if instant is None else instant
        earlier = range(number) if instant is None else range(number + 1)
        if term.function == "PREVIOUS":
            return self._previous(term, range(number))
        if term.function == "SINCE":
            satisfying = [self.events[n].at for n in earlier if self._holds(term, n)]
            return (now - satisfying[-1]) / SECOND if satisfying else None
        assert term.span is not None
        within = (n for n in range(number + 1) if now - term.span <= self.events[n].at <= now)
        return _aggregate(term.function, list(self._attributes(term, within)))

    def _previous(self, term: Term, earlier: range) -> Value | None:
        assert term.attribute is not None
        values = [self.events[n].values.get(term.attribute) for n in earlier if self._holds(term, n)]
        present = [value for value in values if value is not None]
        return present[-1] if present else None

    def _attributes(self, term: Term, numbers: Iterator[int]) -> Iterator[Value | None]:
        for number in numbers:
            if self._holds(term, number):
                yield None if term.attribute is None else self.events[number].values.get(term.attribute)

    def _holds(self, term: Term, number: int) -> bool:
        return term.condition is None or self.truth(term.condition, number) is True


def _settled(condition: Condition, values: Flat) -> bool | None:
    possible = can_be(truth(condition.expression, values))
    return None if not possible else True in possible


def _aggregate(function: Function, values: list[Value | None]) -> float | None:
    """What a function makes of the attribute in each event of a window for which the condition was TRUE."""
    if function == "COUNT":
        return float(len(values))
    if function == "COUNT_DISTINCT":
        return float(len({(type(value), value) for value in values if isinstance(value, float | str | bool | Instant)}))
    numbers = [value for value in values if type(value) is float]
    if not numbers:
        return None
    if function == "MIN":
        return min(numbers)
    if function == "MAX":
        return max(numbers)
    return _mean(numbers) if function == "AVG" else _sum(numbers)


def _sum(numbers: list[float]) -> float | None:
    try:
        return float(sum(map(Fraction, numbers)))
    except OverflowError:
        return None


def _mean(numbers: list[float]) -> float | None:
    total = _sum(numbers)
    return None if total is None else total / len(numbers)
