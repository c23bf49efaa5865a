"""A change of an engine that fails in the middle leaves it as it was, or as it is after the change."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.failing import EACH_FAILURE, Failure, failures
from tests.naive.engine import Reference
from tocsin import Engine
from tocsin.model.ranking import Top

EVENTS: list[dict[str, Any]] = [
    {"p": 3, "q": "x", "l": [1, 2], "s": "some words"},
    {"p": 70, "q": "n66", "r": 1},
    {"q": "n3", "r": None, "t7": 1, "s": "other"},
]
_CONDITIONS = (
    "p < {0}",
    "q = 'n{0}' OR (r = 1 AND p > {0})",
    "q IN ('x', 'n{0}') AND p <> {0}",
    "NOT (t{0} = 2)",
    "CASEI(q) = CASEI('N{0}') AND p + r > {0}",
    "s LIKE '%wor%' AND p >= {0} - 100",
)


def where(number: int) -> str:
    return _CONDITIONS[number % len(_CONDITIONS)].format(number)


def record(number: int) -> dict[str, Any]:
    return {"id": number, "where": where(number), "score": float(number % 5), "payload": {"n": number}}


def fill(engine: Any) -> None:
    """A segment with some removed, and a delta whose tables are about to grow."""
    engine.subscribe_many([record(number) for number in range(1000, 1040)])
    if isinstance(engine, Engine):
        engine.merge()
    engine.unsubscribe(1003)
    for number in range(63):
        engine.subscribe(number, where(number), score=float(number % 5))
    engine.unsubscribe(5)
    engine.rescore(1010, 9.0)


def subscribe(engine: Any) -> None:
    engine.subscribe(63, where(999), score=2.0, payload={"n": 1})


def replace(engine: Any, number: int) -> None:
    engine.subscribe(number, where(999), score=4.0, replace=True)


def subscribe_many(engine: Any) -> None:
    engine.subscribe_many([record(number) for number in (3, 4, 1001, 1002, *range(2000, 2004))], replace=True)


def unsubscribe(engine: Any, number: int) -> None:
    engine.unsubscribe(number)


def rescore(engine: Any, number: int) -> None:
    engine.rescore(number, 7.0)


def merge(engine: Any) -> None:
    if isinstance(engine, Engine):
        engine.merge()


def match(engine: Any) -> None:
    """What compiles the latest subscriptions."""
    if isinstance(engine, Engine):
        engine.match(EVENTS[0])


CHANGES: dict[str, Callable[[Any], None]] = {
    "subscribe": subscribe,
    "replace-in-delta": partial(replace, number=7),
    "replace-in-segment": partial(replace, number=1005),
    "subscribe_many": subscribe_many,
    "unsubscribe-from-delta": partial(unsubscribe, number=7),
    "unsubscribe-from-segment": partial(unsubscribe, number=1007),
    "rescore-in-delta": partial(rescore, number=7),
    "rescore-in-segment": partial(rescore, number=1007),
    "merge": merge,
    "match": match,
}


def state(engine: Any) -> list[Any]:
    """What matches, all and ranked, one by one and together."""
    answers: list[Any] = []
    for event in EVENTS:
        answers.append([tuple(one) for one in engine.match(event)])
        answers.append([tuple(one) for one in engine.match(event, ranking=Top(4))])
    return [len(engine), *answers]


def check(engine: Engine, before: Reference, change: Callable[[Any], None]) -> None:
    """The engine answers as before the change, or as after it, and goes on so."""
    after = copy.deepcopy(before)
    change(after)
    answered = state(engine)
    naive = next((one for one in (before, after) if state(one) == answered), None)
    assert naive is not None
    for each in (engine, naive):
        each.subscribe(5000, where(9), replace=True)
        each.subscribe(63, "p < 4 OR new = 1", replace=True)
        each.unsubscribe(8)
        each.rescore(9, 11.0)
        each.rescore(1011, 11.0)
    assert state(engine) == state(naive)


def reference() -> Reference:
    naive = Reference()
    fill(naive)
    return naive


@pytest.mark.parametrize(("name", "is_matched"), [(name, name != "match") for name in CHANGES] + [("subscribe", False)])
@pytest.mark.parametrize(("failing", "most"), EACH_FAILURE)
def test_an_engine_in_memory(name: str, failing: Failure, most: int, is_matched: bool) -> None:
    naive = reference()
    for run in failures(failing, most):
        engine = Engine()
        fill(engine)
        if is_matched:
            engine.match(EVENTS[0])
        run(partial(CHANGES[name], engine))
        check(engine, copy.deepcopy(naive), CHANGES[name])
        engine.close()


@pytest.mark.parametrize("name", ["subscribe", "replace-in-segment", "subscribe_many", "unsubscribe-from-delta"])
@pytest.mark.parametrize(("failing", "most"), EACH_FAILURE)
def test_a_durable_engine(name: str, failing: Failure, most: int, tmp_path: Path) -> None:
    """So does the next process, which finds the same."""
    folder, copied, naive = tmp_path / "engine", tmp_path / "copy", reference()
    with Engine.open(folder, sync="relaxed") as engine:
        fill(engine)
    for run in failures(failing, most):
        shutil.rmtree(copied, ignore_errors=True)
        shutil.copytree(folder, copied)
        with Engine.open(copied) as engine:
            run(partial(CHANGES[name], engine))
            check(engine, copy.deepcopy(naive), CHANGES[name])
            answered = state(engine)
        with Engine.open(copied) as engine:
            assert state(engine) == answered
