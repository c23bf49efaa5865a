"""Warnings about names in a call's options that do not exist.

A misspelt option is not an error, because later events may have the name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tocsin.columns.events.wanted import Wanted
from tocsin.encoding import Points
from tocsin.engine.seen import Seen
from tocsin.kernels import codes
from tocsin.language import name_text
from tocsin.language.nearest import nearest
from tocsin.language.operators.distance import DISTANCE
from tocsin.model.ranking import Ranking, Relaxed
from tocsin.model.subscription import Notice
from tocsin.spelling import option


def misnamed(
    wanted: Wanted,
    seen: Seen | None,
    *,
    schema: Mapping[str, Any] | None = None,
    points: Points | None = None,
    event_key: str | None = None,
    key_option: str = "event_key",
    ranking: Ranking | None = None,
) -> Iterator[Notice]:
    """A warning for each name in the options of a call that is missing from its subscriptions or events.

    A schema may name more attributes than the subscriptions use, so only names that look misspelt cause a warning.
    """
    asked = _asked(wanted)
    for name in schema or ():
        if name not in asked and not wanted.inside(name):
            yield from _unasked(
                option("schema", {name: str((schema or {})[name])}), name, asked.difference(schema or ())
            )
    for name, pair in (points or {}).items():
        if name not in wanted:
            yield from _unasked(option("points", {name: pair}), name, asked)
        elif seen is not None and not seen.types.get(name):
            yield from (absent(option("points", {name: pair}), axis, seen) for axis in pair if axis not in seen.types)
        elif seen is not None and seen.types[name] == 1 << codes.UNTYPED and pair[0].startswith(f"{name}."):
            yield Notice(name, option("points", {name: pair}), _is_object(name, pair), 0, None)
    if event_key is not None and seen is not None and seen.without_key and not seen.with_key:
        yield absent(option(key_option, event_key), event_key, seen)
    if isinstance(ranking, Relaxed):
        for name in sorted(set(ranking.drop) - asked):
            yield from _unasked(option("drop", [name]), name, asked, is_sure=True)


def _is_object(name: str, pair: tuple[str, str]) -> str:
    other = "place" if name == "location" else "location"
    return f"{name_text(name)} is an object; write {other}={pair[0]}:{pair[1]}, and ask about {other}"


def no_degrees(seen: Seen | None, wanted: Wanted, prefix: str = "") -> Iterator[Notice]:
    """A warning for each attribute in the subscriptions with coordinates that are not longitude and latitude."""
    if seen is None:
        return
    for name, system in seen.systems.items():
        if wanted.holds(name):
            reason = (
                f"its coordinates are in {system:.60} and used as they are; convert them to longitude and latitude "
                "(OGC:CRS84), unless subscriptions use the same system and not DISTANCE_M"
            )
            yield Notice(name, name_text(name), reason, 0, None)
    for name, edges in seen.edges.items():
        if wanted.holds(name):
            reason = f"its edges are {edges:.40}; they are used as straight lines on the plane"
            yield Notice(name, name_text(name), reason, 0, None)
    for name, count in seen.beyond_globe.items():
        if any(DISTANCE in asked for asked in wanted.places.get(name, ())):
            points = "1 point lies" if count == 1 else f"{count:,} points lie"
            reason = f"{points} beyond longitude 180 or latitude 90, where DISTANCE_M is UNKNOWN; longitude comes first"
            yield Notice(prefix + name, name_text(prefix + name), reason, 0, None)
    for name, own in seen.elements.items():
        if name in wanted.elements:
            yield from no_degrees(own, wanted.elements[name], f"{prefix}{name}.")


def _asked(wanted: Wanted) -> set[str]:
    """The attributes in the subscriptions; those of list elements have the path from the event."""
    inner = {f"{name}.{one}" for name, own in wanted.elements.items() for one in _asked(own)}
    return {*wanted.numbers, *wanted.elements, *inner}


def _unasked(option: str, name: str, asked: Iterable[str], *, is_sure: bool = False) -> Iterator[Notice]:
    near = nearest(name, asked)
    if near or is_sure:
        yield Notice(name, option, f"no subscription uses {name_text(name)}{meant(near)}", 0, None)


def absent(option: str, name: str, seen: Seen) -> Notice:
    """A warning that no event has the attribute that an option names."""
    return Notice(name, option, f"no event has {name_text(name)}{meant(nearest(name, seen.names()))}", 0, None)


def meant(near: str | None) -> str:
    return f"; did you mean {name_text(near)}?" if near else ""
