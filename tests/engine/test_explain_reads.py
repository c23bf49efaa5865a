"""Explanations read an event as a match does: with a schema, points and texts."""

from __future__ import annotations

from typing import Any

import pytest

import tocsin

SHOP = "S_INTERSECTS(shop, BBOX(13, 52, 14, 53))"
NUMBERS = {"schema": {"price": "number"}}
READ: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (SHOP, {"lon": 13.4, "lat": 52.5}, {"points": {"shop": ("lon", "lat")}}),
    (SHOP, {"lon": 13.4, "lat": None}, {"points": {"shop": ("lon", "lat")}}),
    (SHOP, {"lon": 13.4, "lat": 52.5, "shop": [0, 0]}, {"points": {"shop": ("lon", "lat")}}),
    (SHOP, {"at": {"lon": 13.4, "lat": 52.5}}, {"points": {"shop": ("at.lon", "at.lat")}}),
    (SHOP, {"lon": "13.4", "lat": 52.5}, {"schema": {"lon": "number"}, "points": {"shop": ("lon", "lat")}}),
    (SHOP, {"shop": "POINT(13.4 52.5)"}, {"schema": {"shop": "geometry"}}),
    ("price < 5", {"price": "4"}, {"schema": {"price": "number"}}),
    ("price < 5", {"price": "4"}, {"schema": {"price": "string"}}),
    ("price < 5", {"price": 4}, {"schema": {"price": "string"}}),
    ("price < 5 OR price IS NULL", {"price": "NA"}, {"schema": {"price": "number"}}),
    ("at > DATE('2020-01-01')", {"at": 1700000000}, {"schema": {"at": "instant(s)"}}),
    ("at > DATE('2020-01-01')", {"at": 1700000000000000001}, {"schema": {"at": "instant(ns)"}}),
    ("ANY(items, price < 5)", {"items": [{"price": "4"}]}, {"schema": {"items.price": "number"}}),
    ("TEXT(title, 'running shoe')", {"title": "Shoes to run in"}, {"schema": {"title": "text english stem"}}),
    ("A_CONTAINS(title, ('shoes'))", {"title": "Shoes, new"}, {"schema": {"title": "text"}}),
    ("title = 5", {"title": 5}, {"schema": {"title": "text"}}),
    ("price < 5", {"price": "x"}, {"schema": {"other": "number"}}),
]


@pytest.mark.parametrize(("where", "event", "options"), READ)
def test_an_explanation_agrees_with_the_match(where: str, event: dict[str, Any], options: dict[str, Any]) -> None:
    """The same truth, from an expression and from an engine with the subscription."""
    matches = len(tocsin.match({"id": 1, "where": where}, event, **options)) == 1
    engine = tocsin.Engine()
    engine.subscribe(1, where)

    assert tocsin.explain(where, event, **options).matched == matches
    if "english" not in str(options):  # in an engine, `texts` says so
        assert engine.explain(1, event, **options).matched == matches


def test_an_engine_with_texts_explains_what_it_matches() -> None:
    """A value that is not a text has no type there, also in an explanation."""
    engine = tocsin.Engine(texts={"title": "text"})
    engine.subscribe("five", "title = 5")

    assert engine.match({"title": 5}) == []
    assert not engine.explain("five", {"title": 5}).matched
    assert engine.explain("five", {"title": 5}, schema={"title": "number"}).matched


def test_what_is_not_a_schema_or_points_is_refused() -> None:
    """As in a match, with the same words."""
    with pytest.raises(tocsin.InvalidInput, match="the types are number"):
        tocsin.explain("price < 5", {}, schema={"price": "float"})
    with pytest.raises(tocsin.InvalidInput, match="points is"):
        tocsin.explain("price < 5", {}, points={"shop": "lon"})  # type: ignore[dict-item]


def test_documents_have_the_points() -> None:
    """So that they can be explained, or matched again; an event's own value goes before."""
    events = [{"lon": 13.4, "lat": 52.5}, {"lon": 0, "lat": 0, "shop": [13.5, 52.5]}]
    points = {"shop": ("lon", "lat")}
    answer = tocsin.match({"id": 1, "where": SHOP}, events, points=points)

    found = [event for event, _ in answer.documents(events, points=points)]

    assert [event["shop"] for event in found] == [[13.4, 52.5], [13.5, 52.5]]
    assert all(tocsin.explain(SHOP, event).matched for event in found)


@pytest.mark.parametrize(
    ("came", "options", "told"),
    [
        (10**400, {}, "price could not be read (integer of 1329 bits is beyond 2**53)"),
        (float("inf"), {}, "price could not be read (infinity cannot be represented)"),
        ("many", NUMBERS, "price could not be read ('many' is not a number, the type in the schema)"),
        ({"eur": 5}, {}, "price is an object ({'eur': 5})"),
        ([[5]], {}, "price is a list of lists or objects ([[5]])"),
        (
            [{"eur": 5}, 2],
            {},
            "price = [{'eur': 5}, 2] could not be read (a list of objects and other things has no type)",
        ),
        (["x" * 99, ["y"]], {}, f"price is a list of lists or objects (['{'x' * 35}...)"),
    ],
)
def test_a_value_that_could_not_be_read_is_shown(came: Any, options: dict[str, Any], told: str) -> None:
    """Shortened, with the reason, and with what it makes of a condition; in elements of lists and objects, too."""
    event, engine = {"price": came}, tocsin.Engine()
    engine.subscribe("s", "price > 3")

    for explained in (tocsin.explain("price > 3", event, **options), engine.explain("s", event, **options)):
        assert (explained.failed[0].truth, explained.failed[0].came) == (None, f"{told}, so this is UNKNOWN")
    assert tocsin.explain("price IS NULL", event, **options).failed[0].came == told
    if not options:
        inner = tocsin.explain("a.price > 3 OR ANY(list, price > 3)", {"a": event, "list": [event]})
        assert inner.failed[0].came == f"a.{told}, so this is UNKNOWN"
        assert f"{told}, so this is UNKNOWN" in inner.lines[-1]


@pytest.mark.parametrize(
    ("event", "came"),
    [
        ({"lon": 11, "lat": "48.1"}, "pos could not be read (lat = '48.1' is not a number)"),
        ({"lon": 11, "lat": {"deg": 48}}, "pos could not be read (lat is an object ({'deg': 48}))"),
        ({"lon": 1e999, "lat": 48}, "pos could not be read (lon could not be read (infinity cannot be represented))"),
        ({"lon": "x"}, "pos could not be read (lon = 'x' is not a number)"),
        ({"lon": 11, "latt": 48}, "pos is absent (lat is absent; did you mean latt?)"),
        ({}, "pos is absent (lon is absent)"),
    ],
)
def test_a_point_that_cannot_be_made_says_which_coordinate(event: dict[str, Any], came: str) -> None:
    """And why: it cannot be read, or is absent. The point itself counts as absent, as in a match."""
    points = {"pos": ("lon", "lat")}

    failed = tocsin.explain("S_INTERSECTS(pos, POINT(11 48))", event, points=points).failed

    assert [(one.came, one.truth) for one in failed] == [(came, None)]
    assert tocsin.explain("pos IS NULL", event, points=points).matched
