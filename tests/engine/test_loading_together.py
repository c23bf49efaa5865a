"""Loading many texts together is loading each alone: the same answers, and the same reports of what is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tocsin
from tests.naive import match as naive

NAMES = ("a", "b", '"odd name"', '"element"')
NUMBERS = ("1", "-2", "2.5", "0", "1e3", "9007199254740993", "1e999")
STRINGS = ("'x'", "'it''s'", "''", "'é'", "'\\'", "'x%'", "'('", "'a+'", "'two words'", "'\"two words\" x'")
NETWORKS = ("'10.0.0.0/8'", "'10.1.2.3'", "'::1'", "'10.0.0.1/8'", "'x'")
DAYS = ("'2024-05-31'", "'2024-05-01'", "'2024-02-31'", "'2024-05-31T08:00:00Z'", "'now'", "'..'")
SHAPES = (
    "POLYGON((0 0, 4 0, 0 4, 0 0))",
    "polygon z ((0 0 1, 4 0 1, 4 4 1, 0 0 1))",
    "LINESTRING(0 0, 3 3)",
    "MULTIPOINT((1 1), (2 2))",
    "GEOMETRYCOLLECTION(POINT(1 1), POLYGON((0 0, 2 0, 0 2, 0 0)))",
    "POLYGON((0 0, 2 2, 2 0, 0 2, 0 0))",
    "POLYGON((0 0, 1 1))",
    "POLYGON((0 0, 1e999 0, 0 1, 0 0))",
    "POLYGON EMPTY",
    "POINT(1 1)",
    "BBOX(0, 0, 2, 2)",
    "BBOX(2, 0, -2, 2)",
)
FORMS = (
    "{a} > {n} AND {b} <> {m}",
    "{a} + {n} > {m} OR -{a} < {n}",
    "({a} - {n}) IS NULL",
    "{a} IN ({n}, {m}, {s})",
    "{a} BETWEEN {n} AND {m}",
    "{a} LIKE {s} OR {b} NOT LIKE {t}",
    "CASEI({a}) = CASEI({s}) AND ACCENTI({b}) > {t}",
    "CASEI({a}) = {b} OR CASEI({a}) IS NULL",
    "TEXT({a}, {s}) OR NOT TEXT({b}, {t})",
    "MATCHES({a}, {s}) OR NOT MATCHES(CASEI({b}), {t})",
    "{a} >= DATE({d}) AND {b} < TIMESTAMP({e})",
    "T_DURING({a}, INTERVAL({d}, {e}))",
    "NOT T_INTERSECTS(INTERVAL({a}, {b}), INTERVAL({d}, {e}))",
    "T_AFTER({a}, {b}) OR T_EQUALS({a}, DATE({d}))",
    "S_INTERSECTS({a}, {g}) OR NOT S_WITHIN({b}, {h})",
    "S_DISJOINT({g}, {a}) AND S_CONTAINS({h}, {b})",
    "S_CROSSES({a}, {b}) OR S_INTERSECTS({g}, {h})",
    "DISTANCE_M({a}, POINT({n} -{m})) <= {k}",
    "{k} < DISTANCE_M(POINT({n} {m}), {a})",
    "A_CONTAINS({a}, ({n}, {s}, {b})) OR A_OVERLAPS({b}, ({t}, {m}))",
    "A_EQUALS({a}, {b}) AND NOT A_CONTAINEDBY({a}, ({s}, {t}))",
    "ANY(items, {a} > {n} AND {b} = {s}) AND NOT ANY(items, {a} = {m})",
    "ANY(items, CASEI({a}) = CASEI({s}) OR TEXT({b}, {t}))",
    "ANY(items, S_INTERSECTS({a}, {g}) OR DISTANCE_M({b}, POINT({n} {m})) < {k})",
    "ANY(items, T_DURING({a}, INTERVAL({d}, {e})) OR ANY({b}, element = {n}))",
    "({a} > {n} OR {b} = {s}) = ({a} < {m})",
    "({a} = {n}) IS NULL AND NOT (({b} = {s} OR {b} < {t}) IS NULL)",
    "{n} < {m} AND {a} = {n}",
    "SOME({a}, element > {n} AND NOT element = {s})",
    "NOT SOME({a}, CASEI(element) = CASEI({s}) OR IP_IN(element, {i}, {j}))",
    "SOME({a}, CASEI(element) LIKE CASEI({s})) OR HOLDS(SOME({b}, ACCENTI(CASEI(element)) IN (ACCENTI(CASEI({t})))))",
    "SOME({a}, SOME(element, element = {n} OR element IS NULL))",
    "SOME(items, {a} = {s} OR {b} > {n}) AND NOT SOME(items, {a} = {m})",
    "SOME(items, SOME({a}, element LIKE {s} OR IP_IN(element, {i})))",
    "SOME({a}, TEXT(element, {s}) OR element >= DATE({d}))",
    "SOME({a}, OUTER({b}) = element) AND SOME({b}, element IN ({s}, {t}))",
    "SOME({a}, NUMBER(element) < {n} OR element IN (TRUE)) OR SOME(items, {a} IS NULL AND {b} = {n})",
    "NOT SOME({a}, element >= {s} OR GIVEN(element) AND element IS NULL)",
    "SOME({b}, element > NOW() - DURATION('P1D')) AND SOME({a}, element <> {n})",
    "SOME({a}, S_INTERSECTS(element, {g}) OR DISTANCE_M(element, POINT({n} {m})) < {k})",
)
VALUES: tuple[Any, ...] = (
    1,
    -2,
    2.5,
    "x",
    "X",
    "it's",
    "two words",
    "10.1.2.3",
    "2024-05-31",
    "2024-05-10T00:00:00Z",
    [1, "x"],
)
VALUES += ([1, 1], {"type": "Point", "coordinates": [1, 1]}, {"type": "Point", "coordinates": [3, 0]})
VALUES += ([{"a": 1, "b": "x"}, {"a": "2024-05-31", "b": [1]}], None, True)


PARTS = {"a": NAMES, "b": NAMES, "g": SHAPES, "h": SHAPES, "n": NUMBERS, "m": NUMBERS, "k": NUMBERS}
PARTS |= {"s": STRINGS, "t": STRINGS, "i": NETWORKS, "j": NETWORKS, "d": DAYS, "e": DAYS}
FILLS = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in PARTS.items()})


EVENTS = st.lists(
    st.fixed_dictionaries({"a": st.sampled_from(VALUES), "b": st.sampled_from(VALUES)}).flatmap(
        lambda event: st.sampled_from(VALUES).map(lambda more: {**event, "odd name": more, "items": [event, {"a": 1}]})
    ),
    min_size=1,
    max_size=6,
)


def report(error: Any) -> tuple[Any, ...]:
    return error.id, error.field, error.reason


def together_is_alone(wheres: list[str], events: list[dict[str, Any]]) -> None:
    records = [{"id": number, "where": where} for number, where in enumerate(wheres)]
    together = tocsin.Engine()
    accepted, errors = together.subscribe_many(records)
    alone = [tocsin.Engine().subscribe_many([record]) for record in records]
    good = [(number, tocsin.parse(where)) for number, where in enumerate(wheres) if alone[number].accepted]

    singly = tocsin.Engine()
    for number, _ in good:
        singly.subscribe(number, wheres[number])

    assert [report(error) for error in errors] == [report(one.errors[0]) for one in alone if one.errors]
    assert accepted == len(good)
    for engine in (together, singly):
        found = engine.match_batch(events).table
        pairs = sorted(zip(found["event"].to_pylist(), found["subscription"].to_pylist(), strict=True))
        assert pairs == naive.match(good, events)
    assert [together.get(number)["where"] for number, _ in good] == [wheres[number] for number, _ in good]


@pytest.mark.parametrize("form", FORMS)
@settings(deadline=None, max_examples=max(5, settings.default.max_examples // 3))
@given(
    fills=st.lists(FILLS, min_size=1, max_size=8),
    others=st.lists(st.tuples(st.sampled_from(FORMS), FILLS), max_size=2),
    events=EVENTS,
)
def test_texts_of_one_form(
    form: str, fills: list[dict[str, str]], others: list[tuple[str, dict[str, str]]], events: list[dict[str, Any]]
) -> None:
    """Constants of all kinds, sound and not, in the slots of one template, among texts of other forms."""
    wheres = [form.format(**fill) for fill in fills] + [other.format(**fill) for other, fill in others]

    together_is_alone(wheres, events)
