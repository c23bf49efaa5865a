"""Keys of several attributes: what lies under them is found exactly, and little else is looked at."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import tocsin
from tests.index.asking import Event, asked, assert_alike, batch, compiled, pairs
from tocsin.index.boolean.access import Access, building
from tocsin.index.boolean.access.compounds import Known, clauses_of
from tocsin.index.boolean.access.kernels.clauses import HOLDS, LONGEST, MEETS, MISSING, MOST, OUTSIDE, WITHIN, Clauses
from tocsin.index.boolean.scan import Scan
from tocsin.index.protocols import Best
from tocsin.index.statistics import sampled
from tocsin.kernels.answers.scores import block_maxima

FROM = ("JFK", "LGA", "EWR")
TO = ("LAX", "SFO", "BOS", "MIA", "ORD", "SEA")
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri")


def flight(dice: random.Random) -> dict[str, Any]:
    """Every attribute is there, nearly always."""
    event: dict[str, Any] = {
        "origin": dice.choice(FROM),
        "dest": dice.choice(TO),
        "day": dice.choice(DAYS),
        "hour": dice.randint(0, 23),
        "delay": dice.randint(-20, 200),
        "late": dice.randint(-20, 200),
        "tail": f"N{dice.randint(100, 140)}{dice.choice('AB')}",
        "place": [dice.randint(-20, 20) / 2, dice.randint(-20, 20) / 4],
        "tags": dice.sample(DAYS, 2),
    }
    for name in dice.sample(list(event), dice.choice((0, 0, 1, 2))):
        event[name] = dice.choice((None, "odd", 7, True, [1, 2], [0, 0, 3, 3]))
    return event


def _condition(dice: random.Random) -> str:
    a, b = dice.choice(FROM), dice.choice(TO)
    c, d = sorted(dice.choices(range(24), k=2))
    x, y = dice.randint(-20, 20) / 2, dice.randint(-20, 20) / 4
    days = ", ".join(f"'{day}'" for day in dice.sample(DAYS, dice.randint(1, 3)))
    return dice.choice(
        [
            f"origin = '{a}'",
            f"dest = '{b}'",
            f"day IN ({days})",
            f"NOT (day IN ({days}))",
            f"hour BETWEEN {c} AND {d}",
            f"hour >= {c} AND hour < {d}",
            f"delay >= {dice.randint(0, 120)}",
            f"delay < {dice.randint(0, 120)}",
            f"delay <> {dice.randint(0, 120)}",
            "late IS NULL",
            "late IS NOT NULL",
            f"(late > {dice.randint(0, 100)} OR late IS NULL)",
            f"delay - late >= {dice.randint(0, 30)}",
            f"tail LIKE 'N1{dice.randint(0, 4)}%'",
            f"tail NOT LIKE 'N1{dice.randint(0, 4)}%'",
            f"S_INTERSECTS(place, BBOX({x}, {y}, {x + dice.choice((0, 1, 2.5))}, {y + dice.choice((0, 0.25, 3))}))",
            f"A_CONTAINS(tags, ('{dice.choice(DAYS)}'))",
            f"A_OVERLAPS(tags, ({days}))",
            f"(origin = '{a}' AND dest = '{b}' OR day = '{dice.choice(DAYS)}')",
            f"NOT (origin = '{a}' AND dest = '{b}')",
            "FALSE",
        ]
    )


def alert(dice: random.Random, most: int = 4) -> str:
    """One to four conditions, the first of a few forms so that there are many of each."""
    first = dice.choice(
        [
            f"origin = '{dice.choice(FROM)}' AND dest = '{dice.choice(TO)}'",
            f"dest = '{dice.choice(TO)}' AND delay >= {dice.randint(0, 150)}",
            f"day = '{dice.choice(DAYS)}'",
        ]
    )
    return " AND ".join([first, *(_condition(dice) for _ in range(dice.randint(0, most)))])


def held_against_scan(texts: Sequence[str], events: Sequence[Event], *, known: bool) -> Access:
    """An access index, built with or without a sample of the events, saved and loaded, finds what `scan` does."""
    expressions = compiled(texts)
    given = batch(expressions, events)
    expected = Scan.build(expressions).match(given)
    access = Access.build(expressions, sampled([given]) if known else None)
    for index in (access, Access.load(access.arrays()), Access.build(access.expressions())):
        assert_alike(index.match(given), expected)
    return access


@example(0, True)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_finds_what_scan_finds(seed: int, known: bool) -> None:
    """Of alerts of many forms: equalities, sets, ranges, boxes, absence, patterns, lists, OR and NOT."""
    dice = random.Random(seed)
    texts = [alert(dice) for _ in range(dice.choice((1, 30, 400)))]
    access = held_against_scan(texts, [flight(dice) for _ in range(130)], known=known)
    if len(texts) == 400:
        assert access.places()["several attributes at once"] > 0


@given(st.integers(0, 2**32 - 1), st.integers(1, 20))
def test_the_best_are_among_them(seed: int, k: int) -> None:
    """With scores, the k best of each event are what `scan` finds, sorted."""
    dice = random.Random(seed)
    expressions = compiled([alert(dice, 2) for _ in range(400)])
    given_events = batch(expressions, [flight(dice) for _ in range(70)])
    scores = np.random.default_rng(seed).integers(0, 50, 400).astype(np.float64)
    everything = Scan.build(expressions).match(given_events)
    best = Access.build(expressions).match(given_events, None, Best.of(k, scores, block_maxima(scores, 6)))

    found = [set(best.subscriptions[a:b].tolist()) for a, b in zip(best.starts, best.starts[1:], strict=False)]
    for event, own in enumerate(found):
        all_of_it = everything.subscriptions[everything.starts[event] : everything.starts[event + 1]].tolist()
        assert set(sorted(all_of_it, key=lambda s: (-scores[s], s))[:k]) <= own <= set(all_of_it)


def test_a_dense_load_looks_at_little_more_than_the_matches() -> None:
    """Three candidates a match at most, where one attribute at a time leads to hundreds."""
    dice = random.Random(5)
    routes = [(a, b) for a in FROM for b in TO]
    texts = [
        f"origin = '{a}' AND dest = '{b}' AND day IN ('{d}', '{e}') AND delay >= {dice.randint(60, 190)}"
        for (a, b), d, e in (
            (dice.choice(routes), dice.choice(DAYS), dice.choice(DAYS)) for _ in range(5_000)
        )
    ]  # fmt: skip
    found = asked(texts, [flight(dice) for _ in range(200)])

    assert found.candidates_examined <= 3 * len(found.subscriptions)
    assert found.verified == 0


def test_sparse_loads_keep_lists_of_single_attributes() -> None:
    """Of a thousand attributes two are hardly ever asked for together: no schema pays."""
    dice = random.Random(6)
    texts = [
        " AND ".join(f"a{dice.randrange(1_000)} {dice.choice('=<>')} {dice.randrange(100)}" for _ in range(3))
        for _ in range(20_000)
    ]
    assert Access.build(compiled(texts)).places()["several attributes at once"] == 0


POINTS = (0, 0.25, 0.5, 1, -1, -0.25, 1e-7, -1e-7, 3, 180, -180, 1e12, -1e12, 1e300, 0.1, 90)


@example([(0, 0, 0, 0)], [[0, -1, 0, 1e300]])
@given(
    st.lists(st.tuples(*(st.sampled_from(POINTS) for _ in range(4))), min_size=1, max_size=30),
    st.lists(st.lists(st.sampled_from(POINTS), min_size=2, max_size=4), min_size=1, max_size=30),
)
def test_cells_lose_no_box(boxes: list[tuple[float, ...]], places: list[list[float]]) -> None:
    """Of any size and anywhere, for points and boxes, on edges and corners."""
    sides = [(min(x, z), min(y, w), max(x, z), max(y, w)) for x, y, z, w in boxes]
    corners = [", ".join(f"{edge:.20f}" for edge in box) for box in sides]
    texts = [f"S_INTERSECTS(p, BBOX({corner})) AND n >= {n % 3}" for n, corner in enumerate(corners)]
    asked([*texts, *texts, "n = 5"] * 3, [{"p": place, "n": 1} for place in places])


def test_a_point_is_looked_for_in_one_cell() -> None:
    """Among a thousand boxes side by side a point examines those around it."""
    texts = [f"S_INTERSECTS(p, BBOX({k}, 0, {k + 1}, 1))" for k in range(1_000)]

    found = asked(texts, [{"p": [500.5, 0.5]}, {"p": [-3, 0]}, {"p": "x"}, {}])

    assert len(found.subscriptions) == 1
    assert found.candidates_examined <= 3
    assert asked(texts, [{"p": [0, 0, 2000, 1]}]).candidates_examined >= 1_000


def test_absence_is_a_key() -> None:
    """Where most events have an attribute, those who ask for its absence are looked at where it is absent."""
    texts = [f"n IS NULL AND m = {k % 10}" for k in range(1_000)] + ["n IS NULL"] * 100
    events = [{"n": 1, "m": 1}, {"n": None, "m": 1}, {"m": 1}, {"n": "x"}]
    found = asked(texts, events, sampled([batch(compiled(texts), [{"n": 1, "m": 1}] * 9)]))

    assert found.candidates_examined == len(found.subscriptions) == 2 * 200
    assert [event for event, _ in pairs(found)] == [1] * 200 + [2] * 200


def clauses(text: str) -> Clauses:
    expressions = compiled([text])
    costs = building.costs_of(expressions, None)
    known = Known(expressions.arrays, costs.keys, costs.fields, costs.shares)
    return clauses_of(known, np.zeros(1, np.int32))


@pytest.mark.parametrize(
    ("text", "lengths", "is_whole"),
    [
        ("a = 1 AND b = 2", [2], True),
        ("a IN (1, 2, 3) AND b = 2", [2, 2, 2], True),
        ("a IN (1, 2) AND (b = 1 OR c = 2 AND d = 3)", [2, 2, 3, 3], True),
        ("a >= 1 AND a < 5 AND b = 1", [2], True),
        ("a = 1 AND a = 2 OR b = 1", [1], True),  # nobody is both
        ("a = 1 AND NOT (b IN (1, 2))", [3], True),
        ("a = 1 AND b IS NULL", [2], True),
        ("a = 1 AND b LIKE '%x%y'", [2], True),
        ("a = 1 AND b + 1 > 2", [2], True),
        ("a = 1 OR TRUE", [1, 1], True),
        (f"a IN ({', '.join(map(str, range(MOST)))}) AND b IN (1, 2)", [1] * MOST, False),
        (f"a IN ({', '.join(map(str, range(MOST + 1)))}) AND b IN (1, 2)", [1, 1], False),
        (" AND ".join(f"a{i} = 1" for i in range(LONGEST + 2)), [LONGEST], False),
        (f"a IN ({', '.join(map(str, range(MOST + 1)))})", [], False),
    ],
)
def test_clauses(text: str, lengths: list[int], is_whole: bool) -> None:
    """An expression is the OR of its clauses, as far as these are few and short."""
    found = clauses(text)

    assert sorted(np.diff(found.starts).tolist()) == lengths
    assert set(found.whole.tolist()) <= {int(is_whole)}


def test_marks_of_tests() -> None:
    found = clauses("a = 1 AND NOT (b = 2) AND S_INTERSECTS(p, BBOX(0, 0, 0, 0)) AND c IS NULL AND d * 2 = 4")
    nullable = {WITHIN, MISSING}  # an attribute's absence is a key where most events have it

    assert set(found.marks.tolist()) - nullable == {OUTSIDE, MEETS, HOLDS}


def test_told_under_several_attributes() -> None:
    """Schema by schema, with what is asked of the field that lists are sorted by."""
    texts = [f"a = {k % 20} AND b = 'x{k % 9}' AND c >= {k}" for k in range(3_000)]
    access = Access.build(compiled(texts))
    assert access.place(7) == "looked for under a = 7 AND b = 'x7' AND c >= 7; events with this need no verification"
    tested = Access.build(compiled([f"{text} AND d <> {k % 5}" for k, text in enumerate(texts)]))
    assert tested.place(7) == "looked for under a = 7 AND b = 'x7' AND c >= 7, then verified"


def test_an_engine_merges_and_saves_them(tmp_path: Any) -> None:
    """Through deltas, merges, a saved folder and changes afterwards."""
    dice = random.Random(9)
    events = [flight(dice) for _ in range(50)]
    alerts = [{"id": k, "where": alert(dice)} for k in range(1_500)]
    with tocsin.Engine("scan") as plain, tocsin.Engine() as engine:
        for one in (plain, engine):
            one.subscribe_many(alerts[:1_000])
            for record in alerts[1_000:]:
                one.subscribe(record["id"], record["where"])
            for number in range(0, 1_500, 7):
                one.unsubscribe(number)
            one.merge()
        engine.save(tmp_path / "saved")
        with tocsin.Engine.load(tmp_path / "saved") as loaded:
            expected = plain.match_batch(events).table
            assert engine.match_batch(events).table.equals(expected)
            assert loaded.match_batch(events).table.equals(expected)
