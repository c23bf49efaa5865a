"""The clock of one object does not end others: dates far ahead of all others move their own objects alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests.monitor.fence_samples import ZONES, drive, engine_of, told

FAR = 10**9
STEPS = st.lists(st.tuples(st.integers(0, 10), st.sampled_from("abw"), st.sampled_from([1, 9])), max_size=25)
"""Events by the time since the one before, which is at most `forget_after`, the vehicle and the place."""


def fences_of(**options: Any) -> tocsin.Fences:
    return tocsin.Fences(engine_of({"left": ZONES["left"]}), key="vehicle", time="t", forget_after=10, **options)


def hourly(steps: list[tuple[int, str, int]]) -> list[dict[str, Any]]:
    now, events = 0, []
    for step, vehicle, x in steps:
        now += step
        events += drive(x, vehicle=vehicle, t=now)
    return events


@given(STEPS, st.lists(st.tuples(st.integers(0, 25), st.sampled_from([0, 1, 5, FAR])), max_size=3), st.integers(0, 28))
def test_wrong_dates_of_one_object_change_nothing_of_others(steps: Any, wrong: Any, cut: int) -> None:
    """Wherever they come, first and last as well, in one batch or in two."""
    events = hourly(steps)
    expected = [change[1:] for change in told(fences_of().push_batch(events)) if change[1] != "w"]
    for place, more in wrong:
        events[place:place] = drive(1, vehicle="w", t=FAR + more)
    fences = fences_of()
    answers = [fences.push_batch(events[:cut]), fences.push_batch(events[cut:])]
    assert [change[1:] for answer in answers for change in told(answer) if change[1] != "w"] == expected


def test_a_wrong_date_is_told_and_later_true_dates_count() -> None:
    """A date older than its true ones is late all the same; spans do not begin in the future."""
    fences = fences_of(dwell=4)
    fences.push_batch([*drive(1, vehicle="a", t=0), *drive(1, vehicle="b", t=0), *drive(1, vehicle="b", t=3)])
    wrong = fences.push_batch([*drive(1, vehicle="b", t=FAR), *drive(1, vehicle="a", t=3)])
    true = fences.push_batch([*drive(9, vehicle="b", t=2), *drive(1, vehicle="b", t=4), *drive(1, vehicle="b", t=8)])

    assert told(wrong) == [(0, "b", "left", "lost"), (0, "b", "left", "enter")]
    assert [str(warning) for warning in wrong.warnings] == [
        "time='t': 1 event (row 0) far ahead of all other objects; their times move their own objects alone"
    ]
    assert told(true) == [(2, "b", "left", "dwell")]
    assert [warning.reason.split(":")[0] for warning in true.warnings] == [
        "1 event (row 0) ignored", "1 event (row 1) counted",
    ]  # fmt: skip


@pytest.mark.parametrize("later", [("d", 1003), ("c", 1011)])
def test_a_leap_is_believed_when_another_object_or_time_confirms_it(later: tuple[str, int]) -> None:
    """Another object near it, or the same one for `forget_after` while nobody else reports."""
    fences = fences_of()
    fences.push_batch([*drive(1, vehicle="a", t=0), *drive(1, vehicle="b", t=1)])
    assert told(fences.push_batch([*drive(9, vehicle="c", t=1000), *drive(9, vehicle="c", t=1009)])) == []
    vehicle, t = later
    found = told(fences.push_batch(drive(9, vehicle=vehicle, t=t)))
    assert found == [(0, "a", "left", "lost"), (0, "b", "left", "lost")]


def test_an_object_with_a_wrong_date_is_forgotten_by_the_clock_of_the_others() -> None:
    fences = fences_of()
    fences.push_batch([*drive(1, vehicle="a", t=0), *drive(1, vehicle="w", t=FAR)])
    assert told(fences.push_batch([*drive(1, vehicle="a", t=9), *drive(1, vehicle="a", t=11)])) == [
        (1, "w", "left", "lost")
    ]


def test_saved_fences_know_the_time_of_most(tmp_path: Path) -> None:
    fences = fences_of()
    fences.push_batch([*drive(1, vehicle="a", t=0), *drive(1, vehicle="w", t=FAR), *drive(1, vehicle="b", t=1)])
    fences.save(tmp_path / "f.jsonl")
    again = tocsin.Fences.load(tmp_path / "f.jsonl", engine_of({"left": ZONES["left"]}))
    assert told(again.push_batch(drive(1, vehicle="w", t=FAR + 1))) == []
    assert told(again.push_batch([*drive(9, vehicle="w", t=5), *drive(1, vehicle="a", t=6)])) == [
        (0, "w", "left", "exit")
    ]
