"""Batches of one source mean what the source means as a whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin

MOVES = st.lists(
    st.fixed_dictionaries(
        {"v": st.sampled_from(["a", "b", "c", None]), "t": st.integers(0, 30), "loc": st.tuples(st.integers(0, 9))},
    ).map(lambda one: one | {"loc": [one["loc"][0], 1]}),
    max_size=20,
)


def fences_of(**options: Any) -> tocsin.Fences:
    engine = tocsin.Engine()
    engine.subscribe("zone", "S_INTERSECTS(loc, BBOX(3, 0, 5, 2))")
    return tocsin.Fences(engine, key="v", time="t", path="loc", most_objects=2, forget_after=9, **options)


def lines_of(events: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(one) + "\n" for one in events).encode()


@given(MOVES, st.integers(1, 6))
def test_batches_are_the_whole(events: list[dict[str, Any]], most: int) -> None:
    """Changes, their rows, errors, warnings and what is inside afterwards; lines begin in earlier batches, too."""
    whole, cut = fences_of(), fences_of()
    expected = whole.push_batch(lines_of(events))

    notes = cut.notes()
    answers = [cut.push_batch(one, notes=notes) for one in cut.batches(lines_of(events), most=most)]

    assert [row for answer in answers for row in answer] == list(expected)
    assert [error for answer in answers for error in answer.event_errors] == expected.event_errors
    assert frozenset[int]().union(*(answer.lost for answer in answers)) == expected.lost
    assert not answers or answers[-1].warnings == expected.warnings
    assert list(cut.objects()) == list(whole.objects())


def test_batches_of_a_file_have_the_columns_that_are_asked_about(tmp_path: Path) -> None:
    """The key, the time, the place and the event's key; a file that is sorted by time is one batch."""
    path = str(tmp_path / "e.parquet")
    rows = [{"v": "a", "t": row, "loc": [4.0, 1.0], "id": row, "other": 1} for row in range(3)]
    pq.write_table(pa.Table.from_pylist(rows), path)

    batches = list(fences_of().batches(path, event_key="id", most=2))

    assert [one.table.column_names for one in batches] == [["v", "t", "loc", "id"]] * 2
    assert list(fences_of(order="time").batches(path)) == [path]


def test_an_event_with_an_unreadable_value_is_not_lost() -> None:
    """It is processed; alone, it raises no error. An event without a key is lost."""
    engine = tocsin.Engine()
    engine.subscribe("hot", "x > 5 OR y > 5")
    events: list[dict[str, Any]] = [{"v": 1, "x": 10**400, "y": 9}, {"y": 9}, {"v": 2, "y": 9}]

    answer = tocsin.Fences(engine, key="v").push_batch(events)

    assert [(error.row, error.field) for error in answer.event_errors] == [(0, "x"), (1, "v")]
    assert answer.lost == {1} and [row["object"] for row in answer] == [1, 2]
    fences = tocsin.Fences(engine, key="v")
    assert [one.change for one in fences.push(events[0])] == ["enter"]
    with pytest.raises(tocsin.RecordError, match="it has no value of 'v'"):
        fences.push(events[1])


def test_matches_say_which_events_are_lost() -> None:
    """An event that is not an object; the others have a value that could not be read."""
    answer = tocsin.match([{"id": 1, "where": "x > 5"}], b'{"x": 9}\nnull\n', schema={"x": "string"})

    assert {error.row for error in answer.event_errors} == {0, 1} and answer.lost == {1}
