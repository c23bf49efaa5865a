"""Warnings about points whose coordinates were probably given in the wrong order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from tocsin.encoding import Points
from tocsin.engine.coordinates import is_latitude_first
from tocsin.engine.seen import Seen
from tocsin.language import name_text
from tocsin.language.evaluate import evaluate
from tocsin.language.operators.distance import DISTANCE
from tocsin.language.stored import stored_expression
from tocsin.model.expression import Attribute, Call, Comparison, Expression, walk_all
from tocsin.model.subscription import Notice, SubscriptionId
from tocsin.model.values import Point
from tocsin.spelling import option

_MOST_SUBSCRIPTIONS: Final = 10_000
_MOST_CONDITIONS: Final = 300
_MOST_POINTS: Final = 64
"""Each distinct condition is evaluated on this many points and their mirror images: in all, half a second."""


def latitude_first(
    subscriptions: Iterable[tuple[SubscriptionId, str]], points: Points | None, seen: Seen | None
) -> Iterator[Notice]:
    """Warn of points made from a latitude and a longitude by their names, unless some point satisfies a condition.

    On a plane of their own, subscriptions may have latitude as x, too. Only the first of them are examined.
    """
    chosen = {name: pair for name, pair in (points or {}).items() if is_latitude_first(*pair)}
    if seen is None or not chosen:
        return
    texts = [text for _, text in islice(subscriptions, _MOST_SUBSCRIPTIONS)]
    for name, pair in chosen.items():
        conditions = list(islice(dict.fromkeys(_about(name, texts)), _MOST_CONDITIONS))
        if conditions and not _satisfying(conditions, name, _places(name, pair, seen)):
            yield _notice(name, pair, "longitude comes first; write ")


def exchanged(
    subscriptions: Iterable[tuple[SubscriptionId, str]], points: Points | None, seen: Seen | None
) -> Iterator[Notice]:
    """Warn of points that satisfy no condition on places, although most do with x and y exchanged.

    Nothing is said if there are too many subscriptions or conditions to examine all, or if names say it.
    """
    chosen = {name: pair for name, pair in (points or {}).items() if not is_latitude_first(*pair)}
    if seen is None or seen.first is None or not chosen:
        return
    texts = [text for _, text in islice(subscriptions, _MOST_SUBSCRIPTIONS + 1)]
    for name, pair in chosen.items() if len(texts) <= _MOST_SUBSCRIPTIONS else ():
        conditions, places = list(dict.fromkeys(_about(name, texts))), _places(name, pair, seen)
        if not 0 < len(conditions) <= _MOST_CONDITIONS or _satisfying(conditions, name, places):
            continue
        count = _satisfying(conditions, name, [(y, x) for x, y in places])
        if 2 * count > len(places):
            those = f"the first {len(places)} points" if len(places) > 1 else "the points"
            told = f"none of {those} satisfies a condition about {name_text(name)}"
            yield _notice(name, pair, f"{told}, but {count} would with x and y exchanged; longitude comes first: ")


def _notice(name: str, pair: tuple[str, str], reason: str) -> Notice:
    """A warning about a point, whose reason ends with the exchanged option."""
    instead = option("points", {name: (pair[1], pair[0])})
    return Notice(name, option("points", {name: pair}), reason + instead, 0, None)


def _places(name: str, pair: tuple[str, str], seen: Seen) -> list[tuple[float, float]]:
    """The places of the first events that get the point."""
    events = seen.first_values((name, *pair), _MOST_POINTS)
    pairs = [(one.get(pair[0]), one.get(pair[1])) for one in events if name not in one]
    return [(x, y) for x, y in pairs if isinstance(x, float) and isinstance(y, float)]


def _about(name: str, texts: Iterable[str]) -> Iterator[Expression]:
    """The conditions about the place of one attribute alone."""
    for text in texts:
        for node in walk_all(stored_expression(text)) if "S_" in text or DISTANCE in text else ():
            sides = node.children() if isinstance(node, Comparison) else (node,)
            calls = [one for one in sides if isinstance(one, Call) and (one.name == DISTANCE or one.name[:2] == "S_")]
            is_whole = isinstance(node, Comparison) or not any(one.name == DISTANCE for one in calls)
            if calls and is_whole and Attribute(name) in calls[0].arguments:
                yield node


def _satisfying(conditions: Iterable[Expression], name: str, places: list[tuple[float, float]]) -> int:
    """How many places satisfy some condition."""
    return sum(any(evaluate(one, {name: Point(*place)}) is True for one in conditions) for place in places)
