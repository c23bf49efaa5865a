"""Events that are matched together, and followed one by one, as the service does in its transactions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests.monitor.fence_samples import ZONES, engine_of, events
from tocsin.errors import RecordError

LINES = {**ZONES, "line": "S_INTERSECTS(location, LINESTRING(2 0, 2 9))", "point": "S_INTERSECTS(location, POINT(4 5))"}
OPTIONS: list[dict[str, Any]] = [
    {},
    {"path": "location"},
    {"path": "location", "time": "t", "most_objects": 1},
    {"path": "location", "time": "t", "forget_after": 5},
    {"path": "location", "accuracy": "speed"},
    {"time": "t", "enter_after": 2, "exit_after": "3 s"},
]


def state(fences: tocsin.Fences, file: Path) -> str:
    fences.save(file)
    return file.read_text("utf-8")


@given(
    drives=events,
    options=st.sampled_from(OPTIONS),
    skipped=st.sets(st.integers(0, 24), max_size=4),
    cut=st.integers(1, 25),
)
def test_what_is_followed_is_as_if_nothing_else_had_come(
    drives: list[dict[str, Any]],
    options: dict[str, Any],
    skipped: set[int],
    cut: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Some events are not followed, and the rest come in several transactions."""
    engine = engine_of(LINES)
    alone, ahead = (tocsin.Fences(engine, key="vehicle", **options) for _ in range(2))
    notes = ahead.notes()
    for first in range(0, len(drives), cut):
        part = drives[first : first + cut]
        follow = ahead.match_ahead(part, notes)
        for number, event in enumerate(part):
            if first + number not in skipped:
                assert list(follow(number)) == list(alone.push(event))

    folder = tmp_path_factory.mktemp("state")
    assert state(ahead, folder / "ahead") == state(alone, folder / "alone")


def test_an_event_without_an_object_is_refused_alone() -> None:
    fences = tocsin.Fences(engine_of(), key="vehicle", path="location")

    follow = fences.match_ahead(
        [{"location": [1, 5]}, {"vehicle": 0, "location": [-1, 5]}, {"vehicle": 0, "location": [5, 5]}], fences.notes()
    )

    with pytest.raises(RecordError, match="no value of 'vehicle'"):
        follow(0)
    assert [change.subscription for change in follow(1)] == ["all"]
    assert {(change.subscription, change.change) for change in follow(2)} == {("middle", "enter"), ("left", "cross")}
