"""An engine whose index changes in place answers like a scan, whatever is added, removed and read in between."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tocsin
from tests.failing import EACH_FAILURE, Failure, failures
from tocsin.index import find_index, registrations
from tocsin.index.protocols import REGIONS_WITH_KEYWORDS

NAMES = [one.name for one in registrations() if one.recent is not None]
INDEXES = [
    *NAMES,
    *("opindex(segments=1, signature_bits=0)", "opindex(segments=3, signature_bits=5)"),
    *("rt_tree(least=1, most=2)", "rt_plus_tree(least=2, most=4, selection=0)"),
    "rt_plus_plus_tree(least=2, most=4, selection=1)",
]
FORMS = (
    "a = {0} AND b >= {1}",
    "a <= {0} AND c IN ({1}, {0}, 2.5)",
    "b BETWEEN {1} AND {0} AND a <> {1}",
    "NOT (b BETWEEN {1} AND {0}) AND a > {1}",
    "a NOT IN ({0}, {1})",
    "s = 'x{0}' OR (a = {1} AND s > 'x{1}')",
    "(a = {0} OR b = {1}) AND (c = {1} OR d > {0}) AND (s < 'x{0}' OR b < 3)",
    "s LIKE 'x{0}%' AND a >= {1}",
    "s LIKE '%{0}' OR s LIKE '%x%{1}'",
    "CASEI(s) = CASEI('X{0}') AND flag",
    "MATCHES(s, 'x{0}$')",
    "t >= TIMESTAMP('2024-01-{1:02}T00:00:00Z') AND a < {0}",
    "d IS NOT NULL AND a = {0}",
    "a > {0}.5 AND a < {0}.5",
)


REGION = "S_INTERSECTS(place, BBOX({0}, {1}, {2}, {3}))"
REGIONS = (
    f"{REGION} AND A_CONTAINS(words, ('w{{0}}'))",
    f"{REGION} AND A_CONTAINS(words, ('w{{0}}', 'w{{1}}', 'x'))",
    f"{REGION} AND A_CONTAINS(words, ('w{{1}}', {{0}}, 2.5)) AND a > {{1}}",
    "S_INTERSECTS(home, BBOX({0}, {1}, {2}, {3})) AND A_CONTAINS(tags, ({1}, TRUE))",
    "S_INTERSECTS(place, BBOX({0}, 0, {2}, {1})) AND A_CONTAINS(words, ('x')) AND A_CONTAINS(tags, ({0}))",
    f"({REGION} AND A_CONTAINS(words, ('x', 'w{{0}}')))"
    " OR (S_INTERSECTS(home, BBOX({0}, {1}, {2}, {3})) AND A_CONTAINS(words, ('w{1}')))",
    f"({REGION} OR S_INTERSECTS(place, BBOX(0, 0, 1, 1))) AND A_CONTAINS(words, ('w{{1}}'))",
    "S_INTERSECTS(place, BBOX(-1e300, {1}, 1e300, {3})) AND A_CONTAINS(words, ('w{0}'))",
    f"{REGION} AND A_CONTAINS(words, ('x')) AND 1 = 2",
)


def where(rng: random.Random, index: str = "opindex") -> str:
    """A text that an index can hold."""
    low, side = rng.randrange(12), rng.randrange(1, 12)
    forms = REGIONS if find_index(index.partition("(")[0]).shapes == REGIONS_WITH_KEYWORDS else FORMS
    return rng.choice(forms).format(low, side, low + rng.randrange(1, 5), side + rng.randrange(5))


def events(rng: random.Random) -> list[dict[str, Any]]:
    several = []
    for _ in range(30):
        event = {name: rng.choice([rng.randrange(13), rng.randrange(13) + 0.5]) for name in "abcd"}
        event |= {"s": f"{rng.choice('xX')}{rng.randrange(13)}", "flag": rng.random() < 0.5}
        event |= {name: [rng.randrange(16), rng.randrange(16)] for name in ("place", "home")}
        event["words"] = [f"w{rng.randrange(12)}" for _ in range(8)] + ["x", 2.5, rng.randrange(12)]
        event["tags"] = [rng.random() < 0.5, *(rng.randrange(12) for _ in range(6))]
        event["t"] = f"2024-01-{rng.randrange(1, 13):02}T00:00:00Z"
        several.append({name: value for name, value in event.items() if rng.random() < 0.7})
    return several


def answer(engine: tocsin.Engine, several: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = engine.match_batch(several).table.to_pylist()
    return rows


def candidates(engine: tocsin.Engine, several: list[dict[str, Any]]) -> int:
    return engine.match_batch(several).stats.candidates_examined


def pairs(index: str, **options: Any) -> tuple[tocsin.Engine, tocsin.Engine]:
    """An engine that changes in place, and one that scans."""
    return tocsin.Engine(index, **options), tocsin.Engine("scan", **options)


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("delta_limit", [8192, 40])
def test_any_order_of_changes_gives_the_answers_of_a_scan(index: str, delta_limit: int) -> None:
    """Few or many changes come between two matches; ids are replaced, and a full delta is merged meanwhile."""
    rng = random.Random(5)
    engine, scan = pairs(index, delta_limit=delta_limit)
    several, ids = events(rng), set[int]()
    for _ in range(40):
        for _ in range(rng.choice([1, 1, 2, 12])):
            number = rng.randrange(200)
            if number in ids and rng.random() < 0.6:
                ids.remove(number)
                for one in (engine, scan):
                    one.unsubscribe(number)
            else:
                text = where(rng, index)
                ids.add(number)
                for one in (engine, scan):
                    one.subscribe(number, text, replace=True)
        assert answer(engine, several) == answer(scan, several)
    engine.close()


def test_recent_subscriptions_are_found_by_their_pivots() -> None:
    """An event examines those under its own attributes: 3 of 300 have `rare3`, and all have `common`."""
    engine = tocsin.Engine("opindex")
    for number in range(300):
        engine.subscribe(number, f"common >= 0 AND rare{number % 100} = {number}")

    assert candidates(engine, [{"common": 1, "rare3": 103}]) == 3
    assert [match.subscription for match in engine.match({"common": 1, "rare3": 103})] == [103]


def test_operands_between_two_others_find_room() -> None:
    """Each new operand lies between the last two, until no label is free between them, and the lists are made anew."""
    engine, scan = pairs("opindex")
    low, high = 0.0, 1.0
    several = [{"a": 0.0}, {"a": 1.0}, {"a": 2.0}]
    for number in range(48):
        middle = (low + high) / 2
        several.append({"a": middle})
        low, high = (middle, high) if number % 3 else (low, middle)
        for one in (engine, scan):
            one.subscribe(2 * number, f"a > {middle!r}")
            one.subscribe(2 * number + 1, f"a <= {middle!r} AND a <> {low!r}")
        assert answer(engine, several) == answer(scan, several)


@pytest.mark.parametrize("index", NAMES)
def test_a_batch_sees_one_state_while_lists_change(index: str) -> None:
    """Subscriptions are removed and added, and matched, while the events of a batch are still being read."""
    rng = random.Random(3)
    engine, scan = pairs(index)
    for number in range(80):
        text = where(rng, index)
        for one in (engine, scan):
            one.subscribe(number, text)
    several = events(rng)
    before = answer(scan, several)

    def changing() -> Iterator[dict[str, Any]]:
        for number, event in enumerate(several):
            text = where(rng, index)
            for one in (engine, scan):
                one.unsubscribe(number)
                one.subscribe(100 + number, text)
            assert answer(engine, several) == answer(scan, several)
            yield event

    assert engine.match_batch(changing()).table.to_pylist() == before
    assert answer(engine, several) == answer(scan, several)


def test_an_event_with_a_range_is_matched() -> None:
    """Lists cannot compare a range with an operand; the chains beside them can."""
    engine, scan = pairs("opindex")
    for one in (engine, scan):
        one.subscribe(1, "a = 3")
        one.subscribe(2, "a >= 1")
    several: list[dict[str, Any]] = [{"a": tocsin.Range(2, 5)}, {"a": 3}]

    assert answer(engine, several) == answer(scan, several)


@pytest.mark.parametrize("index", ["opindex", "rt_tree(least=1, most=2)", "rt_plus_plus_tree(least=2, most=4)"])
@pytest.mark.parametrize(("failing", "most"), EACH_FAILURE)
def test_a_failure_while_lists_change_loses_nothing(failing: Failure, most: int, index: str) -> None:
    """Insertions and deletions that fail in the middle are made by the next match."""
    rng = random.Random(7)
    texts, several = [where(rng, index) for _ in range(70)], events(rng)
    scan = tocsin.Engine("scan")
    for number in (*range(5), *range(12, 70)):
        scan.subscribe(number, texts[number])
    expected = answer(scan, several)
    for run in failures(failing, most):
        engine = tocsin.Engine(index)
        for number in range(60):
            engine.subscribe(number, texts[number])
        answer(engine, several)
        for number in range(5, 12):
            engine.unsubscribe(number)
        for number in range(60, 70):
            engine.subscribe(number, texts[number])
        run(lambda engine=engine: engine.match(several[0]))  # type: ignore[misc]
        assert answer(engine, several) == expected


def test_recent_regions_are_found_in_a_tree() -> None:
    """An event examines few leaves of 25 to 50: 400 regions have the same word, each at its own place."""
    engine = tocsin.Engine("rt_tree")
    for number in range(400):
        text = f"S_INTERSECTS(place, BBOX({number}, 0, {number}.5, 1)) AND A_CONTAINS(words, ('w'))"
        engine.subscribe(number, text)
    several = [{"place": [200, 1], "words": ["w"]}]

    assert 1 <= candidates(engine, several) <= 100
    assert [match.subscription for match in engine.match(several[0])] == [200]
    for number in range(0, 400, 2):
        engine.unsubscribe(number)
    assert engine.match(several[0]) == []
    assert candidates(engine, several) <= 50


def test_shapes_among_recent_regions_are_found_by_chains() -> None:
    """Events are not read for the boxes around shapes of recent subscriptions."""
    shape = "S_INTERSECTS(place, POLYGON((0 0, 4 0, 0 4, 0 0))) AND A_CONTAINS(words, ('w'))"
    engine, scan = pairs("rt_tree")
    several: list[dict[str, Any]] = [{"place": [x, 1], "words": ["w"]} for x in range(5)]
    for number in range(3):
        for one in (engine, scan):
            one.subscribe(number, shape if number == 1 else REGIONS[0].format(0, 0, 3, 3).replace("w0", "w"))
        assert answer(engine, several) == answer(scan, several)


def test_what_lists_cannot_hold_is_still_found(tmp_path: Path) -> None:
    """A folder of another index has recent subscriptions that an OpIndex refuses; chains find all of them."""
    with tocsin.Engine.open(tmp_path) as engine:
        engine.subscribe("absent", "a IS NULL")
        engine.subscribe("equal", "b = 1")
    with tocsin.Engine.open(tmp_path, index="opindex") as engine:
        assert [match.subscription for match in engine.match({"b": 1})] == ["absent", "equal"]
        engine.subscribe("later", "b < 2")
        assert [match.subscription for match in engine.match({"a": 1, "b": 1})] == ["equal", "later"]
