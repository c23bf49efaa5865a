"""Worked examples of similarity: subscriptions, an event, alpha and a threshold, and the answer worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from tocsin.model.values import UNTYPED, Box, Point

SQUARE: Final = "S_INTERSECTS(p, BBOX(0, 0, 10, 10))"
PAIR: Final = "A_CONTAINS(w, ('a', 'b'))"
BOTH: Final = f"{SQUARE} AND {PAIR}"
POLYGON: Final = {"type": "Polygon", "coordinates": [[[0, 0], [10, 0], [10, 10], [0, 10], [0, 0]]]}
HERE: Final = {"p": Point(5.0, 5.0), "w": ["a", "b"]}
LEAST: Final = 5e-324
BIG: Final = 1e16  # the first power of ten at which adding 1.0 once changes nothing, and 2.0 does


class Worked(NamedTuple):
    """One event's answer, the best first. `subscriptions` are texts by id; `alone` gives the one of them its score."""

    told: str
    subscriptions: Mapping[Any, str]
    event: Mapping[str, Any]
    answer: list[tuple[Any, float]]
    unanswered: int = 0
    alpha: float = 0.5
    threshold: float = LEAST
    weights: Mapping[str, float] | None = None


def alone(told: str, event: Mapping[str, Any], score: float | None, text: str = BOTH, **rest: Any) -> Worked:
    """An example of one subscription: its score, or None where it does not reach the threshold."""
    return Worked(told, {1: text}, event, [] if score is None else [(1, score)], **rest)


def placed(told: str, place: Any, share: float, region: str = "BBOX(0, 0, 10, 10)") -> Worked:
    """An example of places only; both keywords are there, so that the score is half of (share + 1)."""
    text = f"S_INTERSECTS(p, {region}) AND {PAIR}"
    return alone(told, {"p": place, "w": ["a", "b"]}, 0.5 * share + 0.5, text)


def said(told: str, words: Any, share: float | None, keywords: str = "('a', 'b')", **rest: Any) -> Worked:
    """An example of keywords only, by alpha = 0."""
    text = f"{SQUARE} AND A_CONTAINS(w, {keywords})"
    return alone(told, {"p": Point(5.0, 5.0), "w": words}, share, text, alpha=0.0, **rest)


def filtered(told: str, more: str, event: Mapping[str, Any], score: float | None) -> Worked:
    """An example of a conjunct beside the two."""
    return alone(told, HERE | event, score, f"{BOTH} AND {more}")


def refused(told: str, text: str) -> Worked:
    """An example of a subscription that does not answer, whatever the event; one beside it does."""
    return Worked(told, {1: text, 2: BOTH}, HERE | {"x": 1}, [(2, 1.0)], unanswered=1)


PLACES: Final = [
    placed("a point within", Point(5.0, 5.0), 1.0),
    placed("a region that is a point", Point(5.0, 5.0), 1.0, "POINT(5 5)"),
    placed("a region that is another point", Point(5.0, 5.0), 0.0, "POINT(5 6)"),
    placed("a point on the edge", Point(10.0, 5.0), 1.0),
    placed("a point on the corner", Point(0.0, 0.0), 1.0),
    placed("a point outside", Point(10.5, 5.0), 0.0),
    placed("a region on both sides of the antimeridian", Point(-175.0, 5.0), 1.0, "BBOX(170, 0, -170, 10)"),
    placed("a box on one of its sides", Box(-175.0, 0.0, -170.0, 10.0), 0.25, "BBOX(170, 0, -170, 10)"),
    placed("both on both sides", Box(175.0, 0.0, -175.0, 20.0), 0.5, "BBOX(170, 0, -170, 10)"),
    placed("a box on both sides of a region on one", Box(175.0, 0.0, -175.0, 20.0), 0.5, "BBOX(170, 0, 180, 10)"),
    placed("between the sides", Point(0.0, 5.0), 0.0, "BBOX(170, 0, -170, 10)"),
    placed("two numbers are a point", [5, 5], 1.0),
    placed("a point in GeoJSON", {"type": "Point", "coordinates": [5, 5]}, 1.0),
    placed("four numbers are a box: a quarter", [5, 5, 15, 15], 0.25),
    placed("a box: half", Box(-5.0, -5.0, 5.0, 20.0), 0.5),
    placed("a box within: a hundredth", Box(3.0, 3.0, 4.0, 4.0), 0.01),
    placed("a box around it all", Box(-1.0, -1.0, 11.0, 11.0), 1.0),
    placed("a box that crosses it without a corner in it", Box(4.0, -9.0, 6.0, 19.0), 0.2),
    placed("a box beyond two of its sides", Box(11.0, 11.0, 12.0, 12.0), 0.0),
    placed("a box that touches an edge shares no area", Box(10.0, 0.0, 20.0, 10.0), 0.0),
    placed("a box that touches a corner neither", Box(10.0, 10.0, 20.0, 20.0), 0.0),
    placed("a box without area that touches is in contact", Box(10.0, 2.0, 10.0, 4.0), 1.0),
    placed("and is not, a little further", Box(10.5, 2.0, 10.5, 4.0), 0.0),
    placed("a region without area, within a box", Box(0.0, 0.0, 10.0, 10.0), 1.0, "BBOX(5, 2, 5, 4)"),
    placed("on its edge", Box(5.0, 0.0, 10.0, 10.0), 1.0, "BBOX(5, 2, 5, 4)"),
    placed("outside of it", Box(5.5, 0.0, 10.0, 10.0), 0.0, "BBOX(5, 2, 5, 4)"),
    placed("a region that is a point, on a point", Point(5.0, 5.0), 1.0, "BBOX(5, 5, 5, 5)"),
    placed("and beside it", Point(5.0, 6.0), 0.0, "BBOX(5, 5, 5, 5)"),
    placed("a region too small to have an area", Box(0.0, 0.0, 1.0, 1.0), 1.0, "BBOX(0, 0, 1e-200, 1e-200)"),
    placed("a region too large to have one", Box(0.0, 0.0, 1.0, 1.0), 0.0, "BBOX(0, 0, 1e300, 1e300)"),
    placed("in a box as large", Box(0.0, 0.0, 1e300, 1e300), 0.0, "BBOX(0, 0, 1e300, 1e300)"),
    placed("in which a point is in contact", Point(1.0, 1.0), 0.0, "BBOX(0, 0, 1e300, 1e300)")._replace(
        answer=[(1, 1.0)]
    ),
    placed("far too wide, and without height", Box(0.0, 0.0, 1.0, 1.0), 1.0, "BBOX(-1e308, 0, 1e308, 0)"),
    placed("another shape, even of a box", POLYGON, 0.0),
    placed("no place", "here", 0.0),
    placed("a reversed box is none", [10, 0, 0, 10], 0.0),
    placed("five numbers are none", [1, 2, 3, 4, 5], 0.0),
    placed("an altitude is left out", [1, 2, 3], 1.0),
    placed("of no type", UNTYPED, 0.0),
    placed("null", None, 0.0),
    alone("absent", {"w": ["a", "b"]}, 0.5),
]

WEIGHTED: Final = {"a": 3.0, "b": 1.0, "c": 9.0}
WORDS: Final = [
    said("all", ["b", "c", "a"], 1.0),
    said("one of two", ["b"], 0.5),
    said("none: 0 is no match", ["c"], None),
    said("a word that comes twice counts once", ["b", "b", "c"], 0.5),
    said("a keyword that comes twice, too", ["b"], 0.5, "('a', 'b', 'a')"),
    said("one of three", ["b", "z"], 1 / 3, "('a', 'b', 'c')"),
    said("whole words, in their case", ["A", "bb", "a"], 0.5),
    said("a number is not its digits", [1, "a"], 0.5, "('a', '1')"),
    said("text is no list", "a", None),
    said("an empty list", [], None),
    said("null", None, None),
    said("by weight: 3 of 4", ["a"], 0.75, weights=WEIGHTED),
    said("by weight: 1 of 4", ["b", "c"], 0.25, weights=WEIGHTED),
    said("what has no weight weighs 1: 3 of 4", ["a"], 0.75, "('a', 'z')", weights=WEIGHTED),
    said("large first loses the small", ["c", "b"], 2 / BIG, "('c', 'b', 'a')", weights={"a": BIG}),
    said("large last keeps them", ["b", "a"], 2 / (BIG + 2), "('c', 'b', 'a')", weights={"c": BIG}),
    said("by code point: U+FF61 before an emoji", ["😀", "😁"], 2 / BIG, "('😀', '😁', '｡')", weights={"｡": BIG}),
    said("a weight beyond float64 is no share", ["a", "b"], None, weights={"a": 1e308, "b": 1e308}),
]  # fmt: skip

SCORES: Final = [
    alone("a quarter of the area, half of the keywords", {"p": [5, 5, 15, 15], "w": ["a"]}, 0.375),
    alone("the same, three quarters spatial", {"p": [5, 5, 15, 15], "w": ["a"]}, 0.3125, alpha=0.75),
    alone("spatial only: keywords do not count", {"p": [5, 5, 15, 15]}, 0.25, alpha=1.0),
    alone("spatial only: outside", {"p": [20, 20], "w": ["a", "b"]}, None, alpha=1.0),
    alone("textual only: places do not count", {"w": ["a"]}, 0.5, alpha=0.0),
    alone("neither place nor list: no match", {}, None),
    alone("at the threshold", {"p": [5, 5, 15, 15], "w": ["a"]}, 0.375, threshold=0.375),
    alone("below it by a bit", {"p": [5, 5, 15, 15], "w": ["a"]}, None, threshold=0.37500000000000006),
    alone("everything is 1, for any alpha", HERE, 1.0, alpha=0.1, threshold=1.0),
    alone("0.3 * 1 + 0.7 * 0.5, as it rounds", HERE | {"w": ["a"]}, 0.3 + (1.0 - 0.3) * 0.5, alpha=0.3),
    alone("one attribute is both, and a list is no place", {"p": ["a"]}, 0.25, BOTH.replace("w,", "p,")),
    alone("a bad event", {"p": [5, 5], "w": ["a", "b"], "x.y": 1, "x": {"y": 1}}, None),
]  # fmt: skip

FILTERS: Final = [
    filtered("another condition that holds", "x > 1", {"x": 2}, 1.0),
    filtered("one that does not", "x > 1", {"x": 1}, None),
    filtered("one that is unknown", "x > 1", {}, None),
    filtered("a polygon more", "S_INTERSECTS(p, POLYGON((0 0, 9 0, 9 9, 0 0)))", {}, 1.0),
    filtered("a polygon beside", "S_INTERSECTS(p, POLYGON((20 20, 29 20, 29 29, 20 20)))", {}, None),
    filtered("a box that it is not in", "S_DISJOINT(p, BBOX(20, 20, 30, 30))", {}, 1.0),
    filtered("a denied box", "NOT S_INTERSECTS(p, BBOX(20, 20, 30, 30))", {}, 1.0),
    filtered("a denied list", "NOT A_CONTAINS(w, ('a', 'c'))", {}, 1.0),
    filtered("a list of more than strings", "A_CONTAINS(w, ('a', 1))", {"w": ["a", "b", 1]}, 1.0),
    filtered("an empty list", "A_CONTAINS(w, ())", {}, 1.0),
    filtered("which needs a list", "A_CONTAINS(w, ())", {"w": "a"}, None),
    filtered("the other way round it is another question", "A_CONTAINEDBY(w, ('a', 'b'))", {}, 1.0),
    filtered("and filters", "A_CONTAINEDBY(w, ('a', 'b'))", {"w": ["a", "b", "c"]}, None),
    filtered("lists of two attributes", "A_CONTAINS(w, v)", {"v": ["a"]}, 1.0),
    filtered("places of two attributes", "S_INTERSECTS(p, q)", {"q": [6, 6]}, None),
    filtered("TRUE", "TRUE", {}, 1.0),
    filtered("FALSE", "FALSE", {}, None),
    alone("written the other way round", HERE, 1.0, "A_CONTAINEDBY(('a'), w) AND S_INTERSECTS(BBOX(0, 0, 9, 9), p)"),
    alone("denied twice", HERE, 1.0, f"NOT NOT ({BOTH})"),
    alone("denied with OR", HERE, 1.0, f"NOT (NOT {SQUARE} OR NOT {PAIR})"),
    alone("an AND in parentheses is no other", HERE | {"x": 1}, 1.0, f"(x = 1 AND {SQUARE}) AND (({PAIR}))"),
]  # fmt: skip

REFUSED: Final = [
    refused("a region alone", SQUARE),
    refused("keywords alone", PAIR),
    refused("a region, and something else", f"{SQUARE} AND x = 1"),
    refused("keywords, and something else", f"{PAIR} AND x = 1"),
    refused("either", f"{SQUARE} OR {PAIR}"),
    refused("both, under an OR", f"{BOTH} OR x = 2"),
    refused("one of them under an OR", f"({SQUARE} OR x = 2) AND {PAIR}"),
    refused("one of them denied", f"{SQUARE} AND NOT A_CONTAINS(w, ('c'))"),
    refused("two regions", f"{BOTH} AND S_INTERSECTS(p, BBOX(1, 1, 9, 9))"),
    refused("two regions of two attributes", f"{BOTH} AND S_INTERSECTS(q, BBOX(1, 1, 9, 9))"),
    refused("one region twice", f"{BOTH} AND {SQUARE}"),
    refused("two lists", f"{BOTH} AND A_CONTAINS(w, ('a'))"),
    refused("a polygon", f"S_INTERSECTS(p, POLYGON((0 0, 10 0, 10 10, 0 0))) AND {PAIR}"),
    refused("two regions, one of them a point", f"{BOTH} AND S_INTERSECTS(p, POINT(5 5))"),
    refused("another spatial function", f"S_WITHIN(p, BBOX(0, 0, 10, 10)) AND {PAIR}"),
    refused("another array function", f"{SQUARE} AND A_OVERLAPS(w, ('a', 'b'))"),
    refused("no keyword", f"{SQUARE} AND A_CONTAINS(w, ())"),
    refused("a keyword that is no string", f"{SQUARE} AND A_CONTAINS(w, ('a', 1))"),
    refused("no constants", f"{SQUARE} AND A_CONTAINS(w, w)"),
    refused("a constant", "TRUE"),
]

EQUALS: Final = dict.fromkeys((30, 4, 21, 5), BOTH)
ORDER: Final = [
    Worked("equals by id", EQUALS, HERE, [(4, 1.0), (5, 1.0), (21, 1.0), (30, 1.0)]),
    Worked(
        "the best first, and below the threshold nobody",
        {"half": BOTH, "whole": f"{SQUARE} AND A_CONTAINS(w, ('a'))", "far": f"{SQUARE} AND A_CONTAINS(w, ('b'))"},
        {"p": Point(5.0, 5.0), "w": ["a"]},
        [("whole", 1.0), ("half", 0.75)],
        threshold=0.75,
    ),
    Worked(
        "strings by code point",
        {"b": BOTH, "B": BOTH, "😀": BOTH, "｡": BOTH, "none": "x = 1"},
        HERE,
        [("B", 1.0), ("b", 1.0), ("｡", 1.0), ("😀", 1.0)],
        unanswered=1,
    ),
]

WORKED: Final[list[Worked]] = [*PLACES, *WORDS, *SCORES, *FILTERS, *REFUSED, *ORDER]
