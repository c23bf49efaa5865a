"""An engine whose index changes in place answers like a scan, whatever is added, removed and read in between."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tocsin
from tests.failing import EACH_FAILURE, Failure, failures

INDEXES = ("opindex", "opindex(segments=1, signature_bits=0)", "opindex(segments=3, signature_bits=5)")
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


def where(rng: random.Random) -> str:
    return rng.choice(FORMS).format(rng.randrange(12), rng.randrange(1, 12))


def events(rng: random.Random) -> list[dict[str, Any]]:
    several = []
    for _ in range(30):
        event = {name: rng.choice([rng.randrange(13), rng.randrange(13) + 0.5]) for name in "abcd"}
        event |= {"s": f"{rng.choice('xX')}{rng.randrange(13)}", "flag": rng.random() < 0.5}
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
    for _ in range(60):
        for _ in range(rng.choice([1, 1, 2, 8])):
            number = rng.randrange(200)
            if number in ids and rng.random() < 0.6:
                ids.remove(number)
                for one in (engine, scan):
                    one.unsubscribe(number)
            else:
                text = where(rng)
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


def test_a_batch_sees_one_state_while_lists_change() -> None:
    """Subscriptions are removed and added, and matched, while the events of a batch are still being read."""
    rng = random.Random(3)
    engine, scan = pairs("opindex")
    for number in range(80):
        for one in (engine, scan):
            one.subscribe(number, FORMS[number % 3].format(number % 12, number % 7))
    several = events(rng)
    before = answer(scan, several)

    def changing() -> Iterator[dict[str, Any]]:
        for number, event in enumerate(several):
            for one in (engine, scan):
                one.unsubscribe(number)
                one.subscribe(100 + number, f"a >= {number % 5} AND b <> {number}.25")
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


@pytest.mark.parametrize(("failing", "most"), EACH_FAILURE)
def test_a_failure_while_lists_change_loses_nothing(failing: Failure, most: int) -> None:
    """Insertions and deletions that fail in the middle are made by the next match."""
    rng = random.Random(7)
    texts, several = [where(rng) for _ in range(70)], events(rng)
    scan = tocsin.Engine("scan")
    for number in (*range(5), *range(12, 70)):
        scan.subscribe(number, texts[number])
    expected = answer(scan, several)
    for run in failures(failing, most):
        engine = tocsin.Engine("opindex")
        for number in range(60):
            engine.subscribe(number, texts[number])
        answer(engine, several)
        for number in range(5, 12):
            engine.unsubscribe(number)
        for number in range(60, 70):
            engine.subscribe(number, texts[number])
        run(lambda engine=engine: engine.match(several[0]))  # type: ignore[misc]
        assert answer(engine, several) == expected


def test_what_lists_cannot_hold_is_still_found(tmp_path: Path) -> None:
    """A folder of another index has recent subscriptions that an OpIndex refuses; chains find all of them."""
    with tocsin.Engine.open(tmp_path) as engine:
        engine.subscribe("absent", "a IS NULL")
        engine.subscribe("equal", "b = 1")
    with tocsin.Engine.open(tmp_path, index="opindex") as engine:
        assert [match.subscription for match in engine.match({"b": 1})] == ["absent", "equal"]
        engine.subscribe("later", "b < 2")
        assert [match.subscription for match in engine.match({"a": 1, "b": 1})] == ["equal", "later"]
