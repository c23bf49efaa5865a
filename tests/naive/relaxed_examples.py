"""Worked examples of relaxed rankings: subscriptions, an event, a ranking, and the answer worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

NURSING: Final = "job = 'nursing' AND rate BETWEEN 45 AND 60 AND hours BETWEEN 20 AND 30"
NURSE: Final = {"nurse": (NURSING, {"job": 2, "rate": 1.5})}
BIG: Final = 1e16  # the first power of ten at which adding 1.0 once changes nothing, and 2.0 does


class Worked(NamedTuple):
    """One event's answer, the best first. `subscriptions` are (text, weights) by id."""

    told: str
    subscriptions: Mapping[Any, tuple[str, Mapping[str, float]]]
    event: Mapping[str, Any]
    answer: list[tuple[Any, float]]
    k: int = 9
    combine: str | Callable[[list[float]], float] = "sum"
    drop: tuple[str, ...] = ()

    def options(self) -> dict[str, Any]:
        return {"combine": self.combine, "drop": self.drop}


def alone(told: str, text: str, event: Mapping[str, Any], score: float | None, **rest: Any) -> Worked:
    """An example of one subscription: its score, or None where nothing of it holds."""
    weights = rest.pop("weights", {})
    return Worked(told, {1: (text, weights)}, event, [] if score is None else [(1, score)], **rest)


NURSES: Final = [
    Worked("all three: 2 + 1.5 + 1", NURSE, {"job": "nursing", "rate": 50, "hours": 25}, [("nurse", 4.5)]),
    Worked("too many hours: 2 + 1.5", NURSE, {"job": "nursing", "rate": 45, "hours": 40}, [("nurse", 3.5)]),
    Worked("another job: 1.5 + 1", NURSE, {"job": "teaching", "rate": 60, "hours": 20}, [("nurse", 2.5)]),
    Worked("no rate said: 2 + 1", NURSE, {"job": "nursing", "hours": 30}, [("nurse", 3.0)]),
    Worked("text for hours is no number: 2", NURSE, {"job": "nursing", "hours": "25"}, [("nurse", 2.0)]),
    Worked("nothing holds: no match", NURSE, {"job": "teaching", "rate": 61, "hours": 31}, []),
    Worked("nothing is said: no match", NURSE, {}, []),
    Worked("jobs are dropped: 1.5", NURSE, {"job": "nursing", "rate": 50}, [("nurse", 1.5)], drop=("job",)),
    Worked("the greatest", NURSE, {"job": "nursing", "rate": 50, "hours": 25}, [("nurse", 2.0)], combine="max"),
    Worked("the least", NURSE, {"job": "nursing", "rate": 50, "hours": 25}, [("nurse", 1.0)], combine="min"),
    Worked("the least of those that hold", NURSE, {"job": "nursing", "rate": 50}, [("nurse", 1.5)], combine="min"),
]

DIMENSIONS: Final = [
    alone("a range written as two is one", "a > 1 AND a < 5", {"a": 3}, 3.0, weights={"a": 3}),
    alone("and holds as a whole", "a > 1 AND a < 5", {"a": 7}, None, weights={"a": 3}),
    alone("conjuncts of one attribute need not be neighbours", "a > 1 AND b = 1 AND a < 5", {"a": 7, "b": 1}, 1.0),
    alone("what is never true is one that never holds", "a = 1 AND a = 2 AND b = 1", {"a": 1, "b": 1}, 1.0),
    alone("said twice, it counts once", "a = 1 AND a = 1", {"a": 1}, 1.0),
    alone("a denied OR of two attributes is one", "NOT (a = 1 OR b = 2)", {"a": 0, "b": 3}, 1.0),
    alone("and half of it is nothing", "NOT (a = 1 OR b = 2)", {"a": 0, "b": 2}, None),
    alone("nor where one is unknown", "NOT (a = 1 OR b = 2)", {"a": 0}, None),
    alone("a denied OR of one attribute is its", "NOT (a = 1 OR a = 2) AND a > 0", {"a": 3}, 0.5, weights={"a": 0.5}),
    alone("an OR of two is one", "(a = 1 OR b = 2) AND c = 1", {"b": 2}, 1.0, weights={"a": 9, "b": 9}),
    alone("an OR at the root is one", "a = 1 AND b = 1 OR c = 1", {"a": 1, "b": 2, "c": 3}, None),
    alone("of several attributes weighs one", "a > b", {"a": 2, "b": 1}, 1.0, weights={"a": 5, "b": 7}),
    alone("two of the same several are two", "a > b AND a < b + 9", {"a": 2, "b": 1}, 2.0),
    alone("which hold apart", "a > b AND a < b + 9", {"a": 20, "b": 1}, 1.0),
    alone("several are no part of one's", "a > b AND a = 2", {"a": 2, "b": 5}, 4.0, weights={"a": 4}),
    alone("an AND in parentheses is no other", "(a = 1 AND b = 1) AND c = 1", {"b": 1}, 1.0),
    alone("IN is one", "a IN ('x', 'y') AND b = 1", {"a": "y"}, 2.5, weights={"a": 2.5}),
    alone("a list's is one", "A_CONTAINS(a, ('x', 'y')) AND b = 1", {"a": ["z", "y", "x"]}, 2.5, weights={"a": 2.5}),
    alone("TRUE holds of any event", "TRUE AND a = 1", {}, 1.0, weights={"a": 5}),
    alone("beside the others", "TRUE AND a = 1", {"a": 1}, 6.0, weights={"a": 5}),
    alone("constants are one each", "1 < 2 AND TRUE AND a = 1", {}, 2.0),
    alone("FALSE is one that never holds", "FALSE AND a = 1", {"a": 1}, 5.0, weights={"a": 5}),
    alone("TRUE by itself", "TRUE", {}, 1.0),
    alone("FALSE by itself", "FALSE", {}, None),
    alone("a bare attribute", "a AND b", {"a": True, "b": False}, 3.0, weights={"a": 3}),
    alone("absent is unknown", "a <> 1 AND b <> 1", {"b": 2}, 1.0),
    alone("unless it is asked for", "a IS NULL AND b <> 1", {}, 0.25, weights={"a": 0.25}),
    alone("null is absent", "a IS NULL AND b <> 1", {"a": None, "b": None}, 0.25, weights={"a": 0.25}),
    alone("nested names", "a.b = 1 AND a.c = 1", {"a": {"b": 1, "c": 2}}, 4.0, weights={"a.b": 4}),
]

DROPPED: Final = [
    alone("one that is left", "a = 1 AND b = 1", {"a": 1, "b": 1}, 1.0, weights={"a": 5}, drop=("a",)),
    alone("none that is left", "a = 1 AND b = 1", {"a": 1, "b": 1}, None, drop=("b", "a")),
    alone("any of several", "(a = 1 OR b = 1) AND c = 1", {"a": 1, "c": 1}, 1.0, drop=("b",)),
    alone("a name that nobody uses", "a = 1", {"a": 1}, 1.0, drop=("z",)),
    alone("a name is whole", "a.b = 1 AND ab = 1", {"a": {"b": 1}, "ab": 1}, 2.0, drop=("a", "b")),
    alone("a constant has no name", "TRUE AND a = 1", {"a": 1}, 1.0, drop=("a",)),
    alone("asked for null", "a IS NULL AND b = 1", {}, None, drop=("a",)),
]


def _added(weights: list[float]) -> float:
    """The last first would round otherwise."""
    total = 0.0
    for weight in weights:
        total += weight
    return total


NUMBERS: Final = [
    alone("a weight of 0 is a match", "a = 1 AND b = 1", {"a": 1}, 0.0, weights={"a": 0}),
    alone("three tenths, from the left", "a = 1 AND b = 1 AND c = 1", {"a": 1, "b": 1, "c": 1}, 0.1 + 0.2 + 0.3,
          weights={"a": 0.1, "b": 0.2, "c": 0.3}),
    alone("by name, not by place", "c = 1 AND b = 1 AND a = 1", {"a": 1, "b": 1, "c": 1}, 0.6000000000000001,
          weights={"a": 0.1, "b": 0.2, "c": 0.3}),
    alone("large first loses the small", "a = 1 AND b = 1 AND c = 1", {"a": 1, "b": 1, "c": 1}, BIG,
          weights={"a": BIG}),
    alone("large last keeps them", "a = 1 AND b = 1 AND c = 1", {"a": 1, "b": 1, "c": 1}, BIG + 2, weights={"c": BIG}),
    alone("no name comes first", "a = 1 AND TRUE AND 1 = 1", {"a": 1}, BIG + 2, weights={"a": BIG}),
    alone("a before a and b", "(a = 1 OR b = 1) AND (b = 1 OR a = 1) AND a > 0", {"a": 1}, BIG, weights={"a": BIG}),
    alone("a and b before b", "b > 0 AND (b = 1 OR a = 1) AND (a = 1 OR b = 1)", {"b": 1}, BIG + 2,
          weights={"b": BIG}),
    alone("names by code point: Z before a", "a = 1 AND b = 1 AND Z = 1", {"a": 1, "b": 1, "Z": 1}, BIG,
          weights={"Z": BIG}),
    alone("and U+FF61 before an emoji", '"😀" = 1 AND "😁" = 1 AND "｡" = 1', {"😀": 1, "😁": 1, "｡": 1}, BIG,
          weights={"｡": BIG}),
    alone("beyond float64", "a = 1 AND b = 1", {"a": 1, "b": 1}, math.inf, weights={"a": 1e308, "b": 1e308}),
    alone("a function, of the weights in order", "c = 1 AND b = 1 AND a = 1", {"a": 1, "b": 1, "c": 1}, BIG + 2,
          weights={"c": BIG}, combine=_added),
    alone("a function, of those that hold", "a = 1 AND b = 1 AND c = 1", {"a": 1, "c": 1}, 4.0,
          weights={"a": 3, "b": 9}, combine=_added),
    alone("a function may go below 0", "a = 1 AND b = 1", {"a": 1, "b": 1}, -0.25,
          combine=lambda weights: -0.5 / len(weights)),
]  # fmt: skip

EQUALS: Final = {name: ("a = 1 AND b = 1", {}) for name in (30, 4, 21, 5)}
BEST: Final = [
    Worked("equals by id", EQUALS, {"a": 1}, [(4, 1.0), (5, 1.0), (21, 1.0), (30, 1.0)]),
    Worked("equals at the last place", EQUALS, {"b": 1}, [(4, 1.0), (5, 1.0)], k=2),
    Worked(
        "half of the heavy before all of the light",
        {"light": ("a = 1 AND b = 1", {}), "heavy": ("a = 1 AND b = 2", {"a": 2.5}), "gone": ("a = 2", {})},
        {"a": 1, "b": 1},
        [("heavy", 2.5), ("light", 2.0)],
    ),
    Worked(
        "0 after everything, before nothing",
        {1: ("a = 1", {"a": 0}), 2: ("a = 1", {}), 3: ("a = 2", {}), 0: ("a > 0", {"a": 0})},
        {"a": 1},
        [(2, 1.0), (0, 0.0), (1, 0.0)],
    ),
    Worked(
        "strings by code point",
        {"b": ("a = 1", {}), "B": ("a = 1", {}), "😀": ("a = 1", {}), "｡": ("a = 1", {})},
        {"a": 1},
        [("B", 1.0), ("b", 1.0), ("｡", 1.0)],
        k=3,
    ),
    Worked(
        "sums that differ in the last bit are no equals",
        {1: ("a = 1 AND b = 1", {"a": 0.1, "b": 0.2}), 2: ("a = 1", {"a": 0.3}), 3: ("b = 1", {"b": 0.1 + 0.2})},
        {"a": 1, "b": 1},
        [(1, 0.1 + 0.2), (3, 0.1 + 0.2), (2, 0.3)],
    ),
]

WORKED: Final[list[Worked]] = [*NURSES, *DIMENSIONS, *DROPPED, *NUMBERS, *BEST]
