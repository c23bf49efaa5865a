"""Events that have few of the names that subscriptions have: the same matches by every way in, as the oracle has them.

The work for an event follows the names that it has, so that subscriptions on thousands of other names cost it nothing.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

import tocsin
from tests.naive import match as naive
from tests.naive.flatten import flatten
from tocsin.columns.events.forms import encode_one, event_of_known_form
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.errors import RecordError
from tocsin.index import elements, texts, values

NAMES = ("a", "b", "a.x", "a.b", "b.x.y", "c", "c.x", "d-e", "tags", "tags.x")
CONDITIONS = (
    "SOME({n}, element = 'v')",
    "SOME({n}, CASEI(element) LIKE CASEI('%V%'))",
    "SOME({n}, element > 2 OR element IS NULL)",
    "NOT SOME({n}, element = 'v')",
    "NOT HOLDS({n} = 'v' AND {m} > 1)",
    "HOLDS({n} = {m})",
    "EACH({n}, element <> 'v')",
    "ANY({n}, x = 'v' AND y > 1)",
    "NOT ANY({n}, element = 'v') AND {m} IS NOT NULL",
    "ANY({n}, ANY(x, element = 1))",
    "SOME({n}, SOME(x, element = 'v'))",
    "LENGTH({n}) > 1",
    "AT({n}, -1) = 'v'",
    "AT({n}, 0, x) = 'v'",
    "NUMBER({n}) = 2",
    "GIVEN({n}) AND {n} IS NULL",
    "TEXT({n}, 'v')",
    "S_INTERSECTS({n}, BBOX(0, 0, 2, 2))",
    "S_WITHIN({n}, BBOX(0, 0, 2, 2))",
    "A_EQUALS(tags, ({n}, 'v'))",
    "{n} IS NULL OR {m} = 2",
    "ANY({n}, element = OUTER({m}))",
)
SCALARS = ("v", "V", "w", "é v", "2", 1, 2, 3.5, True, None)


def _value(dice: random.Random, depth: int = 0) -> Any:
    kind = dice.random()
    if kind < 0.45 or depth > 2:
        return dice.choice(SCALARS)
    if kind < 0.65:
        return [_value(dice, 3) for _ in range(dice.randrange(4))]
    members = [{name: _value(dice, depth + 1) for name in dice.sample("xyb", 2)} for _ in range(2)]
    return members[0] if kind < 0.8 else dice.choice((members, [*members, "v"], [members[0], None]))


def _events(dice: random.Random, count: int) -> Iterator[dict[str, Any]]:
    for _ in range(count):
        names = dice.sample((*NAMES, "unasked"), dice.randrange(4))
        yield {name: _value(dice) for name in names}


def _subscriptions(dice: random.Random) -> list[dict[str, Any]]:
    wheres = [
        one.format(n=f'"{dice.choice(NAMES)}"', m=f'"{dice.choice(NAMES)}"') for one in CONDITIONS for _ in range(2)
    ]
    return [{"id": number, "where": where} for number, where in enumerate(wheres)]


def _pairs(answer: tocsin.Answer) -> list[tuple[int, int]]:
    return [(row["event"], row["subscription"]) for row in answer.table.to_pylist()]


def _one_by_one(engine: tocsin.Engine, events: list[dict[str, Any]]) -> list[tuple[int, int]]:
    return [(row, match.subscription) for row, event in enumerate(events) for match in engine.match(event)]


def _is_good(event: dict[str, Any]) -> bool:
    try:
        flatten(event)
    except RecordError:
        return False
    return True


@pytest.mark.parametrize("seed", range(12))
def test_every_way_in_says_what_the_oracle_says(seed: int) -> None:
    """One event after another, until its form is known; batches, lines, and recent subscriptions."""
    dice = random.Random(seed)
    subscriptions = _subscriptions(dice)
    events = [event for event in _events(dice, 60) if _is_good(event)]
    expected = naive.match([(one["id"], tocsin.parse(one["where"])) for one in subscriptions], events)
    engine = tocsin.Engine()
    engine.subscribe_many(subscriptions[::2])
    engine.merge()
    engine.subscribe_many(subscriptions[1::2])

    for _ in range(3):
        assert _one_by_one(engine, events) == expected
    assert _pairs(engine.match_batch(events)) == expected
    lines = "".join(json.dumps(event) + "\n" for event in events).encode()
    assert _pairs(engine.match_batch(lines)) == expected
    scan = tocsin.Engine(index="scan")
    scan.subscribe_many(subscriptions)
    assert _pairs(scan.match_batch(events)) == expected


@pytest.mark.parametrize("names", [10, 2_000])
def test_an_event_is_asked_for_its_own_names_alone(names: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever many names subscriptions have, as many functions, texts and conditions are evaluated."""
    wheres = [f"{what}" for n in range(names) for what in (f"SOME(n{n}, element = 'v')", f"NUMBER(n{n}) = {n}")]
    wanted = Wanted(compile_expressions(map(tocsin.parse, [*wheres, "TEXT(n0, 'v')", "LENGTH(n1) = 2"])).attributes)
    looked_at: list[str] = []
    for module, name in ((elements, "_answered"), (values, "_entries"), (texts, "_few_with_words")):
        real = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given, real=real, name=name: looked_at.append(name) or real(*given))

    batch = encode_one(0, {"n0": "v", "n1": ["v", 7], "unasked": 1}, wanted)
    elements.with_conditions(batch, wanted)

    assert list(batch.elements) == ["n1"]
    assert sorted(looked_at) == ["_answered", "_entries", "_entries", "_entries", "_few_with_words"]


def test_events_with_and_without_the_asked_lists_have_a_form() -> None:
    """Conditions on lists do not keep plain events from the quick way in, and neither do lists of scalars."""
    wanted = Wanted(compile_expressions([tocsin.parse("SOME(a, element = 'v') AND SOME(b.c, x = 1)")]).attributes)
    plain, with_list = {"a": "v", "other": 1}, {"a": ["v"], "other": 1}
    for event in (plain, with_list) * 3:
        encode_one(0, event, wanted)

    assert event_of_known_form(0, plain, wanted) is not None
    assert list(encode_one(0, with_list, wanted).elements) == ["a"]
    assert event_of_known_form(0, with_list, wanted) is not None
    assert event_of_known_form(0, {"a": [["v"]], "other": 1}, wanted) is None
