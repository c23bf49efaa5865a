"""A relaxed index that was saved answers as the one that it was saved from, or is not taken."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tocsin
from tests.index.relaxed.test_work import (
    RANKERS,
    WEIGHINGS,
    all_rankings,
    ask,
    events_of_every_kind,
    of_every_kind,
    points,
    ranges,
    relaxed_of,
    rows,
)
from tocsin.index.registry import ranker_builder
from tocsin.index.relaxed.index import RelaxedIndex, restored_relaxed

SCAN = "scan"


def again(held: RelaxedIndex, subscriptions: int, index: str) -> RelaxedIndex:
    """The same from its arrays."""
    arrays = {name: array.copy() for name, array in held.arrays().items()}
    builder = ranker_builder("sopt_r_tree" if index == SCAN else index, {})
    return restored_relaxed(arrays, subscriptions, builder, is_scan=index == SCAN)


@settings(max_examples=max(10, settings.default.max_examples // 5))
@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.sampled_from([0, 1, 64, 300]),
    weigh=st.sampled_from(WEIGHINGS),
    index=st.sampled_from([SCAN, *RANKERS]),
)
def test_it_answers_as_before(seed: int, count: int, weigh: Any, index: str) -> None:
    """Subscriptions of every kind, general dimensions and several ranges of one attribute among them."""
    dice = random.Random(seed)
    subscriptions = of_every_kind(dice, count // 2) + ranges(dice, count - count // 2, weigh, most=6, width=0.9)
    held = relaxed_of(subscriptions, index)
    events = events_of_every_kind(dice, 4) + points(dice, 4)

    restored = again(held, count, index)

    for ranking in [*all_rankings(1, 7), tocsin.Relaxed(9, drop=["a", "s"])]:
        before, after = ask(held, events, ranking), ask(restored, events, ranking)
        assert rows(after) == rows(before)
        assert (after.candidates_examined, after.verified) == (before.candidates_examined, before.verified)


def arrays_of(index: str = "sopt_r_tree") -> dict[str, np.ndarray]:
    dice = random.Random(index)
    held = relaxed_of(of_every_kind(dice, 120) + [("a < 1 OR a > 3", {}), ("a LIKE 'x%'", {})] * 5, index)
    return {name: array.copy() for name, array in held.arrays().items()}


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("rows.starts", -1, 2**40),
        ("rows.starts", 1, -1),
        ("rows.rows", 0, 2**31 - 1),
        ("rows.rows", 0, -(2**31)),
        ("rows.rows", 3, 2**31 - 1),
        ("rows.rows", 3, -2),
        ("rows.ranges", 0, 2**31 - 1),
        ("rows.ranges", 0, 0),
        ("rows.weights", 0, np.nan),
        ("rows.weights", 0, -1.0),
        ("named_starts", -1, 2**40),
        ("named", 0, 2**31 - 1),
        ("fields.operand_starts", -1, 2**40),
        ("fields.kinds", 0, 255),
        ("arrangement", 0, 2**31 - 1),
        ("arrangement", 0, -1),
    ],
)
def test_what_is_not_sound_is_refused(name: str, place: int, value: Any) -> None:
    arrays = arrays_of()
    arrays[name][place] = value

    with pytest.raises(ValueError, match=r"\w"):
        restored_relaxed(arrays, 130, ranker_builder("sopt_r_tree", {}))


def test_an_arrangement_of_one_place_twice_is_refused() -> None:
    arrays = arrays_of()
    arrays["arrangement"][0] = arrays["arrangement"][1]

    with pytest.raises(ValueError, match="twice"):
        restored_relaxed(arrays, 130, ranker_builder("sopt_r_tree", {}))


def test_the_rows_of_others_are_refused() -> None:
    with pytest.raises(ValueError, match="other subscriptions"):
        restored_relaxed(arrays_of(), 131, ranker_builder("sopt_r_tree", {}))


HELD = [
    {"id": n, "where": f"a BETWEEN {n} AND {n + 9} AND b > {n % 7} AND s LIKE 'x%'", "weights": {"a": 2.0}}
    for n in range(300)
]
EVENTS = [{"a": n, "b": n % 11, "s": "xy" if n % 2 else "q"} for n in range(0, 320, 7)]


def answers(engine: tocsin.Engine) -> list[Any]:
    return engine.match_batch(EVENTS, ranking=tocsin.Relaxed(5)).table.to_pylist()


def saves_rows(folder: Path) -> bool:
    return any("ranker.rows.weights" in file.read_text() for file in folder.rglob("manifest.json"))


@pytest.mark.parametrize(
    ("index", "is_asked"), [("auto", False), ("auto", True), ("sopt_r_tree", False), ("ir_tree", True)]
)
def test_an_engine_saves_what_was_made_or_asked_for_by_name(index: str, is_asked: bool, tmp_path: Path) -> None:
    """And the next one does so again, asked or not, and after changes."""
    engine = tocsin.Engine(index=index)
    engine.subscribe_many(HELD)
    expected = answers(engine)
    fresh = tocsin.Engine(index=index)
    fresh.subscribe_many(HELD)
    (engine if is_asked else fresh).save(tmp_path / "one")

    assert saves_rows(tmp_path / "one") == (is_asked or index != "auto")
    loaded = tocsin.Engine.load(tmp_path / "one")
    loaded.save(tmp_path / "two")
    assert saves_rows(tmp_path / "two") == saves_rows(tmp_path / "one")
    again = tocsin.Engine.load(tmp_path / "two")
    assert answers(again) == expected
    again.unsubscribe(expected[0]["subscription"])
    assert expected[0]["subscription"] not in {row["subscription"] for row in answers(again)}
