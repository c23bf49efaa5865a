"""Each kind of change to each kind of source is part of what is saved, whichever merge comes before or after."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

import tocsin
from tests.naive.engine import Reference

EVENTS: Final = ({"n": 1}, {"n": 5}, {"n": 9})
NAMES: Final = [f"s{number:02}" for number in range(12)]


def subscribe_all(engine: Any) -> None:
    for number, name in enumerate(NAMES):
        engine.subscribe(name, f"n > {number}", score=number % 5, payload=number)


def remove(engine: Any) -> None:
    engine.unsubscribe("s02")
    engine.unsubscribe("s00")


def replace(engine: Any) -> None:
    engine.subscribe("s01", "n = 1", score=7, payload="new", replace=True)


def rescore(engine: Any) -> None:
    engine.rescore("s03", -2.5)
    engine.rescore("s03", 99)


def bring_back(engine: Any) -> None:
    engine.unsubscribe("s04")
    engine.subscribe("s04", "n = 9", payload="again")


def remove_all(engine: Any) -> None:
    for name in NAMES:
        engine.unsubscribe(name)


@pytest.mark.parametrize("change", [remove, replace, rescore, bring_back, remove_all])
@pytest.mark.parametrize("is_merged", [True, False], ids=["in a segment", "in a delta"])
def test_a_change_is_saved(change: Callable[[Any], None], is_merged: bool, tmp_path: Path) -> None:
    """The loaded engine answers like the reference, before it is merged and after that."""
    engine, reference = tocsin.Engine(), Reference()
    for one in (engine, reference):
        subscribe_all(one)
    if is_merged:
        engine.merge()
    for one in (engine, reference):
        change(one)

    engine.save(tmp_path)
    loaded = tocsin.Engine.load(tmp_path)

    assert_same(loaded, reference)
    loaded.merge()
    assert_same(loaded, reference)


def assert_same(engine: Any, reference: Reference) -> None:
    assert [list(map(tuple, engine.match(event))) for event in EVENTS] == reference.match_batch(EVENTS)
    assert [name for name in NAMES if name in engine] == [name for name in NAMES if name in reference]
    assert [engine.payload(name) for name in NAMES if name in engine] == [
        reference.payload(name) for name in NAMES if name in reference
    ]
    assert len(engine) == len(reference)
