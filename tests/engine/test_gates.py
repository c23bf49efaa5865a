"""Areas that overlap are tested only if the other conditions of their subscriptions hold, and no match is lost."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests.naive import match as naive
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.index.gates import Gate, gates

AREA = "S_INTERSECTS(p, POLYGON((0 0, 4 0, 4 4, 0 4, 0 0), (1 1, 2 1, 2 2, 1 2, 1 1)))"
OTHER = "S_WITHIN(p, POLYGON((2 0, 6 0, 2 4, 2 0)))"
AROUND = "(DISTANCE_M(p, POINT(2 2)) <= 200000)"
BAND = "(DISTANCE_M(p, POINT(179.5 2)) <= 200000)"

conditions = st.sampled_from(
    [
        AREA,
        OTHER,
        AROUND,
        BAND,
        "S_TOUCHES(p, POLYGON((0 0, 4 0, 0 4, 0 0)))",
        "S_INTERSECTS(q, POLYGON((0 0, 4 0, 0 4, 0 0)))",
    ]
)
frames = st.sampled_from(
    [
        "{}", "n = 1 AND {}", "s = 'a' AND n > 0 AND {}", "n IN (1, 2) AND ({} OR {})",
        "(n = 1 OR s = 'b') AND {} AND {}",
        "n = 1 OR {}", "n = 1 AND NOT {}", "NOT (n = 1 AND {})", "n = 1 AND {} AND NOT {}", "n = 1 AND {} IS NULL",
        "s = 'a' AND {} = TRUE", "n = 1 AND ({} = {})", "n = 1 AND {} AND ANY(items, x > 1)", "n + 1 = 2 AND {}",
        "n IS NULL AND {}", "n = 1 AND {} AND ANY(items, S_INTERSECTS(p, POLYGON((0 0, 4 0, 0 4, 0 0))))",
        "s LIKE 'a%' AND n <> 2 AND {}", "n = 1 AND (s = 'a' OR ({} AND {}))",
    ]
)  # fmt: skip
coordinates = st.sampled_from([0, 0.5, 1, 1.5, 2, 3, 4, 5, 179.9, -179.9])
points = st.tuples(coordinates, coordinates).map(list)
places = st.one_of(
    points,
    points,
    points,
    st.none(),
    st.just([0, 0, 2, 2]),
    st.just({"type": "Polygon", "coordinates": [[[0, 0], [5, 5], [0, 5], [0, 0]]]}),
)
events = st.lists(
    st.fixed_dictionaries(
        {"p": places, "q": points, "n": st.sampled_from([1, 2, None]), "s": st.sampled_from(["a", "b", None])},
        optional={"items": st.lists(st.fixed_dictionaries({"x": st.integers(0, 3), "p": points}), max_size=2)},
    ),
    min_size=1,
    max_size=8,
)


@st.composite
def texts(draw: Any) -> str:
    frame: str = draw(frames)
    return frame.format(*(draw(conditions) for _ in range(frame.count("{}"))))


@contextlib.contextmanager
def all_gated() -> Iterator[None]:
    """Every place is crowded, and every gate pays."""
    with (
        mock.patch.object(gates, "CROWDED", -1),
        mock.patch.object(gates, "_SAMPLED", 1),
        mock.patch.object(gates, "_FEWEST", 0),
        mock.patch.object(gates, "_WORTH", np.inf),
    ):
        yield


@given(held=st.lists(texts(), min_size=1, max_size=8), more=st.lists(texts(), max_size=3), batch=events)
def test_matches_are_the_oracles(held: list[str], more: list[str], batch: list[dict[str, Any]]) -> None:
    """Gated or not, in segments that share conditions, beside recent subscriptions, after removals."""
    every = [*held, *more]
    expected = naive.match([(n, tocsin.parse(text)) for n, text in enumerate(every) if n != 1], batch)
    engine = tocsin.Engine(delta_limit=len(held))
    for number, text in enumerate(every):
        engine.subscribe(number, text)
    if len(every) > 1:
        engine.unsubscribe(1)

    with all_gated():
        found = [engine.match_batch(batch), engine.match_batch(batch, ranking=tocsin.Top(len(every)))]
        singly = [(row, one.subscription) for row, event in enumerate(batch) for one in engine.match(event)]

    for answer in found:
        rows = answer.table.select(["event", "subscription"]).to_pylist()
        assert sorted(tuple(row.values()) for row in rows) == expected
    assert singly == expected


@pytest.mark.parametrize("recent", [1, 1_000])
def test_a_condition_that_another_source_needs_is_not_gated(recent: int) -> None:
    """One source needs a carrier with each area, another one the areas alone: recent subscriptions, or a segment."""
    held = overlapping(8_000, "polygon")
    engine = tocsin.Engine()
    engine.subscribe_many(held)
    batch = [{"p": [0.2, 0.3], "carrier": "c7"}] * 64
    assert engine.match_batch(batch).stats.candidates_examined <= 4 * len(batch)
    others = [{"id": 8_000 + n, "where": held[n]["where"].split(" AND ")[1]} for n in range(recent)]

    if recent > 1:
        engine.subscribe_many(others)
    else:
        engine.subscribe(**others[0])

    assert (len(engine.stats.segments), engine.stats.delta) == ((2, 0) if recent > 1 else (1, 1))
    assert engine.match_batch(batch).stats.matches == (1 + recent) * len(batch)


@given(held=st.lists(texts(), min_size=1, max_size=8), batch=events)
def test_rankings_count_what_does_not_hold(held: list[str], batch: list[dict[str, Any]]) -> None:
    """A ranking by the share of what holds is the same with and without gates."""
    engine = tocsin.Engine()
    engine.subscribe_many([{"id": n, "where": text} for n, text in enumerate(held)])
    expected = engine.match_batch(batch, ranking=tocsin.Relaxed(5)).table

    with all_gated():
        assert engine.match_batch(batch, ranking=tocsin.Relaxed(5)).table == expected


def overlapping(count: int, shape: str, condition: str = "carrier = 'c{n}' AND ") -> list[dict[str, Any]]:
    """Subscriptions with areas in one place, each for another carrier."""
    random = np.random.default_rng(5)
    held = []
    for n in range(count):
        x, y = random.uniform(-0.1, 0, 2)
        corners = [(x, y), (x + 1, y), (x + 1, y + 0.5), (x + 0.5, y + 1), (x, y + 1), (x, y)]
        area = ", ".join(f"{a} {b}" for a, b in corners)
        where = {"polygon": f"S_INTERSECTS(p, POLYGON(({area})))", "circle": f"DISTANCE_M(p, POINT({x} {y})) < 99999"}
        held.append({"id": n, "where": condition.format(n=n) + where[shape]})
    return held


@pytest.mark.parametrize("shape", ["polygon", "circle"])
def test_areas_of_other_carriers_are_not_tested(shape: str) -> None:
    """One area for each event instead of thousands, which are candidates that are counted."""
    count = 2_000
    engine, by_place = tocsin.Engine(), tocsin.Engine()
    engine.subscribe_many(overlapping(count, shape))
    by_place.subscribe_many(overlapping(count, shape, ""))
    batch = [{"p": [0.2 + n / 1000, 0.3], "carrier": f"c{n * 31}"} for n in range(64)]
    expected = {(row, row * 31) for row in range(64)}

    found = engine.match_batch(batch)

    assert {(row["event"], row["subscription"]) for row in found.table.to_pylist()} == expected
    assert found.stats.candidates_examined <= 4 * len(batch)
    every = by_place.match_batch(batch)
    assert every.stats.matches == count * len(batch)
    assert every.stats.candidates_examined >= 2 * every.stats.matches  # an area, then its subscription


def test_conditions_that_leave_most_areas_do_not_pay() -> None:
    """Then areas are found by place, and nothing is looked up twice."""
    engine = tocsin.Engine()
    engine.subscribe_many(overlapping(1_000, "polygon", "carrier <> 'c{n}' AND "))
    batch = [{"p": [0.2, 0.3], "carrier": "c1"}] * 64

    first, again = engine.match_batch(batch), engine.match_batch(batch)

    assert first.stats.matches == again.stats.matches == 999 * 64
    assert first.stats.candidates_examined == again.stats.candidates_examined >= 1_000 * 64


@pytest.mark.parametrize(
    ("texts", "gated"),
    [
        ([f"n = 1 AND {AREA}"], True),
        ([f"n = 1 AND {AREA}", f"s = 'a' AND {AREA}"], True),
        ([f"(n = 1 OR s = 'a') AND ({AREA} OR {OTHER})"], True),
        ([AREA], False),
        ([f"n = 1 AND {AREA}", AREA], False),
        ([f"n = 1 OR {AREA}"], False),
        ([f"n = 1 AND NOT {AREA}"], False),
        ([f"n + 1 = 2 AND {AREA}"], False),
        ([f"{AREA} AND {OTHER}"], False),
        ([f"ANY(items, x = 1) AND {AREA}"], False),
        ([f"n = 1 AND ({AREA} = b)"], False),
    ],
)
def test_what_is_gated(texts: list[str], gated: bool) -> None:
    """A condition on a place is gated if every subscription with it needs something else that is known before."""
    compiled = compile_expressions([tocsin.parse(text) for text in texts])
    gate = Gate("p", compiled.attributes, lambda: compiled)

    found = gate.parted(lambda: np.zeros((len(gate.names), 4)))

    assert found.is_gated.any() == gated
