"""What an engine holds comes out as it was given, wherever it lies, and goes in again."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import tocsin

EVENTS = [{"a": a, "b": b} for a in range(6) for b in range(3)]


def record(number: int, dice: random.Random) -> dict[str, Any]:
    made: dict[str, Any] = {"id": f"s{number:03}", "where": f"a >= {number % 6} AND b = {dice.randrange(3)}"}
    if dice.random() < 0.5:
        made["score"] = float(dice.randrange(9))
    if dice.random() < 0.3:
        made["payload"] = dice.choice([{"to": "é", "n": [1, None]}, 0, "text", [], False])
    if dice.random() < 0.3:
        made["weights"] = {"a": 2.0}
    if dice.random() < 0.2:
        made["where"] = tocsin.to_json(tocsin.parse(made["where"]))
    return made


@pytest.mark.parametrize("seed", range(5))
def test_what_was_given_comes_out(seed: int, tmp_path: Path) -> None:
    """From segments and from what came since; the gone are gone, scores are those of now."""
    dice = random.Random(seed)
    held = {one["id"]: one for one in (record(n, dice) for n in range(120))}
    records = list(held.values())
    engine = tocsin.Engine(delta_limit=40)
    engine.subscribe_many(records[:60])
    for one in records[60:]:
        engine.subscribe(**one)
    for name in dice.sample(sorted(held), 15):
        engine.unsubscribe(name)
        del held[name]
    for name in dice.sample(sorted(held), 15):
        engine.rescore(name, 77.5)
        held[name] = {**held[name], "score": 77.5}

    assert list(engine.subscriptions()) == [engine.get(id) for id in engine]
    assert list(engine) == engine.subscription_table()["id"].to_pylist() == sorted(held)
    for name, given in held.items():
        got = engine.get(name)
        expected = {"score": 1.0, **given}
        if isinstance(expected["where"], dict):
            expected["where"] = got["where"]
            assert tocsin.parse(got["where"]) == tocsin.parse_json(given["where"])
        if expected.get("payload", 1) is None:
            del expected["payload"]
        assert got == expected

    engine.export(tmp_path / "held.jsonl")
    again = tocsin.Engine()
    assert again.subscribe_many(tmp_path / "held.jsonl") == tocsin.Report(len(held), [])
    assert again.subscription_table().equals(engine.subscription_table())
    assert again.match_batch(EVENTS).table.to_pylist() == engine.match_batch(EVENTS).table.to_pylist()
    assert not list(tmp_path.glob("*.part"))
    engine.close()


def test_integers_and_nothing() -> None:
    with tocsin.Engine() as engine:
        assert list(engine) == []
        assert engine.subscription_table().column_names == ["id", "where", "score", "payload", "weights"]
        engine.subscribe_many([{"id": 10, "where": "a = 1"}, {"id": 9, "where": "a = 2"}])
        assert list(engine) == [9, 10]
        assert engine.get(9) == {"id": 9, "where": "a = 2", "score": 1.0}
        with pytest.raises(tocsin.UnknownSubscription, match="there is no subscription 11"):
            engine.get(11)


def test_where_it_cannot_be_written(tmp_path: Path) -> None:
    with tocsin.Engine() as engine, pytest.raises(tocsin.InvalidInput, match=r"cannot write .*missing"):
        engine.export(tmp_path / "missing" / "held.jsonl")
