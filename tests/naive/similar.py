"""Which subscriptions of a region and keywords resemble an event, and how much? Each of them against each event.

The score is `alpha * spatial + (1.0 - alpha) * textual`; it answers where that is at least the threshold, which is
above 0, so that something must be in common. Where nothing is said of what this means, it was chosen here:

* **Who answers.** An AND of which exactly one conjunct is S_INTERSECTS of an attribute and a BBOX or POINT, and
  exactly one A_CONTAINS of an attribute and a list of strings that is not empty; each may be written the other way
  round (`A_CONTAINEDBY(('a'), words)`). An AND in an AND is part of it, and so is what NOT before OR becomes. Two that
  are equal are two. Any other conjunct filters, one about places or lists too (a polygon, `A_CONTAINS(words, ('a',
  1))`): it must hold, as for a match. The conjuncts of region and keywords themselves need not.
* **Who does not**, and is counted: everything else, above all one of the two by itself, and both under OR or NOT.
* **Events.** A place is a point or a box, or a list of two or four numbers that is one; a list without a string is
  one without keywords. Another shape (a polygon), what is no place and absence share nothing with a region; what is no
  list and absence nothing with keywords. One attribute may be both. A bad event resembles nobody.
* **The antimeridian.** A box whose left edge is east of its right one, on the globe, is both its sides, in
  subscriptions and events: areas, and what two have in common, are sums over sides. An OR of both sides is such a box.
* **Area** is `(xmax - xmin) * (ymax - ymin)` in float64. What has none, a product that is too small for a float64
  included, is in contact or not. A box and a region that both have area share none where only their edges meet.
* **Numbers beyond float64.** A region or weights too large to add up share nothing with anybody: 0, never NaN.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

from tests.naive.flatten import flatten
from tests.naive.truth import concerns
from tocsin.errors import RecordError
from tocsin.model.expression import And, Array, Attribute, Call, Constant, Expression, Not, Or
from tocsin.model.values import Box, Point, Value, box_of

Id = TypeVar("Id", str, int)
Bounds: TypeAlias = tuple[float, float, float, float]
Weights: TypeAlias = Mapping[str, float]


class Asked(NamedTuple):
    """What a subscription that answers asks for; keywords each once, by code point."""

    place: str
    region: Bounds
    words: str
    keywords: list[str]
    others: list[Expression]


def similar(
    subscriptions: Sequence[tuple[Id, Expression]],
    event: Mapping[str, object],
    alpha: float,
    threshold: float,
    weights: Weights | None = None,
) -> tuple[list[tuple[Id, float]], int]:
    """Those that reach the threshold as (id, score), the highest first, then by id; and how many cannot answer."""
    asked = [(name, asked_for(tree)) for name, tree in subscriptions]
    held = [(name, one) for name, one in asked if one is not None]
    unanswered = len(asked) - len(held)
    try:
        values, _ = flatten(event)
    except RecordError:
        return [], unanswered
    concerned = [(name, one) for name, one in held if all(concerns(other, values) for other in one.others)]
    scores = [(name, score_of(one, values, alpha, weights or {})) for name, one in concerned]
    ranked = sorted((-score, name) for name, score in scores if score >= threshold)
    return [(name, -negative) for negative, name in ranked], unanswered


def score_of(one: Asked, values: Mapping[str, Value], alpha: float, weights: Weights) -> float:
    """How much an event's flattened values resemble region and keywords, whatever else is asked for."""
    place, words = values.get(one.place), values.get(one.words)
    spatial = 0.0 if place is None else spatial_share(one.region, box_of(place))
    textual = textual_share(one.keywords, words if isinstance(words, tuple) else (), weights)
    return alpha * spatial + (1.0 - alpha) * textual


def spatial_share(region: Bounds, place: Bounds | None) -> float:
    """Which share of the region's area lies in a place; where one of them has no area, 1 for contact."""
    if place is None:
        return 0.0
    lower, upper = max(region[1], place[1]), min(region[3], place[3])
    widths = [min(own[1], other[1]) - max(own[0], other[0]) for own in _spans(region) for other in _spans(place)]
    common = [width for width in widths if width >= 0.0]
    if not common or lower > upper:
        return 0.0
    if not (_area(region) > 0.0 and _area(place) > 0.0):
        return 1.0
    return _ratio(_sum(common) * (upper - lower), _area(region))


def _spans(box: Bounds) -> list[tuple[float, float]]:
    """From where to where a box goes, on each side of the antimeridian."""
    left, _, right, _ = box
    return [(left, right)] if left <= right else [(left, 180.0), (-180.0, right)]


def textual_share(keywords: Sequence[str], words: Iterable[object], weights: Weights) -> float:
    """Which share of the keywords' weight is among the words; both sums are added in the keywords' order."""
    there = set(words)
    common = _sum(float(weights.get(word, 1.0)) for word in keywords if word in there)
    return _ratio(common, _sum(float(weights.get(word, 1.0)) for word in keywords))


def asked_for(tree: Expression) -> Asked | None:
    """Region, keywords and what else an expression asks for; None where it is of another shape."""
    conjuncts = _conjuncts(tree)
    regions = [(conjunct, found) for conjunct in conjuncts if (found := _region(conjunct))]
    lists = [(conjunct, said) for conjunct in conjuncts if (said := _keywords(conjunct))]
    if len(regions) != 1 or len(lists) != 1:
        return None
    (about_place, (place, region)), (about_words, (words, keywords)) = regions[0], lists[0]
    others = [conjunct for conjunct in conjuncts if conjunct is not about_place and conjunct is not about_words]
    return Asked(place, region, words, keywords, others)


def _region(conjunct: Expression) -> tuple[str, Bounds] | None:
    match conjunct:
        case Call("S_INTERSECTS", (Attribute(name), Constant(Box() | Point() as region))):
            return name, region.bounds()
        case Call("S_INTERSECTS", (Constant(Box() | Point() as region), Attribute(name))):
            return name, region.bounds()
        case Or((one, other)):
            return _of_sides(_region(one), _region(other)) or _of_sides(_region(other), _region(one))
    return None


def _of_sides(east: tuple[str, Bounds] | None, west: tuple[str, Bounds] | None) -> tuple[str, Bounds] | None:
    """The box across the antimeridian that two are the sides of."""
    if east is None or west is None or east[0] != west[0]:
        return None
    (left, lower, end, upper), (begin, low, right, high) = east[1], west[1]
    if (end, begin, low, high) != (180.0, -180.0, lower, upper) or left <= right:
        return None
    return east[0], (left, lower, right, upper)


def _keywords(conjunct: Expression) -> tuple[str, list[str]] | None:
    match conjunct:
        case Call("A_CONTAINS", (Attribute(name), Array(items))):
            return _strings(name, items)
        case Call("A_CONTAINEDBY", (Array(items), Attribute(name))):
            return _strings(name, items)
    return None


def _strings(name: str, items: tuple[Constant, ...]) -> tuple[str, list[str]] | None:
    """Strings alone, at least one, each once and by code point."""
    words = [item.value for item in items if isinstance(item.value, str)]
    return (name, sorted(set(words))) if words and len(words) == len(items) else None


def _conjuncts(tree: Expression, negated: bool = False) -> list[Expression]:
    """The conditions of the AND at the root, once NOT is moved inwards; itself, if it is none."""
    if isinstance(tree, Not):
        return _conjuncts(tree.operand, not negated)
    if isinstance(tree, Or if negated else And):
        return [conjunct for operand in tree.operands for conjunct in _conjuncts(operand, negated)]
    return [Not(tree) if negated else tree]


def _area(box: Bounds) -> float:
    return _sum(right - left for left, right in _spans(box)) * (box[3] - box[1])


def _sum(weights: Iterable[float]) -> float:
    """One after the other: `sum` of Python 3.12 and later makes up for rounding."""
    total = 0.0
    for weight in weights:
        total += weight
    return total


def _ratio(part: float, whole: float) -> float:
    """Part of a whole above 0; nothing of one beyond float64."""
    return part / whole if math.isfinite(whole) else 0.0
